"""NkiTensor: a view (shape, strides, offset in elements) of storage on chip or in HBM, and what it is for an instruction.

On chip the first dimension is the partition; its stride is the number of elements that the storage has in one partition, so
that element addresses look the same everywhere: offset + sum of stride * index. What depends on registers is kept apart, as
terms in bytes (or partitions)."""

from __future__ import annotations

import difflib
import dis
import sys
from operator import index as _integer
from typing import NamedTuple

from . import dtypes
from . import trace as _t
from .objects import MemoryRegion, NKIObject
from .registers import VirtualRegister
from .source import _is_internal

_new = object.__new__


class Index(NamedTuple):
    """Rows of an HBM tensor that are chosen by a tensor: row i starts at tensor[i] * stride elements."""

    tensor: NkiTensor
    stride: int


class NkiTensor(NKIObject):
    __slots__ = (
        "_operand",
        "dtype",
        "dynamic",
        "index",
        "offset",
        "scalars",
        "shape",
        "storage",
        "strides",
        "terms",
        "wrong",  # diagnostics about the view, said when an instruction uses it: a view may be made for a case that never comes
    )

    def __init__(self, shape, dtype, storage, buffer=MemoryRegion.sbuf, name=""):
        if not isinstance(storage, _t.Storage):
            raise _t.failure("NKI-STORAGE", "an NkiTensor needs storage", "Make tensors with nl.ndarray.")
        base = whole(storage)
        view = base if dtypes.of(dtype) == base.dtype else base.view(dtype)
        view = view if tuple(shape) == view.shape else view.reshape(shape)
        for slot in NkiTensor.__slots__:
            setattr(self, slot, getattr(view, slot))

    name = property(lambda self: self.storage.name)
    buffer = property(lambda self: self.storage.region)
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    on_chip = property(lambda self: self.storage.on_chip)

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def base_tensor(self) -> NkiTensor:
        """The whole storage; a tensor that is the whole storage is its own base."""
        base = whole(self.storage)
        same = (self.shape, self.strides, self.offset, self.dtype) == (
            base.shape,
            base.strides,
            base.offset,
            base.dtype,
        )
        return self if same and not self.terms and self.index is None and not self.scalars else base

    def __repr__(self) -> str:
        return f"<{self.storage.region.value} {self.storage.name} {self.dtype}{list(self.shape)}>"

    def __len__(self) -> int:
        return self.shape[0]

    def _number(self):
        raise _t.failure(
            "NKI-TRUTH",
            f"Python needs a number of `{self.storage.name}`, and elements are known only when the kernel runs",
            "Compute with tiles: a view of one element per partition is an operand of nisa.tensor_scalar. An address or a count is "
            "loaded with nisa.register_load.",
        )

    __float__ = __int__ = _number

    def __bool__(self) -> bool:
        """Of a tensor in HBM: there is one, which `if bias:` asks of an argument. Of a tile it would be its contents."""
        if self.storage.on_chip:
            raise _t.failure(
                "NKI-TRUTH",
                f"Python needs to know whether `{self.storage.name}` is true, and a tile's elements are known only when the "
                "kernel runs",
                "Choose per element with nl.where. To branch, load the number with nisa.register_load: "
                "`while register:` and nl.dynamic_range(register) run on the device. Whether there is a tile: `is not None`.",
            )
        return True

    def __eq__(self, other):
        """The same tensor. Written in a kernel with what could be compared element by element, it is refused; lists and
        tuples that look for a tensor go on by identity."""
        if self is other:
            return True
        if not isinstance(other, _COMPARABLE) and not hasattr(other, "__array__"):
            return NotImplemented
        if _is_written_comparison(sys._getframe(1)):
            raise _t.failure(
                "NKI-OPERATOR",
                "tensors have no operators == and !=",
                "Use nl.equal or nl.not_equal for their elements, `is` to ask for the same tensor.",
            )
        return NotImplemented

    __hash__ = object.__hash__

    def __iter__(self):
        raise _t.failure(
            "NKI-ITERATE", "a tensor is iterated over", "Loop over range(t.shape[0]) and index the tensor."
        )

    def __array_ufunc__(self, ufunc, *_, **__):
        raise _t.failure("NKI-OPERATOR", f"NumPy's {ufunc.__name__} is called on a tensor", "Use the functions of nl.")

    @property
    def __jax_array__(self):  # which JAX asks for before all else
        raise _t.failure("NKI-OPERATOR", "a function of JAX is called on a tensor", "Use the functions of nl.")

    # ---- the operand of an instruction

    def operand(self, merge: bool = True) -> tuple:
        """The slot tuple of this view; adjacent dimensions are one where they can be, unless `merge` is false."""
        op = self._operand
        if op is not None and merge:
            return op
        if self.wrong or 0 in self.shape:
            _used_wrongly(self)
        op = _operand_of(self, merge)
        if merge and not self.scalars and not self.wrong:
            self._operand = op
        return op

    # ---- indexing and views

    def __getitem__(self, key) -> NkiTensor:
        return _indexed(self, key)

    def __setitem__(self, key, value) -> None:
        from .language.memory import assign

        assign(_indexed(self, key), value)

    def is_indirect(self) -> bool:
        """Whether what it names is known only when the kernel runs."""
        return self.dynamic

    def is_contiguous(self) -> bool:
        """Whether its elements lie one behind the other; of a tile, in each partition."""
        expected = 1
        last = 0 if self.storage.on_chip else None  # partitions are apart anyway
        for n, stride in zip(self.shape[:last:-1], self.strides[:last:-1]):
            if n != 1 and stride != expected:
                return False
            expected *= n
        return True

    def get_pattern(self) -> list[list[int]]:
        """Its dimensions as [step, count]."""
        return [[stride, n] for stride, n in zip(self.strides, self.shape)]


