#include "Tiny.h"

#include <algorithm>
#include <cstring>

namespace glia::tiny {

namespace {

template <class T> std::vector<std::byte> bytesOf(const std::vector<T> &v) {
  std::vector<std::byte> out(v.size() * sizeof(T));
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}

} // namespace

Tiny next(Random &random) {
  Tiny t = generate(random);
  for (int64_t changes = random.below(3); changes > 0; --changes)
    perturb(t, random);
  return t;
}

std::vector<TensorData> everyInput(const Program &p) {
  std::vector<TensorData> all = {{}};
  for (const Tensor &t : p.tensors) {
    if (t.kind != TensorKind::Input)
      continue;
    std::vector<std::vector<std::byte>> values;
    if (t.hasRange)
      for (int64_t v = t.rangeLo; v <= t.rangeHi; ++v)
        values.push_back(bytesOf(std::vector<int32_t>(t.elements(), static_cast<int32_t>(v))));
    else {
      std::vector<float> ramp(t.elements());
      for (size_t i = 0; i < ramp.size(); ++i)
        ramp[i] = 10.0f + static_cast<float>(i);
      values.push_back(bytesOf(ramp));
    }
    std::vector<TensorData> more;
    for (const TensorData &d : all)
      for (const auto &v : values) {
        more.push_back(d);
        more.back()[t.name] = v;
      }
    all = std::move(more);
  }
  return all;
}

bool aboutOrder(const std::vector<Diagnostic> &ds) {
  return std::all_of(ds.begin(), ds.end(), [](const Diagnostic &d) {
    return d.code == "RACE" || d.code.starts_with("SYNC-") || d.code.starts_with("LOOP-");
  });
}

} // namespace glia::tiny
