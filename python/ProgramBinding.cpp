// Programs for Python: the doors to assembler, container, verifier and simulator. Arrays cross as bytes; types and
// shapes are checked in glia/program.py, everything else here or below.
#include "Bindings.h"
#include "Lent.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Program/TensorParts.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Runtime/FootprintCheck.h"
#include "glia/Verify/VerifyRanks.h"
#include "glia/Sim/EveryOrder.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"
#include "glia/Verify/Certificate.h"

#include <chrono>
#include <cstring>
#include <optional>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static const char *kindName(TensorKind k) {
  static const char *const names[] = {"input", "output", "constant", "scratch"};
  return names[static_cast<int>(k)];
}

static nb::list diagnosticList(const std::vector<Diagnostic> &ds) {
  nb::list out;
  for (const Diagnostic &d : ds)
    out.append(nb::cast(d));
  return out;
}

static void raise(const char *exception, const Diagnostic &d) {
  nb::object e = raisable(exception, diagnosticList({d}));
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(e.ptr())), e.ptr());
  throw nb::python_error();
}

namespace {} // namespace

TensorData toTensorData(nb::dict arrays) {
  TensorData out;
  Lent lent;
  for (auto [name, data] : arrays) {
    const std::span<std::byte> bytes = lent.lend(data, false);
    out[nb::cast<std::string>(name)].assign(bytes.begin(), bytes.end());
  }
  return out;
}

static nb::tuple verifyProgram(const Program &p, bool requireProved, std::optional<nb::bytes> certificate) {
  VerifyOptions options;
  options.requireProved = requireProved;
  VerifyResult r;
  {
    const std::span<const std::byte> proof =
        certificate ? std::span(static_cast<const std::byte *>(certificate->data()), certificate->size())
                    : std::span<const std::byte>();
    r = withoutLock([&] { return certificate ? verifyWith(p, proof, options) : verifyRanks(p, options); });
  }
  static const char *const proofs[] = {"proved", "skips", "may trap"};
  nb::list accesses;
  for (const DynamicAccess &a : r.dynamicAccesses) {
    nb::dict entry;
    entry["where"] = format("core%d.%s#%u", a.core, std::string(name(a.engine)).c_str(), a.index);
    entry["operand"] = a.slot;
    entry["proof"] = proofs[static_cast<int>(a.proof)];
    entry["why"] = a.why;
    accesses.append(entry);
  }
  return nb::make_tuple(diagnosticList(r.diagnostics), accesses, r.instructions);
}

static nb::bytes certificateOf(const Program &p) {
  std::vector<std::byte> certificate;
  VerifyResult r = withoutLock([&] { return certify(p, certificate); });
  if (!r.ok())
    throw Error(std::move(r.diagnostics));
  return nb::bytes(certificate.data(), certificate.size());
}

// Raises Error with everything that is wrong. `compiled`: what glia made the program of, "kernel" or "graph"; empty: somebody else did.
static void requireVerified(const Program &p, const std::string &compiled) {
  VerifyResult r = withoutLock([&] { return verifyRanks(p); });
  if (!r.ok() && !compiled.empty())
    throw Error(
        withCompilerFaults(std::move(r.diagnostics), p, compiled == "graph" ? CompiledFrom::Graph : CompiledFrom::Kernel));
  if (!r.ok())
    throw Error(std::move(r.diagnostics));
}

bool interrupted() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < std::chrono::milliseconds(50))
    return false;
  last = now;
  const nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

nb::dict outputsOf(const RunResult &r) {
  if (!r.printed.empty())
    nb::module_::import_("glia.printing").attr("show")(r.printed);
  if (r.fault)
    raise("Error", *r.fault);
  if (r.trap)
    raise("Trap", *r.trap);
  nb::dict out;
  for (const auto &[name, data] : r.outputs)
    out[name.c_str()] = nb::bytes(data.data(), data.size());
  return out;
}

// Outputs as bytes, and what strict mode needed.
static nb::tuple runProgram(const Program &p, nb::dict inputs, bool strict, uint64_t seed, uint64_t maxSteps, int threads,
                            bool steered, bool faultOnRange, const std::string &hold) {
  const TensorData in = toTensorData(inputs);
  RunOptions options;
  options.strict = strict;
  options.seed = seed;
  options.maxSteps = stepLimit(maxSteps);
  options.threads = threads;
  options.steered = steered;
  options.faultOnRange = faultOnRange;
  options.hold = hold;
  options.stop = interrupted;
  const RunResult r = withoutLock([&] { return runChecked(p, in, options); });
  const nb::dict out = outputsOf(r);
  return nb::make_tuple(out, r.instructions, r.bytesTouched, r.shadowBytes);
}

