"""nl.tile_size: the sizes of the target that kernels tile for."""

from __future__ import annotations

from .. import trace as _t
from ..objects import NKIObject


class _TileSize(NKIObject):
    """Sizes of the generation that the kernel is traced for."""

    def __init__(self):
        pass

    pmax = property(lambda self: int(_t.target().value("memory.partitions")), doc="Partitions of a tile.")
    psum_bank_fmax_bytes = property(
        lambda self: int(_t.target().value("memory.psum_bank_bytes")), doc="Bytes of a bank of PSUM in a partition."
    )
    psum_bank_fmax = property(
        lambda self: self.psum_bank_fmax_bytes // 4, doc="fp32 elements of a bank in a partition."
    )
    psum_fmax = psum_bank_fmax
    gemm_stationary_fmax = property(
        lambda self: int(_t.target().value("limit.stationary_free")), doc="Columns of the stationary matrix."
    )
    # The generations with longer moving matrices still have banks of 512 fp32 elements, which this name means.
    gemm_moving_fmax = property(lambda self: self.psum_bank_fmax, doc="Columns of the moving matrix.")
    bn_stats_fmax = property(
        lambda self: int(_t.target().value("limit.bn_stats_free")), doc="Elements per partition of bn_stats."
    )
    psum_min_align = property(lambda self: int(_t.target().value("memory.psum_align")), doc="Bytes.")
    sbuf_min_align = property(lambda self: int(_t.target().value("memory.sbuf_align")), doc="Bytes.")

    @property
    def psum_num_banks(self) -> int:
        """Banks of PSUM that a kernel can use."""
        return int(_t.target().value("memory.psum_bytes")) // self.psum_bank_fmax_bytes

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of SBUF, all partitions together."""
        return self.sbuf_fmax_bytes * self.pmax

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes of SBUF in a partition that a kernel can use."""
        return int(_t.target().value("memory.sbuf_bytes"))

    @property
    def sbuf_fmax(self) -> int:
        """The same in fp32 elements."""
        return self.sbuf_fmax_bytes // 4

    total_available_sbuf_size = sbuf_fmax_bytes


tile_size = _TileSize()
