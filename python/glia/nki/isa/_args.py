"""What the calls of nki.isa do with their arguments: tensors, numbers, registers and names become slots of an instruction.

These functions are on the path of every traced instruction, so they look at the expected type first and explain themselves
only when something is wrong. What is wrong is recorded, and the call goes on with a harmless value, so that one run of the
kernel finds all errors.
"""

from __future__ import annotations

import math

import numpy as np

from .. import trace as _t
from ..registers import VirtualRegister
from ..tensor import NkiTensor
from .enums import ENGINE, UNSET

emit = _t.emit
CODE = "NKI-ARGUMENT"
_NUMBERS = (int, float, np.number, np.bool_)


def refuse(message: str, advice: str = "", value="", limit="") -> None:
    """The call is wrong in a way that slots cannot express."""
    _t.error(CODE, message, advice, value, limit)


def text(x) -> str:
    """How messages name an argument."""
    if isinstance(x, NkiTensor):
        return f"a tensor {tuple(x.shape)}"
    if x is None:
        return "None"
    return f"{x!r} ({type(x).__name__})" if isinstance(x, (int, float, str)) else f"a {type(x).__name__}"


def wrong(x, what: str, wanted: str) -> None:
    refuse(f"{what} is {text(x)} and must be {wanted}")


def tensor(t, what: str):
    """A tensor slot."""
    if type(t) is NkiTensor:
        if t.index is not None:
            refuse(f"{what} has a vector_offset, which only DMA takes", "gather the rows with nisa.dma_copy first")
        if t.storage.moved:
            reshaped(what)
        return t.operand()
    wrong(t, what, "a tensor")
    return None


def discarded(dst, what: str = "dst"):
    """The slot of a destination that is written for the sake of a reduction. A step of 0 in it puts all results into one element:
    which of them stays there is not documented, so they go into a tile that nothing reads, and the element stays as it was."""
    if type(dst) is NkiTensor and dst.storage.on_chip and 0 in dst.strides[1:]:
        if any(step == 0 and count > 1 for step, count in zip(dst.strides[1:], dst.shape[1:])):
            dst = _t.ndarray(dst.shape, dst.dtype, dst.buffer)
    return tensor(dst, what)


def reshaped(what: str) -> None:
    """Engines cannot change partitions on the way; nki.language may, by a copy, which would not be what was written to."""
    _t.error(
        "NKI-SHAPE",
        f"{what} is a reshape that changes the number of partitions",
        "Copy it with nl.copy, which may move data between partitions, or use nisa.dma_copy.",
    )


def optional(t, what: str):
    """A tensor slot that may be absent."""
    return None if t is None else tensor(t, what)


def indexed(t, what: str):
    """A tensor slot of a DMA, with the slot of its indices (or None) and the elements per index."""
    if type(t) is not NkiTensor:
        wrong(t, what, "a tensor")
        return (None, 0, 0, 0, 0, (), ()), None, None
    if t.storage.moved and what == "dst":
        reshaped(what)
    index = t.index
    if index is None:
        return t.operand(), None, None
    return t.operand(), tensor(index.tensor, f"vector_offset of {what}"), index.stride


def scalar(v, what: str, bits: bool):
    """A slot that is a number or a tensor of one element per partition. `bits`: for a bit operation, which takes integers."""
    kind = type(v)
    if kind is float or v is None:
        return v
    if kind is NkiTensor:
        return tensor(v, what)
    if isinstance(v, _NUMBERS):
        f = float(v)
        if bits and float(np.float32(f)) != f:
            refuse(
                f"{what} is {v}, and an immediate holds integers of 24 bits exactly",
                "put wider masks into a tile with nisa.memset and use nisa.tensor_tensor",
            )
        return f
    if isinstance(v, VirtualRegister):
        wrong(v, what, "a number or a tensor of one element per partition; store the register with nisa.register_store")
        return 0.0
    try:
        return float(v)
    except (TypeError, ValueError):
        wrong(v, what, "a number or a tensor of one element per partition")
        return 0.0


def number(v, what: str) -> float:
    """A slot that is a number."""
    if isinstance(v, _NUMBERS):
        return float(v)
    wrong(v, what, "a number")
    return 0.0


