// Numbers for values, so that two cores that store the same bytes to one place are known to (docs/verifier.md, "Equal bytes"). A value is
// its operation and the values it was made of; what was loaded or is not followed is where it came from and which version of it. Equal
// numbers: equal bytes, in every order. Only where two cores write the same shared tensor.
#include "Walk.h"

#include <algorithm>
#include <bit>

namespace glia::flow {

namespace {

constexpr size_t kLongestKey = 4096;

// The order of elements, without where they lie.
void putShape(std::vector<int64_t> &key, const Pattern &p) {
  key.insert(key.end(), {static_cast<int64_t>(p.dtype), p.partitions, p.rank});
  for (int i = 0; i < p.rank; ++i)
    key.push_back(p.dims[i].count);
}

void putLayout(std::vector<int64_t> &key, const Pattern &p) {
  putShape(key, p);
  for (int i = 0; i < p.rank; ++i)
    key.push_back(p.dims[i].stride);
}

bool sameLayout(const Pattern &a, const Pattern &b) {
  std::vector<int64_t> x, y;
  putLayout(x, a);
  putLayout(y, b);
  return x == y;
}

// Operations whose result is a function of their operands as they are written here, and of nothing else.
bool isFunction(const InstrDef &def) {
  static constexpr std::string_view kFunctions[] = {"activation",  "dma_copy",      "memset",        "reciprocal",
                                                    "tensor_copy", "tensor_reduce", "tensor_scalar", "tensor_tensor"};
  return std::find(std::begin(kFunctions), std::end(kFunctions), def.name) != std::end(kFunctions);
}

// x op y is y op x, bit for bit: there is one NaN (docs/numerics.md). Maximum and minimum tell zeros apart.
bool commutes(const Decoded &d) {
  if (d.def->name != "tensor_tensor")
    return false;
  const int slot = d.def->slot("op");
  const std::string_view op = d.def->slots[slot].names->names[d.values[slot].integer];
  return op == "add" || op == "multiply";
}

} // namespace

// Two cores transfer to one shared tensor.
bool Walk::coresShareWrites() const {
  if (program.cores < 2)
    return false;
  std::vector<uint32_t> writers(program.tensors.size());
  Decoded d;
  for (int core = 0; core < static_cast<int>(program.cores); ++core)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &s = program.stream(core, static_cast<Engine>(e));
      for (uint32_t i = 0; i < s.instrs.size(); ++i) {
        const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
        if (def.name != "dma_copy")
          continue;
        decode(program, core, static_cast<Engine>(e), i, d);
        const ObjectRef to = d.values[def.slot("dst")].access.object;
        if (to.kind == ObjectKind::Tensor && program.tensors[to.index].shared)
          writers[to.index] |= 1u << core;
      }
    }
  return std::any_of(writers.begin(), writers.end(), [](uint32_t cores) { return std::popcount(cores) > 1; });
}

const Walk::WriteValue *Walk::writtenValue(const Touch &t) const {
  const auto it = writeValues.find({t.comp, t.seq, t.who});
  return it == writeValues.end() ? nullptr : &it->second;
}

// What a read sees. 0: not known.
uint64_t Walk::valueRead(const Place &p) {
  if (!p.fixed || p.chosen || p.partly)
    return 0;
  std::vector<int64_t> key = {ValueRead};
  putLayout(key, *p.pattern);
  if (p.space == Space::Hbm && program.tensors[p.object.index].kind != TensorKind::Output &&
      program.tensors[p.object.index].kind != TensorKind::Scratch) { // nobody writes it
    key.insert(key.end(), {0, p.object.index, p.start.lo});
    return intern(std::move(key));
  }
  key.insert(key.end(), {1, p.firstPartition});
  bool known = true, whole = true;
  const WriteValue *only = nullptr;
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) {
      known = known && c.written && c.defined && key.size() < kLongestKey;
      if (!known)
        return;
      const WriteValue *w = writtenValue(c.write);
      for (const Touch &t : c.otherWrites)
        if (const WriteValue *o = writtenValue(t); w && (!o || o->value != w->value || o->start != w->start))
          w = nullptr;
      whole = whole && w && (!only || only == w);
      only = w;
      key.insert(key.end(), {lo - p.start.lo, hi - lo, c.mask});
      if (w) {
        key.insert(key.end(), {2, static_cast<int64_t>(w->value), w->start - p.start.lo, w->firstPartition});
        putLayout(key, *w->pattern);
        return;
      }
      // A version of bytes that are not followed.
      key.insert(key.end(),
                 {3, memoryOf(p), lo, c.write.comp, c.write.seq, c.write.who, static_cast<int64_t>(c.otherWrites.size())});
      for (const Touch &t : c.otherWrites)
        key.insert(key.end(), {t.comp, t.seq, t.who});
    });
  });
  if (!known)
    return 0;
  if (whole && only && only->start == p.start.lo && only->firstPartition == p.firstPartition &&
      sameLayout(*only->pattern, *p.pattern))
    return only->value;
  return intern(std::move(key));
}

// What an instruction writes to its one destination. 0: not known.
uint64_t Walk::valueMade(const Decoded &d, const std::vector<Place> &places) {
  if (!numbersValues || !active.empty() || exploring || !isFunction(*d.def))
    return 0;
  std::vector<int64_t> key = {ValueMade, reinterpret_cast<intptr_t>(d.def)};
  if (d.def->unit != Unit::Dma)
    key.push_back(static_cast<int64_t>(d.engine));
  std::vector<int64_t> operands;
  for (int k = 0; k < static_cast<int>(d.def->slots.size()); ++k) {
    const Slot &slot = d.def->slots[k];
    const Value &v = d.values[k];
    if (v.kind == Value::Absent || slot.kind == SlotKind::Queue || slot.name == "dge") {
      key.push_back(-1);
    } else if (v.kind == Value::Tensor) {
      const Pattern &pattern = program.patterns[v.access.pattern];
      putShape(key, pattern);
      if (k == 0 && slot.kind == SlotKind::Out)
        continue;
      if (isWritten(slot.kind))
        return 0;
      const auto place = std::find_if(places.begin(), places.end(), [k](const Place &p) { return p.slot == k; });
      const uint64_t read = place == places.end() ? 0 : valueRead(*place);
      if (!read)
        return 0;
      operands.push_back(static_cast<int64_t>(read));
    } else if (v.kind == Value::Float) {
      key.push_back(std::bit_cast<int32_t>(v.number));
    } else if (v.kind == Value::Int) {
      key.push_back(v.integer);
    } else {
      return 0;
    }
  }
  if (commutes(d))
    std::sort(operands.begin(), operands.end());
  key.insert(key.end(), operands.begin(), operands.end());
  return intern(std::move(key));
}

void Walk::keepValue(uint64_t value, const Place &p, const Issuer &by) {
  if (value && p.fixed && !p.partly && !p.chosen && active.empty() && !exploring)
    writeValues[{by.comp, by.seq, by.who}] = {value, p.start.lo, p.firstPartition, p.pattern};
}

// Whether the transfer at hand and an earlier one of the other core write the same bytes to the same place.
bool Walk::storesTheSame(const Place &p, const Issuer &by, const Touch &other) const {
  if (!p.fixed || ref(by.who).core == ref(other.who).core)
    return false;
  const WriteValue *w = writtenValue(other);
  return w && w->value == writing && w->start == p.start.lo && sameLayout(*w->pattern, *p.pattern);
}

} // namespace glia::flow
