"""What the tests of the NKI front share: an open trace, and the elements that an operand means, as NumPy sees them."""

import itertools

import glia
import numpy as np
import pytest
from glia.nki import dtypes
from glia.nki import trace as _t

glia.install()  # tests in this folder import nki


@pytest.fixture
def trace():
    """A trace that is being made, for trn2."""
    t = _t.Trace("test", _t.find_target("trn2"), 0, 1)
    _t._state.trace = t
    yield t
    _t._state.trace = None


def _elements(operand) -> np.ndarray:
    """Element numbers in row-major storage that an operand names, in its order. Types of one size only."""
    storage, code, partition, byte, partitions, dims, terms = operand
    assert not terms
    size = next(d.itemsize for d in dtypes.ALL.values() if d.code == code)
    assert byte % size == 0
    row = storage.row_bytes // size
    inner = [
        byte // size + sum(s * i for s, i in zip(dims[::2], at))
        for at in itertools.product(*(range(n) for n in dims[1::2]))
    ]
    if partitions == 0:
        return np.array(inner)
    return np.array([(partition + p) * row + i for p in range(partitions) for i in inner])


@pytest.fixture
def elements():
    return _elements


@pytest.fixture
def fails():
    """Calls something that must raise glia.Error; returns its diagnostics."""

    def call(function, *args, **kwargs):
        with pytest.raises(glia.Error) as e:
            function(*args, **kwargs)
        return e.value.diagnostics

    return call
