"""The operations of the engines as Python values.

A kernel gives `nl.add` to `nisa.tensor_tensor` as a value and also calls it on tiles. So each operation is one object: it
knows its names in the machine (ALU operation, activation function, reduction across partitions), and calling it runs the
lowering that `glia.nki.language` binds to it. This module depends on nothing, so that nki.isa and nki.language can share it.
"""

from __future__ import annotations


class Op:  # one operation; equality is identity, as for the functions that it stands for
    __slots__ = ("__doc__", "__name__", "__signature__", "act", "alu", "fn", "name", "partition")

    def __init__(self, name: str, alu: str | None = None, act: str | None = None, partition: str | None = None):
        self.name = self.__name__ = name
        self.alu, self.act, self.partition = alu, act, partition
        self.fn = None
        self.__doc__ = None

    def __call__(self, *args, **kwargs):
        if self.fn is None:
            raise TypeError(f"nl.{self.name} is only an operand of nki.isa calls; it cannot be called on tiles")
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"nki.language.{self.name}"

    def __reduce__(self):
        return _find, (self.name,)


def _find(name: str) -> Op:
    return OPS[name]


# name in nki.language: ALU operation, activation function, reduction of tensor_partition_reduce
_TABLE: dict[str, tuple[str | None, str | None, str | None]] = {
    "add": ("add", None, "add"),
    "subtract": ("subtract", None, None),
    "multiply": ("multiply", None, None),
    "maximum": ("max", None, "max"),
    "minimum": ("min", None, None),
    "max": ("max", None, "max"),
    "min": ("min", None, None),
    "equal": ("equal", None, None),
    "not_equal": ("not_equal", None, None),
    "greater_equal": ("greater_equal", None, None),
    "greater": ("greater", None, None),
    "less_equal": ("less_equal", None, None),
    "less": ("less", None, None),
    "logical_and": ("logical_and", None, None),
    "logical_or": ("logical_or", None, None),
    "logical_xor": ("logical_xor", None, None),
    "power": ("power", None, None),
    "abs_max": ("abs_max", None, None),
    "abs_min": ("abs_min", None, None),
    "bypass": ("bypass", None, None),
    "average": ("average", None, "average"),
    "bitwise_and": ("bitwise_and", None, "bitwise_and"),
    "bitwise_or": ("bitwise_or", None, "bitwise_or"),
    "bitwise_xor": ("bitwise_xor", None, None),
    "invert": ("bitwise_not", None, None),
    "left_shift": ("shift_left", None, None),
    "right_shift": ("shift_right", None, None),
    "abs": ("abs", "abs", None),
    "square": ("square", "square", None),
    "relu": ("relu", "relu", None),
    "rsqrt": ("rsqrt", "rsqrt", None),
    "reciprocal": ("reciprocal", "reciprocal", None),
    "copy": (None, "copy", None),
    "prelu": (None, None, None),
}
_FUNCTIONS = (
    "sigmoid gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx tanh softplus mish erf "
    "erf_dx exp sign log sin arctan sqrt"
)

OPS: dict[str, Op] = {name: Op(name, *row) for name, row in _TABLE.items()}
OPS.update({name: Op(name, None, name) for name in _FUNCTIONS.split()})

# Lookups of nki.isa: by object and by name. Names of the machine and the names NumPy uses are accepted as well.
ALU: dict[object, str] = {}
ACT: dict[object, str] = {}
PARTITION: dict[object, str] = {}
for _op in OPS.values():
    for _table, _value in ((ALU, _op.alu), (ACT, _op.act), (PARTITION, _op.partition)):
        if _value is not None:
            _table[_op] = _table[_op.name] = _table[_value] = _value

BIT_OPS = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"})
UNARY_OPS = frozenset({"abs", "square", "relu", "rsqrt", "reciprocal", "bitwise_not"})
