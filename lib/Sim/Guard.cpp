// The simulator trusts nobody: what the semantics rely on is asked of the definition itself before they run.
#include "Resolve.h"
#include "glia/ISA/Check.h"

namespace glia::sim {

namespace {

class Guard final : public Check {
public:
  Guard(const Program &p, const Prepared &x)
      : Check(*x.d.def, *p.target, x.d.engine, static_cast<int>(p.cores)), program(p), x(x), infos(storage()) {
    infos.assign(x.d.values.size(), {});
  }

  const OperandInfo &operand(int slot) const override {
    OperandInfo &o = infos[slot];
    const Value &v = x.d.values[slot];
    if (o.present || v.kind == Value::Absent)
      return o;
    o.present = v.kind != Value::Absent;
    o.immediate = v.kind == Value::Float;
    o.number = v.number;
    if (v.kind != Value::Tensor)
      return o;
    o.pattern = &program.patterns[v.access.pattern];
    o.object = v.access.object;
    o.objectName = program.objectName(o.object);
    o.space = program.space(o.object);
    o.byteOffset = v.access.byteOffset;
    if (o.onChip()) {
      const Allocation &a = program.allocations[o.object.index];
      o.partition = a.partition + v.access.partition;
      o.byteOffset += a.byteOffset;
      o.objectBytes = a.bytesPerPartition();
      o.objectPartitions = static_cast<int32_t>(a.partitions());
    } else {
      o.objectBytes = program.tensors[o.object.index].bytes();
      o.objectPartitions = 1;
    }
    return o;
  }
  int32_t integer(int slot) const override { return x.d.values[slot].integer; }
  bool isRegister(int slot) const override { return x.d.values[slot].kind == Value::Register; }
  float number(int slot) const override { return x.d.values[slot].number; }
  std::span<const uint32_t> list(int slot) const override { return x.d.values[slot].list; }
  std::string_view text(int slot) const override { return program.strings[x.d.values[slot].integer]; }
  int core() const override { return x.d.core; }
  void fail(std::string_view rule, int, std::string what, std::string value, std::string limit) override {
    faultAt(program, x.id, std::string(rule), std::move(what), {}, std::move(value), std::move(limit));
  }

private:
  const Program &program;
  const Prepared &x;
  std::vector<OperandInfo> &infos;
  static std::vector<OperandInfo> &storage() { // kept: this runs once per instruction
    static thread_local std::vector<OperandInfo> v;
    return v;
  }
};

} // namespace

void guardRules(const Program &p, const Prepared &x) {
  if (!x.d.def->check)
    return;
  Guard g(p, x);
  x.d.def->check(g);
}

} // namespace glia::sim
