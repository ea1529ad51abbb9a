"""What the vendor's simulator says about itself that it does not do, or has done wrong: each limit has a test here that shows the
program doing what the device does, or the error that the device or its compiler would give."""

import inspect
import re

import glia
import ml_dtypes
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

RNG = np.random.default_rng(5)
X = RNG.standard_normal((128, 64)).astype(np.float32)


def tile(shape=(128, 64), dtype=nl.float32, buffer=nl.sbuf, **where):
    return nl.ndarray(shape, dtype, buffer=buffer, **where)


def stored(t):
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def line_of(function, text):
    lines, first = inspect.getsourcelines(getattr(function, "func", function))
    return first + next(n for n, line in enumerate(lines) if text in line)


def run(body, *arrays, target="trn2"):
    """body(tiles) -> a tile."""
    return nki.jit(lambda *xs: stored(body(*(nl.load(x) for x in xs))), target=target)(*arrays)


# ---- 1. Capacity, and addresses that overlap


def too_many_tiles(x):
    first = nl.ndarray((128, 30000), nl.float32)  # 120,000 bytes
    second = nl.ndarray((128, 30000), nl.float32)  # and as many again
    nisa.memset(first, value=1.0)
    nisa.memset(second, value=2.0)
    nisa.tensor_tensor(dst=first, data1=first, data2=second, op=nl.add)
    return stored(first)


def test_sbuf_is_full_and_the_error_says_of_what(fails):
    (d,) = fails(nki.jit(too_many_tiles), X)
    assert (d.code, d.value, d.limit) == ("KERNEL-MEMORY", "240000", "212984") and "kernel too_many_tiles" in d.context
    lines = [line_of(too_many_tiles, "first = nl"), line_of(too_many_tiles, "second = nl")]
    assert d.file == __file__ and d.line == lines[0]
    for note, line, name in zip(d.notes, lines, ("first", "second"), strict=True):
        assert "120000 bytes" in note and f"{__file__}:{line}" in note and f"`{name}`" in note
    assert (nki.jit(too_many_tiles, target="trn3")(X) == 3).all()  # it has 245,752 bytes


def too_many_banks(x):
    t = nl.load(x)
    banks = [nl.ndarray((64, 512), nl.float32, buffer=nl.psum) for _ in range(9)]
    for b in banks:
        nisa.nc_matmul(dst=b[:, 0:64], stationary=t, moving=t)
    total = nl.copy(banks[0][:, 0:64])
    for b in banks[1:]:
        nisa.tensor_tensor(dst=total, data1=total, data2=b[:, 0:64], op=nl.add)
    return stored(total)


def test_psum_is_full(fails):
    (d,) = fails(nki.jit(too_many_banks), X)
    assert (d.code, d.value, d.limit) == ("KERNEL-MEMORY", str(9 * 2048), str(8 * 2048))
    assert len(d.notes) == 9 and d.line == line_of(too_many_banks, "banks = ")


def test_tiles_at_one_address_are_one_memory():
    @nki.jit
    def ring(x):
        """A ring of two places used as if it had three: tile 2 lands on tile 0, which is read afterwards."""
        tiles = [tile((128, 16), address=(0, 64 * (n % 2))) for n in range(3)]
        for n, t in enumerate(tiles):
            nisa.dma_copy(dst=t, src=x[:, n * 16 : n * 16 + 16])
        return stored(tiles[0])

    np.testing.assert_array_equal(ring(X), X[:, 32:48])


def test_overlap_of_different_types_is_seen_as_bytes():
    @nki.jit
    def halves(x):
        words = tile((128, 64), address=(0, 0))
        low = tile((128, 128), nl.uint16, address=(0, 0))
        nisa.dma_copy(dst=words, src=x)
        nisa.memset(low[:, 0:128:2], value=0)  # the lower half of each word
        return stored(words)

    np.testing.assert_array_equal(halves(X), (X.view(np.uint32) & 0xFFFF0000).view(np.float32))


# ---- 2. Time, engines at once, order


