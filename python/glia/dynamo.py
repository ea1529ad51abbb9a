"""torch.compile(model, backend="glia", dynamic=False): forward and backward become programs of glia's; tensors in and out are on the
CPU. Dynamo and AOTAutograd find the graphs, torch_xla writes them as StableHLO. options={"target": "trn1", "lnc": 2} (docs/pytorch.md).
Under torchrun a graph with collectives is one of all processes (torch_processes.py)."""

from __future__ import annotations

import torch

from . import torch_decompositions, torch_processes, torch_rank_graphs
from .nki import trace as _t
from .torch_program import Wanted, compile_graph, draw_seeds

_OPTIONS = ("target", "lnc", "topology")


def backend(graph: torch.fx.GraphModule, example_inputs, *, options: dict | None = None, **more):
    """What torch.compile calls (entry point glia of torch_dynamo_backends)."""
    from torch._decomp import core_aten_decompositions
    from torch._dynamo.backends.common import aot_autograd
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils._python_dispatch import _disable_current_modes

    options = {**(options or {}), **more}
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise _t.failure(
            "TORCH-OPTION", f"the backend glia has no option `{unknown[0]}`", f"It has {', '.join(_OPTIONS)}."
        )

    def compiler(made, examples):
        with _disable_current_modes():  # the examples stand for tensors; the graph is written down with others
            return _compiled(made, examples, options)

    decompositions = {**core_aten_decompositions(), **torch_decompositions.TRACED}
    compiled = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, decompositions=decompositions)
    with sdpa_kernel(SDPBackend.MATH):  # attention in plain operations
        return compiled(graph, example_inputs)


def _compiled(graph: torch.fx.GraphModule, examples, options: dict):
    """A function of a list of tensors: the program of one graph."""
    if not all(isinstance(x, torch.Tensor) and all(type(d) is int for d in x.shape) for x in examples):
        raise _t.failure(
            "TORCH-DYNAMIC",
            "a graph has sizes that are not known when it is compiled",
            "Use torch.compile(dynamic=False).",
        )
    returned = [x is not None for x in graph.graph.output_node().args[0]]
    if not any(returned):
        return _boxed(lambda arguments: [None] * len(returned))
    wanted = Wanted("<graph of torch.compile>", **options)
    if torch_rank_graphs.exchanges(graph):
        made_by = torch_processes.compile_together(graph, examples, wanted)
    else:
        compiled = compile_graph(graph, examples, wanted)
        made_by = lambda inputs: compiled.run([(inputs, draw_seeds(compiled.seeds))])[0]  # noqa: E731

    def run(arguments: list):
        inputs = list(arguments)
        arguments.clear()  # as AOTAutograd wants it: nobody holds them longer than needed
        made = iter(made_by(inputs))
        return [next(made) if r else None for r in returned]

    return _boxed(run)


def _boxed(run):
    run._boxed_call = True  # takes a list
    return run
