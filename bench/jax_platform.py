"""The rows of `make bench` about the platform glia of JAX, each against jaxlib's CPU in the same run.

python bench/jax_platform.py        these rows alone
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Prints seconds: calls of a tiny function queued one behind the other, one at a time, an operation never seen before, a queue of calls
# of some length against running them, and moving 64 MB to the device and back against one copy of them.
SCRIPT = """
import json, statistics, time, jax, jax.numpy as jnp, numpy as np
tiny = jax.jit(lambda x: x + 1)
x = tiny(jnp.ones((4, 4)))

def seconds(work, times=7):
    out = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        out.append(time.perf_counter() - start)
    return statistics.median(out)

def queued(n=1000):
    y = x
    for _ in range(n):
        y = tiny(y)
    y.block_until_ready()

def alone(n=300):
    for _ in range(n):
        tiny(x).block_until_ready()

shapes = iter(range(5, 1000))
def fresh():
    n = next(shapes)
    jax.block_until_ready(jnp.tanh(jnp.zeros((n, 3))))

big = jax.jit(lambda a: jnp.tanh(a @ a))
a = big(jnp.ones((256, 256)))
start = time.perf_counter()
last = [big(a) for _ in range(300)]
issued = time.perf_counter() - start
jax.block_until_ready(last)
whole = time.perf_counter() - start

host = np.ones(1 << 24, np.float32)
target = np.empty_like(host)
copy = seconds(lambda: np.copyto(target, host))
device = jax.device_put(host)
device.block_until_ready()
put = seconds(lambda: jax.device_put(host).block_until_ready())
ready = [jax.block_until_ready(device + k) for k in range(3)]  # JAX keeps what it got of an array: each is asked once
get = seconds(lambda: jax.device_get(ready.pop()), 3)
print(json.dumps({"queued": seconds(queued) / 1000, "alone": seconds(alone) / 300, "fresh": seconds(fresh, 15),
                  "issue": issued / whole, "put": put / copy, "get": get / copy}))
"""


def measured(platform):
    environment = os.environ | {"JAX_PLATFORMS": platform, "GLIA_TARGET": "trn2"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def calls(report):
    cpu, ours = measured("cpu"), measured("glia")
    for what, key, most in (
        ("calls of a tiny function, queued", "queued", 3),
        ("calls of a tiny function, one at a time", "alone", 3),
        ("an operation never seen before", "fresh", 1),
    ):
        ratio = ours[key] / cpu[key]
        report(f"JAX: {what}, against the CPU", ratio, f"<= {most}", ratio <= most, "x", {"cpu": cpu, "glia": ours})
    report("JAX: until 300 calls are queued, of running them", ours["issue"], "<= 0.1", ours["issue"] <= 0.1, "x")
    for key in ("put", "get"):
        report(f"JAX: device_{key} of 64 MB against one copy", ours[key], "<= 2", ours[key] <= 2, "x")


SMALL = """
def net(w, x):
    for _ in range(6):
        x = jax.nn.gelu(x @ w) + x
    return x.sum()
lowered = jax.jit(jax.value_and_grad(net)).lower(jnp.ones((128, 128)), jnp.ones((64, 128)))
"""

RESNET = """
import numpy as np, resnet
x = np.ones((1, 3, 32, 64), np.float32)
lowered = jax.jit(resnet.step).lower(resnet.parameters(np.random.default_rng(38)), x, np.array([17], np.int32))
"""

SECOND_START = """
import sys, time, jax, jax.numpy as jnp
sys.path.append({folder!r})
{lower}
start = time.perf_counter()
lowered.compile()
print(time.perf_counter() - start)
"""


def starts(lower):
    """Seconds that compiling takes without and with what an earlier start kept."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "JAX_PLATFORMS": "glia",
            "JAX_COMPILATION_CACHE_DIR": f"{folder}/cache",
            "XDG_STATE_HOME": f"{folder}/state",
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        museum = str(Path(__file__).resolve().parents[1] / "museum" / "conv7x7-backward")
        command = [sys.executable, "-c", SECOND_START.format(folder=museum, lower=lower)]
        done = (subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(4))
        first, *later = (float(x.stdout) for x in done)
    return first, statistics.median(later)


def second_start(report):
    for what, lower in (("", SMALL), (" (ResNet-34's step)", RESNET)):
        first, second = starts(lower)
        ratio, details = second / first, {"seconds": (first, second)}
        report(f"JAX: compile with a warm cache{what}", ratio, "<= 0.1", ratio <= 0.1, "x", details)


READERS = """
import statistics, time
from glia import _glia
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
import t5
data = t5.artifact()

def theirs():
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        return stablehlo.deserialize_portable_artifact(context, data)

def seconds(work):
    start = time.perf_counter()
    kept = work()
    return time.perf_counter() - start

ours = lambda: _glia.graph_operations(data)
pairs = [(seconds(ours), seconds(theirs)) for _ in range(9)]
print(*(statistics.median(p) for p in zip(*pairs)), len(data), ours())
"""


def reading(report):
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(__file__).resolve().parent)}
    done = subprocess.run([sys.executable, "-c", READERS], env=environment, capture_output=True, text=True, check=True)
    ours, theirs, size, operations = map(float, done.stdout.split())
    ratio, details = ours / theirs, {"seconds": (ours, theirs), "bytes": size, "operations": operations}
    report("JAX: read the bytecode of T5's training step, against jaxlib", ratio, "<= 1", ratio <= 1, "x", details)


PARTS = (calls, second_start, reading)

if __name__ == "__main__":
    for part in PARTS:
        part(
            lambda measure, value, target, ok, unit="x", details=None: print(
                f"{measure:66} {value:8.3g} {unit}   {target}"
            )
        )
