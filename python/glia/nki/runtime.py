"""From a traced kernel to its results: check, compile, link, verify, run. Programs are kept by the fingerprint of the kernel, so a
second call with the same kernel only traces and runs. Commands such as `python -m glia profile` look on through `observers`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from .. import _glia
from ..dtypes import numpy_dtype
from ..program import Program, step_limit
from . import trace as _t
from .jit import Kernel, Traced, unpack

_KEPT = 256
_programs: OrderedDict[str, Program] = OrderedDict()
_objects: OrderedDict[str, object] = OrderedDict()
observers: list[Callable[[Traced, Program, dict], None]] = []  # called before each run


def object_of(traced: Traced):
    """The compiled object of a traced kernel: what its fingerprint names is compiled once."""
    return _kept(_objects, traced.kernel.fingerprint(), lambda: _compiled(traced))


def _compiled(traced: Traced):
    if not hasattr(traced.kernel, "compile"):
        raise _t.failure("NKI-COMPILER", "this build of glia has no compiler", "Build it with GLIA_COMPILER=ON.")
    problems = traced.kernel.check()
    if problems:
        raise _glia.error_of(problems)
    return traced.kernel.compile()


def program_of(traced: Traced) -> Program:
    """The verified program of one call of a traced kernel: an object runs alone as it is."""
    return _kept(_programs, traced.kernel.fingerprint(), lambda: _verified(traced))


def _verified(traced: Traced) -> Program:
    program = Program(object_of(traced))
    try:
        program._handle.require_verified()
    except _glia.Error as e:
        raise _glia.error_of([_placed(d, traced) for d in e.diagnostics]) from None
    return program


def _placed(d, traced: Traced):
    """What is said about an output as a whole points to where the output is made."""
    about = [o for o in traced.lowered.outputs if f"`{o.name}`" in d.message]
    if d.file or not about:
        return d
    file, line = about[0].place
    context = d.context or f"kernel {traced.name}"
    return _glia.Diagnostic(d.code, d.message, d.advice, file, line, context, d.value, d.limit, d.notes)


def _kept(cache: OrderedDict, key: str, make):
    found = cache.get(key)
    if found is None:
        found = cache[key] = make()
        while len(cache) > _KEPT:
            cache.popitem(last=False)
    else:
        cache.move_to_end(key)
    return found


def inputs_of(traced: Traced) -> dict[str, np.ndarray]:
    """The inputs of the program by name, as the machine stores them."""
    out = {}
    for name, array in zip(traced.lowered.inputs, traced.arrays.arrays):
        array = array.reshape(array.shape or (1,))
        out[name] = array.view(np.uint8) if array.dtype == np.bool_ else array
    return out


def sequential(traced: Traced, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs by the sequential meaning of the kernel: what the compiled program must give, bit for bit."""
    data = {name: np.ascontiguousarray(array).tobytes() for name, array in inputs.items()}
    out = traced.kernel.execute(data, step_limit())
    return {
        o.name: np.frombuffer(bytearray(out[o.name]), numpy_dtype(o.dtype.machine)).reshape(o.shape)
        for o in traced.lowered.outputs
    }


def finish(traced: Traced, outputs: dict[str, np.ndarray]):
    """What the caller gets."""
    for o in traced.lowered.outputs:
        if o.dtype == "bool":
            outputs[o.name] = outputs[o.name].view(np.bool_)
    return unpack(traced, outputs)


def call(kernel: Kernel, args: tuple, kwargs: dict):
    """A call of a kernel with arrays."""
    traced = kernel.trace(*args, **kwargs)
    program = program_of(traced)
    inputs = inputs_of(traced)
    for look in observers:
        look(traced, program, inputs)
    return finish(traced, program.run(inputs, verify=False))
