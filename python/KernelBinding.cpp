// Traced kernels for Python: their text, the rules known before anything is placed, and their sequential meaning.
#include "Bindings.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/CodeGen/ScheduleBound.h"
#include "glia/Sim/Steps.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static std::string text(nisa::Kernel &k, bool places) {
  if (!places)
    return k.text();
  std::string out;
  llvm::raw_string_ostream stream(out);
  k.op()->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return out;
}

static nb::list check(nisa::Kernel &k) {
  const std::vector<Diagnostic> ds = withoutLock([&] { return checkKernel(k); });
  nb::list out;
  for (const Diagnostic &d : ds)
    out.append(nb::cast(d));
  return out;
}

// Outputs as bytes, by name.
static nb::dict execute(nisa::Kernel &k, nb::dict inputs, uint64_t maxSteps) {
  const TensorData in = toTensorData(inputs);
  ExecuteOptions options;
  options.maxSteps = stepLimit(maxSteps);
  options.threads = 0;
  options.stop = interrupted;
  return outputsOf(withoutLock([&] { return executeKernel(k, in, options); }));
}

// Runs it and looks on: where NaNs and undefined data come from. A fault ends the run, not the look.
static nb::dict observe(nisa::Kernel &k, nb::dict inputs, uint64_t maxSteps, bool nan, bool undefined) {
  const TensorData in = toTensorData(inputs);
  Observations seen;
  seen.findNaN = nan;
  seen.findUndefined = undefined;
  ExecuteOptions options;
  options.maxSteps = stepLimit(maxSteps);
  options.stop = interrupted;
  options.observe = &seen;
  if (nan)
    options.unwritten = std::byte{0}; // all ones would be a NaN of its own
  withoutLock([&] { return executeKernel(k, in, options); });
  nb::list nans, origins;
  auto moment = [](const std::optional<Moment> &m) { return m ? toPython(*m) : nb::none(); };
  for (const NanOrigin &o : seen.nans)
    nans.append(nb::make_tuple(toPython(o.at), o.tensor, o.partition, o.byte, o.output));
  for (const UndefinedOrigin &o : seen.undefined)
    origins.append(nb::make_tuple(o.tensor, nb::make_tuple(o.partitions[0], o.partitions[1]),
                                  nb::make_tuple(o.bytes[0], o.bytes[1]), moment(o.reader), o.output, moment(o.stored)));
  nb::dict out;
  out["nans"] = nans;
  out["undefined"] = origins;
  return out;
}

// The kernel as an object: a program of its own, with symbols and a contract.
static std::shared_ptr<Program> compile(nisa::Kernel &k, std::string dump) {
  CompileOptions options;
  options.dump = std::move(dump);
  options.tryOrders = true;
  return withoutLock([&] { return std::make_shared<Program>(compileKernel(k, options)); });
}

// The least time of any schedule, in ns, and what it is made of.
static nb::dict bound(nisa::Kernel &k) {
  ScheduleBound b;
  {
    nb::gil_scoped_release release;
    b = scheduleBound(k);
  }
  nb::dict out;
  out["total"] = b.total();
  out["reason"] = b.reason();
  out["path"] = b.path;
  out["around"] = b.around;
  out["dma"] = b.transfers;
  for (int e = 0; e < kNumEngines; ++e)
    out[nb::cast(name(static_cast<Engine>(e)))] = b.busy[e];
  return out;
}

void bindKernel(nb::module_ &m) {
  nb::class_<nisa::Kernel>(m, "Kernel", "A traced kernel.")
      .def("text", &text, "places"_a = false, "The kernel IR; `places`: with source lines, as MLIR writes them.")
      .def("fingerprint", [](const nisa::Kernel &k) { return k.fingerprint; })
      .def("check", &check, "Rules known before anything is placed: a list of diagnostics, each with its source line.")
      .def("compile", &compile, "dump"_a = "", "A kernel object; `dump`: a folder for the kernel after each stage.")
      .def("bound", &bound, "The least time of any schedule: a dictionary of nanoseconds, and the reason.")
      .def("execute", &execute, "inputs"_a, "max_steps"_a = 0, "Runs the instructions one after the other.")
      .def("observe", &observe, "inputs"_a, "max_steps"_a = 0, "nan"_a = false, "undefined"_a = false,
           "Runs them and looks for where NaNs and undefined data come from.");
}

} // namespace glia
