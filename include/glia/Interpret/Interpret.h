// The reference: evaluates functions of a graph on the host, one operation after another, every typed value rounded to its type.
// What it computes and where it chooses is in docs/interpreter.md.
#pragma once
#include "glia/Interpret/Element.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace glia {

namespace interp {
class Follower; // lib/Interpret/Follow.h
}

struct HostTensor {
  Element element = Element::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes; // row-major, little-endian; i1 and integers narrower than a byte take one byte each
  bool pairs = false; // the last dimension, of 2, is real and imaginary part: complex numbers are given and taken so
};

struct InterpretOptions {
  bool inDouble = false; // every float type is evaluated, and returned, as f64
  uint64_t shaken =
      0; // a seed: every float that is computed is off by up to one rounding of its type, drawn from it; with inDouble
  double roundings = 1;                     // how many, if `shaken`
  int64_t maxIterations = int64_t{1} << 32; // of all `while` loops together
  // Called for each result of each operation outside the bodies of reductions, sorts and the like. Tuples and tokens are not shown.
  std::function<void(mlir::Operation *, unsigned result, const HostTensor &)> onValue;
  // Asked first about each custom call, with its operands in the graph's own types: the results, or nullopt if it does not know the call.
  std::function<std::optional<std::vector<HostTensor>>(mlir::Operation *, const std::vector<HostTensor> &operands)>
      onCustomCall;
  interp::Follower *follower = nullptr;
};

// Tuples are flattened in arguments and results. Throws Error: GRAPH-FUNCTION (no such function), GRAPH-ARGUMENT (wrong number, type
// or shape), GRAPH-INTERPRET (not implemented, or an endless loop or recursion), GRAPH-CHECK (a check in the graph failed).
std::vector<HostTensor> interpret(mlir::ModuleOp module, std::string_view function, std::vector<HostTensor> inputs,
                                  const InterpretOptions &options = {});

// The same function on every rank, with inputs of its own; ranks meet in collectives. There are as many as the module's mhlo.num_replicas
// times mhlo.num_partitions, and rank = replica * partitions + partition; a module that does not say has as many partitions as there are
// inputs. A rank that waits for one that never comes is an Error GRAPH-INTERPRET. Sums of floats across ranks are rounded once.
std::vector<std::vector<HostTensor>> interpretRanks(mlir::ModuleOp module, std::string_view function,
                                                    std::vector<std::vector<HostTensor>> inputsByRank,
                                                    const InterpretOptions &options = {});

} // namespace glia
