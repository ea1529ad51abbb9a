#include "glia/ISA/Check.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

static std::string shapeText(const OperandInfo &o) { return format("%d x %lld", o.partitions(), (long long)o.elements()); }

static std::string named(const Check &c, int slot) {
  return format("`%s` (%s)", std::string(c.operand(slot).objectName).c_str(), std::string(c.def.slots[slot].name).c_str());
}

void Check::sameShape(std::initializer_list<int> slots) {
  const int first = *slots.begin();
  const OperandInfo &a = operand(first);
  for (int s : slots) {
    if (!has(s))
      continue;
    const OperandInfo &b = operand(s);
    if (a.partitions() != b.partitions() || a.elements() != b.elements())
      fail("SAME-SHAPE", s,
           format("%s has %s elements and %s has %s", named(*this, s).c_str(), shapeText(b).c_str(),
                  named(*this, first).c_str(), shapeText(a).c_str()),
           shapeText(b), shapeText(a));
  }
}

void Check::perPartition(int slot, int like, bool anyType) {
  const OperandInfo &o = operand(slot);
  if (!o.present || o.immediate)
    return;
  if (o.elements() != 1 || o.partitions() != operand(like).partitions())
    fail("PER-PARTITION-SCALAR", slot,
         format("%s has %s elements and needs %d x 1", named(*this, slot).c_str(), shapeText(o).c_str(),
                operand(like).partitions()),
         shapeText(o), format("%d x 1", operand(like).partitions()));
  if (!anyType && o.dtype() != DType::F32)
    fail("PER-PARTITION-SCALAR", slot,
         format("%s is %s and must be f32", named(*this, slot).c_str(), std::string(name(o.dtype())).c_str()),
         std::string(name(o.dtype())), "f32");
}

void Check::onePsumInput(int a, int b) {
  if (has(a) && has(b) && !operand(a).immediate && !operand(b).immediate && operand(a).space == Space::Psum &&
      operand(b).space == Space::Psum)
    fail("ONE-PSUM-INPUT", b, format("%s and %s are both in PSUM", named(*this, a).c_str(), named(*this, b).c_str()), "2",
         "1");
}

void Check::in(int slot, std::initializer_list<Space> spaces) {
  const OperandInfo &o = operand(slot);
  if (!o.present || o.immediate || std::find(spaces.begin(), spaces.end(), o.space) != spaces.end())
    return;
  std::string allowed;
  for (Space s : spaces)
    allowed += (allowed.empty() ? "" : " or ") + std::string(name(s));
  fail("OPERAND-MEMORY", slot,
       format("%s is in %s and must be in %s", named(*this, slot).c_str(), std::string(name(o.space)).c_str(),
              allowed.c_str()),
       std::string(name(o.space)), allowed);
}

void Check::types(int slot, std::initializer_list<DType> list) {
  const OperandInfo &o = operand(slot);
  if (!o.present || o.immediate || std::find(list.begin(), list.end(), o.dtype()) != list.end())
    return;
  std::string allowed;
  for (DType t : list)
    allowed += (allowed.empty() ? "" : ", ") + std::string(name(t));
  fail("OPERAND-DTYPE", slot,
       format("%s is %s and must be one of %s", named(*this, slot).c_str(), std::string(name(o.dtype())).c_str(),
              allowed.c_str()),
       std::string(name(o.dtype())), allowed);
}

void Check::sameType(int a, int b) {
  if (!has(a) || !has(b) || operand(a).immediate || operand(b).immediate || operand(a).dtype() == operand(b).dtype())
    return;
  fail("OPERAND-DTYPE", b,
       format("%s is %s and %s is %s; they must be equal", named(*this, b).c_str(),
              std::string(name(operand(b).dtype())).c_str(), named(*this, a).c_str(),
              std::string(name(operand(a).dtype())).c_str()),
       std::string(name(operand(b).dtype())), std::string(name(operand(a).dtype())));
}

void Check::within(int slot, std::string_view what, int64_t value, int64_t lo, int64_t hi) {
  if (value >= lo && value <= hi)
    return;
  const std::string limit = lo == hi ? format("%lld", (long long)lo) : format("%lld to %lld", (long long)lo, (long long)hi);
  fail("OPERAND-LIMIT", slot,
       format("%s: %s is %lld and must be %s", named(*this, slot).c_str(), std::string(what).c_str(), (long long)value,
              limit.c_str()),
       format("%lld", (long long)value), limit);
}

} // namespace glia
