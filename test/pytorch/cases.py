"""Functions of torch tensors that tests compare with torch on the CPU: what models and training steps are made of."""

import torch
from torch import nn
from torch.nn import functional


class Step(nn.Module):
    """Loss, gradients and counters of a model, as a function."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *inputs):
        with torch.enable_grad():
            loss = self.loss(self.model, *inputs)
            gradients = torch.autograd.grad(loss, list(self.model.parameters()))
        # Of floats, the running variance: that of torch_xla divides by n, that of torch by n - 1.
        counters = [b.clone() for b in self.model.buffers() if not b.dtype.is_floating_point]
        return [loss.detach(), *gradients, *counters]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 50)

    def forward(self, tokens):
        return self.head(torch.tanh(self.table(tokens)))


class Block(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed(self.norm(x))


class Stem(nn.Module):
    """In training: its counter of batches is a 64-bit integer."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.norm(self.convolution(x)))


class Integers(nn.Module):
    """64-bit arithmetic that wraps."""

    def forward(self, x, y):
        z = x * 6364136223846793005 + 1442695040888963407
        top = torch.bitwise_right_shift(z, 33)
        return [
            z,
            top ^ y,
            torch.where(z > y, z, y),
            x.abs() - y,
            (z & 0xFFFF).to(torch.int32),
            x.to(torch.float32),
            x < y,
        ]


def _mean_square(model, x, y):
    return functional.mse_loss(model(x), y)


def _cross_entropy(model, tokens, wanted):
    return functional.cross_entropy(model(tokens), wanted)


def _sum(model, x):
    return model(x).sum()


def cases():
    """name -> (module, inputs)"""
    torch.manual_seed(0)
    big = torch.randint(-(2**62), 2**62, (5, 3))
    small = torch.tensor([[1, -2, 3], [2**31, -(2**31), 2**32], [0, 7, -7], [2**40, 2**53 + 1, -(2**40)], [5, 6, 7]])
    return {
        "block": (Step(Block(16), _mean_square), (torch.randn(1, 6, 16), torch.randn(1, 6, 16))),
        "words": (Step(Words(), _cross_entropy), (torch.randint(50, (12,)), torch.randint(50, (12,)))),
        "stem": (Step(Stem().train(), _sum), (torch.randn(1, 3, 16, 16),)),
        "integers": (Integers(), (big, small)),
        "choice": (_Choice(), (torch.randn(6, 9),)),
    }


class _Choice(nn.Module):
    def forward(self, x):
        values, places = x.max(1)
        return [values, places, x.argmin(0), (x > 0).sum(1), x.gather(1, places[:, None])]
