// Scatters, update after update in the order of the updates: each reads its place, combines and writes it back.
#pragma once
#include "Lower/Rows/Combine.h"
#include "GatherRows.h"
#include "IndexPieces.h"

namespace glia::emit {

// Elements of `to` = elements of `to` op elements of `from`, both in HBM, along the axes; no handle: `from` is the number
// `splat`.
void combineInto(KernelBuilder &k, const Combiner &c, const Place &to, const Place &from, double splat,
                 std::vector<CopyAxis> axes);

// Boxes of `out` that are known now.
void scatterPieces(KernelBuilder &k, const Combiner &c, const Pieces &pieces, const Tile &out, const Tile &updates,
                   double splat);

// Indices at run time. An update that is not wholly inside goes to a place behind the data: `work` is the data and one
// window more.
int64_t workElements(const IndexForm &f);
void scatterInOrder(KernelBuilder &k, const Combiner &c, const IndexForm &f, const Tile &work, const Tile &indices,
                    const Tile &updates, double splat);

} // namespace glia::emit
