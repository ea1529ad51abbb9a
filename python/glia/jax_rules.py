"""What JAX writes for other platforms only, or in calls of XLA's own, in what glia's compiler knows: lowering rules."""

from __future__ import annotations

import functools

_OURS = {"glia", "neuron"}  # the platform, and what glia.jit lowers for


@functools.cache
def register() -> None:
    """Gives JAX the rules; a second call does nothing. They are of no platform, since JAX knows "neuron" only where it has devices of it."""
    from jax._src.interpreters import mlir
    from jax._src.lax import ann, linalg

    mlir.register_lowering(linalg.eigh_p, _eigh)
    theirs = functools.partial(ann._approx_top_k_lowering, fallback=True)
    mlir.register_lowering(ann.approx_top_k_p, functools.partial(_approx_top_k, theirs))


def _is_ours(ctx) -> bool:
    return bool(set(ctx.module_context.platforms) & _OURS)


def _approx_top_k(theirs, ctx, operand, *, reduction_dimension, is_max_k, **how):
    """All of the largest: no answer is a better approximation."""
    import jax.numpy as jnp
    from jax import lax
    from jax._src.interpreters import mlir

    if not _is_ours(ctx):
        return theirs(ctx, operand, reduction_dimension=reduction_dimension, is_max_k=is_max_k, **how)
    count = ctx.avals_out[0].shape[reduction_dimension]

    def exact(x):
        rows = jnp.moveaxis(x, reduction_dimension, -1)
        values, places = lax.top_k(rows if is_max_k else -rows, count)
        values = values if is_max_k else -values
        return jnp.moveaxis(values, -1, reduction_dimension), jnp.moveaxis(places, -1, reduction_dimension)

    return mlir.lower_fun(exact, multiple_results=True)(ctx, operand)


def _eigh(ctx, operand, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """The custom call of XLA's compilers (docs/graph.md, Linear algebra); values come in ascending order."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir.dialects import hlo

    if not _is_ours(ctx):  # somebody else's without a rule: as if there were none here
        raise NotImplementedError(f"`eigh` has no lowering rule for {', '.join(sorted(ctx.module_context.platforms))}.")
    (aval,) = ctx.avals_in
    n = aval.shape[-1]
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError(
            "`eigh` of a part of the eigenvalues cannot be compiled for Trainium: compute all of them."
        )
    if n == 0:
        return [operand, hlo.real(mlir.reshape(ctx, operand, aval.update(shape=aval.shape[:-1])))]
    types = [mlir.aval_to_ir_type(ctx.module_context, a) for a in ctx.avals_out]
    config = f"{int(lower)},{int(sort_eigenvalues)},100,1e-6"
    call = mlir.custom_call("Eigh", result_types=types, operands=[operand], backend_config=config, api_version=1)
    return call.results
