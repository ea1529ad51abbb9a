"""nki.collectives: kernels that several ranks run, against NumPy."""

import glia
import ml_dtypes
import numpy as np
import pytest
from glia import nki
from glia.nki import collectives as ncc
from glia.nki import isa as nisa
from glia.nki import language as nl
from glia.nki.collectives import ReplicaGroup
from rank_kernels import ALL, exchange, place, run, small

RANKS = [1, 2, 3, 4, 8]
TYPES = [np.float32, ml_dtypes.bfloat16, np.float16, np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8]
REDUCE = {nl.add: np.add, nl.maximum: np.maximum, nl.minimum: np.minimum}


def groupings(ranks):
    yield [list(range(ranks))]
    yield [[r] for r in reversed(range(ranks))]
    if ranks % 2 == 0 and ranks > 2:
        yield [list(range(1, ranks, 2)), list(range(0, ranks, 2))]


@pytest.mark.parametrize("buffer", [nl.private_hbm, nl.sbuf], ids=["hbm", "sbuf"])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("ranks", RANKS)
def test_all_reduce(ranks, dtype, buffer):
    x = small((ranks, 16, 24), dtype, ranks)
    for n, groups in enumerate(groupings(ranks)):
        op = list(REDUCE)[(n + ranks) % 3]
        y = run(x, ncc.all_reduce, ReplicaGroup(groups), op, buffer=buffer)
        for g in groups:
            want = REDUCE[op].reduce(x[g].astype(np.float64)).astype(dtype)
            for r in g:
                np.testing.assert_array_equal(y[r], want)


@pytest.mark.parametrize(
    "buffer, dim", [(nl.private_hbm, 0), (nl.sbuf, 0), (nl.sbuf, 1)], ids=["hbm", "sbuf0", "sbuf1"]
)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("ranks", RANKS)
def test_all_gather(ranks, dtype, buffer, dim):
    x = small((ranks, 8, 12), dtype)
    for groups in groupings(ranks):
        n = len(groups[0])
        shape = (8 * n, 12) if dim == 0 else (8, 12 * n)
        y = run(x, ncc.all_gather, ReplicaGroup(groups), dim, shape=shape, buffer=buffer)
        for g in groups:
            for r in g:
                np.testing.assert_array_equal(y[r], np.concatenate(x[g], axis=dim))


