// Which dimensions of an operation's operands and results belong together, as the letters of an einsum: `bk, kn -> bn`. From a rule follow
// both how shardings spread through the operation and how it is divided.
#pragma once
#include "Mesh.h"

namespace glia::partition {

struct Letter {
  enum Kind : uint8_t {
    Pass,  // the operation is done for each index on its own
    Sum,   // results are put together from all indices
    Whole, // each rank needs all indices
  };
  int64_t size = 1;
  Kind kind = Pass;
};

// Of one tensor, per dimension: the letters that it is the product of, the major one first. Dimensions of size 1 have none.
using Letters = llvm::SmallVector<llvm::SmallVector<int, 2>, 4>;

struct Rule {
  std::vector<Letter> letters;
  std::vector<Letters> tensors; // operands, then results
  bool easy = false;            // element-wise, or moves elements: shardings spread through it first
  bool known = true;            // else each rank computes all of it

  int add(int64_t size, Letter::Kind kind = Letter::Pass) {
    letters.push_back({size, kind});
    return static_cast<int>(letters.size()) - 1;
  }
};

// The axes of each letter.
using Assignment = std::vector<Axes>;

Rule ruleOf(mlir::Operation *op);
// Values of one shape: the first goes into the others.
Rule sameRule(mlir::Type type, size_t values);

// Whether it means single devices: an exchange, the number of a partition, what goes to and comes from the host.
bool speaksOfDevices(mlir::Operation *op);

int64_t rankOf(mlir::Type type); // 0 of what is no tensor

// What a layout of tensor `t` says of the letters; an axis that no letter can have ends its dimension.
Assignment lettersOf(const Rule &rule, size_t t, const Layout &layout, const Mesh &mesh);
// The layout of tensor `t`. A letter counts if those before it in its dimension are fully divided.
Layout layoutOf(const Rule &rule, size_t t, const Assignment &axes, const Mesh &mesh);
// Takes axes away until every tensor can have what its letters have.
void settle(const Rule &rule, Assignment &axes, const Mesh &mesh);

// The operation that a body of a reduction is: "add" for (a, b) -> a + b. Empty if it is none of add, multiply, maximum, minimum, and, or,
// xor.
llvm::StringRef combinerOf(mlir::Region &body);
// A constant that the operation leaves everything unchanged with; null if the type has none.
mlir::TypedAttr identityOf(llvm::StringRef combiner, mlir::Type element);

} // namespace glia::partition
