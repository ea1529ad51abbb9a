"""Loops that the device counts, against the same work written out: predicted times.

python bench/loops.py [TARGET ...]
"""

import sys

import glia
import numpy as np

glia.install()
import nki.isa as nisa
import nki.language as nl
from nki import jit

BLOCKS, COLUMNS = 200, 512
TARGETS = ("trn1", "trn2", "trn3")


def tile(columns=COLUMNS):
    return nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)


def copy(x, out, state):
    t = tile()
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)


def chain(x, out, state):
    t, u = tile(), tile()
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=u, data=t, op0=nl.multiply, operand0=0.5)
    nisa.activation(dst=t, data=u, op=nl.tanh)
    nisa.tensor_tensor(dst=u, data1=t, data2=u, op=nl.add)
    nisa.dma_copy(dst=out, src=u)


def running_sum(x, out, state):
    t = tile()
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_tensor(dst=state, data1=state, data2=t, op=nl.add)
    nisa.dma_copy(dst=out, src=state)


def over_all(body, loop):
    """`loop`: range, which is written out, or nl.dynamic_range."""

    def kernel(x, n):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        state = tile()
        nisa.memset(dst=state, value=0.0)
        for i in loop(BLOCKS):
            body(x[i], out[i], state)
        return out

    return kernel


def count_is_data(body):
    """Nothing says that all of the output is written: it is an argument."""

    def kernel(x, n, out):
        bound = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=bound, src=n)
        nisa.tensor_scalar(dst=bound, data=bound, op0=nl.maximum, operand0=0.0, op1=nl.minimum, operand1=float(BLOCKS))
        count = nisa.register_alloc(bound)
        state = tile()
        nisa.memset(dst=state, value=0.0)
        for i in nl.dynamic_range(count):
            body(x[i], out[i], state)
        return out

    return kernel


def measure(report=None, targets=TARGETS):
    x, n = np.ones((BLOCKS, 128, COLUMNS), np.float32), np.full((1, 1), BLOCKS, np.int32)
    for body in (copy, chain, running_sum):
        for target in targets:
            out = glia.compile(jit(over_all(body, range)), x, n, target=target).time()
            loop = glia.compile(jit(over_all(body, nl.dynamic_range)), x, n, target=target).time()
            data = glia.compile(jit(count_is_data(body)), x, n, np.zeros_like(x), target=target)
            full, none = (data.profile(x, count, np.zeros_like(x)).total for count in (n, 0 * n))
            times = {"a count": loop, "a count that is data": full - none}
            for kind, time in times.items():
                ratio = time / out
                if report:
                    report(f"loop / written out: {body.__name__}, {kind}, {target}", ratio, "<= 1.1", ratio <= 1.1, "")
                else:
                    print(
                        f"{body.__name__:12} {kind:21} {target} {time / 1e3:9.1f} us, written out {out / 1e3:9.1f} us {ratio:6.2f}"
                    )


if __name__ == "__main__":
    measure(targets=[t for t in TARGETS if t in sys.argv[1:]] or TARGETS)
