"""Calls of the Vector, Scalar and GpSimd engines that compute: one call, one instruction."""

from __future__ import annotations

from ..ops import ACT, ALU, BIT_OPS, OPS, PARTITION
from ._args import (
    choice,
    discarded,
    emit,
    engine_code,
    flag,
    integer,
    number,
    operation,
    optional,
    pattern,
    reduced_elements,
    refuse,
    scalar,
    tensor,
)
from .enums import REDUCE_CMD, UNSET, engine, reduce_cmd

_engine_unknown = engine.unknown
_idle = reduce_cmd.idle
_reset_reduce = reduce_cmd.reset_reduce
_add, _equal, _maximum = OPS["add"], OPS["equal"], OPS["maximum"]
FP32_MIN = -3.4028234663852886e38


def tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None):
    """dst = data1 op data2, element by element."""
    alu = ALU.get(op) or operation(ALU, op, "op", "tensor_tensor")
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    return emit("tensor_tensor", (tensor(dst, "dst"), tensor(data1, "data1"), tensor(data2, "data2"), alu), e, name)


def tensor_scalar(
    dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, engine=engine.unknown, name=None
):
    """dst = (data op0 operand0) op1 operand1; operands are numbers or tiles of one element per partition."""
    alu = ALU.get(op0) or operation(ALU, op0, "op0", "tensor_scalar")
    s0 = scalar(operand0, "operand0", alu in BIT_OPS)
    e = UNSET if engine is _engine_unknown else engine_code(engine)
    d, x = tensor(dst, "dst"), tensor(data, "data")
    if op1 is None:
        if operand1 is not None:
            refuse("operand1 is given without op1", "give op1, or leave operand1 out")
        return emit("tensor_scalar", (d, x, alu, s0, flag(reverse0)), e, name)
    alu1 = ALU.get(op1) or operation(ALU, op1, "op1", "tensor_scalar")
    s1 = scalar(operand1, "operand1", alu1 in BIT_OPS)
    return emit("tensor_scalar", (d, x, alu, s0, flag(reverse0), alu1, s1, flag(reverse1)), e, name)


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, name=None):
    """dst = (data op0 operand0) op1 operand1, operand0 a number or one element per partition, operand1 a tile."""
    a0 = ALU.get(op0) or operation(ALU, op0, "op0", "scalar_tensor_tensor")
    a1 = ALU.get(op1) or operation(ALU, op1, "op1", "scalar_tensor_tensor")
    slots = (
        tensor(dst, "dst"),
        tensor(data, "data"),
        a0,
        scalar(operand0, "operand0", False),
        a1,
        tensor(operand1, "operand1"),
        flag(reverse0),
        flag(reverse1),
    )
    return emit("scalar_tensor_tensor", slots, 1, name)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    """dst = data reduced over its last free axes; `keepdims` changes nothing here, since dst is given."""
    alu = ALU.get(op) or operation(ALU, op, "op", "tensor_reduce")
    d, x = tensor(dst, "dst"), tensor(data, "data")
    reduced_elements(dst, data, axis)
    return emit("tensor_reduce", (d, x, alu, flag(negate)), 1, name)


def tensor_partition_reduce(dst, op, data, name=None):
    """dst[0, ...] = data reduced over its partitions: add, average, max, bitwise_or, bitwise_and."""
    red = PARTITION.get(op) or operation(PARTITION, op, "op", "tensor_partition_reduce")
    return emit("tensor_partition_reduce", (tensor(dst, "dst"), tensor(data, "data"), red), 3, name)


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, name=None):
    """dst[i] = (data0[i] op0 dst[i - 1]) op1 data1[i], starting from `initial`."""
    a0 = ALU.get(op0) or operation(ALU, op0, "op0", "tensor_tensor_scan")
    a1 = ALU.get(op1) or operation(ALU, op1, "op1", "tensor_tensor_scan")
    slots = (
        tensor(dst, "dst"),
        tensor(data0, "data0"),
        tensor(data1, "data1"),
        scalar(initial, "initial", False),
        a0,
        a1,
        flag(reverse0),
        flag(reverse1),
    )
    return emit("tensor_tensor_scan", slots, 1, name)


def tensor_scalar_reduce(
    dst,
    data,
    op0,
    operand0,
    reduce_op,
    reduce_res=None,
    reverse0=False,
    reduce_cmd=reduce_cmd.reset_reduce,
    reduce_init=None,
    reduce_res_negate=False,
    name=None,
):
    """dst = data op0 operand0, and the reduction of every partition in the accumulator registers of Vector."""
    a0 = ALU.get(op0) or operation(ALU, op0, "op0", "tensor_scalar_reduce")
    red = ALU.get(reduce_op) or operation(ALU, reduce_op, "reduce_op", "tensor_scalar_reduce")
    if reverse0:
        refuse("reverse0 is not supported by tensor_scalar_reduce", "leave reverse0 out and choose op0 accordingly")
    slots = (
        tensor(dst, "dst") if reduce_res is None else discarded(dst),
        tensor(data, "data"),
        a0,
        scalar(operand0, "operand0", False),
        red,
        choice(REDUCE_CMD, reduce_cmd, "reduce_cmd"),
        scalar(reduce_init, "reduce_init", False),
        optional(reduce_res, "reduce_res"),
        flag(reduce_res_negate),
    )
    return emit("tensor_scalar_reduce", slots, 1, name)


