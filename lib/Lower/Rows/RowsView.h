// Views of tensors in HBM as rows and columns: what a broadcast or a permutation reads, as counts and strides over the elements
// that are stored.
#pragma once
#include "glia/Lower/KernelBuilder.h"

#include "llvm/ADT/ArrayRef.h"

namespace glia::emit {

using Dims = std::vector<Tile::Dim>;

Dims contiguous(const std::vector<int64_t> &shape);
Dims merged(const Dims &dims); // without dimensions of size 1, adjacent ones as one; empty: one element
int64_t countOf(const Dims &dims);
bool isStill(const Dims &dims); // the same element everywhere
// Cuts the view into rows of `columns` elements. False if a row would not begin at a multiple of some dimension.
bool splitAt(const Dims &view, int64_t columns, Dims &rows, Dims &cols);

// Makes a view of a part of it: from `start` on, every `step`-th element, `shape` of them. Gives where that begins.
int64_t partOf(Dims &view, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> step, llvm::ArrayRef<int64_t> shape);

struct Box { // a part of a run of indices: where it starts in the run and in memory, and how it goes on
  int64_t from, count, offset;
  Dims dims;
};
// Cuts [first, first + n) of the row-major indices of `dims` into boxes of at most `most` dimensions.
std::vector<Box> boxesOf(const Dims &dims, int64_t first, int64_t n, size_t most);

// Between a tile on chip (its first partition and column are element [row, column] of the view) and the tensor in HBM; as many
// transfers as the view needs.
void load(KernelBuilder &k, const Tile &chip, const Tile &hbm, const Dims &rows, const Dims &cols, int64_t row,
          int64_t column);
void store(KernelBuilder &k, const Tile &hbm, const Tile &chip, const Dims &rows, const Dims &cols, int64_t row,
           int64_t column);

} // namespace glia::emit
