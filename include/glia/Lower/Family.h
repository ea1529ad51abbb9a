// A family of graph operations that are lowered alike (pointwise and reductions, contractions, movement ...). It says which
// operations form a group, and writes a group as a kernel. It looks at its group only.
#pragma once
#include "glia/Lower/KernelBuilder.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace glia::emit {

class Family;

// Operations that become one kernel, and the tensors that it reads and writes. Tensors between groups live in HBM, row-major.
struct Group {
  const Family *family = nullptr;
  std::vector<mlir::Operation *> ops; // in program order
  std::vector<mlir::Value> inputs;    // in the order of first use
  std::vector<mlir::Value> outputs;   // used outside, in program order
  std::optional<size_t> over; // the input that the only output is written over: one tensor, which holds the input's elements
  // An input and an output each, which may be one tensor if the kernel turns out to read each element before it writes it.
  std::vector<std::pair<size_t, size_t>> inPlace;
  bool fewTables = false; // the graph brings kernels along, whose tables of functions count too
  bool contains(mlir::Operation *op) const;
};

// Operations that are one kernel together, whichever families they are of.
struct Seed {
  std::vector<mlir::Operation *> ops;     // empty: there are none
  std::vector<mlir::Operation *> results; // of these: others need what they give, and the kernel is the one that gives it
};

class Family {
public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  // Empty: the family can lower the operation (in a group of its own). Otherwise why not: "convolution of integers", for the list of everything
  // that cannot be lowered. nullopt: the operation is not of this family.
  virtual std::optional<std::string> accepts(mlir::Operation *op) const = 0;
  // The operation may join the group, which is of this family: together they are still one kernel. It may be an operation of another
  // family (a bias behind a contraction). The caller makes sure that this closes no cycle of groups.
  virtual bool joins(const Group &, mlir::Operation *) const { return false; }
  // Operations of which this one is the first that gives a result, and which are one kernel together on the target. What they read is there
  // before it. Nobody else needs what they give, except the results and what others compute for themselves.
  virtual Seed seeds(mlir::Operation *, const Target &) const { return {}; }
  // The operation costs next to nothing inside a group that reads it (a broadcast): each such group writes it again. It has a group of
  // its own only if somebody needs its result in HBM.
  virtual bool repeats(mlir::Operation *) const { return false; }
  // Values of the operation that are one number everywhere (splatOf) are not read from HBM: the family writes them into its
  // instructions.
  virtual bool takesSplats(mlir::Operation *) const { return false; }
  // An input that the only output can be written over, if nobody reads it afterwards: then `emit` gets the same tile for both.
  virtual std::optional<size_t> overwrites(const Group &) const { return std::nullopt; }
  // The operand is a constant that the family writes into its instructions (indices): it is not read from HBM either.
  virtual bool writesConstant(mlir::Operation *, unsigned /*operand*/) const { return false; }
  // Writes the kernel. inputs[i] and outputs[i] are the HBM tensors of the group's inputs and outputs, in their shapes.
  virtual void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const = 0;
};

// Every family, in the order in which they are asked. Each is made in a file of its own (lib/Lower/*/*Family.cpp).
std::span<const Family *const> families();

// Bytes of a partition of SBUF that every target of the machine has: what fits there fits everywhere. A target of one's own may have less.
constexpr int64_t kSmallestSbuf = 180224;

// The element type of the machine that holds a graph's values; nullopt if there is none (i64 and f64 are narrowed or refused before).
// i1 is u8 with 0 and 1.
std::optional<DType> machineType(mlir::Type element);
DType heldType(mlir::Value v); // of a value that the machine holds
std::vector<int64_t> shapeOf(mlir::Value v);
int64_t elementsOf(mlir::Value v);
llvm::StringRef opName(mlir::Operation *op); // without the dialect: "dot_general"

// The values that an operation reads: its operands, and what its regions take from outside.
std::vector<mlir::Value> readBy(mlir::Operation *op);

// The number that every element of a value holds, if it is known: a constant, or a broadcast, reshape or conversion of one.
std::optional<double> splatOf(mlir::Value v);
// Reshapes and optimization barriers hold the bytes of what they are made of: no group, no kernel.
bool isAlias(mlir::Operation *op);
mlir::Value aliasOf(mlir::Value v); // what an alias is made of; v itself if it is none

// Groups in an order in which each comes after those it reads. Throws Error with everything that no family accepts. Without a target no
// groups that depend on one (Family::seeds).
std::vector<Group> groupOperations(mlir::Block &body, const Target *target = nullptr);

// Equal for groups that give the same kernel: operations, attributes, types and how they are connected, without places and names.
std::string structureOf(const Group &g);

} // namespace glia::emit
