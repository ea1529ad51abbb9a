"""How long an engine is busy with one instruction: the published cycle formulas and the automatic performance modes."""

from pathlib import Path

import glia
import pytest
import tomllib
from harness import TARGETS, has_feature

N = 2048


def value(target, section, key):
    text = (Path(__file__).resolve().parents[2] / "targets" / f"{target}.toml").read_text()
    return tomllib.loads(text)[section][key]["value"]


def cycles(target, line, n=N, **types):
    """Cycles of the issuing engine. Tiles a, b, y (n elements), s (one) in SBUF and pa, py in PSUM; `types` overrides f32."""
    sizes = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "f8e5m2": 1, "u8": 1}
    lines, at = [], 0
    for tile in ("a", "b", "y"):
        t = types.get(tile, "f32")
        lines.append(f"sbuf {tile} : {t}[128, {2 * n}] @ {at}")
        at += 2 * n * sizes[t]
    lines.append(f"sbuf s : {types.get('s', 'f32')}[128, 1] @ {at}")
    lines.append(f"psum pa : {types.get('a', 'f32')}[128, {n}] @ 0")
    lines.append(f"psum py : {types.get('y', 'f32')}[128, {n}] @ 8192")
    engine = line.split()[0]
    profile = glia.assemble("\n".join([*lines, line]) + "\n", target=target).profile()
    spans = [end - start for lane, start, end in profile.timeline if lane.endswith(engine)]
    assert len(spans) == 1
    return spans[0] * value(target, "clock", engine)


def full(name, n=N):
    return f"{name}[0:128, 0:{n}]"


def approx(x):
    return pytest.approx(x, rel=1e-3)


NARROW = {"a": "bf16", "b": "bf16", "y": "bf16"}


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_tensor(target):
    modes = has_feature(target, "vector_perf_modes")
    line = f"vector tensor_tensor dst={full('y')} a={full('a')} b={full('b')} op="
    assert cycles(target, line + "add") == approx(2 * N)
    assert cycles(target, f"vector tensor_tensor dst={full('y')} a=pa b={full('b')} op=add") == approx(N)
    assert cycles(target, line + "add", **NARROW) == approx(N)
    assert cycles(target, line + "max", **NARROW) == approx(N if modes else 2 * N)
    assert cycles(target, line + "add", a="f16", b="f16", y="f16") == approx(N if modes else 2 * N)
    fp8 = cycles(target, line + "add", a="f8e5m2", b="f8e5m2", y="f8e5m2")
    assert fp8 == approx(N if has_feature(target, "perf_modes_fp8") else 2 * N)
    small = f"vector tensor_tensor dst={full('y', 8)} a={full('a', 8)} b={full('b', 8)} op=add"
    assert cycles(target, small) == approx(64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "form", ["tensor_copy dst={y} src={a}", "tensor_scalar dst={y} data={a} op0=multiply operand0=2.0"]
)
def test_one_input(target, form):
    modes = has_feature(target, "vector_perf_modes")

    def vector(dst, src, **types):
        return cycles(target, "vector " + form.format(y=dst, a=src), **types)

    assert vector(full("y"), full("a")) == approx(N)
    assert vector(full("y"), full("a"), **NARROW) == approx(N / 4 if modes else N)
    assert vector(full("y"), f"a[0:128, 0:{2 * N}:2]", **NARROW) == approx(N / 2 if modes else N)
    assert vector("py", full("a"), **NARROW) == approx(N / 2 if modes else N)
    assert vector("py", "pa", **NARROW) == approx(N)
    if has_feature(target, "scalar_tensor_copy"):
        scalar = "scalar " + form.format(y=full("y"), a=full("a"))
        assert cycles(target, scalar) == approx(N)
        assert cycles(target, scalar, **NARROW) == approx(N / 2 if has_feature(target, "scalar_perf_modes") else N)


@pytest.mark.parametrize("target", TARGETS)
def test_a_wide_stride_halves_the_rate(target):
    line = f"vector tensor_copy dst={full('y', 256)} src=a[0:128, 0:{{}}:{{}}]"
    assert cycles(target, line.format(4 * 256, 4)) == approx(256)  # 16 bytes
    assert cycles(target, line.format(5 * 256, 5)) == approx(512)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "line,types,want",
    [
        ("vector memset dst={y} value=0.0", {}, N),
        ("vector memset dst={y} value=0.0", NARROW, N / 2),
        ("vector memset dst={y} value=1.0", NARROW, N),
        ("vector tensor_reduce dst=s data={a} op=add", {}, N),
        ("vector tensor_reduce dst=s data={a} op=max", {**NARROW, "s": "bf16"}, N / 2),
        ("vector tensor_reduce dst=s data={a} op=min", {**NARROW, "s": "bf16"}, N),
        ("vector tensor_tensor_scan dst={y} data0={a} data1={b} initial=0.0 op0=multiply op1=add", {}, 2 * N),
        ("vector scalar_tensor_tensor dst={y} data={a} op0=subtract operand0=s op1=multiply operand1={b}", {}, 2 * N),
        ("vector scalar_tensor_tensor dst={y} data={a} op0=subtract operand0=s op1=multiply operand1={b}", NARROW, N),
        ("vector tensor_scalar_reduce dst={y} data={a} op0=add operand0=s reduce_op=add", {}, N + 64),
        ("vector reciprocal dst={y} data={a}", {}, 8 * N),
        ("vector tensor_copy_predicated dst={y} src={a} predicate={b}", {"b": "u8"}, 2 * N),
        ("vector tensor_copy_predicated dst={y} src=pa predicate={b}", {"b": "u8"}, N),
        ("vector max8 dst=y[0:128, 0:8] src={a}", {}, N),
        ("vector bn_aggr dst=y[0:128, 0:2] data=a[0:128, 0:300]", {}, 1300),
        ("scalar activation dst={y} data={a} fn=square", {}, N),
        (
            "scalar activation dst={y} data={a} fn=square scale=s reduce_cmd=reset_reduce reduce_res=b[0:128, 0:1]",
            {},
            N + 64,
        ),
        ("gpsimd tensor_scalar dst={y} data={a} op0=rsqrt", {}, 4 * N),
    ],
)
def test_formulas(target, line, types, want):
    assert cycles(target, line.format(a=full("a"), b=full("b"), y=full("y")), **types) == approx(want)


@pytest.mark.parametrize("target", TARGETS)
def test_table_load(target):
    busy = cycles(target, 'scalar act_table_load set="natural_log_exp_and_others"') / value(target, "clock", "scalar")
    assert busy == approx(value(target, "cost", "activation_table_load"))
