#include "Touched.h"

#include <algorithm>

namespace glia {

std::vector<Touched> touched(const Decoded &d) {
  const int flag = d.def->accumulateFlag.empty() ? -1 : d.def->slot(d.def->accumulateFlag);
  const bool adds = flag >= 0 && d.values[static_cast<size_t>(flag)].integer == 1;
  std::vector<Touched> out;
  for (size_t i = 0; i < d.values.size(); ++i) {
    if (d.values[i].kind != Value::Tensor)
      continue;
    const ObjectRef o = d.values[i].access.object;
    auto at = std::find_if(out.begin(), out.end(), [&](const Touched &t) { return t.object == o; });
    if (at == out.end())
      at = out.insert(at, Touched{o});
    const SlotKind kind = d.def->slots[i].kind;
    at->written |= isWritten(kind);
    at->read |= (kind != SlotKind::Out && kind != SlotKind::OptOut) || (i == 0 && adds);
  }
  return out;
}

} // namespace glia
