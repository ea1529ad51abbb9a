// Strided copies of any rank, as transfers and engine copies that the machine has: views with too many dimensions are written out.
#pragma once
#include "glia/Lower/KernelBuilder.h"

namespace glia::emit {

// The type in which elements move: every instruction keeps the bits of equal types. Narrow floats go as bytes, which all targets have.
DType movingType(DType t);

// A tensor and registers that move its address.
struct Place {
  Tile tile;
  struct Term {
    int reg = -1;
    int64_t scale = 0; // elements
  };
  std::vector<Term> terms;
};

// One dimension of a copy: how often, and how far both sides go each time (elements).
struct CopyAxis {
  int64_t count = 1, to = 0, from = 0;
};

// By DMA. `rows` are the dimensions that the partitions of the side on chip enumerate (none between HBM tensors); its strides for them do
// not matter. `columns` are the free dimensions. The dims of the tiles are ignored, their offsets and partitions are where it starts.
void transfer(KernelBuilder &k, const Place &to, const Place &from, std::vector<CopyAxis> rows,
              std::vector<CopyAxis> columns);
// How many transfers that takes.
int64_t transfersOf(const Target &target, const Place &to, const Place &from, std::vector<CopyAxis> rows,
                    std::vector<CopyAxis> columns);

// By an engine, between tiles with the same partitions.
void copyOnChip(KernelBuilder &k, Tile to, Tile from, std::vector<CopyAxis> axes);
// The same with axis `flip` of `from` read from its end.
void flipOnChip(KernelBuilder &k, const Tile &to, const Tile &from, std::vector<CopyAxis> axes, size_t flip);
// Fills with a number, given as its bits.
void fillOnChip(KernelBuilder &k, Tile to, std::vector<CopyAxis> axes, uint32_t bits);

} // namespace glia::emit
