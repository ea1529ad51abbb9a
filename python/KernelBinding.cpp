// Traced kernels for Python: their text, the rules known before anything is placed, and their sequential meaning.
#include "Bindings.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static nb::list check(nisa::Kernel &k) {
  std::vector<Diagnostic> ds;
  {
    nb::gil_scoped_release release;
    ds = checkKernel(k);
  }
  nb::list out;
  for (const Diagnostic &d : ds)
    out.append(nb::cast(d));
  return out;
}

// Outputs as bytes, by name.
static nb::dict execute(nisa::Kernel &k, nb::dict inputs, uint64_t maxSteps) {
  const TensorData in = toTensorData(inputs);
  ExecuteOptions options;
  if (maxSteps)
    options.maxSteps = maxSteps;
  RunResult r;
  {
    nb::gil_scoped_release release;
    r = executeKernel(k, in, options);
  }
  return outputsOf(r);
}

void bindKernel(nb::module_ &m) {
  nb::class_<nisa::Kernel>(m, "Kernel", "A traced kernel.")
      .def("text", &nisa::Kernel::text)
      .def("fingerprint", [](const nisa::Kernel &k) { return k.fingerprint; })
      .def("check", &check, "Rules known before anything is placed: a list of diagnostics, each with its source line.")
      .def("execute", &execute, "inputs"_a, "max_steps"_a = 0, "Runs the instructions one after the other.");
}

} // namespace glia
