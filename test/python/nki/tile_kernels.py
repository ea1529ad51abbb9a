"""Runs one function on tiles through the whole path: load, call, store. The tests of nki.isa and nki.language use it."""

import dataclasses

import nki
import nki.language as nl
import numpy as np

TARGETS = ["trn1", "trn2", "trn3"]


def launch(kernel, *arrays, target="trn2", cores=1):
    """The results of a kernel on a target."""
    return dataclasses.replace(nki.jit(kernel), target=target, lnc=cores)(*arrays)


def run(fn, *arrays, target="trn2"):
    """fn(tiles) -> a tile or several; NumPy arrays in and out."""

    def kernel(*inputs):
        results = fn(*(nl.load(x) for x in inputs))
        single = not isinstance(results, (tuple, list))
        outputs = []
        for r in [results] if single else results:
            out = nl.ndarray(r.shape, dtype=r.dtype, buffer=nl.shared_hbm)
            nl.store(out, r)
            outputs.append(out)
        return outputs[0] if single else tuple(outputs)

    return launch(kernel, *arrays, target=target)


def numbers(shape, dtype, seed=0, low=-4.0, high=4.0):
    """Random numbers of a type: spread over [low, high), integers over much of their range."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -(2**30)), min(info.max, 2**30), shape, dtype=np.int64).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def close(actual, expected, ulp=2.0, absolute=1e-30):
    """Equal up to `ulp` roundings of the type of `actual`."""
    actual = np.asarray(actual)
    expected = np.asarray(expected, dtype=np.float64)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    bits = {"float32": 23, "bfloat16": 7, "float16": 10}[str(actual.dtype)]
    allowed = ulp * np.abs(expected) * 2.0**-bits + absolute
    wrong = ~(np.abs(actual.astype(np.float64) - expected) <= allowed) & ~(
        np.isnan(expected) & np.isnan(actual.astype(np.float64))
    )
    wrong &= ~(np.isinf(expected) & (actual.astype(np.float64) == expected))
    assert not wrong.any(), (actual[wrong][:4], expected[wrong][:4], np.argwhere(wrong)[:4])
