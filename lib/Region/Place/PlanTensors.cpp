#include "PlanTensors.h"

#include <algorithm>

namespace glia::emit {

std::string TensorPlan::take(const Tensor &like, size_t call) {
  std::deque<Free> &list = free[{like.dtype, like.elements()}];
  const auto it = std::find_if(list.begin(), list.end(), [&](const Free &f) { return f.from <= call; });
  if (it == list.end())
    return {};
  std::string name = std::move(it->name);
  list.erase(it);
  return name;
}

void TensorPlan::holds(mlir::Value v, const std::string &name, const Tensor &like) {
  const auto it = last.find(v);
  if (it != last.end() && it->second != SIZE_MAX)
    ends[it->second].push_back({{like.dtype, like.elements()}, name});
}

void TensorPlan::finish(size_t group, size_t call, bool exchanges) {
  const auto it = ends.find(group);
  if (it == ends.end())
    return;
  for (auto &[kind, name] : it->second) {
    const int64_t bytes = sizeOf(kind.first) * kind.second;
    if (exchanges && bytes <= apart)
      apart -= bytes;
    else
      free[kind].push_back({call + kDistance, std::move(name)});
  }
  ends.erase(it);
}

} // namespace glia::emit
