"""The machine's element types as NumPy dtypes. NumPy has no bf16, tf32 or fp8: ml_dtypes has them, tf32 is stored as fp32."""

import ml_dtypes
import numpy as np

_TYPES = {
    "f32": np.float32,
    "tf32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
}
_NAMES = {np.dtype(t): name for name, t in reversed(_TYPES.items())}


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype that holds elements of the machine type `name`."""
    return np.dtype(_TYPES[name])


def machine_dtype(dtype) -> str:
    """The machine's name of a type that is given by that name or as a NumPy dtype."""
    if isinstance(dtype, str) and dtype in _TYPES:
        return dtype
    try:
        return _NAMES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is no type of the machine; it has {', '.join(_TYPES)}") from None
