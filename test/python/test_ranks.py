"""Programs of several ranks: every collective of StableHLO, compiled, proved and run, against NumPy."""

import re
import subprocess
from pathlib import Path

import glia
import ml_dtypes
import numpy as np
import pytest
from glia import _glia
from glia.program import Program

TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i32": np.int32, "ui8": np.uint8}


def compiled(body: str, argument: str, result: str, ranks: int, target="trn2", replicas=1) -> Program:
    text = f"""
module @m attributes {{mhlo.num_partitions = {ranks} : i32, mhlo.num_replicas = {replicas} : i32}} {{
  func.func public @main(%x: tensor<{argument}>) -> tensor<{result}> {{
{body}
    return %y : tensor<{result}>
  }}
}}"""
    handle, _ = _glia.compile_graph(text, "<test>", target, "", 1, 1)
    handle.require_verified("graph")
    return Program(handle)


def run(p: Program, x: np.ndarray, **options) -> np.ndarray:
    """One row of the argument for each rank, one row of the result."""
    return p.run({"arg0": x}, **options)["result0"]


def table(groups) -> str:
    rows = ", ".join("[" + ", ".join(map(str, g)) + "]" for g in groups)
    return f"dense<[{rows}]> : tensor<{len(groups)}x{len(groups[0])}xi64>"


