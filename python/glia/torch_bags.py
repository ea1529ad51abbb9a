"""Embeddings of bags: sums, means and maxima of rows of a table, and their derivatives, as gathers and scatters. Imported only where torch is."""

from __future__ import annotations

import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

_SUM, _MEAN, _MAX = range(3)


class _Bags:
    """Which bag each index is in, and which count: one that is padding does not, nor does one behind the last bag."""

    def __init__(self, indices: torch.Tensor, bag: torch.Tensor, bags: int, padding: int):
        self.indices, self.bags = indices.to(torch.int64), bags
        self.counts = (bag < bags) & (self.indices != padding) if padding >= 0 else bag < bags
        self.bag = torch.where(bag < bags, bag, 0).to(torch.int64)

    def sizes(self) -> torch.Tensor:
        return self.summed(torch.ones(self.indices.shape, dtype=torch.int32, device=self.bag.device))

    def summed(self, each: torch.Tensor) -> torch.Tensor:
        return _summed(self.kept(each), self.bag, self.bags)

    def kept(self, each: torch.Tensor, other=0) -> torch.Tensor:
        return torch.where(self.counts.reshape([-1, *[1] * (each.ndim - 1)]), each, other)

    def chosen(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each bag and column the largest, and the first index that has it: 0 and index 0 in a bag without any."""
        to = self.bag.reshape(-1, 1).expand(rows.shape)
        none = torch.full([self.bags, rows.shape[1]], -math.inf, dtype=rows.dtype, device=rows.device)
        largest = torch.scatter_reduce(none, 0, to, self.kept(rows, -math.inf), "amax")
        n = rows.shape[0]
        places = torch.arange(n, dtype=torch.int32, device=rows.device).reshape(-1, 1).expand(rows.shape)
        first = torch.where(self.kept(rows == largest.index_select(0, self.bag), False), places, n)
        unseen = torch.full(none.shape, n, dtype=torch.int32, device=rows.device)
        place = torch.scatter_reduce(unseen, 0, to, first, "amin").to(torch.int64).clamp(max=n - 1)
        empty = (self.sizes() == 0).reshape(-1, 1)
        found = self.indices.index_select(0, place.reshape(-1)).reshape(place.shape)
        return torch.where(empty, 0, largest), torch.where(empty, 0, found)


def _summed(each: torch.Tensor, to: torch.Tensor, n: int) -> torch.Tensor:
    """[n, ...]: the sums of what goes to each place, in f32 where it is shorter."""
    wide = torch.float32 if each.dtype in (torch.bfloat16, torch.float16) else each.dtype
    start = torch.zeros([n, *each.shape[1:]], dtype=wide, device=each.device)
    return start.index_add(0, to, each.to(wide)).to(each.dtype)


def _bag_of(n: int, offsets: torch.Tensor) -> torch.Tensor:
    places = torch.arange(n, dtype=offsets.dtype, device=offsets.device)
    return (offsets.reshape(1, -1) <= places.reshape(-1, 1)).sum(1).to(offsets.dtype) - 1


def _embedding_bag(name: str):
    def written(
        table, indices, offsets, by_frequency=False, mode=_SUM, sparse=False, weights=None, last=False, padding=-1
    ):
        given = table, indices, offsets, by_frequency, mode, sparse, weights, last, padding
        with _disable_current_modes(), FakeTensorMode():
            plain = [torch.empty(x.shape, dtype=x.dtype) if isinstance(x, torch.Tensor) else x for x in given]
            shapes = [x.shape for x in getattr(torch.ops.aten, name).default(*plain)]
        bag = _bag_of(indices.shape[0], offsets)
        if not indices.shape[0]:
            return tuple(
                torch.zeros(s, dtype=d.dtype, device=table.device) for s, d in zip(shapes, (table, *[offsets] * 3))
            )
        bags = _Bags(indices, bag, shapes[0][0], padding)
        rows = table.index_select(0, bags.indices)
        sizes, chosen = bags.sizes(), torch.zeros(shapes[3], dtype=offsets.dtype, device=table.device)
        if mode == _MAX:
            made, chosen = bags.chosen(rows)
        else:
            made = bags.summed(rows if weights is None else rows * weights.reshape(-1, 1))
            if mode == _MEAN:
                made = made / sizes.clamp(min=1).to(made.dtype).reshape(-1, 1)
        sizes = torch.nn.functional.pad(sizes, [0, shapes[2][0] - sizes.shape[0]])
        return made, bag[: shapes[1][0]], sizes.to(offsets.dtype), chosen.to(offsets.dtype)

    return written


def _dense_backward(
    gradient, indices, bag, sizes, chosen, rows: int, by_frequency: bool, mode: int, weights, padding=-1
):
    if by_frequency:
        return NotImplemented  # torch on the CPU divides by how often other rows are there
    bags = _Bags(indices, bag, gradient.shape[0], padding)
    sizes = bags.sizes()
    if mode == _MAX:
        some = torch.where((sizes > 0).reshape(-1, 1), gradient, 0)
        place = chosen.to(torch.int64)[: gradient.shape[0]]
        start = torch.zeros([rows, gradient.shape[1]], dtype=torch.float32, device=gradient.device)
        return start.scatter_add(0, place, some.to(torch.float32)).to(gradient.dtype)
    if mode == _MEAN:
        gradient = gradient / sizes.clamp(min=1).to(gradient.dtype).reshape(-1, 1)
    each = gradient.index_select(0, bags.bag)
    if weights is not None:
        each = each * weights.reshape(-1, 1)
    return _summed(bags.kept(each), bags.indices, rows)


def _backward(gradient, indices, offsets, bag, sizes, chosen, rows, by_frequency, mode, sparse, weights, padding=-1):
    if sparse:
        return NotImplemented
    bag = _bag_of(indices.shape[0], offsets)
    return _dense_backward(gradient, indices, bag, sizes, chosen, rows, by_frequency, mode, weights, padding)


def _weights_backward(gradient, table, indices, offsets, bag, mode, padding=-1):
    bags = _Bags(indices, _bag_of(indices.shape[0], offsets), gradient.shape[0], padding)
    product = gradient.index_select(0, bags.bag) * table.index_select(0, bags.indices)
    return bags.kept(product.to(torch.float32).sum(1)).to(gradient.dtype)


OWN = {
    **{f"aten::{name}": _embedding_bag(name) for name in ("_embedding_bag", "_embedding_bag_forward_only")},
    "aten::_embedding_bag_backward": _backward,
    "aten::_embedding_bag_dense_backward": _dense_backward,
    "aten::_embedding_bag_per_sample_weights_backward": _weights_backward,
}
