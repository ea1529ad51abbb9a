"""nki.isa: one call, one instruction of the machine. The caller is taken at his word: an illegal call is refused. What can be
said about operands is checked in one place, by the rules of the machine (`glia explain`); the calls check what has no slot."""

from ..registers import VirtualRegister, register_alloc, register_load, register_move, register_store
from ..trace import NkiInstruction
from . import constants
from .compute import (
    activation,
    activation_reduce,
    affine_select,
    bn_aggr,
    bn_stats,
    iota,
    max8,
    nc_find_index8,
    nc_match_replace8,
    nonzero_with_count,
    range_select,
    reciprocal,
    scalar_tensor_tensor,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar,
    tensor_scalar_reduce,
    tensor_tensor,
    tensor_tensor_scan,
)
from .enums import (
    dge_mode,
    dma_engine,
    engine,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from .errors import NkiValidationError
from .movement import (
    dma_compute,
    dma_copy,
    dma_transpose,
    local_gather,
    memset,
    nc_n_gather,
    nc_stream_shuffle,
    sendrecv,
    tensor_copy,
    tensor_copy_predicated,
)
from .refused import (
    activate2,
    dropout,
    exponential,
    nc_matmul_mx,
    quantize_mx,
    rand2,
    rand_get_state,
    rand_set_state,
    rng,
    select_reduce,
    sequence_bounds,
    set_rng_seed,
    tensor_scalar_cumulative,
    topk,
)
from .sync import core_barrier, get_nc_sub_version, get_nc_version
from .tensorengine import nc_matmul, nc_transpose

__all__ = [name for name in dir() if not name.startswith("_")]
