// A loop under construction: what each engine does in it, and the fences that order it with the rest of the program.
// Inside, semaphores are placed by hand (docs/ordering.md, L1 to L5 and idiom 5).
#pragma once
#include "Generator.h"

namespace glia::mutants {

struct Part { // what one engine does
  Engine engine;
  int iv = 0;
  std::vector<Op> body;
  std::vector<std::pair<int, int>> jumps; // from an instruction of the body to a later one
  int innerIv = -1;                       // the body is repeated inside
  int32_t innerCount = 0;
};

class Loop {
public:
  Loop(Generator &g, int core, bool mayBeDynamic = true)
      : g(g), core(core), most(static_cast<int32_t>(g.r.between(1, 4))), dynamic(mayBeDynamic && g.r.chance(60)) {
    if (dynamic)
      trips = g.rangedInput({1}, DType::I32, g.r.below(2), most);
  }
  int32_t count() const { return most; }
  bool isDynamic() const { return dynamic; }
  Part &part(Engine e) {
    Part p;
    p.engine = e;
    p.iv = g.reg(core, e);
    parts.push_back(std::move(p));
    return parts.back();
  }
  // `step` elements of the buffer further in each iteration.
  Operand stepping(const Operand &o, const Part &p, int64_t bytes) { return g.moved(o, p.iv, bytes, 0, most - 1); }

  void emit(const std::string &group) {
    const int block = g.s.size();
    std::vector<int> counts;
    for (const Part &p : parts) {
      counts.push_back(dynamic ? g.reg(core, p.engine) : -1);
      if (!dynamic)
        continue;
      Op load(core, p.engine, "reg_load");
      load.in("src", g.view(trips, {{1, 1}})).reg("dst", counts.back());
      g.s.add(std::move(load));
    }
    for (const Part &p : parts)
      g.s.add(fence(p, block));
    for (size_t i = 0; i < parts.size(); ++i) {
      Part &p = parts[i];
      const int outer = open(p, p.iv, counts[i], most, group);
      const int inner = p.innerIv >= 0 ? open(p, p.innerIv, -1, p.innerCount, "") : -1;
      const Op last = fence(p, block);
      const int start = g.s.size();
      for (Op &op : p.body) {
        op.inner = true;
        g.s.add(std::move(op));
      }
      for (const auto &[from, to] : p.jumps)
        g.s.label(start + from, start + to);
      if (inner >= 0)
        close(p, inner);
      close(p, outer);
      ends.push_back(last);
    }
    for (Op &op : ends)
      g.s.add(std::move(op));
  }

private:
  Generator &g;
  const int core;
  const int32_t most;
  const bool dynamic;
  Hbm trips;
  std::deque<Part> parts;
  std::vector<Op> ends;

  // Stands for everything the part touches, before and after the loop.
  Op fence(const Part &p, int block) {
    Op op(core, p.engine, "nop");
    op.block = block;
    for (const Op &x : p.body)
      op.touches.insert(op.touches.end(), x.touches.begin(), x.touches.end());
    return op;
  }
  int open(const Part &p, int iv, int countReg, int32_t count, const std::string &group) {
    Op op(core, p.engine, "loop");
    op.reg("iv", iv).set("end", int32_t{0});
    if (countReg >= 0)
      op.reg("count", countReg);
    else
      op.set("count", count);
    if (!group.empty())
      op.set("group", group);
    op.inner = true;
    return g.s.add(std::move(op));
  }
  void close(const Part &p, int begin) {
    Op op(core, p.engine, "end_loop");
    op.set("begin", int32_t{0});
    op.inner = true;
    const int end = g.s.add(std::move(op));
    g.s.label(begin, end);
    g.s.label(end, begin);
  }
};

// An instruction of the engine that makes dst of src, element by element.
Op loopCompute(Generator &g, int core, Engine e, const Operand &dst, const Operand &src);

} // namespace glia::mutants
