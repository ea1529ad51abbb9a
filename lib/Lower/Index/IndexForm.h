// The dimension numbers of gather and scatter as plain strides: places, one per index vector, each with a window of the data
// and a window of the other tensor (the result of a gather, the updates of a scatter).
#pragma once
#include "Graph/Analysis/ConstantElements.h"
#include "Lower/Rows/RowsView.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

struct IndexForm {
  std::vector<int64_t> shape, strides, sizes; // of the data, and of the window along each of its dimensions
  struct Batch {                              // places in row-major order of these
    int64_t count = 1, index = 0, other = 0;  // steps in the indices and in the other tensor, in elements
    int64_t data = 0, dim = -1;               // a batching dimension of the data: its stride and number
    int64_t otherDim = 0;
  };
  struct Component {                       // of an index vector
    int64_t at = 0;                        // where in the indices
    int64_t dim = 0, most = 0, stride = 0; // of the data; the last start at which the window is inside
  };
  struct Window {
    int64_t dim = 0, count = 1, data = 1, other = 1, otherDim = 0;
  };
  std::vector<Batch> batch;
  std::vector<Component> components;
  std::vector<Window> window;

  int64_t places() const;
  int64_t windowElements() const;
  // The adjacent elements that both sides have in a window.
  int64_t run() const;
  // Start along each dimension of the data, clamped or not, for indices that are known.
  std::vector<int64_t> start(const Elements &indices, const std::vector<int64_t> &place, bool clamped) const;
};

IndexForm gatherForm(mlir::Operation *op); // and torch_index_select
IndexForm scatterForm(mlir::Operation *op);

// The values of indices that are known now; nullopt if they are not.
std::optional<Elements> knownIndices(mlir::Value indices);

// The indices in HBM. Such that are one number everywhere are no input of the group: they become a constant of the kernel.
Tile indexTile(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, mlir::Value indices);

} // namespace glia::emit
