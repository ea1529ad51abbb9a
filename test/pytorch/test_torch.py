"""torch on glia: through torch_xla and the plugin, torch_neuronx.trace, torch.compile, and kernels on tensors of torch_xla."""

import copy
import importlib.util
import io
import math
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("torch_xla") is None:  # importing it would choose its device
    pytest.skip("torch_xla is not installed", allow_module_level=True)

import glia

sys.path.insert(0, str(Path(__file__).parent))
from cases import Block, Stem, cases
from scripts import script
from torch import nn


def close(got, want, tolerance=2e-5):
    got, want = got.detach().cpu(), want.detach()
    assert got.dtype == want.dtype and got.shape == want.shape
    if not want.dtype.is_floating_point:
        return torch.testing.assert_close(got, want, rtol=0, atol=0)
    scale = want.double().norm() + 1e-12
    assert (got.double() - want.double()).norm() <= tolerance * scale


@pytest.fixture(scope="module")
def device():
    glia.install("trn2")
    import torch_xla

    return torch_xla.device()


@pytest.mark.parametrize("name", list(cases()))
def test_a_step_on_the_device_is_that_of_the_cpu(device, name):
    import torch_xla

    module, inputs = cases()[name]
    made = copy.deepcopy(module).to(device)(*[x.to(device) for x in inputs])
    torch_xla.sync()
    for got, want in zip(made, module(*inputs), strict=True):
        close(got, want)


def test_the_device_is_a_neuron_one(device):
    import torch_xla.core.xla_model as xm

    assert xm.xla_device_hw(device) == "NEURON"


