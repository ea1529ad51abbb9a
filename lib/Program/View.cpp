#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <climits>

namespace glia {

std::string shapeProblem(const std::vector<int64_t> &shape, DType t, bool onChip) {
  if (shape.empty() || shape.size() > 8)
    return "has " + std::to_string(shape.size()) + " dimensions and must have 1 to 8";
  int64_t total = sizeOf(t);
  for (int64_t d : shape) {
    if (d < 1)
      return "has a dimension of size " + std::to_string(d);
    if (__builtin_mul_overflow(total, d, &total) || total > (int64_t{1} << 46))
      return "is larger than any memory";
  }
  if (onChip && total > (int64_t{1} << 31))
    return "is larger than any on-chip memory";
  return {};
}

View makeView(std::string_view objectName, const std::vector<int64_t> &shape, DType t, bool onChip,
              std::vector<Slice> slices) {
  const std::string object = printable(objectName);
  auto bad = [](const std::string &what, const char *advice = "") { throw Error("BUILD-VIEW", what, advice); };
  if (slices.size() > shape.size())
    bad(format("a view of `%s` has %zu dimensions and the object has %zu", object.c_str(), slices.size(), shape.size()));
  for (size_t i = slices.size(); i < shape.size(); ++i)
    slices.push_back({0, shape[i], 1});
  for (size_t i = 0; i < shape.size(); ++i)
    if (slices[i].start < 0 || slices[i].stop > shape[i] || slices[i].start >= slices[i].stop || slices[i].step < 1)
      bad(format("slice %lld:%lld:%lld of dimension %zu of `%s` is empty or outside its size %lld",
                 (long long)slices[i].start, (long long)slices[i].stop, (long long)slices[i].step, i, object.c_str(),
                 (long long)shape[i]));

  View out;
  out.pattern.dtype = t;
  int64_t stride = 1, offset = 0;
  std::vector<Dim> dims; // fastest first while collecting
  for (size_t i = shape.size(); i-- > (onChip ? 1u : 0u);) {
    const Slice &s = slices[i];
    const int64_t count = (s.stop - s.start - 1) / s.step + 1;
    const int64_t step = count == 1 ? 1 : stride * s.step; // a single element has no stride to speak of
    offset += s.start * stride;
    stride *= shape[i];
    if (count == 1)
      continue;
    const int64_t merged = dims.empty()                                              ? 0
                           : int64_t{dims.back().stride} * dims.back().count == step ? dims.back().count * count
                                                                                     : 0;
    if (merged > 0 && merged <= INT_MAX)
      dims.back().count = static_cast<uint32_t>(merged);
    else if (step <= INT_MAX && count <= INT_MAX)
      dims.push_back({static_cast<int32_t>(step), static_cast<uint32_t>(count)});
    else
      bad(format("dimension %zu of a view of `%s` has %lld elements that lie %lld apart; both fit 31 bits in an operand", i,
                 object.c_str(), (long long)count, (long long)step),
          "Split the tensor or the instruction.");
  }
  if (dims.empty())
    dims.push_back({1, 1});
  const int most = onChip ? 4 : kMaxDims;
  if (static_cast<int>(dims.size()) > most)
    bad(format("a view of `%s` needs %zu dimensions, at most %d fit an operand", object.c_str(), dims.size(), most),
        "Split the instruction, or make the view contiguous.");
  out.pattern.rank = static_cast<uint8_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    out.pattern.dims[i] = dims[dims.size() - 1 - i];
  if (onChip) {
    const int64_t lanes = slices[0].stop - slices[0].start;
    if (slices[0].step != 1)
      bad(format("the partitions of `%s` are taken with step %lld; partitions have no stride", object.c_str(),
                 (long long)slices[0].step));
    if (lanes > 128)
      bad(format("a view of `%s` has %lld partitions; an operand has at most 128", object.c_str(), (long long)lanes));
    out.pattern.partitions = static_cast<uint16_t>(lanes);
    out.partition = static_cast<int32_t>(slices[0].start);
  }
  out.byteOffset = offset * sizeOf(t);
  return out;
}

} // namespace glia
