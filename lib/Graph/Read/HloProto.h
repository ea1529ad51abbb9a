// The wire format of protocol buffers, and the messages of an HloModuleProto as far as a graph needs them. Messages stay in the file:
// only what is looked at is read.
#pragma once
#include "ByteCursor.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>
#include <vector>

namespace glia::graph::hlo {

// ---- wire -------------------------------------------------------------------------------------------------------------------

enum class Wire : uint8_t { Varint = 0, Eight = 1, Bytes = 2, Four = 5 };

struct Field {
  uint32_t number = 0;
  Wire wire = Wire::Varint;
  uint64_t value = 0; // of a number
  ByteCursor data;    // of bytes, texts, messages and packed numbers

  // Of the kind that is asked for, or an error.
  int64_t integer() const;
  bool truth() const { return integer() != 0; }
  ByteCursor message() const;
  std::string_view text() const;
  void appendTo(llvm::SmallVectorImpl<int64_t> &list) const; // packed or not
};

// The fields of a message, one after the other.
bool next(ByteCursor &in, Field &field);
template <typename Each> void forEach(ByteCursor in, Each each) {
  for (Field f; next(in, f);)
    each(f);
}

// ---- messages ---------------------------------------------------------------------------------------------------------------

// Numbers of PrimitiveType.
enum Primitive : int64_t { PRED = 1, TUPLE = 13, TOKEN = 17 };

struct Shape {
  int64_t element = 0;
  llvm::SmallVector<int64_t, 4> dims;
  llvm::SmallVector<int64_t, 4> minorToMajor; // empty: row-major
  bool dynamic = false;
  std::vector<Shape> parts; // of a tuple

  bool isTuple() const { return element == TUPLE; }
  size_t leaves() const;
  bool rowMajor() const;
};
Shape readShape(ByteCursor in, unsigned depth = 0);

struct WindowDimension {
  int64_t size = 0, stride = 1, low = 0, high = 0, windowDilation = 1, baseDilation = 1;
  bool reversed = false;
};

struct Instruction {
  explicit Instruction(ByteCursor in);

  ByteCursor at; // of the message, for errors
  std::string_view name, opcode, target, direction, comparison, fusion;
  Shape shape;
  std::optional<ByteCursor> metadata, literal, convolution, padding, dot, ragged, gather, scatter, precision, solve,
      cholesky, accuracy, deviceList;
  llvm::SmallVector<WindowDimension> window;
  llvm::SmallVector<int64_t> dimensions, sliceSizes, gatherSizes, fftLength;
  std::vector<ByteCursor> slices, replicaGroups, pairs, operandShapes, aliases;
  llvm::SmallVector<int64_t> operands, computations; // ids
  std::string_view backendConfig;
  int64_t id = 0, parameter = 0, tupleIndex = 0, featureGroups = 0, batchGroups = 0, exponentBits = 0, mantissaBits = 0,
          distribution = 0, featureIndex = 0, channel = 0, fftType = 0, algorithm = 0, apiVersion = 0, k = 0;
  float epsilon = 0;
  bool stable = false, sorted = false, unique = false, sideEffect = false, globalIds = false, constrainLayout = false,
       largest = false;
};

struct Computation {
  explicit Computation(ByteCursor in);

  ByteCursor at; // for errors
  std::string_view name;
  std::vector<ByteCursor> instructions; // operands before their users
  int64_t id = 0, root = 0;
};

struct Module {
  explicit Module(ByteCursor in);

  ByteCursor at; // for errors
  std::string_view name;
  std::vector<ByteCursor> computations;
  int64_t entry = 0;
  std::string_view entryName;
  std::optional<ByteCursor> aliases, frames;
};

// Instructions are numbered within their computation: the upper half, where it is set, is the computation's.
inline uint32_t localId(int64_t id) { return static_cast<uint32_t>(id); }

} // namespace glia::graph::hlo
