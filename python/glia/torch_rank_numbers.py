"""Numbers in a graph that are other ones on each rank: the operation with an argument in their place, which each rank has its own of. Imported only
where torch is."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterator

import torch

from .nki import trace as _t

_ARITHMETIC = {
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "remainder",
    "fmod",
    "floor_divide",
}
_ARITHMETIC |= {"minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor", "pow"}
_PARTS = {"split", "split_with_sizes", "unbind", "chunk", "tensor_split"}


@dataclasses.dataclass(frozen=True)
class New:
    """An argument that is wanted: its values by rank, and what is done with it once it is there."""

    values: tuple[torch.Tensor, ...]
    place: Callable[[torch.fx.Node], None]


def write(node: torch.fx.Node, numbers: dict[int, tuple]) -> Iterator[New]:
    """Writes the operation anew. `numbers`: the leaves of its arguments that differ, with their values by rank."""
    if node.target is operator.getitem:
        source = node.args[0]
        if isinstance(source, torch.fx.Node) and _name(source) in _PARTS:
            yield from _part(node, source, numbers[1])
            return
    name = _name(node)
    if name == "slice" and set(numbers) <= {2, 3}:  # where it begins and ends
        yield from _slice(node, numbers)
    elif name == "select" and set(numbers) == {2}:
        yield from _select(node, numbers[2])
    elif name in ("full", "full_like", "scalar_tensor", "fill") and len(numbers) == 1:
        yield from _full(node, numbers)
    elif name == "arange" and set(numbers) == {0, 1}:  # as many, from another one on
        yield from _arange(node, numbers)
    elif name in _ARITHMETIC and set(numbers) in ({0}, {1}):
        yield from _arithmetic(node, numbers)
    else:
        raise _t.failure(
            "TORCH-RANKS",
            f"{node.target} has numbers that hang on the rank: {next(iter(numbers.values()))}",
            "Such numbers may stand in arithmetic, comparisons, slices, indices, full and arange.",
        )


def _name(node: torch.fx.Node) -> str:
    if not isinstance(node.target, torch._ops.OpOverload):
        return ""
    return node.target._schema.name.removeprefix("aten::").removesuffix("_copy")


def _argument(node: torch.fx.Node, name: str, otherwise=None):
    for i, a in enumerate(node.target._schema.arguments):
        if a.name == name:
            return node.args[i] if i < len(node.args) else node.kwargs.get(name, otherwise)
    return otherwise


def _shape(node: torch.fx.Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _tensor(x) -> torch.Tensor:
    """A number as an argument. Like a number, it leaves the type of a tensor beside it as it is."""
    return torch.tensor(x, dtype=torch.bool if type(x) is bool else torch.int64 if type(x) is int else torch.float32)


def _replaced(node: torch.fx.Node, function: Callable, *args, **kwargs) -> None:
    with node.graph.inserting_before(node):
        made = node.graph.call_function(function, args, kwargs)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)


def _rows(x: torch.Tensor, dim: int, first: torch.Tensor, count: int, step: int, shape) -> torch.Tensor:
    places = torch.arange(count, dtype=torch.int64, device=x.device) * step + first
    return torch.index_select(x, dim, places).reshape(shape)


def _taken(node, source, dim: int, firsts: tuple[int, ...], count: int, step: int = 1) -> Iterator[New]:
    """`count` places of dimension `dim`, from one on that is each rank's own."""
    shape = _shape(node)
    values = tuple(map(_tensor, firsts))
    yield New(values, lambda first: _replaced(node, _rows, source, dim, first, count, step, shape))


def _slice(node, numbers) -> Iterator[New]:
    source, dim = node.args[0], _argument(node, "dim", 0)
    size, begin = _shape(source)[dim], _argument(node, "start")
    begins = numbers.get(2) or (begin or 0,) * len(numbers[3])
    firsts = tuple(min(max(b + size if b < 0 else b, 0), size) for b in begins)
    yield from _taken(node, source, dim, firsts, _shape(node)[dim], _argument(node, "step", 1))


def _select(node, indices: tuple) -> Iterator[New]:
    source, dim = node.args[:2]
    size = _shape(source)[dim]
    yield from _taken(node, source, dim, tuple(i % size for i in indices), 1)


def _part(node, source, indices: tuple) -> Iterator[New]:
    whole = source.args[0]
    parts = source.meta["val"]
    dim = _argument(source, "dim", 0)
    if _name(source) == "unbind":
        yield from _taken(node, whole, dim, tuple(i % len(parts) for i in indices), 1)
    else:
        begins = list(itertools.accumulate((p.shape[dim] for p in parts), initial=0))[:-1]
        yield from _taken(node, whole, dim, tuple(begins[i] for i in indices), _shape(node)[dim])


def _full(node, numbers) -> Iterator[New]:
    [values], shape, dtype = numbers.values(), _shape(node), node.meta["val"].dtype
    yield New(
        tuple(_tensor(x).to(dtype) for x in values),
        lambda value: _replaced(node, torch.Tensor.expand, value, list(shape)),
    )


def _arange(node, numbers) -> Iterator[New]:
    [count], dtype = _shape(node), node.meta["val"].dtype
    step = node.args[2] if len(node.args) > 2 else 1

    def from_first(first):
        return torch.arange(count, dtype=dtype, device=first.device) * step + first

    yield New(tuple(_tensor(x).to(dtype) for x in numbers[0]), lambda first: _replaced(node, from_first, first))


def _arithmetic(node, numbers) -> Iterator[New]:
    [(n, values)] = numbers.items()
    operation = getattr(torch.ops.aten, _name(node))  # that of tensors
    before, after = node.args[:n], node.args[n + 1 :]
    yield New(
        tuple(map(_tensor, values)),
        lambda value: _replaced(node, operation, *before, value, *after, **node.kwargs),
    )
