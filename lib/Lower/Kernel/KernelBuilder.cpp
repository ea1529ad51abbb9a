#include "glia/Lower/KernelBuilder.h"
#include "StoredShape.h"

#include <limits>

namespace glia::emit {

using nisa::SlotValue;

KernelBuilder::KernelBuilder(std::string_view name, const std::string &target, int cores)
    : machine(loadTarget(target)), t(name, target, cores) {}

void KernelBuilder::location(mlir::Location place) {
  const nisa::Origin o = nisa::originOf(place);
  auto [it, fresh] = locations.try_emplace(mlir::LocationAttr(place), 0);
  if (fresh)
    it->second = t.location(o.file, static_cast<int>(o.line), o.operation);
  loc = it->second;
}

void KernelBuilder::location(std::string_view file, int line, std::string_view operation) {
  loc = t.location(file, line, operation);
}

static Tile rowMajor(int handle, Space space, DType t, const std::vector<int64_t> &shape, bool onChip) {
  Tile out;
  out.handle = handle;
  out.space = space;
  out.dtype = t;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > (onChip ? 1u : 0u);) {
    out.dims.insert(out.dims.begin(), {stride, shape[i]});
    stride *= shape[i];
  }
  if (onChip)
    out.partitions = static_cast<int32_t>(shape[0]);
  return out;
}

// In HBM, with all its dimensions.
static Tile inHbm(int handle, DType d, std::vector<int64_t> shape) {
  return rowMajor(handle, Space::Hbm, d, atLeastOne(std::move(shape)), false);
}

Tile KernelBuilder::input(std::string_view name, DType d, std::vector<int64_t> shape) {
  return inHbm(t.tensor("input", name, d, storedShape(shape), true, {}), d, shape);
}
Tile KernelBuilder::output(std::string_view name, DType d, std::vector<int64_t> shape) {
  return inHbm(t.tensor("output", name, d, storedShape(shape), true, {}), d, shape);
}
Tile KernelBuilder::constant(std::string_view name, DType d, std::vector<int64_t> shape, std::span<const std::byte> data) {
  std::string key = std::to_string(static_cast<int>(d));
  for (int64_t n : shape)
    key += "," + std::to_string(n);
  key += ":" + std::string(reinterpret_cast<const char *>(data.data()), data.size());
  auto [it, fresh] = constants.try_emplace(std::move(key));
  if (fresh) {
    std::string own(name);
    while (!constantNames.insert(own).second)
      own = std::string(name) + "_" + std::to_string(names++);
    it->second = inHbm(t.tensor("constant", own, d, storedShape(shape), true, data), d, shape);
  }
  return it->second;
}
Tile KernelBuilder::scratch(DType d, std::vector<int64_t> shape) {
  return inHbm(t.tensor("scratch", "scratch" + std::to_string(names++), d, storedShape(shape), true, {}), d, shape);
}

static std::vector<int64_t> onChipShape(int64_t partitions, std::vector<int64_t> free) {
  free.insert(free.begin(), partitions);
  if (free.size() == 1)
    free.push_back(1);
  return free;
}

Tile KernelBuilder::sbuf(DType d, int64_t partitions, std::vector<int64_t> free) {
  const std::vector<int64_t> shape = onChipShape(partitions, std::move(free));
  return rowMajor(t.alloc(Space::Sbuf, "t" + std::to_string(names++), d, shape, -1, -1), Space::Sbuf, d, shape, true);
}
Tile KernelBuilder::psum(int64_t partitions, std::vector<int64_t> free, DType d, int64_t at) {
  const std::vector<int64_t> shape = onChipShape(partitions, std::move(free));
  return rowMajor(t.alloc(Space::Psum, "p" + std::to_string(names++), d, shape, at < 0 ? -1 : 0, at), Space::Psum, d, shape,
                  true);
}

