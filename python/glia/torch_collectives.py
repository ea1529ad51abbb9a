"""What ranks of torch do together: the collectives of torch's graphs (`_c10d_functional`), written into a graph of torch_xla. torch_xla has
collectives of its own, which it chains by numbers that it multiplies and adds to the data; these are calls of @glia.collective, which
the reader of graphs writes as StableHLO (lib/Graph/Read/CollectiveCalls.h). Imported only where torch is."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .nki import trace as _t

Groups = list[list[int]]  # ranks; every rank is in one group, at the place that it has in it

_TARGET = "glia.collective"
_VERSION = 2  # of the interface of custom calls: backend_config is a string
_REDUCTIONS = {
    "sum": "add",
    "avg": "add",
    "product": "multiply",
    "min": "minimum",
    "max": "maximum",
    "band": "and",
    "bor": "or",
    "bxor": "xor",
}


def refusal(message: str, advice: str):
    return _t.failure("TORCH-COLLECTIVE", message, advice)


def all_reduce(x: torch.Tensor, op: str, groups: Groups) -> torch.Tensor:
    return _mean(_call(x, "all_reduce", x.shape, groups, op), op, groups)


def reduce_scatter(x: torch.Tensor, op: str, dim: int, groups: Groups) -> torch.Tensor:
    shape = _divided(x, dim, groups, "reduce_scatter")
    return _mean(_call(x, "reduce_scatter", shape, groups, op, scatter_dimension=dim), op, groups)


def all_gather(x: torch.Tensor, dim: int, groups: Groups) -> torch.Tensor:
    return _call(x, "all_gather", _times(x.shape, dim, len(groups[0])), groups, all_gather_dim=dim)


def all_to_all(x: torch.Tensor, split: int, concatenated: int, groups: Groups) -> torch.Tensor:
    count = len(groups[0])
    shape = _times(_divided(x, split, groups, "all_to_all"), concatenated, count)
    dims = {"split_dimension": split, "concat_dimension": concatenated, "split_count": count}
    return _call(x, "all_to_all", shape, groups, **dims)


def broadcast(x: torch.Tensor, root: int, groups: Groups) -> torch.Tensor:
    """What the rank at place `root` of each group has."""
    if any(not 0 <= root < len(g) for g in groups):
        raise refusal(f"broadcast from place {root} of the groups {groups}", "Name a rank of the group.")
    first = [[g[root], *g[:root], *g[root + 1 :]] for g in groups]
    return _call(x, "collective_broadcast", x.shape, first)


def permute(x: torch.Tensor, pairs: list[list[int]]) -> torch.Tensor:
    """What the first rank of each pair has goes to the second; a rank that gets nothing has zeros."""
    return _written(x, "collective_permute", x.shape, {"source_target_pairs": _table(pairs)})


def _call(x, name: str, shape, groups: Groups, op: str | None = None, **numbers: int) -> torch.Tensor:
    said = {"replica_groups": _table(groups), **{k: f"{n} : i64" for k, n in numbers.items()}}
    if op is not None:
        if op not in _REDUCTIONS:
            raise refusal(f"{name} with the reduction `{op}`", f"There are {', '.join(_REDUCTIONS)}.")
        said["applies"] = f'"stablehlo.{_REDUCTIONS[op]}"'
    return _written(x, name, shape, said)


def _written(x, name: str, shape, said: dict[str, str]) -> torch.Tensor:
    import torch_xla

    text = ", ".join(f"{k} = {v}" for k, v in {"op": f'"stablehlo.{name}"', **said}.items())
    [made] = torch_xla._XLAC._xla_custom_call(
        [x], _TARGET, [list(shape)], [x.dtype], False, f"{{{text}}}", _VERSION, {}
    )
    return made


def _table(rows: list[list[int]]) -> str:
    return f"dense<{rows}> : tensor<{len(rows)}x{len(rows[0])}xi64>"


def _mean(x: torch.Tensor, op: str, groups: Groups) -> torch.Tensor:
    if op != "avg":
        return x
    if not x.dtype.is_floating_point:
        raise refusal(f"a mean of {x.dtype} over ranks", 'Use "sum" and divide.')
    return x / len(groups[0])


def _times(shape, dim: int, count: int) -> list[int]:
    return [n * count if d == dim else n for d, n in enumerate(shape)]


def _divided(x: torch.Tensor, dim: int, groups: Groups, name: str) -> list[int]:
    count = len(groups[0])
    if x.ndim <= dim or x.shape[dim] % count:
        advice = f"Make that dimension a multiple of {count}."
        raise refusal(f"{name} divides dimension {dim} of {list(x.shape)} among {count} ranks", advice)
    return [n // count if d == dim else n for d, n in enumerate(x.shape)]


# ---- what torch calls them ----------------------------------------------------------------------------------------------------


def _exchanged_parts(x, results: list[int], parts: list[int], groups: Groups) -> torch.Tensor:
    if len({*results, *parts}) > 1:
        raise refusal(
            f"all_to_all_single with parts of different sizes, {parts} and {results}", "Make all parts of one size."
        )
    return all_to_all(x, 0, 0, groups)


def _each(one: Callable) -> Callable:
    return lambda tensors, *rest: [one(x, *rest) for x in tensors]


def _gathered(x, count: int, groups: Groups) -> torch.Tensor:
    return all_gather(x if x.ndim else x.reshape(1), 0, groups)


def _scattered(x, op: str, count: int, groups: Groups) -> torch.Tensor:
    return reduce_scatter(x, op, 0, groups)


# ---- with groups that are said, for which torch has no operation ---------------------------------------------------------------

_SAID: dict[str, Callable] = {
    "all_reduce": all_reduce,
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "all_to_all": all_to_all,
    "broadcast": broadcast,
    "permute": permute,
}
_library = torch.library.Library("glia_ranks", "DEF")
_library.define("exchange(Tensor x, str kind, str said) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))


def exchange(x: torch.Tensor, kind: str, *said) -> torch.Tensor:
    """One of the functions above, as an operation that a graph can hold."""
    return torch.ops.glia_ranks.exchange(x, kind, json.dumps(said))


def _shape_only(x: torch.Tensor, kind: str, said: str) -> torch.Tensor:
    *dims, groups = json.loads(said)
    shape, count = x.shape, len(groups[0])
    if kind == "all_gather":
        shape = _times(shape, dims[0], count)
    elif kind == "reduce_scatter":
        shape = _divided(x, dims[1], groups, kind)
    elif kind == "all_to_all":
        shape = _times(_divided(x, dims[0], groups, kind), dims[1], count)
    return x.new_empty(shape)


_library.impl("exchange", _shape_only, "CompositeExplicitAutograd")

# Arguments are those of the operation, with the groups in the place of the group's name, which is the last one.
_EXCHANGE = "glia_ranks::exchange"
_OPERATIONS: dict[str, Callable] = {
    "_c10d_functional::all_reduce": all_reduce,
    "_c10d_functional::all_reduce_coalesced": _each(all_reduce),
    "_c10d_functional::all_gather_into_tensor": _gathered,
    "_c10d_functional::all_gather_into_tensor_coalesced": _each(_gathered),
    "_c10d_functional::reduce_scatter_tensor": _scattered,
    "_c10d_functional::reduce_scatter_tensor_coalesced": _each(_scattered),
    "_c10d_functional::all_to_all_single": _exchanged_parts,
    "_c10d_functional::broadcast": broadcast,
    "_dtensor::shard_dim_alltoall": lambda x, whole, divided, groups: all_to_all(x, divided, whole, groups),
    _EXCHANGE: lambda x, kind, said: _SAID[kind](x, *json.loads(said)),
}
_WAIT = "_c10d_functional::wait_tensor"
_SPACES = ("_c10d_functional", "_c10d_functional_autograd", "c10d", "_dtensor", "symm_mem", "fsdp", "glia_ranks")


def name_of(node: torch.fx.Node) -> str | None:
    """Of an operation between ranks, the name; raises an error for one that is not provided."""
    if not isinstance(node.target, torch._ops.OpOverload) or not is_between_ranks(node.target):
        return None
    name = node.target._schema.name
    if name not in _OPERATIONS and name != _WAIT:
        known = ", ".join(n.split("::")[1] for n in _OPERATIONS if n != _EXCHANGE)
        raise refusal(f"the graph has {name}, which is not provided", f"There are {known}.")
    return name


def operations() -> list:
    """Those of torch that exchange."""
    named = [name.split("::") for name in _OPERATIONS if name != _EXCHANGE]
    spaces = [(getattr(torch.ops, space), name) for space, name in named]
    return [getattr(space, name).default for space, name in spaces if hasattr(space, name)]


def is_between_ranks(operation) -> bool:
    return operation.namespace in _SPACES


class NoExchange(TorchDispatchMode):
    """While it is active, operations between ranks are refused: where nothing is exchanged they would give any numbers."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if is_between_ranks(func) and func._schema.name not in (_WAIT, "c10d::barrier"):
            raise refusal(
                f"{func._schema.name} before the function of the rank is traced, where nothing is exchanged",
                "Let it be part of the function, or give each rank its own data (src_data_rank=None of parallelize_module).",
            )
        return func(*args, **(kwargs or {}))


