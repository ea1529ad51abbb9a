"""glia.jit: JAX functions as programs, against JAX on the host. Small ones: what the emitters compute is tested in test/Lower."""

import glia
import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp

TARGETS = ("trn1", "trn2", "trn3")


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(a, b, **options):
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(
            np.float64(x), np.float64(y), **{"rtol": 1e-5, "atol": 1e-5, **options}
        ),
        a,
        b,
    )


def layer(p, x):
    h = jnp.tanh(x @ p["w"] + p["b"])
    return {"h": h, "positive": h > 0}, h.sum()


def arguments():
    return {"w": normal(64, 32), "b": normal(32, seed=1)}, normal(16, 64, seed=2)


@pytest.mark.parametrize("target", TARGETS)
def test_trees_in_and_out(target):
    p, x = arguments()
    out, ref = glia.jit(layer, target=target)(p, x), jax.jit(layer)(p, x)
    assert jax.tree.structure(out) == jax.tree.structure(ref)
    for a, b in zip(jax.tree.leaves(out), jax.tree.leaves(ref)):
        assert type(a) is np.ndarray and (a.shape, a.dtype) == (b.shape, b.dtype)
    close(out, ref)


@pytest.mark.parametrize("target", TARGETS)
def test_gradients(target):
    def loss(p, x):
        return (layer(p, x)[0]["h"] ** 2).mean()

    p, x = arguments()
    close(glia.jit(jax.value_and_grad(loss), target=target)(p, x), jax.value_and_grad(loss)(p, x))


def test_reductions_with_any_body():
    def product(a, b):  # of complex numbers
        return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

    def composed(a, b):  # of lines: not commutative
        return a[0] * b[0], a[1] * b[0] + b[1]

    def f(x, y):
        one, none = jnp.float32(1), jnp.float32(0)
        return (
            jax.lax.reduce(x, jnp.float32(-np.inf), jnp.logaddexp, (1,)),
            jax.lax.reduce((x, y), (one, none), product, (0, 2)),
            jax.lax.reduce((x, y), (one, none), composed, (1,)),
            jax.lax.reduce((x, y), (one + x[0, 0, 0], none), composed, (0, 1, 2)),
            jnp.argmax(x[:, :1], axis=1),
        )

    x, y = normal(3, 7, 5) * 0.5 + 1, normal(3, 7, 5, seed=1)
    close(glia.jit(f)(x, y), jax.jit(f)(x, y))


def test_scatters_that_subtract():
    places = np.array([1, 4, 1, 0])

    def f(x, u, n, m):
        return x.at[places].subtract(u), n.at[places].subtract(m)

    arguments = normal(6), normal(4, seed=1), np.arange(6, dtype=np.uint8), np.array([3, 0, 200, 1], np.uint8)
    close(glia.jit(f)(*arguments), jax.jit(f)(*arguments), rtol=0, atol=1e-6)


def test_branches_in_a_loop():
    def f(x):
        def step(sums, k):
            return jax.lax.cond(k % 2 == 0, lambda s: s + k * x, lambda s: s, sums), sums

        return jax.lax.scan(step, jnp.zeros(3), jnp.arange(6.0))

    x = normal(3)
    close(glia.jit(f)(x), jax.jit(f)(x))


def test_loops_of_jax():
    def f(w, x):
        return jax.lax.scan(lambda c, row: (jnp.tanh(c @ w + row), c.sum()), jnp.zeros(16), x)

    w, x = normal(16, 16) / 4, normal(4, 16, seed=1)
    close(glia.jit(f)(w, x), f(w, x))
    close(glia.jit(jax.grad(lambda w, x: f(w, x)[1].sum()))(w, x), jax.grad(lambda w, x: f(w, x)[1].sum())(w, x))


def test_jax_arrays_give_jax_arrays():
    f = glia.jit(lambda x, y: x * y)
    x = jnp.arange(12.0).reshape(3, 4)
    y = f(x, np.float32(2))
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(y, x * 2)
    assert isinstance(f(np.asarray(x), 2.0), np.ndarray)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.int32, np.uint8, np.int16])
def test_types(dtype):
    x = (np.arange(40) % 7).astype(dtype).reshape(5, 8)
    y = glia.jit(lambda x: x + x)(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), (x + x).astype(np.float32))