def integer(v, what: str) -> int:
    """A slot that is an integer known now."""
    if type(v) is int:
        return v
    if isinstance(v, VirtualRegister):
        wrong(v, what, "an integer that is known when the kernel is traced")
        return 0
    try:
        return v.__index__()
    except AttributeError:
        wrong(v, what, "an integer")
        return 0


def flag(v) -> int:
    return 1 if v else 0


def engine_code(e) -> int:
    """The machine's number of an engine."""
    try:
        return ENGINE[e]
    except (KeyError, TypeError):
        refuse(f"engine is {e!r}", "give a member of nki.isa.engine that issues instructions, or leave it out")
        return UNSET


def choice(table: dict, v, what: str):
    """The machine's name of a member of an enumeration, given as itself, its name or its value."""
    try:
        return table[v]
    except (KeyError, TypeError):
        names = sorted({k for k in table if isinstance(k, str) and "." not in k})
        refuse(f"{what} is {v!r}", f"it is one of {', '.join(names)}")
        return next(iter(table.values()))


def operation(table: dict[object, str], op, what: str, call: str) -> str:
    """The machine's name of an operation that the caller did not give as one of nki.language: NumPy's name, or an error."""
    name = table.get(getattr(op, "__name__", None))
    if name is not None:
        return name
    if op is None:
        refuse(f"{what} of {call} is missing", "give an operation of nki.language, such as nl.add")
    else:
        shown = getattr(op, "__name__", None) or repr(op)
        refuse(
            f"{what} of {call} cannot be {shown}",
            f"operations of {call} are {', '.join(sorted({v for v in table.values()}))}",
        )
    return next(iter(table.values()))


def pair(v, what: str) -> tuple[int, int]:
    """A (row, column) pair; empty or None is (0, 0)."""
    if not v:
        return 0, 0
    if not isinstance(v, (tuple, list)) or len(v) != 2:
        refuse(f"{what} is {v!r}", "give (row, column)")
        return 0, 0
    a, b = integer(v[0], what), integer(v[1], what)
    if not (0 <= a <= 128 and 0 <= b <= 128):
        refuse(f"{what} is {(a, b)}", "rows and columns of the array are 0 to 128")
        return 0, 0
    return a, b


def pattern(v) -> list[int]:
    """[[step, count], ...] as a flat list."""
    flat: list[int] = []
    for entry in v if isinstance(v, (list, tuple)) else ():
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            break
        flat.append(integer(entry[0], "pattern"))
        flat.append(integer(entry[1], "pattern"))
    if not flat or len(flat) != 2 * len(v):
        refuse(f"pattern is {v!r}", "give a list of [step, count], slowest first")
        return [0, 1]
    return flat


def reduced_elements(dst, data, axis) -> None:
    """tensor_reduce: the axes are the last ones of data, and dst has one element for each group."""
    if type(data) is not NkiTensor or type(dst) is not NkiTensor:
        return
    rank = len(data.shape)
    axes = [axis] if not isinstance(axis, (list, tuple)) else list(axis)
    axes = sorted({integer(a, "axis") + (rank if a < 0 else 0) for a in axes})
    if not axes or axes != list(range(rank - len(axes), rank)) or axes[0] < 1:
        refuse(
            f"axis of tensor_reduce is {axis!r} for a tensor of {rank} dimensions",
            "reduce the last free dimensions; .permute puts others there, axis 0 needs a transpose or a matmul",
        )
        return
    kept = math.prod(data.shape[1 : axes[0]])
    if math.prod(dst.shape[1:]) != kept:
        refuse(
            f"dst of tensor_reduce has {math.prod(dst.shape[1:])} elements per partition",
            f"axes {tuple(axes)} of {tuple(data.shape)} leave {kept}",
        )


def core() -> int:
    """The core that is being traced."""
    return _t.required("this call").core


def has_feature(name: str) -> bool:
    return _t.target().has(name)


def feature(name: str, what: str) -> None:
    if not has_feature(name):
        refuse(f"{what} is not available on {_t.target().name}", "leave it out for this target")
