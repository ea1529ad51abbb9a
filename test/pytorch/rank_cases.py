"""What ranks do together, and the same by plain arithmetic on the tensors of all ranks, or on one device that has everything."""

import dataclasses
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh


@dataclasses.dataclass(frozen=True)
class Case:
    ranks: int
    make: Callable  # of one rank: its function
    inputs: tuple  # with a dimension for the ranks in front
    expected: Callable  # of the inputs: a dictionary, as the function returns it, with ranks in front


def in_groups(x, groups, function):
    """function(tensors of the group, place) for each rank."""
    out = [None] * len(x)
    for group in groups:
        for place, rank in enumerate(group):
            out[rank] = function([x[r] for r in group], place)
    return torch.stack(out)


def exchanges() -> Case:
    """Every collective of a graph, in rows and columns of a mesh of 2 x 2."""
    rows, columns = [[0, 1], [2, 3]], [[0, 2], [1, 3]]

    def make():
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("down", "across"))
        across, down = mesh["across"].get_group(), mesh["down"].get_group()

        def f(x, n):
            copied = x.clone()
            dist.broadcast(copied, src=dist.get_rank() // 2 * 2 + 1, group=across)
            least = x * 2
            dist.all_reduce(least, op=dist.ReduceOp.MIN, group=down, async_op=True).wait()
            return {
                "sum": functional.all_reduce(x, "sum", across),
                "mean": functional.all_reduce(x, "avg", mesh["down"]),
                "product": functional.all_reduce(x, "product", dist.group.WORLD),
                "most": functional.all_reduce(n, "max", across),
                "wide": functional.all_reduce(n * 2**33, "sum", dist.group.WORLD),
                "low": functional.all_reduce(x.to(torch.bfloat16), "sum", down),
                "gathered": functional.all_gather_tensor(x, 1, down),
                "scattered": functional.reduce_scatter_tensor(x, "sum", 0, across),
                "turned": functional.all_to_all_single(x, None, None, across),
                "least": least,
                "copied": copied,
            }

        return f

    def expected(x, n):
        low = x.to(torch.bfloat16).float()
        return {
            "sum": in_groups(x, rows, lambda t, _: sum(t)),
            "mean": in_groups(x, columns, lambda t, _: sum(t) / 2),
            "product": in_groups(x, [[0, 1, 2, 3]], lambda t, _: torch.stack(t).prod(0)),
            "most": in_groups(n, rows, lambda t, _: torch.stack(t).amax(0)),
            "wide": in_groups(n, [[0, 1, 2, 3]], lambda t, _: sum(t) * 2**33),
            "low": in_groups(low, columns, lambda t, _: sum(t).to(torch.bfloat16)),
            "gathered": in_groups(x, columns, lambda t, _: torch.cat(t, 1)),
            "scattered": in_groups(x, rows, lambda t, place: sum(t).chunk(2)[place]),
            "turned": in_groups(x, rows, lambda t, place: torch.cat([y.chunk(2)[place] for y in t])),
            "least": in_groups(2 * x, columns, lambda t, _: torch.minimum(*t)),
            "copied": in_groups(x, rows, lambda t, _: t[1]),
        }

    generator = torch.Generator().manual_seed(1)
    x = torch.randn(4, 6, 5, generator=generator)
    return Case(4, make, (x, torch.randint(-9, 9, (4, 7), generator=generator)), expected)


def xla() -> Case:
    """The calls of torch_xla."""
    pairs, halves = [[0, 2], [1, 3]], [[0, 1], [2, 3]]

    def make():
        import torch_xla.core.xla_model as xm
        import torch_xla.runtime as xr

        n = xr.world_size()

        def f(x):
            inplace, copied = [x.clone(), 3 * x], x.clone()
            xm.all_reduce(xm.REDUCE_MAX, inplace)
            xm.collective_broadcast([copied], root_ordinal=2)
            xm.rendezvous("here")
            return {
                "mean": xm.all_reduce(xm.REDUCE_SUM, x, scale=1 / n),
                "most": xm.all_reduce(xm.REDUCE_MAX, x, groups=halves),
                "any": xm.all_reduce(xm.REDUCE_OR, (x > 0).to(torch.int32)),
                "inplace": inplace,
                "gathered": xm.all_gather(x, dim=-1, groups=pairs),
                "scattered": xm.reduce_scatter(xm.REDUCE_SUM, x, 0.5, 0, n),
                "turned": xm.all_to_all(x, 0, 1, n),
                "next": xm.collective_permute(x, [[r, (r + 1) % n] for r in range(n)]),
                "copied": copied,
                "own": x + xr.global_ordinal(),
            }

        return f

    def expected(x):
        everyone = [[0, 1, 2, 3]]
        most = x.amax(0).expand(x.shape)
        return {
            "mean": x.mean(0).expand(x.shape),
            "most": in_groups(x, halves, lambda t, _: torch.maximum(*t)),
            "any": (x > 0).any(0).to(torch.int32).expand(x.shape),
            "inplace": [most, 3 * most],
            "gathered": in_groups(x, pairs, lambda t, _: torch.cat(t, 1)),
            "scattered": x.sum(0).reshape(4, 2, 3) / 2,
            "turned": in_groups(x, everyone, lambda t, place: torch.cat([y.chunk(4)[place] for y in t], 1)),
            "next": x.roll(1, 0),
            "copied": x[2].expand(x.shape),
            "own": x + torch.arange(4.0)[:, None, None],
        }

    return Case(4, make, (torch.randn(4, 8, 3, generator=torch.Generator().manual_seed(2)),), expected)


class _Copied(torch.autograd.Function):
    """Enters a layer whose columns are divided: gradients are added."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return functional.all_reduce(gradient, "sum", dist.group.WORLD)


class _Added(torch.autograd.Function):
    """Leaves a layer whose rows are divided."""

    @staticmethod
    def forward(ctx, x):
        return functional.all_reduce(x, "sum", dist.group.WORLD)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class _Whole(nn.Module):
    """A table of words and a feed-forward layer."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        for name, shape in (("table", (24, 8)), ("up", (8, 16)), ("down", (16, 8))):
            setattr(self, name, nn.Parameter(torch.randn(shape, generator=generator) / 4))

    def forward(self, tokens):
        return torch.relu(self.table[tokens] @ self.up) @ self.down

    def step(self, tokens):
        with torch.enable_grad():
            loss = self(tokens).square().mean()
            return {"loss": loss.detach(), "gradients": list(torch.autograd.grad(loss, list(self.parameters())))}


class _Divided(_Whole):
    """The same, of one rank: some words, columns and rows."""

    def __init__(self):
        super().__init__()
        rank, ranks = dist.get_rank(), dist.get_world_size()
        self.first = rank * len(self.table) // ranks
        self.table = nn.Parameter(self.table.chunk(ranks)[rank].clone())
        self.up = nn.Parameter(self.up.chunk(ranks, 1)[rank].clone())
        self.down = nn.Parameter(self.down.chunk(ranks)[rank].clone())

    def forward(self, tokens):
        tokens = tokens - self.first
        mine = (tokens >= 0) & (tokens < len(self.table))
        words = self.table[torch.where(mine, tokens, 0)] * mine[..., None]
        x = _Copied.apply(_Added.apply(words))
        return _Added.apply(torch.relu(x @ self.up) @ self.down)


def tensor_parallel() -> Case:
    """A training step of a divided model against that of the whole one."""

    def expected(tokens):
        made = _Whole().step(tokens[0])
        table, up, down = made["gradients"]
        parts = [torch.stack(g) for g in (table.chunk(4), up.chunk(4, 1), down.chunk(4))]
        return {"loss": made["loss"].expand(4), "gradients": parts}

    tokens = torch.randint(24, (5,), generator=torch.Generator().manual_seed(4))
    return Case(4, lambda: _Divided().step, (tokens.expand(4, 5),), expected)


def cases() -> dict[str, Case]:
    return {"exchanges": exchanges(), "xla": xla(), "tensor_parallel": tensor_parallel()}
