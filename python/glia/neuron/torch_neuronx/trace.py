"""torch_neuronx.trace: a module with example inputs becomes one proved program. What comes back is a module of TorchScript, so that
torch.jit.save and torch.jit.load carry it: it holds the program and the weights, and calls one operation, glia::run."""

from __future__ import annotations

import atexit
import contextlib
import copy
import json
import os
from collections import OrderedDict

import torch
from torch.utils import _pytree as pytree

from ... import torch_graph
from ...nki import environment
from ...nki import trace as _t
from ...program import Program, from_bytes
from .. import flags as _flags
from ..compile import compile_module

_KEPT = 32  # programs in use
_programs: OrderedDict[bytes, Program] = OrderedDict()
_shapes_only = [False]  # while torch.jit looks


def trace(
    func,
    example_inputs,
    *_,
    input_output_aliases: dict | None = None,
    compiler_workdir: str | os.PathLike | None = None,
    compiler_args: list[str] | str | None = None,
    partitioner_config=None,
    inline_weights_to_neff: bool = True,
    **unknown,
):
    """Compiles `func` (a module or a function of tensors) for inputs like these. Raises glia.Error with everything that cannot be compiled.

    compiler_args: --target, --lnc, --auto-cast and -O3 mean something. compiler_workdir: gets graph.mlirbc and model.glia.
    inline_weights_to_neff: weights are inputs of the program either way, kept in the module."""
    if unknown:
        raise TypeError(f"torch_neuronx.trace has no argument {sorted(unknown)[0]!r}")
    for name, given in (("input_output_aliases", input_output_aliases), ("partitioner_config", partitioner_config)):
        if given:
            raise _t.failure("TORCH-TRACE", f"torch_neuronx.trace: {name} is not provided", "Leave it out.")
    said, around = _flags.parse(compiler_args, "compiler_args"), _flags.from_environment()
    target = _t.find_target(said.target or around.target)
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    with _compiling_for(target):
        recorded, structure = _record(func, inputs)
    name = f"<graph of {_name(func)}>"
    program, _counts = compile_module(
        recorded.module,
        name,
        target.reference,
        said.lnc or around.lnc,
        auto_cast=around.auto_cast if said.auto_cast is None else said.auto_cast,
        effort=around.effort if said.effort is None else said.effort,
    )
    if compiler_workdir is not None:
        os.makedirs(compiler_workdir, exist_ok=True)
        program.save(os.path.join(compiler_workdir, "model.glia"))
        with open(os.path.join(compiler_workdir, "graph.mlirbc"), "wb") as f:
            f.write(recorded.module)
    return _scripted(_Compiled(program, recorded, structure), inputs)


def _name(func) -> str:
    return getattr(func, "__name__", type(func).__name__)


@contextlib.contextmanager
def _compiling_for(target: _t.Target):
    """NKI kernels that the module calls are traced for this target."""
    before = environment.chosen()
    environment.choose_target(target.reference)
    try:
        yield
    finally:
        environment.choose_target(before)


def _record(func, inputs: tuple):
    """The graph, and how its results are put together."""
    device = torch_graph.lazy_device()
    leaves, tree = pytree.tree_flatten(inputs)
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        raise _t.failure(
            "TORCH-TRACE", "an example input is not a tensor", "Pass tensors, in tuples, lists or dictionaries."
        )
    named = {}
    if isinstance(func, torch.nn.Module):
        func = copy.deepcopy(func).to(device)
        named = {**dict(func.named_parameters()), **dict(func.named_buffers())}
    structure = []

    def flat(*moved):
        results, made = pytree.tree_flatten(func(*pytree.tree_unflatten(moved, tree)))
        structure.append(made)
        wrong = [type(x).__name__ for x in results if not isinstance(x, torch.Tensor)]
        if wrong or not results:
            what = f"returns a {wrong[0]}" if wrong else "returns nothing"
            advice = "Return tensors, in tuples, lists or dictionaries."
            raise _t.failure("TORCH-TRACE", f"`{_name(func)}` {what}", advice)
        return results

    recorded = torch_graph.record(flat, [x.detach().to(device) for x in leaves], named)
    return recorded, structure[0]


class _Compiled(torch.nn.Module):
    """What torch.jit looks at."""

    def __init__(self, program: Program, recorded: torch_graph.Recorded, structure):
        super().__init__()
        self.register_buffer("program", torch.frombuffer(bytearray(program.to_bytes()), dtype=torch.uint8))
        self._places: list = []
        for i, a in enumerate(recorded.arguments):
            if a.input is not None:
                self._places.append(a.input)
            else:
                self._places.append(_buffer_name(a.name or f"constant.{i}"))
                self.register_buffer(self._places[-1], a.value)
        self._results, self._structure = json.dumps(recorded.results), structure

    def forward(self, *inputs):
        leaves = pytree.tree_leaves(inputs)
        arguments = [leaves[p] if isinstance(p, int) else getattr(self, p) for p in self._places]
        return pytree.tree_unflatten(torch.ops.glia.run(self.program, self._results, arguments), self._structure)


def _buffer_name(weight: str) -> str:
    return "weight_" + weight.replace(".", "__")


def _scripted(module: _Compiled, inputs: tuple):
    _shapes_only[0] = True
    try:
        examples = pytree.tree_map_only(torch.Tensor, lambda x: x.detach().cpu(), inputs)
        return torch.jit.trace(module, examples, check_trace=False, strict=False)
    finally:
        _shapes_only[0] = False


_library = torch.library.Library("glia", "DEF")
_library.define("run(Tensor program, str results, Tensor[] arguments) -> Tensor[]")


def _run(program: torch.Tensor, results: str, arguments: list[torch.Tensor]) -> list[torch.Tensor]:
    shapes = json.loads(results)
    if _shapes_only[0]:
        return [torch.empty(shape, dtype=getattr(torch, dtype)) for shape, dtype in shapes]
    return torch_graph.run(_program_of(program), arguments, shapes)


_library.impl("run", _run, "CPU")


@atexit.register
def _forget() -> None:
    """torch keeps what implements an operation beyond the end of Python."""
    _programs.clear()
    _library._destroy()


def _program_of(data: torch.Tensor) -> Program:
    key = data.numpy().tobytes()
    found = _programs.get(key)
    if found is None:
        found = _programs[key] = from_bytes(key)
        found._handle.require_verified("graph")
        while len(_programs) > _KEPT:
            _programs.popitem(last=False)
    _programs.move_to_end(key)
    return found


def replace_weights(traced, weights) -> None:
    """Other weights for a traced module, from a module or a state_dict with the same names, shapes and types."""
    given = weights.state_dict() if isinstance(weights, torch.nn.Module) else weights
    held = dict(traced.named_buffers())
    for name, value in given.items():
        buffer = held.get(_buffer_name(name))
        if buffer is None:
            continue  # nothing computes with it
        if buffer.shape != value.shape or buffer.dtype != value.dtype:
            raise _t.failure(
                "TORCH-ARGUMENT",
                f"the weight {name} is {value.dtype}{list(value.shape)}, compiled for {buffer.dtype}{list(buffer.shape)}",
            )
        buffer.copy_(value.detach().cpu())


def _placed(traced, *_, **__):
    """Where a program runs: there is one device, and when it is loaded makes no difference."""
    return traced


async_load = lazy_load = move_trace_to_device = set_multicore = set_neuron_cores = _placed