def groupings(ranks: int):
    yield [list(range(ranks))]
    yield [[r] for r in range(ranks)]
    if ranks % 2 == 0 and ranks > 2:
        yield [list(range(0, ranks, 2)), list(range(1, ranks, 2))]
        yield [[r + ranks // 2, r] for r in range(ranks // 2)]


def values(rng, shape, dtype) -> np.ndarray:
    """Whole numbers whose sums and products are exact in every type, in any order."""
    return rng.integers(0, 4, shape).astype(dtype)


CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def reducing(name: str, op: str, type: str, groups, more: str = "") -> str:
    return f"""    %y = "stablehlo.{name}"(%x) ({{
    ^bb0(%a: tensor<{type}>, %b: tensor<{type}>):
      %s = stablehlo.{op} %a, %b : tensor<{type}>
      stablehlo.return %s : tensor<{type}>
    }}) {{replica_groups = {table(groups)}, {more}{CHANNEL}, use_global_device_ids}}"""


REDUCE = {
    "add": np.add.reduce,
    "multiply": np.multiply.reduce,
    "maximum": np.maximum.reduce,
    "minimum": np.minimum.reduce,
}


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("type", TYPES)
def test_all_reduce(ranks, type):
    rng = np.random.default_rng(ranks)
    x = values(rng, (ranks, 3, 5), TYPES[type])
    for groups in groupings(ranks):
        op = ("add", "maximum", "minimum", "multiply")[len(groups[0]) % 4] if len(groups[0]) < 8 else "add"
        body = reducing("all_reduce", op, type, groups) + f" : (tensor<3x5x{type}>) -> tensor<3x5x{type}>"
        y = run(compiled(body, f"3x5x{type}", f"3x5x{type}", ranks), x)
        for group in groups:
            want = REDUCE[op](x[group].astype(np.float64)).astype(x.dtype)
            for r in group:
                np.testing.assert_array_equal(y[r], want)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("dim", [0, 1])
def test_all_gather(ranks, dim):
    x = np.random.default_rng(1).standard_normal((ranks, 3, 4)).astype(np.float32)
    for groups in groupings(ranks):
        n = len(groups[0])
        shape = [3, 4]
        shape[dim] *= n
        result = f"{shape[0]}x{shape[1]}xf32"
        body = f"""    %y = "stablehlo.all_gather"(%x) {{all_gather_dim = {dim} : i64, replica_groups = {table(groups)},
      {CHANNEL}, use_global_device_ids}} : (tensor<3x4xf32>) -> tensor<{result}>"""
        y = run(compiled(body, "3x4xf32", result, ranks), x)
        for group in groups:
            for r in group:
                np.testing.assert_array_equal(y[r], np.concatenate(x[group], axis=dim))


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("type", ["f32", "bf16", "i32"])
def test_reduce_scatter(ranks, dim, type):
    for groups in groupings(ranks):
        n = len(groups[0])
        shape, part = [3, 3], [3, 3]
        shape[dim] *= n
        x = values(np.random.default_rng(2), (ranks, *shape), TYPES[type])
        body = (
            reducing("reduce_scatter", "add", type, groups, f"scatter_dimension = {dim} : i64, ")
            + f" : (tensor<{shape[0]}x{shape[1]}x{type}>) -> tensor<{part[0]}x{part[1]}x{type}>"
        )
        y = run(compiled(body, f"{shape[0]}x{shape[1]}x{type}", f"3x3x{type}", ranks), x)
        for group in groups:
            want = np.split(x[group].astype(np.float64).sum(0).astype(x.dtype), n, axis=dim)
            for place, r in enumerate(group):
                np.testing.assert_array_equal(y[r], want[place])


@pytest.mark.parametrize("split, concat", [(0, 0), (0, 1), (1, 0)])
def test_all_to_all(split, concat):
    ranks = 4
    for groups in groupings(ranks):
        n = len(groups[0])
        shape = [4, 8]
        result = list(shape)
        result[split] //= n
        result[concat] *= n
        x = np.random.default_rng(3).standard_normal((ranks, *shape)).astype(np.float32)
        name = f"{result[0]}x{result[1]}xf32"
        body = f"""    %y = "stablehlo.all_to_all"(%x) {{split_dimension = {split} : i64, concat_dimension = {concat} : i64,
      split_count = {n} : i64, replica_groups = {table(groups)}, {CHANNEL}}} : (tensor<4x8xf32>) -> tensor<{name}>"""
        y = run(compiled(body, "4x8xf32", name, ranks), x)
        for group in groups:
            blocks = [np.split(x[r], n, axis=split) for r in group]
            for place, r in enumerate(group):
                np.testing.assert_array_equal(y[r], np.concatenate([b[place] for b in blocks], axis=concat))


@pytest.mark.parametrize("type", ["f32", "i1", "i64", "complex<f32>"])
def test_permute_moves_any_type_and_gives_zeros_without_a_source(type):
    ranks, pairs = 4, [(0, 1), (1, 3), (3, 0)]
    rng = np.random.default_rng(4)
    x = rng.integers(-(2**40), 2**40, (ranks, 5))
    x = {"f32": x.astype(np.float32), "i1": x > 0, "i64": x, "complex<f32>": (x + 1j * x[::-1]).astype(np.complex64)}[
        type
    ]
    body = f"""    %y = "stablehlo.collective_permute"(%x) {{source_target_pairs = {table(pairs)}, {CHANNEL}}}
      : (tensor<5x{type}>) -> tensor<5x{type}>"""
    p = compiled(body, f"5x{type}", f"5x{type}", ranks)
    held = {t.name: t for t in p.tensors}["arg0"]
    given = np.ascontiguousarray(x).view(np.uint8) if type == "i1" else x
    if type in ("i64", "complex<f32>"):
        given = np.ascontiguousarray(x).view(np.uint32 if type == "i64" else np.float32)
    y = run(p, given.reshape(held.shape))
    y = np.ascontiguousarray(y).view(x.dtype).reshape(x.shape)
    want = np.zeros_like(x)
    for source, target in pairs:
        want[target] = x[source]
    np.testing.assert_array_equal(y, want)


def test_broadcast():
    x = np.random.default_rng(5).standard_normal((4, 6)).astype(np.float32)
    body = f"""    %y = "stablehlo.collective_broadcast"(%x) {{replica_groups = {table([[2, 0], [1, 3]])}, {CHANNEL}}}
      : (tensor<6xf32>) -> tensor<6xf32>"""
    y = run(compiled(body, "6xf32", "6xf32", 4), x)
    np.testing.assert_array_equal(y, x[[2, 1, 2, 1]])


def test_replicas_and_partitions_are_told_apart():
    """Without a channel groups are of replicas, with one (and no global numbers) of replicas in all partitions."""
    replicas, partitions = 2, 2
    x = np.float32([[1], [10], [100], [1000]])  # rank = replica * partitions + partition
    for more, want in (("", [101, 1010, 101, 1010]), (f", {CHANNEL}", [1111] * 4)):
        body = f"""    %y = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) {{replica_groups = {table([[0, 1]])}{more}}} : (tensor<1xf32>) -> tensor<1xf32>"""
        y = run(compiled(body, "1xf32", "1xf32", partitions, replicas=replicas), x)
        np.testing.assert_array_equal(y[:, 0], want)


def test_each_rank_knows_its_number():
    body = """    %r = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
    %ten = stablehlo.constant dense<10> : tensor<ui32>
    %t = stablehlo.multiply %r, %ten : tensor<ui32>
    %s = stablehlo.add %t, %p : tensor<ui32>
    %n = stablehlo.convert %s : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %y = stablehlo.add %b, %x : tensor<3xf32>"""
    y = run(compiled(body, "3xf32", "3xf32", 2, replicas=3), np.zeros((6, 3), np.float32))
    np.testing.assert_array_equal(y, np.repeat([[0], [1], [10], [11], [20], [21]], 3, axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_strict_mode_gives_the_same_bytes(seed):
    groups = [[0, 1], [2, 3]]
    body = f"""    %m = stablehlo.tanh %x : tensor<7x9xf32>
    %g = "stablehlo.all_gather"(%m) {{all_gather_dim = 0 : i64, replica_groups = {table(groups)}, {CHANNEL},
      use_global_device_ids}} : (tensor<7x9xf32>) -> tensor<14x9xf32>
    %y = stablehlo.add %g, %g : tensor<14x9xf32>"""
    x = np.random.default_rng(seed).standard_normal((4, 7, 9)).astype(np.float32)
    p = compiled(body, "7x9xf32", "14x9xf32", 4)
    fast = run(p, x)
    np.testing.assert_array_equal(run(p, x, strict=True, seed=seed), fast)
    np.testing.assert_allclose(fast[1], 2 * np.tanh(np.concatenate(x[:2])), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "groups, ranks, what",
    [([[0, 1]], 4, "rank 2 is in no group"), ([[0, 1], [1, 2]], 3, "named twice"), ([[0, 5]], 2, "rank 5")],
)
def test_groups_that_do_not_name_every_rank_once_are_refused(groups, ranks, what):
    body = reducing("all_reduce", "add", "f32", groups) + " : (tensor<4xf32>) -> tensor<4xf32>"
    with pytest.raises(_glia.Error, match="GRAPH-COLLECTIVE") as e:
        compiled(body, "4xf32", "4xf32", ranks)
    assert what in str(e.value)


PARTS = """
target trn2
output y : f32[2, 4]
input x : f32[2, 4]
queue q
.contract "ranks" "4"
.contract "parts.x" "8,4;4,1;0,1,2,3"
.contract "parts.y" "8,4;4,1;3,2,0,1"
gpsimd collective dst=y src=x queue=q kind=permute ranks=4 width=2 groups=[0, 1, 1, 0, 2, 3, 3, 2]
"""


def test_parts_lie_where_the_contract_says():
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    y = glia.assemble(PARTS, target="trn2").run({"x": x})["y"]
    np.testing.assert_array_equal(y, x.reshape(4, 2, 4)[[3, 2, 0, 1]].reshape(8, 4))


@pytest.mark.parametrize(
    "parts", ["8,4;4,1;0,0,0,0", "8,4;4,1;0,1,2", "8,4;4,1;0,1,2,9", "8,4;2,2;0,1,2,3", ";;", "8,4;0,1;0,1,2,3", "x"]
)
@pytest.mark.parametrize("name", ["x", "y"])
def test_contracts_of_parts_that_do_not_fit_are_refused(name, parts):
    text = re.sub(rf'("parts.{name}") ".*"', rf'\1 "{parts}"', PARTS)
    with pytest.raises(glia.Error, match="RANK-PARTS"):
        glia.assemble(text, target="trn2").run({"x": np.zeros((8, 4), np.float32)})


LOOP = """    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %l:2 = stablehlo.while(%i = %i0, %v = %x) : tensor<i32>, tensor<2xi32>
    cond {{
      %n = {bound}
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %s = "stablehlo.collective_permute"(%v) {{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, {channel}}}
        : (tensor<2xi32>) -> tensor<2xi32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<2xi32>
    }}
    %y = stablehlo.add %l#1, %x : tensor<2xi32>"""


def loop(bound: str) -> str:
    return LOOP.format(bound=bound, channel=CHANNEL)


def test_exchanges_in_a_loop():
    x = np.int32([[1, 2], [30, 40]])
    y = run(compiled(loop("stablehlo.constant dense<7> : tensor<i32>"), "2xi32", "2xi32", 2), x)
    np.testing.assert_array_equal(y, x + x[::-1])


@pytest.mark.parametrize(
    "bound",
    [
        "stablehlo.constant dense<300000> : tensor<i32>",
        "stablehlo.convert %bound : (tensor<i32>) -> tensor<i32>",
    ],
)
def test_exchanges_in_a_loop_of_unknown_length_are_refused(bound):
    body = """    %first = stablehlo.slice %x [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %bound = stablehlo.reshape %first : (tensor<1xi32>) -> tensor<i32>
"""
    with pytest.raises(_glia.Error, match="GRAPH-UNSUPPORTED") as e:
        compiled(body + loop(bound), "2xi32", "2xi32", 2)
    assert "ranks exchange values in it" in str(e.value)


def test_a_combination_that_the_machine_does_not_have_is_done_by_each_rank():
    body = f"""    %y = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %d = stablehlo.multiply %a, %b : tensor<f32>
      %s = stablehlo.add %a, %b : tensor<f32>
      %r = stablehlo.add %s, %d : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }}) {{replica_groups = {table([[0, 1, 2]])}, {CHANNEL}, use_global_device_ids}} : (tensor<4xf32>) -> tensor<4xf32>"""
    x = np.random.default_rng(6).integers(0, 5, (3, 4)).astype(np.float32)
    y = run(compiled(body, "4xf32", "4xf32", 3), x)
    want = x[0]
    for row in x[1:]:
        want = want + row + want * row
    np.testing.assert_array_equal(y, np.repeat(want[None], 3, axis=0))


def test_what_the_contract_says_of_parts_is_verified():
    assert glia.assemble(PARTS, target="trn2").verify().ok
    found = glia.assemble(PARTS.replace("3,2,0,1", "0,0,0,0"), target="trn2").verify()
    assert [d.code for d in found.diagnostics] == ["RANK-PARTS"]


def test_a_profile_says_how_many_ranks_and_where():
    said = glia.assemble(PARTS, target="trn2").profile().summary()
    assert "one of 4 ranks" in said and "trn2.48xlarge (assumed: --topology names another)" in said


@pytest.mark.parametrize("kind, status, said", [("add", 0, "2 ranks: proved together"), ("max", 1, "RANK-MISMATCH")])
def test_ranks_with_programs_of_their_own_are_verified_together(tmp_path, kind, status, said):
    for name, op in (("first", "add"), ("second", kind)):
        (tmp_path / f"{name}.gasm").write_text(f"""
target trn2
input x : f32[4]
output y : f32[4]
queue q
gpsimd collective dst=y src=x queue=q kind=all_reduce op={op} ranks=2 width=2 groups=[0, 1]
""")
    tool = Path(glia.__file__).parents[2] / "bin" / "glia"
    r = subprocess.run(
        [tool, "verify", tmp_path / "first.gasm", "--rank", tmp_path / "second.gasm"], capture_output=True, text=True
    )
    assert r.returncode == status and said in r.stdout + r.stderr, r.stdout + r.stderr


BESIDE = """
module @m attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<4096x512xf32>, %a: tensor<512x512xf32>) -> (tensor<4096x512xf32>, tensor<512x512xf32>) {
    %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids, CHANNEL} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
    PRODUCTS
    return %y, %aN : tensor<4096x512xf32>, tensor<512x512xf32>
  }
}"""


def test_an_exchange_goes_on_beside_what_does_not_need_it():
    """The products take about as long as the exchange, and both together little more than either."""

    def made(exchange: bool, products: int) -> Program:
        lines = [
            f"%a{i + 1 if i + 1 < products else 'N'} = stablehlo.dot_general %{f'a{i}' if i else 'a'}, %a, contracting_dims = [1] x [0] "
            ": (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>"
            for i in range(products)
        ] or ["%aN = stablehlo.add %a, %a : tensor<512x512xf32>"]
        text = BESIDE.replace("PRODUCTS", "\n    ".join(lines)).replace("CHANNEL", CHANNEL)
        if not exchange:
            text = re.sub(r'"stablehlo.all_reduce".*?->', "stablehlo.add %x, %x :", text, flags=re.S)
        handle, _ = _glia.compile_graph(text, "<test>", "trn2", "", 1, 1)
        handle.require_verified("graph")
        return Program(handle)

    alone, work, both = made(True, 0), made(False, 12), made(True, 12)
    times = [p.profile(timeline=False).total for p in (alone, work, both)]
    assert times[2] < 0.75 * (times[0] + times[1])
    rng = np.random.default_rng(3)
    x, a = rng.integers(0, 4, (4, 4096, 512)).astype(np.float32), np.eye(512, dtype=np.float32)[rng.permutation(512)]
    for strict, seed in ((False, 0), (True, 1)):
        found = both.run({"arg0": x, "arg1": np.stack([a] * 4)}, strict=strict, seed=seed)
        assert (found["result0"] == x.sum(0)).all()
        assert (found["result1"] == np.linalg.matrix_power(a, 13)).all()


STREAMS = """
module @m attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(ARGUMENTS) -> (RESULTS) {
    BODY
    return NAMES : RESULTS
  }
}"""


def streams(exchanges: list[tuple[int, int]], cores: int) -> Program:
    """Sums over ranks of f32[so many, 128], one after the other in the text, and as many products behind each of them as are said."""
    body, arguments, names, types = [], [], [], []
    for i, (tall, _) in enumerate(exchanges):
        shape = f"tensor<{tall}x128xf32>"
        arguments += [f"%x{i}: {shape}"]
        body.append(
            reducing("all_reduce", "add", "f32", [[0, 1, 2, 3]]).replace("%y =", f"%y{i} =").replace("%x", f"%x{i}")
            + f" : ({shape}) -> {shape}"
        )
    arguments.append("%m: tensor<128x128xf32>")
    for i, (tall, products) in enumerate(exchanges):
        shape = f"tensor<{tall}x128xf32>"
        for p in range(products):
            body.append(
                f"%p{i}_{p} = stablehlo.dot_general %{f'p{i}_{p - 1}' if p else f'y{i}'}, %m, contracting_dims = [1] x [0] "
                f": ({shape}, tensor<128x128xf32>) -> {shape}"
            )
        names.append(f"%p{i}_{products - 1}" if products else f"%y{i}")
        types.append(shape)
    text = STREAMS.replace("ARGUMENTS", ", ".join(arguments)).replace("BODY", "\n    ".join(body))
    text = text.replace("NAMES : RESULTS", f"{', '.join(names)} : {', '.join(types)}")
    text = text.replace("RESULTS", ", ".join(types))
    handle, _ = _glia.compile_graph(text, "<test>", "trn2", "", cores, 1)
    handle.require_verified("graph")
    return Program(handle)


@pytest.mark.parametrize("cores", [1, 2])
def test_exchanges_that_do_not_need_each_other_go_on_at_the_same_time(cores):
    one, four = streams([(128, 1)], cores), streams([(128, 1)] * 4, cores)
    assert four.profile(timeline=False).total < 2.3 * one.profile(timeline=False).total
    rng = np.random.default_rng(4)
    m = np.eye(128, dtype=np.float32)[rng.permutation(128)]
    inputs = {f"arg{i}": rng.integers(0, 4, (4, 128, 128)).astype(np.float32) for i in range(4)}
    for strict, seed in ((False, 0), (True, 1), (True, 2), (True, 3)):
        found = four.run({**inputs, "arg4": np.stack([m] * 4)}, strict=strict, seed=seed)
        for i in range(4):
            assert (found[f"result{i}"] == inputs[f"arg{i}"].sum(0) @ m).all()


@pytest.mark.parametrize("cores", [1, 2])
def test_what_needs_one_exchange_does_not_wait_for_another(cores):
    """A long exchange, and a short one with products behind it, which are over in little more than the time of the long one."""
    long, short, both = (streams(x, cores) for x in ([(8192, 0)], [(128, 40)], [(8192, 0), (128, 40)]))
    times = [p.profile(timeline=False).total for p in (long, short, both)]
    assert times[1] > 0.4 * times[0]
    assert times[2] < 0.8 * (times[0] + times[1])


@pytest.mark.parametrize("seed", range(12))
def test_kernels_and_exchanges_in_any_order(seed):
    """Sums, products and exchanges at random, each of values that are there, on one core and on two: proved, and right in every mode."""
    rng = np.random.default_rng(seed)
    lines, values = [], ["%x0", "%x1"]
    given = {f"arg{i}": rng.integers(-2, 3, (4, 64, 64)).astype(np.float32) for i in range(2)}
    known = {"%x0": given["arg0"], "%x1": given["arg1"]}
    shape = "tensor<64x64xf32>"
    for i in range(14):
        a, b = (values[max(0, len(values) - 1 - int(rng.integers(0, 6)))] for _ in range(2))
        kind, name = rng.choice(["all_reduce", "permute", "multiply", "maximum", "add"]), f"%v{i}"
        x, y = known[a], known[b]
        if kind == "all_reduce":
            groups = [[0, 1, 2, 3]] if rng.integers(0, 2) else [[0, 2], [3, 1]]
            text = (
                reducing("all_reduce", "maximum", "f32", groups).replace("%y =", f"{name} =").replace("(%x)", f"({a})")
            )
            lines.append(f"{text} : ({shape}) -> {shape}")
            known[name] = np.stack([x[next(g for g in groups if r in g)].max(0) for r in range(4)])
        elif kind == "permute":
            lines.append(
                f'{name} = "stablehlo.collective_permute"({a}) {{source_target_pairs = {table([[0, 1], [1, 2], [2, 3], [3, 0]])}, '
                f"{CHANNEL}}} : ({shape}) -> {shape}"
            )
            known[name] = np.roll(x, 1, 0)
        else:
            lines.append(f"{name} = stablehlo.{kind} {a}, {b} : {shape}")
            known[name] = {"multiply": np.multiply, "maximum": np.maximum, "add": np.add}[kind](x, y)
        values.append(name)
    text = STREAMS.replace("ARGUMENTS", f"%x0: {shape}, %x1: {shape}").replace("BODY", "\n    ".join(lines))
    text = text.replace("NAMES", ", ".join(values[2:])).replace("RESULTS", ", ".join([shape] * 14))
    for cores in (1, 2):
        handle, _ = _glia.compile_graph(text, "<test>", "trn2", "", cores, 1)
        handle.require_verified("graph")
        for strict in (False, True):
            found = Program(handle).run(given, strict=strict, seed=seed + 1)
            for i, name in enumerate(values[2:]):
                np.testing.assert_array_equal(found[f"result{i}"], known[name])


def test_a_profile_says_what_exchanges_ask_of_the_links():
    """Eight ranks of a chip give 4 MB each to the ranks of the next chip, twice: the links along x carry 256 bytes a nanosecond (trn2.48xlarge)."""
    pairs = table([[r, (r + 8) % 16] for r in range(16)])
    move = (
        '"stablehlo.collective_permute"(%{}) {{source_target_pairs = '
        + pairs
        + ", "
        + CHANNEL.replace("{", "{{")
        + "}} : "
    )
    body = "\n".join(
        f"    %{to} = " + move.format(of) + "(tensor<1024x1024xf32>) -> tensor<1024x1024xf32>"
        for of, to in (("x", "m"), ("m", "y"))
    )
    p = compiled(body, "1024x1024xf32", "1024x1024xf32", 16)
    profile = p.profile()
    use = {link.name: link for link in profile.links}
    assert use["links along x"].busy == pytest.approx(2 * 8 * 4 * 2**20 / 256, rel=1e-3)
    assert "links along y" not in use and "EFA" not in use
    times = [t for t, _ in use["links along x"].shares]
    assert times == sorted(times) and use["links along x"].shares[-1][1] == 0
    assert all(0 < link.most <= 1.001 for link in profile.links)
    said = profile.summary()
    assert f"links along x        {100 * use['links along x'].busy / profile.total:5.1f} % of the run" in said
    assert "links along x" in profile.draw() and "links along x" in profile.html()
