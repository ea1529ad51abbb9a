"""Kernels inside of JAX functions: a call on values that JAX traces is one primitive, `nki_call`. glia.jit and JAX's platform
glia lower it to a custom call that carries the kernel; anywhere else (jax.jit on the host) the kernel's program runs when the numbers are there. One primitive for
both, because JAX keeps what it traced, and does not know who asks next. Imported only where JAX is."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import jax
import numpy as np
from jax.extend import source_info_util
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import environment
from . import trace as _t
from .jit import Traced
from .results import require_returned

TARGET = "glia.nki"  # the name of the custom call

source_info_util.register_exclusion(str(Path(__file__).parents[1]))  # a call is where the user makes it


def _empty(array) -> np.ndarray:
    """An array of this shape and type that takes no memory and has no numbers worth reading."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


class KernelCall:
    """A kernel with its arguments, without numbers: what a trace of JAX's keeps. Equal for equal calls, so that JAX lowers them once."""

    def __init__(self, kernel, args, kwargs, traced: Traced):
        arrays, taken = copy.copy(traced.arrays), [0]
        arrays.originals = arrays.arrays = [_empty(a) for a in traced.arrays.arrays]
        arrays.like, arrays.places = None, {}
        self.kernel = kernel
        self.args = arrays.replace(tuple(args), arrays.arrays, taken)
        self.kwargs = arrays.replace(dict(kwargs), arrays.arrays, taken)
        self._traced = {traced.target: dataclasses.replace(traced, arrays=arrays)}
        self.first = self._traced[traced.target]
        self._key = (traced.kernel.fingerprint(), kernel.func, kernel.lnc, kernel.target, self._statics())

    def _statics(self):
        """The arguments, for comparison: equal kernels on one target may differ on another. Itself if they cannot be compared."""
        leaves, tree = jax.tree.flatten((self.args, self.kwargs))
        made = tuple((x.shape, x.dtype) if isinstance(x, np.ndarray) else (type(x), x) for x in leaves)
        try:
            hash(made)
        except TypeError:
            return id(self)
        return tree, made

    def on(self, target: str) -> Traced:
        """The kernel traced for a target: what was traced first may have been for another one."""
        found = _t.find_target(target)
        if found not in self._traced:
            traced = self.kernel.on(target).trace(*self.args, **self.kwargs)
            if _shapes(traced) != _shapes(self.first):
                raise _t.failure(
                    "NKI-TARGET", f"`{traced.name}` gives other shapes on {found} than on {self.first.target}"
                )
            self._traced[found] = traced
        return self._traced[found]

    def __eq__(self, other) -> bool:
        return isinstance(other, KernelCall) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return self.first.name


def _shapes(traced: Traced) -> list[tuple]:
    return [(o.shape, o.dtype.numpy) for o in traced.lowered.outputs]


def chosen_target() -> str | None:
    """The target of glia.jit, while it traces or lowers a function."""
    return getattr(_t._state, "jit_target", None)


def call(kernel, args, kwargs, traced: Traced):
    """A call of a kernel with values that JAX traces; what it returns are such values too."""
    lowered = traced.lowered
    for n in lowered.updates:
        require_returned(traced, n)
    outputs = _nki_call.bind(*traced.arrays.originals, call=KernelCall(kernel, args, kwargs, traced))
    made = {o.name: x for o, x in zip(lowered.outputs, outputs)}
    results = []
    for tensor, r in zip(traced.tensors, lowered.results):
        if type(r) is int and r not in lowered.updates:
            results.append(traced.arrays.originals[r])
        else:
            o = lowered.updates[r] if type(r) is int else r
            results.append(_viewed(made[o.name], tensor.dtype.numpy).reshape(tensor.shape))
    return traced.rebuild(results)


def _viewed(x, dtype: np.dtype):
    """The bytes of `x` as another type."""
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return x.astype(dtype)
    times = dtype.itemsize // x.dtype.itemsize
    if times > 1:
        x = x.reshape(*x.shape[:-1], x.shape[-1] // times, times)
    return jax.lax.bitcast_convert_type(x, dtype)


_nki_call = Primitive("nki_call")
_nki_call.multiple_results = True


@_nki_call.def_abstract_eval
def _abstract(*_, call: KernelCall):
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in _shapes(call.first)]


@_nki_call.def_impl
def _run_now(*arrays, call: KernelCall):
    return jax.jit(lambda *xs: _nki_call.bind(*xs, call=call))(*arrays)


def _run_later(*symbols, call: KernelCall):
    """On the host: the program is compiled and proved now, and runs when the numbers are there."""
    from . import runtime

    traced = call.first
    program = runtime.program_of(traced)

    def run(*arrays):
        given, taken = [np.asarray(a) for a in arrays], [0]
        inputs = runtime.inputs_of(traced, given)
        args, kwargs = (traced.arrays.replace(x, given, taken) for x in (call.args, call.kwargs))
        for look in runtime.observers:
            look(call.kernel, args, kwargs, traced, program, inputs)
        outputs = program.run(inputs, verify=False, **environment.run_options())
        runtime.booleans(traced, outputs)
        return [outputs[o.name].reshape(o.shape) for o in traced.lowered.outputs]

    results = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in _shapes(traced)]
    return jax.pure_callback(run, results, *symbols)


def _lower(ctx, *operands, call: KernelCall):
    target = chosen_target()
    # On the platform of ours (glia/jax_plugin.py) programs take kernels as they are.
    if target is None and tuple(ctx.module_context.platforms) == (environment.platform_name(),):
        target = environment.target_name()
    if target is None:
        return mlir.lower_fun(_run_later, multiple_results=True)(ctx, *operands, call=call)
    text = call.on(target).lowered.text
    return jax.ffi.ffi_lowering(TARGET, backend_config=text, api_version=2)(ctx, *operands)


mlir.register_lowering(_nki_call, _lower, inline=False)


def _one_after_the_other(operands, axes, call: KernelCall):
    """jax.vmap: the kernel is for the shapes it was traced for, so it is called once per element."""
    batched = [a is not None for a in axes]
    moved = [jax.numpy.moveaxis(x, a, 0) for x, a, b in zip(operands, axes, batched) if b]

    def one(some):
        some = iter(some)
        return _nki_call.bind(*(next(some) if b else x for x, b in zip(operands, batched)), call=call)

    results = jax.lax.map(one, moved)
    return results, [0] * len(results)


batching.primitive_batchers[_nki_call] = _one_after_the_other


def _no_derivative(primals, tangents, call: KernelCall):
    raise _t.failure(
        "NKI-GRADIENT",
        f"the kernel `{call.first.name}` is differentiated, and JAX does not know its derivative",
        "Give the function that calls it a rule of its own with jax.custom_vjp.",
    )


ad.primitive_jvps[_nki_call] = _no_derivative
