"""glia.compile: functions of kernels as one linked program, against NumPy and against the kernels called one by one. Every program is
proved, and run strict under several orders."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from small_kernels import add, double

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

RNG = np.random.default_rng(7)
X = RNG.standard_normal((128, 32)).astype(np.float32)
Y = RNG.standard_normal((128, 32)).astype(np.float32)


@nki.jit
def tanh(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.tanh(nl.load(x)))
    return out


@nki.jit
def gelu(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.gelu(nl.load(x)))
    return out


@nki.jit
def gram(x, y):
    """(x' y)' x' ... enough of the Tensor engine and PSUM: x (y' x) / 128."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    a, b = nl.load(x), nl.load(y)
    acc = nl.ndarray((32, 32), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=b, moving=a)
    m = nl.ndarray((32, 32), nl.float32)
    nisa.tensor_scalar(dst=m, data=acc, op0=nl.multiply, operand0=1 / 128)
    turned = nl.ndarray((32, 128), nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=a, engine=nisa.tensor_engine)
    left = nl.copy(turned)
    result = nl.ndarray((128, 32), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=result, stationary=left, moving=m)
    nl.store(out, nl.copy(result))
    return out


@nki.jit
def large(x):
    """More than half of SBUF."""
    t = nl.ndarray((128, 30000), nl.float32)
    nisa.memset(dst=t, value=1.0)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), t[:, 29968:30000]))
    return out


