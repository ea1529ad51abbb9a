// What the parts of the generator share: the buffers of the program under construction and random views of them.
#pragma once
#include "../Choices.h"
#include "Schedule.h"

#include <map>

namespace glia::mutants {

struct Buffer { // an allocation
  ObjectRef ref;
  Space space = Space::Sbuf;
  int core = 0;
  DType dtype = DType::F32;
  int partitions = 1, first = 0;
  int64_t elements = 1, offset = 0; // per partition; byte of its start
  bool defined = false;             // every byte is
  bool dead = false;                // another allocation took its place
  bool reserved = false;            // belongs to a loop, or holds indices: not for everybody
  int64_t bytes() const { return elements * sizeOf(dtype); }
};

struct Hbm { // a tensor
  ObjectRef ref;
  DType dtype = DType::F32;
  int64_t elements = 1;
  int core = -1; // private to this core, or shared
};

using namespace choices;    // types of every target, and operations
const Types &newestTypes(); // computeTypes and f8e4m3fn

// An instruction and the buffers it writes, so that undefined bytes are followed.
struct Draft {
  Draft(int core, Engine e, std::string name) : op(core, e, std::move(name)) {}
  Op op;
  std::vector<std::pair<Buffer *, bool>> outs; // and whether all of it is written
  bool undefined = false;                      // a source is
  int psumInputs = 0;
};

class Generator {
public:
  Generator(const std::shared_ptr<const Target> &target, Random &random, int cores)
      : target(*target), r(random), cores(cores), b(target, cores), s(b, random) {}
  const Target &target;
  Random &r;
  const int cores;
  Builder b;
  Schedule s;
  std::deque<Buffer> buffers;

  // ---- memory (Generator.cpp)
  Buffer &allocate(int core, Space space, DType t, int partitions, int64_t elements);
  void retire();
  Hbm tensor(const char *prefix, TensorKind kind, DType t, std::vector<int64_t> shape, bool shared = true, int core = -1);
  Hbm rangedInput(std::vector<int64_t> shape, DType t, int64_t lo, int64_t hi, bool unique = false);
  int queue(int core, Engine e);
  int dmaEngine(int core);     // a random engine, as an int
  int reg(int core, Engine e); // a register that nobody uses at the moment

  // ---- views
  Operand view(const Buffer &buf, const std::vector<Dim> &dims, int64_t element = 0, int partition = 0, int partitions = 0);
  Operand whole(const Buffer &buf) { return view(buf, {{1, static_cast<uint32_t>(buf.elements)}}); }
  Operand cast(const Buffer &buf, const Operand &o, DType t); // the same elements with another type of the same size
  Operand view(const Hbm &t, const std::vector<Dim> &dims, int64_t element = 0);
  // n elements on p partitions; destinations name each element once.
  Operand randomView(const Buffer &buf, int p, int64_t n, bool source, bool engine);
  Operand randomView(const Hbm &t, int64_t rows, int64_t n, int64_t pitch, bool source);
  // The view moves by a register: its value is `at` now, or anything from lo to hi. `step` elements per unit.
  Operand moved(const Operand &o, int reg, int64_t stepBytes, int64_t lo, int64_t hi);

  // ---- instructions
  Buffer &source(int core, Space space, const Types &types, int p, int64_t n, bool defined = false);
  Operand in(Draft &d, const char *slot, const Types &types, int p, int64_t n, bool psum = true);
  Operand out(Draft &d, const char *slot, const Types &types, int p, int64_t n, bool psum = true);
  void write(Draft &d, const char *slot, Buffer &buf, const Operand &o);
  int add(Draft &d);
  void fill(Buffer &buf); // defines all of it
  Op dma(int core, Engine e) { return Op(core, e, "dma_copy"); }
  DType type(const Types &types) { return r.pick(types); }
  int partitions(); // a size
  bool has(const char *feature) const { return target.has(feature); }

  // ---- the parts
  void compute(int core); // GenerateCompute.cpp
  void vectorExtras(int core);
  void matmul(int core); // GenerateMatrix.cpp
  void gpsimd(int core); // GenerateGpSimd.cpp
  void activation(int core);
  void load(Buffer &buf); // GenerateTransfers.cpp
  void store(Buffer &buf);
  void transfer(int core);
  void gather(int core);
  Hbm scratch(DType t, std::vector<int64_t> shape, bool shared, int core);
  void passThrough(int core);
  void transposedRows(int core);
  void registers(int core); // GenerateControl.cpp
  void copyMoved(int core, Engine e, int reg, int64_t n, int64_t steps, int p);
  void branch(int core);
  void loop(int core);         // GenerateLoops.cpp
  void repeat(int core);       // GenerateWhile.cpp
  void streamInLoop(int core); // GenerateStreams.cpp
  void unrolledLoop(int core);
  void exchange(); // GenerateCores.cpp
  void meet();
  void meetInLoop();
  void collective();
  void table(int core, std::string_view fn);  // loads the set of a function if need be
  bool canUse(int core, std::string_view fn); // within the number of sets

private:
  std::map<std::pair<int, int>, int64_t> top; // (core, space): first free byte
  std::vector<Buffer *> retired;
  std::vector<std::pair<int, Hbm>> scratches;
  std::map<std::pair<int, int>, std::vector<int>> queues;
  std::map<std::pair<int, int>, int> registersUsed;
  std::map<int, std::vector<std::string>> setsLoaded;
  std::map<int, std::string> resident;
  int queueCount[2] = {0, 0};
  const int registersInUse = static_cast<int>(r.between(10, 64));
  int names = 0;
};

} // namespace glia::mutants
