"""What JAX writes for other platforms only, and glia's compiler knows by another name: lowering rules."""

from __future__ import annotations

import functools


@functools.cache
def register() -> None:
    """Gives JAX the rules, for platforms that have none of their own; a second call does nothing."""
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    mlir.register_lowering(linalg.eigh_p, _eigh)


def _eigh(ctx, operand, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """The custom call of XLA's compilers (docs/graph.md, Linear algebra); values come in ascending order."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir.dialects import hlo

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
