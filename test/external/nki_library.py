"""Kernels of nki-library at small shapes, for trn2 and newer. References in NumPy. What is in bfloat16 is compared to within its
precision."""

from __future__ import annotations

import importlib
import sys

import ml_dtypes
import numpy as np
from public_kernels import Case, checkout, random

ORIGIN = "nki-library"
BF16 = ml_dtypes.bfloat16
NEWER = ("trn2", "trn3")
ROUGH = 2e-2  # of results in bfloat16


def cases() -> list[Case]:
    root = checkout(ORIGIN)
    if root is None:
        return []
    path = str(root / "src/nkilib_src")
    if path not in sys.path:
        sys.path.insert(0, path)
    groups = (
        _simple,
        _rope,
        _attention,
        _projections,
        _quantized,
        _loss,
        _convolutions,
        _indices,
        _moe,
        _collectives,
        _refused,
    )
    return [case for group in groups for case in group()]


def _at(module: str, name: str):
    return getattr(importlib.import_module("nkilib." + module), name)


def _case(name, kernel, arguments, reference, compared="NumPy", tolerance=2e-5, targets=NEWER, **more) -> Case:
    return Case(ORIGIN, name, kernel, arguments, reference, compared, tolerance, targets=targets, **more)


def _wide(x):
    return x.astype(np.float64)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _simple() -> list[Case]:
    normal = random(40)
    x, logits = normal(130, 300), normal(4, 2, 3168)
    a, b = normal(512, 512).astype(BF16), normal(512, 512).astype(BF16)
    tiles = np.array([[2]], np.int32)
    cumsum, top = _at("core.cumsum.cumsum", "cumsum"), _at("core.max.cascaded_max", "cascaded_max")
    add = _at("experimental.dynamic_shapes.dynamic_elementwise_add", "dynamic_elementwise_add")
    best = lambda: (logits.max(-1, keepdims=True), logits.argmax(-1)[..., None])  # noqa: E731
    return [
        _case("cumsum", cumsum, (x,), lambda: (np.cumsum(_wide(x), -1),), targets=("trn1", "trn2", "trn3")),
        _case("cumsum, 2 cores (each writes all)", cumsum, (x,), tuple, "must be refused", cores=2, refused="RACE"),
        _case("cascaded_max", top, (logits,), best, tolerance=0.0),
        _case("cascaded_max, 2 cores", top, (logits,), best, tolerance=0.0, cores=2),
        _case(
            "dynamic_elementwise_add",
            add,
            (a, b, tiles),
            tuple,
            "must be refused: rows past the run-time count are never written, and returned",
            refused="UNDEFINED-OUTPUT",
        ),
    ]


def _rope() -> list[Case]:
    normal = random(41)
    x, cos, sin = normal(128, 2, 4, 64), normal(64, 2, 64), normal(64, 2, 64)
    q, k = normal(1, 2, 256, 128), normal(1, 1, 256, 128)
    c, s = normal(256, 128), normal(256, 128)

    def rotated():
        up, down, c4, s4 = x[:64], x[64:], cos[:, :, None], sin[:, :, None]
        return (np.concatenate([up * c4 - down * s4, down * c4 + up * s4], 0),)

    turn = lambda t: t * c + np.concatenate([-t[..., 64:], t[..., :64]], -1) * s  # noqa: E731
    rope, hf = _at("core.embeddings.rope", "RoPE"), _at("core.embeddings.rope_hf", "rope_hf")
    out = (np.zeros_like(q), np.zeros_like(k))
    return [
        _case("RoPE", rope, (x, cos, sin), rotated),
        _case("RoPE, 2 cores", rope, (x, cos, sin), rotated, cores=2, keywords={"lnc_shard": True}),
        _case("rope_hf", hf, (q, k, *out, c, s), lambda: (turn(q), turn(k))),
        _case("rope_hf, 2 cores", hf, (q, k, *out, c, s), lambda: (turn(q), turn(k)), cores=2),
    ]


