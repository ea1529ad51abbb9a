// Loops that repeat while an element is not 0: one engine writes the element in each iteration, and every engine of the group loads the
// same version of it before the next (docs/ordering.md, L8).
#include "Loop.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

namespace {

struct Member { // one engine of the group
  Engine engine;
  int cond;                 // its register
  std::vector<Op> body;     // ends with the load of the condition
  int told = -1, back = -1; // semaphores between it and the one that writes
};

Op loadElement(Generator &g, int core, Engine e, int reg, const Buffer &element) {
  Op op(core, e, "reg_load");
  op.in("src", g.view(element, {{1, 1}})).reg("dst", reg);
  return op;
}

void addInner(Generator &g, Op op) {
  op.inner = true;
  g.s.add(std::move(op));
}

} // namespace

void Generator::repeat(int core) {
  std::vector<Engine> engines = {r.chance(50) ? Engine::Vector : Engine::GpSimd, Engine::Scalar, Engine::Sync};
  for (size_t i = engines.size(); i > 1; --i)
    std::swap(engines[i - 1], engines[r.below(static_cast<int64_t>(i))]);
  engines.resize(static_cast<size_t>(r.between(1, 3)));
  const Engine writer = engines[0];
  const bool certain = r.chance(30); // not 0 before the loop, for the verifier too
  const bool early = r.chance(50);   // the writer waits for the others when it writes again, not at the end
  const Hbm trips = rangedInput({1}, DType::I32, certain ? 1 : r.below(2), r.between(1, 5));
  Buffer &element = allocate(core, Space::Sbuf, DType::I32, 1, 1);
  element.reserved = element.defined = true;
  const int left = reg(core, writer);

  // Before the loop: the writer stores how often, everybody loads it.
  s.add(std::move(Op(core, writer, "reg_load").in("src", view(trips, {{1, 1}})).reg("dst", left)));
  s.add(std::move(Op(core, writer, "reg_store").out("dst", view(element, {{1, 1}})).reg("src", left)));
  std::vector<Member> members;
  for (const Engine e : engines) {
    Member m{e, reg(core, e), {}};
    s.add(loadElement(*this, core, e, m.cond, element));
    members.push_back(std::move(m));
  }

  // In it: each works on its own buffer; the writer counts down.
  std::vector<Op> waitsForOthers;
  for (size_t i = 0; i < members.size(); ++i) {
    Member &m = members[i];
    if (m.engine != Engine::Sync) {
      Buffer &from = allocate(core, Space::Sbuf, DType::F32, partitions(), r.between(1, 6)),
             &to = allocate(core, Space::Sbuf, DType::F32, from.partitions, from.elements);
      fill(from);
      fill(to);
      m.body.push_back(loopCompute(*this, core, m.engine, whole(to), r.chance(50) ? whole(from) : whole(to)));
    }
    if (i == 0)
      continue;
    m.told = s.semaphore(core);
    m.back = s.semaphore(core, early ? 1 : 0);
    Op get = loadElement(*this, core, m.engine, m.cond, element);
    get.waits.push_back({m.told, -1, 1, true});
    get.updates.push_back({m.back, 1});
    m.body.push_back(std::move(get));
  }
  Member &first = members[0];
  first.body.push_back(
      std::move(Op(core, writer, "reg_alu").reg("dst", left).reg("a", left).set("op", "subtract").set("b", int32_t{1})));
  Op store(core, writer, "reg_store");
  store.out("dst", view(element, {{1, 1}})).reg("src", left);
  Op end(core, writer, "nop");
  for (size_t i = 1; i < members.size(); ++i) {
    store.updates.push_back({members[i].told, 1});
    (early ? store : end).waits.push_back({members[i].back, -1, 1, true});
  }
  first.body.push_back(std::move(store));
  first.body.push_back(loadElement(*this, core, writer, first.cond, element));
  if (!end.waits.empty())
    first.body.push_back(std::move(end));

  // Fences stand for what the loop touches, before it and after it.
  const int block = s.size();
  auto fence = [&](const Member &m) {
    Op op(core, m.engine, "nop");
    op.block = block;
    for (const Op &x : m.body)
      op.touches.insert(op.touches.end(), x.touches.begin(), x.touches.end());
    return op;
  };
  std::vector<Op> after;
  for (const Member &m : members) {
    s.add(fence(m));
    after.push_back(fence(m));
  }
  const std::string group = members.size() > 1 || r.chance(50) ? format("w%d", s.size()) : "";
  for (Member &m : members) {
    Op begin(core, m.engine, "while"), close(core, m.engine, "end_loop");
    begin.reg("cond", m.cond).set("end", int32_t{0});
    if (!group.empty())
      begin.set("group", group);
    const int from = s.size();
    addInner(*this, std::move(begin));
    for (Op &op : m.body)
      addInner(*this, std::move(op));
    const int to = s.size();
    addInner(*this, std::move(close.set("begin", int32_t{0})));
    s.label(from, to);
    s.label(to, from);
  }
  for (Op &op : after)
    s.add(std::move(op));
}

} // namespace glia::mutants
