"""One training step of a two-layer network on four ranks of torch, compiled as one program: the batch divided over two (data parallel), the
hidden layer over two (tensor parallel). Each rank is written as for torchrun; the same step on the CPU, of one process that has everything, is
beside it.

.venv-torch/bin/python examples/torch_tensor_parallel.py      (make venv-torch: torch and torch_xla)
"""

import importlib.util
import sys

BATCH, WIDTH, HIDDEN, RATE = 64, 64, 256, 0.05
DATA, TENSOR = 2, 2  # ranks; the number of a rank is data * TENSOR + tensor


def whole():
    """Weights of the network, and a batch: what is to be learnt is a fixed rotation."""
    import torch

    random = torch.Generator().manual_seed(0)
    up = torch.randn(WIDTH, HIDDEN, generator=random) * WIDTH**-0.5
    down = torch.randn(HIDDEN, WIDTH, generator=random) * HIDDEN**-0.5
    x = torch.randn(BATCH, WIDTH, generator=random)
    turned = x @ torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=random)).Q
    return up, down, x, turned


def make():
    """One rank, as a script under torchrun: its part of the weights, and what it does with its part of the batch."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (DATA, TENSOR), mesh_dim_names=("data", "tensor"))
    part = dist.get_rank() % TENSOR * (HIDDEN // TENSOR)
    up, down = whole()[:2]
    up, down = up[:, part : part + HIDDEN // TENSOR], down[part : part + HIDDEN // TENSOR]

    def step(x, wanted):
        mine = [up.detach().requires_grad_(), down.detach().requires_grad_()]
        partial = torch.relu(x @ mine[0]) @ mine[1]  # of this rank's hidden units
        error = (functional.all_reduce(partial.detach(), "sum", mesh["tensor"]) - wanted) * (2 / BATCH / WIDTH)
        gradients = torch.autograd.grad(partial, mine, error)
        gradients = [functional.all_reduce(g, "sum", mesh["data"]) for g in gradients]
        loss = functional.all_reduce((error * (BATCH * WIDTH / 2)).square().sum(), "sum", mesh["data"])
        return loss / (BATCH * WIDTH), *(w - RATE * g for w, g in zip(mine, gradients, strict=True))

    return step


def alone():
    """The same step by one process."""
    import torch

    up, down, x, wanted = whole()
    up.requires_grad_(), down.requires_grad_()
    loss = (torch.relu(x @ up) @ down - wanted).square().mean()
    gradients = torch.autograd.grad(loss, [up, down])
    return loss.detach(), *(w.detach() - RATE * g for w, g in zip((up, down), gradients, strict=True))


def main() -> bool:
    import torch
    from glia import torch_ranks

    x, wanted = (t.reshape(DATA, 1, -1, WIDTH).expand(-1, TENSOR, -1, -1).flatten(0, 1) for t in whole()[2:])
    step = torch_ranks.compile(make, x, wanted, ranks=DATA * TENSOR, target="trn2", topology="trn2.48xlarge")
    loss, up, down = step(x, wanted)  # ranks in front
    want = alone()
    got = loss[0], torch.cat(list(up[:TENSOR]), 1), torch.cat(list(down[:TENSOR]), 0)
    apart = max(float((a - b).abs().max()) for a, b in zip(got, want, strict=True))
    print(f"loss {float(loss[0]):.5f} on {DATA * TENSOR} ranks, {float(want[0]):.5f} on the CPU")
    print(f"loss and weights differ by at most {apart:.0e}; ranks of one part agree: {bool((up[:2] == up[2:]).all())}")
    print(f"{step.verify()}; predicted {step.time() / 1e3:.1f} us on a rank of trn2.48xlarge")
    return apart < 1e-5 and bool((up[:2] == up[2:]).all()) and bool((loss == loss[0]).all())


if __name__ == "__main__":
    missing = [name for name in ("torch", "torch_xla") if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"{' and '.join(missing)} not found here: `make venv-torch` makes an environment with both,\n"
            "`.venv-torch/bin/python examples/torch_tensor_parallel.py` runs this example in it."
        )
    sys.exit(not main())
