"""The interpreter against XLA on CPU: random graphs of tools/graphs, both given the same text.

Tolerances, by what the generator says of a result:
  exact    integers and truth values are equal; floats within 2 steps of their type of the largest value there (XLA fuses a product and a
           sum, and keeps more digits of 16-bit values than their type has, between operations)
  rounded  within 64 steps of the largest value, and the relative L2 error within 16 steps
           XLA sums 16-bit floats in 16 bits; where that is too far, its evaluation with f32 in place of them counts.
           f32 that is made of bf16 or f16: 8 steps of bf16
           What is left of larger numbers may be all rounding: 16 times what the interpreter in f64 gives when every value and argument is
           off by up to one rounding of its type.
  decided  all but one of a hundred are equal: near a border XLA may fall on the other side
A sum that begins with something other than 0 has no result of its own in StableHLO, and XLA may add that more than once: here sums begin
with 0 and products with 1.
By hand: python test/Interpret/test_random_graphs.py COUNT [SEED] counts and shows what differs. XLA on CPU ends its whole process on a few
graphs (a division by zero, a failed check of its own): the work is done in another process, which is started again behind such a graph.
"""

import os
import pathlib
import re
import subprocess
import sys
from functools import partial

import glia
import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
from jax._src import xla_bridge
from jax._src.lib import xla_client

TOOL = pathlib.Path(glia._glia.__file__).resolve().parents[2] / "bin" / "glia-graphs"
if not TOOL.exists() or not hasattr(glia._glia, "interpret"):
    pytest.skip("glia-graphs is not there: not a build folder", allow_module_level=True)

COUNT = 50
TYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "i1": np.bool_,
    **{
        f"{prefix}{bits}": np.dtype(f"{kind}{bits // 8}")
        for bits in (8, 16, 32)
        for prefix, kind in (("i", "i"), ("ui", "u"))
    },
}


def begun_neutrally(text):
    """The same graph, its sums beginning with 0 and its products with 1."""
    begins = re.findall(r"init: (%v\d+)\) applies stablehlo\.(add|multiply)\b", text)
    for name, body in re.findall(
        r'"stablehlo\.reduce_window"\(%\w+(?:#\d+)?, (%v\d+)\)(.*?)stablehlo\.return', text, re.S
    ):
        begins += [(name, op) for op in re.findall(r"= stablehlo\.(add|multiply)\b", body)]
    for name, op in begins:
        number = "0" if op == "add" else "1"
        text = re.sub(
            rf"({name} = stablehlo\.constant dense<)([^>]*)>",
            lambda m, n=number: (
                m[1] + (f"({n}.0, 0.0)" if "(" in m[2] else n + ".0" if re.search(r"[.x]", m[2]) else n) + ">"
            ),
            text,
        )
    return text


def text_of(number, seed=7):
    return subprocess.run([TOOL, "--print", str(number), str(seed)], check=True, capture_output=True, text=True).stdout


def arguments(text, seed):
    """What `glia check` gives: normal numbers, integers from 0 to 15."""
    rng = np.random.default_rng(seed)
    out = []
    for shape, element in re.findall(r"%a\d+: tensor<((?:\d+x)*)(\w+)>", text[: text.index(") ->")]):
        dims = [int(d) for d in shape.split("x") if d]
        dtype = np.dtype(TYPES[element])
        if dtype == np.bool_:
            out.append(rng.integers(0, 2, dims).astype(dtype))
        elif element[0] in "fb":
            out.append(rng.normal(size=dims).astype(np.float32).astype(dtype))
        else:
            out.append(rng.integers(0, 16, dims).astype(dtype))
    return [np.asarray(a) for a in out]


def by_xla(text, args):
    backend = xla_bridge.get_backend("cpu")
    options = xla_client.CompileOptions()
    device = backend.devices()[0]
    text = re.sub(r" \{tf\.aliasing_output = \d+ : i32\}", "", text)  # XLA would write to our arrays
    compiled = backend.compile_and_load(text, xla_client.DeviceList((device,)), options)
    results = compiled.execute_sharded([jax.device_put(a, device) for a in args])
    return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]


def widened(text):
    """The same graph with f32 in place of the 16-bit floats."""
    out = []
    for line in text.splitlines():
        for name, infinity, minus, nan in (("bf16", "7F80", "FF80", "7FC0"), ("f16", "7C00", "FC00", "7E00")):
            if (
                "stablehlo.constant" in line
                and line.endswith(name + ">")
                and (name == "bf16" or not line.endswith("bf16>"))
            ):
                for short, long in ((infinity, "7F800000"), (minus, "FF800000"), (nan, "7FC00000")):
                    line = re.sub(rf"0x{short}\b", f"0x{long}", line)
        out.append(re.sub(r"\bb?f16>", "f32>", re.sub(r"(\dx)b?f16\b", r"\1f32", line)))
    return "\n".join(out)


