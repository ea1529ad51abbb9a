"""torch.compile(model, backend="glia", dynamic=False): forward and backward become programs of glia's; tensors in and out are on the
CPU. Dynamo and AOTAutograd find the graphs, torch_xla writes them as StableHLO. options={"target": "trn1", "lnc": 2} (docs/pytorch.md)."""

from __future__ import annotations

import copy

import torch

from . import torch_decompositions, torch_graph
from .neuron.compile import compile_module
from .nki import trace as _t

_OPTIONS = ("target", "lnc")


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
    device = torch_graph.lazy_device()
    moved = _on_device(graph, device)
    named = {**dict(moved.named_parameters()), **dict(moved.named_buffers())}
    recorded = torch_graph.record(
        lambda *inputs: [x for x in moved(*inputs) if x is not None],
        [torch.zeros(x.shape, dtype=x.dtype).to(device) for x in examples],
        named,
    )
    program, _ = compile_module(recorded.module, "<graph of torch.compile>", options.get("target"), options.get("lnc"))

    def run(arguments: list):
        inputs = list(arguments)
        arguments.clear()  # as AOTAutograd wants it: nobody holds them longer than needed
        made = iter(torch_graph.run(program, [_value(a, inputs) for a in recorded.arguments], recorded.results))
        return [next(made) if r else None for r in returned]

    return _boxed(run)


def _boxed(run):
    run._boxed_call = True  # takes a list
    return run


def _value(argument: torch_graph.Argument, inputs: list[torch.Tensor]) -> torch.Tensor:
    if argument.input is not None:
        return inputs[argument.input].detach()
    if argument.is_seed:  # other random numbers on each call, from torch's own generator
        return torch.randint(2**62, ())
    return argument.value


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
