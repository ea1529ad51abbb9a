"""What torch.distributed and torch_xla are while the function of a rank is traced: collectives that graphs can hold, in the place of those that exchange
at once; and the number of the rank. Imported only where torch is."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
from unittest import mock

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import DeviceMesh
from torch.utils._python_dispatch import _disable_current_modes

from .torch_collectives import exchange, operations, refusal


@contextlib.contextmanager
def of_rank(rank: int, ranks: int):
    with contextlib.ExitStack() as stack:
        for name, function in _distributed().items():
            for module in (dist, dist.distributed_c10d):
                stack.enter_context(mock.patch.object(module, name, function))
        for operation in operations():  # else numbers that nobody exchanged could be looked at
            tags = [*operation.tags, torch.Tag.nondeterministic_seeded]
            stack.enter_context(mock.patch.object(operation, "_tags", tags))
        stack.enter_context(mock.patch.object(DeviceMesh, "__getitem__", _outside(DeviceMesh.__getitem__)))
        if importlib.util.find_spec("torch_xla") is not None:
            for module, name, function in _xla(rank, ranks):
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, function))
        new_group, groups_of = _with_groups(dist.distributed_c10d.new_group)
        stack.enter_context(mock.patch.object(dist, "new_group", new_group))
        stack.enter_context(mock.patch.object(dist.ProcessGroup, "_mesh", property(groups_of), create=True))
        yield


def _outside(method):
    """Looks up something: no part of the graph."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        with _disable_current_modes():
            return method(*args, **kwargs)

    return call


# ---- torch.distributed --------------------------------------------------------------------------------------------------------


def _distributed() -> dict:
    out = {f.__name__: _in_graphs(f, g) for f, g in functional.traceable_collective_remaps.items()}
    return {**out, "broadcast": _in_graphs(dist.broadcast, _broadcast), "barrier": lambda *args, **kwargs: None}


def _in_graphs(original, instead):
    signature, taken = inspect.signature(original), inspect.signature(instead).parameters

    @functools.wraps(original)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {k: v for k, v in bound.arguments.items() if k in taken}
        if given.get("group", 0) is None:
            given["group"] = dist.group.WORLD
        if isinstance(given.get("op"), (dist.ReduceOp, dist.ReduceOp.RedOpType)):
            given["op"] = functional.REDUCE_OP_TO_STR[given["op"]]
        made = instead(**{**given, "async_op": False} if "async_op" in given else given)
        return _Done() if bound.arguments.get("async_op") else made

    return call


