// 64-bit integers that 32 bits do not hold, from 32 bits and back.
#include "Generator.h"

namespace glia::graphs {

namespace {
constexpr Type kI64{"i64", Type::Signed, 64}, kU64{"ui64", Type::Unsigned, 64};
}

bool Generator::wide() {
  const std::optional<Value> v = find([](const Value &v) {
    return v.elements() > 0 && v.elements() < 20'000 && v.trust == Trust::Exact && v.type.isInteger() && v.type.bits == 32;
  });
  if (!v)
    return false;
  const Type t = v->type.kind == Type::Signed ? kI64 : kU64;
  const auto large = [&](const Value &from) {
    const Value x = arrow("convert", {from}, "", t, from.shape, Trust::Exact, 1);
    const Value factor = bits(t, from.shape, r.chance(50) ? "4294967311" : "1099511627791");
    return same("multiply", {x, factor}, Trust::Exact, 1);
  };
  Value x = large(*v);
  const Value y = large(of(v->type, v->shape));
  static const std::vector<const char *> ops = {"add", "subtract", "multiply", "divide", "remainder", "minimum", "xor"};
  x = same(r.pick(ops), {x, y}, Trust::Exact, 1);
  Shape dims, rest;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (r.chance(30))
      dims.push_back(d);
    else
      rest.push_back(x.shape[static_cast<size_t>(d)]);
  if (!dims.empty()) {
    const std::string op = r.chance(60) ? "add" : "maximum";
    const Value start = bits(t, {}, op == "add" ? "3" : t == kI64 ? "-9223372036854775808" : "0");
    x = put("stablehlo.reduce(" + x.name + " init: " + start.name + ") applies stablehlo." + op + " across dimensions = [" +
                list(dims) + "] : (" + x.text() + ", " + start.text() + ") -> " + tensorType(t, rest),
            t, rest, Trust::Exact, 1);
  }
  const Value high = same("shift_right_logical", {x, bits(t, x.shape, r.chance(50) ? "0" : "29")}, Trust::Exact, 1);
  keep(arrow("convert", {high}, "", v->type, high.shape, Trust::Exact, 1));
  return true;
}

} // namespace glia::graphs