def test_training_moves_weights_as_on_the_cpu(device):
    import torch_xla

    torch.manual_seed(1)
    model, x, y = Stem().train(), torch.randn(2, 3, 16, 16), torch.randn(2, 8, 8, 8)
    other, (ox, oy) = copy.deepcopy(model).to(device), (x.to(device), y.to(device))
    for m, a, b in ((model, x, y), (other, ox, oy)):
        optimizer = torch.optim.Adam(m.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.mse_loss(m(a), b).backward()
            optimizer.step()
            torch_xla.sync()
    for got, want in zip(other.state_dict().values(), model.state_dict().values()):
        close(got, want, 1e-3)
    assert int(other.norm.num_batches_tracked) == 3


def test_random_numbers_look_random(device):
    torch.manual_seed(3)
    x = torch.randn(64, 128, device=device).cpu()
    y = torch.randn(64, 128, device=device).cpu()
    assert abs(float(x.mean())) < 0.05 and abs(float(x.std()) - 1) < 0.05 and not torch.equal(x, y)
    u = torch.rand(1000, device=device).cpu()
    assert 0 <= float(u.min()) and float(u.max()) < 1 and abs(float(u.mean()) - 0.5) < 0.05


KERNEL = """
import nki, nki.isa as nisa, nki.language as nl
@nki.jit
def double_add(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a, b = nl.load(x), nl.load(y)
    nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=2.0)
    nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
    nl.store(out, a)
    return out
"""


def kernel(tmp_path):
    file = tmp_path / "kernel_of_test.py"
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("kernel_of_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double_add


def test_kernels_are_part_of_the_lazy_graph(device, tmp_path):
    import torch_xla.debug.metrics as metrics

    f = kernel(tmp_path)
    x, y = torch.randn(64, 32), torch.randn(64, 32)
    a, b = x.to(device), y.to(device)
    compiled = (metrics.metric_data("CompileTime") or (0,))[0]
    z = f(f(a, b).tanh(), b) @ a.T
    close(z, (2 * (2 * x + y).tanh() + y) @ x.T)
    assert metrics.metric_data("CompileTime")[0] == compiled + 1


def test_kernels_on_bfloat16_in_a_traced_module(device, tmp_path):
    """numpy has no bfloat16: on the host its bits are 16-bit integers for a moment."""
    import torch_neuronx

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.double_add = kernel(tmp_path)

        def forward(self, x):
            return self.double_add(x, x.tanh()) * 2

    x = torch.randn(64, 32, dtype=torch.bfloat16)
    made = torch_neuronx.trace(Model().eval(), x)(x)
    torch.testing.assert_close(made.float(), 2 * (2 * x.float() + x.float().tanh()), rtol=2e-2, atol=2e-2)


def test_a_kernel_is_not_a_constant_for_autograd(device, tmp_path):
    a = torch.randn(8, 8).to(device).requires_grad_()
    z = kernel(tmp_path)(a, a)
    with pytest.raises(glia.Error, match="NKI-GRADIENT"):
        z.sum().backward()


def test_traced_modules_are_saved_and_loaded(device, tmp_path):
    import torch_neuronx

    torch.manual_seed(2)
    model, x = nn.Sequential(Block(), nn.Linear(32, 4)).eval(), torch.randn(1, 6, 32)
    traced = torch_neuronx.trace(model, x, compiler_args=["--target=trn1", "--model-type", "transformer", "-O1"])
    close(traced(x), model(x))
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    other = torch.randn(1, 6, 32)
    close(loaded(other), model(other))
    changed = nn.Sequential(Block(), nn.Linear(32, 4)).eval()
    torch_neuronx.replace_weights(loaded, changed)
    close(loaded(other), changed(other))
    with pytest.raises(Exception, match="TORCH-ARGUMENT"):
        loaded(torch.randn(1, 8, 32))


def test_trace_takes_and_gives_structures(device, tmp_path):
    import torch_neuronx

    class Two(nn.Module):
        def forward(self, a, b):
            return {"sum": a + b, "wide": (a > b).sum(), "low": (a * b).to(torch.bfloat16)}

    a, b = torch.randn(4, 5), torch.randn(4, 5)
    traced = torch_neuronx.trace(Two(), (a, b), compiler_workdir=tmp_path)
    for name, want in Two()(a, b).items():
        close(traced(a, b)[name], want)
    assert glia.load(tmp_path / "model.glia").verify().ok
    with pytest.raises(glia.Error, match="NEURON-FLAGS"):
        torch_neuronx.trace(Two(), (a, b), compiler_args=["--nonsense"])
    with pytest.raises(glia.Error, match="TORCH-TRACE"):
        torch_neuronx.trace(lambda x: 3, a)


def test_what_is_missing_is_named(device):
    import libneuronxla
    import torch_neuronx

    for module, name in ((torch_neuronx, "DataParallel"), (libneuronxla, "PjRtClient")):
        with pytest.raises(AttributeError, match=f"glia does not provide .*{name}"):
            getattr(module, name)
    with pytest.raises(ImportError, match=r"torch_neuronx\.distributed"):
        import torch_neuronx.distributed


@pytest.mark.parametrize("name", ["block", "stem"])
def test_torch_compile(device, name):
    module, inputs = cases()[name]
    model, inputs = module.model, inputs[:1]
    reference = copy.deepcopy(model)
    from glia.dynamo import backend

    compiled = torch.compile(model, backend=backend, dynamic=False)
    x, y = (inputs[0].clone().requires_grad_() for _ in range(2))
    got, want = compiled(x), reference(y)
    close(got, want)
    weight = torch.randn_like(want)
    (got * weight).sum().backward()
    (want * weight).sum().backward()
    close(x.grad, y.grad)
    for p, q in zip(model.parameters(), reference.parameters()):
        close(p.grad, q.grad, 1e-4)
    for b, c in zip(model.buffers(), reference.buffers()):
        close(b, c)


@pytest.mark.parametrize("dynamic", [None, True])
def test_torch_compile_for_several_sizes(device, dynamic):
    """Sizes that torch keeps open: as arguments, in views, as results, saved for the backward."""
    from glia.dynamo import backend

    def f(x, weight, n):
        y = (x @ weight).tanh().reshape(-1, 2 * weight.shape[1])
        return (
            torch.cat([y, torch.ones(n, y.shape[1])]).square().mean(0) * n,
            y.shape[0] * n,
            x + torch.arange(len(x))[:, None],
        )

    compiled = torch.compile(f, backend=backend, dynamic=dynamic, fullgraph=True)
    weight = torch.randn(5, 3, requires_grad=True)
    for rows, n in ((4, 2), (6, 2), (4, 3), (10, 7), (4, 2)):
        x, y = (torch.linspace(-1, 1, rows * 5).reshape(rows, 5).requires_grad_() for _ in range(2))
        (got, size, other), (want, wanted, another) = compiled(x, weight, n), f(y, weight, n)
        assert size == wanted
        close(got, want)
        close(other, another)
        mine = torch.autograd.grad((got * torch.arange(6.0)).sum() + other.sum(), [x, weight])
        for a, b in zip(mine, torch.autograd.grad((want * torch.arange(6.0)).sum() + another.sum(), [y, weight])):
            close(a, b, 1e-4)


def test_sizes_that_are_values_are_refused(device):
    from glia.dynamo import backend

    captured = torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
    for dynamic in (False, True):
        torch._dynamo.reset()
        with captured, pytest.raises(Exception, match="TORCH-FALLBACK"):
            torch.compile(lambda x: x[x > 1].sum(), backend=backend, dynamic=dynamic)(torch.arange(4.0))


def test_short_integers_that_would_not_wrap_are_refused(device):
    from glia.dynamo import backend

    torch._dynamo.reset()
    x = torch.tensor([20000, 3], dtype=torch.int16)
    with pytest.raises(Exception, match=r"(?s)TORCH-FALLBACK.*device NEURON.*Use int32"):
        torch.compile(lambda x: (x + x) > 0, backend=backend)(x)
    assert torch.compile(lambda x: (x + x) > 0, backend=backend)(x.int()).all()


def test_torch_compile_rounds_products_where_asked(device):
    from glia.dynamo import backend

    x, y = torch.randn(16, 32), torch.randn(32, 8)
    compiled = torch.compile(lambda x, y: x @ y, backend=backend, options={"auto_cast": "bf16"})
    close(compiled(x, y), x.bfloat16().float() @ y.bfloat16().float())
    assert not torch.allclose(compiled(x, y), x @ y, rtol=1e-6, atol=1e-6)


def test_numbers_are_arguments(device):
    from glia.dynamo import backend

    def f(x, y):
        return x * 2 + y, y + 1

    a, b = torch.tensor(3.0), torch.arange(4.0)
    compiled = torch.compile(f, backend=backend, dynamic=False)
    for x, y in ((a, a + 1), (b, a), (b, a + 4)):
        for got, want in zip(compiled(x, y), f(x, y)):
            assert torch.equal(got, want)
    import torch_neuronx

    assert torch.equal(torch_neuronx.trace(f, (b, a))(b, a + 4)[0], f(b, a + 4)[0])


def test_what_torch_xla_does_not_write_is_written_in_other_operations(device):
    from glia.dynamo import backend

    x, matrix = torch.linspace(-2.0, 3.0, 6), torch.linspace(-1.0, 1.0, 12).reshape(2, 6)
    functions = [
        lambda x, m: torch.addmv(x[:2], m, x),  # it computes that on the host
        lambda x, m: torch.dot(x, x),  # a sum over no dimensions is one over all
        lambda x, m: torch.cumsum(x[0].clone(), 0),  # no dimensions at all
        lambda x, m: m.unfold(1, 3, 2) * 2,  # windows that overlap
        lambda x, m: torch.amax(x[1].clone(), 0, keepdim=True),
    ]
    for f in functions:
        close(torch.compile(f, backend=backend, dynamic=False, fullgraph=True)(x, matrix), f(x, matrix))
    special = torch.tensor([-0.0, 0.0, -2.5, 0.3, 7.0, math.inf, -math.inf, math.nan])
    others = special.flip(0)
    for f in (
        lambda x, y: (torch.signbit(x[:-1]), torch.copysign(y, x)[:-1]),  # the sign of NaN is not told
        lambda x, y: (torch.fmin(x, y), torch.fmax(x, y), torch.hypot(x, y), torch.exp2(x), torch.digamma(x[:5])),
        lambda x, y: (x == 0.3, x > 0.3, 0.1 - x, torch.lgamma(x[1:6]), torch.nn.functional.softplus(x, 1, 0.3)),
        lambda x, y: (torch.median(x[:5]), *torch.median(x.reshape(2, 4), 1), torch.round(x, decimals=1)),
        lambda x, y: torch.scatter_reduce(y, 0, torch.tensor([0, 3, 3, 0]), x[1:5], "mean", include_self=False)[None],
        lambda x, y: (torch.angle(x), *torch.cummin(y, 0), torch.bucketize(x, torch.arange(-3.0, 3.0), right=True)),
    ):
        made = torch.compile(f, backend=backend, dynamic=False, fullgraph=True)(special, others)
        for got, want in zip(made, f(special, others)):
            torch.testing.assert_close(got, want, rtol=3e-6, atol=3e-6, equal_nan=True)
    with pytest.raises(Exception, match=r"error\[TORCH-FALLBACK\].*aten::segment_reduce"):
        torch.compile(lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 4])), backend=backend)(x)


