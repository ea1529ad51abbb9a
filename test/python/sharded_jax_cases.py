"""Functions of JAX on the devices of one platform, for test_sharded_jax.py: called with the devices, the same on each."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import serialize_executable
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from sharded_jax import both, counted, grid, mapped

# ---- collectives in shard_map


@both
def sums(devices):
    def f(a):
        return lax.psum(a, "x"), lax.pmax(a, "y"), lax.pmin(a, ("x", "y")), lax.pmean(a, "y")

    return mapped(f, grid(devices, 2, 4), [counted(8, 12)], [P("x", "y")], (P(None, "y"), P("x"), P(), P("x")))


@both
def gathers(devices):
    def f(a):
        return lax.all_gather(a, "x"), lax.all_gather(a, "y", axis=1, tiled=True), lax.all_gather(a, ("y", "x"))

    return mapped(f, grid(devices, 2, 4), [counted(8, 12)], [P("x", "y")], (P(None, None, "y"), P("x"), P()))


@both
def scattered_sums(devices):
    def f(a):
        return lax.psum_scatter(a, "x", tiled=True), lax.psum_scatter(a, "y", scatter_dimension=1, tiled=True)

    return mapped(f, grid(devices, 2, 4), [counted(8, 16)], [P()], (P("x"), P(None, "y")))


@both
def exchanges(devices):
    def f(a):
        return lax.all_to_all(a, "x", 1, 0, tiled=True), lax.all_to_all(a.reshape(8, -1), "x", 0, 0)

    return mapped(f, grid(devices, 8), [counted(16, 8)], [P("x")], (P(None, "x"), P("x")))


@both
def permutations(devices):
    def f(a):
        return lax.ppermute(a, "x", [(0, 3), (3, 1)]), lax.pshuffle(a, "y", [1, 0])

    return mapped(f, grid(devices, 4, 2), [counted(8, 6)], [P("x", "y")], (P("x", "y"), P("x", "y")))


@both
def groups_of_an_axis(devices):
    def f(a):
        return lax.psum(a, "x", axis_index_groups=[[0, 5, 2, 7], [1, 3, 4, 6]])

    devices = devices[:8]
    return jax.pmap(f, "x", devices=devices)(counted(8, 5))


@both
def exchanges_in_loops(devices):
    def f(a):
        def step(c, i):
            c = lax.ppermute(c, "x", [(j, (j + 1) % 4) for j in range(4)]) + i
            return c, lax.psum(c.sum(), "x")

        last, sums = lax.scan(step, a, jnp.arange(3, dtype=a.dtype))
        return last, lax.fori_loop(0, 3, lambda i, c: lax.pmax(c, "x") + i, a), sums

    return mapped(f, grid(devices, 4), [counted(8, 3)], [P("x")], (P("x"), P("x"), P()))


@both
def places(devices):
    def f(a):
        return a + lax.axis_index("x") * 10 + lax.axis_index("y")

    return mapped(f, grid(devices, 4, 2), [counted(8, 2)], [P("x", "y")], P("x", "y"))


@both
def mapped_over_devices(devices):
    a = counted(8, 3, 4)
    f = jax.pmap(lambda a, b: (lax.psum(a * b, "i"), a + lax.axis_index("i")), "i", in_axes=(0, None), devices=devices)
    return f(a, np.float32(3))


# ---- functions that are divided


@both
def products(devices):
    mesh = grid(devices, 2, 4)
    a, b = counted(8, 16), counted(16, 12)
    out = []
    for s, t, u in (
        (P("x"), P(None, "y"), P("x", "y")),
        (P(None, "y"), P("y"), P()),
        (P("x", "y"), P("y", "x"), P("y")),
    ):
        f = jax.jit(
            jnp.dot, in_shardings=(NamedSharding(mesh, s), NamedSharding(mesh, t)), out_shardings=NamedSharding(mesh, u)
        )
        out.append(f(a, b))
    return out


@both
def inferred(devices):
    mesh = grid(devices, 4, 2)
    a = jax.device_put(counted(8, 12), NamedSharding(mesh, P("x", "y")))
    b = jax.device_put(counted(12), NamedSharding(mesh, P("y")))
    return jax.jit(lambda a, b: (a * b, a.T, a.sum(0), a.sum(1), a.max(), b[::-1], jnp.sort(a, 1), jnp.cumsum(a, 0)))(
        a, b
    )


@both
def inferred_without_parts_of_axes(devices):
    """A reshape divides by parts of an axis, which JAX has no name for: results have whole axes."""
    mesh = grid(devices, 6)
    a = jax.device_put(counted(24, 12), NamedSharding(mesh, P(None, "x")))
    return jax.jit(lambda a: (a.reshape(24, 2, 6), a.reshape(24, 2, 6) * 2 + 1, a.reshape(12, 2, 3, 4).sum(0)))(a)


@both
def gradient_of_layers(devices):
    mesh = grid(devices, 2, 4, names=("data", "model"))
    draw = np.random.default_rng(0)
    parameters = [draw.integers(-2, 3, s).astype(np.float32) for s in ((8, 16), (16,), (16, 8))]
    specs = [P(None, "model"), P("model"), P("model", None)]
    placed = [jax.device_put(p, NamedSharding(mesh, s)) for p, s in zip(parameters, specs)]
    x = jax.device_put(counted(8, 8), NamedSharding(mesh, P("data")))

    def loss(p, x):
        return (jax.nn.relu(x @ p[0] + p[1]) @ p[2]).sum()

    return jax.jit(jax.value_and_grad(loss))(placed, x)


@both
def donated(devices):
    mesh = grid(devices, 8)
    a = jax.device_put(counted(16, 4), NamedSharding(mesh, P("x")))
    b = jax.jit(lambda a: a + 1, donate_argnums=0)(a)
    assert a.is_deleted()
    for _ in range(3):
        b = jax.jit(lambda a: a * 2, donate_argnums=0)(b)
    return b


@both
def placed_elsewhere(devices):
    one, other = grid(devices, 2, 4), grid(devices[::2] + devices[1::2], 4, 2)
    a = jax.device_put(counted(8, 8), NamedSharding(one, P("x", "y")))
    moved = [jax.device_put(a, NamedSharding(one, s)) for s in (P("y", "x"), P(), P(("x", "y")), P(None, "x"))]
    moved += [jax.device_put(a, NamedSharding(other, s)) for s in (P("y"), P(None, "x"))]
    return [jax.jit(lambda a: a + 1)(m) for m in moved] + moved + [jax.device_put(a, devices[5])]


@both
def some_of_the_devices(devices):
    out = []
    for chosen in (devices[:4], devices[4:], devices[1::2], devices[7:3:-1], devices[:3], devices[:6], devices[6:]):
        mesh = Mesh(np.array(chosen), ("x",))
        a = jax.device_put(counted(12, 4), NamedSharding(mesh, P("x")))
        out.append(jax.jit(lambda a: (a - a.sum(0)) * 2)(a))
    return out


@both
def many_calls(devices):
    mesh = grid(devices, 8)
    a = jax.device_put(counted(8, 4), NamedSharding(mesh, P("x")))
    f = jax.jit(lambda a: (a + a.sum(0)) % 101)
    out = []
    for _ in range(30):
        a = f(a)
        out.append(jax.jit(lambda b: b * 3)(jax.device_put(a, devices[3])))
    return a, out


# ---- types and kinds of arguments


@both
def types(devices):
    mesh = grid(devices, 4)
    out = []
    for dtype in (np.bool_, np.int8, np.uint8, np.int32, np.uint32, jnp.bfloat16, np.float16):
        a = jax.device_put(counted(8, 3).astype(dtype), NamedSharding(mesh, P("x")))
        out.append(jax.jit(lambda a: (a, a[::-1], a.T, a + a, a.max(), a == a[0]))(a))
        out.append(
            mapped(
                lambda a: (lax.ppermute(a, "x", [(0, 2), (2, 1)]), lax.all_gather(a, "x")), mesh, [a], [P("x")], P("x")
            )
        )
    return out


@both
def wide_integers(devices):
    mesh = grid(devices, 4)
    with jax.enable_x64(True):
        a = np.arange(24).reshape(8, 3) * 2**33 - 5
        out = []
        for dtype in (np.int64, np.uint64):
            b = jax.device_put(a.astype(dtype), NamedSharding(mesh, P("x")))
            out.append(jax.jit(lambda a: (a, a[::-1], a + 1, a.sum(0), a.T))(b))
            out.append(
                mapped(
                    lambda a: (lax.psum(a, "x"), lax.all_gather(a, "x"), lax.pmax(a, "x")), mesh, [b], [P("x")], P("x")
                )
            )
        return out


@both
def complex_numbers(devices):
    mesh = grid(devices, 4)
    a = jax.device_put((counted(8, 3) + 1j * counted(8, 3)[::-1]).astype(np.complex64), NamedSharding(mesh, P("x")))
    sent = mapped(
        lambda a: (lax.psum(a, "x"), lax.ppermute(a, "x", [(1, 0)]), lax.all_gather(a, "x")),
        mesh,
        [a],
        [P("x")],
        P("x"),
    )
    return jax.jit(lambda a: (a, a * a, a.sum(0), a.conj().T, a.real))(a), sent


@both
def scalars(devices):
    mesh = grid(devices, 8)
    a = jax.device_put(counted(8), NamedSharding(mesh, P("x")))
    n = jax.device_put(np.float32(3), NamedSharding(mesh, P()))
    return jax.jit(lambda a, n, m: (a.sum() * n, a * m, n, n + m))(a, n, 4)


@both
def no_elements(devices):
    mesh = grid(devices, 4)
    place = lambda *s: jax.device_put(np.zeros(s, np.float32), NamedSharding(mesh, P("x")))  # noqa: E731
    e, f = place(0, 3), place(8, 0)
    made = jax.jit(lambda e, f: (e, f + 1, e.sum(0), f.sum(0), f.sum(1), jnp.concatenate([e, e]), f @ f.T))(e, f)
    return made, mapped(lambda f: (lax.psum(f, "x"), lax.all_gather(f, "x")), mesh, [f], [P("x")], P("x"))


@both
def results_that_are_arguments(devices):
    mesh = grid(devices, 2, 4)
    a = jax.device_put(counted(8, 8), NamedSharding(mesh, P("x", "y")))
    same = NamedSharding(mesh, P("x", "y"))
    f = jax.jit(lambda a, b: (b, a, a), out_shardings=(same, same, NamedSharding(mesh, P("y"))))
    return f(a, a), jax.jit(lambda a: a)(a), jax.jit(lambda a, b: (b, a), donate_argnums=(0, 1))(a + 0, a * 2)


@both
def constants(devices):
    mesh = grid(devices, 8)
    table = counted(16, 5)
    rows = NamedSharding(mesh, P("x"))
    f = jax.jit(lambda: (jnp.asarray(table), jnp.arange(16), jnp.ones((8, 8)), jnp.eye(8) * 3), out_shardings=rows)
    a = jax.device_put(counted(16), rows)
    return f(), jax.jit(lambda a: a[:, None] + table)(a)


@both
def random_keys(devices):
    mesh = grid(devices, 8)
    rows = NamedSharding(mesh, P("x"))
    keys = jax.jit(lambda: jax.random.split(jax.random.key(7), 8), out_shardings=rows)()
    data = jax.jit(lambda k: jax.random.key_data(jax.vmap(lambda k: jax.random.split(k)[0])(k)))(keys)
    bits = jax.jit(lambda k: jax.vmap(lambda k: jax.random.bits(k, (6,)))(k))(keys)
    whole = jax.jit(lambda: jax.random.bits(jax.random.key(1), (16, 3)), out_shardings=rows)()
    return data, bits, whole


@both
def indices_and_updates(devices):
    mesh = grid(devices, 4, 2)
    a = jax.device_put(counted(16, 6), NamedSharding(mesh, P("x", "y")))
    i = jax.device_put(np.int32([3, 15, -1, 0, 7, 99, 2, 2]), NamedSharding(mesh, P("x")))
    return jax.jit(
        lambda a, i: (
            a[i],
            a.at[i].add(2),
            a.at[:, 1].set(9),
            lax.dynamic_slice(a, (i[0], 0), (4, 3)),
            jnp.take(a, i, axis=0),
        )
    )(a, i)


@both
def host_memory(devices):
    mesh = grid(devices, 4)
    a = jax.device_put(counted(8, 3), NamedSharding(mesh, P("x"), memory_kind="unpinned_host"))
    b = jax.device_put(a, NamedSharding(mesh, P("x"), memory_kind="device"))
    return a, b, jax.jit(lambda b: b + 1)(b)


# ---- executables


@both
def read_back(devices):
    """On the devices that they were compiled for."""
    out = []
    for chosen in (devices, devices[7:3:-1], devices[5:6]):
        mesh = Mesh(np.array(chosen), ("x",))
        a = jax.device_put(counted(8, 8), NamedSharding(mesh, P("x")))
        f = jax.jit(lambda a: (a @ a.T, a.sum())).lower(a).compile()
        if devices[0].platform == "glia":
            f = serialize_executable.deserialize_and_load(
                *serialize_executable.serialize(f), backend="glia", execution_devices=chosen
            )
        out.append(f(a))
    return out
