// Factors of matrices and systems of equations: of matrices that are far from singular.
#include "Generator.h"

#include <cmath>

namespace glia::graphs {

namespace {

// Where the element stands on the diagonal, or also below or above it; the same in every matrix.
std::string places(Generator &g, const Shape &shape, const char *how) {
  const Shape two(shape.end() - 2, shape.end());
  const std::string rows = g.fresh(), columns = g.fresh(), mask = g.fresh(), all = g.fresh();
  const std::string type = tensorType(kI32, two);
  g.line(rows + " = stablehlo.iota dim = 0 : " + type);
  g.line(columns + " = stablehlo.iota dim = 1 : " + type);
  g.line(mask + " = stablehlo.compare " + how + ", " + rows + ", " + columns + " : (" + type + ", " + type + ") -> " +
         tensorType(kI1, two));
  const auto rank = static_cast<int64_t>(shape.size());
  g.line(all + " = stablehlo.broadcast_in_dim " + mask + ", dims = [" + list({rank - 2, rank - 1}) + "] : (" +
         tensorType(kI1, two) + ") -> " + tensorType(kI1, shape));
  return all;
}

Value chosen(Generator &g, const std::string &where, const Value &a, const Value &b) {
  return g.put("stablehlo.select " + where + ", " + a.name + ", " + b.name + " : " + tensorType(kI1, a.shape) + ", " +
                   a.text(),
               a.type, a.shape, Trust::Rounded, std::max(a.bound, b.bound));
}

} // namespace

bool Generator::linalg() {
  const std::optional<Value> x = specials ? std::nullopt : find([](const Value &v) {
    return v.type == kF32 && v.trust != Trust::Decided && v.rank() >= 2 && v.elements() > 0 && v.elements() <= 4000 &&
           v.shape[v.shape.size() - 2] <= 20;
  });
  if (!x)
    return false;
  const Value b = clamped(*x, 2);
  const int64_t rank = b.rank(), n = b.shape[static_cast<size_t>(rank - 2)], m = b.shape.back();
  Shape shape = b.shape, batch;
  shape.back() = n;
  for (int64_t d = 0; d < rank - 2; ++d)
    batch.push_back(d);
  const std::string last = std::to_string(rank - 1),
                    batches = "batching_dims = [" + list(batch) + "] x [" + list(batch) + "], ";
  const double size = 4 * static_cast<double>(m);
  const Value square = put("stablehlo.dot_general " + b.name + ", " + b.name + ", " + (batch.empty() ? "" : batches) +
                               "contracting_dims = [" + last + "] x [" + last + "] : (" + b.text() + ", " + b.text() +
                               ") -> " + tensorType(kF32, shape),
                           kF32, shape, Trust::Rounded, size);
  const Value more = same("add", {square, splat(kF32, shape, size)}, Trust::Rounded, 2 * size);
  const Value a = chosen(*this, places(*this, shape, "EQ"), more, square);
  const bool lower = r.chance(50);
  const std::string side = lower ? "true" : "false";
  if (r.chance(50)) { // the other triangle may be anything
    const Value factor = put("stablehlo.cholesky " + a.name + ", lower = " + side + " : " + a.text(), kF32, shape,
                             Trust::Rounded, std::sqrt(2 * size));
    keepScaled(chosen(*this, places(*this, shape, lower ? "GE" : "LE"), factor, splat(kF32, shape, 0)));
    return true;
  }
  static const std::vector<const char *> how = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  keepScaled(put("\"stablehlo.triangular_solve\"(" + a.name + ", " + b.name + ") <{left_side = true, lower = " + side +
                     ", transpose_a = #stablehlo<transpose " + r.pick(how) + ">, unit_diagonal = false}> : (" + a.text() +
                     ", " + b.text() + ") -> " + b.text(),
                 kF32, b.shape, Trust::Rounded, 4));
  return true;
}

} // namespace glia::graphs