@nki.jit
def chained(x, y):
    out = nl.ndarray((1024, 512), nl.float32, buffer=nl.shared_hbm)
    for n in range(8):
        a, b = nl.load(x[n * 128 : n * 128 + 128]), nl.load(y[n * 128 : n * 128 + 128])
        nisa.activation(dst=a, op=nl.exp, data=a)
        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.multiply)
        nl.store(out[n * 128 : n * 128 + 128], a)
    return out


def test_time_is_predicted_and_engines_overlap():
    big = [RNG.standard_normal((1024, 512)).astype(np.float32) for _ in range(2)]
    exe = glia.compile(chained, *big)
    profile = exe.profile()
    busy = {lane.name: lane.busy for lane in profile.lanes}
    assert 0 < exe.time() == profile.total
    assert max(busy.values()) <= profile.total < sum(busy.values())  # some of it happens at the same time
    np.testing.assert_allclose(exe.run(*big), np.exp(big[0]) * big[1], rtol=1e-5)


def test_no_order_that_is_allowed_changes_the_result():
    big = [RNG.standard_normal((1024, 512)).astype(np.float32) for _ in range(2)]
    exe = glia.compile(chained, *big)
    want = exe.run(*big).tobytes()
    inputs = dict(zip(("x", "y"), big))
    for seed in range(5):
        (got,) = exe.program.run(inputs, strict=True, seed=seed).values()
        assert got.tobytes() == want


def test_a_missing_dependency_is_found():
    text = glia.compile(chained, *[np.zeros((1024, 512), np.float32)] * 2).program.disassemble()
    waits = [m for m in re.finditer(r"^\s*(?:vector|scalar) .*?( when [^\n]*?)(?= then |$)", text, re.M)]
    assert len(waits) >= 8
    found = set()
    for m in waits[:8]:  # without it, the instruction does not wait for its operands
        broken = text[: m.start(1)] + text[m.end(1) :]
        verdict = glia.assemble(broken, target="trn2").verify()
        assert not verdict.ok
        found |= {d.code for d in verdict.diagnostics}
    assert "RACE" in found or "UNDEFINED-READ" in found, found


# ---- 3. Size


