"""Arrays that stand for tensors of a program while a function is compiled (graph.py). They have a shape and a type, no numbers."""

from __future__ import annotations

from math import prod

import numpy as np

from . import trace as _t


class GraphTensor:
    """`tensor` is the name in the program; a kernel that updates its argument makes it the name of the new contents, also for
    the other shapes of the same array."""

    __slots__ = ("_cell", "dtype", "shape")

    def __init__(self, tensor, shape, dtype):
        self._cell = tensor if isinstance(tensor, list) else [tensor]
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    @property
    def tensor(self) -> str:
        return self._cell[0]

    @tensor.setter
    def tensor(self, name: str) -> None:
        self._cell[0] = name

    size = property(lambda self: prod(self.shape))
    ndim = property(lambda self: len(self.shape))

    def reshape(self, *shape) -> GraphTensor:
        """The same elements in another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        shape = tuple(np.empty(self.size, np.bool_).reshape(shape).shape)
        return GraphTensor(self._cell, shape, self.dtype)

    def __array__(self, *_, **__):
        raise _t.failure(
            "GRAPH-NUMPY",
            "NumPy computes with an array that is known only when the program runs",
            "In a function for glia.compile only kernels compute. Do the rest before, or in a kernel; "
            "JAX functions are compiled with glia.jit.",
        )

    def _refused(self, *_):
        self.__array__()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __getitem__ = __neg__ = (
        _refused
    )
    __bool__ = __iter__ = __len__ = __float__ = __int__ = _refused

    def __repr__(self) -> str:
        return f"<array of the program, {self.dtype}{list(self.shape)}>"
