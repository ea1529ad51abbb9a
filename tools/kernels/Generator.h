// What the parts of the generator share: the tensors of the kernel under construction, random views of them, and which of their
// bytes are defined. Instructions are written down in the order in which they mean something; nothing here orders them.
#pragma once
#include "../Choices.h"
#include "Generate.h"
#include "glia/Dialect/Trace.h"

#include <bitset>
#include <deque>
#include <map>
#include <set>

namespace glia::kernels {

using nisa::SlotValue;
struct Step { // of an access pattern: elements apart, how often
  int64_t stride, count;
};

using namespace choices; // types of every target, and operations

struct Tile { // a tensor on chip, or the part of one that is used
  int handle = 0;
  Space space = Space::Sbuf;
  int core = 0;
  DType dtype = DType::F32;
  int partitions = 1, first = 0; // usable, and where the first one lies
  int64_t elements = 1;          // usable, per partition
  int64_t memory = 0;            // tiles of the same number share memory
  int64_t start = 0;             // byte in that memory
  size_t scope = 0;              // loops around its allocation
  bool pinned = false;
  bool defined = false;  // every usable byte is
  bool sum = false;      // PSUM: all of it was last written by matmuls, so that another may add to it
  bool reserved = false; // not for everybody
  bool dead = false;     // not used any more
  bool big = false;      // there to make memory scarce: not in loops
  bool held = false;     // dead, but a loop that is not over uses it
  int64_t taken = 0;     // bytes per partition, with what is never used
  int64_t bytes() const { return elements * sizeOf(dtype); }
};

struct Hbm {
  int handle = 0;
  DType dtype = DType::F32;
  int64_t elements = 1;
};

struct View {
  nisa::TensorOperand operand;
  Tile *tile = nullptr; // null: HBM
  int64_t memory = 0;
  int first = 0, last = 1;
  std::vector<std::pair<int64_t, int64_t>> runs; // bytes, sorted
};
bool overlap(const View &a, const View &b);

class Generator;

// An instruction under construction.
class Draft {
public:
  Draft(int core, int engine, std::string_view name);
  Draft &in(std::string_view slot, const View &v);
  Draft &out(std::string_view slot, const View &v);
  Draft &inout(std::string_view slot, const View &v);
  Draft &set(std::string_view slot, float v);
  Draft &set(std::string_view slot, int32_t v);
  Draft &set(std::string_view slot, const char *choice); // a choice by name, or text
  Draft &set(std::string_view slot, std::vector<int32_t> list);
  Draft &reg(std::string_view slot, mlir::Value r);
  bool clear(const View &v) const; // it meets none of the operands so far
  const InstrDef &def;
  const int core;
  const int engine;
  bool open = true; // the engine may be left to the compiler
  bool undefined = false;
  bool matmul = false; // leaves sums in PSUM
  int psumInputs = 0;
  std::vector<SlotValue> values;
  std::vector<View> reads, writes;

private:
  SlotValue &at(std::string_view slot);
};

enum { TENSOR, VECTOR, SCALAR, GPSIMD, SYNC };

class Generator {
public:
  Generator(const std::shared_ptr<const Target> &target, Random &random, int cores);
  const Target &target;
  Random &r;
  const int cores;
  nisa::Trace t;
  TensorData inputs;
  std::deque<Tile> tiles;

  // ---- memory (Generator.cpp)
  Tile &allocate(int core, Space space, DType type, int partitions, int64_t elements, bool plain = false);
  Tile &pinned(int core, Space space, DType type, int first, int partitions, int64_t byte, int64_t elements);
  void retire();
  Hbm input(DType type, std::vector<int64_t> shape);
  Hbm rangedInput(DType type, std::vector<int64_t> shape, int64_t lo, int64_t hi, bool unique = false);
  Hbm constant(DType type, std::vector<int64_t> shape, int64_t lo = 0, int64_t hi = 99);
  Hbm output(DType type, std::vector<int64_t> shape);
  Hbm updated(DType type, std::vector<int64_t> shape); // an output that begins as an input
  Hbm scratch(DType type, std::vector<int64_t> shape, bool shared = true);

