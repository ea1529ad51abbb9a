"""The gated delta rule on chunks of 128 tokens: one kernel alone, and 4, 30 and 40 calls of it in one program, with rows gathered by
index before and after each.

    python -m glia museum/deltanet-in-a-model/deltanet.py
"""

import sys
from pathlib import Path

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import relative_error

N = 128  # tokens of a chunk, and the width of a head
VOCABULARY = 512  # rows of the tables that queries, keys and values are taken from
ROUNDS = 6  # (1 + A)(1 + A^2)(1 + A^4) ... (1 + A^64): A is strictly lower, so A^128 = 0
TARGETS = ("trn2", "trn3")  # a gather by an index per partition needs trn2
CALLS = (4, 30, 40)
CLOSE = 1e-5  # relative, L2; fp32 throughout, the reference is float64


def tile(shape=(N, N), buffer=nl.sbuf):
    return nl.ndarray(shape, nl.float32, buffer=buffer)


def load(x):
    t = tile(x.shape)
    nisa.dma_copy(dst=t, src=x)
    return t


def from_psum(x):
    t = tile(x.shape)
    nisa.tensor_copy(dst=t, src=x)
    return t


def product(left_turned, right):
    """left @ right, for a left side that is already transposed."""
    psum = tile(buffer=nl.psum)
    nisa.nc_matmul(dst=psum, stationary=left_turned, moving=right)
    return from_psum(psum)


def turn(x):
    psum = tile(buffer=nl.psum)
    nisa.nc_transpose(dst=psum, data=x)
    return from_psum(psum)


def elementwise(op, a, b):
    t = tile(a.shape)
    nisa.tensor_tensor(dst=t, data1=a, data2=b, op=op)
    return t


def scaled(x, factor):
    """Rows of x times a number, or a number per row."""
    t = tile(x.shape)
    nisa.tensor_scalar(dst=t, data=x, op0=nl.multiply, operand0=factor, engine=nisa.vector_engine)
    return t


def exponential(x):
    t = tile(x.shape)
    nisa.activation(dst=t, op=nl.exp, data=x)
    return t


