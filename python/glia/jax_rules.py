"""What JAX writes for other platforms only, and glia's compiler knows by another name: lowering rules."""

from __future__ import annotations

import functools

_OURS = {"glia", "neuron"}  # the platform, and what glia.jit lowers for


@functools.cache
def register() -> None:
    """Gives JAX the rules; a second call does nothing. They are of no platform, since JAX knows "neuron" only where it has devices of it."""
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    mlir.register_lowering(linalg.eigh_p, _eigh)


def _eigh(ctx, operand, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """The custom call of XLA's compilers (docs/graph.md, Linear algebra); values come in ascending order."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir.dialects import hlo

    platforms = set(ctx.module_context.platforms)
    if not platforms & _OURS:  # somebody else's without a rule: as if there were none here
        raise NotImplementedError(f"`eigh` has no lowering rule for {', '.join(sorted(platforms))}.")
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