// States, steps, the number of outcomes, and for each that is kept: its outputs (or None), its fault or trap, its order.
static nb::tuple everyOrder(const Program &p, nb::dict inputs, uint64_t maxStates, bool reduce) {
  const TensorData in = toTensorData(inputs);
  OrderOptions options;
  options.maxStates = maxStates;
  options.reduce = reduce;
  options.stop = interrupted;
  const OrderResult r = withoutLock([&] { return runEveryOrder(p, in, options); });
  nb::list outcomes;
  for (const OrderOutcome &o : r.outcomes) {
    nb::dict outputs;
    for (const auto &[name, data] : o.outputs)
      outputs[name.c_str()] = nb::bytes(data.data(), data.size());
    const auto &wrong = o.fault ? o.fault : o.trap;
    nb::list order;
    for (const std::string &step : o.order)
      order.append(step);
    outcomes.append(nb::make_tuple(wrong ? nb::none() : nb::object(outputs), wrong ? nb::cast(*wrong) : nb::none(), order));
  }
  return nb::make_tuple(r.states, r.steps, r.different, outcomes);
}

// The same in fast mode on the caller's memory: nothing is copied. `outputs` are zeroed.
static void runInto(const Program &p, nb::dict inputs, nb::dict outputs, uint64_t maxSteps, int threads) {
  Lent lent;
  TensorViews in;
  TensorBuffers out;
  for (auto [name, data] : inputs)
    in[nb::cast<std::string>(name)] = lent.lend(data, false);
  for (auto [name, data] : outputs)
    out[nb::cast<std::string>(name)] = lent.lend(data, true);
  RunOptions options;
  options.outputs = &out;
  options.maxSteps = stepLimit(maxSteps);
  options.threads = threads;
  options.stop = interrupted;
  const RunResult r = withoutLock([&] { return runInPlace(p, in, options); });
  outputsOf(r); // prints, and raises what went wrong
}

// The program for so many ranks. `input`: the one that holds the number of the rank, or nothing.
static std::shared_ptr<Program> forRanks(const Program &p, int ranks, const std::string &input) {
  auto out = std::make_shared<Program>(p);
  std::erase_if(out->contract, [](const ContractItem &c) { return c.key == kRanksKey || c.key == kRankInputKey; });
  out->contract.push_back({std::string(kRanksKey), std::to_string(ranks)});
  if (!input.empty())
    out->contract.push_back({std::string(kRankInputKey), input});
  ranksOf(*out); // throws if there cannot be so many
  return out;
}

void bindPrograms(nb::module_ &m) {
  nb::class_<Program>(m, "Program")
      .def_prop_ro("target", [](const Program &p) { return p.target->name; })
      .def_prop_ro("target_title", [](const Program &p) { return titleOf(*p.target); })
      .def_prop_ro("cores", [](const Program &p) { return p.cores; })
      .def_prop_ro("ranks", &ranksOf)
      .def("for_ranks", &forRanks, "ranks"_a, "input"_a = "")
      .def_prop_ro("instructions", &Program::instructionCount)
      .def_prop_ro("tensors",
                   [](const Program &p) {
                     nb::list out; // what callers give and get as they see it: whole, if ranks share it
                     std::vector<bool> seen(p.tensors.size());
                     for (const CallerTensor &c : callerTensors(p)) {
                       seen[c.tensor] = true;
                       out.append(nb::make_tuple(c.whole.name, name(c.whole.dtype), c.whole.shape, kindName(c.whole.kind)));
                     }
                     for (size_t i = 0; i < p.tensors.size(); ++i)
                       if (const Tensor &t = p.tensors[i]; !seen[i] && t.inputName().empty())
                         out.append(nb::make_tuple(t.name, name(t.dtype), t.shape, kindName(t.kind)));
                     return out;
                   })
      .def_prop_ro("contract", // of a kernel object; what is said twice is one text
                   [](const Program &p) {
                     std::map<std::string, std::string> out;
                     for (const ContractItem &c : p.contract)
                       out[c.key] += (out.count(c.key) && !out[c.key].empty() ? "; " : "") + c.value;
                     return out;
                   })
      .def("save", [](const Program &p, const std::string &path) { save(p, path); })
      .def("disassemble", [](const Program &p) { return disassemble(p); })
      .def("verify", &verifyProgram, nb::arg("require_proved"), nb::arg("certificate").none())
      .def("certificate", &certificateOf)
      .def("require_verified", &requireVerified, "compiled"_a = "")
      .def("run", &runProgram, "inputs"_a, "strict"_a, "seed"_a, "max_steps"_a, "threads"_a, "steered"_a = false,
           "fault_on_range"_a = false, "hold"_a = "")
      .def("every_order", &everyOrder)
      .def("run_into", &runInto);

  m.def("make_error", [](std::string code, std::string message, std::string advice) {
    return raisable("Error", diagnosticList(Error(std::move(code), std::move(message), std::move(advice)).diagnostics()));
  });
  m.def("load", [](const std::string &path) { return std::make_shared<Program>(load(path)); });
  m.attr("default_max_steps") = kDefaultMaxSteps;
  m.def("assemble", [](std::string_view text, std::string_view target, std::string_view file) {
    return std::make_shared<Program>(assemble(text, file, target.empty() ? nullptr : loadTarget(target)));
  });
}

} // namespace glia