def test_rows_of_4096_and_more():
    x = RNG.standard_normal((1024, 4096)).astype(np.float32)

    @nki.jit
    def softmax(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for n in range(8):
            nl.store(out[n * 128 : n * 128 + 128], nl.softmax(nl.load(x[n * 128 : n * 128 + 128])))
        return out

    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(softmax(x), e / e.sum(axis=1, keepdims=True), rtol=1e-5)


# ---- 4. Collectives: of more ranks than run the kernel, said at the line


def reduces(x):
    ncc.all_reduce([x], [x], ncc.ReplicaGroup([[0, 1]]), nl.add)


def test_collectives_of_more_ranks_are_refused_where_they_are_called(fails):
    (d,) = fails(nki.jit(reduces), X)
    assert (d.code, d.file, d.line) == ("NKI-COLLECTIVE", __file__, line_of(reduces, "all_reduce"))
    assert "ranks=2" in d.advice


# ---- 5. and 6. What NumPy would accept and the hardware does not


def broadcasts(x):
    t, u = nl.load(x), tile()
    nisa.tensor_tensor(dst=u, data1=t, data2=t[0:1], op=nl.add)  # SAME-SHAPE
    return stored(u)


def moves_partitions(x):
    t, u = nl.load(x), tile((64, 128))
    nisa.tensor_copy(dst=u, src=t.reshape((64, 128)))  # NKI-SHAPE
    return stored(u)


def writes_to_a_copy(x):
    t, u = nl.load(x), tile((64, 128))
    nisa.tensor_copy(dst=u.reshape((128, 64)), src=t)  # NKI-SHAPE
    return stored(u)


def starts_anywhere(x):
    t, u = nl.load(x), tile()
    nisa.tensor_copy(dst=u[5:37], src=t[0:32])  # PARTITION-START
    return stored(t)


def reads_psum_by_dma(x):
    t, p = nl.load(x), tile((64, 64), buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=t, moving=t)
    out = nl.ndarray((64, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=p)  # ENGINE-REACH
    return out


def mixes_types(x):
    t, p = nl.load(x), tile((64, 64), buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=t, moving=nl.copy(t, dtype=nl.bfloat16))  # MATMUL-DTYPE
    return stored(nl.copy(p))


def crosses_a_bank(x):
    t, p = nl.load(x), tile((64, 1024), buffer=nl.psum)
    nisa.nc_matmul(dst=p[:, 480:544], stationary=t, moving=t)  # PSUM-ONE-BANK
    return stored(nl.copy(p[:, 480:544]))


REFUSED = [
    broadcasts,
    moves_partitions,
    writes_to_a_copy,
    starts_anywhere,
    reads_psum_by_dma,
    mixes_types,
    crosses_a_bank,
]


@pytest.mark.parametrize("kernel", REFUSED)
def test_what_the_hardware_refuses_is_refused(fails, kernel):
    lines, first = inspect.getsourcelines(kernel)
    n, code = next((n, text.split("  # ")[1].strip()) for n, text in enumerate(lines) if "  # " in text)
    assert {(d.code, d.file, d.line) for d in fails(nki.jit(kernel), X)} == {(code, __file__, first + n)}


def test_the_language_moves_and_broadcasts_with_legal_instructions():
    np.testing.assert_array_equal(run(lambda t: nl.add(t.reshape((64, 128)), 1.0), X), X.reshape(64, 128) + 1)
    np.testing.assert_array_equal(run(lambda t: nl.copy(t.reshape((32, 256))), X), X.reshape(32, 256))
    np.testing.assert_array_equal(run(lambda t: nl.add(t, t[0:1]), X), X + X[0:1])


# ---- 7. Numbers


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_fp32_to_integers_rounds_to_even_and_saturates(target):
    values = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3e9, -3e9, 1e20, -1e20, 127.5, 128.4, -128.6, 65535.7, 2**31], np.float32
    )
    x = np.tile(values, (128, 1))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        info = np.iinfo(dtype)
        want = np.clip(np.rint(x.astype(np.float64)), info.min, info.max).astype(dtype)
        np.testing.assert_array_equal(
            run(lambda t, d=dtype: nl.copy(t, dtype=np.dtype(d).name), x, target=target), want
        )


TIES = np.tile(np.array([3, 1, 3, 2, 3, 0, 2, 1, 3, 5, 5, 4], np.float32), (128, 1))
WANTED = np.tile(np.array([5, 5, 4, 3, 3, 3, 2, 7], np.float32), (128, 1))


def test_find_index8_gives_equal_values_successive_places():
    def body(data, vals):
        places = tile((128, 8), nl.uint32)
        nisa.nc_find_index8(dst=places, data=data, vals=vals)
        return places

    want = np.tile(np.array([9, 10, 11, 0, 2, 4, 3, 0xFFFFFFFF], np.uint32), (128, 1))
    np.testing.assert_array_equal(run(body, TIES, WANTED), want)


