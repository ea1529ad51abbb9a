"""One graph for all ranks. Every rank of a torch program traces a graph of its own: the groups that it names are those it belongs to, and numbers
that depend on its rank are written in it. Graphs that are equal otherwise become one: collectives with the groups of all ranks, and numbers that
differ as arguments of each rank. Imported only where torch is."""

from __future__ import annotations

import dataclasses
import operator
import re
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from . import torch_collectives, torch_rank_numbers
from .nki import trace as _t

_TORCH = str(Path(torch.__file__).parent)


@dataclasses.dataclass(frozen=True)
class _Reference:
    """The result of another operation, by its number."""

    number: int


@dataclasses.dataclass(frozen=True)
class Step:
    """An operation of a graph, as ranks compare it."""

    name: str
    leaves: tuple  # of its arguments: references, numbers, words
    structure: str
    shapes: tuple  # of its result
    group: tuple[int, ...] = ()  # the ranks that it exchanges with
    line: str = ""  # where it comes from; not compared


@dataclasses.dataclass(frozen=True)
class Together:
    """What the graphs of all ranks come to."""

    groups: dict[int, torch_collectives.Groups]  # by the number of the operation
    numbers: dict[tuple[int, int], tuple]  # by operation and leaf: what each rank has there


def exchanges(graph: torch.fx.GraphModule) -> bool:
    """Whether it has operations between ranks."""
    return any(torch_collectives.has_group(n) for n in graph.graph.nodes)


def lift_constants(graph: torch.fx.GraphModule) -> list[torch.Tensor]:
    """Makes arguments of the tensors that the graph holds, behind those that it has; returns them."""
    values: dict[str, torch.Tensor] = {}
    placed: dict[str, torch.fx.Node] = {}
    last = [n for n in graph.graph.nodes if n.op == "placeholder"][-1:]
    for node in [n for n in graph.graph.nodes if n.op == "get_attr"]:
        if node.target not in placed:
            value = values[node.target] = operator.attrgetter(node.target)(graph)
            placed[node.target] = _placeholder(graph.graph, f"held_{len(placed)}", value, last)
        node.replace_all_uses_with(placed[node.target])
        graph.graph.erase_node(node)
    graph.recompile()
    return [v.detach() for v in values.values()]


def _placeholder(graph: torch.fx.Graph, name: str, value: torch.Tensor, last: list) -> torch.fx.Node:
    """A new argument behind `last`, which it becomes."""
    first = next(iter(graph.nodes))
    with graph.inserting_after(last[0]) if last else graph.inserting_before(first):
        made = graph.placeholder(name)
    made.meta["val"] = value
    last[:] = [made]
    return made


def steps_of(graph: torch.fx.GraphModule) -> list[Step]:
    numbers = {node: i for i, node in enumerate(graph.graph.nodes)}

    def leaf(x):
        if isinstance(x, torch.fx.Node):
            return _Reference(numbers[x])
        return x if isinstance(x, (bool, int, float, type(None))) else str(x)

    out = []
    for node in graph.graph.nodes:
        leaves, structure = pytree.tree_flatten(
            (node.args, node.kwargs), is_leaf=lambda x: isinstance(x, torch.fx.Node)
        )
        exchange = torch_collectives.has_group(node)
        group = tuple(torch_collectives.group_of(node)) if exchange else ()
        if exchange:
            leaves = leaves[:-1]  # the group's name may be another one on each rank
        made = [x for x in pytree.tree_leaves(node.meta.get("val")) if isinstance(x, torch.Tensor)]
        shapes = tuple((tuple(x.shape), str(x.dtype)) for x in made)
        name = f"{node.op} {node.target if node.op == 'call_function' else ''}".strip()
        out.append(Step(name, tuple(map(leaf, leaves)), str(structure), shapes, group, _line(node)))
    return out


def _line(node: torch.fx.Node) -> str:
    """Of the program, not of torch."""
    said = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "")
    return next((f"{file}:{line}" for file, line in reversed(said) if not file.startswith(_TORCH)), "")


def together(ranks: list[list[Step]]) -> Together:
    """Compares the graphs of all ranks. Raises TORCH-RANKS where they do different things."""
    first = ranks[0]
    groups: dict[int, torch_collectives.Groups] = {}
    numbers: dict[tuple[int, int], tuple] = {}
    for r, other in enumerate(ranks):
        for i, (a, b) in enumerate(zip(first, other)):  # if one is shorter, it returns where the other does not
            if (a.name, a.structure, a.shapes, len(a.group)) != (b.name, b.structure, b.shapes, len(b.group)):
                raise _difference(r, a, b)
            for n, (x, y) in enumerate(zip(a.leaves, b.leaves)):
                if type(x) is not type(y) or (isinstance(x, (str, _Reference, type(None))) and x != y):
                    raise _difference(r, a, b)
                if x != y and not (x != x and y != y):
                    numbers[i, n] = ()
    for i, step in enumerate(first):
        if step.group:
            groups[i] = _groups([steps[i].group for steps in ranks], step)
    return Together(groups, {(i, n): tuple(steps[i].leaves[n] for steps in ranks) for i, n in numbers})


def _difference(rank: int, a: Step, b: Step):
    def said(step: Step) -> str:
        shapes = ", ".join(f"{dtype.removeprefix('torch.')}{list(shape)}" for shape, dtype in step.shapes)
        return f"{step.name} -> {shapes}" + (f" ({step.line})" if step.line else "")

    return _t.failure(
        "TORCH-RANKS",
        f"ranks do different things: rank 0 {said(a)}, rank {rank} {said(b)}",
        "One program serves all ranks: what a rank does must not hang on its number, but for numbers in arithmetic, slices and indices.",
    )


def _groups(named: list[tuple[int, ...]], step: Step) -> torch_collectives.Groups:
    """Of what each rank says of its own."""
    out = sorted(set(named))
    if sorted(r for g in out for r in g) != list(range(len(named))) or any(r not in g for r, g in enumerate(named)):
        raise _t.failure(
            "TORCH-RANKS",
            f"{step.name}: the groups {[list(g) for g in out]} do not hold each of {len(named)} ranks once",
            "Every rank takes part in every collective, each in one group.",
        )
    return [list(g) for g in out]


def write_for_all(graph: torch.fx.GraphModule, made: Together) -> list[tuple[torch.Tensor, ...]]:
    """Makes the graph of all ranks of the graph of rank 0. What comes back is what each rank has for the arguments that are new."""
    nodes = list(graph.graph.nodes)
    last = [n for n in nodes if n.op == "placeholder"][-1:]
    values = []
    for i in sorted({i for i, _ in made.numbers}):
        for new in torch_rank_numbers.write(nodes[i], {n: v for (j, n), v in made.numbers.items() if i == j}):
            values.append(new.values)
            new.place(_placeholder(graph.graph, f"of_rank_{len(values)}", new.values[0], last))
    for i, node in enumerate(nodes):
        if torch_collectives.name_of(node) is not None:
            torch_collectives.write(node, made.groups.get(i))
    graph.graph.lint()
    graph.recompile()
    return values
