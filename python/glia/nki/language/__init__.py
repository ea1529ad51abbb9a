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
from ..objects import MemoryRegion, NKIObject
from ..ops import OPS as _OPS
from ..registers import VirtualRegister
from ..tensor import NkiTensor
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
from .memory import assign, broadcast_to, expand_dims, gather_flattened, load, reshaped, store, where
from .norms import rms_norm, softmax
from .reductions import all, mean, prod, sum, var
from .rounding import ceil, cos, floor, fmod, mod, tan, trunc
from .sizes import tile_size

bool = bool_
range = static_range  # kernels write nl.range for a loop that is unrolled

# Operations: values for nki.isa calls, and functions on tiles.
globals().update(_OPS)

__all__ = [_name for _name in dir() if not _name.startswith("_") and _name not in ("assign", "reshaped")]