@pytest.mark.parametrize(
    "options", [{"ceil_mode": True}, {"divisor_override": 3}, {"padding": 1, "count_include_pad": False}]
)
def test_average_pools_divide_as_torch_does(device, options):
    from glia.dynamo import backend

    pool = nn.AvgPool2d(3, 2, **options)
    x, y = (torch.linspace(-1.0, 2.0, 2 * 3 * 8 * 7).reshape(2, 3, 8, 7).requires_grad_() for _ in range(2))
    got, want = torch.compile(pool, backend=backend, dynamic=False)(x), pool(y)
    close(got, want)
    weight = torch.linspace(0.5, 1.5, want.numel()).reshape(want.shape)
    (got * weight).sum().backward()
    (want * weight).sum().backward()
    close(x.grad, y.grad)


def test_results_can_be_written_to(device):
    from glia.dynamo import backend

    with torch.no_grad():
        y = torch.compile(lambda x: x.reshape(2, 3) * 2, backend=backend, dynamic=False)(torch.arange(6.0))
    y.add_(torch.ones(3, requires_grad=True))
    assert y.detach().tolist() == [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]]


def test_torch_compile_draws_new_random_numbers(device):
    from glia.dynamo import backend

    f = torch.compile(lambda x: nn.functional.dropout(x, 0.5), backend=backend, dynamic=False)
    x = torch.ones(1000)
    a, b = f(x), f(x)
    assert not torch.equal(a, b) and set(a.tolist()) == {0.0, 2.0} and 0.4 < float((a > 0).float().mean()) < 0.6


def test_scripts_choose_the_target(tmp_path):
    text = """
import os
os.environ["NEURON_CC_FLAGS"] = "--auto-cast=none --target trn1"
import torch, torch_xla
from torch_neuronx.utils import get_platform_target
d = torch_xla.device()
print(get_platform_target(), float(torch.ones(3, device=d).sum()), torch_xla.runtime.device_type())
"""
    assert script(tmp_path, text).split() == ["trn1", "3.0", "NEURON"]
    assert script(tmp_path, text, "--target", "trn3").split()[0] == "trn3"


def test_bfloat16_everywhere(tmp_path):
    text = """
import os
os.environ["XLA_USE_BF16"] = "1"
import torch, torch_xla
x = torch.arange(6.0).reshape(2, 3) + 0.001
print((x.to(torch_xla.device()) * 1.0).cpu().tolist())
"""
    assert "0.00099945" in script(tmp_path, text)