SlotValue KernelBuilder::operand(const Tile &x) const {
  nisa::TensorOperand o;
  o.tensor = t.tensorValue(x.handle);
  o.dtype = x.dtype;
  o.partition = x.partition;
  o.partitions = x.partitions;
  o.byteOffset = x.offset * sizeOf(x.dtype);
  for (const Tile::Move &m : x.moves)
    o.terms.push_back({t.registerValue(m.reg), m.stride * sizeOf(x.dtype), false});
  // Dimensions of size 1 go away and adjacent ones merge: the machine has few.
  std::vector<Tile::Dim> merged;
  for (const Tile::Dim &d : x.dims) {
    if (d.count == 1)
      continue;
    if (!merged.empty() && merged.back().stride == d.stride * d.count)
      merged.back() = {d.stride, merged.back().count * d.count};
    else
      merged.push_back(d);
  }
  if (merged.empty())
    merged.push_back({1, 1});
  for (const Tile::Dim &d : merged) {
    o.dims.push_back(d.stride);
    o.dims.push_back(d.count);
  }
  return SlotValue::of(std::move(o));
}

SlotValue KernelBuilder::scalarSlot(const ScalarOperand &s) const {
  return s.isTile ? operand(s.tile) : SlotValue::of(s.number);
}

SlotValue KernelBuilder::choice(std::string_view instruction, std::string_view slot, std::string_view name) const {
  const InstrDef &d = *findInstruction(instruction);
  const int at = d.slots[d.slot(slot)].names->find(name);
  if (at < 0)
    throw std::logic_error("no " + std::string(slot) + " `" + std::string(name) + "` of " + std::string(instruction));
  return SlotValue::of(static_cast<int32_t>(at));
}

void KernelBuilder::emit(std::string_view instruction, std::vector<SlotValue> slots, int engine) {
  t.emit(*findInstruction(instruction), std::move(slots), engine, loc, "");
}

void KernelBuilder::copy(const Tile &dst, const Tile &src) {
  if (!dst.onChip() && !dst.dims.empty() && dst.dims[0].count > 1 && dst.runs() > kMostRuns) {
    const int64_t all = dst.dims[0].count, half = all / 2;
    const int64_t other = src.onChip() ? src.partitions : src.dims.empty() ? 1 : src.dims[0].count;
    if (other % all == 0) {
      const int64_t each = other / all;
      copy(dst.part(0, 0, half), src.rows(0, half * each));
      return copy(dst.part(0, half, all - half), src.rows(half * each, (all - half) * each));
    }
  }
  emit("dma_copy", {operand(dst), operand(src)});
}

static std::vector<SlotValue> indexed(SlotValue dst, SlotValue src, SlotValue dstIndex, SlotValue srcIndex, int64_t stride,
                                      bool skip) {
  return {std::move(dst),
          std::move(src),
          std::move(dstIndex),
          std::move(srcIndex),
          {},
          SlotValue::of(static_cast<int32_t>(stride)),
          SlotValue::of(static_cast<int32_t>(skip))};
}
void KernelBuilder::gather(const Tile &dst, const Tile &src, const Tile &index, int64_t stride, bool skip) {
  emit("dma_copy", indexed(operand(dst), operand(src), {}, operand(index), stride, skip));
}
void KernelBuilder::scatter(const Tile &dst, const Tile &index, const Tile &src, int64_t stride, bool skip) {
  emit("dma_copy", indexed(operand(dst), operand(src), operand(index), {}, stride, skip));
}
void KernelBuilder::transposeByDma(const Tile &dst, const Tile &src, int64_t middle) {
  emit("dma_transpose", {operand(dst), operand(src), {}, {}, SlotValue::of(static_cast<int32_t>(middle))});
}