def row_for_every_partition(column):
    """(N, N) whose every row holds the N numbers of a column."""
    padded = tile()
    nisa.memset(dst=padded, value=0.0)
    nisa.tensor_copy(dst=padded[:, 0:1], src=column)
    turned = tile(buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=padded)
    row = from_psum(turned[0:1, :])
    out = tile()
    for quarter in range(N // 32):
        nisa.nc_stream_shuffle(dst=out[quarter * 32 : quarter * 32 + 32], src=row, shuffle_mask=[0] * 32)
    return out


def decay(column, row, mask):
    """exp(g_i - g_j) where the mask is 1, else 0. The difference is masked first: above the diagonal it could overflow."""
    difference = elementwise(nl.subtract, scaled(mask, column), elementwise(nl.multiply, row, mask))
    return elementwise(nl.multiply, exponential(difference), mask)


@nki.jit
def chunk(query, key, value, beta, g, g_last, state, below, identity, below_and_on):
    """One chunk. g is the sum of the log decays up to each token, g_last that of the whole chunk; beta, g and g_last are repeated
    along the rows. Returns the outputs of the tokens and the state after them."""
    q, k, v, b, g, g_last, s = (load(x) for x in (query, key, value, beta, g, g_last, state))
    below, eye, below_and_on = load(below), load(identity), load(below_and_on)
    kb, vb = elementwise(nl.multiply, k, b), elementwise(nl.multiply, v, b)
    g, g_last = from_psum(g[:, 0:1]), from_psum(g_last[:, 0:1])
    grown = exponential(g)
    g_row = row_for_every_partition(g)
    decay_below, decay_on = decay(g, g_row, below), decay(g, g_row, below_and_on)

    # What earlier tokens of the chunk have written: the inverse of 1 - A, as a product of sums of powers.
    kt = product(k, eye)
    a = elementwise(nl.multiply, product(product(kb, eye), kt), decay_below)
    power = elementwise(nl.multiply, scaled(a, -1.0), below)
    inverse = elementwise(nl.add, eye, power)
    for _ in range(ROUNDS):
        power = elementwise(nl.multiply, product(turn(power), power), below)
        inverse = product(turn(elementwise(nl.add, eye, power)), inverse)
        inverse = elementwise(nl.multiply, inverse, below_and_on)
    inverse_turned = turn(inverse)

    # What each token writes, given the state before the chunk.
    written = product(inverse_turned, vb)
    read = product(inverse_turned, scaled(kb, grown))
    written = elementwise(nl.subtract, written, product(product(read, eye), s))

    # What each token reads: from the state before the chunk, and from the chunk up to itself.
    attention = elementwise(nl.multiply, product(product(q, eye), kt), decay_on)
    before = product(product(scaled(q, grown), eye), s)
    result = elementwise(nl.add, before, product(product(attention, eye), written))
    out = nl.ndarray((N, N), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)

    kept = product(scaled(k, exponential(elementwise(nl.subtract, g_last, g))), written)
    after = elementwise(nl.add, scaled(s, exponential(g_last)), kept)
    state_out = nl.ndarray((N, N), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=state_out, src=after)
    return out, state_out


def rows_by_index(table, index):
    """Rows of a table in HBM, one per partition. The index is data, so nothing is known about it; clamped, it lies in the table,
    and that is what the verifier needs to prove the gather."""
    i = nl.ndarray((N, 1), nl.int32)
    nisa.dma_copy(dst=i, src=index)
    nisa.tensor_scalar(dst=i, data=i, op0=nl.maximum, operand0=0.0, op1=nl.minimum, operand1=float(table.shape[0] - 1))
    t = tile()
    nisa.dma_copy(dst=t, src=table.ap([[N, N], [1, N]], vector_offset=i))
    out = nl.ndarray((N, N), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


@nki.jit
def look_up(queries, keys, values, tokens):
    """The rows of this chunk's tokens."""
    return tuple(rows_by_index(table, tokens) for table in (queries, keys, values))


@nki.jit
def reorder(rows, places):
    """Rows in another order."""
    return rows_by_index(rows, places)


def model(queries, keys, values, chunks, places, state, below, identity, below_and_on):
    """A sequence: per chunk its tokens, beta, g and g_last. Outputs in the order of `places`, and the last state."""
    outputs = []
    for tokens, beta, g, g_last in chunks:
        q, k, v = look_up(queries, keys, values, tokens)
        out, state = chunk(q, k, v, beta, g, g_last, state, below, identity, below_and_on)
        outputs.append(reorder(out, places))
    return outputs, state


def inputs(calls, seed=1306):
    """Arguments of `model`, and what the reference needs: tokens, beta and log decay of the whole sequence."""
    rng = np.random.default_rng(seed)
    normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)  # noqa: E731
    queries, keys = (
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (normal(VOCABULARY, N), normal(VOCABULARY, N))
    )
    queries, values = queries * np.float32(N**-0.5), normal(VOCABULARY, N)
    tokens = rng.integers(0, VOCABULARY, (calls, N, 1), dtype=np.int32)
    beta = 1 / (1 + np.exp(-normal(calls, N, 1)))
    log_decay = -np.abs(normal(calls, N, 1)) * np.float32(0.1)
    g = np.cumsum(log_decay, axis=1, dtype=np.float32)
    wide = lambda x: np.ascontiguousarray(np.broadcast_to(x, (N, N)))  # noqa: E731
    chunks = [(tokens[c], wide(beta[c]), wide(g[c]), wide(g[c][-1:])) for c in range(calls)]
    places = rng.permutation(N).astype(np.int32).reshape(N, 1)
    masks = (
        np.tril(np.ones((N, N), np.float32), -1),
        np.eye(N, dtype=np.float32),
        np.tril(np.ones((N, N), np.float32)),
    )
    args = (queries, keys, values, chunks, places, normal(N, N) * np.float32(0.1), *masks)
    return args, (tokens.reshape(-1), beta.reshape(-1), log_decay.reshape(-1))


def recurrence(args, sequence):
    """One token after the other, in float64: decay the state, correct what it holds for this key, read it."""
    queries, keys, values, _, places, state = (x if isinstance(x, list) else x.astype(np.float64) for x in args[:6])
    outputs = []
    for token, beta, log_decay in zip(*sequence):
        q, k, v = queries[token], keys[token], values[token]
        state = state * np.exp(np.float64(log_decay))
        state = state + np.outer(k, beta * (v - k @ state))
        outputs.append(q @ state)
    outputs = np.array(outputs).reshape(-1, N, N)
    return outputs[:, places[:, 0].astype(int)], state


def alone(target):
    """The kernel by itself, on one chunk: (compiled, error)."""
    args, sequence = inputs(1)
    tokens, beta, g, g_last = args[3][0]
    rows = [table[tokens[:, 0]] for table in args[:3]]
    given = (*rows, beta, g, g_last, args[5], *args[6:])
    exe = glia.compile(chunk, *given, target=target)
    outputs, state = recurrence((*args[:4], np.arange(N).reshape(N, 1), *args[5:]), sequence)
    out, state_out = exe.run(*given)
    return exe, max(relative_error(out, outputs[0]), relative_error(state_out, state))


def in_a_model(calls, target):
    """`calls` chunks in one program: (compiled, error)."""
    args, sequence = inputs(calls)
    exe = glia.compile(model, *args, target=target)
    outputs, state = exe.run(*args)
    want_outputs, want_state = recurrence(args, sequence)
    return exe, max(relative_error(outputs, want_outputs), relative_error(state, want_state))


def proved(exe):
    """(dynamic accesses that are proved, all of them)"""
    accesses = exe.program.verify(require_proved=True).dynamic_accesses
    return sum(a["proof"] == "proved" for a in accesses), len(accesses)


if __name__ == "__main__":
    for target in ("trn1", *TARGETS):
        exe, error = alone(target)
        print(
            f"{target} alone      {exe.program.instructions:6} instructions {exe.time() / 1000:8.2f} us, error {error:.1e}"
        )
    for target in TARGETS:
        for calls in CALLS:
            exe, error = in_a_model(calls, target)
            done, accesses = proved(exe)
            print(
                f"{target} {calls:3} chunks {exe.program.instructions:6} instructions {exe.time() / 1000:8.2f} us, error {error:.1e}, "
                f"{done} of {accesses} gathers proved"
            )
