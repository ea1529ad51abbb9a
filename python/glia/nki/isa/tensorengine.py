"""Calls of the Tensor engine: nc_matmul and nc_transpose."""

from __future__ import annotations

from ._args import choice, emit, engine_code, pair, tensor
from .enums import PERF_MODE, UNSET, engine, matmul_perf_mode

_engine_unknown = engine.unknown
_no_mode = matmul_perf_mode.none
_ACCUMULATE = {None: 2, False: 0, True: 1}


def nc_matmul(
    dst,
    stationary,
    moving,
    is_stationary_onezero=False,
    is_moving_onezero=False,
    is_transpose=False,
    accumulate=None,
    tile_position=(),
    tile_size=(),
    perf_mode=matmul_perf_mode.none,
    name=None,
):
    """dst[M, N] = stationary[K, M] transposed times moving[K, N], or added to what dst holds.

    `accumulate=None` overwrites elements that no matmul has written since dst was allocated and adds to the others.
    """
    d, s, m = tensor(dst, "dst"), tensor(stationary, "stationary"), tensor(moving, "moving")
    if accumulate is not None:
        accumulate = bool(accumulate)
    slots = (d, s, m, _ACCUMULATE[accumulate])
    if (
        is_transpose
        or tile_position
        or tile_size
        or perf_mode is not _no_mode
        or is_stationary_onezero
        or is_moving_onezero
    ):
        row, col = pair(tile_position, "tile_position")
        rows, cols = pair(tile_size, "tile_size")
        slots = (
            d,
            s,
            m,
            # A transpose overwrites: what is inferred for it is never an accumulation.
            0 if is_transpose and accumulate is None else _ACCUMULATE[accumulate],
            1 if is_transpose else 0,
            choice(PERF_MODE, perf_mode, "perf_mode"),
            row,
            col,
            rows,
            cols,
            1 if is_stationary_onezero else 0,
            1 if is_moving_onezero else 0,
        )
    return emit("nc_matmul", slots, 0, name)


def nc_transpose(dst, data, engine=engine.unknown, name=None):
    """dst[f, p] = data[p, f], the free dimensions flattened; on the Tensor engine (SBUF to PSUM) or on Vector (32 x 32)."""
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    return emit("nc_transpose", (tensor(dst, "dst"), tensor(data, "data")), e, name)
