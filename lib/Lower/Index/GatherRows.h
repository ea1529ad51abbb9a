// Gathers of windows: one transfer takes 128 of them by index where the target can, else each is a transfer with its address
// in a register.
#pragma once
#include "IndexForm.h"
#include "Lower/Move/MovementTransfer.h"

namespace glia::emit {

// An address takes two registers: more are added up before.
std::vector<Place::Term> fewTerms(KernelBuilder &k, std::vector<Place::Term> terms);

// A place: its index in each batch dimension.
struct PlaceCursor {
  std::vector<int64_t> numbers;                             // unrolled
  std::vector<int> registers;                               // in loops
  void move(Place &p, llvm::ArrayRef<int64_t> steps) const; // by so many elements per index of each dimension
};
// Runs `body` for each place: with numbers, up to `unrolled` of them, or in loops with a register per batch dimension.
void forEachPlace(KernelBuilder &k, const IndexForm &f, llvm::function_ref<void(const PlaceCursor &)> body,
                  int64_t unrolled = 256);
// The register that an element of a tensor in HBM is loaded into.
int loadRegister(KernelBuilder &k, Place element);

// Dimensions of a window, those that lie alike on both sides as one.
std::vector<CopyAxis> windowAxes(const IndexForm &f);

void gatherByIndex(KernelBuilder &k, const IndexForm &f, const Tile &data, const Tile &indices, const Tile &out);
void gatherByRegister(KernelBuilder &k, const IndexForm &f, const Tile &data, const Tile &indices, const Tile &out);

} // namespace glia::emit
