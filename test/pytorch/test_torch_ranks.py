"""Several ranks of torch: collectives of torch.distributed and torch_xla, in one process and under torchrun."""

import importlib.util
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("torch_xla") is None:
    pytest.skip("torch_xla is not installed", allow_module_level=True)

import glia
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from glia import torch_ranks
from torch.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).parent))
from rank_cases import cases
from scripts import run, script


def close(got, want, tolerance=1e-6):
    (got, made), (want, wanted) = pytree.tree_flatten(got), pytree.tree_flatten(want)
    assert made == wanted
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if b.dtype.is_floating_point:
            assert (a.double() - b.double()).norm() <= tolerance * b.double().norm()
        else:
            assert torch.equal(a, b)


@pytest.mark.parametrize("name", list(cases()))
def test_ranks_do_together_what_arithmetic_says(name):
    case = cases()[name]
    made = torch_ranks.compile(case.make, *case.inputs, ranks=case.ranks, target="trn1")
    close(made(*case.inputs), case.expected(*case.inputs))
    assert made.program.ranks == case.ranks and made.verify().ok
    other = tuple(x.flip(1) for x in case.inputs)
    close(made(*other), case.expected(*other))


def test_every_spelling_of_an_exchange():
    def make():
        import torch_xla.core.xla_model as xm

        world = dist.group.WORLD
        weight = torch.nn.Parameter(torch.ones(3))
        weight.grad = torch.full((3,), 2.0 + dist.get_rank())

        def f(x):
            listed, gathered = [torch.empty_like(x) for _ in range(2)], torch.empty(8, 3)
            scattered, turned = torch.empty(2, 3), torch.empty_like(x)
            dist.all_gather(listed, x)
            dist.all_gather_into_tensor(gathered, x)
            dist.reduce_scatter_tensor(scattered, x, op=dist.ReduceOp.MAX)
            dist.all_to_all_single(turned, x)
            dist.barrier()
            leaf = x.detach().requires_grad_()
            with torch.enable_grad():
                y = functional.all_gather_tensor_autograd(leaf, 0, world).square()
                y = functional.reduce_scatter_tensor_autograd(y, "sum", 0, world)
                [gradient] = torch.autograd.grad(y.square().sum(), leaf)
            several = functional.all_reduce_coalesced([x, 2 * x], "sum", world)
            more = functional.all_gather_into_tensor_coalesced([x], world)
            parts = functional.reduce_scatter_tensor_coalesced([x], "sum", [0], world)
            own = [weight.grad.clone()]
            xm.all_reduce(xm.REDUCE_SUM, own, scale=0.5)
            return [*listed, gathered, scattered, turned, gradient, y.detach(), *several, *more, *parts, *own]

        return f

    x = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(5))
    both = lambda t: torch.stack([t, t])  # noqa: E731
    squares = 2 * torch.cat([*x]).square()  # each rank has all of them, and all add them up
    halves = [x[r].chunk(2) for r in range(2)]
    want = [
        *map(both, x),
        both(torch.cat([*x])),
        torch.maximum(x[0], x[1]).reshape(2, 2, 3),
        torch.stack([torch.cat([halves[0][r], halves[1][r]]) for r in range(2)]),
        16 * x**3,
        squares.reshape(2, 4, 3),
        both(x.sum(0)),
        both(2 * x.sum(0)),
        both(torch.cat([*x])),
        x.sum(0).reshape(2, 2, 3),
        torch.full((2, 3), 2.5),
    ]
    close(torch_ranks.compile(make, x, ranks=2)(x), want)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_numbers_of_ranks(ranks):
    def make():
        r = dist.get_rank()

        def f(x):
            y = functional.all_reduce(x[2 * r : 2 * r + 2] * (r + 0.5), "sum", dist.group.WORLD)
            picked = (x[r], x.chunk(ranks)[r], x.unbind()[-1 - r], x[:, r], x[-2 - r : -1 - r])
            made = (
                torch.arange(r, r + 4),
                torch.full((3,), float(r)),
                x < r,
                torch.where(x > r, x, -1.0 - r),
                1.5 - x - r,
            )
            return [y, *picked, *made]

        return f

    def of(x, r):
        picked = (x[r], x.chunk(ranks)[r], x[-1 - r], x[:, r], x[-2 - r : -1 - r])
        return [
            *picked,
            torch.arange(r, r + 4),
            torch.full((3,), float(r)),
            x < r,
            torch.where(x > r, x, -1.0 - r),
            1.5 - x - r,
        ]

    x = torch.arange(ranks * 6 * 4, dtype=torch.float32).reshape(ranks, 6, 4) % 5 - 2
    y = sum(x[r, 2 * r : 2 * r + 2] * (r + 0.5) for r in range(ranks)).expand(ranks, 2, 4)
    want = [y, *map(torch.stack, zip(*[of(x[r], r) for r in range(ranks)]))]
    close(torch_ranks.compile(make, x, ranks=ranks)(x), want)


