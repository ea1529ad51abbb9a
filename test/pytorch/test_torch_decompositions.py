"""What glia writes for torch_xla (linear algebra, Fourier transforms, reductions, pools) through torch.compile: results and gradients are those of
the CPU."""

import importlib.util
import math

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("torch_xla") is None:  # importing it would choose its device
    pytest.skip("torch_xla is not installed", allow_module_level=True)

from torch import fft, linalg
from torch.nn import functional

CASES = {
    "solve": linalg.solve,
    "solve from the right": lambda a, b: linalg.solve(a, b.mT, left=False),
    "solve of a transpose": lambda a, b: linalg.solve(a.mT, b[..., 0]),
    "determinants": lambda a, b: (linalg.det(a), linalg.slogdet(a.mT)[1], linalg.inv(a)),
    "lu": lambda a, b: linalg.lu(a[:, :3])[2] + linalg.lu(a)[1][:, :3],
    "cholesky": lambda a, b: torch.cholesky_solve(b, linalg.cholesky(a @ a.mT)),
    "triangular": lambda a, b: linalg.solve_triangular(a, b.mT, upper=False, left=False),
    "qr": lambda a, b: torch.cat(linalg.qr(b), 1),
    "exponential": lambda a, b: linalg.matrix_exp(a) @ b,
    "reflections": lambda a, b: linalg.householder_product(a, b[..., 0]),
    "fft": lambda a, b: fft.fft2(a, norm="ortho").abs(),
    "polar": lambda a, b: torch.view_as_real(torch.polar(a, b[..., :1])),
    "rfft": lambda a, b: fft.irfft(fft.rfft(b, dim=1) * 2, n=5, dim=1),
    "logcumsumexp": lambda a, b: torch.logcumsumexp(40 * a, 1),
    "nanmedian": lambda a, b: torch.nanmedian(torch.where(a > 1, math.nan, a), 1)[0],
    "polygamma": lambda a, b: (
        torch.polygamma(1, a.abs() + 0.3),
        torch.polygamma(3, -a.abs() - 0.3),
        b.abs().digamma(),
    ),
    "zeta": lambda a, b: torch.special.zeta(a.abs() + 1.5, a.detach().abs() + 0.2).detach() + a,
    "index_reduce": lambda a, b: torch.index_reduce(a, 1, torch.tensor([0, 3, 0]), b.mT, "mean", include_self=False),
    "distances": lambda a, b: (torch.cdist(a, b.mT), torch.cdist(a, b.mT, p=1.0), torch.cdist(a, b.mT, p=math.inf)),
    "soft margins": lambda a, b: functional.soft_margin_loss(15 + a, torch.ones(2, 4, 4)),
    "pools": lambda a, b: functional.adaptive_avg_pool3d(a.reshape(1, 2, 4, 4), (2, 3, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name):
    from glia.dynamo import backend

    function = CASES[name]
    torch.manual_seed(1)
    given = torch.randn(2, 4, 4) + torch.eye(4), torch.randn(2, 4, 3)

    def evaluate(f):
        inputs = [x.clone().requires_grad_() for x in given]
        made = f(*inputs)
        made = made if isinstance(made, tuple) else (made,)
        total = sum((x * torch.linspace(0.5, 1.5, x.numel()).reshape(x.shape)).sum() for x in made)
        gradients = torch.autograd.grad(total, inputs, allow_unused=True)
        return [x.detach() for x in (*made, *gradients) if x is not None]

    want = evaluate(function)
    for got, right in zip(
        evaluate(torch.compile(function, backend=backend, dynamic=False, fullgraph=True)), want, strict=True
    ):
        assert got.shape == right.shape and (got - right).norm() <= 2e-5 * right.norm()


def compiled(function):
    from glia.dynamo import backend

    torch._dynamo.reset()
    return torch.compile(function, backend=backend, dynamic=False, fullgraph=True)


@pytest.mark.parametrize("dropped", (0.1, 0.3, 1.0))
def test_dropout_keeps_the_mean(dropped):
    x = torch.full((64, 64), 2.0, requires_grad=True)
    y = compiled(lambda x: functional.dropout(x, dropped))(x)
    y.sum().backward()
    stays = 0.0 if dropped == 1 else 1 / (1 - dropped)
    assert torch.equal(y, x.grad * 2)
    torch.testing.assert_close(y.detach().unique(), torch.tensor(sorted({0.0, 2 * stays})))
    assert abs((y == 0).float().mean() - dropped) < 0.05


def test_permutations_and_choices():
    order = compiled(lambda: torch.randperm(1000))()
    assert order.dtype == torch.int64 and torch.equal(order.sort().values, torch.arange(1000))
    assert (order[1:] < order[:-1]).sum() > 400
    weights = torch.tensor([0.0, 1.0, 2.0, 5.0]).expand(4000, 4)
    chosen = compiled(lambda w: torch.multinomial(w, 3))(weights)
    assert torch.equal(chosen.sort(1).values, torch.tensor([1, 2, 3]).expand(4000, 3))
    assert abs((chosen[:, 0] == 3).float().mean() - 5 / 8) < 0.04
    assert abs((chosen[:, 0] == 1).float().mean() - 1 / 8) < 0.03
