"""The enumerations of nki.isa, and tables from everything a caller may write (a member, its name, its value) to what the
machine calls it. The tables are looked up once per call, so they are plain dicts.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class engine(Enum):
    """The engines of a NeuronCore."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class reduce_cmd(Enum):
    """What an instruction does with the accumulator registers of its engine."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):
    """Who makes the descriptors of a DMA transfer."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):
    """What happens to an index outside of its tensor."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):
    """Modes of the Tensor engine."""

    none = "none"
    double_row = "double_row"


class dma_engine(Enum):
    """What moves the data of a sendrecv."""

    dma = 1
    gpsimd_dma = 2


class nc_version(IntEnum):
    """Generations of the NeuronCore; later ones are greater, and numbers are compared with as well."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


# The old names of nki.isa for the members of `engine`.
tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

UNSET = -1


def _table(kind: type[Enum], machine: dict[str, object]) -> dict[object, object]:
    table: dict[object, object] = {}
    for member in kind:
        value = machine.get(member.name)
        if member.name in machine:
            table[member] = table[member.name] = table[member.value] = value
            table[f"{kind.__name__}.{member.name}"] = value
    return table


# `dma` is no engine that issues instructions, so it is left out and refused. None means that the caller leaves it open.
ENGINE: dict[object, int] = _table(
    engine, {"unknown": UNSET, "tensor": 0, "vector": 1, "scalar": 2, "gpsimd": 3, "sync": 4}
)  # type: ignore[assignment]
ENGINE[None] = UNSET
REDUCE_CMD = _table(reduce_cmd, {m.name: m.name for m in reduce_cmd})
DGE = _table(dge_mode, {"unknown": None, "none": "none", "swdge": "swdge", "hwdge": "hwdge"})
OOB = _table(oob_mode, {"error": None, "skip": "skip"})
PERF_MODE = _table(matmul_perf_mode, {"none": None, "double_row": "double_row"})
DMA_ENGINE = _table(dma_engine, {"dma": None, "gpsimd_dma": "gpsimd_dma"})
