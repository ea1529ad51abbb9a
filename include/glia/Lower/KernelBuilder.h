// Writes kernels from C++, the way an NKI author writes them from Python: tiles on chip, views of them, instructions in order.
//
//   KernelBuilder k("add", "trn2");
//   Tile x = k.input("x", DType::F32, {128, 512}), y = k.output("y", DType::F32, {128, 512});
//   Tile t = k.sbuf(DType::F32, 128, {512});
//   k.copy(t, x);                                   // a DMA
//   k.scalar(t, t, "multiply", 2.0f);
//   k.copy(y, t);
//   nisa::Kernel kernel = k.finish();
#pragma once
#include "glia/Dialect/Trace.h"
#include "glia/Target/Target.h"

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace glia::emit {

// A tensor, or a part of one. On chip the partitions stand apart; `dims` are the free dimensions (in HBM: all), slowest first.
// Views are cheap values; nothing is emitted when they are made.
class Tile {
public:
  int handle = -1;
  Space space = Space::Hbm;
  DType dtype = DType::F32;
  int32_t partition = 0, partitions = 0; // in HBM 0
  int64_t offset = 0;                    // elements
  struct Dim {
    int64_t stride = 1, count = 1; // elements
  };
  std::vector<Dim> dims;
  struct Move {
    int reg;
    int64_t stride; // elements
  };
  std::vector<Move> moves; // in HBM: registers that move the whole tile, in a run-time loop

  bool onChip() const { return space != Space::Hbm; }
  int64_t elements() const;                     // per partition; in HBM all
  int64_t runs() const;                         // stretches without a gap
  std::vector<int64_t> shape() const;           // of dims
  Tile rows(int64_t from, int64_t count) const; // on chip: partitions; in HBM: the first dimension
  Tile part(int dim, int64_t from, int64_t count, int64_t step = 1) const; // of one of `dims`
  Tile columns(int64_t from, int64_t count) const { return part(static_cast<int>(dims.size()) - 1, from, count); }
  Tile index(int dim, int64_t i) const; // drops the dimension
  Tile permuted(std::initializer_list<int> order) const;
  Tile permuted(const std::vector<int> &order) const;
  Tile broadcast(int dim,
                 int64_t count) const; // a dimension of size 1 (or a new one, dim == dims.size()) read `count` times
  Tile inserted(int dim, int64_t count = 1) const;        // a new dimension before `dim`, stride 0
  Tile reshaped(const std::vector<int64_t> &shape) const; // throws std::logic_error if the strides do not allow it
  Tile as(DType t) const;                                 // other type of the same size
};

// A number or one fp32 element per partition.
struct ScalarOperand {
  ScalarOperand(float v) : number(v) {}
  ScalarOperand(double v) : number(static_cast<float>(v)) {}
  ScalarOperand(int v) : number(static_cast<float>(v)) {}
  ScalarOperand(Tile t) : tile(std::move(t)), isTile(true) {}
  float number = 0;
  Tile tile;
  bool isTile = false;
};

// Of what a transfer writes to HBM. The verifier knows exactly what it writes as long as it is not in more pieces; others may write
// between them.
inline constexpr int64_t kMostRuns = 4096;

class KernelBuilder {
public:
  KernelBuilder(std::string_view name, const std::string &target, int cores = 1);

  const Target &target() const { return *machine; }
  bool fewTables = false;            // of functions: other kernels of the program, which we did not write, need theirs
  void location(mlir::Location loc); // of following instructions
  void location(std::string_view file, int line, std::string_view operation);

  Tile input(std::string_view name, DType t, std::vector<int64_t> shape);
  Tile output(std::string_view name, DType t, std::vector<int64_t> shape);
  // Equal ones are one tensor. The name is made its own if it is taken.
  Tile constant(std::string_view name, DType t, std::vector<int64_t> shape, std::span<const std::byte> data);
  Tile scratch(DType t, std::vector<int64_t> shape); // in HBM
  Tile sbuf(DType t, int64_t partitions, std::vector<int64_t> free);
  // `at`: the byte of its partitions from which on it lies; -1: where there is room.
  Tile psum(int64_t partitions, std::vector<int64_t> free, DType t = DType::F32, int64_t at = -1);

  // Transfers. Element k of dst is element k of src, in row-major order with partitions outermost; types may differ.
  void copy(const Tile &dst, const Tile &src);
  void gather(const Tile &dst, const Tile &src, const Tile &index, int64_t stride,
              bool skip = false); // row i from src + index[i] * stride
  void scatter(const Tile &dst, const Tile &index, const Tile &src, int64_t stride, bool skip = false);
  // dst[c, m, r] = src[r, m, c]: src in row-major order, `middle` elements between its first and its last dimension.
  void transposeByDma(const Tile &dst, const Tile &src, int64_t middle = 1);

  // Compute. `op` is a name of `alu_op`, `fn` one of `activation` (glia isa tensor_tensor, activation).
  void tensor(const Tile &dst, const Tile &a, const Tile &b, std::string_view op, int engine = -1);
  void scalar(const Tile &dst, const Tile &data, std::string_view op0, ScalarOperand operand0, bool reverse0 = false,
              std::string_view op1 = "bypass", ScalarOperand operand1 = 0.0f, bool reverse1 = false);
  // dst = (data op0 operand0) op1 other, in one instruction.
  void scalarTensor(const Tile &dst, const Tile &data, std::string_view op0, const ScalarOperand &operand0,
                    std::string_view op1, const Tile &other);
  // dst = data op0 operand0, and of each partition of dst a reduction, which may go on from the instruction before; no `result`: the next
  // one goes on.
  void scalarReduce(const Tile &dst, const Tile &data, std::string_view op0, const ScalarOperand &operand0,
                    std::string_view op, const Tile &result, bool negate = false, bool goesOn = false);
  // dst = data where first + i compares as told with a number per partition, and with another; elsewhere the lowest number. And the largest
  // of each partition, as above.
  struct Bound {
    std::string_view op;
    Tile number;
  };
  void rangeSelect(const Tile &dst, const Tile &data, const Bound &a, const Bound &b, int64_t first, const Tile &result,
                   bool goesOn = false);
  void activation(const Tile &dst, const Tile &data, std::string_view fn, ScalarOperand scale = 1.0f,
                  ScalarOperand bias = 0.0f);
  // dst = fn(data * scale + bias), and the sum of each partition before it is rounded.
  void activationSum(const Tile &dst, const Tile &data, std::string_view fn, const ScalarOperand &bias, const Tile &sum,
                     double scale = 1);
  void move(const Tile &dst, const Tile &src);                                              // tensor_copy, on chip
  void fill(const Tile &dst, double value);                                                 // integers: any of 32 bits
  void reduce(const Tile &dst, const Tile &data, std::string_view op, bool negate = false); // adjacent groups of elements
  // dst[i] = (a[i] op0 dst[i-1]) op1 b[i] along each partition, from `initial`.
  void scan(const Tile &dst, const Tile &a, const Tile &b, ScalarOperand initial, std::string_view op0,
            std::string_view op1);
  void reciprocal(const Tile &dst, const Tile &data);
  void select(const Tile &dst, const Tile &predicate, const ScalarOperand &src,
              bool reverse = false); // tensor_copy_predicated
  void iota(const Tile &dst, const std::vector<int32_t> &stepsAndCounts, int32_t offset, int32_t perPartition);
  // Elements of a tile in SBUF become a number where offset + partition * perPartition + steps is less than 0.
  void choose(const Tile &x, const std::vector<int32_t> &stepsAndCounts, int32_t offset, int32_t perPartition,
              double number);
  // dst[m, n] (+)= sum_k stationary[k, m] moving[k, n]; `ones`: moving has nothing but 0 and 1, which takes fp32 fewer passes.
  void matmul(const Tile &dst, const Tile &stationary, const Tile &moving, bool accumulate, bool ones = false);
  void transpose(const Tile &dst, const Tile &data); // on the Tensor or Vector engine
  // Anything else: slots in the definition's order.
  void emit(std::string_view instruction, std::vector<nisa::SlotValue> slots, int engine = -1);
  nisa::SlotValue operand(const Tile &t) const;

  // Registers: 32 bits, wrapping, that addresses and loops read. Each operation makes a new one; `op` is a name of `register_op`.
  int loadRegister(const Tile &element); // narrow integers are extended
  int registerOp(std::string_view op, int a, int32_t number);
  int registerOpOf(std::string_view op, int a, int b); // of two registers
  // clamp(0, element, most) of an integer, unsigned or signed: an address that it moves is proved to stay inside.
  int loadIndex(const Tile &element, int32_t most);
  int loop(int64_t count); // a run-time loop; returns the register that counts
  int loopOf(int reg);     // as often as a register says
  void endLoop();
  void whileNotZero(int reg); // the body sets the register anew
  void endWhile();
  int makeRegister();
  void loadInto(int reg, const Tile &element); // narrow integers are extended
  nisa::Trace &trace() { return t; }
  nisa::Kernel finish() { return t.finish(); }

private:
  std::shared_ptr<const Target> machine;
  nisa::Trace t;
  int loc = 0, names = 0;
  std::map<std::string, Tile> constants; // by type, shape and bytes
  std::set<std::string, std::less<>> constantNames;
  llvm::DenseMap<mlir::Attribute, int> locations;
  nisa::SlotValue scalarSlot(const ScalarOperand &s) const;
  nisa::SlotValue choice(std::string_view instruction, std::string_view slot, std::string_view name) const;
};

} // namespace glia::emit