def test_booleans_and_scalars():
    f = glia.jit(lambda a, b, s: (jnp.where(a, b, s), jnp.logical_not(a), s + 1))
    a, b = np.array([True, False, True]), normal(3)
    out = f(a, b, 3)
    np.testing.assert_array_equal(out[0], np.where(a, b, np.float32(3)))
    np.testing.assert_array_equal(out[1], ~a)
    assert out[1].dtype == np.bool_ and out[2].shape == () and out[2] == 4 and out[2].dtype == np.int32


def test_64_bits_are_off_as_in_jax():
    y = glia.jit(lambda x: x * 2)(np.arange(5))  # int64
    assert y.dtype == np.int32 and y.tolist() == [0, 2, 4, 6, 8]
    z = glia.jit(lambda x: x / 2)(np.arange(5.0))  # float64
    assert z.dtype == np.float32 and z.tolist() == [0, 0.5, 1, 1.5, 2]


def test_arguments_as_results_constants_and_nothing():
    table = normal(300)

    def f(x, unused, empty):
        return x, x + table, table, empty, 7, None

    x = normal(300, seed=4)
    y = glia.jit(f)(x, normal(4), np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(y[0], x)
    np.testing.assert_array_equal(y[1], x + table)
    np.testing.assert_array_equal(y[2], table)
    assert y[3].shape == (0, 3) and y[4] == 7 and y[5] is None
    assert glia.jit(lambda x: None)(x) is None


def test_static_arguments():
    def f(x, n, scale=2.0):
        return x * n if n > 2 else x + scale

    x = normal(8)
    by_number = glia.jit(f, static_argnums=1)
    np.testing.assert_array_equal(by_number(x, 3), x * 3)
    np.testing.assert_array_equal(by_number(x, 1), x + 2)
    np.testing.assert_array_equal(by_number(x, n=5), x * np.float32(5))
    by_name = glia.jit(f, static_argnames=("n", "scale"))
    np.testing.assert_array_equal(by_name(x, 1, scale=4.0), x + 4)
    np.testing.assert_array_equal(by_name(x, 1, 3.0), x + 3)


def test_donated_arguments_stay_as_they_are():
    x, y = normal(64), normal(64, seed=1)
    before = x.copy()
    f = glia.jit(lambda x, y: (x + y, x * y), donate_argnums=(0,))
    for _ in range(2):
        total, product = f(x, y)
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(total, x + y)
        np.testing.assert_array_equal(product, x * y)


def test_donated_parameters_are_held_once():
    def step(parameters, x):
        value, gradients = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"] + p["b"]) ** 2))(parameters)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value

    parameters, x = {"w": normal(128, 200), "b": normal(200, seed=1)}, normal(32, 128, seed=2)
    before = jax.tree.map(np.copy, parameters)
    plain = glia.jit(step).compile(parameters, x)
    given = glia.jit(step, donate_argnums=0).compile(parameters, x)

    def held(exe):
        text = exe.program.disassemble().splitlines()
        shapes = [line.split("[")[1].split("]")[0] for line in text if line.split(" ")[0] in ("input", "output")]
        return sum(int(np.prod([int(d) for d in s.split(",")])) for s in shapes)

    assert held(given) == held(plain) - 128 * 200 - 200
    for want, got in zip(jax.tree.leaves(plain(parameters, x)), jax.tree.leaves(given(parameters, x)), strict=True):
        np.testing.assert_array_equal(got, want)
    jax.tree.map(np.testing.assert_array_equal, parameters, before)
    assert given.check(parameters, x).ok


def test_one_program_per_shapes_types_and_structure():
    made = []
    f = glia.jit(lambda x: (made.append(None), x["a"] + 1)[1])
    first = f.compile({"a": normal(4)})
    assert f.compile({"a": normal(4, seed=9)}) is first and len(made) == 1
    assert f.compile({"a": normal(5)}) is not first
    assert f.compile({"a": np.zeros(4, np.int32)}) is not first
    assert len(made) == 3


def test_decorator_and_names():
    @glia.jit(target="trn1")
    def half(x):
        """Divides by two."""
        return x * 0.5

    assert half.__name__ == "half" and half.__doc__ == "Divides by two."
    x = normal(8)
    np.testing.assert_array_equal(half(x), x / 2)
    assert half.compile(x).target == "trn1"


def test_executable(tmp_path):
    p, x = arguments()
    exe = glia.jit(layer, target="trn2").compile(p, x, dump=str(tmp_path / "parts"))
    close(exe(p, x), jax.jit(layer)(p, x))
    assert exe.verify().ok and exe.time() > 0 and exe.time() == exe.profile().total == exe.profile(p, x).total
    assert "stablehlo.dot_general" in exe.text() and exe.program.instructions > 0
    checked = exe.check(p, x)
    assert checked.ok and checked.groups == exe.groups and all(e < 1e-5 for e, _ in checked.errors)
    assert 1 <= exe.kernels <= exe.groups <= exe.operations
    assert {"graph.mlir", "groups.txt"} <= {f.name for f in (tmp_path / "parts").iterdir()}
    exe.save(tmp_path / "layer.glia")
    flat = {"arg0": p["b"], "arg1": p["w"], "arg2": x}
    close(glia.load(tmp_path / "layer.glia").run(flat)["result0"], layer(p, x)[0]["h"])
    reference = glia.interpret(exe.text(), *flat.values())
    close(reference[0], layer(p, x)[0]["h"])


def test_random_numbers_are_plain_operations():
    """For a platform of its own JAX lowers Threefry to operations, not to a call of the host's library."""

    def f(key):
        a, b = jax.random.split(key)
        return jax.random.bits(a, (3, 5)), jax.random.uniform(b, (4,)), b

    exe = glia.jit(f).compile(jax.random.key(0))
    assert "custom_call" not in exe.text()
    bits, uniform, key = exe(jax.random.key(7))
    ref = f(jax.random.key(7))
    np.testing.assert_array_equal(bits, ref[0])
    np.testing.assert_array_equal(uniform, ref[1])
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(ref[2]))


