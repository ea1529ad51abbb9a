"""From a traced kernel to its results: check, compile, link, verify, run. Programs are kept by the fingerprint of the kernel, so a
second call with the same kernel only runs. Commands such as `python -m glia profile` look on through `observers`."""

from __future__ import annotations

import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from .. import _glia
from ..dtypes import numpy_dtype
from ..program import Program, step_limit
from ..warn import mode, report
from . import environment, nan
from . import trace as _t
from .advice import for_author
from .frameworks import is_lazy, is_symbol
from .jit import Kernel, Traced
from .results import unpack
from .undefined import explained

_KEPT = 256
_lock = threading.Lock()
_programs: OrderedDict[str, Program] = OrderedDict()
_objects: OrderedDict[str, object] = OrderedDict()
observers: list[Callable] = []  # called before each run: kernel, args, kwargs, Traced, Program, inputs


def object_of(traced: Traced):
    """The compiled object of a traced kernel: what its fingerprint names is compiled once."""
    return _kept(_objects, traced.kernel.fingerprint(), lambda: _compiled(traced))


_SPILLS_NAMED = 8


def _compiled(traced: Traced):
    if not hasattr(traced.kernel, "compile"):
        raise _t.failure("NKI-COMPILER", "this build of glia has no compiler", "Build it with GLIA_COMPILER=ON.")
    problems = traced.kernel.check()
    if problems:
        raise _glia.error_of([traced.called_from(d) for d in merged([for_author(d, traced.cores) for d in problems])])
    if mode() != "off":  # finding them takes a tenth of the time
        report(traced.warnings())
    compiled = traced.kernel.compile()
    spilled = [text for text in compiled.contract.get("spill", "").split("; ") if text]
    if spilled:
        more = f"; and {len(spilled) - _SPILLS_NAMED} more" if len(spilled) > _SPILLS_NAMED else ""
        print(
            f"glia: kernel {traced.name} does not fit into SBUF at once; kept in HBM for a while: "
            f"{'; '.join(spilled[:_SPILLS_NAMED])}{more}",
            file=sys.stderr,
        )
    return compiled


def merged(diagnostics) -> list:
    """One for each line and problem: an unrolled loop finds the same one in every iteration."""
    first: dict[tuple, object] = {}
    count: dict[tuple, int] = {}
    for d in diagnostics:
        key = (d.code, d.file, d.line, re.sub(r"`[^`]*`|\d+", "", d.message)) if d.line else (id(d),)
        first.setdefault(key, d)
        count[key] = count.get(key, 0) + 1
    out = []
    for key, d in first.items():
        if count[key] > 1:
            more = f"the same {count[key] - 1} more times at this line"
            d = _glia.Diagnostic(
                d.code, d.message, d.advice, d.file, d.line, d.context, d.value, d.limit, [*d.notes, more]
            )
        out.append(d)
    return out


def program_of(traced: Traced) -> Program:
    """The verified program of one call of a traced kernel: an object runs alone as it is."""
    return _kept(_programs, f"{traced.kernel.fingerprint()} {traced.ranks}", lambda: _verified(traced))


def _verified(traced: Traced) -> Program:
    handle = object_of(traced)
    if traced.ranks > 1:
        handle = handle.for_ranks(traced.ranks, traced.lowered.rank_input)
    program = Program(handle)
    try:
        program._handle.require_verified("kernel")
    except _glia.Error as e:
        found = explained([_placed(d, traced) for d in e.diagnostics], traced)
        raise _glia.error_of([traced.called_from(d) for d in merged(found)]) from None
    return program


def _placed(d, traced: Traced):
    """What is said about an output as a whole points to where the output is made."""
    d = for_author(d, traced.cores)
    about = [o for o in traced.lowered.outputs if f"`{o.name}`" in d.message]
    if d.file or not about:
        return d
    file, line = about[0].place
    context = d.context or f"kernel {traced.name}"
    return _glia.Diagnostic(d.code, d.message, d.advice, file, line, context, d.value, d.limit, d.notes)


def _kept(cache: OrderedDict, key: str, make):
    found = cache.get(key) or make()
    with _lock:
        cache[key] = found
        cache.move_to_end(key)
        while len(cache) > _KEPT:
            cache.popitem(last=False)
    return found


def inputs_of(traced: Traced, arrays: list[np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """The inputs of the program by name, as the machine stores them: of the traced call, or these."""
    out = {}
    for name, array in zip(traced.lowered.inputs, traced.arrays.arrays if arrays is None else arrays):
        array = traced.arrays.axis.given(array)
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
    booleans(traced, outputs)
    return unpack(traced, outputs)


def booleans(traced: Traced, outputs: dict[str, np.ndarray]) -> None:
    for o in traced.lowered.outputs:
        if o.dtype == "bool":
            outputs[o.name] = outputs[o.name].view(np.bool_)


def call(kernel: Kernel, args: tuple, kwargs: dict):
    """A call of a kernel with arrays."""
    target = getattr(_t._state, "jit_target", None)  # of a function that glia.jit traces
    if target is not None and kernel.target is not None and not _t.is_target(kernel.target, target):
        raise _t.failure(
            "GRAPH-TARGET", f"`{kernel.__name__}` is a kernel for {kernel.target}, the program is for {target}"
        )
    traced = (kernel if target is None else kernel.on(target)).trace(*args, **kwargs)
    if traced.ranks > 1 and any(is_symbol(x) or is_lazy(x) for x in traced.arrays.originals):
        raise _t.failure(
            "NKI-RANKS",
            f"`{traced.name}` for {traced.ranks} ranks is called with arrays of a function that is being compiled",
            "Call it with arrays that have numbers.",
        )
    if any(is_symbol(x) for x in traced.arrays.originals):
        from . import jax_calls

        if target is None:
            program_of(traced)  # what is wrong with it is said here, not where JAX lowers it
        return jax_calls.call(kernel, args, kwargs, traced)
    if any(is_lazy(x) for x in traced.arrays.originals):
        from . import torch_calls

        return torch_calls.call(traced)
    program = program_of(traced)
    inputs = inputs_of(traced)
    for look in observers:
        look(kernel, args, kwargs, traced, program, inputs)
    outputs = program.run(inputs, verify=False, **environment.run_options())
    nan.check(traced, inputs, outputs)
    return finish(traced, outputs)
