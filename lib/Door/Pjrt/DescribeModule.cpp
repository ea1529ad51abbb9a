#include "Compiled.h"

namespace glia::pjrt {

static std::string typeText(mlir::Type whole, const Shape &dims) {
  std::string out;
  llvm::raw_string_ostream(out) << mlir::RankedTensorType::get(dims,
                                                               mlir::cast<mlir::RankedTensorType>(whole).getElementType());
  return out;
}

std::string describeParts(const Signature &s, mlir::func::FuncOp main, const PartitionedGraph &parts) {
  std::string arguments, results, body, values, argumentShardings, resultShardings;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const std::string comma = i ? ", " : "";
    arguments += comma + "%a" + std::to_string(i) + ": " + typeText(main.getArgumentTypes()[i], s.arguments[i].dims);
    argumentShardings += comma + "\"" + parts.arguments[i].hlo + "\"";
  }
  for (size_t i = 0; i < s.results.size(); ++i) {
    const std::string comma = i ? ", " : "", value = "%r" + std::to_string(i),
                      type = typeText(main.getResultTypes()[i], s.results[i].dims);
    body += "    " + value + " = stablehlo.custom_call @glia.result() : () -> " + type + "\n";
    results += comma + type;
    values += comma + value;
    resultShardings += comma + parts.results[i].hlo;
  }
  if (s.results.size() != 1)
    resultShardings = "{" + resultShardings + "}";
  // Where parts lie is said of all values or of none: ranks with values of their own have no shardings, and XLA does not take empty ones.
  const auto isSaid = [](const Placement &p) { return !p.hlo.empty(); };
  std::string shardings;
  if (llvm::all_of(parts.arguments, isSaid) && llvm::all_of(parts.results, isSaid))
    shardings = ", mhlo.spmd_output_sharding = \"" + resultShardings + "\", mhlo.spmd_parameters_shardings = [" +
                argumentShardings + "]";
  return "module @\"" + s.name + "\" attributes {mhlo.num_partitions = " + std::to_string(s.partitions) +
         " : i32, mhlo.num_replicas = " + std::to_string(s.replicas) + " : i32" + shardings +
         "} {\n  func.func public @main(" + arguments + ") -> (" + results + ") {\n" + body + "    return " + values +
         (s.results.empty() ? "" : " : ") + results + "\n  }\n}\n";
}

} // namespace glia::pjrt
