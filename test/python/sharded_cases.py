"""Functions of JAX on eight devices, for test_partition.py. Run as a script with a path: writes what each one lowers to (text, and a portable
artifact), its arguments, what JAX computes on the CPU, and texts of the same function with other shardings."""

import os
import pickle
import sys

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

random = np.random.default_rng(0)
CASES, VARIED = {}, {}


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def meshes():
    devices = np.array(jax.devices())
    return (
        Mesh(devices.reshape(4, 2), ("x", "y")),
        Mesh(devices.reshape(2, 4), ("data", "model")),
        Mesh(devices, ("i",)),
    )


def case(name, f, args, specs, out=None, mesh=None, vary=True, **options):
    """`specs`: one per argument, None for an argument without a sharding. `out`: of the results, None to have them chosen. `vary`: other shardings
    of the same function are tried too."""
    mesh = mesh or XY
    place = lambda spec: None if spec is None else NamedSharding(mesh, spec)  # noqa: E731
    if vary:
        VARIED[name] = (f, args, mesh)
    if out is not None:
        options["out_shardings"] = jax.tree.map(place, out, is_leaf=lambda s: isinstance(s, P))
    CASES[name] = (jax.jit(f, in_shardings=tuple(map(place, specs)), **options), args)


def drawn(draw, shape, mesh):
    """A sharding at random that divides the dimensions, or none."""
    if draw.random() < 0.25:
        return None
    axes, spec = list(draw.permutation(mesh.axis_names)), []
    for size in shape:
        own = []
        while axes and draw.random() < 0.5 and size % mesh.shape[axes[-1]] == 0:
            size //= mesh.shape[axes[-1]]
            own.append(str(axes.pop()))
        spec.append(tuple(own) or None)
    return NamedSharding(mesh, P(*spec))


def variants(name, count):
    """The texts of the same function with other shardings of arguments and results."""
    f, args, mesh = VARIED[name]
    shapes = jax.eval_shape(f, *args)
    for seed in range(count):
        draw = np.random.default_rng([seed, len(name)])
        given = tuple(drawn(draw, np.shape(a), mesh) for a in args)
        wanted = jax.tree.map(lambda r: drawn(draw, r.shape, mesh), shapes)  # noqa: B023
        if any(s is not None for s in (*given, *jax.tree.leaves(wanted))):
            yield jax.jit(f, in_shardings=given, out_shardings=wanted).lower(*args).as_text()


def shard_map_cases():
    @partial(jax.shard_map, mesh=XY, in_specs=(P("x", "y"),), out_specs=P("x"))
    def shift(a):
        s = lax.psum(a, "y")
        return s + lax.ppermute(s, "x", [(i, (i + 1) % 4) for i in range(4)])

    @partial(jax.shard_map, mesh=XY, in_specs=(P("x"),), out_specs=P("x"))
    def collectives(a):
        g = lax.all_gather(a, "x", tiled=True)
        t = lax.all_to_all(a.reshape(4, -1), "x", 0, 0).reshape(a.shape)
        return lax.psum_scatter(g, "x", tiled=True) + t + lax.axis_index("x")

    @partial(jax.shard_map, mesh=XY, in_specs=(P(("x", "y")), P()), out_specs=(P("y", "x"), P()), check_vma=False)
    def loop(a, w):
        def body(i, c):
            return c + lax.pmean(c * w, ("x", "y")) * i

        r = lax.fori_loop(0, 3, body, a)
        return jnp.broadcast_to(r.sum(), (2, 3)), lax.pmax(r.max(), ("x", "y"))

    @partial(jax.shard_map, mesh=XY, in_specs=(P("x"), P()), out_specs=P("x"), axis_names={"x"})
    def partly(a, w):
        h = jnp.tanh(a @ w) + lax.psum(a.sum(1, keepdims=True), "x")
        return jax.nn.softmax(h) * lax.axis_index("x")

    @partial(jax.shard_map, mesh=XY, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    def nested(a):
        inner = jax.shard_map(lambda b: lax.psum(b, "y"), in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})
        return inner(a * 2) + lax.pmax(a.max(), "x")

    case("shard_map_nested", nested, [floats(16, 8)], [P("y")])
    case("shard_map_partly", partly, [floats(16, 8), floats(8, 6)], [P("x", "y"), P(None, "y")])
    case(
        "shard_map_partly_rows",
        lambda a, w: partly(a + 1, w).sum(0),
        [floats(16, 8), floats(8, 6)],
        [P(("x", "y")), P("y")],
    )
    case(
        "shard_map_partly_gradient",
        jax.grad(lambda w, a: partly(a, w).sum()),
        [floats(8, 6), floats(16, 8)],
        [P("y"), P("y")],
    )
    case("shard_map_shift", shift, [floats(16, 32)], [P("x", "y")])
    case("shard_map_collectives", collectives, [floats(16, 8)], [P("x")])
    case("shard_map_loop", loop, [floats(16, 4), floats(2, 4)], [P(("x", "y")), None])
    case("shard_map_resharded", lambda a: shift(a * 2) - 1, [floats(16, 32)], [P("y", "x")], P("y"))
    case("shard_map_unplaced", lambda a: collectives(a.T), [floats(8, 16)], [None])
    CASES["pmap"] = (jax.pmap(lambda v: lax.psum(v, "i") * lax.axis_index("i"), axis_name="i"), [floats(8, 3)])


