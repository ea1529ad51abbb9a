// One table of all families.
#include "Interpret/Rules.h"

#include <unordered_map>

namespace glia::interp {

namespace {
using Table = std::unordered_map<std::string_view, const Rule *>;
Table tableOf(std::initializer_list<std::span<const Rule>> families) {
  Table t;
  for (std::span<const Rule> f : families)
    for (const Rule &r : f)
      t.emplace(r.name, &r);
  return t;
}
const Rule *find(const Table &t, std::string_view name) {
  const auto at = t.find(name);
  return at == t.end() ? nullptr : at->second;
}
} // namespace

const Rule *findRule(std::string_view operation) {
  static const Table table =
      tableOf({movementRules(), indexRules(), dotRules(), convolutionRules(), reductionRules(), windowRules(), sortRules(),
               controlRules(), normRules(), randomRules(), deviceRules(), dynamicRules(), linalgRules(), fourierRules()});
  return find(table, operation);
}

const Rule *findCustomCall(std::string_view target) {
  static const Table table = tableOf({customCallRules(), linalgCallRules(), eigenCallRules(), recurrenceCallRules()});
  return find(table, target);
}

} // namespace glia::interp
