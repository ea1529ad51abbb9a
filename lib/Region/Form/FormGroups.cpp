#include "FormGroups.h"
#include "Lower/Rows/RowsPlan.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/TypeFeatures.h"
#include "glia/Target/WhoHas.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/TypeUtilities.h"

namespace glia::emit {

// Element types that this generation does not compute on. Converting computes.
static void refuseTypes(mlir::Block &body, const Target &target, std::vector<Diagnostic> &problems) {
  static const llvm::StringSet<> others = {"dot_general",   "convolution",        "reduce",
                                           "reduce_window", "select_and_scatter", "top_k"};
  const auto missing = [&](mlir::Type t) -> std::string_view {
    const std::optional<DType> d = machineType(mlir::getElementTypeOrSelf(t));
    for (const TypeFeature &f : kTypeFeatures)
      if (d == f.type && !target.has(f.feature))
        return f.feature;
    return {};
  };
  body.walk([&](mlir::Operation *op) {
    if (!isPointwise(opName(op)) && !others.contains(opName(op)))
      return;
    std::vector<mlir::Type> types(op->operand_type_begin(), op->operand_type_end());
    types.insert(types.end(), op->result_type_begin(), op->result_type_end());
    for (mlir::Type t : types) {
      const std::string_view needs = missing(t);
      if (needs.empty())
        continue;
      const nisa::Origin o = nisa::originOf(op->getLoc());
      Diagnostic out;
      out.code = "GRAPH-TYPE";
      llvm::raw_string_ostream(out.message)
          << op->getName() << " computes on " << t << ", which " << target.name << " does not" << whoHas(needs);
      out.advice = "Use another type here.";
      out.place = {o.file, o.line, 0};
      problems.push_back(std::move(out));
      break;
    }
  });
}

std::vector<Group> formGroups(mlir::Block &body, const Target &target, KernelCalls &written) {
  std::vector<Diagnostic> problems = written.check(body);
  refuseTypes(body, target, problems);
  try {
    std::vector<Group> groups = groupOperations(body, &target);
    const bool brings = llvm::any_of(groups, [](const Group &g) { return isKernelCall(g.ops.front()); });
    for (Group &g : groups)
      g.fewTables = brings;
    if (problems.empty())
      return groups;
  } catch (const Error &e) {
    problems.insert(problems.end(), e.diagnostics().begin(), e.diagnostics().end());
  }
  throw Error(std::move(problems));
}

} // namespace glia::emit
