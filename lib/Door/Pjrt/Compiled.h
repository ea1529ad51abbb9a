// A program that was compiled from a module and proved, with what a framework may ask about it.
#pragma once
#include "Client.h"
#include "Failure.h"
#include "Settings.h"
#include "Strides.h"
#include "glia/Graph/Parse.h"
#include "glia/Graph/Partition.h"
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glia::pjrt {

struct ArraySpec { // of an argument or a result
  ElementType type = ElementType::Invalid;
  Shape dims;
  std::string tensor;                     // the program's name for it; empty: it has no elements, and so no tensor
  MemoryKind memory = MemoryKind::Device; // of a result: where it is wanted
};

struct Signature {
  std::string name; // of the module
  std::vector<ArraySpec> arguments, results;
  std::vector<bool> donated; // by argument
  double flops = 0;          // of the graph as it was given
  int64_t replicas = 1, partitions = 1;
  // Of a program of several ranks, whose arguments and results above are parts: a module that says where these lie, as XLA would.
  std::string description;
  int64_t ranks() const { return replicas * partitions; }
};

// That each array is a tensor of its size in the program, and nothing is left over. Throws Failure INTERNAL.
void checkSignature(const Signature &s, const Program &p);

class Compiled {
public:
  Compiled(Signature s, Program p, std::string module, std::string target);

  const Signature signature;
  const Program program;
  const std::string module; // the bytes that the framework gave
  // What frameworks read shardings, layouts and shapes out of: the module itself, or of several ranks one that says them.
  const std::string &described() const { return signature.ranks() > 1 ? signature.description : module; }
  const std::string target; // name or file
  const std::string fingerprint;

  // Results, as the framework asks for them.
  std::vector<ElementType> resultTypes;
  std::vector<int64_t> resultDims; // all of them
  std::vector<size_t> resultRanks;

  // By result: the argument in whose place it is computed, or -1.
  std::vector<int> inPlaceOf;

  // The predicted run, computed once; nothing if it depends on the arguments.
  const TimingResult *timing() const;

  mutable std::once_flag checked, profiled; // what is done when it first runs

private:
  mutable std::once_flag timed;
  mutable std::optional<TimingResult> predicted;
};

using CompiledPtr = std::shared_ptr<const Compiled>;

// The text of a module with the shapes of parts and where they lie; `main` is that of the whole. DescribeModule.cpp
std::string describeParts(const Signature &s, mlir::func::FuncOp main, const PartitionedGraph &parts);

graph::Graph readModule(std::string_view bytes, std::string_view format); // throws Failure PJRT-FORMAT, Error

// Reads, compiles and verifies, on a stack that is deep enough. `ranks`: what the framework wants, where the module does not say it.
struct RanksWanted {
  int64_t replicas = 1, partitions = 1;
};
CompiledPtr compileModule(std::string_view bytes, std::string_view format, const Settings &settings, RanksWanted ranks);
// Ends what is being compiled now, in any thread, with Interrupted; what begins later goes on.
void stopCompiling();

struct Kept {
  CompiledPtr compiled;
  std::vector<int64_t> devices; // that it was loaded on, by rank; empty: on none of its own
};

// Everything in bytes, and back; what comes back is verified too, unless it carries a seal (Seal.h). Throws Failure PJRT-SERIALIZED.
std::string serialize(const Kept &kept);
Kept deserialize(std::string_view bytes, const Settings &settings);

} // namespace glia::pjrt
