// The text form reads back as the same kernel: for every instruction, with random values in its slots.
#include "glia/Dialect/Instruction.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Random.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace glia;
using namespace glia::nisa;

namespace {

std::string printed(mlir::ModuleOp m, bool locations) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  m->print(stream, mlir::OpPrintingFlags().enableDebugInfo(locations));
  return out;
}

// A kernel with one core, and what its instructions may name.
class RandomKernel {
public:
  explicit RandomKernel(uint64_t seed) : random(seed), context(makeContext()), b(context.get()) {
    module = mlir::ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToEnd(module->getBody());
    auto kernel = KernelOp::create(b, b.getUnknownLoc(), "k", "trn2");
    b.setInsertionPointToEnd(&kernel.getBody().front());
    for (DType t : {DType::F32, DType::I32, DType::BF16, DType::U8}) {
      const auto type = TensorType::get(context.get(), Space::Hbm, t, {6, 4, 1, 10});
      tensors.push_back(
          TensorOp::create(b, b.getUnknownLoc(), "x" + std::to_string(tensors.size()), "input", type).getTensor());
    }
    auto core = CoreOp::create(b, b.getUnknownLoc(), b.getI32IntegerAttr(0));
    b.setInsertionPointToEnd(&core.getBody().emplaceBlock());
    for (DType t : {DType::F32, DType::BF16, DType::I32})
      for (Space space : {Space::Sbuf, Space::Psum}) {
        const auto type = TensorType::get(context.get(), space, t, {128, 3, 8, 5});
        const bool placed = random.chance(50), pinned = placed && random.chance(50);
        tensors.push_back(AllocOp::create(b, b.getUnknownLoc(), type, b.getStringAttr("t"), // the same label for all
                                          placed ? b.getDenseI64ArrayAttr({0, 64}) : mlir::DenseI64ArrayAttr(),
                                          pinned ? b.getUnitAttr() : mlir::UnitAttr(),
                                          random.chance(50) ? b.getDenseI64ArrayAttr({1, 9}) : mlir::DenseI64ArrayAttr())
                              .getTensor());
      }
    const auto reg = RegType::get(context.get());
    for (int i = 0; i < 2; ++i)
      registers.push_back(RegisterOp::create(b, b.getUnknownLoc(), reg).getReg());
    auto loop = LoopOp::create(b, b.getUnknownLoc(), random.chance(50) ? registers[0] : mlir::Value(), mlir::IntegerAttr());
    if (!loop.getCountRegister())
      loop.setCount(7);
    b.setInsertionPointToEnd(&loop.getBody().emplaceBlock());
    registers.push_back(loop.getBody().addArgument(reg, makeLocation(context.get(), "k.py", 3, "for i")));
    auto inner = WhileOp::create(b, b.getUnknownLoc(), registers[1]);
    b.setInsertionPointToEnd(&inner.getBody().emplaceBlock());
  }

  void add(const InstrDef &def, int ordinal) {
    std::vector<SlotValue> values;
    for (const Slot &s : def.slots)
      values.push_back(value(s));
    std::optional<Engine> engine;
    for (int e = 0; e < kNumEngines; ++e)
      if (def.runsOn(static_cast<Engine>(e)) && random.chance(40))
        engine = static_cast<Engine>(e);
    const Instr i =
        createInstruction(b, makeLocation(context.get(), "k.py", ordinal + 1, std::string(def.name)), def, values, engine);
    if (def.name == "nc_matmul" && random.chance(50))
      i.operation()->setAttr("slots", withAuto(i));
    auto sometimes = [&](const char *key, mlir::Attribute a) {
      if (random.chance(30))
        i->setAttr(key, a);
    };
    i->setAttr("id", b.getI32IntegerAttr(ordinal));
    sometimes("name", b.getStringAttr("odd \"name\"\n\xff"));
    sometimes("chain", b.getI32IntegerAttr(2));
    if (ordinal > 1)
      sometimes("after", b.getDenseI32ArrayAttr({ordinal - 1, ordinal - 2}));
    sometimes("waits", b.getDenseI32ArrayAttr({3, 2, 1, 0, -5, 0}));
    sometimes("updates", b.getDenseI32ArrayAttr({4, 16, 5, 1}));
    sometimes("stage", b.getStringAttr("anything else"));
  }