void KernelBuilder::tensor(const Tile &dst, const Tile &a, const Tile &b, std::string_view op, int engine) {
  emit("tensor_tensor", {operand(dst), operand(a), operand(b), choice("tensor_tensor", "op", op)}, engine);
}
void KernelBuilder::scalar(const Tile &dst, const Tile &data, std::string_view op0, ScalarOperand operand0, bool reverse0,
                           std::string_view op1, ScalarOperand operand1, bool reverse1) {
  std::vector<SlotValue> slots{operand(dst), operand(data), choice("tensor_scalar", "op0", op0), scalarSlot(operand0),
                               SlotValue::of(static_cast<int32_t>(reverse0))};
  if (op1 != "bypass") {
    slots.push_back(choice("tensor_scalar", "op1", op1));
    slots.push_back(scalarSlot(operand1));
    slots.push_back(SlotValue::of(static_cast<int32_t>(reverse1)));
  }
  emit("tensor_scalar", std::move(slots));
}
void KernelBuilder::scalarTensor(const Tile &dst, const Tile &data, std::string_view op0, const ScalarOperand &operand0,
                                 std::string_view op1, const Tile &other) {
  constexpr std::string_view kName = "scalar_tensor_tensor";
  emit(kName, {operand(dst), operand(data), choice(kName, "op0", op0), scalarSlot(operand0), choice(kName, "op1", op1),
               operand(other)});
}
void KernelBuilder::scalarReduce(const Tile &dst, const Tile &data, std::string_view op0, const ScalarOperand &operand0,
                                 std::string_view op, const Tile &result, bool negate, bool goesOn) {
  constexpr std::string_view kName = "tensor_scalar_reduce";
  emit(kName, {operand(dst),
               operand(data),
               choice(kName, "op0", op0),
               scalarSlot(operand0),
               choice(kName, "reduce_op", op),
               choice(kName, "reduce_cmd", goesOn ? "reduce" : "reset_reduce"),
               {},
               result.handle < 0 ? SlotValue() : operand(result),
               SlotValue::of(static_cast<int32_t>(negate))});
}
void KernelBuilder::rangeSelect(const Tile &dst, const Tile &data, const Bound &a, const Bound &b, int64_t first,
                                const Tile &result, bool goesOn) {
  constexpr std::string_view kName = "range_select";
  emit(kName,
       {operand(dst), operand(data), choice(kName, "comp_op0", a.op), operand(a.number), choice(kName, "comp_op1", b.op),
        operand(b.number), SlotValue::of(static_cast<int32_t>(first)), SlotValue::of(-std::numeric_limits<float>::max()),
        choice(kName, "reduce_cmd", goesOn ? "reduce" : "reset_reduce"), result.handle < 0 ? SlotValue() : operand(result)});
}
void KernelBuilder::activation(const Tile &dst, const Tile &data, std::string_view fn, ScalarOperand scale,
                               ScalarOperand bias) {
  std::vector<SlotValue> slots{operand(dst), operand(data), choice("activation", "fn", fn), scalarSlot(scale)};
  if (bias.isTile || bias.number != 0)
    slots.push_back(scalarSlot(bias));
  emit("activation", std::move(slots));
}
void KernelBuilder::activationSum(const Tile &dst, const Tile &data, std::string_view fn, const ScalarOperand &bias,
                                  const Tile &sum, double scale) {
  emit("activation", {operand(dst), operand(data), choice("activation", "fn", fn), SlotValue::of(static_cast<float>(scale)),
                      scalarSlot(bias), choice("activation", "reduce_cmd", "reset_reduce"), operand(sum)});
}
void KernelBuilder::move(const Tile &dst, const Tile &src) { emit("tensor_copy", {operand(dst), operand(src)}); }
void KernelBuilder::fill(const Tile &dst, double value) {
  if (isFloat(dst.dtype))
    return emit("memset", {operand(dst), SlotValue::of(static_cast<float>(value))});
  emit("memset", {operand(dst), SlotValue::of(0.0f), SlotValue::of(static_cast<int32_t>(static_cast<int64_t>(value)))});
}
void KernelBuilder::reduce(const Tile &dst, const Tile &data, std::string_view op, bool negate) {
  emit("tensor_reduce",
       {operand(dst), operand(data), choice("tensor_reduce", "op", op), SlotValue::of(static_cast<int32_t>(negate))});
}
void KernelBuilder::scan(const Tile &dst, const Tile &a, const Tile &b, ScalarOperand initial, std::string_view op0,
                         std::string_view op1) {
  emit("tensor_tensor_scan", {operand(dst), operand(a), operand(b), scalarSlot(initial),
                              choice("tensor_tensor_scan", "op0", op0), choice("tensor_tensor_scan", "op1", op1)});
}
void KernelBuilder::reciprocal(const Tile &dst, const Tile &data) { emit("reciprocal", {operand(dst), operand(data)}); }
void KernelBuilder::select(const Tile &dst, const Tile &predicate, const ScalarOperand &src, bool reverse) {
  emit("tensor_copy_predicated",
       {operand(dst), scalarSlot(src), operand(predicate), SlotValue::of(static_cast<int32_t>(reverse))});
}
static SlotValue pattern(const std::vector<int32_t> &stepsAndCounts) {
  SlotValue out;
  out.kind = SlotValue::Ints;
  out.list.assign(stepsAndCounts.begin(), stepsAndCounts.end());
  return out;
}
void KernelBuilder::iota(const Tile &dst, const std::vector<int32_t> &stepsAndCounts, int32_t offset, int32_t perPartition) {
  emit("iota", {operand(dst), pattern(stepsAndCounts), SlotValue::of(offset), SlotValue::of(perPartition)});
}
void KernelBuilder::choose(const Tile &x, const std::vector<int32_t> &stepsAndCounts, int32_t offset, int32_t perPartition,
                           double number) {
  emit("affine_select",
       {operand(x), operand(x), pattern(stepsAndCounts), SlotValue::of(static_cast<float>(number)),
        choice("affine_select", "cmp", "greater_equal"), SlotValue::of(offset), SlotValue::of(perPartition)});
}
void KernelBuilder::matmul(const Tile &dst, const Tile &stationary, const Tile &moving, bool accumulate, bool ones) {
  std::vector<SlotValue> slots{operand(dst), operand(stationary), operand(moving),
                               SlotValue::of(static_cast<int32_t>(accumulate))};
  if (ones) {
    slots.resize(static_cast<size_t>(findInstruction("nc_matmul")->slot("moving_onezero")));
    slots.push_back(SlotValue::of(1));
  }
  emit("nc_matmul", std::move(slots));
}
void KernelBuilder::transpose(const Tile &dst, const Tile &data) { emit("nc_transpose", {operand(dst), operand(data)}); }

