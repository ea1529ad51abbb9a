"""The examples: their inputs, their NumPy references, how close they must come, and which targets can run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
EVERY = ("trn1", "trn2", "trn3")
V3_AND_NEWER = ("trn2", "trn3")

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Example:
    name: str
    inputs: Callable[[np.random.Generator], Arrays]
    reference: Callable[[Arrays], Arrays]
    tolerance: float = 0.0  # largest error, relative to the largest magnitude of the reference; 0 = every bit
    targets: tuple[str, ...] = EVERY

    @property
    def path(self) -> Path:
        return HERE / f"{self.name}.gasm"


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)


def softmax(i: Arrays) -> Arrays:
    x = i["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}


def layer_norm(i: Arrays) -> Arrays:
    x = i["x"].astype(np.float64)
    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return {"y": (x - mean) / np.sqrt(var + 1e-5) * i["gamma"] + i["beta"]}


def gather_scatter(i: Arrays) -> Arrays:
    gathered = i["table"][i["rows"][:, 0]]
    scattered = np.zeros((256, 128), np.float32)
    scattered[i["places"][:, 0]] = gathered
    return {"gathered": gathered, "scattered": scattered}


def top8(i: Arrays) -> Arrays:
    order = np.argsort(-i["x"], axis=1, kind="stable")[:, :8]
    return {"values": np.take_along_axis(i["x"], order, axis=1), "indices": order.astype(np.uint32)}


def dynamic_loop(i: Arrays) -> Arrays:
    total = np.zeros((128, 512), np.float32)
    for k in range(int(i["n"][0])):
        total = total + i["x"][k]
    return {"y": total}


EXAMPLES = [
    Example(
        "vector_add",
        lambda r: {"a": normal(r, 128, 2048), "b": normal(r, 128, 2048)},
        lambda i: {"y": i["a"] + i["b"]},
    ),
    Example(
        "matmul",
        lambda r: {n: normal(r, 512, 512, dtype=ml_dtypes.bfloat16) for n in ("at", "b")},
        lambda i: {"c": i["at"].astype(np.float64).T @ i["b"].astype(np.float64)},
        tolerance=2e-6,
    ),
    Example("softmax", lambda r: {"x": 4 * normal(r, 128, 1024)}, softmax, tolerance=2e-6),
    Example(
        "layer_norm",
        lambda r: {"x": 3 * normal(r, 128, 1024) + 1, "gamma": normal(r, 1024), "beta": normal(r, 1024)},
        layer_norm,
        tolerance=2e-6,
    ),
    Example("transpose_pe", lambda r: {"x": normal(r, 128, 256)}, lambda i: {"y": i["x"].T}),
    Example("transpose_vector", lambda r: {"x": normal(r, 64, 64)}, lambda i: {"y": i["x"].T}),
    Example(
        "transpose_dma",
        lambda r: {"x": normal(r, 128, 128, dtype=ml_dtypes.bfloat16)},
        lambda i: {"y": i["x"].T},
        targets=V3_AND_NEWER,
    ),
    Example(
        "gather_scatter",
        lambda r: {
            "table": normal(r, 1000, 128),
            "rows": r.integers(0, 1000, (128, 1), dtype=np.int32),
            "places": r.permutation(256)[:128].astype(np.int32).reshape(128, 1),
        },
        gather_scatter,
        targets=V3_AND_NEWER,
    ),
    Example("top8", lambda r: {"x": normal(r, 128, 1024)}, top8),
    Example(
        "dynamic_loop",
        lambda r: {"x": normal(r, 8, 128, 512), "n": np.array([5], np.int32)},
        dynamic_loop,
    ),
    Example(
        "two_core_sum",
        lambda r: {"x": normal(r, 2, 128, 512)},
        lambda i: {"y": i["x"][0] + i["x"][1]},
        targets=V3_AND_NEWER,
    ),
]


def error(outputs: Arrays, reference: Arrays) -> float:
    """The largest error of any output, relative to the largest magnitude of its reference."""
    worst = 0.0
    for name, want in reference.items():
        got = outputs[name].astype(np.float64)
        want = np.asarray(want).astype(np.float64)
        assert got.shape == want.shape, (name, got.shape, want.shape)
        scale = max(np.abs(want).max(), np.finfo(np.float64).tiny)
        difference = np.abs(got - want).max()
        worst = max(worst, np.inf if np.isnan(difference) else difference / scale)
    return float(worst)