def mlp(x, w1, w2):
    return jnp.tanh(x @ w1) @ w2


def mlp_cases():
    args = [floats(16, 32), floats(32, 64), floats(64, 8)]
    specs = [P("x"), P(None, "y"), P("y")]
    case("mlp", mlp, args, specs, P("x"))
    case("mlp_inferred", mlp, args, specs)
    case("mlp_whole", mlp, args, [P(), P(), P()], P())
    case("mlp_scattered", mlp, args, specs, P("x", "y"))
    case("mlp_gradient", jax.grad(lambda *a: mlp(*a).sum(), argnums=(1, 2)), args, specs)
    case("mlp_fully_sharded", jax.grad(lambda *a: mlp(*a).sum(), argnums=(1, 2)), args, [P("x"), P("x", "y"), P("y", "x")],
         (P("x", "y"), P("y", "x")))  # fmt: skip


D, H, F, S, B, V = 32, 4, 64, 8, 8, 48


def transformer_cases():
    n = lambda *s: floats(*s) * np.float32(0.05)  # noqa: E731
    p = dict(emb=n(V, D), wq=n(D, H, D // H), wk=n(D, H, D // H), wv=n(D, H, D // H), wo=n(H, D // H, D), w1=n(D, F), w2=n(F, D),
             out=n(D, V))  # fmt: skip
    t = random.integers(0, V, (B, S)).astype(np.int32)

    def ln(x):
        m = x.mean(-1, keepdims=True)
        return (x - m) / jnp.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)

    def model(p, t):
        x = p["emb"][t]
        h = ln(x)
        q, k, v = (jnp.einsum("bsd,dhk->bhsk", h, p[w]) for w in ("wq", "wk", "wv"))
        mask = jnp.tril(jnp.ones((S, S), bool))
        a = jax.nn.softmax(jnp.where(mask, jnp.einsum("bhsk,bhtk->bhst", q, k) / 4, -1e9))
        x = x + jnp.einsum("bhst,bhtk,hkd->bsd", a, v, p["wo"])
        x = x + jax.nn.gelu(ln(x) @ p["w1"]) @ p["w2"]
        return ln(x) @ p["out"]

    def loss(p, t):
        logits = jax.nn.log_softmax(model(p, t))
        return -jnp.take_along_axis(logits, jnp.roll(t, -1, 1)[..., None], -1).mean()

    def step(p, t):
        v, g = jax.value_and_grad(loss)(p, t)
        return v, jax.tree.map(lambda a, b: a - 0.1 * b, p, g)

    spec = dict(emb=P(), wq=P(None, "model"), wk=P(None, "model"), wv=P(None, "model"), wo=P("model"), w1=P(None, "model"),
                w2=P("model"), out=P(None, "model"))  # fmt: skip
    rows = dict(spec, emb=P("model"), out=P("model"))
    for name, s in ("", spec), ("_rows", rows):
        placed = {k: NamedSharding(TP, v) for k, v in s.items()}
        data = NamedSharding(TP, P("data"))
        CASES["transformer" + name] = (jax.jit(model, in_shardings=(placed, data)), [p, t])
        CASES["transformer_step" + name] = (
            jax.jit(step, in_shardings=(placed, data), out_shardings=(NamedSharding(TP, P()), placed)), [p, t])  # fmt: skip


