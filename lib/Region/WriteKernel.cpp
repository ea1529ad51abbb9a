#include "WriteKernel.h"
#include "Form/ExtractGroup.h"
#include "Lower/Kernel/StoredShape.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"
#include "glia/Transforms/CombineInstructions.h"

#include "mlir/IR/BuiltinTypes.h"

#include <filesystem>

namespace glia::emit {

Tensor tensorOf(mlir::Value v, std::string name, TensorKind kind) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  const std::optional<DType> d = type ? machineType(type.getElementType()) : std::nullopt;
  if (!d) {
    std::string text;
    llvm::raw_string_ostream(text) << v.getType();
    const nisa::Origin o = nisa::originOf(v.getLoc());
    throw Error("GRAPH-TYPE", "the device does not hold values of type " + text,
                "Use 32-bit or narrower integers and floats; docs/graph.md says what is narrowed.", {o.file, o.line, 0});
  }
  Tensor t;
  t.name = std::move(name);
  t.dtype = *d;
  t.shape = storedShape(shapeOf(v));
  t.kind = kind;
  return t;
}

void finishKernel(nisa::Kernel &kernel, bool fewTables, Aim aim) {
  combineInstructions(kernel.op(), aim, Roundings::MayBeLeftOut);
  chooseEngines(kernel.op(), fewTables ? Forms::FewTables : Forms::Free, aim);
}

Tile nothing(DType t, const std::vector<int64_t> &shape) {
  Tile out;
  out.dtype = t;
  for (int64_t n : shape)
    out.dims.push_back({1, n});
  return out;
}

// Whatever goes wrong in a group that was accepted is a mistake of ours: the group is written down as a graph of its own.
[[noreturn]] static void internal(const Group &g, const std::string &name, const std::string &target,
                                  const std::string &what) {
  std::string text;
  llvm::raw_string_ostream(text) << *extractGroup(g);
  std::string where;
  const std::filesystem::path path(target); // or a name, with changes
  const std::string file =
      "glia-internal-" + name + "-" + (path.extension() == ".toml" ? path.stem() : path.filename()).string() + ".mlir";
  try {
    writeFile(file, text);
    where = "the group was written to " + file;
  } catch (const Error &) { // the folder may be read-only
    where = "no reproducer could be written";
  }
  const nisa::Origin o = nisa::originOf(g.ops.back()->getLoc());
  throw Error("GRAPH-INTERNAL", "a bug in glia's graph compiler, in " + name + ": " + what + "; " + where,
              "Please report it with that file. `glia check FILE` repeats it.", {o.file, o.line, 0});
}

Program guarded(const Group &g, const std::string &name, const std::string &target, const std::function<Program()> &make) {
  try {
    return make();
  } catch (const Error &e) {
    const std::string &code = e.diagnostics()[0].code, &message = e.diagnostics()[0].message;
    if (code == "GRAPH-TYPE" || code == "FILE-WRITE") // the user's
      throw;
    if (const int64_t bytes = loadTarget(target)->sbufBytes; code == "KERNEL-MEMORY" && bytes < kSmallestSbuf) {
      const nisa::Origin o = nisa::originOf(g.ops.back()->getLoc());
      throw Error("GRAPH-SBUF",
                  name + " does not fit " + std::to_string(bytes) + " bytes of a partition of SBUF: " + message,
                  "Graphs are lowered for at least " + std::to_string(kSmallestSbuf) +
                      " bytes, which every built-in target has. Give the target more of memory.sbuf_bytes.",
                  {o.file, o.line, 0});
    }
    internal(g, name, target, code + ": " + message);
  } catch (const Interrupted &) {
    throw;
  } catch (const std::exception &e) {
    internal(g, name, target, e.what());
  }
}

} // namespace glia::emit
