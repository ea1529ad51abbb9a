"""nki.language: tensors, loops, and functions on tiles. Unlike nki.isa, these functions may take more than one instruction: they
broadcast, reshape, divide and assign, and are lowered to legal sequences here (docs/nki-api.md has each with its numerics)."""

from ..dtypes import (
    DType,
    bfloat16,
    bool_,
    float4_e2m1fn_x4,
    float8_e4m3,
    float8_e4m3fn,
    float8_e4m3fn_x4,
    float8_e5m2,
    float8_e5m2_x4,
    float8_e8m0fnu,
    float16,
    float32,
    int8,
    int16,
    int32,
    tfloat32,
    uint8,
    uint16,
    uint32,
)
from ..indexing import ds
from ..loops import dynamic_range, fori_loop, no_reorder, while_loop
from ..missing import MissingName as _MissingName
from ..objects import MemoryRegion, NKIObject
from ..ops import OPS as _OPS
from ..registers import VirtualRegister
from ..tensor import NkiTensor
from .angles import cos, tan
from .creation import (
    device_print,
    dropout,
    empty_like,
    full,
    hbm,
    is_hbm,
    is_on_chip,
    is_psum,
    is_sbuf,
    ndarray,
    ones,
    private_hbm,
    psum,
    rand,
    random_seed,
    sbuf,
    shared_constant,
    shared_hbm,
    zeros,
    zeros_like,
)
from .elementwise import divide, logical_not, negative
from .grid import affine_range, num_programs, program_id, program_ndim, sequential_range, static_range
from .linear import load_transpose2d, matmul, shared_identity_matrix, transpose
from .memory import broadcast_to, expand_dims, gather_flattened, load, store, where
from .norms import rms_norm, softmax
from .reductions import all, mean, prod, sum, var
from .rounding import ceil, floor, fmod, mod, trunc
from .sizes import tile_size

bool = bool_
range = static_range  # kernels write nl.range for a loop that is unrolled

# Operations: values for nki.isa calls, and functions on tiles.
abs = _OPS["abs"]
abs_max = _OPS["abs_max"]
abs_min = _OPS["abs_min"]
add = _OPS["add"]
arctan = _OPS["arctan"]
average = _OPS["average"]
bitwise_and = _OPS["bitwise_and"]
bitwise_or = _OPS["bitwise_or"]
bitwise_xor = _OPS["bitwise_xor"]
bypass = _OPS["bypass"]
copy = _OPS["copy"]
equal = _OPS["equal"]
erf = _OPS["erf"]
erf_dx = _OPS["erf_dx"]
exp = _OPS["exp"]
gelu = _OPS["gelu"]
gelu_apprx_sigmoid = _OPS["gelu_apprx_sigmoid"]
gelu_apprx_sigmoid_dx = _OPS["gelu_apprx_sigmoid_dx"]
gelu_apprx_tanh = _OPS["gelu_apprx_tanh"]
gelu_dx = _OPS["gelu_dx"]
greater = _OPS["greater"]
greater_equal = _OPS["greater_equal"]
invert = _OPS["invert"]
left_shift = _OPS["left_shift"]
less = _OPS["less"]
less_equal = _OPS["less_equal"]
log = _OPS["log"]
logical_and = _OPS["logical_and"]
logical_or = _OPS["logical_or"]
logical_xor = _OPS["logical_xor"]
max = _OPS["max"]
maximum = _OPS["maximum"]
min = _OPS["min"]
minimum = _OPS["minimum"]
mish = _OPS["mish"]
multiply = _OPS["multiply"]
not_equal = _OPS["not_equal"]
power = _OPS["power"]
prelu = _OPS["prelu"]
reciprocal = _OPS["reciprocal"]
relu = _OPS["relu"]
right_shift = _OPS["right_shift"]
rsqrt = _OPS["rsqrt"]
sigmoid = _OPS["sigmoid"]
sign = _OPS["sign"]
silu = _OPS["silu"]
silu_dx = _OPS["silu_dx"]
sin = _OPS["sin"]
softplus = _OPS["softplus"]
sqrt = _OPS["sqrt"]
square = _OPS["square"]
subtract = _OPS["subtract"]
tanh = _OPS["tanh"]

__all__ = [
    "DType",
    "MemoryRegion",
    "NKIObject",
    "NkiTensor",
    "VirtualRegister",
    "abs",
    "abs_max",
    "abs_min",
    "add",
    "affine_range",
    "all",
    "arctan",
    "average",
    "bfloat16",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bool",
    "bool_",
    "broadcast_to",
    "bypass",
    "ceil",
    "copy",
    "cos",
    "device_print",
    "divide",
    "dropout",
    "ds",
    "dynamic_range",
    "empty_like",
    "equal",
    "erf",
    "erf_dx",
    "exp",
    "expand_dims",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "floor",
    "fmod",
    "fori_loop",
    "full",
    "gather_flattened",
    "gelu",
    "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx",
    "gelu_apprx_tanh",
    "gelu_dx",
    "greater",
    "greater_equal",
    "hbm",
    "int8",
    "int16",
    "int32",
    "invert",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "left_shift",
    "less",
    "less_equal",
    "load",
    "load_transpose2d",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mod",
    "multiply",
    "ndarray",
    "negative",
    "no_reorder",
    "not_equal",
    "num_programs",
    "ones",
    "power",
    "prelu",
    "private_hbm",
    "prod",
    "program_id",
    "program_ndim",
    "psum",
    "rand",
    "random_seed",
    "range",
    "reciprocal",
    "relu",
    "right_shift",
    "rms_norm",
    "rsqrt",
    "sbuf",
    "sequential_range",
    "shared_constant",
    "shared_hbm",
    "shared_identity_matrix",
    "sigmoid",
    "sign",
    "silu",
    "silu_dx",
    "sin",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "static_range",
    "store",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "tfloat32",
    "tile_size",
    "transpose",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "var",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str):
    raise _MissingName("nki.language", name, __all__)
