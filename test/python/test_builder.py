"""Programs made with the Python builder."""

import glia
import ml_dtypes
import numpy as np
import pytest


def moved(body, dtype="f32", shape=(128, 64), target="trn2"):
    """x -> t by DMA, `body(b, t, loaded, done)`, t -> y."""
    b = glia.Builder(target)
    x, y, t = b.input("x", dtype, shape), b.output("y", dtype, shape), b.sbuf("t", dtype, shape)
    loaded, done, q = b.semaphore("loaded"), b.semaphore("done"), b.queue("q")
    b.emit("sync", "dma_copy", dst=t, src=x, queue=q, then=[(loaded, 16)])
    body(b, t, loaded, done)
    b.emit("sync", "dma_copy", dst=y, src=t, queue=q, when=[(done, 1)])
    return b.finish()


X = np.random.default_rng(0).standard_normal((128, 64), dtype=np.float32)


def test_slices():
    def body(b, t, loaded, done):
        b.emit(
            "vector", "tensor_scalar", dst=t[0:64, ::2], data=t[0:64, ::2], op0="add", operand0=1, when=[(loaded, 16)]
        )
        b.emit("vector", "memset", dst=t[96:128, 3], value=np.float32(7), then=[(done, 1)])

    want = X.copy()
    want[0:64, ::2] += 1
    want[96:, 3] = 7
    p = moved(body)
    assert p.verify().ok, str(p.verify())
    assert (p.run({"x": X})["y"] == want).all()


def test_loop_with_a_register_in_the_address():
    def body(b, t, loaded, done):
        b.emit("vector", "nop", when=[(loaded, 16)])
        with b.loop("vector", iv=3, count=4) as i:
            tile = t[:, 0:16].plus(i, 64)
            b.emit("vector", "tensor_scalar", dst=tile, data=tile, op0="multiply", operand0=3.0)
        b.emit("vector", "nop", then=[(done, 1)])

    p = moved(body)
    assert p.verify(require_proved=True).ok, str(p.verify())
    for strict in (False, True):
        assert (p.run({"x": X}, strict=strict)["y"] == 3 * X).all()
    assert glia.assemble(p.disassemble()).disassemble() == p.disassemble()


def test_constants_and_patterns():
    b = glia.Builder("trn2")
    c = b.constant("c", np.arange(64, dtype=np.float32).astype(ml_dtypes.bfloat16))
    y, t = b.output("y", "bf16", (128, 64)), b.sbuf("t", "bf16", (128, 64))
    loaded, q = b.semaphore("loaded"), b.queue("q")
    b.emit("sync", "dma_copy", dst=t, src=c.pattern([(0, 128), (1, 64)]), queue=q, then=[(loaded, 16)])
    b.emit("sync", "dma_copy", dst=y, src=t, queue=q, when=[(loaded, 16)])
    y = b.finish().run()["y"]
    assert (y.astype(np.float32) == np.arange(64)).all()


def test_origin_is_in_the_message():
    def body(b, t, loaded, done):
        wide = b.sbuf("wide", "f32", (128, 96), at=1024)
        b.emit("vector", "memset", dst=wide, value=0.0, when=[(loaded, 16)])
        b.origin("norm", "scale rows", "norm.py", 41)
        b.emit("vector", "tensor_scalar", dst=t, data=wide, op0="add", operand0=1.0, then=[(done, 1)])

    d = moved(body).verify().diagnostics[0]
    assert (d.code, d.file, d.line) == ("SAME-SHAPE", "norm.py", 41) and "norm" in d.context


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda b, t: b.emit("vector", "wobble"), "ISA-UNKNOWN"),
        (lambda b, t: b.emit("vektor", "nop"), "BUILD-ENGINE"),
        (lambda b, t: b.emit("vector", "nop", core=3), "BUILD-CORE"),
        (lambda b, t: b.emit("vector", "tensor_copy", dst=t), "BUILD-OPERAND"),
        (lambda b, t: b.emit("vector", "memset", dst=3, value=1.0), "BUILD-OPERAND"),
        (lambda b, t: b.emit("vector", "memset", dst=t, value=object()), "BUILD-OPERAND"),
        (lambda b, t: b.emit("vector", "memset", dst=t, value=1.0, colour=2), "BUILD-OPERAND"),
        (lambda b, t: t[0:129], "BUILD-VIEW"),
        (lambda b, t: t[0:4, 0:4, 0:4], "BUILD-VIEW"),
        (lambda b, t: t[::2], "BUILD-VIEW"),
        (lambda b, t: glia.Builder("trn2", cores=0), "BUILD-CORE"),
    ],
)
def test_mistakes(call, code):
    b = glia.Builder("trn2")
    t = b.sbuf("t", "f32", (128, 64))
    with pytest.raises(glia.Error) as e:
        call(b, t)
    assert e.value.diagnostics[0].code == code


def test_a_finished_builder_is_used_up():
    b = glia.Builder("trn2")
    b.finish()
    with pytest.raises(glia.Error):
        b.emit("vector", "nop")
    with pytest.raises(TypeError):
        glia.Builder("trn2").input("x", np.float64, (4,))
