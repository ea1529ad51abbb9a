"""Calls of nki.isa that the machine knows and does not run. They keep their signatures, so that an unknown keyword is still an
error of its own, and are refused at the line that makes them, with the machine's reason.
"""

from __future__ import annotations

from ..ops import OPS
from ._args import refuse
from .enums import engine, reduce_cmd

_MX = "MX types are not implemented"
_UNUSED = "no public kernel uses it yet"
_RANDOM = "the random number generator of the hardware is not public"
WHY = {
    "nc_matmul_mx": _MX,
    "quantize_mx": _MX,
    "activate2": _UNUSED,
    "exponential": _UNUSED,
    "tensor_scalar_cumulative": _UNUSED,
    "select_reduce": _UNUSED,
    "sequence_bounds": _UNUSED,
    "topk": _UNUSED,
    "rng": _RANDOM,
    "dropout": _RANDOM,
    "set_rng_seed": _RANDOM,
    "rand_set_state": _RANDOM,
    "rand_get_state": _RANDOM,
    "rand2": _RANDOM,
}
_maximum = OPS["maximum"]


def _refuse(name: str):
    refuse(
        f"nki.isa.{name} is not available: {WHY[name]}",
        f"run `glia isa` for the calls that are; {name} is not one of them",
    )


def nc_matmul_mx(
    dst,
    stationary,
    moving,
    stationary_scale,
    moving_scale,
    tile_position=None,
    tile_size=None,
    accumulate=None,
    name=None,
):
    return _refuse("nc_matmul_mx")


def quantize_mx(dst, src, dst_scale, name=None):
    return _refuse("quantize_mx")


def activate2(
    dst,
    op,
    data,
    imm0,
    imm1,
    op0,
    op1,
    relu_param=0.0,
    reverse0=False,
    reverse1=False,
    reduce_op=None,
    reduce_res=None,
    reduce_cmd=reduce_cmd.idle,
    name=None,
):
    return _refuse("activate2")


def exponential(dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_init=0.0, name=None):
    return _refuse("exponential")


def tensor_scalar_cumulative(dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, name=None):
    return _refuse("tensor_scalar_cumulative")


def select_reduce(
    dst,
    predicate,
    on_true,
    on_false,
    reduce_res=None,
    reduce_cmd=reduce_cmd.idle,
    reduce_op=_maximum,
    reverse_pred=False,
    name=None,
):
    return _refuse("select_reduce")


def sequence_bounds(dst, segment_ids, name=None):
    return _refuse("sequence_bounds")


def topk(val_dst, idx_dst, src, n, name=None):
    return _refuse("topk")


def rng(dst, engine=engine.vector, name=None):
    return _refuse("rng")


def dropout(dst, data, prob, name=None):
    return _refuse("dropout")


def set_rng_seed(src_seeds, name=None):
    return _refuse("set_rng_seed")


def rand_set_state(src_seeds, engine=engine.gpsimd, name=None):
    return _refuse("rand_set_state")


def rand_get_state(dst, engine=engine.gpsimd, name=None):
    return _refuse("rand_get_state")


def rand2(dst, min, max, name=None):
    return _refuse("rand2")


for _name, _why in WHY.items():
    globals()[_name].__doc__ = f"Refused: {_why}."
