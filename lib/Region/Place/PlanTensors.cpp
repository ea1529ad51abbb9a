#include "PlanTensors.h"

namespace glia::emit {

std::string TensorPlan::take(const Tensor &like, size_t call) {
  std::deque<Free> &list = free[{like.dtype, like.elements()}];
  if (list.empty() || list.front().since + kDistance > call)
    return {};
  std::string name = std::move(list.front().name);
  list.pop_front();
  return name;
}

void TensorPlan::holds(mlir::Value v, const std::string &name, const Tensor &like) {
  const auto it = last.find(v);
  if (it != last.end() && it->second != SIZE_MAX)
    ends[it->second].push_back({{like.dtype, like.elements()}, name});
}

void TensorPlan::finish(size_t group, size_t call) {
  const auto it = ends.find(group);
  if (it == ends.end())
    return;
  for (auto &[kind, name] : it->second)
    free[kind].push_back({call, std::move(name)});
  ends.erase(it);
}

} // namespace glia::emit
