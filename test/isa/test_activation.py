"""activation and act_table_load: every function against float64, scale, bias, types, and the accumulator registers."""

import math
from pathlib import Path

import numpy as np
import pytest
import tomllib
from harness import TARGETS, View, has_feature, refused, run, same_bits, targets_with, within_ulp
from reference import F32, FLOATS, INTEGERS, narrow, reduce, rng_for, values, widen

np.seterr(all="ignore")


def sets_of(target):
    """Function -> name of the set that holds it."""
    text = (Path(__file__).resolve().parents[2] / "targets" / f"{target}.toml").read_text()
    return {f: s["name"] for s in tomllib.loads(text)["activation_set"] for f in s["functions"]}


SETS = {t: sets_of(t) for t in TARGETS}
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def normal(x):
    return 0.5 * erfc(-x / math.sqrt(2))


FUNCTIONS = {
    "copy": lambda x: x,
    "square": np.square,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * normal(x),
    "gelu_dx": lambda x: normal(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "gelu_apprx_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": lambda x: sigmoid(1.702 * x) + 1.702 * x * sigmoid(1.702 * x) * sigmoid(-1.702 * x),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) + x * sigmoid(x) * sigmoid(-x),
    "tanh": np.tanh,
    "softplus": softplus,
    "mish": lambda x: x * np.tanh(softplus(x)),
    "erf": erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "exp": np.exp,
    "sign": np.sign,
    "abs": np.abs,
    "log": np.log,
    "sin": np.sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}
EXACT = {"copy", "square", "relu", "sign", "abs", "sqrt", "reciprocal"}
POSITIVE = {"log", "sqrt", "rsqrt"}
# Derivatives that cross zero have no small relative error there: they are tested away from it.
CROSSING = {"gelu_dx": -0.7517915, "silu_dx": -1.2784645, "gelu_apprx_sigmoid_dx": -0.7511542}


def inputs_for(fn, shape):
    rng = rng_for(fn, shape)
    x = (rng.standard_normal(shape) * rng.choice([0.01, 0.5, 2, 6], shape)).astype(F32)
    if fn in POSITIVE:
        x = np.abs(x) + F32(1e-3)
    if fn == "sin":
        x = np.clip(x, -3.1, 3.1)
    if fn == "arctan":
        x = np.clip(x, -1.57, 1.57)
    if fn in CROSSING:
        x = np.where(np.abs(x - CROSSING[fn]) < 0.02, F32(0.25), x)
    return x


