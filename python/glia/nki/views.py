"""The view methods of NkiTensor. Each returns a new view of the same storage; none moves data. They are functions here and
become methods in tensor.py."""

from __future__ import annotations

import sys
from math import prod

from . import trace as _t
from .registers import VirtualRegister
from .source import _is_internal

METHODS = [
    "ap",
    "broadcast",
    "expand_dim",
    "flatten_dims",
    "indirect",
    "permute",
    "rearrange",
    "reshape",
    "reshape_dim",
    "select",
    "slice",
    "squeeze_dim",
    "vector_select",
    "view",
]
_slice = slice


def _dim(t, dim, extra: int = 0) -> int:
    """A dimension number, negative ones counted from the end."""
    n = len(t.shape) + extra
    dim = _integer(dim, "a dimension")
    if not -n <= dim < n:
        raise _t.failure(
            "NKI-VIEW", f"a tensor of shape {t.shape} has no dimension {dim}", value=dim, limit=f"0 to {n - 1}"
        )
    return dim % n


def _integer(x, what: str) -> int:
    if isinstance(x, VirtualRegister):
        x._unknown()
    try:
        return x.__index__()
    except AttributeError:
        raise _t.failure("NKI-VIEW", f"{what} is an integer, not a {type(x).__name__}") from None


def _fixed_first(t) -> bool:
    """Whether dimension 0 has a meaning of its own: partitions, or rows that an index chooses."""
    return t.storage.on_chip or t.index is not None


def _keep_first(t, dim: int, what: str) -> None:
    if dim == 0 and _fixed_first(t):
        which = "the partition dimension" if t.storage.on_chip else "the dimension that vector_offset chooses"
        raise _t.failure("NKI-VIEW", f"{what} changes {which} of `{t.storage.name}`", "It stays the first dimension.")


def permute(self, dims):
    """The dimensions in another order; the first of a tile stays."""
    dims = [_dim(self, d) for d in dims]
    if sorted(dims) != list(range(len(self.shape))):
        raise _t.failure("NKI-VIEW", f"permute takes each dimension of {self.shape} once", value=tuple(dims))
    if dims[0] != 0:
        _keep_first(self, 0, "permute")
    return _make(self, tuple(self.shape[d] for d in dims), tuple(self.strides[d] for d in dims), self.offset)


def broadcast(self, dim, size):
    """A dimension of size 1, repeated."""
    dim, size = _dim(self, dim), _integer(size, "a size")
    _keep_first(self, dim, "broadcast")
    if self.shape[dim] != 1 or size < 1:
        raise _t.failure("NKI-VIEW", f"broadcast repeats a dimension of size 1; dimension {dim} of {self.shape} is not")
    return _make(
        self,
        (*self.shape[:dim], size, *self.shape[dim + 1 :]),
        (*self.strides[:dim], 0, *self.strides[dim + 1 :]),
        self.offset,
    )


def expand_dim(self, dim):
    """One more dimension, of size 1, in front of `dim`."""
    dim = _dim(self, dim, 1)
    _keep_first(self, dim, "expand_dim")
    stride = self.shape[dim] * self.strides[dim] if dim < len(self.shape) else 1
    return _make(
        self, (*self.shape[:dim], 1, *self.shape[dim:]), (*self.strides[:dim], stride, *self.strides[dim:]), self.offset
    )


def squeeze_dim(self, dim):
    """Without a dimension of size 1."""
    dim = _dim(self, dim)
    _keep_first(self, dim, "squeeze_dim")
    if self.shape[dim] != 1:
        raise _t.failure("NKI-VIEW", f"squeeze_dim drops a dimension of size 1; dimension {dim} of {self.shape} is not")
    return _make(
        self, self.shape[:dim] + self.shape[dim + 1 :], self.strides[:dim] + self.strides[dim + 1 :], self.offset
    )


