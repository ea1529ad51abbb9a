#include "glia/Program/Remarks.h"

#include "glia/Program/Program.h"

namespace glia {

std::vector<std::string> remarksOf(const Program &p) {
  std::vector<std::string> out;
  for (const ContractItem &c : p.contract)
    if (c.key == kRemarkKey)
      out.push_back(c.value);
  return out;
}

} // namespace glia
