// Brings an operand of a contraction on chip in panels: the contraction on the partitions, in blocks of 128, whichever way the tensor
// lies in memory, with few transfers.
#pragma once
#include "Lower/Rows/RowsView.h"

#include <optional>

namespace glia::emit {

class MadeRows;

inline constexpr int64_t kContract = 128; // contracted elements of one block

struct PanelSource {
  Tile tensor;                 // in HBM
  Dims batch, contract, free;  // strides in the tensor; each is run over as one flat index
  DType type = DType::F32;     // on chip
  std::optional<double> splat; // every element, instead of a tensor
  MadeRows *made = nullptr;    // makes the rows, instead of a tensor
  // Not 0: the tensor holds panels of so many free elements, one after the other, each as it lies on chip: [batches, panels, 128
  // partitions, blocks, packed].
  int64_t packed = 0;
  bool byBytes = false;         // how its blocks are turned, if they are turned on chip (TurnedBlocks.h)
  std::optional<Tile> identity; // on chip, for that
  bool byScalar = false;        // which takes what is turned from PSUM
};
int64_t
packedColumn(const PanelSource &s); // elements of a packed tensor per free element: whole panels of n are n times that apart
int64_t packedBatch(const PanelSource &s); // from one batch to the next
// Makes what turning takes, once, before panels are loaded in loops.
void prepareTurning(KernelBuilder &k, PanelSource &s);

// The tensor's neighbours are neighbours in the contraction: a panel is its transpose.
bool liesTurned(const PanelSource &s);
// Bytes per partition that turning on chip takes besides the panel, for `blocks` blocks of the contraction; 0 if transfers do it.
int64_t turningBytes(const Target &t, const PanelSource &s, int64_t blocks);
// Whether a transfer would turn a panel; it has a fixed address.
bool turnsByDma(const Target &t, const PanelSource &s);
// Whether a panel is turned by engines.
bool turnsOnChip(const Target &t, const PanelSource &s);

// A tile for a panel, and what fills it: [contract <= 128, batches, blocks, free]: batches [b, b + nb), blocks [block, block + blocks) of the contraction, free [x, x + nx).
// The last block of the contraction may have fewer than 128 partitions; what is beyond is not defined.
Tile panelTile(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t nx);
void fillPanel(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
               int64_t x, int64_t nx);
Tile loadPanel(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t x,
               int64_t nx); // both

// Free elements [from, from + width) of an operand on chip, in tiles of `step`.
struct Panel {
  std::vector<Tile> pieces; // [contract, batches, blocks, free]
  int64_t from = 0, step = 512;
  Tile at(int64_t b, int64_t block, int64_t x, int64_t n) const;
};
Panel makeWide(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t width);
void fillWide(KernelBuilder &k, Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
              int64_t from);
Panel loadWide(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t from,
               int64_t width); // both

} // namespace glia::emit
