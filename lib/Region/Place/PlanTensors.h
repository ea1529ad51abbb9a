// Which values share a tensor of HBM: one whose last reader is some calls behind gives its tensor to a new value of the same type and size.
#pragma once
#include "glia/Lower/Family.h"
#include "glia/Program/Program.h"

#include <deque>
#include <map>

namespace glia::emit {

class TensorPlan {
public:
  // `group` reads or writes the value. One that is kept is never given away.
  void uses(mlir::Value v, size_t group) { last[v] = group; }
  void keeps(mlir::Value v) { last[v] = SIZE_MAX; }
  // `later` is written over `v`: both are in one tensor.
  void shares(mlir::Value v, mlir::Value later) { last[v] = last[later]; }
  // A tensor that is free for a value made by `call`; empty if there is none.
  std::string take(const Tensor &like, size_t call);
  // The value is in this tensor from now on.
  void holds(mlir::Value v, const std::string &name, const Tensor &like);
  // `apart`: bytes of tensors that are not used again because an exchange with other ranks was the last to read them.
  explicit TensorPlan(int64_t apart) : apart(apart) {}
  // The group is written, as part of `call`: what ends there is free. An exchange goes on beside many calls, so what it reads is not, as far as
  // memory goes.
  void finish(size_t group, size_t call, bool exchanges);

private:
  // Calls overlap with their neighbours, which a tensor in common would forbid.
  static constexpr size_t kDistance = 4;
  using Kind = std::pair<DType, int64_t>;
  struct Free {
    size_t from; // the first call that may take it
    std::string name;
  };
  int64_t apart;
  llvm::DenseMap<mlir::Value, size_t> last;
  std::map<size_t, std::vector<std::pair<Kind, std::string>>> ends; // by group
  std::map<Kind, std::deque<Free>> free;
};

} // namespace glia::emit
