// The sequential meaning of a kernel for Python, one instruction at a time: what `python -m glia debug` stands on.
#include "Bindings.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Sim/Steps.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static void make(Execution *self, nisa::Kernel &k, nb::dict inputs, uint64_t maxSteps) {
  const TensorData in = toTensorData(inputs);
  ExecuteOptions options;
  options.maxSteps = stepLimit(maxSteps);
  const nb::gil_scoped_release release;
  new (self) Execution(k, in, options);
}

static nb::object step(Execution &e) {
  std::optional<Moment> m;
  {
    const nb::gil_scoped_release release;
    m = e.step();
  }
  return m ? toPython(*m) : nb::none();
}

static uint64_t advance(Execution &e, uint64_t steps) {
  const nb::gil_scoped_release release;
  uint64_t n = 0;
  while (n < steps && e.step())
    ++n;
  return n;
}

static nb::object read(const Execution &e, uint32_t tensor, int core) { return arrayOf(e.read(tensor, core)); }

static nb::object fault(const Execution &e) {
  const RunResult &r = e.result();
  return r.fault ? nb::cast(*r.fault) : r.trap ? nb::cast(*r.trap) : nb::none();
}

void bindExecution(nb::module_ &m) {
  nb::class_<Execution>(m, "Execution", "A run of a kernel's sequential meaning, instruction by instruction.")
      .def("__init__", &make, "kernel"_a, "inputs"_a, "max_steps"_a = 0, nb::keep_alive<1, 2>())
      .def("step", &step, "Runs an instruction: (its number, core, rounds of the loops around it); None at the end.")
      .def("advance", &advance, "steps"_a, "Runs so many instructions; returns how many there were.")
      .def("read", &read, "tensor"_a, "core"_a, "The bytes of a tensor, row by row.")
      .def("register", &Execution::registerValue, "register"_a, "core"_a)
      .def_prop_ro("fault", &fault, "Why the run ended before its end, or None.")
      .def_prop_ro("printed", [](const Execution &e) { return e.result().printed; });
}

} // namespace glia
