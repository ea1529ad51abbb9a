#include "ScalarForm.h"
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"
#include "glia/Numerics/Activation.h"

#include <bit>
#include <cmath>

namespace glia {

using nisa::Instr;
using nisa::SlotValue;

namespace {

constexpr int64_t kMostUnwanted = 8192; // elements per partition: the tensor for them lives as long as the kernel

bool isFloatAccess(nisa::AccessAttr a) { return a && a.getTerms().empty() && isFloat(a.getDtype()); }
AluOp aluOf(Instr i, std::string_view name) { return static_cast<AluOp>(i.integer(name)); }
SlotValue slotOf(Instr i, std::string_view name) { return i.value(i.def().slot(name)); }

bool isPowerOfTwo(float f) {
  int exponent;
  return std::isfinite(f) && std::fabs(std::frexp(f, &exponent)) == 0.5f && std::abs(exponent) <= 20;
}
// Beside it, nothing that is lost by scaling counts.
bool isMiddling(float f) { return std::fabs(f) >= 0x1p-100f && std::fabs(f) <= 0x1p100f; }

} // namespace

void ScalarForm::begin(nisa::CoreOp core) { start = &core.getBody().front(); }

std::vector<Instr> ScalarForm::finish() {
  std::vector<Instr> out;
  for (const Instr &fill : std::exchange(fills, {}))
    if (fill.tensor(0).hasOneUse())
      fill.operation()->erase();
    else
      out.push_back(fill);
  for (const auto &[key, tensor] : std::exchange(numbers, {}))
    if (tensor.use_empty())
      tensor.getDefiningOp()->erase();
  for (const auto &[key, tensor] : std::exchange(unwanted, {}))
    if (tensor.use_empty())
      tensor.getDefiningOp()->erase();
  return out;
}

Instr ScalarForm::of(Instr i) {
  if (i.is("tensor_scalar"))
    return scaled(i);
  if (i.is("reciprocal"))
    return tables ? inverted(i) : Instr();
  return i.is("tensor_reduce") ? summed(i) : Instr();
}

mlir::Value ScalarForm::tensor(llvm::StringRef name, DType t, int64_t elements) {
  mlir::OpBuilder b(start, start->begin());
  const auto type = nisa::TensorType::get(b.getContext(), Space::Sbuf, t, {target.partitions, elements});
  return nisa::AllocOp::create(b, start->getParentOp()->getLoc(), type, b.getStringAttr(name), mlir::DenseI64ArrayAttr(),
                               mlir::UnitAttr(), mlir::DenseI64ArrayAttr())
      .getTensor();
}

SlotValue ScalarForm::numberAt(float number, nisa::AccessAttr like) {
  if (target.has("activation_bias_immediate"))
    return SlotValue::of(number);
  const auto [it, fresh] = numbers.try_emplace(std::bit_cast<uint32_t>(number));
  if (fresh) {
    it->second = tensor("number", DType::F32, 1);
    mlir::OpBuilder b(it->second.getContext());
    b.setInsertionPointAfter(it->second.getDefiningOp());
    fills.push_back(nisa::createInstruction(b, start->getParentOp()->getLoc(), *findInstruction("memset"),
                                            {SlotValue::of(nisa::wholeTensor(it->second)), SlotValue::of(number)}));
  }
  nisa::TensorOperand out;
  out.tensor = it->second;
  out.partition = like.getPartition();
  out.partitions = like.getPartitions();
  out.dims = {1, 1};
  return SlotValue::of(out);
}

Instr ScalarForm::make(Instr i, llvm::ArrayRef<SlotValue> values) {
  mlir::OpBuilder b(i.operation());
  const Instr made = nisa::createInstruction(b, i->getLoc(), *findInstruction("activation"), values);
  if (nisa::TrialCheck(made, target, Engine::Scalar, cores).passes())
    return made;
  made.operation()->erase();
  return {};
}

Instr ScalarForm::scaled(Instr i) {
  const nisa::AccessAttr data = i.access(1);
  if (!isFloatAccess(data) || !isFloatAccess(i.access(0)))
    return {};
  const SlotValue first = slotOf(i, "operand0"), second = slotOf(i, "operand1");
  const AluOp op0 = aluOf(i, "op0"), op1 = aluOf(i, "op1");
  const bool one = op1 == AluOp::Bypass, reverse = i.integer("reverse0");
  const auto number = [](const SlotValue &v) { return v.kind == SlotValue::Float; };
  SlotValue scale = SlotValue::of(1.0f), bias;
  float sum = 0; // a bias that is a number
  if (first.kind == SlotValue::Absent)
    return {};
  if (one && op0 == AluOp::Multiply) {
    scale = first;
  } else if (one && op0 == AluOp::Add) {
    bias = first;
  } else if (one && op0 == AluOp::Subtract && reverse) {
    scale = SlotValue::of(-1.0f);
    bias = first;
  } else if (one && op0 == AluOp::Subtract && number(first)) {
    bias = SlotValue::of(-first.number);
  } else if (number(first) && number(second) && op0 == AluOp::Multiply && op1 == AluOp::Add && isPowerOfTwo(first.number) &&
             isMiddling(second.number)) {
    scale = first;
    bias = second;
  } else if (number(first) && number(second) && op0 == AluOp::Add && op1 == AluOp::Multiply && isPowerOfTwo(second.number) &&
             second.number > 0 && // a negative one makes -0 of the sum 0
             isMiddling(first.number)) {
    scale = second;
    bias = SlotValue::of(first.number * second.number);
  } else {
    return {};
  }
  if (number(bias)) {
    sum = bias.number;
    if (sum == 0) // an activation without a bias, which keeps -0
      return {};
    bias = numberAt(sum, data);
  }
  return make(i, {i.value(0), i.value(1), SlotValue::of(static_cast<int32_t>(ActFn::Copy)), scale, bias});
}

Instr ScalarForm::inverted(Instr i) {
  if (!isFloatAccess(i.access(1)) || !isFloatAccess(i.access(0)))
    return {};
  return make(i, {i.value(0), i.value(1), SlotValue::of(static_cast<int32_t>(ActFn::Reciprocal)), SlotValue::of(1.0f)});
}

Instr ScalarForm::summed(Instr i) {
  const nisa::AccessAttr data = i.access(1), dst = i.access(0);
  if (!isFloatAccess(data) || !isFloatAccess(dst) || aluOf(i, "op") != AluOp::Add || i.integer("negate") ||
      dst.elements() != dst.getPartitions())
    return {};
  const int64_t n = data.elements() / data.getPartitions();
  if (n > kMostUnwanted)
    return {};
  const auto [it, fresh] = unwanted.try_emplace(n);
  if (fresh)
    it->second = tensor("unwanted", DType::BF16, n);
  nisa::TensorOperand out;
  out.tensor = it->second;
  out.dtype = DType::BF16;
  out.partition = data.getPartition();
  out.partitions = data.getPartitions();
  out.dims = {1, n};
  return make(i, {SlotValue::of(out), i.value(1), SlotValue::of(static_cast<int32_t>(ActFn::Copy)), SlotValue::of(1.0f),
                  SlotValue(), SlotValue::of(static_cast<int32_t>(ReduceCmd::ResetReduce)), i.value(0)});
}

} // namespace glia