  // ---- views
  View view(Tile &tile, const std::vector<Step> &dims, int64_t element = 0, int partition = 0, int partitions = 0);
  View whole(Tile &tile) { return view(tile, {{1, tile.elements}}); }
  View cast(View v, DType type) { // the same elements with another type of the same size
    v.operand.dtype = type;
    return v;
  }
  View view(const Hbm &h, const std::vector<Step> &dims, int64_t element = 0);
  View wholeOf(const Hbm &h) { return view(h, {{1, h.elements}}); }
  View randomView(Tile &tile, int p, int64_t n, bool source, bool engine);
  View randomView(const Hbm &h, int64_t rows, int64_t n, int64_t pitch, bool source);
  View moved(View v, mlir::Value reg, int64_t bytes, bool partition = false); // its runs become all of the tensor

  // ---- instructions
  Tile &source(int core, Space space, const Types &types, int p, int64_t n, bool defined = false);
  View in(Draft &d, std::string_view slot, const Types &types, int p, int64_t n, bool psum = true);
  View out(Draft &d, std::string_view slot, const Types &types, int p, int64_t n, bool psum = true);
  int add(Draft &d);
  void fill(Tile &tile);
  void load(Tile &tile);
  void store(Tile &tile);
  int partitions();
  DType type(const Types &types) { return r.pick(types); }
  bool has(const char *feature) const { return target.has(feature); }
  bool inLoop() const { return !loops.empty(); }
  mlir::Value reg() { return t.registerValue(t.makeRegister()); }
  void go(int core);
  int dmaEngine();
  void dge(Draft &d, bool casts);
  void zero(const Hbm &y, int core); // all of it, from a constant

  // ---- the parts
  void compute(int core); // Elementwise.cpp
  void reduce(int core);  // Reduce.cpp
  void activation(int core);
  void vectorExtras(int core);
  void matmul(int core); // Matrix.cpp
  void transpose(int core);
  void gpsimd(int core);                                                          // GpSimd.cpp
  void accumulate(int core, Tile &sum, mlir::Value iv = {}, int64_t columns = 0); // Accumulate.cpp
  void firstWrites(int core);
  void transfer(int core); // Transfers.cpp
  void gather(int core);
  void transposedRows(int core);
  void aliases(int core); // Memory.cpp
  void pressure(int core);
  void crowd(int core); // before anything else
  void uncrowd(int core);
  void registers(int core); // Control.cpp
  // Proved: also for the verifier, as addresses of engines must be.
  mlir::Value loaded(int core, int64_t lo, int64_t hi, bool proved = false);
  void loop(int core);
  void any(int core); // something that may stand anywhere
  void meet();        // Cores.cpp
  void exchange();
  void meetInLoop();
  void collective();
  void barrier(int core, const std::string &name);

  struct Loop { // as things were when it began: it may not run
    std::set<const Tile *> sums;
    std::bitset<128> accumulators[5];
  };
  std::vector<Loop> loops;
  void beginLoop(int core);
  void endLoop(int core);
  std::bitset<128> accumulator[2][5]; // lanes that hold something, by core and engine
  std::set<int> setsUsed[2];

private:
  int current = 0;
  int names = 0;
  std::vector<int> made[2]; // instructions of each core
  int64_t memories = 0;
  std::map<std::pair<int, Space>, int64_t> pinTop; // bytes given to pinned tiles
  int64_t room = 0;                                // bytes of SBUF that are left; 0: all of it is
  Tile *ballast[2] = {};                           // what takes the rest, by core
  std::string name(const char *prefix);
  bool pinSomewhere(Tile &tile, int64_t bytes);
  int64_t psumInUse(int core) const;
  Hbm tensor(const char *kind, const char *prefix, DType type, const std::vector<int64_t> &shape, bool shared,
             std::vector<std::byte> data = {});
};

} // namespace glia::kernels
