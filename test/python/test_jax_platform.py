"""JAX's platform glia: programs of JAX, as they are, on glia's compiler and simulator; numbers against JAX on the CPU."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import glia
import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from jax import lax

PACKAGES = os.path.dirname(os.path.dirname(glia.__file__))


@pytest.fixture(scope="module", autouse=True)
def device(tmp_path_factory):
    """JAX on one device of the platform; the CPU stays the default elsewhere. What the platform keeps for the user is kept apart."""
    found = jax.devices("glia")[0]
    with pytest.MonkeyPatch.context() as patch, jax.default_device(found):
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield found


def on_cpu(f, *args):
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.tree.map(np.asarray, jax.jit(f)(*args))


def same(f, *args, tolerance=2e-5):
    """The function on the platform and on the CPU; the platform's result."""
    got = jax.jit(f)(*args)
    for x in jax.tree.leaves(got):
        assert {d.platform for d in x.devices()} == {"glia"}
    want = on_cpu(f, *args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), tolerance, tolerance)
    return got


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def script(text, expect=0, **environment):
    """A program of its own, with the platform chosen by the environment; what it wrote."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "JAX_"))}
    env |= {"PYTHONPATH": PACKAGES, "JAX_PLATFORMS": "glia", **environment}
    code = "import jax, jax.numpy as jnp, numpy as np\nfrom jax import lax\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stdout + done.stderr
    return done


# ---- programs


def test_is_never_the_default():
    assert jax.default_backend() == "cpu"
    done = script("print(jax.default_backend(), jnp.ones(3).devices())", JAX_PLATFORMS="")
    assert done.stdout.split()[0] == "cpu" and "experimental" not in done.stderr


def test_the_vendors_name_on_request():
    program = """
        import glia.nki as nki, glia.nki.isa as nisa, glia.nki.language as nl

        @nki.jit
        def double(a):
            tile = nl.ndarray(a.shape, a.dtype)
            nisa.dma_copy(tile, a)
            nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
            out = nl.ndarray(a.shape, a.dtype, nl.shared_hbm)
            nisa.dma_copy(out, tile)
            return out

        x = jnp.ones((4, 3))
        y = jax.jit(lambda x: double(jnp.tanh(x)), donate_argnums=0)(x)
        print(jax.default_backend(), jax.devices("neuron")[0].platform, float(y[0, 0]))
    """
    want = f"neuron neuron {2 * np.tanh(np.float32(1))}"[:24]
    for environment in ({"JAX_PLATFORMS": "neuron"}, {"JAX_PLATFORMS": "neuron", "GLIA_PLATFORM": "neuron"}):
        assert script(program, **environment).stdout.startswith(want)
    refused = script("jax.pure_callback(lambda: np.float32(1), jnp.float32(1))", expect=1, JAX_PLATFORMS="neuron")
    assert "for the platform neuron" in refused.stderr


def test_products_are_narrowed_on_request():
    text = """
        x = np.float32(np.random.default_rng(0).standard_normal((8, 8)))
        with jax.default_matmul_precision("highest"):
            y = np.asarray(jnp.asarray(x) @ x)
        narrow = np.asarray(jnp.asarray(x).astype(jnp.bfloat16), np.float64)
        print(np.abs(y - narrow @ narrow).max() < 1e-5, np.abs(y - np.float64(x) @ x).max() < 1e-5)
    """
    assert script(text).stdout.split() == ["False", "True"]
    assert script(text, GLIA_AUTO_CAST="bf16", GLIA_CHECK="1").stdout.split() == ["True", "False"]
    assert "PJRT-SETTING" in script(text, GLIA_AUTO_CAST="bf8", expect=1).stderr


def test_an_installed_package_is_found_by_its_entry_point():
    tomllib = pytest.importorskip("tomllib")
    root = Path(os.environ.get("GLIA_ROOT", Path(__file__).parents[2]))
    entries = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["jax_plugins"]
    module = importlib.import_module(entries["glia"])
    module.initialize()  # a second time: JAX may find the platform in more than one way
    assert module.LIBRARY.exists()


def test_training_a_perceptron_with_donation():
    def loss(p, x, y):
        h = jnp.tanh(x @ p["w"] + p["b"])
        return ((h @ p["v"] - y) ** 2).mean()

    def step(p, x, y):
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        return value, jax.tree.map(lambda a, g: a - 0.1 * g, p, gradient)

    first = {"w": random(8, 16), "b": random(16, seed=1), "v": random(16, 4, seed=2)}
    x, y = random(32, 8, seed=3), random(32, 4, seed=4)

    def three(p):
        values = []
        for _ in range(3):
            value, p = step(p, x, y)
            values.append(value)
        return values, p

    want_values, want = on_cpu(three, first)
    donating = jax.jit(step, donate_argnums=0)
    p, values = jax.device_put(first), []
    for _ in range(3):
        before = p
        value, p = donating(p, x, y)
        values.append(float(value))
        assert all(a.is_deleted() for a in jax.tree.leaves(before))
    np.testing.assert_allclose(values, want_values, 1e-5)
    for k in want:
        np.testing.assert_allclose(p[k], want[k], 1e-4, 1e-5)
    with pytest.raises(RuntimeError, match="deleted"):
        before["w"] + 1


def test_gradient_of_a_convolutional_network():
    def loss(k, w, x):
        y = lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.nn.log_softmax(y.reshape(y.shape[0], -1) @ w)[:, 0].sum()

    same(jax.value_and_grad(loss, (0, 1)), random(3, 3, 2, 4), random(64, 5, seed=1), random(2, 8, 8, 2, seed=2))


def test_transformations_and_control_flow():
    x, m = random(5, 7), random(7, 7, seed=1)
    same(jax.vmap(lambda v: jnp.tanh(m @ v)), x)
    same(lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c.sum()), jnp.zeros(7), x), x)
    same(lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 1.1), (0, x)), x)
    same(lambda p, x: lax.cond(p, lambda a: a + 1, lambda a: a * 2, x), np.bool_(True), x)
    same(lambda x: jnp.sort(x, axis=1), x)
    same(lambda x: (jnp.argmax(x, 1), jnp.cumsum(x, 0), x[:, ::2], jnp.where(x > 0, x, 0).sum()), x)
    same(jax.jacobian(lambda v: jnp.sin(m @ v)), x[0])


def test_random_numbers_are_those_of_jax():
    def draw(key):
        a, b = jax.random.split(key)
        return jax.random.bits(a, (9,)), jax.random.uniform(b, (4, 5)), jax.random.permutation(a, 6)

    got = jax.jit(draw)(jax.random.key(7))
    with jax.default_device(jax.devices("cpu")[0]):
        want = draw(jax.random.key(7))
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g, w)


def test_a_kernel_of_nki_in_a_function():
    import glia.nki as nki
    import glia.nki.isa as nisa
    import glia.nki.language as nl

    @nki.jit
    def double(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        a = nl.load(x)
        nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=2.0)
        nl.store(out, a)
        return out

    x = random(16, 8)
    lowered = jax.jit(lambda x: jnp.tanh(double(x))).lower(x)
    assert "glia.nki" in lowered.as_text()
    np.testing.assert_allclose(lowered.compile()(x), np.tanh(2 * x), 1e-5, 1e-6)


# ---- arrays

DTYPES = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"),
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "int4", "uint4"),
]


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_come_back_as_they_were(name, device):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    a = (np.arange(24) % 7).reshape(2, 3, 4).astype(dtype)
    for given in (a, a.T, a[:, ::-1, 1:3], np.broadcast_to(a[0, 0], (3, 4)), a[:0], a[1, 2, 3]):
        x = jax.device_put(given, device)
        assert x.devices() == {device} and x.dtype == dtype and x.shape == np.shape(given)
        np.testing.assert_array_equal(np.asarray(x).astype(np.float32), np.asarray(given).astype(np.float32))
        assert x.nbytes == np.asarray(given).size * dtype.itemsize


def test_computing_in_small_types():
    for name in ("int8", "uint16", "int32", "float16", "bfloat16"):
        a = (np.arange(12) % 5).astype(np.dtype(getattr(ml_dtypes, name, name)))
        same(lambda x: x * 2 + x, a, tolerance=1e-2)
    same(lambda a, b: a & ~b, np.array([True, False, True]), np.array([True, True, False]))
    f8 = np.array([0.5, 1, 1.5, -2], ml_dtypes.float8_e5m2)
    same(lambda x: x.astype(jnp.float32) * 2, f8)


def test_nothing_and_scalars():
    empty = np.zeros((0, 3), np.float32)
    same(lambda x: (x + 1, x.sum(), x.shape[1] * 2.0), empty)
    same(lambda x: x, np.float32(3))
    same(lambda x, y: y, empty, np.int32(4))
    assert jax.jit(lambda: jnp.arange(3))().tolist() == [0, 1, 2]


def test_views_of_memory(device):
    x = jax.device_put(random(4, 4), device)
    assert isinstance(x.unsafe_buffer_pointer(), int)
    used = device.memory_stats()["bytes_in_use"]
    y = jax.device_put(np.zeros(1000, np.float32), device)
    assert device.memory_stats()["bytes_in_use"] == used + 4000
    y.delete()
    assert device.memory_stats()["bytes_in_use"] == used
    host = jax.device_put(x, jax.sharding.SingleDeviceSharding(device, memory_kind="unpinned_host"))
    assert host.sharding.memory_kind == "unpinned_host"
    np.testing.assert_array_equal(host, x)
    there = jax.jit(lambda a: a + 1, out_shardings=host.sharding)(host)
    assert there.sharding.memory_kind == "unpinned_host"
    np.testing.assert_array_equal(there, x + 1)


# ---- executables


def test_cost_and_memory_of_an_executable():
    a = random(32, 64)
    compiled = jax.jit(lambda a: jnp.tanh(a @ a.T)).lower(a).compile()
    cost = compiled.cost_analysis()
    assert cost["flops"] == 2 * 32 * 32 * 64 + 32 * 32
    assert cost["bytes accessed"] >= a.nbytes and 1e-6 < cost["predicted_seconds"] < 1e-3
    assert compiled.memory_analysis().argument_size_in_bytes == a.nbytes
    assert compiled.memory_analysis().output_size_in_bytes == 32 * 32 * 4
    assert "dot" in compiled.as_text()


def test_layouts_of_an_executable_are_those_of_its_arrays(device):
    for f, *args in (
        (lambda a, b: (a @ b, a.sum(), b.T), random(2, 3), random(3, 4)),
        (lambda a, n: a.reshape(3, 2, 2) + n, random(12), 3),
        (lambda a: (a, a[0]), np.zeros((0, 3), np.float32).T),
        (jax.random.split, jax.random.key(3)),
    ):
        args = jax.device_put(args, device)
        compiled = jax.jit(f).lower(*args).compile()
        if not hasattr(compiled, "output_formats"):
            pytest.skip("this JAX does not say layouts")
        said = *compiled.input_formats[0], *jax.tree.leaves(compiled.output_formats)
        arrays = jax.tree.leaves((args, compiled(*args)))
        keys = [jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in arrays]
        arrays = [jax.random.key_data(x) if key else x for x, key in zip(arrays, keys)]
        assert [x.layout for x in said] == [x.format.layout for x in arrays]


def test_executables_can_be_kept(device):
    from jax.experimental import serialize_executable as kept

    x = random(6, 6)
    compiled = jax.jit(lambda x: x @ x + 1).lower(x).compile()
    payload, inputs, outputs = kept.serialize(compiled)
    again = kept.deserialize_and_load(payload, inputs, outputs, backend="glia", execution_devices=[device])
    np.testing.assert_array_equal(again(x), compiled(x))


def test_threads_compile_at_once():
    x, results = random(8, 8), {}

    def work(i):
        results[i] = np.asarray(jax.jit(lambda x: jnp.sin(x) * i + x @ x)(x))

    with jax.default_device(jax.devices("glia")[0]):
        device = jax.devices("glia")[0]

        def placed(i):
            with jax.default_device(device):
                work(i)

        threads = [threading.Thread(target=placed, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for i in range(6):
        np.testing.assert_allclose(results[i], np.sin(x) * i + x @ x, 1e-5, 1e-5)


def test_many_calls_in_flight():
    f = jax.jit(lambda x: x @ x / 8)
    x = want = np.full((8, 8), 1.25, np.float32)
    for _ in range(40):
        x, want = f(x), want @ want / 8 if want.max() < 1e6 else want
        if want.max() >= 1e6:
            break
    np.testing.assert_allclose(x, want, 1e-4)


# ---- refusals


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: jnp.linalg.eig(x), "eig"),
        (lambda x: jax.scipy.linalg.schur(x), "schur"),
        (lambda x: jax.pure_callback(lambda a: a, x, x), "pure_callback"),
        (lambda x: jax.debug.print("{}", x), "debug_print"),
    ],
)
def test_refused_by_name(function, name):
    with pytest.raises(NotImplementedError, match=f"`{name}` cannot be compiled for the platform glia"):
        jax.jit(function)(random(3, 3))


def test_refused_operations_have_their_line():
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"(?s)UNIMPLEMENTED.*GRAPH-UNSUPPORTED.*@nobodys.*test_jax_platform\.py:\d"
    ):
        jax.jit(lambda x: jax.ffi.ffi_call("nobodys", x)(x))(random(8))


def test_compiler_options_are_refused_by_name():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"PJRT-OPTIONS.*`xla_cpu_enable_fast_math`"):
        jax.jit(lambda x: x + 3).lower(random(3)).compile(compiler_options={"xla_cpu_enable_fast_math": True})


def test_a_buffer_is_donated_once():
    f = jax.jit(lambda a, b: (a + b, a - b), donate_argnums=(0, 1))
    x = jax.device_put(random(4))
    with pytest.raises(Exception, match="donate"):
        f(x, x)


# ---- the environment


def test_several_devices():
    done = script(
        """
        d = jax.devices()
        assert len(d) == 3 and d[2].id == 2 and "trn1" in d[0].device_kind, d
        x = jax.device_put(np.arange(6.0, dtype=np.float32), d[2])
        y = jax.jit(lambda x: x * 2)(x)
        assert y.devices() == {d[2]}
        z = jax.device_put(y, d[1])
        assert z.devices() == {d[1]} and z.tolist() == [0, 2, 4, 6, 8, 10]
        parts = [jax.jit(lambda v: v.sum())(jax.device_put(np.full(4, i, np.float32), d[i])) for i in range(3)]
        assert [float(p) for p in parts] == [0, 4, 8]
        assert d[1].memory_stats()["bytes_in_use"] > 0
        mesh = jax.sharding.Mesh(np.array(d), ("i",))
        cut = jax.device_put(np.arange(6.0, dtype=np.float32), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
        assert jax.jit(lambda x: x * 2)(cut).tolist() == [0, 2, 4, 6, 8, 10]
        print("well")
        """,
        GLIA_DEVICES="3",
        GLIA_TARGET="trn1",
    )
    assert "well" in done.stdout


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"GLIA_TARGET": "trn9"}, "TARGET-UNKNOWN"),
        ({"GLIA_DEVICES": "0"}, "PJRT-SETTING"),
        ({"GLIA_DEVICES": "10000"}, "from 1 to 64"),
        ({"GLIA_STRICT": "yes"}, "PJRT-SETTING"),
        ({"GLIA_TIMEOUT": "soon"}, "RUN-TIMEOUT"),
    ],
)
def test_wrong_settings(environment, code):
    assert code in script("jnp.ones(3)", expect=1, **environment).stderr


def test_what_a_run_can_show(tmp_path):
    done = script(
        """
        x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
        y = jax.jit(lambda x: jnp.tanh(x @ x))(x)
        np.testing.assert_allclose(y, np.tanh(x @ x), 1e-5, 1e-5)
        jax.jit(lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x)))(3, x)
        """,
        GLIA_TIME="1",
        GLIA_STRICT="1",
        GLIA_CHECK="1",
        GLIA_PROFILE=str(tmp_path / "pages"),
    )
    lines = [x for x in done.stderr.splitlines() if "predicted for trn2" in x]
    assert len(lines) == 2 and all("jit__lambda on glia:0" in x for x in lines)
    assert done.stderr.count("equals the reference") == 2
    pages = list((tmp_path / "pages").iterdir())
    assert len(pages) == 2 and all(b"<html" in p.read_bytes()[:1000] for p in pages)


def test_errors_of_runs_arrive_with_their_results():
    script(
        """
        slow = jax.jit(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))
        y = slow(10**9)
        z = y + 1
        for bad in (y, z):
            try:
                bad.block_until_ready()
            except jax.errors.JaxRuntimeError as e:
                assert "SIM-STEPS" in str(e) and "GLIA_MAX_STEPS" in str(e), e
            else:
                assert False
        assert int(slow(3)) == 3
        """,
        GLIA_MAX_STEPS="2000",
    )


def test_compiled_programs_are_found_again(tmp_path):
    text = """
        import jax._src.monitoring as m
        hits = []
        m.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
        f = jax.jit(lambda x: jnp.tanh(x @ x), donate_argnums=0)
        x = jax.device_put(np.eye(4, dtype=np.float32))
        print(len(hits), f(x)[0, 0], x.is_deleted(), len(hits))
        """
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    first = script(text, **cache).stdout.split()
    assert first[2] == "True" and first[3] == "0"
    key = Path(os.environ["XDG_STATE_HOME"], "glia", "seal.key")
    assert key.stat().st_mode & 0o777 == 0o600
    for how in (
        {},
        {"GLIA_PROVE_AGAIN": "1"},
        {"XDG_STATE_HOME": str(tmp_path / "nobody")},
    ):  # believed, or proved again
        again = script(text, **cache, **how).stdout.split()
        assert again[1:3] == first[1:3] and again[3] != "0"


def test_a_forked_child_is_told():
    done = script(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        x = jnp.ones(3) + 1
        f = jax.jit(lambda x: x * 2)
        f(x).block_until_ready()
        child = os.fork()
        if child == 0:
            try:
                f(x)
            except Exception as e:
                print("PJRT-FORK" in str(e), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        assert f(x).tolist() == [4, 4, 4]
        """
    )
    assert done.stdout.strip() == "True"


def test_an_interrupt_ends_a_long_run():
    env = {**os.environ, "PYTHONPATH": PACKAGES, "JAX_PLATFORMS": "glia", "GLIA_MAX_STEPS": "0"}
    code = """
import jax, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
y = jax.jit(lambda n: jax.lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(2**31 - 1)
print("runs", flush=True)
y.block_until_ready()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "runs\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=300)
    assert child.returncode != 0 and "KeyboardInterrupt" in said
