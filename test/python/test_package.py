"""The Python package: programs in and out, what is checked on the way, and how errors look."""

import glia
import ml_dtypes
import numpy as np
import pytest

SCALE = """
input x : f32[128, 64]
output y : f32[128, 64]
sbuf t : f32[128, 64] @ 0
semaphore loaded
semaphore scaled
queue q
sync   dma_copy dst=t src=x queue=q                             then loaded += 16
vector tensor_scalar dst=t data=t op0=multiply operand0=2.0     when loaded >= 16 then scaled += 1
sync   dma_copy dst=y src=t queue=q                             when scaled >= 1
"""
X = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


@pytest.fixture
def scale():
    return glia.assemble(SCALE, target="trn2")


def code(call, *args, **kwargs):
    with pytest.raises(glia.Error) as e:
        call(*args, **kwargs)
    assert e.value.diagnostics and str(e.value).startswith("error[")
    return e.value.diagnostics[0].code


def test_run(scale):
    assert scale.target == "trn2" and scale.cores == 1 and scale.instructions == 3
    for strict in (False, True):
        y = scale.run({"x": X}, strict=strict, seed=5)["y"]
        assert y.dtype == np.float32 and (y == 2 * X).all()
    y[0, 0] = 1  # results belong to the caller


def test_threads_give_the_same_bytes(scale):
    for threads in (1, 2, 5):
        assert (scale.run({"x": X}, threads=threads)["y"] == 2 * X).all()
    assert code(scale.run, {"x": X}, threads=0) == "RUN-THREADS"


def test_inputs_that_are_not_contiguous(scale):
    wide = np.zeros((128, 128), np.float32)
    wide[:, ::2] = X
    assert (scale.run({"x": wide[:, ::2]})["y"] == 2 * X).all()


@pytest.mark.parametrize(
    "inputs",
    [{}, {"x": X.astype(np.float64)}, {"x": X[:64]}, {"x": X.reshape(-1)}, {"x": X, "z": X}, {"y": X}, {"x": 1.0}],
    ids=["missing", "type", "shape", "rank", "unknown", "an output", "a number"],
)
def test_wrong_inputs(scale, inputs):
    assert code(scale.run, inputs) == "RUN-INPUT"


def test_syntax_errors_have_places():
    with pytest.raises(glia.Error) as e:
        glia.assemble("input x : f32[4, 4]\nvector wobble dst=x\n", target="trn2", file="wobble.gasm")
    d = e.value.diagnostics[0]
    assert (d.code, d.file, d.line) == ("ISA-UNKNOWN", "wobble.gasm", 2)
    assert d.severity == "error" and "wobble" in d.message


def test_targets():
    assert glia.targets() == ["trn1", "trn2", "trn3"]
    t = glia.target("trn2")
    assert t["values"]["memory.partitions"]["value"] == 128
    assert {v["origin"] for v in t["values"].values()} == {"documented", "derived", "assumed"}
    assert code(glia.target, "trn9") == "TARGET-UNKNOWN"
    assert code(glia.assemble, SCALE, target="trn9") == "TARGET-UNKNOWN"
    assert code(glia.assemble, SCALE) == "ASM-TARGET"


def test_isa_and_rules():
    names = [i["name"] for i in glia.isa()]
    assert names == sorted(names) and "nc_matmul" in names
    matmul = next(i for i in glia.isa() if i["name"] == "nc_matmul")
    assert matmul["engines"] == ["tensor"] and matmul["slots"][0]["name"] == "dst"
    rules = {r["id"]: r for r in glia.rules()}
    assert all(r["sentence"] and r["advice"] and r["bad"] and r["good"] for r in rules.values())
    assert {r for i in glia.isa() for r in i["rules"]} <= set(rules)


def test_verify_refuses_and_run_asks():
    racy = glia.assemble(SCALE.replace("when loaded >= 16 ", ""), target="trn2")
    verdict = racy.verify()
    assert not verdict.ok and "t" in str(verdict)
    assert code(racy.run, {"x": X}) == verdict.diagnostics[0].code


