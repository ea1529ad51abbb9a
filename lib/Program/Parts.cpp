#include "glia/Program/Parts.h"
#include "glia/Program/Builder.h"

namespace glia {

ProgramParts takeApart(const Program &p) {
  ProgramParts out;
  out.shell = p;
  Decoded d;
  for (int c = 0; c < static_cast<int>(p.cores); ++c)
    for (int e = 0; e < kNumEngines; ++e)
      for (uint32_t i = 0; i < p.stream(c, static_cast<Engine>(e)).instrs.size(); ++i) {
        decode(p, c, static_cast<Engine>(e), i, d);
        InstrParts item{c,
                        static_cast<Engine>(e),
                        d.def,
                        d.values,
                        {},
                        {},
                        {d.waits.begin(), d.waits.end()},
                        {d.updates.begin(), d.updates.end()},
                        d.origin};
        item.lists.resize(d.values.size());
        item.patterns.resize(d.values.size());
        for (size_t k = 0; k < d.values.size(); ++k) {
          item.lists[k].assign(d.values[k].list.begin(), d.values[k].list.end());
          if (d.values[k].kind == Value::Tensor)
            item.patterns[k] = p.patterns[d.values[k].access.pattern];
        }
        out.items.push_back(std::move(item));
      }
  return out;
}

Program putTogether(const ProgramParts &parts) {
  const Program &p = parts.shell;
  Builder b(parts.shell.target, static_cast<int>(parts.shell.cores));
  for (const Tensor &t : parts.shell.tensors)
    b.tensor(t);
  for (const Allocation &a : parts.shell.allocations)
    b.allocation(a);
  for (const Semaphore &s : parts.shell.semaphores)
    b.semaphore(s.name, s.initial, s.core);
  for (const Queue &q : parts.shell.queues)
    b.queue(q.name, q.core);
  for (const InstrParts &item : parts.items) {
    const InstrOrigin &o = p.origins[item.origin];
    b.origin(p.strings[o.kernel], p.strings[o.operation], p.strings[o.file], o.line);
    std::vector<Value> values = item.values;
    Emit emit = b.emit(item.core, item.engine, item.def->name);
    for (size_t k = 0; k < values.size(); ++k) {
      if (values[k].kind == Value::Tensor)
        values[k].access.pattern = b.internPattern(item.patterns[k]);
      if (values[k].kind == Value::Text)
        values[k].integer = static_cast<int32_t>(b.internString(parts.shell.strings[values[k].integer]));
      values[k].list = item.lists[k];
      emit.value(static_cast<int>(k), values[k]);
    }
    for (const SyncOp &w : item.waits)
      emit.when(w.semaphore, w.value, w.kind == SyncKind::WaitGeConsume);
    for (const SyncOp &u : item.updates)
      emit.sync(u);
    emit.done();
  }
  b.program().contract = parts.shell.contract;
  return b.finish();
}

void becomeNop(InstrParts &i) {
  i.def = findInstruction("nop");
  i.values.clear();
  i.lists.clear();
  i.patterns.clear();
}

} // namespace glia
