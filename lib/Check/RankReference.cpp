#include "RankReference.h"
#include "Region/Place/RankParts.h"

#include <algorithm>

namespace glia::emit {

static size_t elementBytes(const HostTensor &t) { return info(t.element).bytes; }

RankReference::RankReference(mlir::ModuleOp module, const std::vector<HostTensor> &inputs, const PartitionOptions &options)
    : work(module.clone()), parts(partitionGraph(*work, options)), whole(inputs),
      byRank(static_cast<size_t>(parts.ranks), inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Placement &place = parts.arguments[i];
    const size_t size = elementBytes(inputs[i]);
    if (place.start.empty()) {
      whole[i].bytes.clear();
      whole[i].shape.insert(whole[i].shape.begin(), parts.ranks);
      for (size_t r = 0; r < byRank.size(); ++r) {
        std::vector<std::byte> &mine = byRank[r][i].bytes;
        if (!mine.empty())
          std::rotate(mine.begin(), mine.begin() + static_cast<ptrdiff_t>(r * size % mine.size()), mine.end());
        whole[i].bytes.insert(whole[i].bytes.end(), mine.begin(), mine.end());
      }
      continue;
    }
    std::vector<int64_t> held(place.localShape);
    held.insert(held.end(), inputs[i].shape.begin() + static_cast<ptrdiff_t>(held.size()), inputs[i].shape.end());
    const TensorParts where = partsOf(place, held, parts.ranks);
    int64_t bytes = static_cast<int64_t>(size);
    for (const int64_t n : held)
      bytes *= n;
    for (int r = 0; r < parts.ranks; ++r) {
      HostTensor &mine = byRank[static_cast<size_t>(r)][i];
      mine.shape = held;
      mine.bytes.resize(static_cast<size_t>(bytes));
      takePart(where, r, static_cast<int>(size), inputs[i].bytes, mine.bytes);
    }
  }
}

std::vector<HostTensor> RankReference::evaluate(const InterpretOptions &options) const {
  const std::vector<std::vector<HostTensor>> made = interpretRanks(*work, "main", byRank, options);
  std::vector<HostTensor> out = made.front();
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorParts where = partsOf(parts.results[i], made.front()[i].shape, parts.ranks);
    const size_t size = elementBytes(out[i]);
    size_t bytes = size;
    for (const int64_t n : where.shape)
      bytes *= static_cast<size_t>(n);
    out[i].shape = where.shape;
    out[i].bytes.assign(bytes, std::byte{0});
    for (int r = 0; r < parts.ranks; ++r)
      putPart(where, r, static_cast<int>(size), made[static_cast<size_t>(r)][i].bytes, out[i].bytes);
  }
  return out;
}

} // namespace glia::emit