def test_time_is_that_of_ranks_on_their_topology():
    def make():
        return lambda x: functional.all_reduce(x, "sum", dist.group.WORLD)

    def compiled(ranks, topology):
        x = torch.ones(()).expand(ranks, 128, 512)
        return torch_ranks.compile(make, x, ranks=ranks, target="trn1", topology=topology)

    assert compiled(2, "trn1.2xlarge").time() < compiled(16, "trn1.32xlarge").time()
    with pytest.raises(glia.Error, match="TOPOLOGY-OPTION"):
        compiled(16, "trn1.2xlarge").time()


def test_seeds_of_ranks_are_their_own():
    def make():
        return lambda x: (torch.rand_like(x), functional.all_reduce(x, "sum", dist.group.WORLD))

    x = torch.zeros(2, 1000)
    made = torch_ranks.compile(make, x, ranks=2)
    a, b = made(x)[0], made(x)[0]
    assert not torch.equal(a[0], a[1]) and not torch.equal(a, b) and 0.4 < float(a.mean()) < 0.6


X = torch.ones(2, 4, 3)


def refused(match, f, x=X, **options):
    with pytest.raises(glia.Error, match=match):
        torch_ranks.compile(lambda: f, x, **{"ranks": 2, **options})
    assert not dist.is_initialized()


def test_what_is_not_provided_is_named():
    import torch_xla.core.xla_model as xm

    world = lambda: dist.group.WORLD  # noqa: E731
    rank = lambda: dist.get_rank()  # noqa: E731
    refused("TORCH-RANKS.*rank 0.*rank 1", lambda x: functional.all_reduce(x if rank() else x * 2, "sum", world()))
    refused(
        "TORCH-RANKS.*rank 0 output.*rank 1 .*add",
        lambda x: functional.all_reduce(x, "sum", world()) + 1 if rank() else functional.all_reduce(x, "sum", world()),
    )
    refused("TORCH-RANKS.*hang on the rank", lambda x: x.cumsum(rank()))
    refused(
        "TORCH-COLLECTIVE.*parts of different sizes", lambda x: functional.all_to_all_single(x, [1, 3], [1, 3], world())
    )
    refused("TORCH-COLLECTIVE.*reduction `mean`", lambda x: xm.all_reduce("mean", x))
    refused("TORCH-COLLECTIVE.*xm.send", lambda x: xm.send(x, 1))
    refused("TORCH-COLLECTIVE.*a mean of", lambda x: functional.all_reduce(x.int(), "avg", world()))
    refused("TORCH-COLLECTIVE.*c10d::send", lambda x: (dist.send(x, 1 - rank()), x * 2)[1])
    refused("TORCH-COLLECTIVE.*without pairs", lambda x: xm.collective_permute(x, []))
    refused("TORCH-COLLECTIVE.*place 2", lambda x: functional.broadcast(x, 2, world()))
    refused("TORCH-COLLECTIVE.*divides dimension 0", lambda x: xm.reduce_scatter(xm.REDUCE_SUM, x[:3], 1.0, 0, 2))
    refused("GRAPH-COLLECTIVE", lambda x: xm.all_reduce(xm.REDUCE_SUM, x, groups=[[0, 1], [1, 2]]))
    refused("TORCH-SPMD.*returns a int", lambda x: 3)
    refused("TORCH-SPMD.*writes to an argument", lambda x: x.add_(1))
    refused("TORCH-SPMD.*no part for each of 3 ranks", lambda x: x, ranks=3)
    refused("TORCH-SPMD.*1 to 4096 ranks", lambda x: x, ranks=0)
    refused(
        "TORCH-SPMD.*looks at a number", lambda x: x * functional.all_reduce(torch.tensor(2.0), "sum", world()).item()
    )
    refused("TORCH-SPMD.*looks at a number", lambda x: x * xm.all_reduce(xm.REDUCE_SUM, torch.tensor(2.0)).item())
    with pytest.raises(glia.Error, match=r"TORCH-COLLECTIVE.*before the function"):
        torch_ranks.compile(lambda: functional.all_reduce(X, "sum", world()), X, ranks=2)
    with pytest.raises(glia.Error, match=r"TORCH-SPMD.*returns a NoneType"):
        torch_ranks.compile(lambda: None, X, ranks=2)


