"""What the verifier says of a program, in the terms of the kernel's author: the verifier speaks of semaphores, declarations and
slots, a kernel has cores, barriers and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import _glia

_DISTINCT = (
    "Compute the indices with nisa.iota; or, where they are an argument of the kernel (here called idx), promise that no value "
    "occurs twice with glia.nki.assume(idx, unique=True): it is checked on each call."
)
_INSIDE = (
    "Where the indices are an argument of the kernel (here called idx), promise their range with "
    "glia.nki.assume(idx, range=(lowest, highest)): it is checked on each call."
)
_CORES = (
    "Each core of kernel[n] runs the whole kernel. Let each one write its own part, chosen with nl.program_id(0), or let one of "
    "them do it; nisa.core_barrier orders what one core writes before what the other reads."
)


def _race(d, cores: int):
    """The compiler orders the instructions of one core, so a race is between two."""
    other = next((n for n in d.notes if n.startswith("the other: core ")), "")
    if cores < 2 or not other or f"core {other.split()[3]} " in d.context:
        return None
    notes = [other, "nothing orders the two: they can happen in either order"]
    return d.message.replace("another instruction", "the other core", 1), _CORES, notes


_REPEAT = (
    "Slice the larger operand, or repeat the smaller one: nl.broadcast_to(tile, shape) does so in every dimension, over "
    "partitions, too."
)
_PLACES = {  # where an operand is, and who cannot reach it
    (
        "HBM",
        "engine",
    ): "Engines compute on tiles in SBUF or PSUM: nl.load makes one of a tensor in HBM, nl.store writes it back.",
    ("PSUM", "DMA"): "Copy it to a tile in SBUF first, with nl.copy or nisa.tensor_copy.",
    (
        "SBUF",
        "tensor engine",
    ): "The Tensor engine writes to PSUM: nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum); copy "
    "from there with nl.copy or nisa.tensor_copy.",
}


def _reach(d, cores: int):
    """The verifier speaks of any memory and any engine."""
    found = re.search(r"is in (\w+), which (?:the )?(.+) cannot (?:read|write)", d.message)
    advice = found and next((x for (m, who), x in _PLACES.items() if m == found[1] and found[2].endswith(who)), None)
    return advice and (_with_arguments(d), advice, d.notes)


_ADVICE: dict[str, Callable] = {
    "ENGINE-REACH": _reach,
    "LNC2-CORES": lambda d, cores: (d.message, "Launch the kernel on two cores: kernel[2](...).", d.notes),
    "RACE": _race,
    "SAME-SHAPE": lambda d, cores: (_with_arguments(d), _REPEAT, d.notes),
    "SCATTER-UNIQUE": lambda d, cores: (d.message, _DISTINCT, d.notes),
    "DYNAMIC-UNPROVED": lambda d, cores: (d.message, _INSIDE, d.notes),
}


# Where the machine calls an operand otherwise than nki.isa does: the instruction, its slot, the argument.
_ARGUMENTS = {
    "affine_select": {"on_true": "on_true_tile", "on_false": "on_false_value"},
    "dma_compute": {f"src{n}": f"srcs[{n}]" for n in range(16)},
    "dma_copy": {"dst_index": "vector_offset of dst", "src_index": "vector_offset of src"},
    "dma_transpose": {"src_index": "vector_offset of src"},
    "local_gather": {"src": "src_buffer"},
    "range_select": {"data": "on_true_tile", "false_value": "on_false_value"},
    "tensor_tensor": {"a": "data1", "b": "data2"},
}


def _with_arguments(d) -> str:
    """The message, with the names of arguments for those of slots."""
    names = _ARGUMENTS.get(d.context.rpartition(": ")[2], {})
    return re.sub(r"(?<=` \()\w+(?=\))", lambda m: names.get(m[0], m[0]), d.message)


def for_author(d, cores: int):
    """The diagnostic, or a better one about a kernel launched on this many cores."""
    better = _ADVICE[d.code](d, cores) if d.code in _ADVICE else None
    message, advice, notes = better or (_with_arguments(d), d.advice, d.notes)
    if better is None and message == d.message:
        return d
    return _glia.Diagnostic(d.code, message, advice, d.file, d.line, d.context, d.value, d.limit, list(notes))
