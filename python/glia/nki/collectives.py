"""nki.collectives: what the ranks of a kernel do together. A kernel is for one rank unless it is called through
`nki.simulate(kernel, ranks=n)` or compiled with `glia.compile(..., ranks=n)`. Each call becomes instructions `collective`, one for
each tensor; ranks meet in the order of the calls."""

from __future__ import annotations

from . import trace as _t
from .isa._args import emit, text
from .isa.movement import check_priority, dma_copy
from .objects import MemoryRegion, NKIObject
from .ops import ALU
from .ranks import rank_register, rank_table
from .registers import VirtualRegister
from .ring import reduced_pair, successors
from .tensor import NkiTensor

_GPSIMD = 3
_OPS = frozenset({"add", "max", "min"})


class ReplicaGroup(NKIObject):
    """Groups of ranks that exchange among themselves: [[0, 1], [2, 3]]."""

    groups: list = None


def _refuse(message: str, advice: str = "", value="", limit="") -> None:
    _t.error("NKI-COLLECTIVE", message, advice, value, limit)


def _lists_of(call: str, group) -> list[list[int]] | None:
    """The groups, all of one size, which name every rank of the kernel once; None if something is wrong with them."""
    ranks = _t.required(f"nki.collectives.{call}").ranks
    given = group.groups if isinstance(group, ReplicaGroup) else group
    advice = "Give ReplicaGroup([[0, 1], [2, 3]]): lists of ranks."
    if not isinstance(given, (list, tuple)) or not given:
        return _refuse(f"replica_group of {call} is {text(group)}", advice)
    lists = []
    for g in given:
        if not isinstance(g, (list, tuple)) or not g or not all(hasattr(r, "__index__") for r in g):
            return _refuse(f"replica_group of {call} has {g!r} in place of a list of ranks", advice)
        lists.append([r.__index__() for r in g])
    flat = sorted(r for g in lists for r in g)
    if flat != list(range(ranks)):
        return _refuse(f"replica_group of {call} is {lists}, {_fault(flat, ranks)}", _run_with(flat, ranks))
    if len({len(g) for g in lists}) > 1:
        return _refuse(f"the groups of {call} have different sizes: {lists}", "Groups have the same number of ranks.")
    return lists


def _fault(flat: list[int], ranks: int) -> str:
    twice = next((r for r in flat if flat.count(r) > 1), None)
    if twice is not None:
        return f"which names rank {twice} twice"
    beyond = next((r for r in flat if not 0 <= r < ranks), None)
    if beyond is not None:
        return f"which names rank {beyond}, and the kernel is for {ranks} rank{'s' if ranks > 1 else ''}"
    return f"which does not name rank {min(set(range(ranks)) - set(flat))} of {ranks}"


def _run_with(flat: list[int], ranks: int) -> str:
    if max(flat) >= ranks:
        return f"Call the kernel through nki.simulate(kernel, ranks={max(flat) + 1})."
    return "The groups name every rank once."


