"""Calls that move data: copies on chip, DMA, shuffles and gathers."""

from __future__ import annotations

from ..ops import ALU
from ._args import (
    NkiTensor,
    choice,
    core,
    emit,
    engine_code,
    feature,
    flag,
    has_feature,
    indexed,
    integer,
    refuse,
    scalar,
    tensor,
    text,
)
from .enums import DGE, DMA_ENGINE, OOB, UNSET, dge_mode, dma_engine, engine, oob_mode

_engine_unknown = engine.unknown
_oob_error = oob_mode.error
_dge_unknown = dge_mode.unknown
_GPSIMD = 3


def tensor_copy(dst, src, engine=engine.unknown, name=None):
    """dst = src on chip; bit exact between equal types, else through fp32."""
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    return emit("tensor_copy", (tensor(dst, "dst"), tensor(src, "src")), e, name)


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    """dst = src where the predicate is not zero; elsewhere dst keeps its value."""
    slots = (tensor(dst, "dst"), scalar(src, "src", False), tensor(predicate, "predicate"), flag(reverse_pred))
    return emit("tensor_copy_predicated", slots, 1, name)


def memset(dst, value, engine=engine.unknown, name=None):
    """Every element of dst = value."""
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    d = tensor(dst, "dst")
    if type(value) is float:
        return emit("memset", (d, value), e, name)
    if isinstance(value, (NkiTensor, str)) or value is None:
        refuse(f"the value of memset is {text(value)}", "give a number that is known when the kernel is traced")
        return emit("memset", (d, 0.0), e, name)
    if int(value) == value and not -(1 << 24) <= value <= 1 << 24 and dst.dtype.is_integer:
        # fp32 holds 24 bits: wider integers go by their bits.
        if not -(1 << 31) <= value < 1 << 32:
            refuse(f"the value of memset is {value}", "give a 32-bit integer")
            value = 0
        bits = int(value)
        return emit("memset", (d, 0.0, bits - (1 << 32) if bits >= 1 << 31 else bits), e, name)
    return emit("memset", (d, float(value)), e, name)


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    """Within each quadrant of 32 partitions, partition i of dst = partition mask[i] of src; 255 leaves it alone."""
    mask = [integer(m, "shuffle_mask") for m in shuffle_mask]
    if len(mask) != 32:
        refuse(f"shuffle_mask has {len(mask)} entries", "give 32: one for each partition of a quadrant")
    return emit("nc_stream_shuffle", (tensor(dst, "dst"), tensor(src, "src"), mask), 1, name)


def local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None):
    """Each group of 16 partitions gathers runs of elements at the offsets that its indices name, column by column."""
    slots = (
        tensor(dst, "dst"),
        tensor(src_buffer, "src_buffer"),
        tensor(index, "index"),
        integer(num_elem_per_idx, "num_elem_per_idx"),
        0 if num_valid_indices is None else integer(num_valid_indices, "num_valid_indices"),
    )
    return emit("local_gather", slots, _GPSIMD, name)


def nc_n_gather(dst, data, indices, name=None):
    """dst[p, i] = data[p, indices[p, i]], the free dimensions of data flattened."""
    slots = (tensor(dst, "dst"), tensor(data, "data"), tensor(indices, "indices"))
    return emit("nc_n_gather", slots, _GPSIMD, name)


# ---- DMA -------------------------------------------------------------------------------------------------------------


def _descriptors(mode, dynamic: bool, casts: bool, e: int) -> str | None:
    """The way descriptors are made: where the caller leaves it open and gives an engine, one that it can start."""
    dge = None if mode is _dge_unknown else choice(DGE, mode, "dge_mode")
    if dge is None and dynamic and e != UNSET:
        return "hwdge" if has_feature("hwdge") and not casts else "swdge"
    return dge


def check_priority(priority) -> None:
    # A quality of service of the memory system: it changes no result, and the timing model has one class.
    if priority is None:
        return
    if priority not in (0, 1, 2, 3):
        refuse(f"priority is {priority!r}", "give 0, 1, 2 or 3")
    feature("dma_priority", "priority of a DMA")


def _issuer(dge: str | None, e: int) -> int:
    """The engine that issues a transfer: GpSimd makes software descriptors, Sync or Scalar start the hardware block."""
    if e == UNSET:
        return _GPSIMD if dge == "swdge" else UNSET
    if not (dge == "hwdge" and e in (2, 4)) and not (dge == "swdge" and e == _GPSIMD):
        refuse(
            f"engine of dma_copy is given with dge_mode {dge or 'none'}",
            "engine.sync or engine.scalar with dge_mode.hwdge; otherwise leave it out",
        )
        return UNSET
    return e


