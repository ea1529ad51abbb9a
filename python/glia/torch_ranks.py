"""What several ranks of torch do, compiled and run in one process: glia.torch_ranks.compile. Each rank is traced by itself, in a process group of
torch's that exchanges nothing; their graphs become one program (torch_rank_graphs.py), and tensors have a dimension for the ranks in front."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.utils import _pytree as pytree

from . import torch_collectives, torch_decompositions, torch_rank_graphs, torch_rank_names
from .executable import Executable
from .nki import environment
from .nki import trace as _t
from .nki.ranks import MOST
from .torch_program import Compiled, Wanted, compile_graph, draw_seeds

TRACED = "glia_traced"  # the backend of process groups of ranks that are traced


def compile(
    make: Callable,
    *inputs,
    ranks: int,
    target: str | None = None,
    lnc: int = 1,
    topology: str = "",
) -> RanksExecutable:
    """One program of what `ranks` ranks do, proved.

    make: called once for each rank, as a script of torchrun's is: torch.distributed, and torch_xla.runtime, give that rank and the number of
    ranks. It makes groups and meshes, and returns the function or module of this rank.
    inputs: tensors, in tuples, lists or dictionaries, with a dimension for the ranks in front; each rank's function gets its part.
    topology: what the ranks lie on, for their time (`glia topologies`)."""
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= MOST:
        raise _spmd(f"there are 1 to {MOST} ranks, not {ranks!r}")
    if dist.is_initialized():
        raise _spmd(
            "there is a process group", "Call destroy_process_group first; each rank that is traced has its own."
        )
    leaves, tree = _leaves(inputs, ranks)
    traced = [_traced(make, [x[r] for x in leaves], tree, r, ranks) for r in range(ranks)]
    made = torch_rank_graphs.together([t.steps for t in traced])
    graph = traced[0].graph
    numbers = torch_rank_graphs.write_for_all(graph, made)
    held = [[*t.held, *(of_rank[r] for of_rank in numbers)] for r, t in enumerate(traced)]
    found = _t.find_target(target or environment.target_name())
    wanted = Wanted("<graph of ranks>", found.reference, lnc, ranks, topology)
    compiled = compile_graph(graph, [x[0] for x in leaves] + held[0], wanted)
    return RanksExecutable(compiled, held, tree, traced[0].structure)


class RanksExecutable(Executable):
    """A compiled function of several ranks. Called with tensors that have a dimension for the ranks in front, as its results have."""

    def __init__(self, compiled: Compiled, held: list[list[torch.Tensor]], tree, structure):
        super().__init__(compiled.program, compiled.wanted.target)
        self._compiled, self._held, self._tree, self._structure = compiled, held, tree, structure

    def _again(self, target: str) -> RanksExecutable:
        return RanksExecutable(self._compiled.again(target), self._held, self._tree, self._structure)

    @property
    def module(self) -> bytes:
        """The graph of one rank, as StableHLO."""
        return self._compiled.recorded.module

    def run(self, *inputs):
        results = self._compiled.run(self._given(inputs))
        return pytree.tree_unflatten([torch.stack(of_ranks) for of_ranks in zip(*results)], self._structure)

    def inputs(self, *inputs) -> dict:
        return self._compiled.inputs(self._given(inputs))

    def _given(self, inputs: tuple) -> list[tuple[list[torch.Tensor], list[torch.Tensor]]]:
        leaves, tree = _leaves(inputs, self.program.ranks)
        if tree != self._tree:
            raise _t.failure("TORCH-ARGUMENT", f"the arguments are {tree}, compiled for {self._tree}")
        return [([x[r] for x in leaves] + held, draw_seeds(self._compiled.seeds)) for r, held in enumerate(self._held)]


def _spmd(message: str, advice: str = ""):
    return _t.failure("TORCH-SPMD", f"glia.torch_ranks.compile: {message}", advice)


def _leaves(inputs: tuple, ranks: int):
    leaves, tree = pytree.tree_flatten(inputs)
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise _spmd(f"an argument is a {type(x).__name__}", "Pass tensors, in tuples, lists or dictionaries.")
        if x.ndim < 1 or x.shape[0] != ranks:
            advice = (
                "Give torch.stack of the tensors of all ranks; what is the same for all, x.expand(ranks, *x.shape)."
            )
            raise _spmd(
                f"an argument has shape {list(x.shape)}, and no part for each of {ranks} ranks in front", advice
            )
    return [x.detach() for x in leaves], tree


@dataclasses.dataclass(frozen=True)
class _Traced:
    """What one rank does."""

    graph: torch.fx.GraphModule
    held: list[torch.Tensor]  # its weights, which are arguments behind those of the function
    steps: list[torch_rank_graphs.Step]
    structure: pytree.TreeSpec  # of results


def _traced(make: Callable, inputs: list[torch.Tensor], tree, rank: int, ranks: int) -> _Traced:
    from torch._decomp import core_aten_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.attention import SDPBackend, sdpa_kernel

    structure = []

    def flat(*leaves):
        results, made = pytree.tree_flatten(function(*pytree.tree_unflatten(leaves, tree)))
        structure.append(made)
        wrong = [type(x).__name__ for x in results if not isinstance(x, torch.Tensor)]
        if wrong or not results:
            what = f"a {wrong[0]}" if wrong else "nothing"
            raise _spmd(
                f"the function of rank {rank} returns {what}", "Return tensors, in tuples, lists or dictionaries."
            )
        return results

    table = {**core_aten_decompositions(), **torch_decompositions.TRACED}
    with _process_group(rank, ranks), torch_rank_names.of_rank(rank, ranks), sdpa_kernel(SDPBackend.MATH):
        with torch_collectives.NoExchange():
            function = make()
        if not callable(function):
            raise _spmd(
                f"what is to make the function of rank {rank} returns a {type(function).__name__}",
                "Return a function or a module.",
            )
        try:
            graph = make_fx(flat, decomposition_table=table)(*inputs)
        except RuntimeError as e:
            if "_local_scalar_dense" not in str(e):
                raise
            advice = "Keep item() and branches on values out of it."
            raise _spmd(f"the function of rank {rank} looks at a number of a tensor", advice) from e
        torch_collectives.check(graph)
        held = torch_rank_graphs.lift_constants(graph)
        graph = make_fx(torch.func.functionalize(graph), decomposition_table=table)(*inputs, *held)
        held += torch_rank_graphs.lift_constants(graph)
        graph.graph.eliminate_dead_code()
        _refuse_writing(graph)
        return _Traced(graph, held, torch_rank_graphs.steps_of(graph), structure[0])


def _refuse_writing(graph: torch.fx.GraphModule) -> None:
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            raise _spmd(
                f"the function writes to an argument or a weight ({node.target})",
                "Return what is new; a program of ranks has no state.",
            )


def _made_group(common, options):
    """A group that exchanges nothing. What options say is for a group that does."""
    from torch._C._distributed_c10d import FakeProcessGroup

    return FakeProcessGroup(common.group_rank, common.group_size)


@contextlib.contextmanager
def _process_group(rank: int, ranks: int):
    """As rank `rank` sees it. Exchanges do nothing in it."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not hasattr(dist.Backend, TRACED.upper()):
        dist.Backend.register_backend(TRACED, _made_group, extended_api=True, devices=["cpu"])
    dist.init_process_group(TRACED, store=FakeStore(), rank=rank, world_size=ranks)
    try:
        yield
    finally:
        dist.destroy_process_group()