def test_keys_of_random_numbers():
    keys = jax.random.split(jax.random.key(3), 4)
    one, many = glia.jit(lambda a, b: (a, b))(keys[0], keys)
    assert one.dtype == keys.dtype and one.shape == () and many.shape == (4,)
    np.testing.assert_array_equal(jax.random.key_data(many), jax.random.key_data(keys))
    assert jax.random.uniform(one) == jax.random.uniform(keys[0])


# ---- what is refused


def problems(call):
    with pytest.raises(glia.Error) as caught:
        call()
    return caught.value.diagnostics


def test_everything_that_cannot_be_lowered_at_once():
    def f(x):
        return jax.ffi.ffi_call("nobodys", x)(x), jax.ffi.ffi_call("somebodys", x)(x)

    found = problems(lambda: glia.jit(f)(normal(8, 8)))
    assert {"@nobodys", "@somebodys"} <= {d.message.split()[1] for d in found}
    assert all(d.code == "GRAPH-UNSUPPORTED" and d.file == __file__ for d in found)
    assert {d.line for d in found} == {f.__code__.co_firstlineno + 1}


def test_wrong_arguments():
    x = normal(4)
    exe = glia.jit(lambda x: x["a"] + 1).compile({"a": x})
    assert problems(lambda: exe({"a": normal(5)}))[0].code == "JIT-ARGUMENT"
    assert problems(lambda: exe({"a": x.astype(np.int32)}))[0].code == "JIT-ARGUMENT"
    assert problems(lambda: exe({"b": x}))[0].code == "JIT-ARGUMENT"
    assert problems(lambda: exe())[0].code == "JIT-ARGUMENT"
    assert "debug" in problems(lambda: exe.run({"a": x}, watch=["a"]))[0].advice
    assert "interpreter" in problems(lambda: exe.compare(np.sin, {"a": x}))[0].advice
    with pytest.raises(TypeError):
        glia.jit(lambda x: x)("text")


