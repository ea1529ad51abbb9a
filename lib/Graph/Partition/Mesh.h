// The partitions of a module as one grid, and where the parts of a tensor lie on it.
//
// Every axis of every mesh, and every part of an axis that a sharding names, is a product of primes. The grid has one axis for each prime: so
// parts of axes, axes of several meshes over the same devices, and splits of a dimension by a reshape are all lists of axes of the grid.
#pragma once
#include "Levels.h"
#include "glia/Graph/Graph.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace glia::partition {

using Axes = llvm::SmallVector<int, 4>; // numbers of axes of the grid, the major one first

// How a tensor is divided: per dimension the axes that it is divided by. Axes that no dimension has hold copies.
struct Layout {
  llvm::SmallVector<Axes, 4> dims;
  bool operator==(const Layout &) const = default;
  bool isWhole() const {
    return llvm::all_of(dims, [](const Axes &a) { return a.empty(); });
  }
  bool uses(int axis) const {
    return llvm::any_of(dims, [&](const Axes &a) { return llvm::is_contained(a, axis); });
  }
  static Layout whole(int64_t rank) { return {llvm::SmallVector<Axes, 4>(static_cast<size_t>(rank))}; }
};

// What the user says of one tensor.
struct Sharding {
  Layout layout;
  llvm::SmallVector<bool, 4> open; // dimensions that propagation may divide further
  Axes replicated;                 // axes that it may not use
};

class Mesh {
public:
  // Reads the module's meshes and the shardings that name parts of axes. Throws Error GRAPH-SHARDING.
  explicit Mesh(mlir::ModuleOp module);

  int64_t partitions = 1, replicas = 1;
  std::vector<int64_t> sizes; // of each axis of the grid, the major one first

  int64_t sizeOf(llvm::ArrayRef<int> axes) const;
  int64_t indexOf(int64_t partition, llvm::ArrayRef<int> axes) const; // along these axes, the first is the major one
  // Partitions that differ in these axes only, in the order of their index.
  std::vector<std::vector<int64_t>> groups(llvm::ArrayRef<int> axes) const;

  // Of an attribute as Sharding.h (lib/Graph/Read) says. Axes that do not divide a dimension are left out, with those behind them.
  Sharding read(mlir::Attribute sharding, mlir::Type type, mlir::Operation *at) const;
  // All axes of the grid that these axes of a mesh have; `mesh` is a name or a mesh.
  Axes named(mlir::Attribute mesh, mlir::ArrayAttr names, mlir::Operation *at) const;

  // The layout with no more than whole axes of one mesh in these dimensions: callers cannot name parts of axes.
  Layout inWholeAxes(const Layout &layout, llvm::ArrayRef<bool> dims) const;

  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> global, const Layout &layout) const;
  mlir::Type localType(mlir::Type type, const Layout &layout) const;
  std::string hlo(const Layout &layout) const; // as XLA writes it

private:
  graph::MeshAttr meshOf(mlir::Attribute reference, mlir::Operation *at) const;
  void noteMesh(graph::MeshAttr mesh, mlir::Operation *at);
  void noteBoundary(int64_t product, mlir::Operation *at);
  void noteParts(mlir::DictionaryAttr sharding, mlir::Operation *at);
  void setOrder(std::vector<int64_t> order);
  Axes axesOf(graph::MeshAttr mesh, graph::AxisRefAttr axis, mlir::Operation *at) const;
  Axes axesOf(const std::vector<Level> &mesh, size_t axis) const; // all of an axis of a mesh
  Axes between(int64_t before, int64_t behind) const;             // axes from one product of major sizes to another
  std::vector<int64_t> boundaries{1};                             // products of sizes from the major axis on
  std::vector<int64_t> position;                                  // of each partition on the grid
  std::vector<int64_t> devices;                                   // the partition at each position
  llvm::MapVector<mlir::Attribute, std::vector<Level>> levels;    // of each mesh, on the grid
};

// A refusal at the place of an operation.
[[noreturn]] void refuse(mlir::Operation *at, std::string message, std::string advice);
// "stablehlo.sort at model.py:12"
std::string nameOf(mlir::Operation *op);

} // namespace glia::partition
