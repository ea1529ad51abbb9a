// Graphs from files of any form.
#pragma once
#include "glia/Graph/Parse.h"

namespace glia::graph {

// StableHLO's portable artifacts: VHLO 0.9 to 1.17 in MLIR bytecode of versions 0 to 6. Operations and attributes of Shardy that
// only say where the parts of tensors are, are dropped. Throws Error as parseGraph does, and
//   BYTECODE-FORMAT   the bytes are malformed      BYTECODE-VERSION  a newer version
//   GRAPH-DEVICES     the graph is divided among several devices
Graph readBytecode(std::string_view bytes, std::string_view file);

// XLA's HloModuleProto, or an HloProto around one. Tuples are taken apart, and computations that are called become functions or
// regions. Throws Error as parseGraph does, and HLO-FORMAT and HLO-UNSUPPORTED.
Graph readHlo(std::string_view bytes, std::string_view file);

enum class GraphForm : uint8_t { Text, Bytecode, Hlo };
GraphForm formOf(std::string_view bytes); // by the first bytes

// Of any form.
Graph readGraph(std::string_view bytes, std::string_view file);

} // namespace glia::graph
