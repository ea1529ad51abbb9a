"""Kernels of neuronx-distributed-inference, contrib/models/Qwen3.5-35B-A3B/src/nki_kernels. The reference of everything that is a
gated delta rule is the recurrence, token by token, in float64; chunks, affine forms and prefixes must add up to it."""

from __future__ import annotations

import numpy as np
from public_kernels import Case, checkout, load, random

ORIGIN = "neuronx-distributed-inference"
D = 128
STRICT, LOWER = np.tril(np.ones((D, D), np.float32), -1), np.tril(np.ones((D, D), np.float32))
EYE = np.eye(D, dtype=np.float32)
VARIANTS = {  # of the fused kernels, by the environment variables that their module reads
    "": {},
    " solve kkt_hier": {"QWEN36_DELTANET_SOLVE_MODE": "kkt_hier", "QWEN36_DELTANET_SOLVE_BLOCK_SIZE": "128"},
    " active prefix": {"QWEN36_DELTANET_SOLVE_ACTIVE_PREFIX_K": "1"},
    " blocks of 32": {"QWEN36_DELTANET_SOLVE_BLOCK_SIZE": "32"},
}


def normed(x, scale=1.0):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) * scale


def recurrence(q, k, v, g, beta, state):
    """The gated delta rule: the state decays, is corrected towards (k, v), and is read by q."""
    state, out = state.astype(np.float64), []
    for t in range(len(q)):
        state = state * np.exp(np.float64(g[t]))
        state = state + np.outer(k[t], beta[t] * (v[t] - k[t] @ state))
        out.append(q[t] @ state)
    return np.array(out), state


class Data:
    """Raw queries, keys, values, gates and a state, for `length` tokens."""

    def __init__(self, length: int, seed: int):
        normal = random(seed)
        self.q, self.k, self.v = (normal(length, D, scale=0.3) for _ in range(3))
        self.g = -np.abs(normal(length, 1, scale=0.1))
        self.beta = (1 / (1 + np.exp(-normal(length, 1)))).astype(np.float32)
        self.state = normal(D, D, scale=0.1)
        self.qn, self.kn = (normed(self.q, D**-0.5).astype(np.float32), normed(self.k).astype(np.float32))

    def wide(self, x, n=None):
        return np.ascontiguousarray(np.broadcast_to(x[:n], (len(x[:n]), D)))

    def exact(self, n=None, state=None, ready=False):
        """The recurrence on the first n tokens; `ready`: on the normalised float32 queries and keys."""
        q, k = (self.qn, self.kn) if ready else (normed(self.q, D**-0.5), normed(self.k))
        state = self.state if state is None else state
        return recurrence(q[:n], k[:n], self.v[:n].astype(np.float64), self.g[:n, 0], self.beta[:n, 0], state)


def cases() -> list[Case]:
    root = checkout(ORIGIN)
    if root is None:
        return []
    folder = root / "contrib/models/Qwen3.5-35B-A3B/src/nki_kernels"
    out = _chunk(folder) + _recurrent(folder) + _legacy(folder)
    for words, environment in VARIANTS.items():
        out += _fused(load(folder / "nki_deltanet_fused.py", **environment), words)
    return out + _prefixes(load(folder / "nki_deltanet_fused.py")) + _rope(folder)


def _case(name, kernel, arguments, reference, compared="token by token, float64", **more) -> Case:
    return Case(ORIGIN, name, kernel, arguments, reference, compared, **more)


def _chunk(folder) -> list[Case]:
    m, x = load(folder / "nki_deltanet_chunked.py"), Data(128, 10)
    sums = np.cumsum(x.g, 0, dtype=np.float32)
    last = np.full((D, D), sums[-1, 0], np.float32)
    arguments = (x.qn, x.kn, x.v, x.wide(x.beta), x.wide(sums), last, x.state, STRICT, EYE, LOWER)
    return [_case("deltanet_chunk_step", m.deltanet_chunk_step, arguments, lambda: x.exact(ready=True))]


def _recurrent(folder) -> list[Case]:
    m, x, n = load(folder / "nki_deltanet.py"), Data(16, 11), 16
    zero = np.zeros((D, D))
    forward = (x.qn, x.kn, x.v, x.wide(x.g), x.wide(x.beta))
    one = tuple(a[:1] for a in forward)
    heads, states = 3, random(12)(3, D, D, scale=0.1)

    def batched():
        outs = [
            recurrence(x.qn[i : i + 1], x.kn[i : i + 1], x.v[i : i + 1], x.g[i], x.beta[i], states[i])
            for i in range(heads)
        ]
        return np.concatenate([o for o, _ in outs]), np.concatenate([s for _, s in outs])

    kernel = m._deltanet_recurrent_step_batched_kernel
    rows = (x.qn[:heads], x.kn[:heads], x.v[:heads], x.g[:heads], x.beta[:heads], states.reshape(heads * D, D))
    return [
        _case("deltanet_recurrent_fwd", m.deltanet_recurrent_fwd, forward, lambda: x.exact(n, zero, True)[:1]),
        _case("deltanet_recurrent_fwd_state", m.deltanet_recurrent_fwd_state, forward, lambda: x.exact(n, zero, True)),
        _case("deltanet_recurrent_step", m.deltanet_recurrent_step, (*one, x.state), lambda: x.exact(1, ready=True)),
        _case("deltanet_recurrent_step_batched", kernel, rows, batched, targets=("trn2", "trn3")),
        _case(
            "deltanet_recurrent_step_batched on trn1",
            kernel,
            rows,
            tuple,
            "must be refused: it asks for hardware descriptors",
            targets=("trn1",),
            refused="DGE-MODE",
        ),
    ]