def difference(got, want, trust, coarse=False):
    """None, or what is too far. Coarse: 16-bit floats are behind the result."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} and {want.dtype}{want.shape}"
    real = got.dtype.kind not in "iub"
    if not real:
        wrong = np.count_nonzero(got != want)
        allowed = max(1, got.size // 100) if trust == "decided" else 0
        return f"{wrong} of {got.size} integers differ" if wrong > allowed else None
    g, w = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isfinite(g), np.isfinite(w)) or not np.array_equal(
        g[~np.isfinite(g)], w[~np.isfinite(w)], equal_nan=True
    ):
        return "other NaNs or infinities"
    g, w = g[np.isfinite(g)], w[np.isfinite(w)]
    if g.size == 0:
        return None
    step = float(ml_dtypes.finfo(got.dtype).eps) / 2
    largest = np.abs(w).max()
    worst = np.abs(g - w).max()
    allowed = (2 if trust == "exact" else 64) * step * largest if not coarse else 2.0**-6 * largest
    if worst > allowed:
        return f"off by {worst:.3g}, allowed {allowed:.3g}, the largest is {largest:.3g}"
    if coarse:
        return None
    relative = np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-30)
    return f"relative error {relative:.3g}" if relative > 16 * step else None


def shaken(array, rng):
    """An argument, each float off by up to one step: as if the sums that read it rounded every term."""
    if array.dtype.kind in "iub":
        return array
    by = 1 + float(ml_dtypes.finfo(array.dtype).eps) * rng.uniform(-1, 1, array.shape)
    return (array.astype(np.float64) * by).astype(array.dtype)


def roundings(text, args):
    """Per result: how far roundings alone may move an element."""
    ideal = glia.interpret(text, *args, in_double=True)
    out = [0.0] * len(ideal)
    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        moved = glia.interpret(text, *(shaken(a, rng) for a in args), in_double=True, shaken=seed)
        for i, (a, b) in enumerate(zip(moved, ideal)):
            if a.dtype == np.float64:
                apart = np.abs(a - b)[np.isfinite(a) & np.isfinite(b)]
                out[i] = max(out[i], float(apart.max(initial=0.0)))
    return out


def within(got, want, distance):
    g, w = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(g) & np.isfinite(w)
    return np.array_equal(g[~finite], w[~finite], equal_nan=True) and np.abs(g - w)[finite].max(initial=0.0) <= distance


def differences(number, seed=7, announce=lambda what: None):
    text = begun_neutrally(text_of(number, seed))
    trust = re.findall(r"// result \d+: (\w+)", text)
    args = arguments(text, number)
    got = glia.interpret(text, *args)
    announce("xla")
    want = by_xla(text, args)
    assert len(got) == len(want) == len(trust)
    coarse = [t == "rounded" and g.dtype == np.float32 and "f16>" in text for g, t in zip(got, trust)]
    found = [difference(*each) for each in zip(got, want, trust, coarse)]
    narrow = [bool(d) and t == "rounded" and g.dtype.itemsize == 2 for d, g, t in zip(found, got, trust)]
    if any(narrow):
        wide = by_xla(
            widened(text), [a.astype(np.float32) if a.dtype.name in ("float16", "bfloat16") else a for a in args]
        )
        found = [
            difference(g, x.astype(g.dtype), t) if n else d for n, d, g, x, t in zip(narrow, found, got, wide, trust)
        ]
    announce("interpret")
    if any(d and t == "rounded" for d, t in zip(found, trust)):
        noise = roundings(text, args)
        near = [
            d and t == "rounded" and g.dtype.kind not in "iub" and within(g, w, 16 * n)
            for d, t, g, w, n in zip(found, trust, got, want, noise)
        ]
        found = [None if ok else d for ok, d in zip(near, found)]
    return [f"result {i} ({trust[i]}, {got[i].dtype}{got[i].shape}): {d}" for i, d in enumerate(found) if d]


@pytest.mark.parametrize("number", range(COUNT))
def test_equals_xla(number):
    assert differences(number) == []


def work(first, count, seed):
    for number in range(first, count):
        announce = partial(lambda n, what: print(what, n, flush=True), number)
        announce("interpret")
        try:
            found = differences(number, seed, announce)
        except Exception as e:
            found = [f"{type(e).__name__}: {str(e)[:400]}"]
        for f in found:
            print("differs", number, f, flush=True)


def start_work(first, count, seed, **environment):
    command = [sys.executable, __file__, "--work", str(first), str(count), str(seed)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment)


def main():
    if sys.argv[1] == "--work":
        return work(*map(int, sys.argv[2:]))
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    bad, ended, stopped, first = set(), set(), 0, 0
    while first < count:
        done = start_work(first, count, seed)
        if not done.stdout:
            return done.returncode or 1  # it said why on stderr
        for line in done.stdout.splitlines():
            what, number, *found = line.split(" ", 2)
            first = int(number) + 1
            if what == "differs":
                bad.add(number)
                print(number, *found, flush=True)
        if done.returncode and what == "xla":
            stopped += 1
        elif done.returncode:
            ended.add(number)
            print(number, f"the interpreter ended with {done.returncode}", flush=True)
    # XLA's simplifier moves the clamps of nested slices: what differs must differ without it too.
    plain = {"XLA_FLAGS": "--xla_disable_hlo_passes=algsimp"}
    bad = {n for n in bad if "differs" in start_work(int(n), int(n) + 1, seed, **plain).stdout} | ended
    print(f"{count} graphs, {len(bad)} differ (must be 0), {stopped} that XLA does not survive")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
