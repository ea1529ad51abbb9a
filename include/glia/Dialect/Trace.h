// Records a kernel, call by call. The Python front is the user of this: it holds handles, never values.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Dialect/Kernel.h"

#include <optional>
#include <vector>

namespace glia::nisa {

class Trace {
public:
  // Throws Error TARGET-UNKNOWN, TRACE-CORES.
  Trace(std::string_view kernel, std::string_view target, int cores);
  ~Trace();

  void schedule(std::string_view name); // setSchedule
  void core(int number);                // following calls belong to this core; HBM tensors are common to the cores
  int tensor(std::string_view kind, std::string_view name, DType dtype, const std::vector<int64_t> &shape, bool shared,
             std::span<const std::byte> data, int loc = 0);
  // What the author promises of the values of an input; checked when the program runs. Throws Error TRACE-PROMISE.
  void promise(int input, std::optional<std::pair<int64_t, int64_t>> range, bool unique);
  // The output begins as the input. Throws Error TRACE-ALIAS if the two are not an output and an input of the same type.
  void begin(int output, int input);
  int alloc(Space space, std::string_view name, DType dtype, const std::vector<int64_t> &shape, int64_t partition,
            int64_t byte, int loc = 0);
  int makeRegister();
  int location(std::string_view file, int line, std::string_view operation);

  // The value of a handle, for building operands. Throws Error TRACE-HANDLE for a bad one.
  mlir::Value tensorValue(int handle) const;
  mlir::Value registerValue(int handle) const;

  // Returns the instruction's number. Throws Error TRACE-SLOT if a value does not suit its slot; hardware rules are checked later.
  int emit(const InstrDef &def, std::vector<SlotValue> values, int engine, int loc, std::string_view name);
  int loop(int64_t count, int countRegister, int loc); // countRegister -1: `count`; returns the counting register
  void endLoop();
  void whileLoop(int reg, int loc);
  void endWhile();
  void chain(bool on);
  void after(int instruction, const std::vector<int> &producers);
  uint64_t instructions() const { return made.size(); }

  Kernel finish(); // the trace is used up

private:
  Kernel kernel;
  mlir::OpBuilder builder;
  std::vector<mlir::Block *> cores;
  std::vector<mlir::Value> objects, registers;
  std::vector<mlir::Location> locations;
  std::vector<mlir::Operation *> made;
  std::vector<std::pair<mlir::Block *, bool>> open; // loops being recorded, true: a while
  int chains = 0;
  bool chaining = false;
  uint64_t hash[2] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu};

  llvm::DenseMap<mlir::Value, uint32_t> numbers; // of objects and registers, in the order they were made

  void number(mlir::Value v) { numbers.try_emplace(v, static_cast<uint32_t>(numbers.size())); }
  void mix(uint64_t v);
  void mix(std::string_view s);
  void mix(const SlotValue &v);
  mlir::Location place(int loc) const;
};

} // namespace glia::nisa