int KernelBuilder::loadRegister(const Tile &element) {
  const int r = t.makeRegister();
  emit("reg_load", {SlotValue::of(t.registerValue(r)), operand(element)});
  return r;
}
int KernelBuilder::registerOp(std::string_view op, int a, int32_t number) {
  const int r = t.makeRegister();
  emit("reg_alu", {SlotValue::of(t.registerValue(r)), choice("reg_alu", "op", op), SlotValue::of(t.registerValue(a)),
                   SlotValue::of(number)});
  return r;
}
int KernelBuilder::registerOpOf(std::string_view op, int a, int b) {
  const int r = t.makeRegister();
  emit("reg_alu", {SlotValue::of(t.registerValue(r)), choice("reg_alu", "op", op), SlotValue::of(t.registerValue(a)),
                   SlotValue::of(t.registerValue(b))});
  return r;
}
int KernelBuilder::loadIndex(const Tile &element, int32_t most) {
  int r = loadRegister(element);
  if (element.dtype == DType::U32) // registers are signed: what looks negative is beyond every limit
    r = registerOpOf("add", registerOp("min", registerOp("max", r, 0), most),
                     registerOp("multiply", registerOp("shift_right", r, 31), most));
  return registerOp("min", registerOp("max", r, 0), most);
}

int KernelBuilder::loop(int64_t count) { return t.loop(count, -1, loc); }
int KernelBuilder::loopOf(int reg) { return t.loop(0, reg, loc); }
void KernelBuilder::endLoop() { t.endLoop(); }
void KernelBuilder::whileNotZero(int reg) { t.whileLoop(reg, loc); }
void KernelBuilder::endWhile() { t.endWhile(); }
int KernelBuilder::makeRegister() { return t.makeRegister(); }
void KernelBuilder::loadInto(int reg, const Tile &element) {
  SlotValue to;
  to.kind = SlotValue::Register;
  to.reg = t.registerValue(reg);
  emit("reg_load", {to, operand(element)});
}

} // namespace glia::emit