def dma_copy(
    dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, engine=engine.unknown, name=None
):
    """dst = src by DMA, element by element in row-major order; a cast goes through fp32."""
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    if priority is not None:
        check_priority(priority)
    d, di, ds = indexed(dst, "dst")
    s, si, ss = indexed(src, "src")
    if di is None and si is None:
        if not d[6] and not s[6] and oob_mode is _oob_error and dge_mode is _dge_unknown and e == UNSET:
            made = emit("dma_copy", (d, s), UNSET, name)
            if len(dst.shape) == 2 and dst.shape != src.shape and dst.shape == src.shape[::-1] and 1 not in dst.shape:
                made._trace.turned[made._index] = (src.shape, dst.shape)
            return made
        dge = _descriptors(dge_mode, bool(d[6] or s[6]), d[1] != s[1], e)
        oob = choice(OOB, oob_mode, "oob_mode")
        return emit("dma_copy", (d, s, None, None, None, None, oob, dge), _issuer(dge, e), name)
    dge = None if dge_mode is _dge_unknown else choice(DGE, dge_mode, "dge_mode")
    dge = dge or "swdge"
    slots = (d, s, di, si, None, ds if di is not None else ss, choice(OOB, oob_mode, "oob_mode"), dge)
    return emit("dma_copy", slots, _issuer(dge, e), name)


_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def dma_transpose(dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None):
    """dst = src with its first and last dimension exchanged, by DMA."""
    rank = len(src.shape) if isinstance(src, NkiTensor) else 0
    want = _AXES.get(rank)
    if priority is not None:
        check_priority(priority)
    d = tensor(dst, "dst")
    s, si, ss = indexed(src, "src")
    middle = 1
    if want is None:
        refuse(f"src of dma_transpose has {rank} dimensions", "give a tensor of 2, 3 or 4 dimensions")
    else:
        if axes is not None and tuple(a % rank for a in axes) != want:
            refuse(f"axes of dma_transpose are {tuple(axes)}", f"for {rank} dimensions they are {want}")
        shape = tuple(src.shape[a] for a in want)
        if tuple(dst.shape) != shape:
            refuse(f"dst of dma_transpose has shape {tuple(dst.shape)}", f"src {tuple(src.shape)} gives {shape}")
        for n in src.shape[1:-1]:
            middle *= n
    dge = None if dge_mode is _dge_unknown else choice(DGE, dge_mode, "dge_mode")
    if dge is None and si is not None:
        dge = "swdge"
    oob = None if oob_mode is _oob_error else choice(OOB, oob_mode, "oob_mode")
    return emit("dma_transpose", (d, s, si, None, middle, ss, oob, dge), _issuer(dge, UNSET), name)


def dma_compute(dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=oob_mode.error, name=None):
    """dst = the sum of srcs in fp32, by DMA; with one indexed source, a read-modify-write of rows."""
    if ALU.get(reduce_op) != "add":
        refuse(f"reduce_op of dma_compute is {reduce_op!r}", "DMA only adds: reduce_op=nl.add")
    if scales is not None and any(float(s) != 1.0 for s in scales):
        refuse(f"scales of dma_compute are {list(scales)}", "all of them are 1.0 on this hardware; scale on an engine")
    if not isinstance(srcs, (list, tuple)) or not 1 <= len(srcs) <= 16:
        refuse("srcs of dma_compute is no list of 1 to 16 tensors", "give a list of tensors")
        return emit("dma_compute", (), UNSET, name)
    oob = None if oob_mode is _oob_error else choice(OOB, oob_mode, "oob_mode")
    d, di, _ = indexed(dst, "dst")
    parts = [indexed(s, f"srcs[{i}]") for i, s in enumerate(srcs)]
    where = [i for i, p in enumerate(parts) if p[1] is not None]
    if not where and di is None:
        slots = (d, *(p[0] for p in parts), *(None,) * (16 - len(parts)), None, None, None, None, 0, oob, None)
        return emit("dma_compute", slots, UNSET, name)
    if not unique_indices:
        refuse("unique_indices=False is not supported", "give every index once")
    if len(parts) != 2 or len(where) != 1:
        refuse(
            f"an indexed dma_compute has {len(parts)} sources, {len(where)} of them indexed",
            "give two sources: the indexed rows and what is added to them",
        )
        return emit("dma_compute", (), UNSET, name)
    rows, other = parts[where[0]], parts[1 - where[0]]
    rest = (None,) * 15
    if dst.on_chip:  # gather: dst += rows
        if other[0] != d:
            refuse("the source of an indexed sum that has no index is not dst", "give dst as that source")
        slots = (d, rows[0], *rest, None, rows[1], None, rows[2], 1, oob, "swdge")
    else:  # scatter: rows of dst += other
        if rows[0][0] != d[0]:
            refuse("the indexed source of a scattering sum is not dst", "give the same view of dst as a source")
        index = di if di is not None else rows[1]
        slots = (rows[0], other[0], *rest, index, None, None, rows[2], 1, oob, "swdge")
    return emit("dma_compute", slots, _GPSIMD, name)


def sendrecv(src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma, name=None):
    """The two cores of a pair exchange tiles: dst gets the other core's src."""
    other = 1 - core()
    for what, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
        if integer(rank, what) != other:
            refuse(f"{what} is {rank} on core {1 - other}", f"a pair exchanges with its other core, {other} here")
    kind = choice(DMA_ENGINE, dma_engine, "dma_engine")
    slots = (tensor(dst, "dst"), tensor(src, "src"), integer(pipe_id, "pipe_id"), kind)
    return emit("sendrecv", slots, _GPSIMD if kind else UNSET, name)
