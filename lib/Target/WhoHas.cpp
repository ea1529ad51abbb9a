#include "glia/Target/WhoHas.h"
#include "glia/Target/Target.h"

namespace glia {

std::string whoHas(std::string_view feature) {
  std::string names;
  int n = 0;
  for (const std::string &name : builtinTargets())
    if (!feature.empty() && loadTarget(name)->has(feature)) {
      names += (n++ ? ", " : "; ") + name;
    }
  return n == 0 ? names : names + (n == 1 ? " has it" : " have it");
}

} // namespace glia
