"""The element types of NKI. A type is its name (a `str`), because kernels print it, compare it and use it as a key; it also
knows its size and which type of the machine holds it. Types that the machine does not have (packed MX) are known by name, so
that a kernel can be read and is refused where it uses one."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..dtypes import numpy_dtype


class DType(str):
    """`machine` is the machine's name of the type or None, `code` its number there, `itemsize` bytes of an element."""

    machine: str | None
    code: int
    itemsize: int
    is_float: bool

    def __new__(cls, name: str, machine: str | None, code: int, itemsize: int, is_float: bool):
        self = str.__new__(cls, name)
        self.machine, self.code, self.itemsize, self.is_float = machine, code, itemsize, is_float
        return self

    @property
    def is_integer(self) -> bool:
        return not self.is_float

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype that holds elements of this type."""
        if self.machine is None:
            raise TypeError(f"{self} has no NumPy type")
        return np.dtype(np.bool_) if self == "bool" else numpy_dtype(self.machine)

    def __repr__(self) -> str:
        return str.__str__(self)

    def __reduce__(self):
        return (of, (str(self),))


#   name                machine    code bytes float
_TABLE = [
    ("float32", "f32", 0, 4, True),
    ("tfloat32", "tf32", 1, 4, True),
    ("bfloat16", "bf16", 2, 2, True),
    ("float16", "f16", 3, 2, True),
    ("float8_e4m3", "f8e4m3", 4, 1, True),
    ("float8_e4m3fn", "f8e4m3fn", 5, 1, True),
    ("float8_e5m2", "f8e5m2", 6, 1, True),
    ("int8", "i8", 8, 1, False),
    ("uint8", "u8", 9, 1, False),
    ("bool", "u8", 9, 1, False),
    ("int16", "i16", 10, 2, False),
    ("uint16", "u16", 11, 2, False),
    ("int32", "i32", 12, 4, False),
    ("uint32", "u32", 13, 4, False),
    ("float8_e8m0fnu", None, -1, 1, True),
    ("float8_e5m2_x4", None, -1, 4, True),
    ("float8_e4m3fn_x4", None, -1, 4, True),
    ("float4_e2m1fn_x4", None, -1, 2, True),
]
ALL = {row[0]: DType(*row) for row in _TABLE}
for _name, _type in ALL.items():  # nki.dtype.float32
    setattr(DType, _name, _type)
_ALIASES = {
    "bool_": "bool",
    "float8e4": "float8_e4m3",
    "float8e5": "float8_e5m2",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
}
_FROM_NUMPY = {
    np.dtype(np.float32): "float32",
    np.dtype(np.float16): "float16",
    np.dtype(ml_dtypes.bfloat16): "bfloat16",
    np.dtype(ml_dtypes.float8_e4m3): "float8_e4m3",
    np.dtype(ml_dtypes.float8_e4m3fn): "float8_e4m3fn",
    np.dtype(ml_dtypes.float8_e5m2): "float8_e5m2",
    np.dtype(np.int8): "int8",
    np.dtype(np.uint8): "uint8",
    np.dtype(np.bool_): "bool",
    np.dtype(np.int16): "int16",
    np.dtype(np.uint16): "uint16",
    np.dtype(np.int32): "int32",
    np.dtype(np.uint32): "uint32",
}


def of(dtype) -> DType:
    """The type that is meant by a DType, a name, a NumPy dtype, or a torch or JAX dtype. TypeError if there is none."""
    if type(dtype) is DType:
        return dtype
    if isinstance(dtype, str):
        found = ALL.get(_ALIASES.get(dtype, dtype))
        if found is not None:
            return found
    elif type(dtype).__module__.split(".")[0] == "torch":
        found = ALL.get(str(dtype).removeprefix("torch."))
        if found is not None:
            return found
    try:
        return ALL[_FROM_NUMPY[np.dtype(dtype)]]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is no element type of NKI; it has {', '.join(ALL)}") from None


bool_ = ALL["bool"]
int8, uint8 = ALL["int8"], ALL["uint8"]
int16, uint16 = ALL["int16"], ALL["uint16"]
int32, uint32 = ALL["int32"], ALL["uint32"]
float32, tfloat32 = ALL["float32"], ALL["tfloat32"]
float16, bfloat16 = ALL["float16"], ALL["bfloat16"]
float8_e4m3, float8_e4m3fn, float8_e5m2 = ALL["float8_e4m3"], ALL["float8_e4m3fn"], ALL["float8_e5m2"]
float8_e8m0fnu = ALL["float8_e8m0fnu"]
float8_e5m2_x4, float8_e4m3fn_x4, float4_e2m1fn_x4 = (
    ALL["float8_e5m2_x4"],
    ALL["float8_e4m3fn_x4"],
    ALL["float4_e2m1fn_x4"],
)
