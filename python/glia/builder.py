"""A builder of programs, for generators written in Python. It mirrors the C++ builder (include/glia/Program/Builder.h).

b = glia.Builder("trn2")
x, y = b.input("x", "f32", (128, 512)), b.output("y", "f32", (128, 512))
t = b.sbuf("t", "f32", (128, 512), at=0)
loaded, done, q = b.semaphore("loaded"), b.semaphore("done"), b.queue("q")
b.emit("sync", "dma_copy", dst=t, src=x, queue=q, then=[(loaded, 16)])
b.emit("vector", "tensor_scalar", dst=t, data=t, op0="multiply", operand0=2.0, when=[(loaded, 16)], then=[(done, 1)])
b.emit("sync", "dma_copy", dst=y, src=t, queue=q, when=[(done, 1)], then=[(loaded, 16)])
p = b.finish()
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import contextmanager

import numpy as np

from . import _glia
from .dtypes import machine_dtype, numpy_dtype
from .program import Program


def reg(number: int) -> _glia.Register:
    """Register `number` of the issuing engine."""
    return _glia.Register(number)


class View:
    """A part of an object: slices per dimension, or an explicit pattern, plus registers."""

    def __init__(self, builder: Builder, access):
        self._builder, self.access = builder, access

    def plus(self, register, scale: int, partitions: bool = False) -> View:
        """The same view, moved by `register` times `scale` bytes (or partitions)."""
        return View(self._builder, self._builder._b.dynamic(self.access, register, scale, partitions))


class Object:
    """A tensor in HBM or an allocation on chip. Index it with slices and integers (an integer keeps that index)."""

    def __init__(self, builder: Builder, ref, name: str, dtype: str, shape: tuple[int, ...]):
        self._builder, self.ref, self.name, self.dtype, self.shape = builder, ref, name, dtype, shape

    def __getitem__(self, index) -> View:
        index = index if isinstance(index, tuple) else (index,)
        slices = []
        for i, size in zip(index, self.shape):
            if isinstance(i, slice):
                slices.append(
                    (
                        0 if i.start is None else i.start,
                        size if i.stop is None else i.stop,
                        1 if i.step is None else i.step,
                    )
                )
            else:
                slices.append((i, i + 1, 1))
        slices += [(0, 1, 1)] * (len(index) - len(slices))  # too many: the builder says so
        return View(self._builder, self._builder._b.view(self.ref, slices))

    def pattern(
        self,
        dims: Sequence[tuple[int, int]],
        byte_offset: int = 0,
        partitions: int | None = None,
        partition: int = 0,
        dtype=None,
    ) -> View:
        """An explicit view: `dims` are (stride in elements, count), slowest first; partitions=None means in HBM."""
        t = self.dtype if dtype is None else machine_dtype(dtype)
        access = self._builder._b.explicit_view(self.ref, t, partitions or 0, list(dims), byte_offset, partition)
        return View(self._builder, access)


class Builder:
    def __init__(self, target: str = "trn2", cores: int = 1):
        self._open = _glia.Builder(str(target), cores)

    @property
    def _b(self):
        if self._open is None:
            raise _glia.make_error("BUILD-FINISHED", "the program of this builder is finished", "Make a new Builder.")
        return self._open

    def _object(self, ref, name, dtype, shape) -> Object:
        return Object(self, ref, name, dtype, tuple(shape))

    def input(self, name: str, dtype, shape, range: tuple[int, int] | None = None, unique: bool = False) -> Object:
        """A tensor that the caller gives. `range` (inclusive) and `unique` are promises, checked when the program runs."""
        t = machine_dtype(dtype)
        return self._object(self._b.input(name, t, list(shape), list(range or ()), unique), name, t, shape)

    def output(self, name: str, dtype, shape) -> Object:
        t = machine_dtype(dtype)
        return self._object(self._b.output(name, t, list(shape)), name, t, shape)

    def scratch(self, name: str, dtype, shape, shared: bool = True) -> Object:
        t = machine_dtype(dtype)
        return self._object(self._b.scratch(name, t, list(shape), shared), name, t, shape)

    def constant(self, name: str, array, dtype=None) -> Object:
        array = np.asarray(array)
        t = machine_dtype(array.dtype if dtype is None else dtype)
        array = np.ascontiguousarray(array, dtype=numpy_dtype(t))
        return self._object(self._b.constant(name, t, list(array.shape), array.tobytes()), name, t, array.shape)

    def sbuf(
        self, name: str, dtype, shape, at: int = 0, partition: int = 0, core: int = 0, live=(0, 2**32 - 1)
    ) -> Object:
        """An allocation in SBUF: shape[0] partitions from `partition`, at byte `at` of each."""
        t = machine_dtype(dtype)
        return self._object(self._b.allocation(False, name, t, list(shape), partition, at, core, *live), name, t, shape)

    def psum(
        self, name: str, dtype, shape, at: int = 0, partition: int = 0, core: int = 0, live=(0, 2**32 - 1)
    ) -> Object:
        """The same in PSUM."""
        t = machine_dtype(dtype)
        return self._object(self._b.allocation(True, name, t, list(shape), partition, at, core, *live), name, t, shape)

    def semaphore(self, name: str, initial: int = 0, core: int = 0) -> int:
        return self._b.semaphore(name, initial, core)

    def queue(self, name: str, core: int = 0) -> int:
        return self._b.queue(name, core)

    def emit(
        self,
        engine: str,
        instruction: str,
        *,
        core: int = 0,
        when: Iterable[tuple] = (),
        then: Iterable[tuple] = (),
        **operands,
    ) -> int:
        """Appends an instruction and returns its index. `when`: (semaphore, value) or (semaphore, value, consume)."""
        values = {}
        for slot, v in operands.items():
            if isinstance(v, View):
                v = v.access
            elif isinstance(v, Object):
                v = v.ref
            elif isinstance(v, np.generic):
                v = v.item()
            values[slot] = v
        waits = [(w[0], w[1], len(w) > 2 and bool(w[2])) for w in when]
        updates = [(u[0], u[1], False) for u in then]
        return self._b.emit(core, engine, instruction, values, waits, updates)

    @contextmanager
    def loop(self, engine: str, iv: int, count, *, group: str = "", core: int = 0):
        """Repeats what `engine` is given in the `with` block; yields the register that counts."""
        begin = self.emit(engine, "loop", core=core, iv=reg(iv), count=count, group=group, end=0)
        yield reg(iv)
        end = self.emit(engine, "end_loop", core=core, begin=begin)
        self._b.patch_label(core, engine, begin, end)

    @contextmanager
    def while_loop(self, engine: str, cond: int, *, group: str = "", core: int = 0):
        """Repeats what `engine` is given in the `with` block while register `cond` is not 0."""
        begin = self.emit(engine, "while", core=core, cond=reg(cond), group=group, end=0)
        yield
        end = self.emit(engine, "end_loop", core=core, begin=begin)
        self._b.patch_label(core, engine, begin, end)

    def origin(self, kernel: str, operation: str = "", file: str = "", line: int = 0) -> None:
        """Where the following instructions come from."""
        self._b.origin(kernel, operation, file, line)

    def finish(self) -> Program:
        """The program. The builder is used up."""
        program = Program(self._b.finish())
        self._open = None
        return program
