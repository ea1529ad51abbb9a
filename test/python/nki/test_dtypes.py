"""Element types: they are their names, and they agree with NumPy and with the machine."""

import pickle

import glia
import ml_dtypes
import numpy as np
import pytest
from glia import _glia
from glia.dtypes import numpy_dtype
from glia.nki import dtypes


def test_a_type_is_its_name():
    assert dtypes.float32 == "float32" and str(dtypes.bfloat16) == "bfloat16" and f"{dtypes.int8}" == "int8"
    assert {dtypes.float32: 1}["float32"] == 1
    assert isinstance(dtypes.uint32, str)


@pytest.mark.parametrize("t", [t for t in dtypes.ALL.values() if t.machine], ids=str)
def test_the_machine_has_it(t):
    assert _glia.dtype_code(t.machine) == t.code
    assert numpy_dtype(t.machine).itemsize == t.itemsize
    assert t.numpy.itemsize == t.itemsize


@pytest.mark.parametrize(
    "t", ["float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2", "int8", "uint16", "int32", "bool"]
)
def test_numpy_takes_it(t):
    t = dtypes.of(t)
    assert np.zeros(3, dtype=t).dtype == t.numpy
    assert dtypes.of(t.numpy) is t


def test_other_ways_to_say_it():
    assert dtypes.of(np.float32) is dtypes.float32
    assert dtypes.of(ml_dtypes.bfloat16) is dtypes.bfloat16
    assert dtypes.of("float8e4") is dtypes.float8_e4m3 and dtypes.of("bool_") is dtypes.bool_
    assert glia.nki.dtype.float16 is dtypes.float16


@pytest.mark.parametrize("bad", [np.float64, np.int64, "float33", 3, None, object()])
def test_what_is_no_type(bad):
    if bad is None:  # NumPy reads None as float64
        assert np.dtype(None) == np.float64
    with pytest.raises(TypeError):
        dtypes.of(bad)


def test_pickle():
    assert pickle.loads(pickle.dumps(dtypes.bfloat16)) is dtypes.bfloat16
