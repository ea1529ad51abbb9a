"""A kernel of two cores that exchange a row and add it to their own, called once, twice, three and forty times in one program.

python -m glia museum/sendrecv-twice/sendrecv.py
"""

import glia
import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

WIDTH = 2048
TARGETS = ("trn2", "trn3")  # trn1 has no pairs of cores
CALLS = (1, 2, 3, 40)


@nki.jit
def exchange_and_add(x):
    """x[0] + x[1]: core c loads row c, gets the other row from the other core, and adds the two."""
    core = nl.program_id(0)
    mine = nl.ndarray((1, WIDTH), x.dtype, buffer=nl.sbuf)
    other = nl.ndarray((1, WIDTH), x.dtype, buffer=nl.sbuf)
    total = nl.ndarray((1, WIDTH), x.dtype, buffer=nl.sbuf)
    out = nl.ndarray((1, WIDTH), x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=mine, src=x[core : core + 1])
    nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(dst=total, data1=mine, data2=other, op=nl.add)
    nisa.dma_copy(dst=out, src=total)  # both cores store the same sum
    return out


@nki.jit
def next_rows(row, weight):
    """Two rows for the next layer: the sum scaled by 1/2, and a row of weights."""
    t = nl.ndarray((1, WIDTH), row.dtype, buffer=nl.sbuf)
    w = nl.ndarray((1, WIDTH), row.dtype, buffer=nl.sbuf)
    out = nl.ndarray((2, WIDTH), row.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=t, src=row)
    nisa.dma_copy(dst=w, src=weight)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out[0:1], src=t)
    nisa.dma_copy(dst=out[1:2], src=w)
    return out


def model(calls):
    """A function of `calls` exchanges, each on what the one before it gave."""

    def layers(x, weight):
        row = exchange_and_add[2](x)
        for _ in range(calls - 1):
            row = exchange_and_add[2](next_rows(row, weight))
        return row

    return layers


def reference(calls, x, weight):
    """The same in NumPy; every step is rounded to bf16, as the stored rows are."""

    def add(a, b):
        return (a.astype(np.float32) + b.astype(np.float32)).astype(ml_dtypes.bfloat16)

    row = add(x[0:1], x[1:2])
    for _ in range(calls - 1):
        half = (row.astype(np.float32) * np.float32(0.5)).astype(ml_dtypes.bfloat16)
        row = add(half, weight)
    return row


def inputs(seed=1298):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((n, WIDTH), dtype=np.float32).astype(ml_dtypes.bfloat16) for n in (2, 1))


def refusal():
    """What compiling it for trn1 says."""
    x, weight = inputs()
    try:
        glia.compile(model(2), x, weight, target="trn1")
    except glia.Error as e:
        return e
    raise AssertionError("trn1 has no pairs of cores, and the program was accepted")


if __name__ == "__main__":
    x, weight = inputs()
    for target in TARGETS:
        for calls in CALLS:
            exe = glia.compile(model(calls), x, weight, target=target)
            same = np.array_equal(exe.run(x, weight), reference(calls, x, weight))
            print(
                f"{target} {calls:3} calls, {exe.time() / 1000:7.2f} us: {'equal to NumPy, bit for bit' if same else 'WRONG'}"
            )
    print(f"\nFor trn1 it is refused:\n{refusal()}")