def operation_cases():
    a, b = floats(8, 16), floats(8, 16)
    con = lambda v, *s: lax.with_sharding_constraint(v, NamedSharding(XY, P(*s)))  # noqa: E731
    case("pointwise", lambda a, b: jnp.where(a > b, jnp.exp(a), b.clip(-1, 1)), [a, b], [P("x"), P("x", "y")])
    case("conflict", lambda a, b: a + b, [a, b], [P("x", "y"), P("y", "x")])
    case("conflict_order", lambda a, b: a * b, [a, b], [P(("x", "y")), P(("y", "x"))], P("x"))
    case("permuted", lambda a: con(con(a, "y", None), None, ("y", "x")) + 1, [a], [P(("y", "x"))], P("x"))
    case("swapped", lambda a: a.astype(jnp.bfloat16), [floats(8, 8)], [P(("x", "y"))], P(("y", "x")))
    case("scalars", lambda a, s: a * s + s, [a, np.float32(3)], [P("y"), P()], P("x"))
    case("not_divisible", lambda a: con(a[:, :6] * 2, "x", "y")[:6], [a], [P("x")])
    case("iota", lambda: con(jnp.arange(16.0)[:, None] * jnp.ones((16, 8)), "x", "y"), [], [])
    case("constant", lambda a: a + np.arange(128, dtype=np.float32).reshape(8, 16), [a], [P("y", "x")])
    case("sums", lambda a: (a.sum(), a.max(0), a.min(1), a.prod(0), (a > 0).any(), (a > -9).all(1)), [a], [P("x", "y")])
    case("argmax", lambda a: (a.argmax(1), a.argmin(0), jnp.median(a)), [a], [P("x", "y")])
    case("variance", lambda a: (a.var(0), jax.nn.logsumexp(a, 1), jnp.cumsum(a, 1)), [a], [P("x", "y")])
    case("transpose", lambda a: a.reshape(8, 4, 4).transpose(2, 0, 1) * 2, [a], [P("x", "y")])
    case("merge", lambda a: a.reshape(32, 4) + 1, [floats(4, 8, 4)], [P("x", "y")])
    case("split", lambda a: a.reshape(2, 4, 16) + 1, [a], [P(("x", "y"))])
    case("odd_reshape", lambda a: a.reshape(3, 8) + 1, [floats(4, 6)], [P("x")])
    case("flatten", lambda a: a.reshape(-1), [a], [P("x", "y")], P("y"))
    case("concatenate", lambda a, b: jnp.concatenate([a, b], 1)[:, 3:9], [a, b], [P("x"), P("x")])
    case("concatenate_divided", lambda a, b: jnp.concatenate([a, b], 0), [a, b], [P("x"), P("x")])
    case("pad", lambda a: jnp.pad(a, ((0, 0), (1, 2)))[:, ::-1], [a], [P("x", "y")])
    case("sort", lambda a: (jnp.sort(a, 1), jnp.argsort(a, 0), lax.top_k(a, 3)[0]), [a], [P("x")])
    case(
        "dots",
        lambda a, b: (a @ b.T, jnp.einsum("ij,ij->i", a, b), a.T @ b, jnp.vdot(a, b)),
        [a, b],
        [P("x", "y"), P("y", "x")],
    )
    case(
        "batched_dot",
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        [floats(4, 8, 8), floats(4, 8, 8)],
        [P("x", "y"), P("x")],
    )
    case(
        "integer_dot",
        lambda a, b: a @ b,
        [np.arange(64).reshape(8, 8), np.eye(8, dtype=np.int32)],
        [P(None, "x"), P("x", "y")],
    )
    table, ids = floats(16, 8), random.integers(-3, 20, (4, 6)).astype(np.int32)
    for name, spec in (
        ("table_copies", P()),
        ("table_columns", P(None, "y")),
        ("table_rows", P("y")),
        ("table_both", P("y", "x")),
    ):
        case("gather_" + name, lambda t, i: t.at[i].get(mode="clip"), [table, ids], [spec, P("x")])
        case("gather_gradient_" + name, jax.grad(lambda t, i: (t[i] ** 2).sum()), [table, ids], [spec, P("x")], spec)
    case("gather_pairs", lambda t, i, j: t[i, j], [table, ids[0] % 16, ids[1] % 8], [P("x", "y"), P(), P()])
    case(
        "take_along",
        lambda t, i: jnp.take_along_axis(t, i, 1),
        [table, random.integers(0, 8, (16, 2))],
        [P("x"), P("x")],
    )
    case("scatter_add", lambda t, i, u: t.at[i].add(u), [table, ids[0], floats(6, 8)], [P("y"), P(), P(None, "x")])
    case(
        "scatter_max",
        lambda t, i, u: t.at[i].max(u),
        [table, ids.reshape(-1)[:16], floats(16, 8)],
        [P(), P("x"), P("x")],
    )
    case("scatter_set", lambda t, i, u: t.at[i].set(u), [table, np.arange(8), floats(8, 8)], [P("x"), P("x"), P("x")])
    case("dynamic", lambda a, i: (lax.dynamic_slice(a, (0, i), (8, 4)), lax.dynamic_update_slice(a, a[:, :4], (0, i))), [a, np.int32(5)],
         [P("x"), P()])  # fmt: skip
    case("dynamic_divided", lambda a, i: lax.dynamic_slice(a, (i, 0), (2, 16)), [a, np.int32(5)], [P("x"), P()])
    case("while", lambda a, b: lax.while_loop(lambda c: c[0].sum() < 100, lambda c: (c[0] + jnp.abs(c[1]), c[1] * 2), (a, b)), [a, b],
         [P("x"), P("y")])  # fmt: skip
    case(
        "scan",
        lambda a, b: lax.scan(lambda c, r: (c @ b + r, c.sum(1)), a, floats(3, 8, 16)),
        [a, floats(16, 16)],
        [P("x"), P("y")],
    )
    case(
        "cond",
        lambda a, b: lax.cond(a.sum() > 0, lambda: a + b, lambda: (a - b) @ jnp.eye(16)),
        [a, b],
        [P("x"), P(None, "y")],
    )
    case(
        "switch",
        lambda a, i: lax.switch(i, [jnp.sin, lambda a: a.T.reshape(8, 16), jnp.cos], a),
        [a, np.int32(1)],
        [P("x"), P()],
    )
    case(
        "random",
        lambda k, a: a + jax.random.normal(k, a.shape),
        [jax.random.key_data(jax.random.key(1)), a],
        [P(), P("x", "y")],
    )
    images, kernel = floats(8, 6, 6, 4), floats(3, 3, 4, 8)
    conv = lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # noqa: E731
    case("convolution", conv, [images, kernel], [P("x"), P(None, None, None, "y")])
    case("convolution_sum", conv, [images, kernel], [P("x", None, None, "y"), P()])
    case("convolution_rows", conv, [images, kernel], [P("x", "y"), P()])
    case(
        "convolution_gradient", jax.grad(lambda x, k: conv(x, k).sum(), argnums=(0, 1)), [images, kernel], [P("x"), P()]
    )
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")  # noqa: E731
    case("pool", lambda x: jax.grad(lambda x: (pool(x) ** 2).sum())(x), [images], [P("x", None, None, "y")])
    case("empty", lambda a: (a * 2).sum(1), [np.zeros((8, 0), np.float32)], [P("x")])
    case("empty_rows", lambda a: a.T + 1, [np.zeros((0, 8), np.float32)], [P("x", "y")])
    case(
        "empty_sum",
        lambda a, b: (a.T @ b, a.sum(0)),
        [np.zeros((8, 0), np.float32), floats(8, 4)],
        [P("x"), P("x")],
        (P(None, "x"), P()),
    )
    case("fft", lambda a: jnp.abs(jnp.fft.rfft(a)), [a], [P("x", "y")])
    case("complex", lambda a: jnp.abs((a + 1j * a).sum(1)), [a], [P("x", "y")])
    case("donated", lambda a, b: (a + 1, b * 2), [a, b], [P("x"), P("y")], (P("x"), P("x")), donate_argnums=(0, 1))
    typed = Mesh(XY.devices, XY.axis_names, axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    args = [jax.device_put(v, NamedSharding(typed, s)) for v, s in ((a, P("x", "y")), (b, P("x", "y")))]
    CASES["explicit"] = (jax.jit(lambda a, b: jnp.exp(a + b).sum(1) * 2), args)
    case("two_meshes", lambda a: lax.with_sharding_constraint(a * 2, NamedSharding(LINE, P("i"))), [a], [P("x", "y")])
    case("bfloat16_sum", lambda a: a.sum(0), [a.astype(jnp.bfloat16)], [P("x")], P())


XY, TP, LINE = meshes() if __name__ == "__main__" else (None, None, None)


def main(path):
    shard_map_cases()
    mlp_cases()
    transformer_cases()
    operation_cases()
    made = {}
    for name, (f, args) in CASES.items():
        lowered = f.lower(*args)
        flat = [np.asarray(jnp.asarray(a)) for a in jax.tree.leaves(args)]
        kept = sorted(lowered._lowering.compile_args["kept_var_idx"])
        artifact = jax._src.lib._jax.mlir.serialize_portable_artifact(lowered.as_text(), "1.13.0", True)
        results = [np.asarray(r) for r in jax.tree.leaves(f(*args))]
        others = list(variants(name, 4)) if name in VARIED else []
        made[name] = (lowered.as_text(), artifact, [flat[i] for i in kept], results, others)
    with open(path, "wb") as file:
        pickle.dump(made, file)


if __name__ == "__main__":
    main(sys.argv[1])