def test_a_trace_of_one_rank_has_no_exchanges():
    from glia.neuron.torch_neuronx import trace
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        with pytest.raises(glia.Error, match=r"TORCH-COLLECTIVE.*in a graph of one rank"):
            trace(lambda x: functional.all_reduce(x, "sum", dist.group.WORLD) + 1, torch.ones(3))
    finally:
        dist.destroy_process_group()


def test_torch_compile_wants_processes():
    from glia.dynamo import backend
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        f = torch.compile(lambda x: functional.all_reduce(x, "sum", dist.group.WORLD), backend=backend, dynamic=False)
        with pytest.raises(Exception, match=r"TORCH-PROCESSES.*fake"):
            f(torch.ones(3))
    finally:
        dist.destroy_process_group()


PROCESSES = """
import copy, torch, torch.distributed as dist
from glia.dynamo import backend
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()


def together(x):
    y = x * (rank + 1)
    dist.all_reduce(y)  # in a graph of all ranks
    return y, torch.nn.functional.dropout(x, 0.5)


compiled = torch.compile(together, backend=backend, dynamic=False, fullgraph=True)
x = torch.arange(60.0).reshape(20, 3) + rank
for _ in range(2):
    y, dropped = compiled(x)
    assert torch.equal(y, sum((x - rank + r) * (r + 1) for r in range(ranks)))
    assert set((dropped / x).nan_to_num().unique().tolist()) <= {0.0, 2.0}

torch.manual_seed(0)
whole = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
divided = parallelize_module(copy.deepcopy(whole), init_device_mesh("cpu", (ranks,)), plan)
x = torch.randn(4, 16)
got, want = torch.compile(divided, backend=backend, dynamic=False)(x), whole(x)
assert (got - want).norm() <= 1e-6 * want.norm()
got.square().sum().backward()
want.square().sum().backward()
for p, q in zip(divided.parameters(), whole.parameters()):
    assert (p.grad.full_tensor() - q.grad).norm() <= 1e-6 * q.grad.norm()


def different(x):
    y = x * 2 if rank else x + 2
    dist.all_reduce(y)
    return y


try:
    torch.compile(different, backend=backend, dynamic=False)(x)
except Exception as e:
    assert "TORCH-RANKS" in str(e) and "aten.add" in str(e) and "aten.mul" in str(e), e
    print("refused", flush=True)
dist.destroy_process_group()
"""


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def test_processes_of_torchrun_are_ranks(tmp_path):
    done = run(tmp_path, PROCESSES, *TORCHRUN, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 2 and "leaked" not in done.stderr


LAUNCH = """
import torch, torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_multiprocessing as xmp

def step(index, what):
    x = torch.ones(3, device=torch_xla.device()) * 2
    print(what, index, float(xm.all_reduce(xm.REDUCE_SUM, x).sum()))

torch_xla.launch(step, args=("launched",))
xmp.spawn(step, args=("spawned",), nprocs=1)
"""


DEVICES = """
import torch, torch_xla, torch_xla.core.xla_model as xm

x = torch.arange(4.0).to(torch_xla.device())
torch_xla.sync()
print((x + 1).cpu().tolist(), xm.all_reduce(xm.REDUCE_SUM, x * 2).cpu().tolist())
xm.collective_permute(x, [[0, 1], [1, 0]]).cpu()
"""


def test_one_process_computes_on_one_of_several_devices(tmp_path):
    """It is the only rank: all_reduce of torch_xla's own gives back what it gets. What names another rank is refused."""
    done = run(tmp_path, DEVICES, "-m", "glia", GLIA_DEVICES="2")
    assert done.stdout.strip() == "[1.0, 2.0, 3.0, 4.0] [0.0, 2.0, 4.0, 6.0]", done.stderr
    assert done.returncode == 1 and "PJRT-PARTITIONS" in done.stderr and "docs/pytorch.md" in done.stderr


def test_one_process_of_torch_xla_is_launched_and_several_are_refused(tmp_path):
    assert script(tmp_path, LAUNCH).split() == ["launched", "0", "6.0", "spawned", "0", "6.0"]
    done = run(tmp_path, LAUNCH, "-m", "glia", NEURONCORE_NUM_DEVICES="2")
    assert done.returncode != 0 and "TORCH-PROCESSES" in done.stderr and "launched" not in done.stdout
    done = run(tmp_path, LAUNCH, *TORCHRUN, "-m", "glia")
    assert done.returncode != 0 and "torch_xla in 2 processes of torchrun" in done.stderr
    assert "launched" not in done.stdout
