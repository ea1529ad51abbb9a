#include "PsumState.h"

#include <algorithm>
#include <tuple>

namespace glia::nisa {

Adding addingTo(Held h, bool automatic, bool anyWriter) {
  switch (h) {
  case Held::Sum: return Adding::Accumulates;
  case Held::Nothing: return automatic ? Adding::Overwrites : Adding::OntoNothing;
  case Held::Zero: return automatic || !anyWriter ? Adding::Overwrites : Adding::Accumulates;
  case Held::Moved: return automatic ? Adding::Overwrites : Adding::Accumulates;
  case Held::Other: return automatic ? Adding::Overwrites : anyWriter ? Adding::Accumulates : Adding::OntoOther;
  case Held::Covered: return anyWriter ? Adding::Accumulates : Adding::OntoOther;
  case Held::Unknown: break;
  }
  return automatic ? Adding::Undecided : Adding::Accumulates; // the author's word; the verifier looks at the result
}

Held afterWrite(Held before, Writer w) {
  if (before == Held::Unknown)
    return Held::Unknown;
  const bool matmul = before == Held::Sum || before == Held::Covered;
  return w == Writer::TensorEngine ? (matmul ? Held::Sum : Held::Moved) : matmul ? Held::Covered : Held::Other;
}

Touched touchedBy(const Pattern &p, int32_t partition, int64_t byte) {
  Touched t{partition, p.partitions, {}};
  footprint(p, byte, t.runs);
  return t;
}

void PsumState::cut(const Touched &t) {
  for (const ByteRun &r : t.runs) {
    std::vector<Box> rest;
    for (const Box &b : boxes) {
      const int32_t p0 = std::max(b.p0, t.partition), p1 = std::min(b.p1, t.partition + t.partitions);
      const int64_t b0 = std::max(b.b0, r.lo), b1 = std::min(b.b1, r.hi);
      if (p0 >= p1 || b0 >= b1) {
        rest.push_back(b);
        continue;
      }
      auto keep = [&](int32_t q0, int32_t q1, int64_t c0, int64_t c1) {
        if (q0 < q1 && c0 < c1)
          rest.push_back({q0, q1, c0, c1, b.held, b.memset});
      };
      keep(b.p0, p0, b.b0, b.b1);
      keep(p1, b.p1, b.b0, b.b1);
      keep(p0, p1, b.b0, b0);
      keep(p0, p1, b1, b.b1);
    }
    boxes = std::move(rest);
  }
}

// Joins neighbours that hold the same, first along the bytes, then along the partitions.
void PsumState::merge() {
  auto join = [this](auto key, auto adjacent, auto extend) {
    std::sort(boxes.begin(), boxes.end(), [&](const Box &a, const Box &b) { return key(a) < key(b); });
    size_t n = 0;
    for (const Box &b : boxes) {
      if (n && adjacent(boxes[n - 1], b) && boxes[n - 1].held == b.held && boxes[n - 1].memset == b.memset)
        extend(boxes[n - 1], b);
      else
        boxes[n++] = b;
    }
    boxes.resize(n);
  };
  join([](const Box &b) { return std::tuple(b.p0, b.p1, b.b0); },
       [](const Box &a, const Box &b) { return a.p0 == b.p0 && a.p1 == b.p1 && a.b1 == b.b0; },
       [](Box &a, const Box &b) { a.b1 = b.b1; });
  join([](const Box &b) { return std::tuple(b.b0, b.b1, b.p0); },
       [](const Box &a, const Box &b) { return a.b0 == b.b0 && a.b1 == b.b1 && a.p1 == b.p0; },
       [](Box &a, const Box &b) { a.p1 = b.p1; });
}

bool PsumState::operator==(const PsumState &o) const {
  for (const Box &a : boxes)
    for (const Box &b : o.boxes)
      if (std::max(a.p0, b.p0) < std::min(a.p1, b.p1) && std::max(a.b0, b.b0) < std::min(a.b1, b.b1) &&
          (a.held != b.held || a.memset != b.memset))
        return false;
  return true;
}

static bool isAllowed(Adding a) { return a == Adding::Overwrites || a == Adding::Accumulates; }

Adds planAdds(const PsumState &s, const Pattern &dst, int32_t partition, int64_t byte, bool automatic, bool anyWriter) {
  Adds out;
  const Touched t = touchedBy(dst, partition, byte);
  std::vector<Box> parts;
  std::vector<int32_t> cuts{partition, partition + dst.partitions};
  s.visit(t, [&](const Box &b) {
    const Adding a = addingTo(b.held, automatic, anyWriter);
    if (parts.empty())
      out.adding = a;
    out.uniform &= a == out.adding;
    if (!isAllowed(a) && out.allowed)
      out.allowed = false, out.adding = a;
    parts.push_back(b);
    cuts.push_back(b.p0), cuts.push_back(b.p1);
  });
  if (out.uniform || !out.allowed)
    return out;
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const int64_t n = dst.elementsPerPartition();
  const int size = sizeOf(dst.dtype);
  for (size_t c = 0; c + 1 < cuts.size(); ++c) {
    Adds::Band band{cuts[c], cuts[c + 1] - cuts[c], std::vector<uint8_t>(n)};
    for (int64_t e = 0; e < n; ++e) {
      int64_t at = byte, k = e;
      for (int d = dst.rank - 1; d >= 0; --d) {
        at += k % dst.dims[d].count * dst.dims[d].stride * size;
        k /= dst.dims[d].count;
      }
      for (const Box &b : parts)
        if (b.p0 <= band.first && band.first < b.p1 && b.b0 <= at && at < b.b1)
          band.elements[e] = static_cast<uint8_t>(addingTo(b.held, automatic, anyWriter));
    }
    if (!out.bands.empty() && out.bands.back().elements == band.elements)
      out.bands.back().count += band.count;
    else
      out.bands.push_back(std::move(band));
  }
  return out;
}

} // namespace glia::nisa
