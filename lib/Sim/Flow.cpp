// The meaning of Flow, element by element. Only instructions that read undefined bytes come here.
#include "Definedness.h"

namespace glia::sim {

namespace {

using Flags = std::vector<uint8_t>;

// Flags of the sources, row by row; a source with one partition serves every row.
struct Rows {
  std::span<const FlowSource> sources;
  static const uint8_t *row(const FlowSource &s, int64_t p) {
    return s.undefined->data() + std::min<int64_t>(p, s.region->partitions - 1) * s.region->elements;
  }
  static bool any(const FlowSource &s, int64_t p, int64_t lo, int64_t hi) {
    const uint8_t *r = row(s, p);
    return std::any_of(r + lo, r + hi, [](uint8_t u) { return u != 0; });
  }
};

bool anyOf(const Flags &f) {
  return std::any_of(f.begin(), f.end(), [](uint8_t u) { return u != 0; });
}

bool anyAtAll(std::span<const FlowSource> sources) {
  return std::any_of(sources.begin(), sources.end(), [](const FlowSource &s) { return anyOf(*s.undefined); });
}

// out[p][i] from in[p][lo(i) .. hi(i)): element for element, groups where the source is longer, all of it where shorter.
void groups(const FlowSource &s, const Region &out, Flags &u) {
  const int64_t n = out.elements, m = s.region->elements;
  for (int64_t p = 0; p < out.partitions; ++p)
    for (int64_t i = 0; i < n; ++i) {
      const bool bad = m == n  ? Rows::row(s, p)[i]
                       : m > n ? Rows::any(s, p, i * m / n, std::max(i * m / n + 1, (i + 1) * m / n))
                               : Rows::any(s, p, 0, m);
      u[p * n + i] |= bad;
    }
}

void scan(const FlowSource &s, const Region &out, Flags &u) {
  const int64_t n = out.elements, m = s.region->elements;
  for (int64_t p = 0; p < out.partitions; ++p) {
    bool bad = m != n && Rows::any(s, p, 0, m);
    for (int64_t i = 0; i < n; ++i) {
      bad |= m == n && Rows::row(s, p)[i];
      u[p * n + i] |= bad;
    }
  }
}

void byRow(const FlowSource &s, const Region &out, Flags &u) {
  for (int64_t p = 0; p < out.partitions; ++p)
    if (Rows::any(s, p, 0, s.region->elements))
      std::fill_n(u.begin() + p * out.elements, out.elements, 1);
}

void copy(const FlowSource &s, const Region &, Flags &u) {
  for (size_t k = 0; k < u.size(); ++k)
    u[k] |= (*s.undefined)[std::min(k, s.undefined->size() - 1)];
}

void transpose(const FlowSource &s, const Region &out, Flags &u) {
  for (int64_t f = 0; f < out.partitions; ++f)
    for (int64_t p = 0; p < out.elements; ++p)
      u[f * out.elements + p] |= (*s.undefined)[p * s.region->elements + f];
}

void shuffle(const Prepared &x, const FlowSource &s, const Region &out, Flags &u) {
  const int slot = x.d.def->slot("mask");
  const auto mask = slot < 0 ? std::span<const uint32_t>() : x.operands[slot].list;
  for (int64_t p = 0; p < out.partitions; ++p) {
    const uint32_t from = static_cast<size_t>(p % 32) < mask.size() ? mask[p % 32] : 255;
    const int64_t source = from == 255 ? p : p / 32 * 32 + from;
    const bool keeps = from == 255; // out[p] itself, which is the operand dst (slot 0)
    if (keeps == (s.slot == 0) && source < s.region->partitions)
      for (int64_t i = 0; i < out.elements; ++i)
        u[p * out.elements + i] |= Rows::row(s, source)[std::min(i, s.region->elements - 1)];
  }
}

// Columns of both factors; a factor of double rows has them twice, one after the other.
void matmul(const Prepared &x, std::span<const FlowSource> sources, const Region &out, Flags &u) {
  const int stationary = x.d.def->slot("stationary"), moving = x.d.def->slot("moving");
  for (const FlowSource &s : sources) {
    if (s.slot != stationary && s.slot != moving) {
      groups(s, out, u); // the old contents when accumulating
      continue;
    }
    const int64_t columns = s.slot == stationary ? out.partitions : out.elements;
    Flags bad(columns);
    for (size_t k = 0; k < s.undefined->size(); ++k)
      bad[k % s.region->elements % columns] |= (*s.undefined)[k];
    for (int64_t m = 0; m < out.partitions; ++m)
      for (int64_t n = 0; n < out.elements; ++n)
        u[m * out.elements + n] |= bad[s.slot == stationary ? m : n];
  }
}

} // namespace

std::vector<uint8_t> flowInto(const Prepared &x, const Region &out, std::span<const FlowSource> sources) {
  Flags u(out.partitions * out.elements);
  if (x.d.def->flow == Flow::Matmul) {
    matmul(x, sources, out, u);
    return u;
  }
  for (const FlowSource &s : sources) {
    const bool sameCount = s.undefined->size() == u.size();
    switch (x.d.def->flow) {
    case Flow::None: break;
    case Flow::Elementwise:
    case Flow::Reduce: groups(s, out, u); break;
    case Flow::Scan: scan(s, out, u); break;
    case Flow::Row: byRow(s, out, u); break;
    case Flow::Shuffle: shuffle(x, s, out, u); break;
    case Flow::Copy:
      if (sameCount)
        copy(s, out, u);
      else if (anyOf(*s.undefined))
        u.assign(u.size(), 1);
      break;
    case Flow::Transpose:
      if (s.region->partitions == out.elements && s.region->elements == out.partitions)
        transpose(s, out, u);
      else if (anyOf(*s.undefined))
        u.assign(u.size(), 1);
      break;
    case Flow::Matmul: break;
    case Flow::All:
      if (anyAtAll(sources))
        u.assign(u.size(), 1);
      break;
    }
  }
  return u;
}

} // namespace glia::sim
