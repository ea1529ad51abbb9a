// What a program was promised about its inputs is checked before it runs: names, sizes, ranges, distinct values.
#include "Memory.h"

#include <algorithm>
#include <cstring>

namespace glia::sim {

namespace {

[[noreturn]] void bad(const std::string &what, const std::string &advice) { throw Error("RUN-INPUT", what, advice); }

std::string inputNames(const Program &p) {
  std::string names;
  for (const Tensor &t : p.tensors)
    if (!t.inputName().empty())
      names += (names.empty() ? "`" : ", `") + std::string(t.inputName()) + "`";
  return names.empty() ? "The program has no inputs." : "The program's inputs are " + names + ".";
}

template <class T> T at(std::span<const std::byte> data, int64_t i) {
  T v;
  std::memcpy(&v, data.data() + i * sizeof(T), sizeof(T));
  return v;
}

// Calls f(value) for each element; unsigned 64-bit values above the largest signed one saturate (no range reaches them).
template <class F> void forEachInteger(const Tensor &t, std::span<const std::byte> data, F &&f) {
  for (int64_t i = 0, n = t.elements(); i < n; ++i)
    switch (t.dtype) {
    case DType::I8: f(i, int64_t{at<int8_t>(data, i)}); break;
    case DType::U8: f(i, int64_t{at<uint8_t>(data, i)}); break;
    case DType::I16: f(i, int64_t{at<int16_t>(data, i)}); break;
    case DType::U16: f(i, int64_t{at<uint16_t>(data, i)}); break;
    case DType::I32: f(i, int64_t{at<int32_t>(data, i)}); break;
    case DType::U32: f(i, int64_t{at<uint32_t>(data, i)}); break;
    case DType::I64: f(i, at<int64_t>(data, i)); break;
    case DType::U64: f(i, static_cast<int64_t>(std::min<uint64_t>(at<uint64_t>(data, i), INT64_MAX))); break;
    default: return;
    }
}

void checkRange(const Tensor &t, std::span<const std::byte> data) {
  forEachInteger(t, data, [&](int64_t i, int64_t v) {
    if (v < t.rangeLo || v > t.rangeHi)
      bad(format("element %lld of input `%s` is %lld and the program declares %lld to %lld", (long long)i, t.name.c_str(),
                 (long long)v, (long long)t.rangeLo, (long long)t.rangeHi),
          "Give values in the declared range, or declare a wider range in the program.");
  });
}

void checkUnique(const Tensor &t, std::span<const std::byte> data) {
  const int size = sizeOf(t.dtype);
  std::vector<std::pair<uint64_t, int64_t>> values(t.elements());
  for (int64_t i = 0; i < t.elements(); ++i) {
    std::memcpy(&values[i].first, data.data() + i * size, size);
    values[i].second = i;
  }
  std::sort(values.begin(), values.end());
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i - 1].first == values[i].first)
      bad(format("elements %lld and %lld of input `%s` are equal and the program declares all values to be distinct",
                 (long long)values[i - 1].second, (long long)values[i].second, t.name.c_str()),
          "Give distinct values, or drop `unique` from the declaration.");
}

} // namespace

void checkInputs(const Program &p, const TensorViews &inputs) {
  for (const auto &[name, data] : inputs) {
    if (p.findInput(name) < 0)
      bad("the program has no input `" + name + "`", inputNames(p));
  }
  for (const Tensor &t : p.tensors) {
    if (t.inputName().empty())
      continue;
    const std::string name(t.inputName());
    const auto it = inputs.find(name);
    if (it == inputs.end())
      bad("input `" + name + "` is missing", inputNames(p));
    if (static_cast<int64_t>(it->second.size()) != t.bytes())
      bad(format("input `%s` has %lld bytes and needs %lld", name.c_str(), (long long)it->second.size(),
                 (long long)t.bytes()),
          "Give an array of the declared shape and type.");
    if (t.hasRange)
      checkRange(t, it->second);
    if (t.uniqueRows)
      checkUnique(t, it->second);
  }
}

void checkOutputs(const Program &p, const TensorBuffers &outputs) {
  for (const Tensor &t : p.tensors) {
    if (t.kind != TensorKind::Output)
      continue;
    const auto it = outputs.find(t.name);
    const bool unwanted = it != outputs.end() && !it->second.data();
    if (it == outputs.end() || (!unwanted && static_cast<int64_t>(it->second.size()) != t.bytes()))
      throw Error("RUN-OUTPUT",
                  format("there is no room of %lld bytes for output `%s`", (long long)t.bytes(), t.name.c_str()),
                  "Give memory of its size for every output.");
  }
}

} // namespace glia::sim