  void check() {
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    for (bool locations : {false, true}) {
      const std::string text = printed(*module, locations);
      EXPECT_EQ(text.find("\"nisa."), std::string::npos) << text; // nothing had to be shown in the generic form
      auto again = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
      ASSERT_TRUE(again) << text;
      EXPECT_EQ(printed(*again, locations), text);
      same(*module, *again, locations);
    }
  }

private:
  // Op by op: attributes are unique in their context, so equal ones are the same.
  static void same(mlir::ModuleOp a, mlir::ModuleOp b, bool locations) {
    auto list = [](mlir::ModuleOp m) {
      std::vector<mlir::Operation *> ops;
      llvm::DenseMap<mlir::Value, size_t> numbers;
      m->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
        ops.push_back(op);
        for (mlir::Region &r : op->getRegions())
          for (mlir::Value v : r.getArguments())
            numbers.try_emplace(v, numbers.size());
        for (mlir::Value v : op->getResults())
          numbers.try_emplace(v, numbers.size());
      });
      return std::pair(ops, numbers);
    };
    auto [x, xNumbers] = list(a);
    auto [y, yNumbers] = list(b);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i]->getName(), y[i]->getName());
      EXPECT_EQ(x[i]->getAttrDictionary(), y[i]->getAttrDictionary()) << x[i]->getName().getStringRef().str();
      EXPECT_EQ(llvm::to_vector(x[i]->getResultTypes()), llvm::to_vector(y[i]->getResultTypes()));
      ASSERT_EQ(x[i]->getNumOperands(), y[i]->getNumOperands());
      for (unsigned k = 0; k < x[i]->getNumOperands(); ++k)
        EXPECT_EQ(xNumbers[x[i]->getOperand(k)], yNumbers[y[i]->getOperand(k)]);
      if (locations)
        EXPECT_EQ(x[i]->getLoc(), y[i]->getLoc());
    }
  }

  Random random;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder b;
  std::vector<mlir::Value> tensors, registers;

  static mlir::ArrayAttr withAuto(Instr i) {
    llvm::SmallVector<mlir::Attribute> slots(i.slots().getValue());
    slots[i.def().slot("accumulate")] = mlir::Builder(i->getContext()).getI32IntegerAttr(kAccumulateAuto);
    return mlir::ArrayAttr::get(i->getContext(), slots);
  }

  TensorOperand sliced(mlir::Value v) {
    const auto type = mlir::cast<TensorType>(v.getType());
    const bool onChip = type.getSpace() != Space::Hbm;
    std::vector<Slice> slices;
    for (int64_t n : type.getShape()) {
      Slice s{0, n, 1};
      if (random.chance(60)) {
        s.start = random.below(n);
        s.stop = random.between(s.start + 1, n);
        if (random.chance(40) && !(onChip && slices.empty()))
          s.step = random.between(1, 3);
      }
      slices.push_back(s);
    }
    const View view = makeView("t", {type.getShape().begin(), type.getShape().end()}, type.getDtype(), onChip, slices);
    TensorOperand t;
    t.tensor = v;
    t.dtype = type.getDtype();
    t.partition = view.partition;
    t.partitions = view.pattern.partitions;
    t.byteOffset = view.byteOffset;
    for (int i = 0; i < view.pattern.rank; ++i)
      t.dims.append({int64_t{view.pattern.dims[i].stride}, int64_t{view.pattern.dims[i].count}});
    return t;
  }

  TensorOperand tensor() {
    TensorOperand t = sliced(random.pick(tensors));
    const bool onChip = t.partitions > 0;
    if (random.chance(30)) { // any pattern at all
      t.dims.clear();
      for (int64_t i = random.between(1, onChip ? 4 : 5); i > 0; --i)
        t.dims.append({random.between(onChip ? -3 : 0, 9), random.between(1, 9)});
      t.byteOffset = random.between(onChip ? -8 : 0, 100);
    }
    if (random.chance(30))
      t.dtype = static_cast<DType>(random.below(kNumDTypes));
    for (int64_t i = random.chance(30) ? random.between(1, 2) : 0; i > 0; --i)
      t.terms.push_back({random.pick(registers), random.between(-2000, 2000), onChip && random.chance(30)});
    return t;
  }

  float number() {
    static constexpr uint32_t kBits[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                         0x7FC00001, 0xFFC00000, 0x7F800001, 1};
    uint32_t bits = static_cast<uint32_t>(random.next());
    if (random.chance(40))
      bits = kBits[random.below(std::size(kBits))];
    float v;
    std::memcpy(&v, &bits, 4);
    return v;
  }

  SlotValue value(const Slot &s) {
    if (s.hasDefault && random.chance(40))
      return {};
    switch (s.kind) {
    case SlotKind::OptIn:
    case SlotKind::OptOut:
      if (random.chance(40))
        return {};
      [[fallthrough]];
    case SlotKind::In:
    case SlotKind::Out:
    case SlotKind::InOut: return SlotValue::of(tensor());
    case SlotKind::OptScalar:
      if (random.chance(40))
        return {};
      [[fallthrough]];
    case SlotKind::Scalar: return random.chance(50) ? SlotValue::of(tensor()) : SlotValue::of(number());
    case SlotKind::Float: return SlotValue::of(number());
    case SlotKind::Enum:
      return SlotValue::of(static_cast<int32_t>(random.below(static_cast<int64_t>(s.names->names.size()))));
    case SlotKind::Flag: return SlotValue::of(static_cast<int32_t>(random.below(2)));
    case SlotKind::Small: return SlotValue::of(static_cast<int32_t>(random.below(256)));
    case SlotKind::Int: return SlotValue::of(static_cast<int32_t>(random.next()));
    case SlotKind::RegOrInt:
      if (random.chance(50))
        return SlotValue::of(static_cast<int32_t>(random.next()));
      [[fallthrough]];
    case SlotKind::RegIn:
    case SlotKind::RegOut: return SlotValue::of(random.pick(registers));
    case SlotKind::Ints: {
      SlotValue v;
      v.kind = SlotValue::Ints;
      for (int64_t i = random.below(5); i > 0; --i)
        v.list.push_back(static_cast<int32_t>(random.next()));
      return v;
    }
    case SlotKind::Text: return SlotValue::of(std::string("a \"text\" \\ \t\x01 \xc3\xa9"));
    case SlotKind::Queue:
    case SlotKind::Label: return random.chance(50) ? SlotValue{} : SlotValue::of(static_cast<int32_t>(random.below(16)));
    }
    return {};
  }
};

} // namespace