def _legacy(folder) -> list[Case]:
    m, x = load(folder / "nki_deltanet_fused_legacy.py"), Data(384, 13)
    arguments = (x.qn, x.kn, x.v, x.g, x.beta, x.state, STRICT, EYE, LOWER)
    return [
        _case("legacy deltanet_fused_chunked_fwd", m.deltanet_fused_chunked_fwd, arguments, lambda: x.exact(ready=True))
    ]


def _fused(m, words: str) -> list[Case]:
    x, chunk, heads = Data(512, 14), Data(128, 15), [Data(256, 16 + i) for i in range(2)]
    raw = lambda d: (d.q, d.k, d.v, d.g, d.beta)  # noqa: E731
    stack = lambda f: np.stack([f(h) for h in heads])  # noqa: E731
    many = tuple(stack(lambda h, i=i: (*raw(h), h.state)[i]) for i in range(6))

    def every_head(n):
        outs = [h.exact() for h in heads[:n]]
        return np.stack([o for o, _ in outs]), np.stack([s for _, s in outs])

    def apply(base, from_state, matrix, bias):
        """A sequence of affine chunks, applied to the state."""
        state, out = x.state.astype(np.float64), []
        for i in range(len(base)):
            out.append(base[i] + from_state[i] @ state)
            state = matrix[i] @ state + bias[i]
        return np.concatenate(out), state

    def segments(matrix, bias):
        state = x.state.astype(np.float64)
        for i in range(len(matrix)):
            state = matrix[i] @ state + bias[i]
        return (state,)

    affine = lambda a, b, c, e: (a + b @ chunk.state.astype(np.float64), c @ chunk.state.astype(np.float64) + e)  # noqa: E731
    masks = (STRICT, EYE, LOWER)
    out = [
        _case(f"deltanet_fused_chunked_fwd{words}", m.deltanet_fused_chunked_fwd, (*raw(x), x.state, *masks), x.exact),
        _case(
            f"deltanet_autocp_affine_chunk{words}",
            m.deltanet_autocp_affine_chunk,
            (*raw(chunk), *masks),
            chunk.exact,
            post=affine,
        ),
        _case(
            f"deltanet_autocp_state_summary_sequence{words}",
            m.deltanet_autocp_state_summary_sequence,
            (x.k, x.v, x.g, x.beta, STRICT, EYE),
            lambda: x.exact()[1:],
            post=segments,
        ),
    ]
    for cores in (1, 2):
        both = {"cores": cores, "targets": ("trn1", "trn2", "trn3") if cores == 1 else ("trn2", "trn3")}
        on = "" if cores == 1 else ", 2 cores"
        out += [
            _case(
                f"deltanet_autocp_affine_sequence{words}{on}",
                m.deltanet_autocp_affine_sequence,
                (*raw(x), *masks),
                x.exact,
                post=apply,
                **both,
            ),
            _case(
                f"deltanet_fused_chunked_fwd_multihead{words}{on}",
                m.deltanet_fused_chunked_fwd_multihead,
                (*(a[:cores] for a in many), *masks),  # a core does one head
                lambda n=cores: every_head(n),
                **both,
            ),
        ]
    return out


def _prefixes(m) -> list[Case]:
    normal = random(20)
    base, from_state, matrix, bias, given = (normal(3, D, D, scale=0.1) for _ in range(5))
    state = normal(D, D, scale=0.1)

    def states():
        s = [state.astype(np.float64)]
        for i in range(3):
            s.append(matrix[i] @ s[-1] + bias[i])
        return s

    outputs = lambda s: np.concatenate([base[i] + from_state[i].astype(np.float64) @ s[i] for i in range(3)])  # noqa: E731
    words = "NumPy float64"
    return [
        _case(
            "deltanet_autocp_state_prefix",
            m.deltanet_autocp_state_prefix,
            (matrix, bias, state),
            lambda: (np.stack(states()[:3]), states()[3]),
            words,
        ),
        _case(
            "deltanet_autocp_apply_output",
            m.deltanet_autocp_apply_output,
            (base, from_state, given),
            lambda: (outputs(given),),
            words,
        ),
        _case(
            "deltanet_autocp_prefix_apply_output",
            m.deltanet_autocp_prefix_apply_output,
            (base, from_state, matrix, bias, state),
            lambda: (outputs(states()), states()[3]),
            words,
        ),
    ]


def _rope(folder) -> list[Case]:
    m, normal = load(folder / "qwen_qk_norm_rope.py"), random(21)
    head, tokens, turned = m.D_HEAD, 130, 64
    q, k, q_gain, k_gain = normal(1, tokens, 2 * head), normal(1, tokens, head), normal(head) + 1, normal(head) + 1
    angle = normal(1, tokens, turned // 2)
    angle = np.concatenate([angle, angle], -1)
    cos, sin = np.cos(angle), np.sin(angle)

    def exact(x, gain):
        x = x.reshape(1, tokens, -1, head).astype(np.float64)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain
        r = x[..., :turned]
        swapped = np.concatenate([-r[..., turned // 2 :], r[..., : turned // 2]], -1)
        r = r * cos[:, :, None] + swapped * sin[:, :, None]
        return np.concatenate([r, x[..., turned:]], -1).transpose(0, 2, 1, 3)

    return [
        _case(
            "qwen_qk_norm_partial_rope_kernel",
            m.qwen_qk_norm_partial_rope_kernel,
            (q, k, q_gain, k_gain, cos, sin, 1e-6),
            lambda: (exact(q, q_gain), exact(k, k_gain)),
            "RMS norm and rotation, NumPy float64",
        )
    ]
