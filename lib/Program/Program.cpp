#include "glia/Program/Program.h"

namespace glia {

int64_t Tensor::elements() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

int64_t Allocation::freeElements() const {
  int64_t n = 1;
  for (size_t i = 1; i < shape.size(); ++i)
    n *= shape[i];
  return n;
}

uint64_t Program::instructionCount() const {
  uint64_t n = 0;
  for (const auto &core : streams)
    for (const Stream &s : core)
      n += s.instrs.size();
  return n;
}

Space Program::space(ObjectRef o) const { return o.kind == ObjectKind::Tensor ? Space::Hbm : allocations[o.index].space; }

const std::string &Program::objectName(ObjectRef o) const {
  return o.kind == ObjectKind::Tensor ? tensors[o.index].name : allocations[o.index].name;
}

int Program::findInput(std::string_view wanted) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].inputName() == wanted)
      return static_cast<int>(i);
  return -1;
}

int Program::findTensor(std::string_view wanted) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == wanted)
      return static_cast<int>(i);
  return -1;
}

} // namespace glia
