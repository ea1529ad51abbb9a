// One numbering for equal programs: opcodes, patterns, texts and origins in the order in which instructions first use them,
// core by core, engine by engine. The container is written from this form, so a program that went through text gives the
// same bytes.
#include "glia/Program/Container.h"
#include "glia/Program/Decode.h"
#include "glia/Program/Encoding.h"

#include <array>
#include <string>
#include <unordered_map>

namespace glia {

namespace {

constexpr uint32_t kUnused = UINT32_MAX;

template <class Key> struct KeyHash : std::hash<Key> {};
template <> struct KeyHash<std::array<uint32_t, 4>> {
  size_t operator()(const std::array<uint32_t, 4> &key) const {
    uint64_t hash = 0;
    for (uint32_t x : key)
      hash = (hash ^ x) * 0x9E3779B97F4A7C15u, hash ^= hash >> 32;
    return hash;
  }
};

// Old indices to new ones, given out on first use. Entries with equal content share one.
class Renumber {
public:
  template <class KeyOf> Renumber(size_t n, KeyOf keyOf) : same(n), fresh(n, kUnused) {
    using Key = decltype(keyOf(0));
    std::unordered_map<Key, uint32_t, KeyHash<Key>> seen(n);
    for (uint32_t i = 0; i < n; ++i)
      same[i] = seen.try_emplace(keyOf(i), i).first->second;
  }
  uint32_t firstLike(uint32_t old) const { return same[old]; } // the first entry of the same content
  uint32_t use(uint32_t old, bool *first = nullptr) {
    uint32_t &f = fresh[same[old]];
    if (first)
      *first = f == kUnused;
    if (f == kUnused) {
      f = static_cast<uint32_t>(order.size());
      order.push_back(same[old]);
    }
    return f;
  }
  bool identity() const {
    for (uint32_t i = 0; i < order.size(); ++i)
      if (order[i] != i)
        return false;
    return order.size() == same.size();
  }
  std::vector<uint32_t> order; // new index -> old index

private:
  std::vector<uint32_t> same, fresh;
};

template <class T> void addBytes(std::string &k, const T &v) { k.append(reinterpret_cast<const char *>(&v), sizeof v); }

std::string patternKey(const Pattern &p) {
  std::string k;
  addBytes(k, p.dtype), addBytes(k, p.rank), addBytes(k, p.numDynamic), addBytes(k, p.partitions);
  for (int i = 0; i < p.rank; ++i)
    addBytes(k, p.dims[i].stride), addBytes(k, p.dims[i].count);
  for (int i = 0; i < p.numDynamic; ++i)
    addBytes(k, p.dynamic[i].reg), addBytes(k, p.dynamic[i].partition), addBytes(k, p.dynamic[i].scale);
  return k;
}

// Calls onPattern / onText for each word of the instruction that is an index into those tables; returns the number of words.
template <class W, class OnPattern, class OnText>
size_t walk(const InstrDef &def, W *w, OnPattern onPattern, OnText onText) {
  W *const start = w;
  int packed = 0;
  for (const Slot &s : def.slots)
    packed += isPackedSlot(s.kind);
  w += (packed + 3) / 4;
  for (const Slot &s : def.slots) {
    if (isPackedSlot(s.kind))
      continue;
    if (isTensorSlot(s.kind) || s.kind == SlotKind::Scalar || s.kind == SlotKind::OptScalar) {
      if (*w == kAbsentWord) {
        w += 1;
      } else if (*w == kImmediateWord) {
        w += 2;
      } else {
        onPattern(*w);
        w += 4;
      }
    } else if (s.kind == SlotKind::Text) {
      onText(*w++);
    } else if (s.kind == SlotKind::Ints) {
      w += 1 + *w;
    } else {
      w += s.kind == SlotKind::RegOrInt ? 2 : 1;
    }
  }
  return static_cast<size_t>(w - start);
}

struct Numbering {
  Renumber strings, origins, patterns, opcodes;

  explicit Numbering(const Program &p)
      : strings(p.strings.size(), [&](uint32_t i) { return std::string_view(p.strings[i]); }),
        origins(p.origins.size(),
                [&](uint32_t i) {
                  const InstrOrigin &o = p.origins[i];
                  return std::array{strings.firstLike(o.kernel), strings.firstLike(o.operation), strings.firstLike(o.file),
                                    o.line};
                }),
        patterns(p.patterns.size(), [&](uint32_t i) { return patternKey(p.patterns[i]); }),
        opcodes(p.opcodes.size(), [&](uint32_t i) { return std::string_view(p.opcodes[i]->name); }) {
    strings.use(0); // index 0 is the empty text, origin 0 is "unknown"
    origins.use(0);
    for (uint32_t c = 0; c < p.cores; ++c)
      for (const Stream &s : p.streams[c])
        for (const Instr &in : s.instrs) {
          opcodes.use(in.opcode);
          bool first = false;
          origins.use(in.origin, &first);
          if (first) {
            const InstrOrigin &o = p.origins[in.origin];
            strings.use(o.kernel), strings.use(o.operation), strings.use(o.file);
          }
          walk(
              *p.opcodes[in.opcode], s.words.data() + in.words, [this](uint32_t w) { patterns.use(w); },
              [this](uint32_t w) { strings.use(w); });
        }
  }
  bool identity() const { return strings.identity() && origins.identity() && patterns.identity() && opcodes.identity(); }
};

} // namespace

bool isCanonical(const Program &p) { return Numbering(p).identity(); }

Program canonical(const Program &p) {
  Numbering n(p);
  Program out = p;
  if (n.identity())
    return out;
  auto reorder = [](auto &table, const auto &old, const std::vector<uint32_t> &order) {
    table.clear();
    for (uint32_t i : order)
      table.push_back(old[i]);
  };
  reorder(out.strings, p.strings, n.strings.order);
  reorder(out.origins, p.origins, n.origins.order);
  reorder(out.patterns, p.patterns, n.patterns.order);
  reorder(out.opcodes, p.opcodes, n.opcodes.order);
  for (InstrOrigin &o : out.origins)
    o = {n.strings.use(o.kernel), n.strings.use(o.operation), n.strings.use(o.file), o.line};
  for (uint32_t c = 0; c < p.cores; ++c)
    for (Stream &s : out.streams[c]) {
      std::vector<Instr> &instrs = s.instrs.edit();
      std::vector<uint32_t> &words = s.words.edit();
      for (Instr &in : instrs) {
        walk(
            *p.opcodes[in.opcode], words.data() + in.words, [&](uint32_t &w) { w = n.patterns.use(w); },
            [&](uint32_t &w) { w = n.strings.use(w); });
        in.opcode = static_cast<uint16_t>(n.opcodes.use(in.opcode));
        in.origin = n.origins.use(in.origin);
      }
    }
  return out;
}

} // namespace glia