def _tensors(call: str, srcs, dsts, sbuf: bool = True, several: bool = True) -> list[tuple[NkiTensor, NkiTensor]]:
    """Pairs of source and destination in one memory, with one type; what is not so is said and left out."""
    pairs = []
    for what, given in (("srcs", srcs), ("dsts", dsts)):
        if not isinstance(given, (list, tuple)) or not given or not all(isinstance(x, NkiTensor) for x in given):
            _refuse(f"{what} of {call} is {text(given)} and must be a list of tensors", f"Give {what}=[tensor].")
            return []
    if len(srcs) != len(dsts):
        _refuse(f"{call} has {len(srcs)} srcs and {len(dsts)} dsts", "Give a destination for each source.")
        return []
    places = {"SBUF" if x.on_chip else "HBM" for x in (*srcs, *dsts)}
    if any(x.storage.region is MemoryRegion.psum for x in (*srcs, *dsts)):
        _refuse(f"a tensor of {call} is in PSUM", "Copy it to SBUF or HBM first.")
        return []
    if len(places) > 1:
        _refuse(f"{call} mixes SBUF and HBM", "All tensors of a collective are in HBM, or all in SBUF.")
        return []
    on_chip = places == {"SBUF"}
    if on_chip and not sbuf:
        _refuse(f"{call} takes tensors in HBM only, not in SBUF", "Copy them with nisa.dma_copy first.")
        return []
    if len(srcs) > 1 and (on_chip or not several):
        where = "in SBUF " if several else ""
        _refuse(f"{call} {where}takes one tensor, not {len(srcs)}", "Call it once for each tensor.")
        return []
    for s, d in zip(srcs, dsts):
        if s.dtype != d.dtype:
            _refuse(f"{call} goes from {s.dtype} to {d.dtype}", "Both have one type; convert before or after.")
        elif on_chip and (len(s.shape) != 2 or len(d.shape) != 2):
            _refuse(
                f"tensors of {call} in SBUF have shapes {tuple(s.shape)} and {tuple(d.shape)}",
                "In SBUF a collective takes two dimensions: partitions and one free dimension.",
            )
        else:
            pairs.append((s, d))
    return pairs


def _shape(call: str, dst: NkiTensor, want, src: NkiTensor) -> bool:
    if tuple(dst.shape) == tuple(want):
        return True
    _refuse(f"dst of {call} has shape {tuple(dst.shape)}", f"src {tuple(src.shape)} gives {tuple(want)}.")
    return False


def _axis(call: str, collective_dim, src: NkiTensor, on_chip_too: bool = False) -> int | None:
    """The dimension, if it can be the one that is split or put together."""
    allowed = (0, 1) if on_chip_too and src.on_chip else (0,)
    if collective_dim not in allowed or isinstance(collective_dim, bool):
        where = "SBUF" if src.on_chip else "HBM"
        return _refuse(
            f"collective_dim of {call} is {collective_dim!r}",
            f"For tensors in {where} it is {' or '.join(map(str, allowed))}.",
        )
    return collective_dim


def _operation(call: str, op) -> str | None:
    name = ALU.get(op) or ALU.get(getattr(op, "__name__", None))
    if name not in _OPS:
        shown = getattr(op, "name", None) or getattr(op, "__name__", None) or repr(op)
        return _refuse(f"op of {call} is {shown}", "Give nl.add, nl.maximum or nl.minimum.")
    return name


def _exchange(kind: str, dst: NkiTensor, src: NkiTensor, groups: list[list[int]], op: str = "add", name=None) -> None:
    """dst = what the kind makes of src. In HBM both cores mean the same tensors; in SBUF each core has its own."""
    t = _t.required()
    if src.on_chip and t.cores > 1:
        dma_copy(dst, _through_hbm(kind, src, dst.shape, groups, op, name))
        return
    _meet(src)
    if t.core == 0:
        _emit(kind, dst, src, groups, op, name)
    _meet(dst)


def _emit(kind: str, dst: NkiTensor, src: NkiTensor, groups: list[list[int]], op: str, name) -> None:
    flat = [r for g in groups for r in g]
    slots = (dst.operand(), src.operand(), None, kind, op, _t.required().ranks, len(groups[0]), flat)
    emit("collective", slots, _GPSIMD, name)


def _meet(data: NkiTensor) -> None:
    """Core 0 speaks to other ranks: it begins when the other core is here too, which goes on when it is done."""
    if _t.required().cores > 1:
        emit("core_barrier", (data.storage.name,), _GPSIMD)