@pytest.mark.parametrize("buffer", [nl.private_hbm, nl.sbuf], ids=["hbm", "sbuf"])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("ranks", RANKS)
def test_reduce_scatter(ranks, dtype, buffer):
    x = small((ranks, 24, 5), dtype, 1)
    for groups in groupings(ranks):
        n = len(groups[0])
        y = run(x, ncc.reduce_scatter, ReplicaGroup(groups), 0, nl.add, shape=(24 // n, 5), buffer=buffer)
        for g in groups:
            parts = np.split(x[g].astype(np.float64).sum(0).astype(dtype), n)
            for r, part in zip(g, parts):
                np.testing.assert_array_equal(y[r], part)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("ranks", RANKS)
def test_all_to_all(ranks, dtype):
    x = small((ranks, 24, 3, 2), dtype, 2)
    for groups in groupings(ranks):
        n = len(groups[0])
        y = run(x, ncc.all_to_all, ReplicaGroup(groups), 0)
        for g in groups:
            for i, r in enumerate(g):
                np.testing.assert_array_equal(y[r], np.concatenate([np.split(x[m], n)[i] for m in g]))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("ranks", RANKS)
def test_permute(ranks, dtype):
    x = small((ranks, 6, 7), dtype, 3)
    pairs = [(r, (r * 3 + 1) % ranks) for r in range(ranks)] if ranks in (1, 2, 4, 8) else [(0, 2), (2, 1)]
    y = run(x, ncc.collective_permute, pairs)
    want = np.zeros_like(x)
    for a, b in pairs:
        want[b] = x[a]
    np.testing.assert_array_equal(y, want)


def test_several_tensors_at_once():
    @nki.jit
    def kernel(a, b):
        outs = [nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm) for t in (a, b)]
        ncc.all_reduce([a, b], outs, ReplicaGroup([[0, 1, 2]]), nl.add)
        return tuple(outs)

    a, b = small((3, 5, 4), np.float32), small((3, 9), np.int32)
    ya, yb = nki.simulate(kernel, ranks=3)(a, b)
    np.testing.assert_array_equal(ya, np.broadcast_to(a.sum(0), a.shape))
    np.testing.assert_array_equal(yb, np.broadcast_to(b.sum(0), b.shape))


@pytest.mark.parametrize("ranks", RANKS)
def test_each_rank_knows_its_number(ranks):
    @nki.jit
    def kernel(table):
        out = nl.ndarray((1, 4), table.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((1, 4), table.dtype)
        nisa.dma_copy(dst=tile, src=table.ap([[4, 1], [1, 4]], 0, scalar_offset=ncc.rank_id(), indirect_dim=0))
        nisa.dma_copy(dst=out, src=tile)
        return out

    table = np.random.default_rng(0).standard_normal((ranks, 4)).astype(np.float32)
    y = nki.simulate(kernel, ranks=ranks)(np.broadcast_to(table, (ranks, ranks, 4)))
    np.testing.assert_array_equal(y[:, 0], table)


def ring_gather(x, group, channels=1):
    """All parts of a group's ring, each where its rank says, a step at a time."""
    n = len(group.groups[0])
    rows, columns = x.shape
    out = nl.ndarray((n, rows, columns), x.dtype, buffer=nl.shared_hbm)
    here = [nl.ndarray((rows, columns), x.dtype) for _ in range(channels)]
    for t in here:
        nisa.dma_copy(dst=t, src=x)
    for step in range(n):
        whose = ncc.collective_permute_implicit_current_processing_rank_id(step, group)
        at = out.ap([[columns, rows], [1, columns]], 0, scalar_offset=whose, indirect_dim=0)
        nisa.dma_copy(dst=at, src=here[step % channels])
        there = [nl.ndarray((rows, columns), x.dtype) for _ in range(channels)]
        ncc.collective_permute_implicit([[t] for t in here], [[t] for t in there], group, list(range(channels)))
        here = there
    return out


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring_brings_every_part_to_its_place(ranks, channels):
    x = np.random.default_rng(0).standard_normal((ranks, 8, 6)).astype(np.float32)
    order = list(np.random.default_rng(ranks).permutation(ranks))
    y = nki.simulate(nki.jit(ring_gather), ranks=ranks)(x, ReplicaGroup([[int(r) for r in order]]), channels)
    np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))


@pytest.mark.parametrize("buffer", [nl.private_hbm, nl.sbuf], ids=["hbm", "sbuf"])
@pytest.mark.parametrize("op", REDUCE, ids=repr)
@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring_that_combines(ranks, op, buffer):
    groups = [list(range(ranks))] if ranks % 2 else [list(range(ranks // 2)), list(range(ranks // 2, ranks))]

    @nki.jit
    def kernel(a, b):
        parts = [place(buffer, a.shape, a.dtype) for _ in range(3)]
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=parts[0], src=a)
        nisa.dma_copy(dst=parts[1], src=b)
        ncc.collective_permute_implicit_reduce([[parts[0]]], [[parts[1]]], [[parts[2]]], ReplicaGroup(groups), op)
        nisa.dma_copy(dst=out, src=parts[2])
        return out

    a, b = small((ranks, 100, 30), np.float32), small((ranks, 100, 30), np.float32, 1)
    y = nki.simulate(kernel, ranks=ranks)(a, b)
    for g in groups:
        for i, r in enumerate(g):
            before = g[i - 1]
            np.testing.assert_array_equal(y[r], REDUCE[op](a[before], b[before]))


def test_large_tensors_are_combined_in_pieces():
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        ncc.collective_permute_implicit_reduce([[a]], [[b]], [[out]], ReplicaGroup([[0, 1]]), nl.add)
        return out

    a, b = small((2, 150, 2500), np.float32), small((2, 150, 2500), np.float32, 1)
    np.testing.assert_array_equal(nki.simulate(kernel, ranks=2)(a, b), (a + b)[::-1])


def test_an_argument_is_updated_on_every_rank():
    @nki.jit
    def kernel(x):
        new = nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm)
        ncc.all_reduce([x], [new], ReplicaGroup([[0, 1]]), nl.maximum)
        nisa.dma_copy(dst=x, src=new)
        return x

    x = small((2, 4, 5), np.float32)
    want = np.broadcast_to(x.max(0), x.shape)
    y = nki.simulate(kernel, ranks=2)(x)
    np.testing.assert_array_equal(x, want)
    np.testing.assert_array_equal(y, want)


def test_what_is_computed_between_exchanges():
    """A matrix product of which each rank has a slice of the inner dimension, then a layer norm's mean over the ranks."""

    @nki.jit
    def kernel(a, b):
        m = a.shape[1]
        n = b.shape[1]
        ta, tb = nl.load(a), nl.load(b)
        acc = nl.ndarray((m, n), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=ta, moving=tb)
        part, whole = nl.ndarray((m, n), nl.float32), nl.ndarray((m, n), nl.float32)
        nisa.tensor_copy(dst=part, src=acc)
        ncc.all_reduce([part], [whole], ReplicaGroup([[0, 1, 2, 3]]), nl.add)
        out = nl.ndarray((m, n), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.maximum(whole, 0.0))
        return out

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 64, 32)), rng.standard_normal((4, 64, 48))
    a, b = a.astype(np.float32), b.astype(np.float32)
    y = nki.simulate(kernel, ranks=4)(a, b)
    want = np.maximum(sum(x.T @ z for x, z in zip(a.astype(np.float64), b.astype(np.float64))), 0)
    for part in y:
        np.testing.assert_allclose(part, want, rtol=1e-4, atol=1e-4)


