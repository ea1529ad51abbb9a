"""Writes the seeds of fuzz-bytecode and fuzz-hlo with JAX: small graphs that between them have each part of the formats.

python test/fuzz/write_binary_graphs.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import export, lax
from jaxlib.mlir.dialects import stablehlo

CORPUS = Path(__file__).parent / "corpus"
X = np.ones((2, 3), np.float32)
BITS = np.array([[True, False, True], [False, False, True]])
NARROW = np.array([1, -2, 3], np.int8).astype(ml_dtypes.int4)

SMALL = {
    "dot": (lambda x: jnp.tanh(x @ x.T), (X,)),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + i, x), (X,)),
    "branch": (lambda x: lax.cond(x[0, 0] > 0, lambda a: a, lambda a: -a, x), (X,)),
    "gather": (lambda x: (x[jnp.array([1, 0])], x.at[1].add(2.0)), (X,)),
    "sort": (lambda x: jnp.sort(x, axis=1), (X,)),
    "conv": (lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME"), (np.ones((1, 2, 4, 4), np.float32), np.ones((3, 2, 2, 2), np.float32))),
    "window": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "SAME"), (X,)),
    "constants": (lambda x: (x + np.arange(3, dtype=np.float32), jnp.asarray(BITS), jnp.asarray(NARROW), jnp.ones((2, 9), bool)), (X,)),
    "calls": (lambda x: jax.jit(lambda a: jnp.exp(a) * 2)(x), (X,)),
    "complex": (lambda x: (lax.complex(x, x) * (1 + 2j)).real, (X,)),
}  # fmt: skip
VERSIONS = {"dot": "0.9.0", "loop": "0.12.0", "branch": "0.14.0", "window": "1.5.0"}


def main():
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # names of files without their folders
    for folder in ("bytecode", "hlo"):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, (f, args) in SMALL.items():
        exported = export.export(jax.jit(f), platforms=["cpu"])(*args)
        data = exported.mlir_module_serialized
        if name in VERSIONS:
            data = stablehlo.serialize_portable_artifact_str(exported.mlir_module(), VERSIONS[name])
        (CORPUS / "bytecode" / f"{name}.mlirbc").write_bytes(data)
        lowered = jax.jit(f).lower(*args)
        (CORPUS / "hlo" / f"{name}.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