def check(graph: torch.fx.GraphModule) -> None:
    """Raises an error for operations between ranks that are not provided."""
    for node in graph.graph.nodes:
        name_of(node)


def write(node: torch.fx.Node, groups: Groups | None) -> None:
    """Puts what is written here in the place of an operation between ranks."""
    name = name_of(node)
    if name == _WAIT:
        node.replace_all_uses_with(node.args[0])
    else:
        schema = node.target._schema
        args = [node.args[i] if i < len(node.args) else node.kwargs[a.name] for i, a in enumerate(schema.arguments)]
        with node.graph.inserting_before(node):
            made = node.graph.call_function(_OPERATIONS[name], tuple(args) if groups is None else (*args[:-1], groups))
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
    node.graph.erase_node(node)


def has_group(node: torch.fx.Node) -> bool:
    """Whether it is an operation of a group that it names."""
    return name_of(node) not in (None, _WAIT, _EXCHANGE)


def group_of(node: torch.fx.Node) -> list[int]:
    """The ranks of the group that it names, in their order."""
    from torch.distributed import get_process_group_ranks
    from torch.distributed.distributed_c10d import _resolve_process_group

    schema = node.target._schema
    name = node.args[-1] if len(node.args) == len(schema.arguments) else node.kwargs[schema.arguments[-1].name]
    return list(get_process_group_ranks(_resolve_process_group(name)))
