#include "HloProto.h"

namespace glia::graph::hlo {

static constexpr unsigned kDeepestShape = 64;

// ---- wire -------------------------------------------------------------------------------------------------------------------

bool next(ByteCursor &in, Field &f) {
  if (in.done())
    return false;
  const uint64_t tag = in.leb128();
  const uint64_t number = tag >> 3;
  if (number == 0 || number > (1u << 29))
    in.fail("there is no such field");
  f.number = static_cast<uint32_t>(number);
  f.wire = static_cast<Wire>(tag & 7);
  f.data = in;
  switch (f.wire) {
  case Wire::Varint: f.value = in.leb128(); return true;
  case Wire::Eight: f.value = in.fixed<uint64_t>(); return true;
  case Wire::Four: f.value = in.fixed<uint32_t>(); return true;
  case Wire::Bytes: f.data = in.part(in.leb128()); return true;
  }
  in.fail("a field has no such form");
}

static void expect(const Field &f, Wire wire) {
  if (f.wire != wire)
    f.data.fail(format("field %u has another form", f.number));
}

int64_t Field::integer() const {
  expect(*this, Wire::Varint);
  return static_cast<int64_t>(value);
}

ByteCursor Field::message() const {
  expect(*this, Wire::Bytes);
  return data;
}

std::string_view Field::text() const {
  ByteCursor bytes = message();
  return bytes.take(bytes.left());
}

void Field::appendTo(llvm::SmallVectorImpl<int64_t> &list) const {
  if (wire == Wire::Varint) {
    list.push_back(integer());
    return;
  }
  for (ByteCursor in = message(); !in.done();)
    list.push_back(static_cast<int64_t>(in.leb128()));
}

// ---- messages ---------------------------------------------------------------------------------------------------------------

size_t Shape::leaves() const {
  if (!isTuple())
    return 1;
  size_t n = 0;
  for (const Shape &p : parts)
    n += p.leaves();
  return n;
}

bool Shape::rowMajor() const {
  for (size_t i = 0; i < minorToMajor.size(); ++i)
    if (minorToMajor[i] != static_cast<int64_t>(minorToMajor.size() - 1 - i))
      return false;
  return true;
}

Shape readShape(ByteCursor in, unsigned depth) {
  if (depth > kDeepestShape)
    in.fail(format("tuples are nested more than %u deep", kDeepestShape));
  Shape s;
  forEach(in, [&](const Field &f) {
    switch (f.number) {
    case 2: s.element = f.integer(); break;
    case 3: f.appendTo(s.dims); break;
    case 4: s.parts.push_back(readShape(f.message(), depth + 1)); break;
    case 5:
      forEach(f.message(), [&](const Field &layout) {
        if (layout.number == 1)
          layout.appendTo(s.minorToMajor);
      });
      break;
    case 6: {
      llvm::SmallVector<int64_t> flags;
      f.appendTo(flags);
      for (const int64_t d : flags)
        s.dynamic |= d != 0;
      break;
    }
    default: break;
    }
  });
  for (const int64_t d : s.dims)
    if (d < 0)
      in.fail(format("a dimension is %lld", static_cast<long long>(d)));
  if (!s.minorToMajor.empty() && s.minorToMajor.size() != s.dims.size())
    in.fail("a layout has another number of dimensions than its shape");
  return s;
}

static WindowDimension readWindow(ByteCursor in) {
  WindowDimension w;
  forEach(in, [&](const Field &f) {
    switch (f.number) {
    case 1: w.size = f.integer(); break;
    case 2: w.stride = f.integer(); break;
    case 3: w.low = f.integer(); break;
    case 4: w.high = f.integer(); break;
    case 5: w.windowDilation = f.integer(); break;
    case 6: w.baseDilation = f.integer(); break;
    case 7: w.reversed = f.truth(); break;
    default: break;
    }
  });
  return w;
}

Instruction::Instruction(ByteCursor in) : at(in) {
  forEach(in, [&](const Field &f) {
    switch (f.number) {
      // clang-format off
    case 1: name = f.text(); break;
    case 2: opcode = f.text(); break;
    case 3: shape = readShape(f.message()); break;
    case 7: metadata = f.message(); break;
    case 8: literal = f.message(); break;
    case 9: parameter = f.integer(); break;
    case 11: fusion = f.text(); break;
    case 13: tupleIndex = f.integer(); break;
    case 14: f.appendTo(dimensions); break;
    case 15:
      forEach(f.message(), [&](const Field &w) {
        if (w.number == 1)
          window.push_back(readWindow(w.message()));
      });
      break;
    case 16: convolution = f.message(); break;
    case 17: slices.push_back(f.message()); break;
    case 18: exponentBits = f.integer(); break;
    case 19: mantissaBits = f.integer(); break;
    case 20: f.appendTo(sliceSizes); break;
    case 21: padding = f.message(); break;
    case 23: distribution = f.integer(); break;
    case 24:
      expect(f, Wire::Four);
      epsilon = std::bit_cast<float>(static_cast<uint32_t>(f.value));
      break;
    case 25: featureIndex = f.integer(); break;
    case 26: channel = f.integer(); break;
    case 28: target = f.text(); break;
    case 30: dot = f.message(); break;
    case 31: fftType = f.integer(); break;
    case 32: f.appendTo(fftLength); break;
    case 33: gather = f.message(); break;
    case 34: f.appendTo(gatherSizes); break;
    case 35: id = f.integer(); break;
    case 36: f.appendTo(operands); break;
    case 38: f.appendTo(computations); break;
    case 43: backendConfig = f.text(); break;
    case 48: scatter = f.message(); break;
    case 49: replicaGroups.push_back(f.message()); break;
    case 50: featureGroups = f.integer(); break;
    case 51: precision = f.message(); break;
    case 52: pairs.push_back(f.message()); break;
    case 56: constrainLayout = f.truth(); break;
    case 57: operandShapes.push_back(f.message()); break;
    case 58: batchGroups = f.integer(); break;
    case 59: solve = f.message(); break;
    case 60: stable = f.truth(); break;
    case 62: cholesky = f.message(); break;
    case 63: direction = f.text(); break;
    case 65: sideEffect = f.truth(); break;
    case 67: sorted = f.truth(); break;
    case 69: unique = f.truth(); break;
    case 70: algorithm = f.integer(); break;
    case 71: globalIds = f.truth(); break;
    case 72: comparison = f.text(); break;
    case 74: aliases.push_back(f.message()); break;
    case 77: apiVersion = f.integer(); break;
    case 81: k = f.integer(); break;
    case 85: largest = f.truth(); break;
    case 87: deviceList = f.message(); break;
    case 90: ragged = f.message(); break;
    case 91: accuracy = f.message(); break;
    default: break;
      // clang-format on
    }
  });
}

Computation::Computation(ByteCursor in) : at(in) {
  forEach(in, [&](const Field &f) {
    if (f.number == 1)
      name = f.text();
    else if (f.number == 2)
      instructions.push_back(f.message());
    else if (f.number == 5)
      id = f.integer();
    else if (f.number == 6)
      root = f.integer();
  });
}

Module::Module(ByteCursor in) : at(in) {
  forEach(in, [&](const Field &f) {
    switch (f.number) {
    case 1: name = f.text(); break;
    case 2: entryName = f.text(); break;
    case 3: computations.push_back(f.message()); break;
    case 6: entry = f.integer(); break;
    case 8: aliases = f.message(); break;
    case 17: frames = f.message(); break;
    default: break;
    }
  });
}

} // namespace glia::graph::hlo
