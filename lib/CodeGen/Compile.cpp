// The pipeline. Stages are functions on the kernel; `dump` shows the kernel after each.
#include "glia/CodeGen/Compile.h"
#include "Contract.h"
#include "EmitProgram.h"
#include "Transforms/Remarks.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Transforms/BeginOutputs.h"
#include "glia/Transforms/ChooseEngines.h"
#include "glia/Transforms/ResolveAccumulation.h"

#include "mlir/IR/Verifier.h"

#include <filesystem>
#include <fstream>
#include <optional>

namespace glia {

void prepareKernel(nisa::Kernel &k) { chooseEngines(k.op()); }

namespace {

void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush())
    throw Error("DUMP-WRITE", format("cannot write %s", path.c_str()), "Check that the folder exists and has room.");
}

// Writes the kernel after each stage into a folder: 00-traced.nisa, 01-engines.nisa ... What a stage left is checked there, where it
// is looked at: of a large kernel a check costs as much as a stage, and the program that comes out is checked in any case.
class Stages {
public:
  Stages(nisa::Kernel &k, std::string folder) : k(k), folder(std::move(folder)) {
    if (!this->folder.empty())
      std::filesystem::create_directories(this->folder);
  }
  void done(const char *name) {
    checkpoint();
    if (folder.empty())
      return;
    if (mlir::failed(mlir::verify(k.module.get())))
      throw std::runtime_error(format("stage `%s` left an invalid kernel", name));
    writeFile(std::filesystem::path(folder) / format("%02d-%s.nisa", number++, name), k.text());
  }

private:
  nisa::Kernel &k;
  std::string folder;
  int number = 0;
};

// False: what was tried made the kernel too large for its memory.
bool place(nisa::KernelOp op, const Target &target, bool tried) {
  try {
    allocateMemory(op, target);
  } catch (const Error &) {
    if (tried)
      return false;
    throw;
  }
  return !(tried && op->hasAttr("spills"));
}

// What is tried, and given up if it does not fit.
struct Tried {
  bool keep = true;   // tiles stay longer
  bool order = false; // an order comes before memory
};

// Nothing: what is tried does not fit.
std::optional<Program> compileStages(nisa::Kernel &k, const CompileOptions &options, Tried tried) {
  const nisa::KernelOp op = k.op();
  const std::shared_ptr<const Target> target = loadTarget(const_cast<nisa::KernelOp &>(op).getTarget().str());
  Stages stages(k, options.dump);
  stages.done("traced");
  beginOutputs(op);
  chooseEngines(op);
  stages.done("engines");
  resolveAccumulation(op);
  stages.done("accumulation");
  if (k.op().asWritten())
    addRemark(op, "kept the order, the engines and the loads as written");
  bool kept = tried.keep && keepTiles(op, *target);
  stages.done("tiles");
  unrollLoops(op, *target);
  if (tried.keep && !k.op().asWritten())
    kept |= renameInLoops(op) > 0;
  stages.done("loops");
  if (tried.order) {
    if (!orderBeforeMemory(op, *target))
      return std::nullopt;
    addRemark(op, "put instructions in order before it gave out memory");
    stages.done("order");
  }
  mergeAliases(op);
  if (!place(op, *target, kept || tried.order))
    return std::nullopt;
  stages.done("memory");
  replicateRegisters(op);
  scheduleKernel(op, *target);
  stages.done("schedule");
  placeActivationTables(op, *target);
  stages.done("tables");
  insertSemaphores(op, *target);
  stages.done("semaphores");
  Program p = codegen::emitProgram(op, target);
  codegen::addContract(p, op);
  return p;
}

Program compileFirst(nisa::Kernel &k, const CompileOptions &options) {
  nisa::Kernel work = k.clone();
  if (std::optional<Program> p = compileStages(work, options, {.keep = options.keepTiles}))
    return std::move(*p);
  work = k.clone();
  return *compileStages(work, options, {.keep = false});
}

// The order before memory is better where tiles are what instructions wait for, and worse where it brings tiles together that need
// not be: the predicted time decides.
Program compileBest(nisa::Kernel &k, const CompileOptions &options) {
  Program first = compileFirst(k, options);
  if (!options.tryOrders || !hasFreeOrder(k.op()))
    return first;
  try {
    nisa::Kernel work = k.clone();
    std::optional<Program> other = compileStages(work, {}, {.keep = true, .order = true});
    if (!other || simulateTime(*other).total >= simulateTime(first).total)
      return first;
    if (!options.dump.empty()) { // once more, to show how
      work = k.clone();
      other = compileStages(work, options, {.keep = true, .order = true});
    }
    return std::move(*other);
  } catch (const Error &) { // it does not end, or the other order cannot be written: what is wrong is said of the first
    return first;
  }
}

} // namespace

Program compileKernel(nisa::Kernel &k, const CompileOptions &options) {
  try {
    return compileBest(k, options);
  } catch (const Error &) {
    throw; // the user's
  } catch (const Interrupted &) {
    throw;
  } catch (const std::exception &e) {
    const std::string file = "glia-internal-" + k.fingerprint + ".nisa";
    std::string where;
    try {
      writeFile(file, k.text());
      where = "the kernel was written to " + file;
    } catch (const std::exception &) { // the folder may be read-only
      where = "no reproducer could be written";
    }
    throw Error("INTERNAL", format("a bug in glia's compiler: %s; %s", e.what(), where.c_str()),
                "Please report it with that file. `glia compile FILE` repeats it.");
  }
}

} // namespace glia