def test_wrong_doors():
    import glia.nki.language as nl
    from glia import nki

    @nki.jit
    def double(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.multiply(nl.load(x), 2.0))
        return out

    x = normal(8, 8)
    (d,) = problems(lambda: glia.jit(double))
    assert d.code == "JIT-KERNEL" and "glia.compile" in d.advice
    for f in (jax.jit(lambda x: x + 1), lambda x: jnp.tanh(x), jax.grad(lambda x: x.sum())):
        (d,) = problems(lambda f=f: glia.compile(f, x))
        assert d.code == "GRAPH-DOOR" and "glia.jit" in d.advice
    (d,) = problems(lambda: glia.compile(lambda x: x @ x, x))
    assert "glia.jit" in d.advice
    (d,) = problems(lambda: glia.jit(3))
    assert d.code == "JIT-FUNCTION"
    (d,) = problems(lambda: glia.jit(lambda x: x, target="trn9"))
    assert d.code == "TARGET-UNKNOWN"


def test_inside_of_other_functions():
    half = glia.jit(lambda x: x * 0.5)
    x = normal(8)
    np.testing.assert_array_equal(glia.jit(lambda x: half(x) + 1, target="trn3")(x), x * np.float32(0.5) + 1)
    for f in (jax.jit(half), jax.vmap(half), jax.grad(lambda x: half(x).sum())):
        (d,) = problems(lambda f=f: f(x))
        assert d.code == "JIT-TRACED"
    (d,) = problems(lambda: glia.jit(glia.jit(lambda x: x + 1, target="trn1"), target="trn2")(x))
    assert d.code == "GRAPH-TARGET"


def test_without_jax(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "jax" else find(name, *a))
    (d,) = problems(lambda: glia.jit(lambda x: x))
    assert d.code == "JIT-JAX" and "not installed" in d.message


@pytest.mark.parametrize("text", ["", "module {", "func.func @main() { return }", "\0", "nisa.kernel @k"])
def test_malformed_text(text):
    try:
        glia._glia.compile_graph(text, "<text>", "trn2")
    except glia.Error as e:
        assert e.diagnostics


WHOLE = {
    "set": lambda x, y: x.at[:].set(y),
    "set part": lambda x, y: x.at[0:5, 0:4].set(y),
    "set all": lambda x, y: x.at[...].set(y),
    "set none": lambda x, y: x.at[()].set(y),
    "add": lambda x, y: x.at[:].add(y),
    "max": lambda x, y: x.at[...].max(y),
    "multiply": lambda x, y: x.at[()].multiply(y),
    "get": lambda x, y: x.at[:].get() + x.at[()].get() + y[...],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WHOLE)
def test_updates_of_a_whole_array(name, target):
    x, y = normal(5, 4), normal(5, 4, seed=1)
    np.testing.assert_array_equal(glia.jit(WHOLE[name], target=target)(x, y), WHOLE[name](jnp.asarray(x), y))


def test_updates_of_integers_and_a_scalar():
    f = glia.jit(lambda x, y, s: (x.at[:].add(y), s.at[()].set(2.5), s.at[...].add(1)))
    x, y = np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int32)[::-1].copy()
    total, number, more = f(x, y, np.float32(1))
    assert total.tolist() == [5] * 6 and number == 2.5 and more == 2


@pytest.mark.parametrize("target", TARGETS)
def test_determinants(target):
    x = normal(5, 5)
    close(glia.jit(jnp.linalg.det, target=target)(x), jnp.linalg.det(x))
    sign, logarithm = glia.jit(jnp.linalg.slogdet, target=target)(x)
    reference = jnp.linalg.slogdet(x)
    assert sign == reference[0]
    close(logarithm, reference[1])
    close(glia.jit(jax.lax.linalg.lu, target=target)(x), jax.lax.linalg.lu(x))
    close(glia.jit(jax.scipy.linalg.lu, target=target)(x), jax.scipy.linalg.lu(x))


RACY = """
target trn2
input arg0 : f32[128, 64]
output result0 : f32[128, 64]
sbuf t : f32[128, 64] @ 0
queue q
semaphore s
sync dma_copy dst=t src=arg0 queue=q then s += 16
vector tensor_copy dst=t src=t
sync dma_copy dst=result0 src=t queue=q
"""


