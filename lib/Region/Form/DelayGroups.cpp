#include "DelayGroups.h"
#include "Graph/Analysis/GraphFacts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace glia::emit {

static bool isConvolution(const Group &g) { return g.family->name() == "convolution"; }

static bool reads(const Group &g, const Group &other) {
  return llvm::any_of(g.inputs, [&](mlir::Value v) { return llvm::is_contained(other.outputs, rootOf(v)); });
}

void delayGroups(std::vector<Group> &groups) {
  constexpr size_t kFarthest = 8; // what it reads has to stay as long
  for (size_t i = groups.size(); i-- > 0;) {
    if (!isConvolution(groups[i]))
      continue;
    bool crosses = false;
    for (size_t j = i + 1; j < std::min(groups.size(), i + kFarthest) && !reads(groups[j], groups[i]); ++j) {
      if (groups[j].family->name() == "rows") {
        if (crosses)
          std::rotate(groups.begin() + static_cast<long>(i), groups.begin() + static_cast<long>(i) + 1,
                      groups.begin() + static_cast<long>(j));
        break;
      }
      crosses |= isConvolution(groups[j]);
    }
  }
}

size_t middleOf(std::span<const Group> groups) {
  size_t best = 0;
  const auto distance = [&](size_t i) { return i > groups.size() - i ? 2 * i - groups.size() : groups.size() - 2 * i; };
  for (size_t i = 1; i < groups.size(); ++i)
    if (isConvolution(groups[i]) && !isConvolution(groups[i - 1]) && (!best || distance(i) < distance(best)))
      best = i;
  return best;
}

} // namespace glia::emit
