"""The reference of graphs: evaluates them on the host, without the machine, and compares compiled graphs with it.

A graph is StableHLO text, or the bytes of a portable artifact of StableHLO or of an HloModuleProto.

y, = glia.interpret(jax.jit(f).lower(x).as_text(), x)
"""

import os
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from . import _glia

_TYPES = {
    "i1": np.bool_,
    "i2": ml_dtypes.int2,
    "i4": ml_dtypes.int4,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui2": ml_dtypes.uint2,
    "ui4": ml_dtypes.uint4,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}
_NAMES = {np.dtype(t): name for name, t in _TYPES.items()}


def _array(value):
    name, shape, data = value
    return np.frombuffer(data, np.dtype(_TYPES[name])).reshape(shape)


def _tuples(inputs):
    arrays = []
    for i, x in enumerate(inputs):
        a = np.asarray(x)
        if a.dtype not in _NAMES:
            raise TypeError(f"input {i} has elements of type {a.dtype}, which graphs do not have")
        arrays.append((_NAMES[a.dtype], list(a.shape), a.tobytes()))
    return arrays


def interpret(graph, *inputs, function="", file="<graph>", in_double=False, shaken=0, watcher=None):
    """Evaluates a function of a graph (@main unless named) and returns the list of its results as NumPy arrays.

    in_double: every float type is evaluated, and returned, as f64.
    shaken: with in_double, a seed: each float that is computed is off by up to one rounding of its type, drawn from it.
    watcher(operation, place, result, array): called for every value that is computed."""
    arrays = _tuples(inputs)
    watch = None if watcher is None else lambda op, place, result, value: watcher(op, place, result, _array(value))
    return [_array(r) for r in _glia.interpret(graph, arrays, function, file, in_double, shaken, watch)]


@dataclass(frozen=True)
class Checked:
    """A compiled graph against the reference: each group alone, on the reference's own values, then the whole program."""

    diagnostics: list  # the groups that differ, and the operation in each; or the results
    operations: int
    groups: int
    kernels: int
    errors: list  # per result: relative L2 error against f64, and that of the reference in the graph's own types
    ranks: int = 1  # of several ranks the results are compared, and no group alone

    @property
    def ok(self) -> bool:
        return not self.diagnostics

    def __str__(self) -> str:
        good = f"ok, {self.operations} operations, {self.groups} groups, {self.kernels} kernels"
        if self.ranks > 1:
            good = f"ok, the results of {self.ranks} ranks; no group was compared alone"
        return "\n".join(map(str, self.diagnostics)) or good


def check(graph, *inputs, target, file="<graph>", lnc=1, auto_cast="") -> Checked:
    """Compiles a graph for `target` and compares it with the reference on these inputs, as `glia check` does."""
    return Checked(*_glia.check_graph(graph, _tuples(inputs), os.fspath(target), file, lnc, auto_cast))
