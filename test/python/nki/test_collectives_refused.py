"""What nki.collectives refuses, and where it says so."""

import glia
import numpy as np
import pytest
from glia import nki
from glia.nki import collectives as ncc
from glia.nki import language as nl
from glia.nki.collectives import ReplicaGroup
from rank_kernels import ALL, exchange, run, small


def refused(call, shape=(4, 6), ranks=2, buffer=nl.private_hbm, result=None, code="NKI-COLLECTIVE", dtype=np.float32):
    x = np.zeros((ranks, *shape), dtype)
    with pytest.raises(glia.Error) as e:
        run(x, call, shape=result, buffer=buffer)
    d = next(d for d in e.value.diagnostics if d.code == code)
    assert d.file == __file__ and d.line > 0 and d.advice
    return d.message + " " + d.advice


@pytest.mark.parametrize(
    "groups, ranks, says",
    [
        ([[0, 1], [1, 2]], 3, "names rank 1 twice"),
        ([[0, 1]], 3, "does not name rank 2 of 3"),
        ([[0, 1, 2]], 2, "names rank 2, and the kernel is for 2 ranks"),
        ([[0], [1, 2]], 3, "different sizes"),
        ([], 2, "lists of ranks"),
        ([[0, "1"]], 2, "in place of a list of ranks"),
        (None, 2, "replica_group"),
    ],
)
def test_groups_that_are_wrong(groups, ranks, says):
    assert says in refused(lambda s, d: ncc.all_reduce(s, d, ReplicaGroup(groups), nl.add), ranks=ranks)


@pytest.mark.parametrize(
    "call, says, more",
    [
        (lambda s, d: ncc.all_reduce(s, d, ALL, nl.multiply), "op of all_reduce is multiply", {}),
        (lambda s, d: ncc.all_reduce(s, d, ALL, nl.add), "dst of all_reduce has shape (8, 6)", {"result": (8, 6)}),
        (lambda s, d: ncc.all_reduce(s[0], d, ALL, nl.add), "must be a list of tensors", {}),
        (lambda s, d: ncc.all_reduce(s * 2, d, ALL, nl.add), "2 srcs and 1 dsts", {}),
        (lambda s, d: ncc.all_gather(s, d, ALL, 1), "collective_dim of all_gather is 1", {}),
        (lambda s, d: ncc.all_gather(s, d, ALL, 0), "src (4, 6) gives (8, 6)", {}),
        (lambda s, d: ncc.all_gather(s, d, ALL, 2), "it is 0 or 1", {"buffer": nl.sbuf}),
        (lambda s, d: ncc.reduce_scatter(s, d, ALL, 0, nl.add), "Make it a multiple of 2", {"shape": (5, 6)}),
        (lambda s, d: ncc.reduce_scatter(s, d, ALL, 0, nl.add), "src (4, 6) gives (2, 6)", {}),
        (lambda s, d: ncc.reduce_scatter(s, d, ALL, 1, nl.add), "it is 0", {"buffer": nl.sbuf}),
        (lambda s, d: ncc.all_to_all(s, d, ALL, 0), "HBM only", {"buffer": nl.sbuf}),
        (lambda s, d: ncc.collective_permute(s, d, [(0, 1)]), "HBM only", {"buffer": nl.sbuf}),
        (lambda s, d: ncc.collective_permute(s * 2, d * 2, [(0, 1)]), "takes one tensor, not 2", {}),
        (lambda s, d: ncc.collective_permute(s, d, [(0, 1), (1, 1)]), "a target twice", {}),
        (lambda s, d: ncc.collective_permute(s, d, [(0, 2)]), "no rank of the kernel", {}),
        (lambda s, d: ncc.collective_permute(s, d, [0, 1]), "list of (source, target)", {}),
        (lambda s, d: ncc.collective_permute_implicit([s], [d], ALL, [1]), "consecutive integers", {}),
        (lambda s, d: ncc.collective_permute_implicit([s], [d], ALL, [0, 1]), "2 channels", {}),
        (lambda s, d: ncc.all_reduce(s * 2, d * 2, ALL, nl.add), "in SBUF takes one tensor", {"buffer": nl.sbuf}),
        (
            lambda s, d: ncc.all_reduce(s, d, ALL, nl.add),
            "takes two dimensions",
            {"buffer": nl.sbuf, "shape": (4, 3, 2)},
        ),
        (lambda s, d: ncc.all_reduce(s, d, ALL, nl.add, priority=0), "priority", {"code": "NKI-ARGUMENT"}),
    ],
)
def test_calls_that_are_wrong(call, says, more):
    assert says in refused(call, **more)


def test_mixed_memories_and_types():
    def mixed(s, d):
        ncc.all_reduce(s, [nl.ndarray((4, 6), nl.float32)], ALL, nl.add)

    def psum(s, d):
        ncc.all_reduce([nl.ndarray((4, 6), nl.float32, buffer=nl.psum)], d, ALL, nl.add)

    def types(s, d):
        ncc.all_reduce(s, [nl.ndarray((4, 6), nl.bfloat16, buffer=nl.private_hbm)], ALL, nl.add)

    assert "mixes SBUF and HBM" in refused(mixed)
    assert "in PSUM" in refused(psum)
    assert "float32 to bfloat16" in refused(types)


@pytest.mark.parametrize("name", ["all_gather_v", "all_to_all_v"])
def test_sizes_that_are_known_later_are_refused_by_name(name):
    assert name in refused(lambda s, d: getattr(ncc, name)(s, d, ALL, s[0]), code="NKI-UNSUPPORTED")


def test_arrays_without_the_axis():
    kernel = nki.simulate(exchange, ranks=4)
    with pytest.raises(glia.Error, match="NKI-RANKS") as e:
        kernel(np.zeros((3, 4), np.float32), lambda s, d: None, (), (4,), nl.private_hbm)
    assert "`x` has shape (3, 4)" in str(e.value)
    for ranks in (0, -1, 4097, 2.0, True):
        with pytest.raises(glia.Error, match="NKI-RANKS"):
            nki.simulate(exchange, ranks=ranks)


def test_arrays_of_jax():
    jax = pytest.importorskip("jax")

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        ncc.all_reduce([x], [out], ALL, nl.add)
        return out

    both, x = nki.simulate(kernel, ranks=2), small((2, 4, 5), np.float32)
    y = both(jax.numpy.asarray(x))
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(y, np.broadcast_to(x.sum(0), x.shape))
    with pytest.raises(glia.Error, match="NKI-RANKS"):
        jax.jit(both)(x)


def test_what_follows_a_kernel_is_for_one_rank(capsys):
    @nki.jit
    def kernel(x):
        root = nl.rsqrt(nl.load(x))
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, root)
        return out

    x = np.full((2, 4, 5), -1, np.float32)
    assert np.isnan(nki.simulate(kernel, ranks=2)(x)).all()
    assert "RUN-NAN" in capsys.readouterr().err
    compiled = glia.compile(kernel, x, ranks=2)
    assert np.isnan(compiled.run(x)).all()
    for follow in (lambda: compiled.run(x, watch=["root"]), lambda: compiled.compare(lambda x: None, x)):
        with pytest.raises(glia.Error, match="NKI-RANKS"):
            follow()


def test_in_place_is_refused():
    with pytest.raises(glia.Error, match="OPERAND-OVERLAP"):
        run(small((2, 4, 5), np.float32), lambda s, d: ncc.all_reduce(s, s, ALL, nl.add))


def test_a_collective_outside_of_a_kernel():
    with pytest.raises(glia.Error, match="NKI-OUTSIDE"):
        ncc.rank_id()