def _through_hbm(kind: str, src: NkiTensor, shape, groups, op: str = "add", name=None) -> NkiTensor:
    """A tensor in HBM with what the kind makes of src, which is in SBUF. Core 0 exchanges for both cores."""
    t = _t.required()
    region = MemoryRegion.shared_hbm if t.cores > 1 else MemoryRegion.private_hbm
    given = [_t.ndarray(src.shape, src.dtype, region) for _ in range(t.cores)]
    made = [_t.ndarray(shape, src.dtype, region) for _ in range(t.cores)]
    dma_copy(given[t.core], src)
    _meet(given[0])
    if t.core == 0:
        for a, b in zip(given, made):
            _emit(kind, b, a, groups, op, name)
    _meet(made[0])
    return made[t.core]


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """Each dst = what op makes of that src of all ranks of the group, element by element."""
    check_priority(priority)
    groups, how = _lists_of("all_reduce", replica_group), _operation("all_reduce", op)
    for s, d in _tensors("all_reduce", srcs, dsts):
        if _shape("all_reduce", d, s.shape, s) and groups and how:
            _exchange("all_reduce", d, s, groups, how, name)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Each dst = that src of all ranks of the group, one behind the other along collective_dim."""
    check_priority(priority)
    groups = _lists_of("all_gather", replica_group)
    for s, d in _tensors("all_gather", srcs, dsts):
        axis = _axis("all_gather", collective_dim, s, True)
        if axis is None or not groups:
            continue
        n = len(groups[0])
        if not _shape("all_gather", d, [x * (n if i == axis else 1) for i, x in enumerate(s.shape)], s):
            continue
        if axis == 0:
            _exchange("all_gather", d, s, groups, name=name)
            continue
        # Parts of one partition after the other are no row-major order of dst: they come through HBM, a part at a time.
        rows, columns = s.shape
        parts = _through_hbm("all_gather", s, (n, rows, columns), groups, name=name)
        for i in range(n):
            dma_copy(d[:, i * columns : (i + 1) * columns], parts[i])


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """Each dst = the rank's part, along dimension 0, of what op makes of that src of all ranks of the group."""
    check_priority(priority)
    groups, how = _lists_of("reduce_scatter", replica_group), _operation("reduce_scatter", op)
    for s, d in _tensors("reduce_scatter", srcs, dsts):
        if _axis("reduce_scatter", collective_dim, s) is None or not groups or not how:
            continue
        if _split("reduce_scatter", s, len(groups[0])):
            if _shape("reduce_scatter", d, (s.shape[0] // len(groups[0]), *s.shape[1:]), s):
                _exchange("reduce_scatter", d, s, groups, how, name)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Each dst = the parts, along dimension 0, that the ranks of the group have for this one, in their order."""
    check_priority(priority)
    groups = _lists_of("all_to_all", replica_group)
    for s, d in _tensors("all_to_all", srcs, dsts, sbuf=False):
        if _axis("all_to_all", collective_dim, s) is None or not groups:
            continue
        if _split("all_to_all", s, len(groups[0])) and _shape("all_to_all", d, s.shape, s):
            _exchange("all_to_all", d, s, groups, name=name)


def _split(call: str, src: NkiTensor, n: int) -> bool:
    if src.shape[0] % n == 0:
        return True
    _refuse(f"{call} splits dimension 0 of {tuple(src.shape)} among {n} ranks", f"Make it a multiple of {n}.")
    return False


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """dst of each target = src of its source. A rank that is no target gets zeros."""
    check_priority(priority)
    ranks = _t.required("nki.collectives.collective_permute").ranks
    pairs = _pairs(source_target_pairs, ranks)
    for s, d in _tensors("collective_permute", srcs, dsts, sbuf=False, several=False):
        if _shape("collective_permute", d, s.shape, s) and pairs:
            _exchange("permute", d, s, pairs, name=name)


def _pairs(given, ranks: int) -> list[list[int]] | None:
    call = "source_target_pairs of collective_permute"
    try:
        pairs = [[a.__index__(), b.__index__()] for a, b in given]
    except (TypeError, ValueError, AttributeError):
        return _refuse(f"{call} is {text(given)}", "Give a list of (source, target).")
    for side, what in ((0, "source"), (1, "target")):
        ends = sorted(p[side] for p in pairs)
        if not pairs or ends[0] < 0 or ends[-1] >= ranks:
            limit = f"0 to {ranks - 1}"
            advice = f"Call the kernel through nki.simulate(kernel, ranks={max(ends, default=1) + 1})."
            return _refuse(f"a {what} in {call} is no rank of the kernel", advice, pairs, limit)
        if len(set(ends)) != len(ends):
            return _refuse(f"{call} has a {what} twice", "Every rank gives and gets at most once.", pairs)
    return pairs


def collective_permute_implicit(
    srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,), priority=None, name=None
):
    """dst of each rank = src of the one before it in its group's ring, for each channel."""
    call = "collective_permute_implicit"
    check_priority(priority)
    groups = _lists_of(call, replica_group)
    for s, d in _by_channel(call, channel_ids, srcs_by_channel, dsts_by_channel):
        if _shape(call, d, s.shape, s) and groups:
            _exchange("permute", d, s, successors(groups), name=name)


def collective_permute_implicit_reduce(
    srcs0_by_channel,
    srcs1_by_channel,
    dsts_by_channel,
    replica_group,
    op,
    channel_ids=(0,),
    priority=None,
    name=None,
):
    """dst of each rank = op(src0, src1) of the one before it in its group's ring, for each channel."""
    call = "collective_permute_implicit_reduce"
    check_priority(priority)
    groups, how = _lists_of(call, replica_group), _operation(call, op)
    first = _by_channel(call, channel_ids, srcs0_by_channel, dsts_by_channel)
    second = _by_channel(call, channel_ids, srcs1_by_channel, dsts_by_channel)
    for (a, d), (b, _) in zip(first, second):
        if _shape(call, d, a.shape, a) and _shape(call, d, b.shape, b) and groups and how:
            _exchange("permute", d, reduced_pair(a, b, how), successors(groups), name=name)


def _by_channel(call: str, channels, srcs, dsts) -> list[tuple[NkiTensor, NkiTensor]]:
    """One pair for each channel. All channels go round the ring the same way, so they are one exchange after the other."""
    ids = list(channels) if isinstance(channels, (list, tuple)) else [channels]
    if ids != list(range(len(ids))):
        _refuse(f"channel_ids of {call} is {channels!r}", "Give consecutive integers from 0.")
        return []
    for what, given in (("sources", srcs), ("destinations", dsts)):
        if not isinstance(given, (list, tuple)) or len(given) != len(ids):
            _refuse(
                f"{call} has {len(ids)} channels, and its {what} are {text(given)}", "Give a list for each channel."
            )
            return []
    return [pair for s, d in zip(srcs, dsts) for pair in _tensors(call, s, d, several=False)]


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group, channel_id=0, name=None):
    """A register with the rank whose data is here after so many steps of the ring: at 0 the rank itself, then those before it."""
    call = "collective_permute_implicit_current_processing_rank_id"
    groups = _lists_of(call, replica_group)
    if isinstance(iteration_id, VirtualRegister) or not hasattr(iteration_id, "__index__"):
        _refuse(
            f"iteration_id of {call} is {text(iteration_id)}", "Give a number that is known when the kernel is traced."
        )
        groups = None
    if not groups:
        return rank_register()
    source = {}
    for g in groups:
        for place, rank in enumerate(g):
            source[rank] = g[(place - iteration_id.__index__()) % len(g)]
    return rank_table([source[r] for r in range(len(source))])


def rank_id(name=None):
    """A register with the number of the rank."""
    return rank_register()


def _refused(name: str):
    def call(*args, **kwargs):
        raise _t.failure(
            "NKI-UNSUPPORTED",
            f"nki.collectives.{name} is not supported: the sizes of what is exchanged are written in the program",
            "Exchange the largest size with all_gather or all_to_all, and the counts beside it.",
        )

    call.__name__ = call.__qualname__ = name
    return call


all_gather_v = _refused("all_gather_v")
all_to_all_v = _refused("all_to_all_v")

__all__ = [
    "ReplicaGroup",
    "all_gather",
    "all_gather_v",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce",
    "rank_id",
    "reduce_scatter",
]