TEST(NisaText, EveryInstructionReadsBack) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomKernel k(seed);
    int ordinal = 0;
    for (const InstrDef *d : allInstructions())
      if (d->unit != Unit::Control)
        k.add(*d, ordinal++);
    EXPECT_GE(ordinal, 30);
    k.check();
    if (HasFatalFailure())
      return;
  }
}

// What a slice means is what the builder of programs makes of it; where it is one, it is shown as one.
TEST(NisaText, SlicesAreRecognised) {
  const char *text = R"(nisa.kernel @k target "trn1" {
  %x = tensor input : f32[6, 4, 10]
  core 0 {
    %t = alloc sbuf : f32[128, 4, 10]
    dma_copy dst=%t src=%x
    dma_copy dst=%t[0:64] src=%x[3]
    dma_copy dst=%t[:, 1:3, 0:10:2] src=%x[:, 0:4:2]
    dma_copy dst=%t[5, 2, 7] src=%x[0, 0, 0:10:3]
    dma_copy dst=%t:i32[1:2, 3] src=%x[5, 3, 9]
  }
}
)";
  Kernel k = parseKernel(text, "k.nisa");
  std::string expected = text;
  const std::string oneLane = "%t:i32[1:2, 3]"; // a slice of one is an index
  expected.replace(expected.find(oneLane), oneLane.size(), "%t:i32[1, 3]");
  EXPECT_EQ(k.text(), expected);
}

TEST(NisaText, ManyLoopsAreNotDeep) {
  std::string text = "nisa.kernel @k target \"trn2\" {\ncore 0 {\n%t = alloc sbuf : f32[32, 8]\n";
  for (int i = 0; i < 300; ++i)
    text += "loop %i < 3 {\nmemset dst=%t value=1.0 on vector\n}\n";
  EXPECT_NO_THROW(parseKernel(text + "}\n}\n", "k.nisa"));
}

TEST(NisaText, DeepNestingIsRefused) {
  std::string text = "nisa.kernel @k target \"trn1\" {\ncore 0 {\n";
  for (int i = 0; i < 100000; ++i)
    text += "loop %i" + std::to_string(i) + " < 2 {\n";
  EXPECT_THROW(parseKernel(text, "k.nisa"), Error);
  EXPECT_THROW(parseKernel(std::string(100000, '['), "k.nisa"), Error);
  EXPECT_THROW(parseKernel("\"nisa.kernel\"() <{a = " + std::string(100000, '[') + "}>", "k.nisa"), Error);
}

TEST(NisaText, ErrorsHaveAPlaceAndACaret) {
  try {
    parseKernel("nisa.kernel @k target \"trn1\" {\n  core 0 {\n    memset dts=%t\n  }\n}\n", "bad.nisa");
    FAIL();
  } catch (const Error &e) {
    ASSERT_EQ(e.diagnostics().size(), 1u);
    const auto &d = e.diagnostics()[0];
    EXPECT_EQ(d.code, "NISA-SYNTAX");
    EXPECT_EQ(d.place.file, "bad.nisa");
    EXPECT_EQ(d.place.line, 3u);
    EXPECT_EQ(d.place.column, 12u);
    ASSERT_GE(d.notes.size(), 2u);
    EXPECT_EQ(d.notes[0], "    memset dts=%t");
    EXPECT_EQ(d.notes[1], "           ^");
  }
}

TEST(NisaText, PlacesThatTheTextClaimsAreNotTrusted) {
  const char *text =
      "nisa.kernel @k target \"trn1\" {\n  core 0 {\n    %t = alloc sbuf : f32[8, 8]\n  } loc(\"bad.nisa\":1:4294967295)\n"
      "  core 2 {\n  } loc(\"bad.nisa\":2:4294967295)\n}\n";
  try {
    parseKernel(text, "bad.nisa");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].place.column, 4294967295u);
    EXPECT_EQ(e.diagnostics()[0].notes.size(), 1u); // the line, no caret
  }
  EXPECT_THROW(parseKernel("ML\xefRxyz", "bad.nisa"), Error);
}
