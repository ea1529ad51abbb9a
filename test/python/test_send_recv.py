"""stablehlo.send and stablehlo.recv between ranks, against NumPy: compiled, and in the reference."""

import glia
import numpy as np
import pytest

if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from glia.neuron.compile import compile_module
from glia.program import numpy_dtype
from glia.reference import _array, _tuples


def moved(x, pairs):
    """What each rank gets, of x[ranks, ...]."""
    y = np.zeros_like(x)
    for source, target in pairs:
        y[target] = x[source]
    return y


def ends(pairs, channel=1, kind=1, host="false"):
    table = f"dense<{pairs}> : tensor<{len(pairs)}x2xi64>"
    handle = f"#stablehlo.channel_handle<handle = {channel}, type = {kind}>"
    return f"<{{channel_handle = {handle}, is_host_transfer = {host}, source_target_pairs = {table}}}>"


def send(name, values, token, tensors, to):
    types = ", ".join([*tensors, "!stablehlo.token"])
    return f'%{name} = "stablehlo.send"({", ".join([*values, token])}) {to} : ({types}) -> !stablehlo.token'


def recv(name, token, tensors, by):
    types = ", ".join([*tensors, "!stablehlo.token"])
    return f'%{name}:{len(tensors) + 1} = "stablehlo.recv"({token}) {by} : (!stablehlo.token) -> ({types})'


def module(lines, results, arguments=("tensor<4x6xf32>",), replicas=1, partitions=4):
    given = ", ".join(f"%x{i}: {a}" for i, a in enumerate(arguments))
    names, types = ", ".join(n for n, _ in results), ", ".join(t for _, t in results)
    body = "\n".join(lines)
    return f"""module attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = {partitions} : i32}} {{
func.func @main({given}) -> ({types}) {{
%t = stablehlo.create_token : !stablehlo.token
{body}
return {names} : {types}
}}
}}"""


def both(text, *inputs):
    """By the program and by the reference, results of all ranks in front."""
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    held = {t.name: t for t in program.tensors}  # 64-bit numbers as two words, truth values as bytes
    given = {f"arg{i}": x for i, x in enumerate(inputs)}
    made = program.run({n: x.view(numpy_dtype(held[n].dtype)).reshape(held[n].shape) for n, x in given.items()})
    ranks = glia._glia.interpret_ranks(text, [_tuples(list(rank)) for rank in zip(*inputs, strict=True)])
    reference = [np.stack([_array(t) for t in result]) for result in zip(*ranks, strict=True)]
    return [made[f"result{i}"].view(r.dtype).reshape(r.shape) for i, r in enumerate(reference)], reference


T = "tensor<4x6xf32>"
X = np.random.default_rng(0).standard_normal((4, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("pairs", [[[0, 1]], [[0, 1], [1, 2], [2, 3]], [[0, 3], [3, 1], [1, 0], [2, 2]]])
@pytest.mark.parametrize("replicas", [1, 4])  # channel 0 is between replicas
def test_one_pair(pairs, replicas):
    by = ends(pairs, channel=int(replicas == 1))
    lines = [send("s", ["%x0"], "%t", [T], by), recv("r", "%s", [T], by)]
    text = module(lines, [("%r#0", T)], replicas=replicas, partitions=4 // replicas)
    for got in both(text, X):
        np.testing.assert_array_equal(got[0], moved(X, pairs))


def test_several_tensors_of_several_types():
    x, n, z, b = (
        X,
        np.arange(12, dtype=np.int64).reshape(4, 3) << 40,
        (X[:, 0] + 1j * X[:, 1]).astype(np.complex64),
        X[:, 2] > 0,
    )
    types = [T, "tensor<3xi64>", "tensor<6xcomplex<f32>>", "tensor<6xi1>"]
    pairs = [[3, 0], [0, 2], [1, 1]]
    values = [f"%x{i}" for i in range(4)]
    lines = [send("s", values, "%t", types, ends(pairs)), recv("r", "%s", types, ends(pairs))]
    text = module(lines, [(f"%r#{i}", t) for i, t in enumerate(types)], types)
    got, reference = both(text, x, n, z, b)
    for i, want in enumerate((x, n, z, b)):
        np.testing.assert_array_equal(got[i], moved(want, pairs))
        np.testing.assert_array_equal(reference[i], moved(want, pairs))


def test_the_first_of_a_channel_meets_the_first():
    """Two of channel 1 with one of channel 2 between them, and what was received is sent on."""
    first, second, other = [[0, 1], [1, 0]], [[2, 3]], [[1, 2]]
    lines = [
        send("s0", ["%x0"], "%t", [T], ends(first)),
        f"%n = stablehlo.negate %x0 : {T}",
        send("s1", ["%n"], "%t", [T], ends(second)),
        recv("r0", "%s1", [T], ends(first)),
        send("s2", ["%r0#0"], "%r0#1", [T], ends(other, 2)),
        recv("r2", "%s2", [T], ends(other, 2)),
        recv("r1", "%t", [T], ends(second)),
    ]
    for got in both(module(lines, [(f"%r{i}#0", T) for i in range(3)]), X):
        np.testing.assert_array_equal(got[0], moved(X, first))
        np.testing.assert_array_equal(got[1], moved(-X, second))
        np.testing.assert_array_equal(got[2], moved(moved(X, first), other))


def test_on_one_device():
    lines = [send("s", ["%x0"], "%t", [T], ends([[0, 0]])), recv("r", "%s", [T], ends([[0, 0]]))]
    program, _ = compile_module(module(lines, [("%r#0", T)], partitions=1), "m.mlir", "trn2", None)
    np.testing.assert_array_equal(program.run({"arg0": X[0]})["result0"], X[0])


PAIR = ends([[0, 1]])
NOBODY = PAIR.replace("dense<[[0, 1]]> : tensor<1x2xi64>", "dense<> : tensor<0x2xi64>")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([send("s", ["%x0"], "%t", [T], ends([[0, 1]], kind=2, host="true"))], "with the host"),
        ([recv("r", "%t", [T], ends([[0, 1]], kind=3, host="true"))], "with the host"),
        ([send("s", ["%x0"], "%t", [T], PAIR)], "nobody receives from its channel"),
        ([recv("r", "%t", [T], PAIR), send("s", ["%x0"], "%r#1", [T], PAIR)], "nothing is sent to its channel before"),
        ([send("s", ["%x0"], "%t", [T], PAIR), recv("r", "%t", [T], ends([[1, 0]]))], "other pairs of ranks"),
        ([send("s", ["%x0"], "%t", [T], PAIR), recv("r", "%t", ["tensor<3xf32>"], PAIR)], "tensors of other types"),
        ([send("s", ["%x0"], "%t", [T], NOBODY), recv("r", "%t", [T], NOBODY)], "who sends to whom"),
        ([send("s", ["%x0"], "%t", [T], ends([[0, 9]])), recv("r", "%t", [T], ends([[0, 9]]))], "9"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(lines, said):
    with pytest.raises(glia.Error) as e:
        compile_module(module(lines, [("%x0", T)]), "m.mlir", "trn2", None)
    [d] = e.value.diagnostics
    assert d.code == "GRAPH-COLLECTIVE" and said in d.message and d.advice and d.line
