#include "glia/Runtime/FootprintCheck.h"
#include "glia/ISA/Collective.h"
#include "glia/Verify/Reporter.h"

#include <algorithm>

namespace glia {

FootprintCheck::Known &FootprintCheck::lookUp(const Decoded &d, int slot) {
  auto [it, fresh] = known.try_emplace({d.core, d.engine, d.index, slot});
  Known &k = it->second;
  if (!fresh)
    return k;
  const Access &a = d.values[slot].access;
  const Pattern &p = program.patterns[a.pattern];
  bool anyIndex = false, indexed = false; // rows of an indexed transfer may be skipped
  for (size_t i = 0; i < d.values.size(); ++i) {
    const std::string_view other = d.def->slots[i].name;
    if (!other.ends_with("_index") || d.values[i].kind != Value::Tensor)
      continue;
    anyIndex = true;
    indexed |= other.substr(0, other.size() - 6) == d.def->slots[slot].name;
  }
  const bool peers = (d.def->unit == Unit::Exchange || isCollective(*d.def)) &&
                     !isWritten(d.def->slots[slot].kind); // what is read comes from the other core, or from other ranks
  k.exact = p.numDynamic == 0 && !indexed && !peers;
  if (!k.exact)
    return k;
  int64_t start = a.byteOffset;
  k.lastPartition = 1;
  if (a.object.kind == ObjectKind::Allocation) {
    const Allocation &x = program.allocations[a.object.index];
    start += x.byteOffset;
    k.firstPartition = x.partition + a.partition;
    k.lastPartition = k.firstPartition + p.partitions;
  }
  k.exact = footprint(p, start, k.runs);
  for (const ByteRun &r : k.runs)
    k.bytes += (r.hi - r.lo) * (k.lastPartition - k.firstPartition);
  const SlotKind kind = d.def->slots[slot].kind;
  k.mustWriteAll = !anyIndex && (kind == SlotKind::Out || kind == SlotKind::OptOut);
  return k;
}

void FootprintCheck::touched(const Decoded &d, int slot, int partition, int64_t byte, int64_t bytes, bool write) {
  Known &k = lookUp(d, slot);
  if (!k.exact || first)
    return;
  if (write)
    k.written += bytes;
  auto it = std::partition_point(k.runs.begin(), k.runs.end(), [byte](const ByteRun &r) { return r.hi <= byte; });
  const bool inside = partition >= k.firstPartition && partition < k.lastPartition && it != k.runs.end() && it->lo <= byte &&
                      byte + bytes <= it->hi;
  if (!inside || (write && !isWritten(d.def->slots[slot].kind)))
    first = report(d.core, d.engine, d.index, slot,
                   format("it %s bytes %lld to %lld of partition %d, which its operand does not name",
                          write ? "wrote" : "read", (long long)byte, (long long)(byte + bytes), partition));
}

Diagnostic FootprintCheck::report(int core, Engine e, uint32_t index, int slot, const std::string &what) const {
  VerifyOptions options;
  Reporter reporter(program, options);
  Decoded d;
  decode(program, core, e, index, d);
  Diagnostic out;
  out.code = "FOOTPRINT";
  out.message = "the definition of `" + std::string(d.def->name) + "` and the verifier disagree on operand `" +
                std::string(d.def->slots[slot].name) + "`: " + what;
  out.context = reporter.describe(InstrRef(core, e, index));
  out.advice = "This is a defect of glia; please report it with the program.";
  return out;
}

std::optional<Diagnostic> FootprintCheck::disagreement() const {
  if (first)
    return first;
  for (const auto &[key, k] : known)
    if (k.exact && k.mustWriteAll && k.bytes && k.written % k.bytes != 0)
      return report(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key),
                    format("it wrote %lld bytes in all, which is no multiple of the %lld it is said to write",
                           (long long)k.written, (long long)k.bytes));
  return std::nullopt;
}

RunResult runChecked(const Program &p, const TensorData &inputs, RunOptions options) {
  if (!options.strict)
    return run(p, inputs, options);
  FootprintCheck check(p);
  options.onTouch = [&check](const Decoded &d, int slot, int partition, int64_t byte, int64_t bytes, bool write) {
    check.touched(d, slot, partition, byte, bytes, write);
  };
  RunResult r = run(p, inputs, options);
  if (r.ok())
    r.fault = check.disagreement();
  return r;
}

} // namespace glia
