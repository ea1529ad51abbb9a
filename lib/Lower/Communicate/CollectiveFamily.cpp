// Exchanges between ranks: one instruction from tensor to tensor in HBM.
#include "Graph/Decompose/CollectiveCall.h"
#include "Lower/Families.h"
#include "glia/ISA/Collective.h"

namespace glia::emit {

namespace {

class CollectiveFamily final : public Family {
public:
  std::string_view name() const override { return "collective"; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (!isCollectiveCall(op))
      return std::nullopt;
    std::optional<Collective> c = collectiveCall(op);
    if (!c)
      return "a call of @glia.collective that does not say what is exchanged";
    const std::optional<DType> type =
        machineType(llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getElementType());
    if (!type)
      return "elements of a type that the machine does not have";
    c->dtype = *type;
    c->elements = elementsOf(op->getOperand(0));
    if (const std::string fault = faultOf(*c); !fault.empty())
      return fault;
    if (elementsOf(op->getResult(0)) != c->resultElements(c->members(0).size()))
      return "a result of another size than its groups give";
    return "";
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    const Collective c = *collectiveCall(g.ops.front());
    const auto number = [](int32_t n) { return nisa::SlotValue::of(n); };
    nisa::SlotValue groups;
    groups.kind = nisa::SlotValue::Ints;
    groups.list.assign(c.groups.begin(), c.groups.end());
    k.emit("collective",
           {k.operand(outputs[0]), k.operand(inputs[0]), number(0), number(static_cast<int>(c.kind)),
            number(static_cast<int>(c.op)), number(c.ranks), number(c.width), std::move(groups)},
           static_cast<int>(Engine::GpSimd));
  }
};

} // namespace

const Family &collectiveFamily() {
  static const CollectiveFamily family;
  return family;
}

} // namespace glia::emit
