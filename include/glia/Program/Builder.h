// Makes programs. A compiler, the assembler and the tests use this.
//
//   Builder b(loadTarget("trn2"));
//   ObjectRef x = b.input("x", DType::F32, {128, 512}), y = b.output("y", DType::F32, {128, 512});
//   ObjectRef t = b.sbuf("t", DType::F32, {128, 512}, 0, 0);
//   int loaded = b.semaphore("loaded"), done = b.semaphore("done"), q = b.queue("q");
//   b.emit(Engine::Sync, "dma_copy").set("dst", t).set("src", x).queue(q).then(loaded, 16);
//   b.emit(Engine::Vector, "tensor_scalar").set("dst", t).set("data", t).set("op0", "multiply").set("operand0", 2.0f)
//       .when(loaded, 16).then(done, 1);
//   b.emit(Engine::Sync, "dma_copy").set("dst", y).set("src", t).queue(q).when(done, 1).then(loaded, 16);
//   Program p = b.finish();
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Program/Decode.h"
#include "glia/Program/Program.h"
#include "glia/Program/View.h"

#include <memory>

namespace glia {

class Builder;

// The instruction under construction. It is appended when this object dies (or by `done`).
class Emit {
public:
  Emit(Builder &b, int core, Engine e, const InstrDef &def);
  Emit(Emit &&o) noexcept;
  ~Emit() noexcept(false); // throws Error BUILD-OPERAND if a slot without default is missing
  Emit &set(std::string_view slot, const Access &a);
  Emit &set(std::string_view slot, ObjectRef whole);
  Emit &set(std::string_view slot, float v);
  Emit &set(std::string_view slot, int32_t v);
  Emit &set(std::string_view slot, std::string_view choiceOrText);
  Emit &set(std::string_view slot, const char *choiceOrText) { return set(slot, std::string_view(choiceOrText)); }
  Emit &set(std::string_view slot, std::vector<int32_t> list);
  Emit &reg(std::string_view slot, int number); // RegIn, RegOut, or RegOrInt holding a register
  Emit &value(int slot, const Value &v);        // raw; `list` is copied
  Emit &queue(int queue) { return set("queue", static_cast<int32_t>(queue)); }
  Emit &when(int semaphore, int32_t atLeast, bool consume = false);
  Emit &then(int semaphore, int32_t add);
  Emit &sync(const SyncOp &op); // any other update
  void done();

private:
  friend class Builder;
  Builder *b;
  int core;
  Engine engine;
  const InstrDef *def;
  std::vector<Value> values;
  std::vector<bool> given;
  std::vector<std::vector<uint32_t>> lists;
  std::vector<SyncOp> waits, updates;
  int slotOf(std::string_view name, const char *verb) const;
};

class Builder {
public:
  explicit Builder(std::shared_ptr<const Target> target, int cores = 1);
  ~Builder();
  Builder(const Builder &) = delete;

  ObjectRef input(std::string name, DType t, std::vector<int64_t> shape);
  ObjectRef output(std::string name, DType t, std::vector<int64_t> shape);
  ObjectRef scratch(std::string name, DType t, std::vector<int64_t> shape, bool shared = true);
  ObjectRef constant(std::string name, DType t, std::vector<int64_t> shape, std::span<const std::byte> data);
  ObjectRef tensor(Tensor t);
  ObjectRef sbuf(std::string name, DType t, std::vector<int64_t> shape, int partition, int64_t byteOffset, int core = 0);
  ObjectRef psum(std::string name, DType t, std::vector<int64_t> shape, int partition, int64_t byteOffset, int core = 0);
  ObjectRef allocation(Allocation a);
  int semaphore(std::string name, int32_t initial = 0, int core = 0);
  int queue(std::string name, int core = 0);

  // Views. `slices` are per dimension of the object's shape, missing ones are whole; dims are merged where adjacent.
  Access view(ObjectRef o, std::vector<Slice> slices = {});
  Access view(ObjectRef o, Pattern pattern, int64_t byteOffset, int32_t partition = 0);
  // The same view with a register added to its address.
  Access dynamic(Access a, int reg, int64_t scale, bool partition = false);

  Emit emit(int core, Engine e, std::string_view instruction); // throws Error ISA-UNKNOWN / ISA-REFUSED
  Emit emit(Engine e, std::string_view instruction) { return emit(0, e, instruction); }
  uint32_t nextIndex(int core, Engine e) const; // index the next emitted instruction will have (labels)
  void patchLabel(int core, Engine e, uint32_t index, uint32_t target);

  // Where following instructions come from.
  void origin(std::string_view kernel, std::string_view operation, std::string_view file, uint32_t line);

  uint32_t internPattern(const Pattern &p);
  uint32_t internString(std::string_view s);
  Program &program() { return p; }
  Program finish(); // runs checkStructure

private:
  friend class Emit;
  struct Tables;
  Program p;
  std::unique_ptr<Tables> tables;
  uint32_t currentOrigin = 0;
  void append(Emit &e);
};

} // namespace glia
