#include "AsmNames.h"
#include "glia/Support/Text.h"

namespace glia {

const uint32_t *AsmNames::lookUp(const Table &t, int core, const std::string &name) {
  auto it = t.find({core, name});
  return it == t.end() ? nullptr : &it->second;
}

void AsmNames::declare(Table &t, int core, const std::string &name, uint32_t index, const char *what, const AsmCursor &c,
                       size_t at) {
  if (!t.emplace(std::pair(core, name), index).second)
    c.fail("ASM-NAME", std::string("there is already a ") + what + " `" + printable(name) + "`", "Give it another name.",
           at);
}

void AsmNames::declareInput(const std::string &name, const AsmCursor &c, size_t at) {
  bool taken = lookUp(tensors, kEveryCore, name) || !begun.insert(name).second;
  for (int core = 0; core < 64 && !taken; ++core)
    taken = lookUp(allocations, core, name);
  if (taken)
    c.fail("ASM-NAME", "there is already a tensor or allocation `" + printable(name) + "`", "Give the input another name.",
           at);
}

void AsmNames::declareObject(Table &t, int core, const std::string &name, uint32_t index, const AsmCursor &c, size_t at) {
  bool taken =
      begun.count(name) || lookUp(tensors, kEveryCore, name) || (core != kEveryCore && lookUp(allocations, core, name));
  if (core == kEveryCore)
    for (int other = 0; other < 64 && !taken; ++other)
      taken = lookUp(allocations, other, name);
  if (taken)
    c.fail("ASM-NAME", "there is already a tensor or allocation `" + printable(name) + "`", "Give it another name.", at);
  t.emplace(std::pair(core, name), index);
}

static void addNames(const AsmNames::Table &t, int core, std::vector<std::string_view> &out) {
  for (auto it = t.lower_bound({core, std::string()}); it != t.end() && it->first.first == core && out.size() < 4096; ++it)
    out.push_back(it->first.second);
}

ObjectRef AsmNames::object(int core, const std::string &name, const AsmCursor &c, size_t at) const {
  if (const uint32_t *i = lookUp(allocations, core, name))
    return {ObjectKind::Allocation, *i};
  if (const uint32_t *i = lookUp(tensors, kEveryCore, name))
    return {ObjectKind::Tensor, *i};
  for (int other = 0; other < 64; ++other)
    if (lookUp(allocations, other, name))
      c.fail("ASM-NAME",
             format("`%s` is in the memory of core %d; core %d cannot name it", printable(name).c_str(), other, core),
             format("Declare one with the option `core %d`, or exchange the data by HBM or sendrecv.", core), at);
  std::vector<std::string_view> known;
  addNames(allocations, core, known);
  addNames(tensors, kEveryCore, known);
  c.fail("ASM-NAME", "there is no tensor or allocation `" + printable(name) + "`",
         didYouMean(name, known, "Declare it above: input, output, const, scratch, sbuf or psum."), at);
}

uint32_t AsmNames::find(const Table &t, int core, const std::string &name, const char *what, const AsmCursor &c, size_t at) {
  if (const uint32_t *i = lookUp(t, core, name))
    return *i;
  for (int other = 0; other < 64; ++other)
    if (lookUp(t, other, name))
      c.fail("ASM-NAME",
             format("%s `%s` belongs to core %d; core %d cannot use it", what, printable(name).c_str(), other, core),
             format("Declare one with the option `core %d`.", core), at);
  std::vector<std::string_view> known;
  addNames(t, core, known);
  c.fail("ASM-NAME", std::string("there is no ") + what + " `" + printable(name) + "`",
         didYouMean(name, known, std::string("Declare it above: ") + what + " " + (isPlainName(name) ? name : "name") + "."),
         at);
}

} // namespace glia
