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
    "dilated maxima": lambda a, b: (
        functional.max_pool2d(a, 2, 1, 1, dilation=2),
        functional.max_pool1d(a, 2, dilation=2, ceil_mode=True),
        functional.max_pool3d(a.unsqueeze(0), (1, 2, 2), 1, dilation=(1, 2, 1)),
    ),
    "adaptive maxima": lambda a, b: (
        functional.adaptive_max_pool2d(a, (3, 2)),
        functional.adaptive_max_pool1d(a, 3),
        functional.adaptive_max_pool3d(a.unsqueeze(0), (2, 3, 3)),
    ),
    "fractional maxima": lambda a, b: (
        functional.fractional_max_pool2d(a, 2, output_size=(2, 2), _random_samples=torch.tensor([[[0.3, 0.9]] * 2])),
        functional.fractional_max_pool3d(
            torch.cat([a, -a, a]).unsqueeze(0),
            2,
            output_size=(3, 2, 2),
            _random_samples=torch.tensor([[[0.7, 0.3, 0.9]]]),
        ),
    ),
    "mode": lambda a, b: torch.mode(torch.cat([a, a[..., 1:2], b], 2))[0],
    "running extremes": lambda a, b: (
        torch.cummax(torch.cat([a, a], 2), 2)[0],
        torch.cummin(torch.cat([b, b], 2), 2)[0],
    ),
    "random slopes": lambda a, b: functional.rrelu(a),
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


BAG, OFFSETS = [1, 2, 4, 5, 4, 3, 2, 6, 0], [0, 3, 3, 5]
BAGS = {
    "sum": {},
    "mean": {},
    "max": {},
    "mean without padding": {"padding_idx": 4},
    "max without padding": {"padding_idx": 2},
    "sum until the last": {"include_last_offset": True},
}


@pytest.mark.parametrize("name", BAGS)
def test_bags(name):
    """Empty ones too; an infinity stays in the bags that it is in."""
    options = {"mode": name.split()[0], **BAGS[name]}
    offsets = torch.tensor([*OFFSETS, 8] if "include_last_offset" in options else OFFSETS)

    def function(table, indices, offsets):
        return functional.embedding_bag(indices, table, offsets, **options)

    def evaluate(f):
        torch.manual_seed(1)
        table = torch.randn(7, 4)
        table[1, 0] = math.inf
        table.requires_grad_()
        indices = torch.tensor(BAG[:8] if "include_last_offset" in options else BAG)
        made = f(table, indices, offsets)
        return made, *torch.autograd.grad((made * torch.linspace(0.5, 1.5, 16).reshape(4, 4)).sum(), table)

    for got, want in zip(evaluate(compiled(function)), evaluate(function)):
        torch.testing.assert_close(got, want)


def test_weighted_bags():
    def function(table, weights, indices, offsets):
        return functional.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights)

    def evaluate(f):
        torch.manual_seed(1)
        given = torch.randn(7, 4, requires_grad=True), torch.randn(9, requires_grad=True)
        made = f(*given, torch.tensor(BAG), torch.tensor(OFFSETS))
        return made, *torch.autograd.grad((made * torch.linspace(0.5, 1.5, 16).reshape(4, 4)).sum(), given)

    for got, want in zip(evaluate(compiled(function)), evaluate(function)):
        torch.testing.assert_close(got, want)


INFINITE = {
    "amax": lambda x: (x.amax(1), x.amax(), x.amax((0, 1), keepdim=True), x.bfloat16().amax(0)),
    "amin": lambda x: (x.amin(1), x.amin(), (-x).amin(1, keepdim=True)),
    "max": lambda x: (x.max(), *x.max(1), *(-x).max(0, keepdim=True)),
    "min": lambda x: (x.min(), *x.min(1), *(-x).min(0)),
    "places": lambda x: (x.argmax(), x.argmax(1), x.argmin(1, keepdim=True), x.argmax(keepdim=True)),
    "bounds": lambda x: (x.clamp(min=-2), x.clamp(max=2), x.clamp_min(0.5), x.clamp_max(1)),
    "normalize": lambda x: functional.normalize(x[:2]),
    "running": lambda x: (*x.cummax(1), *x.cummin(0)),
}


@pytest.mark.parametrize("name", INFINITE)
def test_infinities_and_nan(name):
    """As torch has them: torch_xla begins with the largest finite number, and forgets where NaN is."""
    inf, nan = math.inf, math.nan
    x = torch.tensor([[3.0, inf, -inf, 1.0], [-inf] * 4, [inf] * 4, [1.0, nan, 2.0, nan], [nan, inf, 0.0, 5.0]])
    function = INFINITE[name]
    got, want = compiled(function)(x), function(x)
    for a, b in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, equal_nan=True)


def test_extremes_of_a_number():
    def function(x):
        return x.amax(0), x.amin(-1, keepdim=True), *x.max(0), x.argmax(0), x.argmin(), *x.cummin(0), x.int().amax(-1)

    x = torch.tensor(-math.inf)
    for a, b in zip(compiled(function)(x), function(x), strict=True):
        assert a.dtype == b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("kind", (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32))