def test_strict_finds_a_fault_without_the_verifier():
    racy = glia.assemble(SCALE.replace("when loaded >= 16 ", ""), target="trn2")
    assert any(faults(racy, seed) for seed in range(10))


def faults(program, seed):
    try:
        program.run({"x": X}, strict=True, seed=seed, verify=False)
    except glia.Error:
        return True
    return False


def test_save_and_load(scale, tmp_path):
    path = tmp_path / "scale.glia"
    scale.save(path)
    again = glia.load(path)
    assert again.disassemble() == scale.disassemble() and again.target == "trn2"
    assert (again.run({"x": X})["y"] == 2 * X).all()
    assert code(scale.save, tmp_path / "no" / "folder.glia")
    assert code(glia.load, tmp_path / "absent.glia")
    broken = bytearray(path.read_bytes())
    broken[len(broken) // 2] ^= 1
    path.write_bytes(broken)
    assert code(glia.load, path).startswith("CONTAINER")


def test_disassembly_assembles_to_the_same(scale):
    text = scale.disassemble()
    assert glia.assemble(text).disassemble() == text


def test_profile(scale):
    profile = scale.profile()
    assert profile.total > 0 and profile.instructions == 3
    assert max(end for _, _, end in profile.timeline) <= profile.total * (1 + 1e-9)
    assert sum(profile.origins.values()) == pytest.approx(1)
    assert f"{profile.total / 1000:.2f}"[:3] in profile.summary()
    assert "<html" in profile.html() and profile.trace()
    assert code(lambda: scale.profile({"x": X[:4]})) == "RUN-INPUT"


@pytest.mark.parametrize(
    "dtype", ["bf16", "f16", "f8e4m3", "f8e5m2", "f8e3m4", "i8", "u8", "i16", "u16", "i32", "u32", "f32"]
)
def test_every_type_goes_through(dtype):
    from glia.dtypes import numpy_dtype

    p = glia.assemble(
        f"""
        input x : {dtype}[128, 64]
        output y : {dtype}[128, 64]
        sbuf t : {dtype}[128, 64] @ 0
        semaphore loaded
        queue q
        sync dma_copy dst=t src=x queue=q then loaded += 16
        sync dma_copy dst=y src=t queue=q when loaded >= 16
        """,
        target="trn2",
    )
    t = numpy_dtype(dtype)
    x = np.random.default_rng(1).integers(0, 256, 128 * 64 * t.itemsize, dtype=np.uint8).view(t).reshape(128, 64)
    y = p.run({"x": x})["y"]
    assert y.dtype == t and y.tobytes() == x.tobytes()


def test_trap_is_its_own_error():
    p = glia.assemble(
        """
        input table : f32[64, 128]
        input rows : i32[128, 1]
        output y : f32[128, 128]
        sbuf index : i32[128, 1] @ 0
        sbuf t : f32[128, 128] @ 64
        semaphore loaded
        semaphore fetched
        queue q
        gpsimd dma_copy dst=index src=rows queue=q then loaded += 16
        gpsimd dma_copy dst=t src=table{ | 0 | 128x128, 1x128} src_index=index queue=q dge=swdge when loaded >= 16 then fetched += 16
        gpsimd dma_copy dst=y src=t queue=q when fetched >= 16
        """,
        target="trn2",
    )
    inputs = {"table": np.ones((64, 128), np.float32), "rows": np.zeros((128, 1), np.int32)}
    assert p.verify().ok and not p.verify(require_proved=True).ok
    assert (p.run(inputs)["y"] == 1).all()
    inputs["rows"][77] = 64
    for strict in (False, True):
        with pytest.raises(glia.Trap) as e:
            p.run(inputs, strict=strict)
        assert isinstance(e.value, glia.Error) and "64" in str(e.value)


def test_bf16_arrays_are_ml_dtypes():
    p = glia.assemble(SCALE.replace("f32", "bf16"), target="trn1")
    x = X.astype(ml_dtypes.bfloat16)
    y = p.run({"x": x})["y"]
    assert y.dtype == ml_dtypes.bfloat16 and (y == (2 * x.astype(np.float32)).astype(ml_dtypes.bfloat16)).all()
