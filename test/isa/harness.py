"""Runs a snippet of one engine on tensors that arrive and leave by DMA, and the views that operands take.

A test gives arrays of shape (partitions, elements), the lines of its snippet and the outputs it wants. The harness declares a
tile for each tensor, loads the inputs on the sync engine, lets the snippet wait for them and stores the outputs after it. Tiles
named in `psum` live in PSUM, which DMA does not reach: the Vector engine copies them there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import glia
import numpy as np
import tomllib
from glia.dtypes import machine_dtype, numpy_dtype

TARGETS = tuple(t if isinstance(t, str) else t["name"] for t in glia.targets())


def targets_with(*features: str) -> list[str]:
    """The built-in targets that have all of these features."""
    return [t for t in TARGETS if all(has_feature(t, f) for f in features)]


def has_feature(target: str, feature: str) -> bool:
    """Whether the target file says so."""
    text = (Path(__file__).resolve().parents[2] / "targets" / f"{target}.toml").read_text()
    return bool(tomllib.loads(text)["feature"].get(feature, {"value": False})["value"])


@dataclass(frozen=True)
class View:
    """An access pattern of a tile: element offset in the partition and (stride, count) dimensions, slowest first."""

    partitions: int
    dims: tuple[tuple[int, int], ...]
    offset: int = 0
    first: int = 0  # first partition, from the tile's start

    def text(self, name: str, dtype) -> str:
        size = numpy_dtype(machine_dtype(dtype)).itemsize
        dims = ", ".join(f"{s}x{c}" for s, c in self.dims)
        return f"{name}{{{self.first}+{self.partitions} | {self.offset * size} | {dims}}}"

    def indices(self) -> np.ndarray:
        at = np.array([self.offset])
        for stride, count in self.dims:
            at = (at[:, None] + stride * np.arange(count)).reshape(-1)
        return at

    def take(self, array: np.ndarray) -> np.ndarray:
        return array[self.first : self.first + self.partitions][:, self.indices()]

    def put(self, array: np.ndarray, values: np.ndarray) -> np.ndarray:
        result = array.copy()
        result[self.first : self.first + self.partitions, self.indices()] = values
        return result


def program(code, inputs, outputs, target, psum=(), types=None, start=None, declare="") -> glia.Program:
    """The assembled program. `inputs`: name -> array; `outputs`: name -> (type, (partitions, elements)); a name in both is
    loaded first and stored afterwards. `types` overrides machine types, `start` gives first partitions of tiles."""
    code = [code] if isinstance(code, str) else list(code)
    types, start = dict(types or {}), dict(start or {})
    engine = code[0].split()[0]
    shapes = {}
    for name, array in inputs.items():
        shapes[name] = (types.get(name) or machine_dtype(array.dtype), array.shape)
    for name, (dtype, shape) in outputs.items():
        shapes.setdefault(name, (types.get(name) or machine_dtype(dtype), tuple(shape)))

    lines, at, bank = [declare], 0, 0
    for name, (dtype, (partitions, elements)) in shapes.items():
        size = (elements * numpy_dtype(dtype).itemsize + 63) // 64 * 64
        place, space = start.get(name, 0), f"{dtype}[{partitions}, {elements}]"
        if name in inputs:
            lines.append(f"input {name}_in : {space}")
        if name in outputs:
            lines.append(f"output {name}_out : {space}")
        stage = f"{name}_stage" if name in psum else name
        lines.append(f"sbuf {stage} : {space} @ {place}:{at}")
        at += size
        if name in psum:
            lines.append(f"psum {name} : {space} @ {place}:{bank}")
            bank += (size + 2047) // 2048 * 2048
    lines += ["semaphore loaded", "semaphore staged", "semaphore computed", "semaphore drained", "queue q"]

    for name in inputs:
        stage = f"{name}_stage" if name in psum else name
        lines.append(f"sync dma_copy dst={stage} src={name}_in queue=q then loaded += 16")
    wait = f"loaded >= {16 * len(inputs)}" if inputs else ""
    copies = [n for n in inputs if n in psum]
    for i, name in enumerate(copies):
        last = " then staged += 1" if i == len(copies) - 1 else ""
        lines.append(f"vector tensor_copy dst={name} src={name}_stage when {wait}{last}")
    if copies:
        wait = (f"{wait} and " if wait else "") + "staged >= 1"
    code[0] += f" when {wait}" if wait else ""
    code[-1] += " then computed += 1"
    lines += code
    done = "computed >= 1"
    drains = [n for n in outputs if n in psum]
    for i, name in enumerate(drains):
        last = " then drained += 1" if i == len(drains) - 1 else ""
        lines.append(f"vector tensor_copy dst={name}_stage src={name} when {done}{last}")
    if drains:
        done = "computed >= 1 and drained >= 1"
    for name in outputs:
        stage = f"{name}_stage" if name in psum else name
        lines.append(f"sync dma_copy dst={name}_out src={stage} queue=q when {done}")
    assert engine in ("vector", "scalar", "gpsimd", "tensor")
    return glia.assemble("\n".join(lines) + "\n", target=target)


def run(
    code, inputs, outputs, target, psum=(), types=None, start=None, declare="", strict=False
) -> dict[str, np.ndarray]:
    """Verifies and runs a snippet, and returns its outputs by tile name."""
    p = program(code, inputs, outputs, target, psum, types, start, declare)
    result = p.run({f"{n}_in": np.ascontiguousarray(a) for n, a in inputs.items()}, strict=strict)
    return {n: result[f"{n}_out"] for n in outputs}


def refused(code, inputs, outputs, target, **options) -> list[str]:
    """The rules that a snippet breaks."""
    return [d.code for d in program(code, inputs, outputs, target, **options).verify().diagnostics]


# ---- comparing ---------------------------------------------------------------------------------------------------------


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    """Equal bit for bit, except that every NaN equals every NaN."""
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    a, b = np.ascontiguousarray(got).view(unsigned), np.ascontiguousarray(want).view(unsigned)
    differ = a != b
    if not np.issubdtype(got.dtype, np.integer):
        differ &= ~(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
    if differ.any():
        first = tuple(np.argwhere(differ)[0])
        raise AssertionError(
            f"{differ.sum()} of {differ.size} differ, first at {first}: got {got[first]!r}, want {want[first]!r}"
        )


def within_ulp(got: np.ndarray, want: np.ndarray, ulp: float) -> None:
    """fp32 results within `ulp` of the real value `want` (float64). Infinities and NaN must agree."""
    assert got.dtype == np.float32
    value = want.astype(np.float32)
    special = ~np.isfinite(value)
    np.testing.assert_array_equal(got[special], value[special])
    unit = np.maximum(np.spacing(np.abs(value[~special])).astype(np.float64), 2.0**-149)
    distance = np.abs(got[~special].astype(np.float64) - want[~special]) / unit
    assert distance.size == 0 or distance.max() <= ulp, f"{distance.max()} ulp"
