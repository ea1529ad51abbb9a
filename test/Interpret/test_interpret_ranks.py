"""Collectives between ranks in the reference interpreter, against NumPy: the four ways to say groups, padded groups, loops, all types."""

import glia
import ml_dtypes
import numpy as np
import pytest

if not hasattr(glia._glia, "interpret_ranks"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from glia.reference import _array, _tuples

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
X = np.random.default_rng(0).standard_normal((6, 4, 6)).astype(np.float32)  # by rank


def ranks(text, inputs):
    return [[_array(x) for x in rank] for rank in glia._glia.interpret_ranks(text, [_tuples(i) for i in inputs])]


def table(groups):
    return f"dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>"


def module(body, argument="tensor<4x6xf32>", result="tensor<4x6xf32>", replicas=1, partitions=6):
    return f"""module attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = {partitions} : i32}} {{
func.func @main(%x: {argument}) -> {result} {{
{body}
return %r : {result}
}}
}}"""


def all_reduce(groups, attributes="", argument="tensor<4x6xf32>", operation="add", name="%r", of="%x"):
    scalar = "tensor<" + argument.split("x", argument.count("x") - argument.count("ex<"))[-1]
    return f"""{name} = "stablehlo.all_reduce"({of}) <{{{attributes}replica_groups = {table(groups)}}}> ({{
^bb0(%a: {scalar}, %b: {scalar}):
  %s = stablehlo.{operation} %a, %b : {scalar}
  stablehlo.return %s : {scalar}
}}) : ({argument}) -> {argument}"""


GLOBAL = CHANNEL.replace("channel", "use_global_device_ids, channel", 1)


@pytest.mark.parametrize(
    "attributes, groups, want",  # 2 replicas of 3 partitions; rank = replica * 3 + partition
    [
        ("", [[0, 1]], [[0, 3], [1, 4], [2, 5], [0, 3], [1, 4], [2, 5]]),
        (CHANNEL, [[0], [1]], [[0, 1, 2]] * 3 + [[3, 4, 5]] * 3),
        (CHANNEL, [[1, 0]], [[0, 1, 2, 3, 4, 5]] * 6),
        (GLOBAL, [[0, 5, 2], [4, 3, 1]], [[0, 2, 5], [1, 3, 4], [0, 2, 5], [1, 3, 4], [1, 3, 4], [0, 2, 5]]),
        (GLOBAL, [[0, 1, 2, 3], [4, -1, -1, 5]], [[0, 1, 2, 3]] * 4 + [[4, 5]] * 2),
    ],
)
def test_groups(attributes, groups, want):
    got = ranks(module(all_reduce(groups, attributes), replicas=2, partitions=3), [[x] for x in X])
    for rank, members in enumerate(want):
        np.testing.assert_allclose(got[rank][0], X[members].sum(0), rtol=1e-6, atol=1e-6)


def test_partitions_of_each_replica():
    body = f'%r = "stablehlo.all_to_all"(%x) <{{{CHANNEL}concat_dimension = 0 : i64, replica_groups = {table([[2, 0, 1]])}, split_count = 3 : i64, split_dimension = 1 : i64}}> : (tensor<4x6xf32>) -> tensor<12x2xf32>'
    got = ranks(module(body, result="tensor<12x2xf32>", replicas=2, partitions=3), [[x] for x in X])
    order = [2, 0, 1]
    for rank in range(6):
        first, place = rank // 3 * 3, order.index(rank % 3)
        want = np.concatenate([X[first + m][:, 2 * place : 2 * place + 2] for m in order])
        np.testing.assert_array_equal(got[rank][0], want)


def test_gather_and_scatter():
    groups = [[1, 0, 2], [3, 5, 4]]
    body = f"""%g = "stablehlo.all_gather"(%x) <{{all_gather_dim = 1 : i64, {GLOBAL}replica_groups = {table(groups)}}}> : (tensor<4x6xf32>) -> tensor<4x18xf32>
%r = "stablehlo.reduce_scatter"(%g) <{{scatter_dimension = 1 : i64, {GLOBAL}replica_groups = {table(groups)}}}> ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.maximum %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}}) : (tensor<4x18xf32>) -> tensor<4x6xf32>"""
    for rank, (got,) in enumerate(ranks(module(body), [[x] for x in X])):
        np.testing.assert_array_equal(got, X[rank])


def test_permute_and_broadcast():
    pairs, groups = [[0, 1], [1, 0], [2, 5]], [[4, 0], [1, 2]]
    body = f"""%p = "stablehlo.collective_permute"(%x) <{{{CHANNEL}source_target_pairs = {table(pairs)}}}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
%b = "stablehlo.collective_broadcast"(%x) <{{{CHANNEL}replica_groups = {table(groups)}}}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
%r = stablehlo.concatenate %p, %b, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>"""
    zero = np.zeros_like(X[0])
    permuted, spread = [X[1], X[0], zero, zero, zero, X[2]], [X[4], X[1], X[1], zero, X[4], zero]
    for rank, (got,) in enumerate(ranks(module(body, result="tensor<8x6xf32>"), [[x] for x in X])):
        np.testing.assert_array_equal(got, np.concatenate([permuted[rank], spread[rank]]))


def test_numbers():
    body = """%p = stablehlo.partition_id : tensor<ui32>
%q = stablehlo.replica_id : tensor<ui32>
%t = stablehlo.constant dense<10> : tensor<ui32>
%m = stablehlo.multiply %q, %t : tensor<ui32>
%r = stablehlo.add %p, %m : tensor<ui32>"""
    text = module(body, "tensor<f32>", "tensor<ui32>", 2, 3)
    assert [int(r[0]) for r in ranks(text, [[np.float32(0)]] * 6)] == [0, 1, 2, 10, 11, 12]


@pytest.mark.parametrize(
    "dtype, operation, reference",
    [
        (np.int32, "add", np.add),
        (np.int8, "multiply", np.multiply),
        (np.bool_, "and", np.logical_and),
        (np.float64, "minimum", np.minimum),
        (np.complex64, "add", np.add),
        (np.uint16, "xor", np.bitwise_xor),
        (np.int64, "subtract", np.subtract),
    ],
)
def test_types(dtype, operation, reference):
    x = (np.random.default_rng(1).standard_normal((6, 5)) * 100).astype(np.float32)
    x = (x > 0) if dtype is np.bool_ else x.astype(np.int64).astype(dtype)
    name = _tuples([x])[0][0]
    text = module(
        all_reduce([[0, 1, 2, 3, 4, 5]], GLOBAL, f"tensor<5x{name}>", operation),
        f"tensor<5x{name}>",
        f"tensor<5x{name}>",
    )
    want = x[0]
    for member in x[1:]:
        want = reference(want, member).astype(dtype)
    for (got,) in ranks(text, [[m] for m in x]):
        np.testing.assert_array_equal(got, want)


def test_narrow_sums_are_rounded_once():
    x = np.array([[256], [1], [1], [1], [1], [1]], ml_dtypes.bfloat16)  # one by one each 1 would be lost
    text = module(all_reduce([[0, 1, 2, 3, 4, 5]], GLOBAL, "tensor<1xbf16>"), "tensor<1xbf16>", "tensor<1xbf16>")
    want = np.float32(261).astype(ml_dtypes.bfloat16)
    assert all(r[0] == want for r in ranks(text, [[m] for m in x]))


def test_in_a_loop():
    body = f"""%z = stablehlo.constant dense<0> : tensor<i32>
%n = stablehlo.constant dense<3> : tensor<i32>
%o = stablehlo.constant dense<1> : tensor<i32>
%l:2 = stablehlo.while(%c = %x, %i = %z) : tensor<4x6xf32>, tensor<i32>
cond {{
  %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %t : tensor<i1>
}} do {{
  {all_reduce([[0, 1, 2], [3, 4, 5]], GLOBAL, name="%y", of="%c")}
  %j = stablehlo.add %i, %o : tensor<i32>
  stablehlo.return %y, %j : tensor<4x6xf32>, tensor<i32>
}}
%r = stablehlo.negate %l#0 : tensor<4x6xf32>"""
    for rank, (got,) in enumerate(ranks(module(body), [[x] for x in X])):
        first = rank // 3 * 3
        np.testing.assert_allclose(got, -9 * X[first : first + 3].sum(0), rtol=1e-5, atol=1e-5)


def test_a_rank_that_never_comes():
    """Rank 0 goes another way than the others."""
    body = f"""%p = stablehlo.partition_id : tensor<ui32>
%z = stablehlo.constant dense<0> : tensor<ui32>
%t = stablehlo.compare EQ, %p, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
%r = "stablehlo.if"(%t) ({{
  stablehlo.return %x : tensor<4x6xf32>
}}, {{
  {all_reduce([[0, 1, 2, 3, 4, 5]], GLOBAL, name="%y")}
  stablehlo.return %y : tensor<4x6xf32>
}}) : (tensor<i1>) -> tensor<4x6xf32>"""
    with pytest.raises(glia.Error, match=r"GRAPH-INTERPRET.*all_reduce.*rank 1 waits for rank 0, which has ended"):
        ranks(module(body), [[x] for x in X])


def test_an_error_of_one_rank_ends_all():
    body = f"""%p = stablehlo.partition_id : tensor<ui32>
%z = stablehlo.constant dense<4> : tensor<ui32>
%t = stablehlo.compare EQ, %p, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
%q = "stablehlo.if"(%t) ({{
  %b = stablehlo.custom_call @nobody_knows(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  stablehlo.return %b : tensor<4x6xf32>
}}, {{
  stablehlo.return %x : tensor<4x6xf32>
}}) : (tensor<i1>) -> tensor<4x6xf32>
{all_reduce([[0, 1, 2, 3, 4, 5]], GLOBAL, of="%q")}"""
    with pytest.raises(glia.Error, match="nobody_knows"):
        ranks(module(body), [[x] for x in X])


def test_wrong_calls():
    text = module(all_reduce([[0, 1, 2, 3, 4, 5]], GLOBAL))
    with pytest.raises(glia.Error, match=r"GRAPH-ARGUMENT.*6 ranks \(1 replicas of 6 partitions\).*inputs for 2"):
        ranks(text, [[X[0]], [X[1]]])
    with pytest.raises(glia.Error, match=r"GRAPH-INTERPRET.*device 5 has no part in"):
        ranks(module(all_reduce([[0, 1, 2, 3, 4]], GLOBAL)), [[x] for x in X])
    with pytest.raises(glia.Error, match=r"GRAPH-INTERPRET.*several devices, of which there are 6"):
        ranks(module(all_reduce([[0, 1, 2, 3, 4, 7]], GLOBAL)), [[x] for x in X])
