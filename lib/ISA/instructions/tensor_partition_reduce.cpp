#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Alu.h"
#include "glia/Support/Diagnostic.h"

#include <cstring>

namespace glia {

enum { DST, DATA, OP };
enum { ADD, AVERAGE, MAX, OR, AND };

static const EnumNames &reductions() {
  static constexpr std::string_view kNames[] = {"add", "average", "max", "bitwise_or", "bitwise_and"};
  static constexpr EnumNames kEnum{"partition_reduction", kNames};
  return kEnum;
}

static constexpr AluOp kOps[] = {AluOp::Add, AluOp::Add, AluOp::Max, AluOp::BitOr, AluOp::BitAnd};
static bool isWide(DType t) { return t == DType::I32 || t == DType::U32; }

static void checkReduce(Check &c) {
  c.in(DST, {Space::Sbuf});
  c.in(DATA, {Space::Sbuf});
  const OperandInfo &d = c.operand(DST), &s = c.operand(DATA);
  if (d.partitions() != 1 || d.elements() != s.elements())
    c.fail("PARTITION-REDUCE", DST, format("dst is %d x %lld", d.partitions(), (long long)d.elements()),
           format("%d x %lld", d.partitions(), (long long)d.elements()), format("1 x %lld", (long long)s.elements()));
  for (int slot : {DST, DATA})
    if (sizeOf(c.operand(slot).dtype()) == 8)
      c.fail("PARTITION-REDUCE", slot, "GpSimd does not reduce 64-bit types", std::string(name(c.operand(slot).dtype())),
             "at most 32 bits");
  if (c.integer(OP) >= OR && (isFloat(s.dtype()) || d.dtype() != s.dtype()))
    c.fail(
        "PARTITION-REDUCE", OP,
        format("a bit operation from %s to %s", std::string(name(s.dtype())).c_str(), std::string(name(d.dtype())).c_str()),
        std::string(name(s.dtype())), "one integer type");
}

// Partition 0 first, then 1, 2 ...: integers of 32 bits and bits exactly, everything else in fp32.
static void executeReduce(Exec &x) {
  const Region &dst = x.region(DST), &data = x.region(DATA);
  const int op = x.integer(OP);
  const int64_t n = data.elements;
  if (op >= OR || (op != AVERAGE && isWide(dst.dtype) && isWide(data.dtype))) {
    const int32_t *first = x.readI32(DATA, 0);
    std::vector<int32_t> sum(first, first + n);
    for (int p = 1; p < data.partitions; ++p)
      aluRowInt(kOps[op], sum.data(), x.readI32(DATA, p), sum.data(), n, data.dtype == DType::U32);
    std::memcpy(x.writeI32(DST, 0), sum.data(), n * 4);
    x.commitI32(DST, 0);
    return;
  }
  const float *first = x.readF32(DATA, 0);
  std::vector<float> sum(first, first + n);
  for (int p = 1; p < data.partitions; ++p)
    aluRow(kOps[op], sum.data(), x.readF32(DATA, p), sum.data(), n);
  if (op == AVERAGE)
    for (float &v : sum)
      v /= static_cast<float>(data.partitions);
  std::memcpy(x.writeF32(DST, 0), sum.data(), n * 4);
  x.commitF32(DST, 0);
}

INSTRUCTION(tensor_partition_reduce, "dst[0, i] = data[0, i] op data[1, i] op ...: a reduction across partitions.") {
  def.source("nki.isa API reference, tensor_partition_reduce; order of partitions chosen")
      .engines({Engine::GpSimd})
      .flow(Flow::All)
      .slot("dst", SlotKind::Out, "one partition of SBUF, as many elements as a partition of data")
      .slot("data", SlotKind::In, "what is reduced, in SBUF")
      .choice("op", reductions(), "add, average, max (fp32; i32 and u32 exactly, add wraps), bitwise_or, bitwise_and");
  def.rules({"OPERAND-MEMORY", "PARTITION-REDUCE"}).check(checkReduce);
  def.execute(executeReduce);
  // No published formula: every partition's row passes through once (assumed: eight cores share the partitions).
  def.cost([](const CostQuery &q) { return q.serial(q.elements(DATA) * q.pattern(DATA).partitions / 8); });
}

} // namespace glia