def activation(
    dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, name=None
):
    """dst = op(data * scale + bias), and optionally the sum of every partition in the registers of Scalar."""
    fn = ACT.get(op) or operation(ACT, op, "op", "activation")
    d, x = tensor(dst, "dst") if reduce_res is None else discarded(dst), tensor(data, "data")
    if reduce_op is None and reduce_res is None and reduce_cmd is _idle:
        if bias is None:
            return emit("activation", (d, x, fn, scalar(scale, "scale", False)), 2, name)
        return emit("activation", (d, x, fn, scalar(scale, "scale", False), scalar(bias, "bias", False)), 2, name)
    if reduce_op is not None and ALU.get(reduce_op) != "add":
        refuse(f"reduce_op of activation is {reduce_op!r}", "the Scalar engine only adds: reduce_op=nl.add")
    slots = (
        d,
        x,
        fn,
        scalar(scale, "scale", False),
        scalar(bias, "bias", False),
        choice(REDUCE_CMD, reduce_cmd, "reduce_cmd"),
        optional(reduce_res, "reduce_res"),
    )
    return emit("activation", slots, 2, name)


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    """activation whose sums start from zero (reduce_cmd.reset_reduce)."""
    if reduce_op is None:
        refuse("activation_reduce needs a reduce_op", "reduce_op=nl.add")
    return activation(dst, op, data, bias, scale, reduce_op, reduce_res, _reset_reduce, name)


def reciprocal(dst, data, name=None):
    """dst = 1 / data on the Vector engine."""
    return emit("reciprocal", (tensor(dst, "dst"), tensor(data, "data")), 1, name)


def bn_stats(dst, data, name=None):
    """Count, mean and variance * count of the even elements of every partition, then of the odd ones."""
    return emit("bn_stats", (tensor(dst, "dst"), tensor(data, "data")), 1, name)


def bn_aggr(dst, data, name=None):
    """Mean and variance of every partition from results of bn_stats."""
    return emit("bn_aggr", (tensor(dst, "dst"), tensor(data, "data")), 1, name)


def max8(dst, src, name=None):
    """The eight largest elements of every partition, descending."""
    return emit("max8", (tensor(dst, "dst"), tensor(src, "src")), 1, name)


def nc_find_index8(dst, data, vals, name=None):
    """Where each of eight values is in its partition."""
    return emit("nc_find_index8", (tensor(dst, "dst"), tensor(data, "data"), tensor(vals, "vals")), 1, name)


def nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None):
    """dst = data with the first place of each of eight values replaced by `imm`."""
    slots = (
        tensor(dst, "dst"),
        tensor(data, "data"),
        tensor(vals, "vals"),
        number(imm, "imm"),
        optional(dst_idx, "dst_idx"),
    )
    return emit("nc_match_replace8", slots, 1, name)


def range_select(
    dst,
    on_true_tile,
    comp_op0,
    comp_op1,
    bound0,
    bound1,
    reduce_cmd=reduce_cmd.reset_reduce,
    reduce_res=None,
    reduce_op=_maximum,
    range_start=0,
    on_false_value=FP32_MIN,
    name=None,
):
    """dst = on_true_tile where (range_start + i) is within both bounds, else the lowest fp32; and the maximum."""
    c0 = ALU.get(comp_op0) or operation(ALU, comp_op0, "comp_op0", "range_select")
    c1 = ALU.get(comp_op1) or operation(ALU, comp_op1, "comp_op1", "range_select")
    if ALU.get(reduce_op) != "max":
        refuse(f"reduce_op of range_select is {reduce_op!r}", "it is always a maximum: reduce_op=nl.maximum")
    slots = (
        tensor(dst, "dst"),
        tensor(on_true_tile, "on_true_tile"),
        c0,
        tensor(bound0, "bound0"),
        c1,
        tensor(bound1, "bound1"),
        integer(range_start, "range_start"),
        number(on_false_value, "on_false_value"),
        choice(REDUCE_CMD, reduce_cmd, "reduce_cmd"),
        optional(reduce_res, "reduce_res"),
    )
    return emit("range_select", slots, 1, name)


_AFFINE = {"equal": (0, 1), "not_equal": (1, 1), "greater_equal": (2, 1), "greater": (3, 1), "less_equal": (2, -1), "less": (3, -1)}  # fmt: skip


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=_equal, offset=0, name=None):
    """dst = on_true_tile where offset + p * channel_multiplier + pattern compares with 0, else on_false_value."""
    cmp = ALU.get(cmp_op) or operation(ALU, cmp_op, "cmp_op", "affine_select")
    code = _AFFINE.get(cmp)
    if code is None:
        refuse(f"cmp_op of affine_select is {cmp_op!r}", "use one of the comparisons, such as nl.greater_equal")
        code = (0, 1)
    index, sign = code
    flat = _flat_pattern(pattern)
    start, multiplier = integer(offset, "offset"), integer(channel_multiplier, "channel_multiplier")
    if sign < 0:  # v <= 0 is -v >= 0: the machine has the other four comparisons
        flat = [-v if i % 2 == 0 else v for i, v in enumerate(flat)]
        start, multiplier = -start, -multiplier
    slots = (
        tensor(dst, "dst"),
        tensor(on_true_tile, "on_true_tile"),
        flat,
        number(on_false_value, "on_false_value"),
        index,
        start,
        multiplier,
    )
    return emit("affine_select", slots, 3, name)


_flat_pattern = pattern


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    """dst[p, i] = offset + p * channel_multiplier + the i-th value of the pattern."""
    slots = (
        tensor(dst, "dst"),
        _flat_pattern(pattern),
        integer(offset, "offset"),
        integer(channel_multiplier, "channel_multiplier"),
    )
    return emit("iota", slots, 3, name)


def nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None):
    """Positions of the non-zero elements, padding, and last their number, in partitions 0, 16, 32 ..."""
    slots = (
        tensor(dst, "dst"),
        tensor(src, "src"),
        integer(index_offset, "index_offset"),
        integer(padding_val, "padding_val"),
    )
    return emit("nonzero_with_count", slots, 3, name)