def _attention() -> list[Case]:
    normal, n, d = random(42), 512, 128
    q, k, v = (normal(*shape).astype(BF16) for shape in ((2, n, d), (2, d, n), (2, n, d)))
    cte, scale = _at("core.attention.attention_cte", "attention_cte"), d**-0.5
    i, j = np.arange(n)[:, None], np.arange(n)[None]

    def exact(allowed):
        scores = np.where(allowed, _wide(q) @ _wide(k) * scale, -1e30)
        return (_softmax(scores) @ _wide(v),)

    causal = lambda: exact(j <= i)  # noqa: E731
    return [
        _case("attention_cte", cte, (q, k, v, scale), causal, tolerance=ROUGH),
        _case("attention_cte, 2 cores", cte, (q, k, v, scale), causal, tolerance=ROUGH, cores=2),
        _case("attention_cte, no mask", cte, (q, k, v, scale, False), lambda: exact(j <= n), tolerance=ROUGH),
        _case(
            "attention_cte, window of 128",
            cte,
            ((_wide(q) * scale).astype(BF16), k, v, 1.0),
            lambda: exact((j <= i) & (j > i - 128)),
            tolerance=ROUGH,
            keywords={"sliding_window": 128},
        ),
        *_attention_backward(normal),
    ]


def _attention_backward(normal) -> list[Case]:
    n, d = 512, 64
    q, k, v, dy = (normal(1, 2, d, n) for _ in range(4))
    scale = d**-0.5
    scores = np.einsum("bhdq,bhdk->bhqk", _wide(q), _wide(k)) * scale
    scores = np.where(np.tril(np.ones((n, n))) > 0, scores, -np.inf)
    p = _softmax(scores)
    o = np.einsum("bhqk,bhdk->bhdq", p, _wide(v))
    peak = scores.max(-1)
    lse = peak + np.log(np.exp(scores - peak[..., None]).sum(-1))
    lse = lse.reshape(1, 2, n // 128, 128).transpose(0, 1, 3, 2)

    def exact():
        dp = np.einsum("bhdq,bhdk->bhqk", _wide(dy), _wide(v))
        ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
        dq, dk = np.einsum("bhqk,bhdk->bhdq", ds, _wide(k)), np.einsum("bhqk,bhdq->bhdk", ds, _wide(q))
        return dq, dk, np.einsum("bhqk,bhdq->bhdk", p, _wide(dy))

    arguments = (q, k, v, o.astype(np.float32), dy, np.ascontiguousarray(lse, np.float32))
    kernel = _at("core.attention.attention_bwd", "attention_bwd")
    keywords = {"use_causal_mask": True, "softmax_scale": scale}
    return [
        _case(f"attention_bwd{on}", kernel, arguments, exact, tolerance=1e-3, cores=cores, keywords=keywords)
        for cores, on in ((1, ""), (2, ", 2 cores"))
    ]


def _projections() -> list[Case]:
    normal = random(43)
    heads, d, n, hidden = 4, 128, 512, 512
    attention, weight, bias = normal(1, heads, d, n), normal(heads * d, hidden, scale=0.1), normal(1, hidden)
    few = normal(d, 2, heads, 4)
    x, fused, gain = normal(1, 256, hidden), normal(hidden, 768, scale=0.1), normal(1, hidden)
    norm = _at("core.utils.common_types", "NormType")
    cte = _at("core.output_projection.output_projection_cte.output_projection_cte", "output_projection_cte")
    tkg, qkv = _at("core.output_projection.output_projection_tkg", "output_projection_tkg"), _at("core.qkv.qkv", "qkv")

    def rms(x=x):
        y = _wide(x) / np.sqrt((_wide(x) ** 2).mean(-1, keepdims=True) + 1e-6) * gain
        return (y @ fused,)

    flat = lambda: _wide(few).transpose(1, 3, 2, 0).reshape(8, heads * d)  # noqa: E731
    out = []
    for cores, on in ((1, ""), (2, ", 2 cores")):
        out += [
            _case(
                f"output_projection_cte{on}",
                cte,
                (attention, weight, bias),
                lambda: (
                    np.einsum("bnds,ndh->bsh", _wide(attention), weight.reshape(heads, d, hidden), optimize=True)
                    + bias,
                ),
                cores=cores,
            ),
            _case(
                f"output_projection_tkg{on}", tkg, (few, weight, bias), lambda: (flat() @ weight + bias,), cores=cores
            ),
            _case(f"qkv{on}", qkv, (x, fused), lambda: (_wide(x) @ fused,), cores=cores, tolerance=ROUGH),
            _case(
                f"qkv with RMS norm{on}",
                qkv,
                (x, fused),
                rms,
                tolerance=ROUGH,  # it multiplies in bfloat16
                cores=cores,
                keywords={"fused_norm_type": norm.RMS_NORM, "gamma_norm_weights": gain},
            ),
        ]
    few_tokens = x[:, :4]
    return [
        *out,
        _case("qkv, 4 tokens", qkv, (few_tokens, fused), lambda: (_wide(few_tokens) @ fused,)),
        _case(
            "qkv with RMS norm, 4 tokens",
            qkv,
            (few_tokens, fused),
            lambda: rms(few_tokens),
            keywords={"fused_norm_type": norm.RMS_NORM, "gamma_norm_weights": gain},
        ),
        _case(
            "qkv, 4 tokens, 2 cores (each writes all)",
            qkv,
            (few_tokens, fused),
            lambda: (_wide(few_tokens) @ fused,),
            cores=2,
        ),
    ]


def _quantized() -> list[Case]:
    """RMS norm, then fp8 with one scale per row, which is stored in the last four bytes of the row."""
    normal, hidden = random(50), 512
    x, gain = normal(1, 256, hidden).astype(BF16), normal(1, hidden).astype(BF16)
    kernel, settings = (
        _at("core.rmsnorm.rmsnorm_quant", n) for n in ("rmsnorm_quant_kernel", "RmsNormQuantKernelArgs")
    )
    split = lambda y: np.ascontiguousarray(y[..., :hidden]), lambda y: np.ascontiguousarray(y[..., hidden:])
    out = []
    for cores, on in ((1, ""), (2, ", 2 cores")):
        out.append(
            _case(
                f"rmsnorm_quant{on}",
                kernel,
                (x, gain, settings()),
                lambda: (_wide(x) / np.sqrt((_wide(x) ** 2).mean(-1, keepdims=True) + 1e-6) * _wide(gain),),
                "NumPy, to within fp8",
                tolerance=1 / 32,  # three bits of mantissa, and scales that are not powers of two
                cores=cores,
                post=lambda y: (_wide(split[0](y)) * split[1](y).view(np.float32),),
            )
        )
    return out


def _loss() -> list[Case]:
    normal = random(44)
    rows, vocabulary = 64, 2048
    logits = normal(rows, vocabulary, scale=3.0)
    targets = np.random.default_rng(45).integers(0, vocabulary, rows).astype(np.int32)
    peak = _wide(logits).max(-1)
    lse = peak + np.log(np.exp(_wide(logits) - peak[:, None]).sum(-1))
    forward = _at("experimental.loss.cross_entropy", "cross_entropy_forward")
    backward = _at("experimental.loss.cross_entropy", "cross_entropy_backward")
    import nki.language as nl

    keywords = {"positions_per_batch": 32, "chunk_size": 1024, "dtype": nl.float32}
    loss = lambda: (lse - logits[np.arange(rows), targets], lse)  # noqa: E731

    def gradient():
        g = np.exp(_wide(logits) - lse[:, None])
        g[np.arange(rows), targets] -= 1
        return (g / rows,)

    return [
        _case(
            "cross_entropy_forward, 2 cores",
            forward,
            (logits, targets),
            loss,
            cores=2,
            keywords=keywords,
            post=lambda a, b: (a.reshape(rows), b.reshape(rows)),
        ),
        _case(
            "cross_entropy_backward, 2 cores",
            backward,
            (logits, targets, lse.astype(np.float32)),
            gradient,
            cores=2,
            keywords=keywords,
        ),
    ]


def _convolutions() -> list[Case]:
    normal = random(46)
    x, filters, bias = normal(2, 64, 200), normal(3, 64, 96, scale=0.1), normal(96)
    conv1d = _at("experimental.conv.conv1d", "conv1d")

    def exact(stride, pads):
        p = np.pad(_wide(x), ((0, 0), (0, 0), pads))
        n = (p.shape[2] - 3) // stride + 1
        windows = np.stack([p[:, :, k : k + stride * n : stride][:, :, :n] for k in range(3)])
        return (np.einsum("kbcl,kco->bol", windows, filters) + bias[:, None],)

    image, kernel = normal(1, 128, 1, 160), normal(128, 1, 1, 4)
    depthwise = _at("experimental.conv.depthwise_conv1d", "depthwise_conv1d_implicit_gemm")

    def each():
        n = 160 - 3
        return (sum(_wide(image)[..., k : k + n] * kernel[:, 0, 0, k][None, :, None, None] for k in range(4)),)

    return [
        _case("conv1d", conv1d, (x, filters, bias), lambda: exact(1, (1, 1)), keywords={"padding": (1, 1)}),
        _case(
            "conv1d, stride 2, 2 cores",
            conv1d,
            (x, filters, bias),
            lambda: exact(2, (0, 1)),
            cores=2,
            keywords={"stride": 2, "padding": (0, 1), "lnc_shard": True},
        ),
        _case("depthwise_conv1d", depthwise, (image, kernel), each, keywords={"feature_group_count": 128}),
    ]


def _indices() -> list[Case]:
    rng = np.random.default_rng(47)
    x = (rng.random((512, 16)) < 0.3).astype(np.float32)
    find = _at("core.subkernels.find_nonzero_indices", "find_nonzero_indices")
    count = _at("experimental.benchmark.find_nonzero_indices_with_count", "find_nonzero_indices_with_count")

    whole = "refused: what is defined is known per instruction, and this one works on every 16th partition"
    return [
        _case("find_nonzero_indices, 2 cores", find, (x,), tuple, whole, cores=2, refused="UNDEFINED-OUTPUT"),
        _case(
            "find_nonzero_indices_with_count",
            count,
            (np.ascontiguousarray(x[:, :1].T),),
            tuple,
            whole,
            refused="UNDEFINED-OUTPUT",
        ),
        *_top(),
    ]


def _top() -> list[Case]:
    import nki.language as nl

    normal, k = random(51), 16
    x = normal(4, 8192)
    make, plan = (
        _at("core.topk.rotational_topk_utils", n) for n in ("create_rotational_topk_config", "create_topk_config")
    )
    kernel, prepare = (_at("core.topk.rotational_topk", n) for n in ("rotational_topk", "prepare_rotational_constants"))
    config = prepare(make(x.shape, plan(x.shape, nl.float32, k, True, 1)))
    order = lambda: np.argsort(-x, -1, kind="stable")[:, :k]  # noqa: E731

    tokens, experts, hidden = 32, 4, 256
    token = np.random.default_rng(52).permutation(np.repeat(np.arange(tokens, dtype=np.int32), experts))
    rows = normal(tokens * experts, hidden).astype(BF16)
    packed = np.concatenate([rows, token[:, None].view(BF16)], 1)
    summed = np.zeros((tokens, hidden))
    np.add.at(summed, token, _wide(rows))
    return [
        _case(
            "rotational_topk", kernel, (x, config), lambda: (np.take_along_axis(x, order(), -1), order()), tolerance=0.0
        ),
        _case(
            "topk_reduce",
            _at("experimental.collectives.topk_reduce", "topk_reduce"),
            (packed, tokens, experts),
            lambda: (summed,),
            tolerance=ROUGH,
        ),
    ]


def _moe() -> list[Case]:
    normal = random(48)
    tokens, hidden, experts, k = 128, 256, 16, 4
    x, weight = normal(tokens, hidden), normal(hidden, experts, scale=0.2)
    kind = _at("core.utils.common_types", "RouterActFnType")
    router = _at("core.router_topk.router_topk", "router_topk")
    out = (
        np.zeros((tokens, experts), np.float32),
        np.zeros((tokens, experts), np.float32),
        np.zeros((tokens, k), np.uint32),
    )

    def exact():
        logits = _wide(x) @ weight
        best = np.argsort(-logits, -1)[:, :k]
        affinity = np.zeros_like(logits)
        np.put_along_axis(affinity, best, _softmax(np.take_along_axis(logits, best, -1)), -1)
        return logits, best, affinity

    return [
        _case(
            "router_topk",
            router,
            (x, weight, None, *out, kind.SOFTMAX, k, 1, 0),
            exact,
            keywords={"router_pre_norm": False},
        )
    ]


def _collectives() -> list[Case]:
    """Arrays have a first axis with a part for each rank."""
    from nki.collectives import ReplicaGroup

    normal, ranks = random(50), 4
    tiled = _at("experimental.collectives.sb2sb_allgather", "allgather_sb2sb_tiled")
    small = _at("experimental.collectives.sb2sb_allgather", "allgather_sb2sb")
    ring = _at("experimental.collectives.fg_allgather", "fine_grained_allgather")
    product = _at("experimental.collectives.fgcc", "allgather_compute_matmul")
    group = ReplicaGroup([list(range(ranks))])
    x, rows = normal(ranks, 64, 96).astype(BF16), normal(ranks, 256, 128)
    lhs, rhs = normal(ranks, 512, 256).astype(BF16), normal(ranks, 256, 128).astype(BF16)
    all_ranks = lambda y: (np.broadcast_to(y, (ranks, *y.shape)),)  # noqa: E731
    flat = lambda y: (y.reshape(ranks, -1, y.shape[-1]),)  # noqa: E731
    whole = lambda: all_ranks(lhs.reshape(-1, lhs.shape[-1]))  # noqa: E731
    times = lambda: (_wide(lhs).reshape(-1, lhs.shape[-1]) @ _wide(rhs),)  # noqa: E731

    def case(name, kernel, arguments, reference, **more):
        return _case(f"{name}, {ranks} ranks", kernel, arguments, reference, ranks=ranks, **more)

    out = [case("allgather_sb2sb", small, (x, group, ranks), lambda: all_ranks(np.concatenate(x, 1)), tolerance=0.0)]
    for cores, on in ((1, ""), (2, " of 2 cores")):
        gathered = lambda: all_ranks(np.concatenate(rows, 1))  # noqa: E731
        out.append(
            case(f"allgather_sb2sb_tiled{on}", tiled, (rows, group, ranks), gathered, tolerance=0.0, cores=cores)
        )
        for hbm, where in ((False, ""), (True, ", HBM")):
            last = {"post": flat, "cores": cores}
            name = f"fine_grained_allgather{on}{where}"
            out.append(case(name, ring, (lhs, ranks, 1, hbm), whole, tolerance=0.0, **last))
            name = f"allgather_compute_matmul{on}{where}"
            out.append(case(name, product, (lhs, rhs, ranks, 1, hbm), times, tolerance=ROUGH, **last))
    return out


def _refused() -> list[Case]:
    """What needs instructions that glia refuses by name."""
    x = random(49)(128, 512).astype(BF16)
    load = _at("experimental.mxfp_subkernels.mxfp_load_utils", "mxfp_load_performance_wrapper")
    return [
        _case(
            "mxfp_load_performance_wrapper", load, (x,), tuple, "refused: MX", refused="NKI-DTYPE", targets=("trn3",)
        ),
    ]