@nki.jit
def shifted(x, n):
    """x + n by a loop whose count is data, with a transfer in each turn."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    keep = nl.ndarray((128, 32), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=keep, src=x)
    for _ in nl.dynamic_range(nisa.register_alloc(n)):
        t = nl.load(keep)
        nl.store(keep, nl.add(t, 1.0))
    nisa.dma_copy(dst=out, src=keep)
    return out


@nki.jit
def halves(x):
    """Each core doubles its half and gives it to the other one through shared memory."""
    me = nl.program_id(0)
    shared = nl.ndarray((128, 32), nl.float32, buffer=nl.shared_hbm)
    out = nl.ndarray((128, 32), nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[me * 64 : me * 64 + 64])
    nisa.dma_copy(dst=shared[me * 64 : me * 64 + 64], src=nl.add(t, t))
    nisa.core_barrier(shared, (0, 1))
    nl.store(out[me * 64 : me * 64 + 64], nl.load(shared[(1 - me) * 64 : (1 - me) * 64 + 64]))
    return out


@nki.jit
def exchanged(x):
    """The cores swap halves with sendrecv and add 1."""
    me = nl.program_id(0)
    out = nl.ndarray((128, 32), nl.float32, buffer=nl.shared_hbm)
    mine, other = nl.load(x[me * 64 : me * 64 + 64]), nl.ndarray((64, 32), nl.float32)
    nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    nl.store(out[me * 64 : me * 64 + 64], nl.add(other, 1.0))
    return out


@nki.jit
def accumulate(total, x):
    """Updates its first argument."""
    nl.store(total, nl.add(nl.load(total), nl.load(x)))
    return total


def swap(x):
    return np.concatenate([x[64:], x[:64]])


def check(function, *args, target="trn2"):
    """Compiles, proves, and runs fast and strict; returns the executable and its results."""
    exe = glia.compile(function, *args, target=target)
    assert exe.verify().ok, str(exe.verify())
    result = exe.run(*args)
    inputs = {name: a for (name, *_), a in zip(exe._inputs, args)}
    fast = exe.program.run(inputs, verify=False)
    for seed in (1, 2, 3):
        strict = exe.program.run(inputs, strict=True, seed=seed, verify=False)
        for name, array in fast.items():
            np.testing.assert_array_equal(array, strict[name])
    return exe, result


@pytest.mark.parametrize("calls", [1, 2, 3, 40])
def test_one_kernel_many_times(calls):
    def f(x):
        for _ in range(calls):
            x = double(x)
        return x

    exe, y = check(f, X)
    np.testing.assert_array_equal(y, X * np.float32(2.0**calls))
    assert len(exe.contracts()) == 1 and exe.contracts()[0]["kernel"] == "double"


def test_a_diamond_and_results_in_a_structure():
    def f(x, y):
        a, b = double(x), tanh(y)
        c = add(a, b)
        return {"sum": c, "parts": (a, [gelu(c), x])}

    _, r = check(f, X, Y)
    np.testing.assert_array_equal(r["sum"], add(X + X, tanh(Y)))
    np.testing.assert_allclose(r["sum"], X + X + np.tanh(Y), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(r["parts"][0], X + X)
    np.testing.assert_array_equal(r["parts"][1][0], gelu(r["sum"]))
    assert r["parts"][1][1] is X


def test_tables_are_not_loaded_again():
    def f(x):
        for _ in range(40):
            x = tanh(x)
        return x

    exe, y = check(f, X)
    expected = X
    for _ in range(40):
        expected = np.tanh(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert exe.program.disassemble().count("act_table_load") == 1


def test_two_kernels_taking_turns_load_tables_when_they_must():
    exe, y = check(lambda x: tanh(gelu(gelu(tanh(tanh(x))))), X)
    np.testing.assert_array_equal(y, tanh(gelu(gelu(tanh(tanh(X))))))
    assert exe.program.disassemble().count("act_table_load") == 3


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_all_engines_on_every_target(target):
    def f(x, y):
        for _ in range(3):
            x, y = gram(x, y), add(tanh(x), gelu(y))
        return x, double(y)

    _, (a, b) = check(f, X, Y, target=target)
    x, y = X, Y
    for _ in range(3):
        x, y = x @ (y.T @ x) / 128, np.tanh(x) + gelu(y)
    np.testing.assert_allclose(a, x, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(b, y + y, rtol=1e-3, atol=1e-4)


def test_kernels_too_large_for_half_of_the_memory():
    _, y = check(lambda x: double(large(large(double(double(large(x)))))), X)
    np.testing.assert_array_equal(y, (((X + 1) * 4 + 1) + 1) * 2)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_loops_whose_count_is_data(n):
    count = np.array([[n]], np.int32)
    _, y = check(lambda x, n: double(shifted(double(shifted(shifted(x, n), n)), n)), X, count)
    expected = X
    for step in range(4):
        if step == 2:
            expected = expected + expected
        else:
            for _ in range(n):
                expected = expected + np.float32(1)
    np.testing.assert_array_equal(y, expected + expected)


@pytest.mark.parametrize("calls", [1, 2, 3, 40])
def test_two_cores_any_number_of_calls(calls):
    def f(x):
        for _ in range(calls):
            x = exchanged[2](x)
        return x

    exe, y = check(f, X)
    expected = X
    for _ in range(calls):
        expected = swap(expected) + np.float32(1)
    np.testing.assert_array_equal(y, expected)
    assert exe.program.cores == 2


def test_one_core_and_two_cores_in_one_program():
    _, y = check(lambda x: double(exchanged[2](halves[2](double(halves[2](x))))), X)
    np.testing.assert_array_equal(y, 2 * (swap(2 * swap(2 * swap(2 * X))) + 1))


def test_arguments_that_are_updated():
    def f(total, x):
        accumulate(total, x)
        y = double(total)
        accumulate(total, y)
        return y

    total = Y.copy()
    exe = glia.compile(f, total, X)
    assert exe.verify().ok
    y = exe.run(total, X)
    np.testing.assert_array_equal(y, (Y + X) + (Y + X))
    np.testing.assert_array_equal(total, (Y + X) + y)


def test_constants_are_in_the_program():
    exe, y = check(lambda x: add(add(x, Y), Y), X)
    np.testing.assert_array_equal(y, X + Y + Y)
    assert sum(t.kind == "constant" for t in exe.program.tensors) == 1


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs(seed, target, monkeypatch):
    """The linked program gives the bytes that the same calls give one by one."""
    ones = [double, tanh, gelu, large]
    if target != "trn1":
        ones += [halves[2], exchanged[2]]
    twos = [add, gram]
    rng = np.random.default_rng(seed)
    steps = [(rng.random() < 0.4, int(rng.integers(99)), *rng.random(2)) for _ in range(14)]

    def f(x, y):
        made = [x, y]
        for both, k, a, b in steps:
            p, q = made[int(a * len(made))], made[int(b * len(made))]
            made.append(twos[k % 2](p, q) if both else ones[k % len(ones)](p))
        return made[-1], made[-3]

    x, y = X * np.float32(0.1), Y * np.float32(0.1)
    _, linked = check(f, x, y, target=target)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    for a, b in zip(linked, f(x, y)):
        np.testing.assert_array_equal(a, b)


def test_profile_time_save(tmp_path):
    exe = glia.compile(lambda x: double(tanh(x)), X)
    assert exe.time() > 0
    assert exe.profile().total == pytest.approx(exe.time())
    assert "tanh" in exe.profile().summary() or "tanh" in exe.profile().html()
    exe.save(tmp_path / "p.glia")
    y = glia.load(tmp_path / "p.glia").run({"x": X})
    (only,) = y.values()
    np.testing.assert_array_equal(only, exe.run(X))


def test_calls_overlap():
    def many(x, y):
        return [add(double(x), y), add(double(y), x)], [tanh(x), tanh(y)]

    alone = sum(glia.compile(k, *args).time() for k, args in [(add, (X, Y)), (double, (X,)), (tanh, (X,))]) * 2
    assert glia.compile(many, X, Y).time() < alone


def test_kernels_for_other_targets_are_refused(fails):
    found = fails(glia.compile, lambda x: double(nki.jit(halves.func, target="trn2")[2](x)), X, target="trn1")
    assert found[0].code in ("GRAPH-TARGET", "LINK-TARGET")
    other = glia._glia.assemble("sync nop\n", "trn2", "other.gasm")
    with pytest.raises(glia.Error, match="LINK-TARGET"):
        glia._glia.link("trn1", [other])


def test_more_tables_than_a_program_may_use(fails):
    def kernel(fn):
        def k(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            nl.store(out, fn(nl.load(x)))
            return out

        k.__name__ = f"use_{fn.__name__}"
        return nki.jit(k)

    fns = [nl.exp, nl.gelu, nl.tanh, nl.softplus, nl.mish, nl.erf, nl.sin, nl.arctan, nl.sqrt]
    kernels = [kernel(fn) for fn in fns]

    def model(x, count):
        for k in kernels[:count]:
            x = k(x)  # the call
        return x

    assert glia.compile(model, X, 8).verify().ok
    (found,) = fails(glia.compile, model, X, 9)
    assert found.code == "LINK-TABLES" and (found.value, found.limit) == ("9", "8")
    assert "`use_sin`" in found.message and any("`use_mish`" in n for n in found.notes)
    with open(__file__) as f:
        line = 1 + next(n for n, text in enumerate(f) if "# the call" in text)
    assert (found.file, found.line) == (__file__, line)


def test_objects_have_files_of_their_own(tmp_path):
    from glia.nki.runtime import object_of

    object_of(tanh.trace(X)).save(str(tmp_path / "tanh.glia"))
    loaded = glia._glia.load(str(tmp_path / "tanh.glia"))
    assert loaded.contract == object_of(tanh.trace(X)).contract
    assert loaded.contract["core0.tables"] == loaded.contract["core0.tables.leaves"] == "tanh"
    twice = glia.Program(glia._glia.link("trn2", [loaded, loaded]))
    assert twice.verify().ok
    outputs = twice.run({"x": X, "x_1": Y})
    np.testing.assert_array_equal(outputs["out"], tanh(X))
    np.testing.assert_array_equal(outputs["out_1"], tanh(Y))


def test_shapes_are_checked_when_it_runs(fails):
    exe = glia.compile(double, X)
    assert fails(exe.run, X[:64])[0].code == "GRAPH-ARGUMENT"
    assert fails(exe.run, X, X)[0].code == "GRAPH-ARGUMENT"


@nki.jit
def product(a, b):
    """Every tile is loaded anew for each product: the Tensor engine waits for more transfers than there are semaphores."""
    out = nl.ndarray((a.shape[1], b.shape[1]), a.dtype, buffer=nl.shared_hbm)
    for m in range(0, a.shape[1], 128):
        for n in range(0, b.shape[1], 512):
            acc = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
            for k in range(0, a.shape[0], 128):
                x, y = nl.ndarray((128, 128), a.dtype), nl.ndarray((128, 512), b.dtype)
                nisa.dma_copy(x, a[k : k + 128, m : m + 128])
                nisa.dma_copy(y, b[k : k + 128, n : n + 512])
                nisa.nc_matmul(acc, x, y)
            t = nl.ndarray((128, 512), a.dtype)
            nisa.tensor_copy(t, acc)
            nisa.dma_copy(out[m : m + 128, n : n + 512], t)
    return out


def test_one_engine_does_not_take_all_semaphores():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (1024, 1024)), rng.integers(-3, 4, (1024, 1024))
    actual = product(a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_array_equal(actual, a.T.astype(np.float64) @ b.astype(np.float64))  # exact, and not slow
