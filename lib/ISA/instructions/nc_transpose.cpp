#include "glia/ISA/Cost.h"
#include "glia/ISA/Matrix.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <numeric>

namespace glia {

enum { DST, DATA };

static bool exact(Engine e, const Target &t) { return e == Engine::Vector || t.has("exact_transpose"); }
static std::string num(int64_t v) { return format("%lld", (long long)v); }

static void checkTranspose(Check &c) {
  const bool tensor = c.engine == Engine::Tensor;
  const OperandInfo &d = c.operand(DST), &s = c.operand(DATA);
  if (tensor) {
    c.in(DATA, {Space::Sbuf});
    c.in(DST, {Space::Psum});
  } else {
    c.in(DATA, {Space::Sbuf, Space::Psum});
    c.in(DST, {Space::Sbuf, Space::Psum});
  }
  if (!d.onChip() || !s.onChip())
    return;
  if (d.partitions() != s.elements() || d.elements() != s.partitions())
    c.fail("TRANSPOSE-SHAPE", DST,
           format("data is %d x %lld and dst is %d x %lld", s.partitions(), (long long)s.elements(), d.partitions(),
                  (long long)d.elements()),
           format("%d x %lld", d.partitions(), (long long)d.elements()),
           format("%lld x %d", (long long)s.elements(), s.partitions()));
  const int64_t most = tensor ? c.target.integer("limit.stationary_free") : c.target.integer("limit.vector_transpose");
  if (s.partitions() > most || s.elements() > most)
    c.fail("TRANSPOSE-SHAPE", DATA, format("data is %d x %lld", s.partitions(), (long long)s.elements()),
           num(std::max<int64_t>(s.partitions(), s.elements())), num(most));
  const std::string type(name(d.dtype()));
  if (!tensor)
    c.sameType(DATA, DST);
  else if (c.target.has("exact_transpose")) {
    if (!isTransposeType(d.dtype(), s.dtype()))
      c.fail("TRANSPOSE-DTYPE", DST,
             format("a transpose of %s cannot give %s", std::string(name(s.dtype())).c_str(), type.c_str()), type,
             transposeTypeText(s.dtype()));
  } else {
    // An ordinary multiplication with an identity: floats in, fp32 out.
    if (!isFloat(s.dtype()))
      c.fail(
          "TRANSPOSE-DTYPE", DATA,
          format("this target transposes by multiplication, which does not take %s", std::string(name(s.dtype())).c_str()),
          std::string(name(s.dtype())), "a float type");
    if (d.dtype() != DType::F32)
      c.fail("TRANSPOSE-DTYPE", DST,
             format("this target transposes by multiplication, which gives f32 and not %s", type.c_str()), type, "f32");
  }
  if (tensor)
    checkOneBank(c, DST);
}

static void executeTranspose(Exec &x) {
  const Region &s = x.region(DATA);
  const int K = s.partitions;
  if (exact(x.engine, x.target)) {
    std::vector<int> from(K);
    std::iota(from.begin(), from.end(), 0);
    return transposeRows(x, DST, DATA, from);
  }
  // dst[m][n] = sum over k of data[k][m] * identity[k][n]: NaN and infinity spoil their row of dst, -0 becomes 0.
  std::vector<float> values, identity(K * K);
  for (int k = 0; k < K; ++k)
    identity[k * K + k] = 1;
  const GemmOperand data = packRows(x, DATA, values);
  multiplyInto(x, DST, data, {identity.data(), K}, K, s.elements, K, false);
}

INSTRUCTION(nc_transpose, "dst[f, p] = data[p, f]: bit by bit on Vector and, where the target has it, on Tensor.") {
  def.source("nki.isa API reference, nc_transpose; Trainium2 architecture guide, transpose of 8-bit types; without the "
             "exact transpose "
             "Tensor multiplies by an identity into fp32")
      .engines({Engine::Tensor, Engine::Vector})
      .flow(Flow::Transpose)
      .slot("dst", SlotKind::Out,
            "Tensor: PSUM, data's type (8-bit data: 2 bytes, the upper one 0), f32 without the exact transpose. Vector: "
            "SBUF or PSUM, data's type")
      .slot("data", SlotKind::In, "Tensor: SBUF, at most 128 x 128. Vector: SBUF or PSUM, at most 32 x 32");
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "TRANSPOSE-SHAPE", "TRANSPOSE-DTYPE", "PSUM-ONE-BANK"})
      .check(checkTranspose);
  def.execute(executeTranspose);
  def.cost([](const CostQuery &q) {
    const double P = q.pattern(DATA).partitions, F = q.elements(DATA);
    if (q.engine == Engine::Vector)
      return q.pipelined(F);
    const double passes = q.dtype(DATA) != DType::F32 ? 1 : q.target.has("exact_transpose") ? 2 : 4;
    const double cycles = std::max(P, std::min(64.0, F)) * passes;
    const double load = F / q.param("cost.load_weights_speedup") / q.clock();
    return Cost{std::max(cycles, q.param("cost.issue_floor")) / q.clock(),
                (cycles + F) / q.clock() + q.param("cost.tensor_latency"), 0, q.param("cost.load_weights_start") + load,
                load};
  });
}

} // namespace glia
