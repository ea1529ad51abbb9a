"""Special functions, histograms and divisors through torch.compile against torch on the CPU, functions in double precision."""

import importlib.util
import math

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("torch_xla") is None:  # importing it would choose its device
    pytest.skip("torch_xla is not installed", allow_module_level=True)

from torch import special

SWINGS = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0")
GROWS = ("i0", "i0e", "i1", "i1e", "modified_bessel_i0", "modified_bessel_i1", "erfcx")
FALLS = ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1")
EDGES = torch.tensor([0.0, 1e-30, -1e-6, 2.0, -2.0, 8.0, -8.0, math.inf, -math.inf, math.nan, 88.0, 1e4])


def compiled(function):
    from glia.dynamo import backend

    torch._dynamo.reset()
    return torch.compile(function, backend=backend, dynamic=False, fullgraph=True)


@pytest.mark.parametrize("names", (SWINGS, GROWS, FALLS, ("ndtri",)), ids=lambda names: names[0])
def test_special_functions(names):
    torch.manual_seed(0)
    x = torch.cat([EDGES, 12 * torch.randn(200), torch.rand(200) * 4, 10 ** (torch.rand(100) * 5 - 4)])
    if names == ("ndtri",):
        x = torch.cat([EDGES, torch.rand(200), 10 ** (torch.rand(100) * -37), torch.tensor([0.5, 1.0, 2**-126])])
    results = compiled(lambda x: [getattr(special, name)(x) for name in names])(x)
    for name, got in zip(names, results):
        wide = getattr(special, name)(x.double())
        narrow = getattr(special, name)(x)  # which overflows sooner, where it is a product
        want = torch.where(narrow.isinf() & got.isinf(), narrow.double(), wide)
        # Beside their zeros functions that swing are as exact as their largest values there.
        size = 3e-6 / (1 + x.double().abs().sqrt()) if name in SWINGS else 0.0
        off = (got.double() - want).abs() - 1e-5 * want.abs() - size
        bad = ~((off <= 1e-37) | (got == want) | (got.isnan() & want.isnan()))
        assert not bad.any(), (name, x[bad], got[bad], want[bad])


def test_gradients_of_bessel_functions():
    x = torch.linspace(-9, 9, 37, dtype=torch.float32)

    def slopes(f, x):
        x = x.clone().requires_grad_()
        f(x).sum().backward()
        return x.grad

    def f(x):
        return special.i0e(x) + special.i1e(x) + special.i0(x / 4) * special.i1(x / 4)

    want = slopes(f, x.double()).float()
    torch.testing.assert_close(slopes(compiled(f), x), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.int16))
def test_special_functions_of_other_types(kind):
    x = torch.tensor([0, 1, 2, 5, 9], dtype=kind)
    got, want = compiled(lambda x: (special.i0e(x), special.bessel_j1(x.float()))), special.i0e(x.float())
    assert got(x)[0].dtype is (kind if kind.is_floating_point else torch.float32)
    torch.testing.assert_close(got(x)[0].float(), want, rtol=4e-3, atol=1e-6)


def test_histograms():
    torch.manual_seed(0)
    x = torch.cat([torch.randn(500) * 3, torch.linspace(-2, 2, 9)])
    some = torch.cat([x, torch.tensor([math.nan, math.inf, -math.inf])])

    def f(x, some, same):
        parts = torch.histc(some, 8, -2, 2), torch.histc(some, 1, -2, 2)
        return (*parts, torch.histc(x, 5), torch.histc(same, 4), torch.histc(same, 3, 7, 7))

    given = x, some, torch.full((6,), 7.0)
    for got, want in zip(compiled(f)(*given), f(*given), strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("kind", (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64))
def test_divisors_and_multiples(kind):
    info = torch.iinfo(kind)
    torch.manual_seed(0)
    small = torch.randint(max(info.min, -100), 100, (2, 60)).to(kind)
    edges = torch.tensor([0, 0, 1, info.max, info.max - 1, 89, 6]).to(kind)
    others = torch.tensor([0, 9, 0, info.max, info.max, 55, info.max]).to(kind)
    a, b = torch.cat([small[0], edges]), torch.cat([small[1], others])
    got = compiled(lambda a, b: (torch.gcd(a, b), torch.gcd(a, b[:1]), torch.lcm(a, b)))(a, b)
    for x, want in zip(got, (torch.gcd(a, b), torch.gcd(a, b[:1]), torch.lcm(a, b)), strict=True):
        assert x.dtype is kind and torch.equal(x, want)
