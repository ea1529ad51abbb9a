"""Kernels that only measure: a chunk of the delta rule as a model calls it, and as many of them in one kernel as asked."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

SIZE = 128
DOUBLINGS = 6  # (I + A)^-1 of a nilpotent A of 128 rows: powers up to 127


def tile(buffer=None):
    return nl.ndarray((SIZE, SIZE), dtype=nl.float32, buffer=buffer or nl.sbuf)


def loaded(source):
    t = tile()
    nisa.dma_copy(dst=t, src=source)
    return t


def product(stationary, moving, into=None):
    """stationary.T @ moving, left in PSUM unless a tile is given."""
    total = tile(nl.psum)
    nisa.nc_matmul(dst=total, stationary=stationary, moving=moving, accumulate=False)
    if into is None:
        return total
    nisa.tensor_copy(dst=into, src=total)
    return into


def turned(x):
    square, out = tile(nl.psum), tile()
    nisa.nc_transpose(dst=square, data=x)
    nisa.tensor_copy(dst=out, src=square)
    return out


def combined(a, b, op):
    out = tile()
    nisa.tensor_tensor(dst=out, data1=a, data2=b, op=op)
    return out


def scaled(x, column):
    out = tile()
    nisa.tensor_scalar(dst=out, data=x, op0=nl.multiply, operand0=column)
    return out


def chunk(q, k, v, gate, state, below, upto, one):
    """One chunk: tiles of queries, keys, values, gates of the rows (a column), the state; then the masks and the identity."""
    beta = nl.ndarray((SIZE, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=beta, op=nl.sigmoid, data=gate)
    k_t, q_t = turned(k), turned(q)
    scores = combined(scaled(product(k_t, k_t), beta), below, nl.multiply)  # A: keys against earlier keys
    power, power_t = scores, turned(scores)
    inverse_t = combined(one, power_t, nl.subtract)  # of I + A, transposed: (I - A)(I + A^2)(I + A^4) ...
    for _ in range(DOUBLINGS):
        square, square_t = product(power_t, power, tile()), product(power, power_t, tile())
        inverse_t = combined(inverse_t, product(square, inverse_t), nl.add)
        power, power_t = square, square_t
    w = product(inverse_t, scaled(k, beta), tile())
    u = product(inverse_t, scaled(v, beta))
    fresh = tile()
    nisa.tensor_copy(dst=fresh, src=u)
    fresh = combined(fresh, product(turned(w), state), nl.subtract)
    local_t = combined(product(k_t, q_t), upto, nl.multiply)  # queries against keys up to theirs, transposed
    result = tile(nl.psum)
    nisa.nc_matmul(dst=result, stationary=q_t, moving=state, accumulate=False)
    nisa.nc_matmul(dst=result, stationary=local_t, moving=fresh, accumulate=True)
    out = tile()
    nisa.tensor_copy(dst=out, src=result)
    return out, combined(state, product(k, fresh), nl.add)


@nki.jit
def delta_rule(q, k, v, gates, state, below, upto, one):
    """q, k, v (chunks * 128, 128); gates (chunks * 128, 1); state, masks and identity (128, 128)."""
    out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    last = nl.ndarray((SIZE, SIZE), dtype=q.dtype, buffer=nl.shared_hbm)
    below, upto, one, current = loaded(below), loaded(upto), loaded(one), loaded(state)
    for i in range(q.shape[0] // SIZE):
        rows = slice(i * SIZE, (i + 1) * SIZE)
        gate = nl.ndarray((SIZE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gate, src=gates[rows, :])
        result, current = chunk(
            loaded(q[rows, :]), loaded(k[rows, :]), loaded(v[rows, :]), gate, current, below, upto, one
        )
        nisa.dma_copy(dst=out[rows, :], src=result)
    nisa.dma_copy(dst=last, src=current)
    return out, last


def delta_inputs(chunks=1):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, chunks * SIZE, SIZE), np.float32)
    x[:2] /= np.linalg.norm(x[:2], axis=2, keepdims=True)
    gates, state = rng.standard_normal((chunks * SIZE, 1), np.float32), rng.standard_normal((SIZE, SIZE), np.float32)
    full = np.ones((SIZE, SIZE), np.float32)
    return *x, gates, state, np.tril(full, -1), np.triu(full), np.eye(SIZE, dtype=np.float32)


def delta_reference(q, k, v, gates, state, below, upto, one):
    """The recurrence itself, token by token, in double precision."""
    s, out = state.astype(np.float64), []
    beta = 1 / (1 + np.exp(-gates.astype(np.float64)))
    for qi, ki, vi, bi in zip(q, k, v, beta):
        s = s + np.outer(ki, bi * (vi - ki @ s))
        out.append(qi @ s)
    return np.array(out), s


@nki.jit
def crowded(x, tiles, width, instructions):
    """Tiles that stay alive, each used now and then, beside a long computation: wide ones do not fit into SBUF at once."""
    out = nl.ndarray((tiles, SIZE, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    held = []
    for n in range(tiles):
        t = nl.ndarray((SIZE, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(dst=t, value=float(n))
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        held.append(t)
    for n in range(instructions // 9):
        a = loaded_part(x)
        for _ in range(8):
            nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=1.0)
        if n % 50 == 0:
            t = held[n // 50 % tiles]
            nisa.tensor_tensor(dst=t[:, 0:64], data1=t[:, 0:64], data2=a, op=nl.add)
    for n in range(tiles):
        nisa.dma_copy(dst=out[n], src=held[n][:, 0:64])
    return out


def loaded_part(x):
    t = nl.ndarray((SIZE, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t
