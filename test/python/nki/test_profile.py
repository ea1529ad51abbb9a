"""Where the time of a kernel goes: lines, critical path, waits, memory, other machines, two versions."""

import inspect
import itertools

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

ROWS = 128


@nki.jit
def one_buffer(x):
    """A tile that fills most of SBUF: each load waits until the multiplication before it is done."""
    n, m = x.shape
    out = nl.ndarray((n, m), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((ROWS, m), dtype=x.dtype, buffer=nl.sbuf)
    for i in range(n // ROWS):
        nisa.dma_copy(dst=tile, src=x[i * ROWS : (i + 1) * ROWS, :])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[i * ROWS : (i + 1) * ROWS, :], src=tile)
    return out


@nki.jit
def many_buffers(x):
    n, m = x.shape
    out = nl.ndarray((n, m), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(n // ROWS):
        for j in range(8):
            part = slice(j * (m // 8), (j + 1) * (m // 8))
            tile = nl.load(x[i * ROWS : (i + 1) * ROWS, part])
            twice = nl.multiply(tile, 2.0)
            nl.store(out[i * ROWS : (i + 1) * ROWS, part], twice)
    return out


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).standard_normal((512, 40_000), np.float32)


@pytest.fixture(scope="module")
def profile(x):
    return glia.compile(one_buffer, x, target="trn2").profile()


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.func)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_the_critical_path_is_the_total(profile):
    path = profile.critical_path
    for step, following in itertools.pairwise(path):
        assert step.start + step.work + step.latency == pytest.approx(following.start, abs=1e-3)
    assert path[-1].start + path[-1].work + path[-1].latency == pytest.approx(profile.total, abs=1e-3)
    assert path[0].start < 200
    assert sum(line.critical for line in profile.lines) == pytest.approx(profile.total - path[0].start, abs=1e-2)


@pytest.mark.parametrize("rows", ["lines", "operations", "kernels"])
def test_rows_add_up_to_the_lanes(profile, rows):
    lanes, places = profile.lanes, getattr(profile, rows)
    for engine in ("tensor", "vector", "scalar", "gpsimd", "sync"):
        busy = sum(lane.busy for lane in lanes if lane.name == f"core 0 {engine}")
        assert sum(getattr(place, engine) for place in places) == pytest.approx(busy, abs=1e-2)
    queues = [lane for lane in lanes if " queue " in lane.name]
    assert sum(place.bytes for place in places) == sum(lane.bytes for lane in queues) == 2 * 512 * 40_000 * 4
    assert sum(place.transfers for place in places) == pytest.approx(sum(lane.busy for lane in queues), abs=1e-2)


def test_lines_are_those_of_the_source(profile):
    lines = {line.line: line for line in profile.lines}
    multiply = lines[line_of(one_buffer, "tensor_scalar")]
    assert multiply.file.endswith("test_profile.py") and multiply.bytes == 0
    assert multiply.vector + multiply.scalar + multiply.gpsimd > 0
    assert lines[line_of(one_buffer, "dst=tile, src")].bytes == 512 * 40_000 * 4


def stages(places, rounds=8):
    """GpSimd fills a tile, Scalar doubles it to the output, `places` tiles in turn."""
    b = glia.Builder("trn2")
    tiles = [b.sbuf(f"t{i}", "f32", (128, 512), at=2048 * i) for i in range(places)]
    results = b.sbuf("results", "f32", (128, 512 * rounds), at=2048 * places)
    y = b.output("y", "f32", (128, 512 * rounds))
    filled, doubled, q = b.semaphore("filled"), b.semaphore("doubled"), b.queue("q")
    for i in range(rounds):
        tile = tiles[i % places]
        b.origin("stages", "fill", "stages.py", 10)
        b.emit("gpsimd", "memset", dst=tile, value=float(i), when=[(doubled, i + 1 - places)] if i >= places else [],
               then=[(filled, 1)])  # fmt: skip
        b.origin("stages", "double", "stages.py", 11)
        part = results[:, 512 * i : 512 * (i + 1)]
        b.emit("scalar", "tensor_scalar", dst=part, data=tile, op0="multiply", operand0=2.0, when=[(filled, i + 1)],
               then=[(doubled, 1)])  # fmt: skip
    b.origin("stages", "store", "stages.py", 12)
    b.emit("sync", "dma_copy", dst=y, src=results, queue=q, when=[(doubled, rounds)])
    program = b.finish()
    assert program.verify().ok, str(program.verify())
    assert (program.run()["y"] == np.repeat(2.0 * np.arange(rounds), 512)).all()
    return program.profile()


def test_a_wait_for_memory_costs_what_more_memory_gains():
    one, two, each = stages(1), stages(2), stages(8)
    reuse = next(wait for wait in one.waits if wait.kind == "buffer reuse")
    assert reuse.tile == "t0" and reuse.count == 7 and reuse.copies == 2
    assert (reuse.place, reuse.awaited) == ("stages.py:10", "stages.py:11")
    assert reuse.gain > 0.2 * one.total
    assert one.total - each.total == pytest.approx(reuse.gain, rel=0.02)
    assert one.total - two.total > 0.7 * reuse.gain
    assert "buffer reuse, until `t0` is free: stages.py:11 (scalar); 2 places for it would do" in one.summary()
    data = next(wait for wait in two.waits if wait.kind == "data" and wait.place == "stages.py:11")
    assert data.awaited == "stages.py:10" and data.tile in ("t0", "t1")


def test_memory_names_what_lies_in_the_peak(profile):
    sbuf = next(memory for memory in profile.memory if memory.space == "SBUF")
    assert all(tile.name.startswith("tile") for tile in sbuf.in_peak)
    assert sbuf.peak == sum(tile.bytes for tile in sbuf.in_peak) <= sbuf.capacity
    tile = sbuf.tiles[0]
    assert tile.bytes == ROWS * 40_000 * 4 and 0 <= tile.start < tile.end <= profile.total


def test_another_machine(profile):
    assert profile.what_if({"dma.fixed_latency": 0}) < profile.total
    assert profile.what_if("clock.vector=0.25x,clock.scalar=0.25x,clock.gpsimd=0.25x") > profile.total
    assert profile.what_if({"clock.vector": "1x"}) == profile.total
    table = profile.sensitivities()
    latency = next(row for row in table if row.key == "dma.fixed_latency")
    assert latency.half < profile.total < latency.twice
    assert latency.half == profile.what_if({"dma.fixed_latency": "0.5x"})


@pytest.mark.parametrize(
    "changes, code, text",
    [
        ("vector.clock=2x", "TARGET-KEY", "clock.vector"),
        ("dma.fixed_latncy=0", "TARGET-KEY", "dma.fixed_latency"),
        ("psum.banks=4x", "TARGET-KEY", "memory.psum_bytes"),
        ("dma.fixed_latency", "TARGET-CHANGE", "KEY=NUMBER"),
        ("dma.fixed_latency=fast", "TARGET-CHANGE", "KEY=NUMBER"),
        ("", "TARGET-CHANGE", "KEY=NUMBER"),
        ("dma.engines=-3", "TARGET-FILE", "dma.engines"),
    ],
)
def test_machines_that_are_none(profile, changes, code, text):
    with pytest.raises(glia.Error) as e:
        profile.what_if(changes)
    assert e.value.diagnostics[0].code == code and text in str(e.value)


def test_two_versions(profile, x):
    better = glia.compile(many_buffers, x, target="trn2").profile()
    text = profile.diff(better)
    assert "x faster" in text and "test_profile.py" in text and "core 0 vector" in text
    assert "x slower" in better.diff(profile)
    assert "no difference in time" in profile.diff(profile)


@nki.jit
def moved_down(x):
    """The same steps as of `scaled_twice`, with one more before the last."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=3.0)
    nisa.activation(dst=t, op=nl.exp, data=t)
    nl.store(out, t)
    return out


@nki.jit
def scaled_twice(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=3.0)
    nl.store(out, t)
    return out


def test_lines_that_moved_are_the_same(x):
    part = x[:128, :512]
    before, after = (glia.compile(k, part, target="trn2").profile() for k in (scaled_twice, moved_down))
    rows = before.diff(after).split("critical path, by line")[1].split("busy")[0]
    added = line_of(moved_down, "nisa.activation(dst=t, op=nl.exp, data=t)")
    assert f":{added}\n" in rows
    load = line_of(moved_down, "t = nl.load(x)")
    assert f":{load}\n" not in rows and f":{line_of(scaled_twice, 't = nl.load(x)')}\n" not in rows


def test_json_and_summary_say_the_same(profile):
    j = profile.to_json()
    assert j["total_ns"] == profile.total
    assert [(line["file"], line["line"], line["critical_ns"]) for line in j["lines"] if "line" in line] == [
        (line.file, line.line, line.critical) for line in profile.lines if line.line
    ]
    assert [wait["gain_ns"] for wait in j["waits"]] == [wait.gain for wait in profile.waits]
    summary = profile.summary()
    assert profile.waits[0].text in summary and "critical path: " in summary and "SBUF of core 0" in summary


def test_without_a_timeline_there_are_totals_only(x):
    exe = glia.compile(one_buffer, x, target="trn2")
    plain = exe.program.profile(timeline=False)
    assert not plain.lines and not plain.waits and not plain.critical_path and not plain.memory
    assert plain.total == exe.profile().total
    assert "longest stalls" in plain.summary()


@nki.jit
def product(a, b):
    m, n = a.shape[1], b.shape[1]
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    sums = nl.zeros((m, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=nl.load(a), moving=nl.load(b))
    nl.store(out, nl.copy(sums))
    return out


def test_roofline():
    k, m, n = 128, 64, 512
    exe = glia.compile(product, np.zeros((k, m), np.float32), np.zeros((k, n), np.float32), target="trn2")
    predicted = exe.profile()
    (whole,) = predicted.roofline.points
    elements = whole.operations - 2 * k * m * n
    assert elements in (m * n, 2 * m * n)  # the copy out of PSUM, and what makes zeros, if it is there
    assert whole.bytes == 4 * (k * m + k * n + m * n) and whole.time == predicted.total
    most = predicted.roofline.roofs
    assert most["Tensor, 16 bits"] == 4 * most["Tensor, 32 bits"] == pytest.approx(2 * 128 * 128 * 2.4e9)
    assert predicted.roofline.bytes_per_second == 725e9
    a, b = np.zeros((128, 128), np.float32), np.zeros((128, 512), np.float32)
    two = glia.compile(lambda a, b: one_buffer(product(a, b)), a, b, target="trn2").profile()
    whole, *kernels = two.roofline.points
    assert {kernel.name for kernel in kernels} == {"product", "one_buffer"}
    assert (
        sum(kernel.operations for kernel in kernels)
        == whole.operations
        == two.to_json()["roofline"]["points"][0]["operations"]
    )


@nki.jit
def across(x):
    out = nl.ndarray((128, 512), x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x.ap([[1, 128], [128, 512]]))
    nl.store(out, tile)
    return out


def test_short_runs_are_proposed_to_be_longer():
    x = np.arange(512 * 128, dtype=np.float32).reshape(512, 128)
    exe = glia.compile(across, x, target="trn2")
    np.testing.assert_array_equal(exe.run(x), x.T)
    first, *others = exe.profile().proposals
    assert first.text.startswith("`x` is taken in runs of 4 bytes") and not others
    transposed = glia.compile(nki.jit(transposes), x, target="trn2").profile()
    assert transposed.total < exe.time() - 0.5 * first.time and not transposed.proposals


def transposes(x):
    out = nl.ndarray((128, 512), x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), x.dtype, buffer=nl.sbuf)
    nisa.dma_transpose(dst=tile, src=x)
    nl.store(out, tile)
    return out
