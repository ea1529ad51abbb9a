// What PSUM holds as a pass walks over a kernel: the state of every allocation, what an instruction does to it, and which
// memsets of zeros are read.
#pragma once
#include "PsumState.h"
#include "glia/Dialect/Instruction.h"

#include <map>
#include <optional>

namespace glia::nisa {

// By number of the allocation, so that nothing depends on addresses of the host.
using PsumStates = std::map<int, PsumState>;

class PsumContents {
public:
  static bool isPsum(mlir::Value tensor) {
    return tensor && llvm::cast<TensorType>(tensor.getType()).getSpace() == Space::Psum;
  }
  static Touched whole(mlir::Value tensor);

  void enter(CoreOp core); // looks which allocations lie on the same bytes
  int numberOf(mlir::Value tensor);
  void allocate(PsumStates &s, mlir::Value tensor); // a new allocation: nothing was written
  PsumState &held(PsumStates &s, mlir::Value tensor);
  // The bytes an operand touches; nothing if a register moves it to where we cannot say.
  std::optional<Touched> touched(Instr i, int slot) const;
  // The states of what a loop touches: the others do not change in it.
  PsumStates usedIn(mlir::Operation *loop, const PsumStates &s);

  void read(const Box &b); // somebody looks at these bytes: the memset that wrote them is needed
  void reads(Instr i, int slot, PsumStates &s);
  void writes(Instr i, int slot, PsumState &s); // by something that is no accumulating matmul
  // Replaces what is held. Where it is not known which elements are written, each is as before or changed.
  template <class To> void change(PsumState &s, mlir::Value tensor, const std::optional<Touched> &t, To &&to) {
    s.change(t ? *t : whole(tensor), [&](Box &b) {
      const Box before = b;
      to(b);
      if (!t && (b.held != before.held || b.memset != before.memset)) {
        read(before), read(b); // either may still be there when somebody looks
        b.held = Held::Unknown;
        b.memset = -1;
      }
    });
  }
  void join(PsumState &s, const PsumState &other);

  // Takes out every memset of zeros that was seen and that nobody reads.
  void eraseUnread(KernelOp kernel);

  // Allocation -> iterator of the loop that moves a window over it (PsumWindow.h): operands are relative to the window.
  llvm::DenseMap<mlir::Value, mlir::Value> windows;

private:
  llvm::DenseMap<mlir::Value, int> numbers;
  llvm::DenseSet<mlir::Value> shared; // another allocation lies on the same bytes
  std::vector<bool> needed;           // by number of the memset
  int memsetNumber(Instr i);
};

} // namespace glia::nisa
