"""A model in JAX whose layers call the kernel of two cores: n layers and a head, one program.

python -m glia museum/sendrecv-twice/sendrecv_model.py
"""

import sys
from pathlib import Path

import glia
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from sendrecv import TARGETS, WIDTH, exchange_and_add

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, row_of, show

FAILS = "NCC_IXLV002: the barriers of its cores differ"
# (layers, outputs) of the report, and what the vendor's compiler did
REPORTED = (
    (1, 128, "compiles"),
    (1, 256, "compiles"),
    (2, 256, "compiles"),
    (2, 2048, "compiles"),
    (2, 128, FAILS),
    (3, 128, FAILS),
)
DEEP = (40, 128, "not reported")


def by_kernel(x):
    """Two copies of a row, one for each core, added by the kernel."""
    return exchange_and_add[2](jnp.broadcast_to(x, (2, WIDTH)))


def by_jax(x):
    return x + x


def model(x, weights, head, add=by_kernel):
    """A layer adds a row to itself and multiplies it by a matrix."""
    for w in weights:
        x = add(x) @ w
    return x @ head


def twin(x, weights, head):
    """The same without the kernel."""
    return model(x, weights, head, by_jax)


def inputs(layers, outputs, seed=1298):
    rng = np.random.default_rng(seed)

    def normal(*shape, scale=1.0):
        return (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(ml_dtypes.bfloat16)

    weights = [normal(WIDTH, WIDTH, scale=0.5 * WIDTH**-0.5) for _ in range(layers)]  # a layer keeps the size of x
    return normal(1, WIDTH), weights, normal(WIDTH, outputs, scale=WIDTH**-0.5)


def reference(x, weights, head):
    """float64, nothing rounded on the way."""
    x = x.astype(np.float64)
    for w in weights:
        x = 2 * x @ w.astype(np.float64)
    return x @ head.astype(np.float64)


def measured(target, layers, outputs, vendor=""):
    """(compiled, arguments, its row); the twin is bf16, too."""
    args = inputs(layers, outputs)
    exe, seconds = compiled(lambda: glia.jit(model, target=target, lnc=2).compile(*args))
    error, allowed = against_twin(exe.run(*args), jax.jit(twin)(*args), reference(*args))
    name = f"{layers} layer{'s' * (layers > 1)}, {outputs} outputs"
    return exe, args, row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor=vendor)


def rows(everything=False):
    """The programs of the report, for trn2; with everything also 40 layers, and trn3."""
    for target in TARGETS if everything else TARGETS[:1]:
        for layers, outputs, vendor in (*REPORTED, DEEP) if everything else REPORTED:
            yield measured(target, layers, outputs, vendor if target == "trn2" else "not reported")[2]


def refusal():
    """What compiling it for trn1 says."""
    try:
        glia.jit(model, target="trn1").compile(*inputs(1, 128))
    except glia.Error as e:
        return e
    raise AssertionError("trn1 has no pairs of cores, and the program was accepted")


if __name__ == "__main__":
    wrong = show(rows(everything=True))
    print(f"\nFor trn1 it is refused:\n{refusal()}")
    sys.exit(wrong != 0)