_COMPARABLE = (int, float, complex, NkiTensor, VirtualRegister)
_COMPARE = dis.opmap["COMPARE_OP"]


def _is_written_comparison(frame) -> bool:
    """Whether the frame is at a comparison in code of the kernel's, not at a search in a container or in generated code."""
    code = frame.f_code
    if code.co_filename == "<string>" or _is_internal(code.co_filename):
        return False
    return code.co_code[frame.f_lasti] == _COMPARE


def _no_operator(sign: str, function: str):
    def operator(self, *_):
        raise _t.failure("NKI-OPERATOR", f"tensors have no operator {sign}", f"Use nl.{function}.")

    return operator


for _names, _sign, _function in (
    (("__add__", "__radd__", "__iadd__"), "+", "add"),
    (("__sub__", "__rsub__", "__isub__"), "-", "subtract"),
    (("__mul__", "__rmul__", "__imul__"), "*", "multiply"),
    (("__truediv__", "__rtruediv__", "__itruediv__"), "/", "divide"),
    (("__mod__", "__rmod__"), "%", "mod"),
    (("__pow__", "__rpow__"), "**", "power"),
    (("__matmul__", "__rmatmul__"), "@", "matmul"),
    (("__neg__",), "-", "negative"),
    (("__abs__",), "abs", "abs"),
    (("__invert__",), "~", "invert"),
    (("__lt__",), "<", "less"),
    (("__le__",), "<=", "less_equal"),
    (("__gt__",), ">", "greater"),
    (("__ge__",), ">=", "greater_equal"),
):
    for _name in _names:
        setattr(NkiTensor, _name, _no_operator(_sign, _function))


def make(base: NkiTensor, shape: tuple, strides: tuple, offset: int, dtype=None, terms=None) -> NkiTensor:
    """A view that shares everything with `base` that is not given."""
    t = _new(NkiTensor)
    t.shape, t.strides, t.offset = shape, strides, offset
    t.dtype = base.dtype if dtype is None else dtype
    t.storage, t.index, t.scalars, t.dynamic = base.storage, base.index, base.scalars, base.dynamic
    t.terms = base.terms if terms is None else terms
    t.wrong = base.wrong
    t._operand = None
    return t


def row_major(shape: tuple) -> tuple:
    strides, n = [], 1
    for size in reversed(shape):
        strides.append(n)
        n *= size
    return tuple(reversed(strides))


def whole(storage: _t.Storage) -> NkiTensor:
    """The view of everything in `storage`."""
    t = _new(NkiTensor)
    t.shape, t.strides, t.offset, t.dtype = storage.shape, row_major(storage.shape), 0, storage.dtype
    t.storage, t.index, t.scalars, t.terms, t.dynamic, t._operand = storage, None, (), (), False, None
    t.wrong = ()
    return t


def _used_wrongly(t: NkiTensor) -> None:
    for d in t.wrong:
        _t.record(d)
    if 0 in t.shape:
        raise _t.failure(
            "NKI-SLICE",
            f"an empty slice of `{t.storage.name}` is used",
            "A slice without elements can be made, not computed with: leave the call out where there is nothing to do.",
            value=t.shape,
        )


def merged(shape, strides) -> list[int]:
    """(stride, count) flattened, with dimensions of one element dropped and adjacent ones joined where they can be."""
    dims: list[int] = []
    outer = -1  # the stride that the next dimension must fill; -1: none yet
    for n, stride in zip(shape, strides):
        if n == 1:
            continue
        if outer == stride * n and outer >= 0:
            dims[-2] = outer = stride
            dims[-1] *= n
        else:
            dims += (stride, n)
            outer = stride
    return dims or [1, 1]