def test_match_replace8_replaces_each_place_once():
    def body(data, vals):
        replaced = tile((128, 12))
        places = tile((128, 8), nl.uint32)
        nisa.nc_match_replace8(dst=replaced, data=data, vals=vals, imm=-1.0, dst_idx=places)
        both = tile((128, 20))
        nisa.tensor_copy(dst=both[:, 0:12], src=replaced)
        nisa.tensor_copy(dst=both[:, 12:19], src=places[:, 0:7])
        nisa.memset(both[:, 19:20], value=0.0)
        return both

    got = run(body, TIES, WANTED)
    np.testing.assert_array_equal(got[0, :12], [-1, 1, -1, -1, -1, 0, 2, 1, 3, -1, -1, -1])
    np.testing.assert_array_equal(
        got[0, 12:19], [10, 9, 11, 4, 2, 0, 3]
    )  # the last of equal values gets the first place
    assert (got == got[0]).all()


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_overlapping_products_accumulate_element_by_element(target):
    """A convolution by shifts: the windows overlap in PSUM, and each element is overwritten once and then added to."""

    def body(x, w):
        psum = tile((64, 96), buffer=nl.psum)
        for shift in (0, 16, 32):
            nisa.nc_matmul(dst=psum[:, shift : shift + 64], stationary=w, moving=x)
        return nl.copy(psum)

    x, w = RNG.integers(-4, 4, (128, 64)).astype(np.float32), RNG.integers(-4, 4, (128, 64)).astype(np.float32)
    product = w.T @ x
    want = np.zeros((64, 96), np.float32)
    for shift in (0, 16, 32):
        want[:, shift : shift + 64] += product
    np.testing.assert_array_equal(run(body, x, w, target=target), want)


def test_stream_shuffle_255_leaves_a_partition_alone():
    mask = [255 if n % 3 else 31 - n for n in range(32)]

    def body(a, b):
        nisa.nc_stream_shuffle(dst=b, src=a, shuffle_mask=mask)
        return b

    y = RNG.standard_normal((128, 64)).astype(np.float32)
    want = y.copy()
    for quadrant in range(0, 128, 32):
        for n, m in enumerate(mask):
            if m != 255:
                want[quadrant + n] = X[quadrant + m]
    np.testing.assert_array_equal(run(body, X, y), want)


@pytest.mark.parametrize("each", [1, 2, 4])
def test_local_gather_takes_runs_of_elements(each):
    """num_elem_per_idx elements from each offset; indices go down the 16 partitions of a group, column by column."""
    index = (RNG.integers(0, 64 // each, (128, 2)) * each).astype(np.uint16)

    def body(t, i):
        out = tile((128, 32 * each))
        nisa.local_gather(dst=out, src_buffer=t, index=i, num_elem_per_idx=each)
        return out

    want = np.empty((128, 32 * each), np.float32)
    for group in range(0, 128, 16):
        places = (index[group : group + 16].T.reshape(-1)[:, None] + np.arange(each)).reshape(-1)
        want[group : group + 16] = X[group : group + 16][:, places]
    np.testing.assert_array_equal(run(body, X, index), want)


def test_the_engines_sine_has_its_range_and_nl_sin_has_none():
    x = np.tile(np.array([0.5, -3.0, 9.0, -9.0], np.float32), (128, 1))

    def engine(t):
        out = tile(t.shape)
        nisa.activation(dst=out, op=nl.sin, data=t)
        return out

    got = run(engine, x)
    np.testing.assert_allclose(got[:, :2], np.sin(x[:, :2]), rtol=1e-6)
    np.testing.assert_allclose(
        got[:, 2:], np.tile([27.65, -27.65], (128, 1)), rtol=1e-3
    )  # as documented, no sine at all
    np.testing.assert_allclose(run(nl.sin, x), np.sin(x.astype(np.float64)), rtol=1e-6)


def test_mx_is_refused_by_name(fails):
    def quantizes(x):
        nisa.quantize_mx(dst=x, src=x, dst_scale=x)

    (d,) = fails(nki.jit(quantizes), X)
    assert d.file == __file__ and d.line == line_of(quantizes, "quantize_mx") and "quantize_mx" in d.message


# ---- 8. and 10. Memory that nobody has written


@pytest.mark.parametrize("dtype", [nl.int8, nl.int32, nl.uint16, nl.float8_e4m3, nl.bfloat16, nl.float32])
def test_undefined_data_does_not_reach_an_output(fails, dtype):
    def undefined(x):
        t = tile((128, 64), dtype)
        nisa.memset(t[:, 0:63], value=0)  # all but one column
        u = tile((128, 64))
        nisa.tensor_copy(dst=u, src=t)
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=u)
        return out

    (d,) = fails(nki.jit(undefined), X)
    assert (d.code, d.file, d.line) == ("UNDEFINED-OUTPUT", __file__, line_of(undefined, "t = tile"))


def test_accumulating_onto_nothing_is_refused(fails):
    def onto_nothing(x):
        t, p = nl.load(x), tile((64, 64), buffer=nl.psum)
        nisa.nc_matmul(dst=p, stationary=t, moving=t, accumulate=True)
        return stored(nl.copy(p))

    (d,) = fails(nki.jit(onto_nothing), X)
    assert (d.code, d.line) == ("PSUM-ACCUMULATE", line_of(onto_nothing, "nc_matmul"))


# ---- 9. NKI_SIMULATOR is the same path


def test_the_simulator_switch_changes_nothing(monkeypatch):
    double = nki.jit(lambda x: stored(nl.add(nl.load(x), nl.load(x))))
    want = double(X)
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    np.testing.assert_array_equal(double(X), want)
    np.testing.assert_array_equal(nki.simulate(double)(X), want)
    np.testing.assert_array_equal(nki.cpu_simulate(double)(X), want)


# ---- 11. Two cores


def lonely(x):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    me, t = nl.program_id(0), nl.load(x)
    if me == 0:
        nisa.core_barrier(out, (0, 1))  # the other core does not come
    nisa.dma_copy(dst=out[me * 64 : me * 64 + 64], src=t[me * 64 : me * 64 + 64])
    return out


def both_write(x):
    t = nl.load(x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=float(nl.program_id(0) + 1))
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)  # both cores, to one place
    return out