def code_for(target, fn, rest, engine_lines=()):
    load = [f'scalar act_table_load set="{SETS[target][fn]}"'] if fn in SETS[target] else []
    return [*load, *engine_lines, f"scalar activation fn={fn} {rest}"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_functions(target, fn):
    x = inputs_for(fn, (128, 97))
    got = run(code_for(target, fn, "dst=y data=x"), {"x": x}, {"y": ("f32", x.shape)}, target)["y"]
    want = FUNCTIONS[fn](x.astype(np.float64))
    within_ulp(got, want, 0.5 if fn in EXACT else 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", ["exp", "tanh", "relu", "sigmoid", "silu", "square", "abs", "sign", "log", "sqrt"])
def test_special_values(target, fn):
    x = np.array([[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-39, 3.4e38, -3.4e38, 200, -200]], F32)
    got = run(code_for(target, fn, "dst=y data=x"), {"x": x}, {"y": ("f32", x.shape)}, target)["y"]
    want = FUNCTIONS[fn](x.astype(np.float64))
    if fn == "silu":
        want[0, 3] = want[0, 8] = 0  # x * sigmoid(x) goes to -0 there
    if fn == "sign":
        want[0, 4] = got[0, 4]  # the sign of NaN is nobody's business
    both = np.isnan(got) & np.isnan(want)
    within_ulp(np.where(both, F32(0), got), np.where(both, 0.0, want), 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_types(target, dtype):
    rng = rng_for(dtype)
    x = values(rng, dtype, (64, 45))
    for to in ("f32", "bf16", "f8e4m3", "i8", "u16"):
        got = run("scalar activation fn=copy dst=y data=x scale=0.5", {"x": x}, {"y": (to, x.shape)}, target)["y"]
        same_bits(got, narrow(widen(x) * F32(0.5), to))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bias_type", ["f32", "bf16", "f16", "i8"])
def test_scale_and_bias_from_memory(target, bias_type):
    rng = rng_for(bias_type)
    x, s, b = (
        values(rng, "f32", (96, 31), False),
        values(rng, "f32", (96, 1), False),
        values(rng, bias_type, (96, 1), False),
    )
    got = run(
        "scalar activation fn=relu dst=y data=x scale=s bias=b",
        {"x": x, "s": s, "b": b},
        {"y": ("f32", x.shape)},
        target,
    )["y"]
    exact = x.astype(np.float64) * s + widen(
        b
    )  # a product of two fp32 is exact in fp64: one rounding, as a fused multiply-add
    within_ulp(got, np.maximum(exact, 0), 0.5001)


@pytest.mark.parametrize("target", TARGETS)
def test_bias_as_a_number(target):
    x = values(rng_for("number"), "f32", (32, 20), False)
    code = "scalar activation fn=copy dst=y data=x scale=2.0 bias=0.75"
    if not has_feature(target, "activation_bias_immediate"):
        assert refused(code, {"x": x}, {"y": ("f32", x.shape)}, target) == ["ACTIVATION-BIAS"]
        return
    same_bits(run(code, {"x": x}, {"y": ("f32", x.shape)}, target)["y"], x * F32(2) + F32(0.75))


def test_reciprocal_without_bias():
    x, b = np.ones((32, 4), F32), np.zeros((32, 1), F32)
    for target in TARGETS:
        codes = refused(
            code_for(target, "reciprocal", "dst=y data=x bias=b"), {"x": x, "b": b}, {"y": ("f32", x.shape)}, target
        )
        assert codes == ([] if has_feature(target, "activation_reciprocal_bias") else ["ACTIVATION-BIAS"])


def test_copy_keeps_minus_zero():
    x = np.array([[0.0, -0.0]], F32)
    same_bits(run("scalar activation fn=copy dst=y data=x", {"x": x}, {"y": ("f32", x.shape)}, "trn2")["y"], x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 64, 100, 1000])
def test_accumulator(target, n):
    x = values(rng_for(n), "f32", (64, n), False)
    outputs = {"y": ("bf16", x.shape), "r": ("f32", (64, 1))}
    head = "scalar activation fn=square dst=y data=x"
    once = F32(0) + reduce("add", x * x)[:, None]
    got = run(f"{head} reduce_cmd=reset_reduce reduce_res=r", {"x": x}, outputs, target)
    same_bits(got["y"], narrow(x * x, "bf16"))
    same_bits(got["r"], once)  # of the fp32 results, not of the rounded ones
    got = run(
        [f"{head} reduce_cmd=reset_reduce", head, f"{head} reduce_cmd=reduce", f"{head} reduce_res=r"],
        {"x": x},
        outputs,
        target,
    )
    same_bits(got["r"], once + reduce("add", x * x)[:, None])
    got = run([f"{head} reduce_cmd=reset", f"{head} reduce_cmd=reduce reduce_res=r"], {"x": x}, outputs, target)
    same_bits(got["r"], once)
    got = run(f"{head} reduce_cmd=reset reduce_res=r", {"x": x}, outputs, target)
    same_bits(got["r"], np.zeros((64, 1), F32))


def test_accumulator_refusals():
    x = np.ones((32, 8), F32)
    outputs = {"y": ("f32", x.shape), "r": ("f32", (32, 1))}
    head = "scalar activation fn=copy dst=y data=x"
    assert refused(f"{head} reduce_cmd=load_reduce reduce_res=r", {"x": x}, outputs, "trn2")[0] == "REDUCE-CMD"
    assert refused(f"{head} reduce_cmd=reduce reduce_res=r", {"x": x}, outputs, "trn2") == ["UNDEFINED-OUTPUT"]
    assert refused(f"{head} reduce_res=r", {"x": x}, outputs, "trn2") == ["UNDEFINED-OUTPUT"]


@pytest.mark.parametrize("psum", [("x",), ("y",), ("x", "y")])
def test_psum_and_views(psum):
    x = values(rng_for(psum), "f32", (64, 80), False)
    y = np.zeros((64, 60), F32)
    v, w = View(32, ((16, 4), (3, 4)), 1, first=32), View(32, ((20, 2), (2, 8)), 3)
    code = f"scalar activation fn=square dst={w.text('y', 'f32')} data={v.text('x', 'f32')}"
    for target in targets_with("vector_scalar_psum_concurrent"):
        got = run(code, {"x": x, "y": y}, {"y": ("f32", y.shape)}, target, psum=psum)["y"]
        same_bits(got, w.put(y, v.take(x) ** 2))


def test_tables():
    x = np.ones((32, 8), F32)
    y = {"y": ("f32", x.shape)}
    exp = "scalar activation fn=exp dst=y data=x"
    for target in TARGETS:
        assert refused(exp, {"x": x}, y, target) != []  # nothing is resident
        assert refused([f'scalar act_table_load set="{SETS[target]["gelu"]}"', exp], {"x": x}, y, target) != []
        assert refused([f'scalar act_table_load set="{SETS[target]["exp"]}"', exp], {"x": x}, y, target) == []
        assert refused(
            ['scalar act_table_load set="nothing"', "scalar activation fn=copy dst=y data=x"], {"x": x}, y, target
        ) == ["ACT-SET"]


def test_strict_mode_agrees():
    x, b = inputs_for("exp", (96, 40)), values(rng_for("b"), "bf16", (96, 1), False)
    outputs = {"y": ("bf16", x.shape), "r": ("f32", (96, 1))}
    code = code_for("trn2", "exp", "dst=y data=x bias=b reduce_cmd=reset_reduce reduce_res=r")
    fast, strict = (
        run(code, {"x": x, "b": b}, outputs, "trn2"),
        run(code, {"x": x, "b": b}, outputs, "trn2", strict=True),
    )
    for name in outputs:
        same_bits(strict[name], fast[name])