def test_a_program_that_the_verifier_refuses_is_our_fault(monkeypatch):
    compiled = glia._glia.compile_graph

    def racy(*args, **options):
        return glia.assemble(RACY)._handle, compiled(*args, **options)[1]

    monkeypatch.setattr(glia._glia, "compile_graph", racy)
    with pytest.raises(glia.Error) as e:
        glia.jit(lambda x: x + 1).compile(normal(128, 64))
    d = e.value.diagnostics[0]
    assert d.code == "GRAPH-INTERNAL" and "a fault of glia's, not of your program" in d.message
    assert "report" in d.advice and d.notes[0].split(":")[0] in d.advice


@pytest.mark.parametrize("function", ["approx_max_k", "approx_min_k"])
def test_approximate_top_k_is_exact(function):
    x = normal(300, 4)
    call = getattr(jax.lax, function)
    values, places = glia.jit(lambda x: call(x, 5, reduction_dimension=0))(x)
    order = np.argsort(x, axis=0)
    want = order[:-6:-1] if function == "approx_max_k" else order[:5]
    np.testing.assert_array_equal(places, want)
    np.testing.assert_array_equal(values, np.take_along_axis(x, want, 0))
    longer, _ = glia.jit(lambda x: call(x, 5, reduction_dimension=0, aggregate_to_topk=False))(x)
    np.testing.assert_array_equal(longer[:5], values)


def test_marks_that_keep_values_do_nothing():
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  stablehlo.custom_call @dce_sink(%0) {has_side_effect = true} : (tensor<3xf32>) -> ()
  %1 = stablehlo.negate %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}"""
    handle, _ = glia._glia.compile_graph(text, "<test>", "trn2")
    x = normal(3)
    np.testing.assert_array_equal(glia.program.Program(handle).run({"arg0": x})["result0"], -x)


@pytest.mark.parametrize("cast, narrow", [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
def test_operands_of_products_are_rounded_where_asked(cast, narrow):
    x, w = normal(5, 40), normal(40, 6, seed=1)
    f = glia.jit(lambda x, w: x @ w + x[:, :1], auto_cast=cast)
    a, b = (v.astype(narrow).astype(np.float64) for v in (x, w))
    got = f(x, w)
    np.testing.assert_allclose(got, a @ b + x[:, :1], rtol=2e-6, atol=2e-6)
    assert np.abs(got - (x.astype(np.float64) @ w + x[:, :1])).max() > 1e-4
    assert f.compile(x, w).check(x, w).ok  # against the graph with its roundings
    with pytest.raises(glia.Error, match="GRAPH-CAST"):
        glia.jit(lambda x, w: x @ w, auto_cast="tf32")(x, w)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "by_name",
    [lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), lambda x: jax.lax.reduce_precision(x, 8, 7)],
    ids=["convert", "reduce_precision"],
)
def test_roundings_that_are_asked_for_by_name_stay(by_name, target):
    """bf16 may be left out between instructions of a kernel, but not where a convert or reduce_precision rounds to it."""
    x = normal(130, 300)
    rounded = (x * np.float32(3)).astype(ml_dtypes.bfloat16).astype(np.float64)
    got = glia.jit(lambda x: jnp.exp(by_name(x * 3) - 0.25), target=target)(x)
    np.testing.assert_allclose(got, np.exp(rounded - 0.25), rtol=2e-6)
    got = glia.jit(lambda x: by_name(x * 3).sum(-1), target=target)(x)
    np.testing.assert_allclose(got, rounded.sum(-1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_bfloat16_are_no_worse_than_on_the_host(target):
    x = normal(150, 400).astype(ml_dtypes.bfloat16)
    functions = {
        "softmax": lambda x: jax.nn.softmax(x * 2.5, -1),
        "norm": lambda x: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6),
        "logsumexp": lambda x: jax.nn.logsumexp(x * 1.5, -1),
        "silu": lambda x: jax.nn.silu(x * 2 + 1),
        "scores": lambda x: jax.nn.softmax(x @ x.T * 0.25, -1),
    }
    for name, f in functions.items():
        want = np.float64(f(x.astype(np.float32)))
        ours, theirs = (
            np.linalg.norm(np.float64(v) - want) / np.linalg.norm(want)
            for v in (glia.jit(f, target=target)(x), jax.jit(f)(x))
        )
        assert ours <= 1.05 * theirs + 2**-11, name
