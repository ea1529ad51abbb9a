// What the elements of a PSUM tensor hold, as far as accumulation asks: per element, whether a matmul of this allocation has
// written it. Boxes of partitions x bytes, so that a matmul costs a few comparisons whatever its size. The sequential executor
// and ResolveAccumulation use the same functions: one with addresses as they come, one with addresses known beforehand.
#pragma once
#include "glia/ISA/Operand.h"
#include "glia/Verify/Footprint.h"

#include <cstdint>
#include <vector>

namespace glia::nisa {

enum class Held : uint8_t {
  Nothing, // never written
  Zero,    // a memset of 0 wrote last
  Sum,     // a matmul wrote, and what came after it was done by the Tensor engine
  Moved,   // the Tensor engine wrote (a transpose), no matmul so far
  Other,   // another engine wrote last, no matmul so far
  Covered, // another engine wrote over a matmul's result
  Unknown, // depends on how often a loop ran
};

// What a matmul does to an element it adds to.
enum class Adding : uint8_t { Overwrites, Accumulates, OntoNothing, OntoOther, Undecided }; // the last three: not allowed

// `automatic`: the first write overwrites, later ones accumulate; else the author asked to accumulate.
// anyWriter: the target accumulates onto whatever was written (feature psum_accumulate_any_writer).
Adding addingTo(Held h, bool automatic, bool anyWriter);

struct Box {
  int32_t p0 = 0, p1 = 0; // partitions [p0, p1)
  int64_t b0 = 0, b1 = 0; // bytes [b0, b1)
  Held held = Held::Nothing;
  int32_t memset = -1; // Zero: which memset
};

// The bytes an operand touches, relative to its tensor.
struct Touched {
  int32_t partition = 0, partitions = 0;
  std::vector<ByteRun> runs;
};
Touched touchedBy(const Pattern &p, int32_t partition, int64_t byte);

class PsumState {
public:
  PsumState() = default;
  PsumState(int32_t partitions, int64_t bytes) : boxes{{0, partitions, 0, bytes}} {}

  // Calls f(box) for each part of a box that is touched.
  template <class F> void visit(const Touched &t, F &&f) const {
    for (const Box &b : boxes) {
      const int32_t p0 = std::max(b.p0, t.partition), p1 = std::min(b.p1, t.partition + t.partitions);
      if (p0 < p1)
        for (const ByteRun &r : t.runs)
          if (std::max(b.b0, r.lo) < std::min(b.b1, r.hi))
            f(Box{p0, p1, std::max(b.b0, r.lo), std::min(b.b1, r.hi), b.held, b.memset});
    }
  }
  // Replaces what is held: to(old).
  template <class F> void change(const Touched &t, F &&to) {
    std::vector<Box> parts;
    visit(t, [&](Box b) {
      to(b);
      parts.push_back(b);
    });
    cut(t);
    boxes.insert(boxes.end(), parts.begin(), parts.end());
    if (boxes.size() > 8)
      merge();
  }
  void set(const Touched &t, Held h, int32_t memset = -1) {
    change(t, [&](Box &b) { b.held = h, b.memset = memset; });
  }
  // Where the two differ, nothing is known. Calls lost(box) for each part of either side that is given up.
  template <class F> void join(const PsumState &o, F &&lost) {
    std::vector<Box> out;
    for (const Box &a : boxes)
      for (const Box &b : o.boxes) {
        Box x{std::max(a.p0, b.p0), std::min(a.p1, b.p1), std::max(a.b0, b.b0), std::min(a.b1, b.b1), a.held, a.memset};
        if (x.p0 >= x.p1 || x.b0 >= x.b1)
          continue;
        if (a.held != b.held || a.memset != b.memset) {
          lost(a), lost(b);
          x.held = Held::Unknown;
          x.memset = -1;
        }
        out.push_back(x);
      }
    boxes = std::move(out);
    merge();
  }
  bool operator==(const PsumState &o) const;

private:
  std::vector<Box> boxes; // disjoint, together the whole tensor
  void cut(const Touched &t);
  void merge();
};

// A write by something that is no accumulating matmul.
enum class Writer : uint8_t { TensorEngine, Other };
Held afterWrite(Held before, Writer w);

// How one matmul is carried out: bands of partitions, each with what happens to its elements in order.
struct Adds {
  bool uniform = true;
  Adding adding = Adding::Overwrites; // uniform; or the first problem
  bool allowed = true;
  struct Band {
    int32_t first = 0, count = 0;  // partitions of dst
    std::vector<uint8_t> elements; // Adding of each element
  };
  std::vector<Band> bands; // not uniform
};
Adds planAdds(const PsumState &s, const Pattern &dst, int32_t partition, int64_t byte, bool automatic, bool anyWriter);

} // namespace glia::nisa
