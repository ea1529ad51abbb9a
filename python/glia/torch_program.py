"""From a graph of torch operations (torch.fx) to a program, of one rank or of all ranks together. Imported only where torch is."""

from __future__ import annotations

import atexit
import copy
import dataclasses
import weakref

import torch

from . import torch_graph
from .neuron.compile import compile_module
from .program import Program

_programs: weakref.WeakSet[Program] = weakref.WeakSet()


@atexit.register
def _forget() -> None:
    """torch keeps what it compiled beyond the end of Python."""
    for program in _programs:
        program._handle = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """For what a graph is compiled."""

    name: str  # of the graph, in messages
    target: str | None = None
    lnc: int | None = None
    ranks: int = 1
    topology: str = ""
    auto_cast: str = ""


@dataclasses.dataclass(frozen=True)
class Compiled:
    program: Program
    recorded: torch_graph.Recorded
    wanted: Wanted

    @property
    def seeds(self) -> int:
        """How many a call needs."""
        return sum(a.is_seed for a in self.recorded.arguments)

    def run(self, ranks: list[tuple[list[torch.Tensor], list[torch.Tensor]]]) -> list[list[torch.Tensor]]:
        """The results of each rank, from its inputs and seeds."""
        return torch_graph.run_ranks(self.program, [self._arguments(*r) for r in ranks], self.recorded.results)

    def inputs(self, ranks: list[tuple[list[torch.Tensor], list[torch.Tensor]]]) -> dict:
        """The program's inputs by name, from the same."""
        return torch_graph.inputs(self.program, [self._arguments(*r) for r in ranks])

    def _arguments(self, inputs: list[torch.Tensor], seeds: list[torch.Tensor]) -> list[torch.Tensor]:
        left = iter(seeds)
        return [
            inputs[a.input].detach() if a.input is not None else next(left) if a.is_seed else a.value
            for a in self.recorded.arguments
        ]

    def again(self, target: str) -> Compiled:
        """The same for another target."""
        return _compiled(self.recorded, dataclasses.replace(self.wanted, target=target))


def draw_seeds(count: int) -> list[torch.Tensor]:
    """Other random numbers on each call, from torch's own generator."""
    return [torch.randint(2**62, ()) for _ in range(count)]


def compile_graph(graph: torch.fx.GraphModule, examples: list[torch.Tensor], wanted: Wanted) -> Compiled:
    """`graph` takes tensors like `examples`, and returns a list of tensors, sizes and Nones."""
    device = torch_graph.lazy_device()
    moved = _on_device(graph, device)
    named = {**dict(moved.named_parameters()), **dict(moved.named_buffers())}
    recorded = torch_graph.record(
        lambda *inputs: [x for x in moved(*inputs) if isinstance(x, torch.Tensor)],
        [torch.zeros(x.shape, dtype=x.dtype).to(device) for x in examples],
        named,
    )
    return _compiled(recorded, wanted)


def _compiled(recorded: torch_graph.Recorded, wanted: Wanted) -> Compiled:
    w = wanted
    program, _ = compile_module(recorded.module, w.name, w.target, w.lnc, w.ranks, w.topology, w.auto_cast)
    _programs.add(program)
    return Compiled(program, recorded, wanted)


def _on_device(graph: torch.fx.GraphModule, device) -> torch.fx.GraphModule:
    """The graph, for tensors on that device."""
    moved = copy.deepcopy(graph).to(device)
    for node in moved.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": device}
    for name, x in list(vars(moved).items()):
        if isinstance(x, torch.Tensor):  # a constant that is no buffer
            delattr(moved, name)
            moved.register_buffer(name, x.to(device))
    moved.recompile()
    return moved
