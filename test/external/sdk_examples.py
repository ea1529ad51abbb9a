"""Kernels of aws-neuron-sdk, nki/examples, for nki 0.3 or newer. References in NumPy, float64."""

from __future__ import annotations

import numpy as np
from public_kernels import Case, checkout, load, random

ORIGIN = "aws-neuron-sdk"


def cases() -> list[Case]:
    root = checkout(ORIGIN)
    if root is None:
        return []
    folder = root / "nki/examples"
    out = _matmuls(folder) + _mambas(folder) + _small(folder)
    return out


def _case(name, kernel, arguments, reference, compared="NumPy float64", **more) -> Case:
    return Case(ORIGIN, name, kernel, arguments, reference, compared, **more)


def _matmuls(folder) -> list[Case]:
    m = load(folder / "matrix_multiplication/matrix_multiplication_nki_kernels.py")
    normal = random(1)
    shapes = {  # M, K, N
        "nki_matmul_basic_": (64, 128, 512),
        "nki_matmul_tiled_": (256, 256, 1024),
        "nki_matmul_hoist_load_": (256, 256, 1024),
        "nki_matmul_block_free_dimension_": (512, 256, 1024),
        "nki_matmul_fully_optimized_": (2048, 1024, 1024),
    }
    out = []
    for name, (rows, inner, columns) in shapes.items():
        a, b = normal(inner, rows), normal(inner, columns)
        exact = lambda a=a, b=b: (a.astype(np.float64).T @ b,)  # noqa: E731
        out.append(_case(f"{name} f32 {rows}x{inner}x{columns}", getattr(m, name), (a, b), exact))
    return out


def _mambas(folder) -> list[Case]:
    m = load(folder / "fused_mamba/mamba_nki_kernels.py")
    normal = random(2)
    batch, channels, length, states = 1, 256, 512, 16
    delta, u = np.abs(normal(batch, channels, length)) * np.float32(0.1), normal(batch, channels, length)
    a, b, c = -np.abs(normal(channels, states)), normal(batch, states, length), normal(batch, states, length)

    def recurrence():
        d = delta.astype(np.float64)
        decay, feed = np.exp(d[:, :, None] * a[None, :, :, None]), d[:, :, None] * b[:, None] * u[:, :, None]
        state, y = np.zeros((batch, channels, states)), np.empty((batch, channels, length))
        for i in range(length):
            state = decay[..., i] * state + feed[..., i]
            y[..., i] = (state * c[:, None, :, i]).sum(-1)
        return (y,)

    return [
        _case(name, getattr(m, name), (delta, u, a, b, c), recurrence, "recurrence, NumPy float64")
        for name in ("mamba_v1", "mamba_v2", "mamba_v3")
    ]


def _small(folder) -> list[Case]:
    normal = random(3)
    x, y = normal(256, 1024), normal(256, 1024)
    image, split, flat = normal(32, 12, 18), normal(100, 37), normal(100, 5 * 6)
    tile = normal(128, 512)
    pool = image.reshape(32, 4, 3, 6, 3)
    half = np.ones((4, 3), np.float16)
    violation = load(folder / "layout-violation.py").tensor_exp_kernel_
    at = lambda file, name: getattr(load(folder / file), name)  # noqa: E731
    return [
        _case(
            "tensor_avgpool_kernel",
            at("average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel"),
            (image, 3),
            lambda: (pool.astype(np.float64).mean((2, 4)),),
        ),
        _case(
            "tensor_transpose2D_kernel_",
            at("transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_"),
            (flat, (5, 6)),
            lambda: (flat.reshape(100, 5, 6).transpose(0, 2, 1).reshape(100, 30),),
            tolerance=0.0,
        ),
        _case(
            "nki_tensor_add",
            at("tensor_addition/tensor_addition_nki_kernels.py", "nki_tensor_add"),
            (x, y),
            lambda: (x + y,),
            tolerance=0.0,
        ),
        _case(
            "index-case-1 (even and odd columns)",
            at("index-case-1.py", "tensor_split_kernel_"),
            (split,),
            lambda: (split[:, ::2], split[:, 1::2]),
            tolerance=0.0,
        ),
        _case(
            "index-case-3 (max pool)",
            at("index-case-3.py", "tensor_maxpool_kernel_"),
            (image, 3),
            lambda: (pool.max((2, 4)),),
            tolerance=0.0,
        ),
        _case(
            "simulate example",
            at("simulate/nki_simulate_example.py", "add_kernel"),
            (x[:128], y[:128]),
            lambda: (x[:128] + y[:128],),
            tolerance=0.0,
        ),
        *(
            _case(
                f"getting_started_{kind}",
                at(f"getting_started_{kind}.py", "nki_tensor_add_kernel"),
                (half, half),
                lambda: (half + half,),
                tolerance=0.0,
            )
            for kind in ("baremetal", "torch", "jax")
        ),
        _case(
            "layout-pass",
            at("layout-pass.py", "tensor_exp_kernel_"),
            (tile,),
            lambda: (np.exp(tile.astype(np.float64)),),
        ),
        _case(
            "layout-violation (256 partitions)", violation, (x[:, :512],), tuple, "must be refused", refused="NKI-SHAPE"
        ),
    ]