class _Done:
    """Of an exchange that goes on beside other work: a graph says by itself what has to wait for it."""

    def wait(self, timeout=None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def _broadcast(tensor, src=None, group=None, group_src=None):
    root = group_src if group_src is not None else dist.get_group_rank(group, src)
    tensor.copy_(functional.broadcast(tensor, root, group))


def _with_groups(new_group):
    """As torch_xla has it: a group may be told the groups that other ranks make beside it, and knows them as `_mesh`."""
    told: dict[str, list[list[int]]] = {}

    @functools.wraps(new_group)
    def call(ranks=None, timeout=None, backend=None, pg_options=None, **more):
        made = new_group(ranks, timeout, None, None, **more)
        said = pg_options.get("xla_pg_options", {}) if isinstance(pg_options, dict) else {}
        if "mesh" in said and isinstance(made, dist.ProcessGroup):
            told[made.group_name] = [list(g) for g in said["mesh"]]
        return made

    return call, lambda group: told.get(group.group_name, [dist.get_process_group_ranks(group)])


# ---- torch_xla ----------------------------------------------------------------------------------------------------------------


def _xla(rank: int, ranks: int):
    import torch_xla
    import torch_xla.core.xla_model as xm
    import torch_xla.runtime as xr

    everyone = [list(range(ranks))]

    def all_reduce(reduce_type, inputs, scale=1.0, groups=None, pin_layout=True):
        if isinstance(inputs, torch.Tensor):
            return _scaled(
                exchange(inputs, "all_reduce", _REDUCTIONS.get(reduce_type, reduce_type), groups or everyone), scale
            )
        for x in inputs:
            x.copy_(all_reduce(reduce_type, x, scale, groups))
        return inputs

    def all_gather(
        value, dim=0, groups=None, output=None, pin_layout=True, channel_id=None, use_global_device_ids=None
    ):
        if not isinstance(value, torch.Tensor):
            return [all_gather(x, dim, groups) for x in value]
        return _into(output, exchange(value, "all_gather", dim % value.ndim, groups or everyone))

    def reduce_scatter(
        reduce_type, input, scale, scatter_dim, shard_count, groups=None, output=None, pin_layout=True, channel_id=None,
        use_global_device_ids=None,
    ):  # fmt: skip
        if not isinstance(input, torch.Tensor):
            return [reduce_scatter(reduce_type, x, scale, scatter_dim, shard_count, groups) for x in input]
        groups = groups or everyone
        _counted("reduce_scatter", shard_count, groups)
        op, dim = _REDUCTIONS.get(reduce_type, reduce_type), scatter_dim % input.ndim
        return _into(output, _scaled(exchange(input, "reduce_scatter", op, dim, groups), scale))

    def all_to_all(value, split_dimension, concat_dimension, split_count, groups=None, pin_layout=True):
        groups = groups or everyone
        _counted("all_to_all", split_count, groups)
        return exchange(value, "all_to_all", split_dimension % value.ndim, concat_dimension % value.ndim, groups)

    def collective_permute(value, pairs):
        if not pairs:
            raise refusal("xm.collective_permute without pairs", "Give pairs of ranks: from, to.")
        return exchange(value, "permute", [list(p) for p in pairs])

    def collective_broadcast(tensors, root_ordinal=0, groups=None, pin_layout=True):
        groups = [[*groups]] if groups and isinstance(groups[0], int) else groups or everyone
        if len(groups) != 1 or root_ordinal not in groups[0]:
            raise refusal(
                "xm.collective_broadcast from one rank to several groups", "Broadcast in one group of all ranks."
            )
        for x in tensors:
            x.copy_(exchange(x, "broadcast", groups[0].index(root_ordinal), groups))

    def not_provided(name):
        def call(*args, **kwargs):
            raise refusal(f"{name} is not provided", "docs/pytorch.md lists what ranks can do together.")

        return call

    for f in (all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute, collective_broadcast):
        yield xm, f.__name__, f
    for name in ("send", "recv", "mesh_reduce", "all_gather_bucketized", "reduce_scatter_bucketized", "xla_rendezvous"):
        yield xm, name, not_provided(f"xm.{name}")
    nothing = lambda *args, **kwargs: None  # noqa: E731
    for module, name in ((xm, "mark_step"), (torch_xla, "sync")):
        yield module, name, nothing
    yield torch_xla, "step", contextlib.nullcontext
    yield xm, "rendezvous", lambda tag, payload=b"", replicas=(): []
    for module, name in ((xm, "xla_device"), (torch_xla, "device")):
        yield module, name, lambda *args, **kwargs: torch.device("cpu")
    for module in (xm, xr):
        for name in ("get_ordinal", "get_local_ordinal", "global_ordinal", "local_ordinal"):
            yield module, name, lambda: rank
        for name in ("xrt_world_size", "world_size", "global_device_count", "global_runtime_device_count"):
            yield module, name, lambda: ranks
    yield xm, "is_master_ordinal", lambda local=True: rank == 0


_REDUCTIONS = {"mul": "product", "and": "band", "or": "bor"}  # torch_xla's words


def _counted(name: str, count: int, groups) -> None:
    if any(len(g) != count for g in groups):
        raise refusal(
            f"xm.{name} into {count} parts in groups {groups}", "There are as many parts as ranks in a group."
        )


def _scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    return x if scale == 1.0 else x * scale


def _into(output, made: torch.Tensor) -> torch.Tensor:
    return made if output is None else output.copy_(made)
