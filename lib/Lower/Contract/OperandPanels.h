// Brings an operand of a contraction on chip in panels: the contraction on the partitions, in blocks of 128, whichever way the tensor
// lies in memory, with few transfers.
#pragma once
#include "Lower/Rows/RowsView.h"
#include "TurnedBlocks.h"

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
  int64_t block = 512;  // free elements of a tile of a panel
  bool byBytes = false; // how its blocks are turned, if they are turned on chip (TurnedBlocks.h)
  Turning turning;      // made of that
  // Of each 256 contracted elements the even ones are one block and the odd ones the next, so that Vector can turn two 16-bit elements as
  // one. Of 256 that are not complete the first 128 are a block.
  bool paired = false;
  bool woven = false; // and in a panel the two blocks lie element by element: [contract, batches, blocks / 2, free, 2]
};
int64_t
packedColumn(const PanelSource &s); // elements of a packed tensor per free element: whole panels of n are n times that apart
int64_t packedBatch(const PanelSource &s); // from one batch to the next
// Makes what turning takes, once, before panels are loaded in loops.
void prepareTurning(KernelBuilder &k, PanelSource &s);

// The tensor's neighbours are neighbours in the contraction: a panel is its transpose.
bool liesTurned(const PanelSource &s);
// Bytes per partition of one transfer, so that the first blocks can be used while the others come; of a deep contraction more, since there are many.
int64_t transferBytes(int64_t contract);
// Bytes per partition that turning on chip takes besides the panel, for `blocks` blocks of the contraction; 0 if transfers do it.
int64_t turningBytes(const Target &t, const PanelSource &s, int64_t blocks);
// Whether a transfer would turn a panel; it has a fixed address.
bool turnsByDma(const Target &t, const PanelSource &s);
// Whether a panel is turned by engines.
bool turnsOnChip(const Target &t, const PanelSource &s);

// A tile for a panel, and what fills it: [contract <= 128, batches, blocks, free]: batches [b, b + nb), blocks [block, block + blocks) of the contraction, free [x, x + nx).
// The last block of the contraction may have fewer than 128 partitions; what is beyond is not defined.
Tile panelTile(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t nx);
// It begins at element `at` of the panel.
void fillPanel(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
               int64_t x, int64_t nx, int64_t at = 0);
Tile loadPanel(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t x,
               int64_t nx); // both

// Of a panel's first blocks, how many are woven.
int64_t wovenBlocks(const PanelSource &s, int64_t block, int64_t blocks);
// Blocks [block, block + count) of [blocks, free], woven ones, with free elements [x, x + n): [count / 2, 2 n].
Tile wovenPart(const Tile &t, int64_t block, int64_t count, int64_t x, int64_t n);

// Free elements [from, from + width) of an operand on chip, in tiles of `step`.
struct Panel {
  std::vector<Tile> pieces; // [contract, batches, blocks, free]
  int64_t from = 0, step = 0;
  int64_t first = 0, woven = 0; // block of the contraction; blocks from there on that are woven
  Tile at(int64_t b, int64_t block, int64_t x, int64_t n) const;
  int64_t width() const;
};
Panel makeWide(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t block, int64_t blocks, int64_t width);
// Blocks [block, block + blocks) of free elements [x, x + n) of those from `panel.from` on, inside one piece.
void fillPart(KernelBuilder &k, const Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block,
              int64_t blocks, int64_t x, int64_t n);
void fillWide(KernelBuilder &k, Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
              int64_t from);
Panel loadWide(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t from,
               int64_t width); // both

} // namespace glia::emit
