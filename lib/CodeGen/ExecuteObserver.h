// Those who look on while a kernel is executed. They see each instruction before and after it, with its operands in memory.
#pragma once
#include "ExecuteMemory.h"
#include "glia/CodeGen/Execute.h"

#include <functional>
#include <memory>

namespace glia::execute {

class Observer {
public:
  virtual ~Observer() = default;
  virtual void allocated(mlir::Value, int /*core*/) {}
  virtual void before(const Bound &, const Moment &) {}
  virtual void after(const Bound &, const Moment &) {}
  virtual void finished() {}
};

// What a kernel consists of, by the numbers that its tracer knows: tensors and allocations, registers, and instructions, in the order of the text.
struct Numbers {
  explicit Numbers(nisa::KernelOp kernel);
  std::vector<mlir::Value> tensors, registers;
  llvm::DenseMap<mlir::Value, uint32_t> tensorOf;
  llvm::DenseMap<mlir::Operation *, uint32_t> instructionOf;
};

// Where the bytes of an operand lie: the source of an exchange is a tensor of the other core.
class Owners {
public:
  Owners(nisa::KernelOp kernel, const Memory &m, const Numbers &n);
  struct Owner {
    Place place;
    uint32_t tensor = 0;
  };
  Owner of(const Bound &x, int slot, int core) const;
  const std::vector<Owner> &all() const { return owners; }

private:
  const Memory &memory;
  const Numbers &numbers;
  std::vector<Owner> owners; // each tensor once per core that has its own
};

int64_t sizeOf(const Place &p);
void copyBytes(const Place &p, std::byte *to);  // row by row
std::vector<std::byte> bytesOf(const Place &p); // the same

// Runs of adjacent bytes of an operand: f(host address, bytes).
void forEachRun(const Region &r, const std::function<void(std::byte *, int64_t)> &f);

// Each writes what it finds into `out`, which outlives it.
using Copy = std::function<void(const Place &, std::byte *to)>; // what a tensor holds by now, at once or later
std::unique_ptr<Observer> captureObserver(const Memory &m, const Numbers &n, Observations &out, Copy copy);
std::unique_ptr<Observer> nanObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out);
std::unique_ptr<Observer> undefinedObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out);

} // namespace glia::execute