def test_quotients_are_whole(kind):
    """Those without rest too: a float quotient may be off in its last bit."""
    if kind.is_floating_point:
        x = torch.tensor([1.0, -1.0, 0.3, math.inf, 5.0, -5.0, 0.0, 7.0, 3.0, -6.0, math.nan]).reshape(-1, 1)
        y = torch.tensor([0.1, 2.0, -3.0, math.inf, -math.inf, 0.0])
        whole = torch.arange(1, 200.0)
        x, y = torch.broadcast_tensors(x, y)
        x, y = (
            torch.cat([v.reshape(-1), w.reshape(-1)])
            for v, w in ((x, whole.reshape(-1, 1) * whole), (y, whole.expand(199, 199)))
        )
    else:
        info = torch.iinfo(kind)
        numbers = [
            k
            for k in (0, 1, 3, 42, 100, -1, -7, -42, info.max, info.min, info.max // 3 * 3)
            if info.min <= k <= info.max
        ]
        x = torch.tensor(numbers, dtype=kind).reshape(-1, 1).expand(-1, 3).contiguous()
        y = (
            torch.tensor([3, 7, info.max - 2] if info.min == 0 else [3, -7, info.max - 2], dtype=kind)
            .expand(len(numbers), 3)
            .contiguous()
        )

    def function(x, y):
        rounded = torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc")
        return *rounded, x % y, x // 3, x % 3, 100 % y

    for a, b in zip(compiled(function)(x, y), function(x, y), strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, equal_nan=True, rtol=0, atol=1e-5 if kind.is_floating_point else 0)


@pytest.mark.parametrize("kind", (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64))
def test_shifts_keep_the_sign(kind):
    info = torch.iinfo(kind)
    numbers = [k for k in (-1, -7, -8, 0, 1, 7, 100, info.max, info.min, info.min + 1) if info.min <= k <= info.max]
    x = torch.tensor(numbers, dtype=kind)
    by = (torch.arange(len(numbers)) * 3 % info.bits).to(kind)

    def function(x, by):
        scalars = x >> 1, x >> 3, x << 2, x >> info.bits - 1, x << info.bits - 1, x >> info.bits, x << info.bits
        return *scalars, x >> by, x << by, 100 >> by, 1 << by, torch.bitwise_right_shift(x, by)

    for a, b in zip(compiled(function)(x, by), function(x, by), strict=True):
        assert a.dtype == b.dtype and torch.equal(a, b)


def test_a_number_where_a_mask_is_true():
    def function(x, counts):
        y, z = x.clone(), counts.clone()
        y[y > 0.5] = 5
        y[y[:, 0] < 0] = -1
        z[z % 2 == 0] = -(2**40)
        return y, z, x.index_put((x > 1,), torch.tensor(2.0), accumulate=True)

    x = torch.linspace(-2, 2, 35).reshape(5, 7)
    counts = torch.arange(35).reshape(5, 7)
    for a, b in zip(compiled(function)(x, counts), function(x, counts), strict=True):
        assert a.dtype == b.dtype and torch.equal(a, b)


def test_angles_of_complex_numbers():
    x = torch.complex(torch.tensor([1.0, -1.0, -2.0, 0.5]), torch.tensor([1.0, 2.0, -0.5, -3.0]))
    torch.testing.assert_close(compiled(torch.angle)(x), torch.angle(x))


@pytest.mark.parametrize("how", ("prod", "mean", "amax", "amin"))
def test_index_reduce_of_a_number(how):
    def function(x, y):
        return x.index_reduce(0, torch.tensor([0]), y, how)

    x, y = torch.tensor(3.0), torch.tensor(-5.0)
    assert torch.equal(compiled(function)(x, y), function(x, y))


def test_a_power_of_zero():
    x, y = torch.tensor([0, 0, 2, -1, 1], dtype=torch.int32), torch.tensor([-1, 0, -2, -3, -7], dtype=torch.int32)
    assert torch.equal(compiled(torch.pow)(x, y), torch.pow(x, y))


def test_slopes_that_are_random():
    x = torch.linspace(-1, 1, 1001, requires_grad=True)
    y = compiled(lambda x: functional.rrelu(x, 0.1, 0.4, training=True))(x)
    y.sum().backward()
    assert torch.equal(y[x >= 0], x[x >= 0])
    slopes = x.grad[x < 0]
    assert slopes.min() >= 0.1 and slopes.max() <= 0.4 and abs(slopes.mean() - 0.25) < 0.02
    torch.testing.assert_close((x * x.grad).detach(), y.detach())


def test_gamma_beside_its_poles():
    x = torch.tensor([-1e-7, -1 + 1e-6, -2 - 1e-6, 1e-7, -0.5])
    torch.testing.assert_close(compiled(torch.lgamma)(x), torch.lgamma(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "advice"),
    (
        (lambda x: torch.poisson(x.abs()), "outside of the compiled function"),
        (lambda x: torch.binomial(x.abs().round(), x.sigmoid()), "outside of the compiled function"),
    ),
)
def test_what_is_drawn_by_rejection_is_refused_with_advice(function, advice):
    with pytest.raises(Exception, match=f"(?s)TORCH-FALLBACK.*{advice}"):
        compiled(function)(torch.ones(3))