def _operand_of(t: NkiTensor, merge: bool) -> tuple:
    storage, dtype, shape, strides = t.storage, t.dtype, t.shape, t.strides
    size = dtype.itemsize
    if storage.on_chip:
        row = storage.row_bytes // size
        partition, free = divmod(t.offset, row)
        partitions = shape[0]
        if partitions > 1 and strides[0] != row:
            _t.error(
                "NKI-PARTITION",
                f"`{storage.name}` is taken with a partition step of {strides[0] / row:g}",
                "An instruction works on partitions that follow each other.",
                value=strides[0],
                limit=row,
            )
        shape, strides = shape[1:], strides[1:]
        limit = 4
    else:
        partition, free, partitions, limit = 0, t.offset, 0, 5
    if not merge:
        dims = [x for pair in zip(strides, shape) for x in pair] or [1, 1]
    elif t.index is not None:  # rows are chosen one by one
        dims = [strides[0], shape[0], *merged(shape[1:], strides[1:])]
    else:
        dims = merged(shape, strides)
    if len(dims) > 2 * limit:
        raise _t.failure(
            "NKI-DIMS",
            f"the view of `{storage.name}` with shape {t.shape} needs {len(dims) // 2} dimensions",
            "Copy it in parts, or choose a layout with more adjacent elements.",
            value=len(dims) // 2,
            limit=limit,
        )
    terms = t.terms
    for source, scale, is_partition in t.scalars:  # read now: the tensor may have changed since the view was made
        r = _t.register()
        _t.emit("reg_load", (r.operand(), source.operand()))
        terms = (*terms, r.terms[0][0], scale, is_partition)
    return (storage, dtype.code, partition, free * size, partitions, tuple(dims), terms)


def terms_of(t: NkiTensor, value: VirtualRegister, dim: int) -> tuple[int, tuple]:
    """A register as the index of dimension `dim`: what is added to the offset, and the terms of the view."""
    stride = t.strides[dim]
    if dim == 0 and t.storage.on_chip:
        row = t.storage.row_bytes // t.dtype.itemsize
        scale, flag = stride // row, 1
    else:
        scale, flag = stride * t.dtype.itemsize, 0
    terms = t.terms
    for register, factor in value.terms:
        terms = (*terms, register, scale * factor, flag)
    return stride * value.const, terms


def region_of(buffer) -> MemoryRegion:
    if type(buffer) is MemoryRegion:
        return buffer
    names = {"hbm": MemoryRegion.private_hbm, **{r.value: r for r in MemoryRegion}}
    if isinstance(buffer, str) and buffer in names:
        return names[buffer]
    raise _t.failure("NKI-BUFFER", f"{buffer!r} is no buffer", "Use nl.sbuf, nl.psum, nl.hbm or nl.shared_hbm.")


def dtype_of(dtype) -> dtypes.DType:
    """The type, which the machine must have."""
    try:
        found = dtypes.of(dtype)
    except TypeError:
        known = [name for name, x in dtypes.ALL.items() if x.machine is not None]
        close = difflib.get_close_matches(str(dtype), known, 1)
        text = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(known)}."
        raise _t.failure("NKI-DTYPE", f"{dtype!r} is no element type of NKI", text) from None
    if found.machine is None:
        raise _t.failure("NKI-DTYPE", f"tensors of type {found} (MX) are not supported")
    return found


def shape_of(shape, what: str = "a shape") -> tuple[int, ...]:
    if isinstance(shape, VirtualRegister):
        shape._unknown()
    try:
        shape = tuple(_integer(n) for n in shape) if hasattr(shape, "__iter__") else (_integer(shape),)
    except TypeError:
        raise _t.failure("NKI-SHAPE", f"{what} is a tuple of integers, not {shape!r}") from None
    if not shape or min(shape) < 1:
        raise _t.failure("NKI-SHAPE", f"{what} has sizes of at least 1", value=shape)
    return shape


def allocate(trace: _t.Trace, shape, dtype, buffer, name, address) -> NkiTensor:
    shape, region, dtype = shape_of(shape), region_of(buffer), dtype_of(dtype)
    on_chip = region is MemoryRegion.sbuf or region is MemoryRegion.psum
    if on_chip:
        limit = int(trace.target.value("memory.partitions"))
        if shape[0] > limit:
            _t.error(
                "NKI-SHAPE",
                f"a tensor in {region.value.upper()} has {shape[0]} partitions",
                "The first dimension is the partition. Tile the tensor.",
                value=shape[0],
                limit=limit,
            )
    if address is not None:
        address = _address_of(address, on_chip)
    return whole(trace.storage(region, name, dtype, shape, "chip" if on_chip else "scratch", address))


def _address_of(address, on_chip: bool):
    if not on_chip:
        _t.error("NKI-ADDRESS", "an address is given for a tensor in HBM", "Only tensors in SBUF and PSUM take one.")
        return None
    try:
        partition, byte = (_integer(x) for x in address)
    except (TypeError, ValueError):
        _t.error("NKI-ADDRESS", f"an address is (partition, byte in the partition), not {address!r}")
        return None
    if partition < 0 or byte < 0:
        _t.error("NKI-ADDRESS", "an address is not negative", value=(partition, byte))
        return None
    return (partition, byte)


from . import views as _views
from .indexing import indexed as _indexed

for _name in _views.METHODS:
    setattr(NkiTensor, _name, getattr(_views, _name))
NkiTensor.reinterpret_cast = _views.view