def test_strict_runs_give_the_same_bytes():
    kernel = nki.simulate(nki.jit(ring_gather), ranks=3)
    x = np.random.default_rng(0).standard_normal((3, 8, 6)).astype(np.float32)
    group = ReplicaGroup([[0, 1, 2]])
    from glia.nki.runtime import inputs_of, program_of

    traced = kernel.trace(x, group)
    program = program_of(traced)
    fast = program.run(inputs_of(traced))
    for seed in range(3):
        strict = program.run(inputs_of(traced), strict=True, seed=seed)
        for name, array in fast.items():
            np.testing.assert_array_equal(strict[name], array)


def test_several_ranks_have_no_sequential_meaning():
    from glia.nki.runtime import inputs_of, sequential

    kernel = nki.simulate(exchange, ranks=2)
    traced = kernel.trace(np.zeros((2, 4), np.float32), ncc.all_reduce, (ALL, nl.add), (4,), nl.private_hbm)
    with pytest.raises(glia.Error, match="RANK-COUNT"):
        sequential(traced, {name: a[0] for name, a in inputs_of(traced).items()})


def test_compiled_functions_of_kernels():
    @nki.jit
    def scale(x, factor):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.multiply(nl.load(x), factor))
        return out

    @nki.jit
    def reduce(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        ncc.all_reduce([x], [out], ReplicaGroup([[0, 1, 2]]), nl.add)
        return out

    @nki.jit
    def mine(x):
        columns = x.shape[1]
        out = nl.ndarray((1, columns), x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((1, columns), x.dtype)
        nisa.dma_copy(dst=tile, src=x.ap([[columns, 1], [1, columns]], 0, scalar_offset=ncc.rank_id(), indirect_dim=0))
        nisa.dma_copy(dst=out, src=tile)
        return out

    def function(x):
        return mine(reduce(scale(x, 3.0)))

    x = small((3, 3, 8), np.float32)
    compiled = glia.compile(function, x, ranks=3)
    y = compiled.run(x)
    want = 3 * x.sum(0)
    assert y.shape == (3, 1, 8)
    np.testing.assert_array_equal(y[:, 0], want)
    assert compiled.verify().ok
    with pytest.raises(glia.Error, match="NKI-RANKS"):
        glia.compile(function, x, ranks=4)
    with pytest.raises(glia.Error, match="NKI-RANKS"):
        glia.compile(lambda x: nki.simulate(reduce, ranks=3)(x), x[0])


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_every_target(target):
    x = small((2, 4, 6), np.float32)
    kernel = nki.simulate(exchange, ranks=2).on(target)
    y = kernel(x, ncc.all_reduce, (ALL, nl.add), (4, 6), nl.private_hbm)
    np.testing.assert_array_equal(y, np.broadcast_to(x.sum(0), x.shape))


def test_a_kernel_in_a_kernel():
    @nki.jit
    def outer(x, inner):
        return inner(x, ncc.all_reduce, (ALL, nl.add), (4,), nl.private_hbm)

    x = small((2, 4), np.float32)
    for inner in (exchange, nki.simulate(exchange, ranks=2)):
        np.testing.assert_array_equal(nki.simulate(outer, ranks=2)(x, inner), np.broadcast_to(x.sum(0), x.shape))
    with pytest.raises(glia.Error, match="NKI-RANKS"):
        nki.simulate(outer, ranks=2)(x, nki.simulate(exchange, ranks=4))


def test_one_rank_without_an_axis():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        ncc.all_reduce([x], [out], ReplicaGroup([[0]]), nl.add)
        return out

    x = small((4, 5), np.float32)
    np.testing.assert_array_equal(kernel(x), x)


# ---- two cores of a rank


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_two_cores_share_what_core_0_exchanges(ranks):
    @nki.jit
    def kernel(x):
        core = nl.program_id(0)
        half = x.shape[0] // 2
        mine = slice(core * half, (core + 1) * half)
        doubled = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        whole = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(doubled[mine], nl.multiply(nl.load(x[mine]), 2.0))
        ncc.all_reduce([doubled], [whole], ReplicaGroup([list(range(ranks))]), nl.add)
        other = slice((1 - core) * half, (2 - core) * half)
        nl.store(out[other], nl.add(nl.load(whole[other]), 1.0))
        return out

    x = small((ranks, 16, 8), np.float32)
    y = nki.simulate(kernel[2], ranks=ranks)(x)
    np.testing.assert_array_equal(y, np.broadcast_to(2 * x.sum(0) + 1, x.shape))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_each_of_two_cores_exchanges_what_is_in_its_sbuf(ranks):
    group = ReplicaGroup([list(range(ranks))])

    @nki.jit
    def kernel(x):
        core = nl.program_id(0)
        rows, columns = x.shape
        mine = slice(core * (rows // 2), (core + 1) * (rows // 2))
        wide = nl.ndarray((rows, columns * ranks), x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        tile, reduced = nl.load(x[mine]), nl.ndarray((rows // 2, columns), x.dtype)
        gathered = nl.ndarray((rows // 2, columns * ranks), x.dtype)
        ncc.all_gather([tile], [gathered], group, 1)
        ncc.all_reduce([tile], [reduced], group, nl.add)
        nl.store(wide[mine], gathered)
        nl.store(total[mine], reduced)
        return wide, total

    x = small((ranks, 16, 8), np.float32)
    wide, total = nki.simulate(kernel[2], ranks=ranks)(x)
    np.testing.assert_array_equal(wide, np.broadcast_to(np.concatenate(x, axis=1), wide.shape))
    np.testing.assert_array_equal(total, np.broadcast_to(x.sum(0), x.shape))


def test_one_of_two_cores_asks_for_the_rank():
    @nki.jit
    def kernel(table):
        rows, columns = table.shape
        out, other = (nl.ndarray((1, columns), table.dtype, buffer=nl.shared_hbm) for _ in range(2))
        tile = nl.ndarray((1, columns), table.dtype)
        if nl.program_id(0) == 0:
            at = table.ap([[columns, 1], [1, columns]], 0, scalar_offset=ncc.rank_id(), indirect_dim=0)
            nisa.dma_copy(dst=tile, src=at)
        later = nl.ndarray((1, columns), table.dtype, buffer=nl.shared_hbm)
        if nl.program_id(0) == 0:
            nisa.dma_copy(dst=out, src=tile)
        else:
            nl.store(later, nl.load(table[rows - 1 : rows]))
            nl.store(other, nl.multiply(nl.load(table[rows - 1 : rows]), 2.0))
        return out, other, later

    table = small((3, 4), np.float32)
    out, other, later = nki.simulate(kernel[2], ranks=3)(np.broadcast_to(table, (3, 3, 4)))
    np.testing.assert_array_equal(out[:, 0], table)
    np.testing.assert_array_equal(other[:, 0], np.broadcast_to(2 * table[2], (3, 4)))
    np.testing.assert_array_equal(later[:, 0], np.broadcast_to(table[2], (3, 4)))
