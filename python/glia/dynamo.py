"""torch.compile(model, backend="glia"): forward and backward become programs of glia's; tensors in and out are on the
CPU. Dynamo and AOTAutograd find the graphs, torch_xla writes them as StableHLO. options={"target": "trn1", "lnc": 2} (docs/pytorch.md).
Under torchrun a graph with collectives is one of all processes (torch_processes.py)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from . import torch_decompositions, torch_processes, torch_rank_graphs
from .nki import trace as _t
from .torch_program import Wanted, compile_graph, draw_seeds

_OPTIONS = ("target", "lnc", "topology", "auto_cast")
_TENSOR = object()  # in the place of a result that the program gives


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
    """A function of a list of tensors and sizes: the program of one graph, or one for each combination of sizes that it is called with."""
    wanted = Wanted("<graph of torch.compile>", **options)
    if all(isinstance(x, torch.Tensor) and all(type(d) is int for d in x.shape) for x in examples):
        return _boxed(_program(graph, examples, wanted))
    made: dict[tuple, Callable[[list], list]] = {}

    def run(arguments: list):
        sizes = tuple(x.shape if isinstance(x, torch.Tensor) else x for x in arguments)
        if sizes not in made:
            tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
            made[sizes] = _program(_with_sizes(graph, arguments), tensors, wanted)
        arguments[:] = [x for x in arguments if isinstance(x, torch.Tensor)]
        return made[sizes](arguments)

    return _boxed(run)


def _with_sizes(graph: torch.fx.GraphModule, arguments: list) -> torch.fx.GraphModule:
    """The graph for the sizes of these arguments, which takes the tensors among them."""
    given = list(arguments)
    places = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor)]

    def call(*tensors):
        all_of_them = list(given)
        for place, x in zip(places, tensors):
            all_of_them[place] = x
        return graph(*all_of_them)

    return make_fx(call, tracing_mode="fake", _allow_non_fake_inputs=True)(*(given[i].detach() for i in places))


def _program(graph: torch.fx.GraphModule, examples, wanted: Wanted):
    """A function of a list of tensors: the program of a graph whose sizes are known. Results that are sizes or nothing are constants."""
    results = [x if not isinstance(x, torch.fx.Node) else _TENSOR for x in graph.graph.output_node().args[0]]
    if _TENSOR not in results:
        return lambda arguments: list(results)
    if torch_rank_graphs.exchanges(graph):
        made_by = torch_processes.compile_together(graph, examples, wanted)
    else:
        compiled = compile_graph(graph, examples, wanted)
        made_by = lambda inputs: compiled.run([(inputs, draw_seeds(compiled.seeds))])[0]  # noqa: E731

    def run(arguments: list):
        inputs = list(arguments)
        arguments.clear()  # as AOTAutograd wants it: nobody holds them longer than needed
        made = iter(made_by(inputs))
        return [next(made) if x is _TENSOR else x for x in results]

    return run


def _boxed(run):
    run._boxed_call = True  # takes a list
    return run