@pytest.mark.parametrize(
    "kernel,code,text", [(lonely, "BARRIER-PAIR", "core_barrier"), (both_write, "RACE", "dst=out")]
)
def test_cores_that_diverge_or_race_are_refused_and_do_not_hang(fails, kernel, code, text):
    found = fails(nki.jit(kernel)[2], X)
    assert (found[0].code, found[0].file, found[0].line) == (code, __file__, line_of(kernel, text))


def test_two_cores_give_the_same_every_time():
    @nki.jit
    def swapped(x):
        me = nl.program_id(0)
        mine, other = nl.load(x[me * 64 : me * 64 + 64]), tile((64, 64))
        nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[me * 64 : me * 64 + 64], src=other)
        return out

    exe = glia.compile(swapped[2], X)
    want = np.concatenate([X[64:], X[:64]])
    for seed in range(6):
        (got,) = exe.program.run({"x": X}, strict=True, seed=seed).values()
        np.testing.assert_array_equal(got, want)


# ---- 12. The limits are those of the target


def wide_product(x):
    t, wide = nl.load(x), tile((128, 1024))
    nisa.memset(wide, value=1.0)
    p = tile((64, 1024), buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=t, moving=wide)
    return stored(nl.copy(p))


def large_tile(x):
    t = nl.ndarray((128, 60000), nl.float32)
    nisa.memset(t, value=1.0)
    return stored(t[:, 0:8])


@pytest.mark.parametrize(
    "kernel,code,text",
    [(wide_product, "MATMUL-SHAPE", "nc_matmul"), (large_tile, "ALLOC-BOUNDS", "60000")],
)
def test_what_only_trn3_takes_is_refused_for_trn2(fails, kernel, code, text):
    nki.jit(kernel, target="trn3")(X)
    for target in (None, "trn2", "trn1"):  # the default is trn2, whatever device there is
        found = fails(nki.jit(kernel, target=target), X)
        assert (found[0].code, found[0].line) == (code, line_of(kernel, text))


def test_fp8_and_bf16_are_stored_as_such():
    x = RNG.standard_normal((128, 64)).astype(np.float32)
    for dtype, kind in ((nl.bfloat16, ml_dtypes.bfloat16), (nl.float8_e5m2, ml_dtypes.float8_e5m2)):
        got = run(lambda t, d=dtype: nl.copy(nl.copy(t, dtype=d), dtype=nl.float32), x)
        np.testing.assert_array_equal(got, x.astype(kind).astype(np.float32))
