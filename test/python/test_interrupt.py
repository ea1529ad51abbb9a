"""Ctrl-C ends what runs for long, at once: in the package with KeyboardInterrupt, in the tool with the shell's 130 and no output file."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import glia
import numpy as np
import pytest

GLIA = (
    Path(os.environ.get("GLIA_ROOT", Path(__file__).parents[2]))
    / os.environ.get("GLIA_BUILD", "build")
    / "bin"
    / "glia"
)

# Repeats for ever: the register stays 1.
FOR_EVER = """target trn2
output y : i32[1]
sync reg_move dst=r1 src=1
sync while cond=r1
sync reg_alu dst=r2 op=add a=r1 b=1
sync end_loop
sync reg_store dst=y src=r1
"""


@pytest.fixture(autouse=True)
def interrupts():
    """A shell that starts the tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def is_interrupted(work):
    """`work` would never end."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        timer.cancel()


@pytest.fixture
def program():
    return glia.assemble(FOR_EVER)


@pytest.mark.parametrize("how", [{}, {"strict": True}], ids=["fast", "strict"])
def test_a_run(program, how):
    is_interrupted(lambda: program.run({}, verify=False, **how))


def test_a_prediction(program):
    is_interrupted(lambda: program.profile({}, timeline=False))


def test_afterwards_everything_goes_on(program):
    is_interrupted(lambda: program.run({}, verify=False))
    good = glia.assemble("target trn2\noutput y : i32[1]\nsync reg_move dst=r1 src=7\nsync reg_store dst=y src=r1\n")
    assert good.run({})["y"] == np.array([7])


def test_what_a_handler_raises_ends_the_run(program):
    class Enough(Exception):
        pass

    def handler(number, frame):
        raise Enough

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Enough):
            program.run({}, verify=False)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not GLIA.exists(), reason="the tool is not built")
def test_the_tool(tmp_path):
    source, out = tmp_path / "for_ever.gasm", tmp_path / "y.npy"
    source.write_text(FOR_EVER)
    run = subprocess.Popen([GLIA, "run", source, "--no-verify", "--output", f"y={out}"])
    try:
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=300) in (-signal.SIGINT, 130)  # a shell says 130 for both
    finally:
        run.kill()  # whatever happened, it does not go on for ever
    assert sorted(os.listdir(tmp_path)) == ["for_ever.gasm"]


def ends_early(work):
    """`work`, one call of C++, asks for signals often, and ends with what a handler raises. By the processor's time: a busy
    machine makes no difference."""

    class Enough(Exception):
        pass

    def handler(number, frame):
        nonlocal asked
        asked += 1
        if asked == last:
            raise Enough

    before = signal.signal(signal.SIGPROF, handler)
    try:
        asked, last = 0, -1
        signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)
        work()
        signal.setitimer(signal.ITIMER_PROF, 0)
        assert asked >= 3  # one that only looks before and behind would see two
        asked, last = 0, 2
        signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)
        with pytest.raises(Enough):
            work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


needs_the_compiler = pytest.mark.skipif(not hasattr(glia._glia, "Kernel"), reason="this build of glia has no compiler")


@needs_the_compiler
def test_checking_compiling_and_verifying():
    from glia import nki
    from glia.nki import isa as nisa
    from glia.nki import language as nl

    @nki.jit
    def long(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t, u = nl.load(x), nl.load(x)
        for i in range(30000):
            v = nl.ndarray(x.shape, x.dtype)
            nisa.tensor_tensor(dst=v, data1=t, data2=u, op=nl.add)
            nisa.activation(dst=u, op=nl.exp, data=v)
            nisa.tensor_scalar(dst=t, data=v, op0=nl.multiply, operand0=float(i))
        nl.store(out, nl.add(t, u))
        return out

    kernel = long.trace(np.ones((128, 64), np.float32)).kernel
    ends_early(kernel.check)
    ends_early(kernel.compile)
    program = kernel.compile()
    ends_early(program.require_verified)


ENDLESS = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%a = %x) : tensor<f32>
    cond { %c = stablehlo.constant dense<true> : tensor<i1>
           stablehlo.return %c : tensor<i1> }
    do { %n = stablehlo.add %a, %a : tensor<f32>
         stablehlo.return %n : tensor<f32> }
  return %0 : tensor<f32>
}
"""


@needs_the_compiler
def test_interpreting():
    is_interrupted(lambda: glia.interpret(ENDLESS, np.float32(1)))
