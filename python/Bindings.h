// The parts of the extension module glia._glia. It is thin: the public Python API is in python/glia.
#pragma once
#include "glia/Sim/Simulator.h"
#include "glia/Support/Checkpoint.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace glia {

struct Moment;

void bindErrors(nanobind::module_ &m);   // Diagnostic, Error, Trap
void bindData(nanobind::module_ &m);     // targets, instructions, rules
void bindPrograms(nanobind::module_ &m); // Program: assemble, load, save, verify, run
void bindProfiles(nanobind::module_ &m); // predicted runs
void bindBuilder(nanobind::module_ &m);
void bindLines(nanobind::module_ &m);      // lines of Python functions as they run
void bindLink(nanobind::module_ &m);       // kernel objects to programs, likewise
void bindKernel(nanobind::module_ &m);     // traced kernels, if the compiler is built
void bindExecution(nanobind::module_ &m);  // their sequential meaning step by step, likewise
void bindSequential(nanobind::module_ &m); // and as a whole
void bindTrace(nanobind::module_ &m);      // tracing of kernels, if the compiler is built
void bindInterpret(nanobind::module_ &m);  // the reference of graphs, likewise
void bindGraph(nanobind::module_ &m);      // graphs to programs, likewise

nanobind::object raisable(const char *exception, nanobind::object diagnostics); // an instance of glia.Error or glia.Trap
TensorData toTensorData(nanobind::dict arrays);                                 // name -> bytes
// Has the user pressed Ctrl-C? To be asked, without the interpreter's lock, by what may run for long. Then KeyboardInterrupt (or what a
// handler has raised) is set.
bool interrupted();
// Does the work without the lock; what it ended with Interrupted is raised.
template <class Work> auto withoutLock(Work &&work) {
  try {
    const nanobind::gil_scoped_release release;
    const Watched watched(interrupted);
    return work();
  } catch (const Interrupted &) {
    throw nanobind::python_error();
  }
}
// The bytes as an array of NumPy, which keeps them: there may be many.
nanobind::object arrayOf(std::vector<std::byte> bytes);
nanobind::object toPython(const Moment &m);   // (instruction, core, rounds of the loops around it)
nanobind::dict outputsOf(const RunResult &r); // name -> bytes; prints what was printed; raises a fault or a trap

} // namespace glia