def _completed(shape, size: int, what: str) -> tuple[int, ...]:
    """`shape` with its -1 filled in, so that it has `size` elements."""
    shape = tuple(_integer(n, "a size") for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    known = prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known > 0 and size % known == 0:
        shape = tuple(size // known if n == -1 else n for n in shape)
    if not shape or min(shape) < 1 or prod(shape) != size:
        raise _t.failure(
            "NKI-SHAPE",
            f"{what} to {shape}: {size} elements do not make that shape",
            "The sizes multiply to as many elements as there are.",
            value=shape,
            limit=size,
        )
    return shape


def reshape_dim(self, dim, shape):
    """One dimension as several; one of them may be -1."""
    dim = _dim(self, dim)
    shape = _completed(shape, self.shape[dim], "reshape_dim")
    if shape != (self.shape[dim],):
        _keep_first(self, dim, "reshape_dim")
    stride = self.strides[dim]
    inner = tuple(stride * n for n in _row_major(shape))
    return _make(
        self,
        self.shape[:dim] + shape + self.shape[dim + 1 :],
        self.strides[:dim] + inner + self.strides[dim + 1 :],
        self.offset,
    )


def flatten_dims(self, start_dim, end_dim):
    """The dimensions from the first to the last, which lie one behind the other, as one."""
    first, last = _dim(self, start_dim), _dim(self, end_dim)
    if first > last:
        raise _t.failure("NKI-VIEW", "flatten_dims goes from a dimension to a later one", value=(first, last))
    if first != last:
        _keep_first(self, first, "flatten_dims")
    shape = (*self.shape[:first], prod(self.shape[first : last + 1]), *self.shape[last + 1 :])
    inner = _restrided(self.shape[first : last + 1], self.strides[first : last + 1], (shape[first],))
    if inner is None:
        raise _t.failure("NKI-VIEW", f"dimensions {first} to {last} of {self.shape} are not adjacent in memory")
    return _make(self, shape, self.strides[:first] + inner + self.strides[last + 1 :], self.offset)


def _restrided(shape, strides, new_shape):
    """Strides of `new_shape` over the same elements in the same order, or None if there are none."""
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    groups: list[list[int]] = []  # runs that behave like one dimension: [count, stride of the last]
    for n, s in old:
        if groups and groups[-1][1] == s * n:
            groups[-1][0] *= n
            groups[-1][1] = s
        else:
            groups.append([n, s])
    out, g = [], len(groups) - 1
    left, stride = groups[g] if groups else (1, 1)
    for n in reversed(new_shape):
        if n == 1:
            out.append(stride)
            continue
        if left == 1:
            g -= 1
            left, stride = groups[g]
        if left % n:
            return None
        out.append(stride)
        left //= n
        stride *= n
    return tuple(reversed(out))


def reshape(self, shape):
    """The same elements in the same order in another shape; one size may be -1."""
    shape = _completed(shape, self.size, "reshape")
    if not _fixed_first(self):
        strides = _restrided(self.shape, self.strides, shape)
    else:
        if shape[0] != self.shape[0] and self.storage.on_chip and shape[0] <= 128:
            from .language.memory import reshaped

            out = reshaped(self, shape)
            out.storage.moved = not _is_internal(sys._getframe(1).f_code.co_filename)
            return out
        if shape[0] != self.shape[0]:
            what = "partitions" if self.storage.on_chip else "rows that vector_offset chooses"
            raise _t.failure(
                "NKI-SHAPE",
                f"reshape of `{self.storage.name}` from {self.shape} to {shape} changes the number of {what}",
                "Data moves between partitions by DMA, a transpose or a matmul.",
                value=shape[0],
                limit=self.shape[0],
            )
        strides = _restrided(self.shape[1:], self.strides[1:], shape[1:])
        strides = None if strides is None else (self.strides[0], *strides)
    if strides is None:
        raise _t.failure("NKI-VIEW", f"the layout of this view of shape {self.shape} does not allow shape {shape}")
    return _make(self, shape, strides, self.offset)


def rearrange(self, src_pattern, dst_pattern, fixed_sizes=None):
    """Dimensions split, put in order and joined by their names."""
    sizes = dict(fixed_sizes or {})
    groups = [(g,) if isinstance(g, str) else tuple(g) for g in src_pattern]
    if len(groups) != len(self.shape):
        raise _t.failure("NKI-VIEW", f"rearrange names {len(groups)} dimensions of a tensor of shape {self.shape}")
    names = [n for g in groups for n in g]
    wanted = [(g,) if isinstance(g, str) else tuple(g) for g in dst_pattern]
    if len(set(names)) != len(names) or sorted(names) != sorted(n for g in wanted for n in g):
        raise _t.failure(
            "NKI-VIEW", "rearrange names each dimension once on both sides", value=(src_pattern, dst_pattern)
        )
    t = self
    for at in range(len(groups) - 1, -1, -1):  # from the last, so that earlier positions stay
        if len(groups[at]) != 1:
            t = reshape_dim(t, at, tuple(sizes.get(n, -1) for n in groups[at]))
        elif sizes.get(groups[at][0], self.shape[at]) != self.shape[at]:
            raise _t.failure(
                "NKI-SHAPE", f"rearrange: `{groups[at][0]}` has {self.shape[at]} elements", value=sizes[groups[at][0]]
            )
    t = permute(t, [names.index(n) for g in wanted for n in g])
    at = 0
    for g in wanted:
        if len(g) > 1:
            t = flatten_dims(t, at, at + len(g) - 1)
        at += 1
    return t


def slice(self, dim, start, end, step=1):
    """A part of one dimension, as t[..., start:end:step]."""
    dim = _dim(self, dim)
    key = (_slice(None),) * dim + (_slice(start, end, step),)
    return _indexed(self, key)


def _one_dynamic(t) -> None:
    if t.dynamic:
        raise _t.failure(
            "NKI-VIEW", f"this view of `{t.storage.name}` has a run-time index already", "A view has one of them."
        )


def _scalar_index(index) -> None:
    if index.size != 1 or index.storage.region.value != "sbuf" or not index.dtype.is_integer:
        raise _t.failure(
            "NKI-INDEX",
            "a run-time index is a register, or one integer in SBUF",
            "Load it with dma_copy into a (1, 1) tensor of nl.int32.",
            value=repr(index),
        )


def _with_scalar(view, source, dim_stride: int, itemsize: int, partition: bool):
    """`view`, moved by source * dim_stride elements."""
    scale = 1 if partition else dim_stride * itemsize
    flag = int(partition)
    if isinstance(source, VirtualRegister):
        terms = view.terms
        for register, factor in source.terms:
            terms = (*terms, register, scale * factor, flag)
        view.terms = terms
        view.offset += source.const * dim_stride * itemsize // view.dtype.itemsize
    else:
        _scalar_index(source)
        view.scalars = (*view.scalars, (source, scale, flag))
    view.dynamic = True
    return view


def select(self, dim, index):
    """One index of a dimension, which goes away; also one that is known when the kernel runs."""
    dim = _dim(self, dim)
    if not hasattr(index, "storage") and not isinstance(index, VirtualRegister):
        index = _integer(index, "an index")
        n = self.shape[dim]
        _keep_first(self, dim, "select")
        if not -n <= index < n:
            _t.error("NKI-SLICE", f"select: dimension {dim} of shape {self.shape}", value=index, limit=f"0 to {n - 1}")
            index = 0
        offset = self.offset + index % n * self.strides[dim]
    else:
        _one_dynamic(self)
        _keep_first(self, dim, "select with a run-time index")
        offset = self.offset
    shape, strides = self.shape[:dim] + self.shape[dim + 1 :], self.strides[:dim] + self.strides[dim + 1 :]
    if not shape or (self.storage.on_chip and len(shape) < 2):
        shape, strides = (*shape, 1), (*strides, 1)
    out = _make(self, shape, strides, offset)
    if isinstance(index, int):
        return out
    return _with_scalar(out, index, self.strides[dim], self.dtype.itemsize, False)


def _vector_index(t, vector) -> None:
    if t.storage.on_chip:
        raise _t.failure("NKI-INDEX", "vector_offset chooses rows of a tensor in HBM", value=t.storage.region.value)
    if (
        not hasattr(vector, "storage")
        or vector.storage.region.value != "sbuf"
        or vector.dtype not in ("int32", "uint32")
    ):
        raise _t.failure(
            "NKI-INDEX", "vector_offset is a tensor of nl.int32 or nl.uint32 in SBUF, one index per partition"
        )


def vector_select(self, dim, vector_offset):
    """Rows of a tensor in HBM, by a tile of int32 or uint32 with a row number for each partition."""
    if _dim(self, dim) != 0:
        raise _t.failure("NKI-VIEW", "vector_select chooses along dimension 0", value=dim)
    _one_dynamic(self)
    _vector_index(self, vector_offset)
    out = _make(self, (vector_offset.shape[0], *self.shape[1:]), self.strides, self.offset)
    out.index, out.dynamic = _Index(vector_offset, self.strides[0]), True
    return out


def ap(self, pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None):
    """The elements that an access pattern names, [[step, count], ...], from the first of this view and `offset` on."""
    new = self.dtype if dtype is None else _dtype_of(dtype)
    try:
        pairs = [(_integer(s, "a step"), _integer(n, "a count")) for s, n in pattern]
    except (TypeError, ValueError):
        raise _t.failure("NKI-AP", f"a pattern is a list of [step, count], not {pattern!r}") from None
    if not pairs or min(n for _, n in pairs) < 1:
        raise _t.failure("NKI-AP", "counts of a pattern are at least 1", value=pattern)
    if scalar_offset is not None and vector_offset is not None:
        raise _t.failure("NKI-AP", "a view has a scalar_offset or a vector_offset, not both")
    start, rest = divmod(self.offset * self.dtype.itemsize, new.itemsize)
    if rest:
        raise _t.failure("NKI-AP", f"the view does not start at an element of {new}")
    if offset is not None:
        start += _integer(offset, "an offset")
    out = _make(self, tuple(n for _, n in pairs), tuple(s for s, _ in pairs), start, new)
    if self.storage.on_chip:
        _check_on_chip(out, pairs)
    else:
        _check_hbm(out, pairs, vector_offset is not None)
    if vector_offset is not None:
        _one_dynamic(self)
        _vector_index(self, vector_offset)
        if indirect_dim != 0:
            raise _t.failure("NKI-AP", "vector_offset takes indirect_dim=0", value=indirect_dim)
        out.index, out.dynamic = _Index(vector_offset, _scaled(prod(self.shape[1:]), self, out)), True
    elif scalar_offset is not None:
        _one_dynamic(self)
        dim = _dim(self, indirect_dim)
        stride = prod(self.shape[dim + 1 :])
        by_partition = self.storage.on_chip and dim == 0
        if by_partition and stride * self.dtype.itemsize != self.storage.row_bytes:
            raise _t.failure("NKI-AP", "scalar_offset of dimension 0 on chip moves by whole partitions", value=stride)
        if by_partition and isinstance(scalar_offset, VirtualRegister):
            out = _with_scalar(out, scalar_offset, stride, self.dtype.itemsize, True)
        else:
            if not isinstance(scalar_offset, VirtualRegister) and not hasattr(scalar_offset, "storage"):
                number = _integer(scalar_offset, "scalar_offset")
                out.offset += _scaled(number * stride, self, out)
                return out
            out = _with_scalar(out, scalar_offset, stride, self.dtype.itemsize, by_partition)
    return out


def _scaled(elements: int, old, new) -> int:
    """Elements of `old`'s type in those of `new`'s."""
    return elements * old.dtype.itemsize // new.dtype.itemsize


def _wrong(view, message: str, advice: str = "", value="", limit="") -> None:
    """The view cannot be used; it can be made, since the kernel may never use it."""
    view.wrong = (*view.wrong, _t.diagnostic("NKI-AP", message, advice, value, limit))


def _check_on_chip(out, pairs) -> None:
    storage = out.storage
    row = storage.row_bytes // out.dtype.itemsize
    step, count = pairs[0]
    if step != row and count != 1:
        _wrong(
            out,
            f"the first step of a pattern on chip goes from partition to partition of `{storage.name}`",
            "It is the number of elements that the tensor has in a partition.",
            value=step,
            limit=row,
        )
        out.strides = (row, *out.strides[1:])
    partition, free = divmod(out.offset, row)
    low = free + sum(s * (n - 1) for s, n in pairs[1:] if s < 0)
    high = free + sum(s * (n - 1) for s, n in pairs[1:] if s > 0)
    if partition < 0 or partition + count > storage.shape[0] or low < 0 or high >= row:
        _wrong(
            out,
            f"the pattern leaves `{storage.name}` of shape {storage.shape}",
            _PATTERN,
            value=f"partitions {partition} to {partition + count - 1}, elements {low} to {high}",
            limit=f"partitions 0 to {storage.shape[0] - 1}, elements 0 to {row - 1}",
        )


_PATTERN = "A pattern is [[step, count], ...], the partition first; the last element is at offset + the sum of step * (count - 1)."


def _check_hbm(out, pairs, ignore_first: bool) -> None:
    size = out.storage.row_bytes // out.dtype.itemsize
    used = pairs[1:] if ignore_first else pairs
    low = out.offset + sum(s * (n - 1) for s, n in used if s < 0)
    high = out.offset + sum(s * (n - 1) for s, n in used if s > 0)
    if low < 0 or high >= size:
        _wrong(
            out,
            f"the pattern leaves `{out.storage.name}` of shape {out.storage.shape}",
            _PATTERN,
            value=f"elements {low} to {high}",
            limit=f"0 to {size - 1}",
        )


def view(self, dtype):
    """The same bytes as another type."""
    new = _dtype_of(dtype)
    old = self.dtype
    if new.itemsize == old.itemsize:
        return _make(self, self.shape, self.strides, self.offset, new)
    if self.dynamic:
        raise _t.failure("NKI-VIEW", "view changes the element size of a view with a run-time index")
    shape, strides = self.shape, self.strides
    if self.storage.on_chip and len(shape) == 1:
        shape, strides = (*shape, 1), (*strides, 1)
    if strides[-1] != 1 and shape[-1] != 1:
        raise _t.failure("NKI-VIEW", "view needs a last dimension of adjacent elements", value=strides[-1], limit=1)
    row = shape[-1] * old.itemsize
    scaled = [s * old.itemsize for s in (*strides[:-1], self.offset)]
    if row % new.itemsize or any(s % new.itemsize for s in scaled):
        raise _t.failure("NKI-VIEW", f"the view of {old} {self.shape} is not made of whole elements of {new}")
    scaled = [s // new.itemsize for s in scaled]
    return _make(self, (*shape[:-1], row // new.itemsize), (*scaled[:-1], 1), scaled[-1], new)


def indirect(self, index, num_elem=None):
    """Refused: tensor indirection is not available."""
    raise _t.failure(
        "NKI-UNSUPPORTED", "tensor indirection (t.indirect) is not supported", "Use local_gather or dma_copy."
    )


from .indexing import indexed as _indexed
from .tensor import Index as _Index
from .tensor import dtype_of as _dtype_of
from .tensor import make as _make
from .tensor import row_major as _row_major
