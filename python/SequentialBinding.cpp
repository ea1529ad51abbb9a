// The sequential meaning of a kernel for Python, as often as one likes, with what tensors hold on the way.
#include "Bindings.h"
#include "Lent.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Sim/Steps.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

struct Capturing {
  Observations wanted;
  Sequential runs;
  Capturing(nisa::Kernel &k, Observations o) : wanted(std::move(o)), runs(k, wanted) {}
};

} // namespace

static void make(Capturing *self, nisa::Kernel &k, const std::vector<std::tuple<uint32_t, uint32_t, bool>> &captures) {
  Observations wanted;
  for (const auto &[instruction, tensor, before] : captures)
    wanted.captures.push_back({instruction, tensor, before});
  const nb::gil_scoped_release release;
  new (self) Capturing(k, std::move(wanted));
}

nb::object toPython(const Moment &m) {
  nb::list iterations;
  for (int64_t i : m.iterations)
    iterations.append(i);
  return nb::make_tuple(m.instruction, m.core, nb::tuple(iterations));
}

template <class Owner> static nb::object arrayOver(const std::byte *data, size_t size, Owner owned) {
  auto *kept = new Owner(std::move(owned));
  const nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Owner *>(p); });
  auto *bytes = const_cast<uint8_t *>(reinterpret_cast<const uint8_t *>(data));
  return nb::cast(nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(bytes, {size}, owner));
}

nb::object arrayOf(std::vector<std::byte> bytes) {
  const std::byte *data = bytes.data(); // stays where it is when the vector is moved
  const size_t size = bytes.size();
  return arrayOver(data, size, std::move(bytes));
}

// A fault ends the run, not the look.
static nb::dict capture(Capturing &c, nb::dict inputs, uint64_t maxSteps) {
  Lent lent;
  TensorViews in;
  for (auto [name, data] : inputs)
    in[nb::cast<std::string>(name)] = lent.lend(data, false);
  Observations seen = c.wanted;
  ExecuteOptions options;
  options.maxSteps = stepLimit(maxSteps);
  options.threads = 0;
  options.stop = interrupted;
  options.observe = &seen;
  RunResult r = withoutLock([&] { return c.runs.run(in, options); });
  nb::list captured;
  for (Captured &x : seen.captured)
    captured.append(
        nb::make_tuple(x.capture, toPython(x.at), arrayOver(x.bytes.data(), x.bytes.size(), std::move(x.memory))));
  nb::dict out, outputs;
  for (auto &[name, data] : r.outputs)
    outputs[name.c_str()] = arrayOf(std::move(data));
  out["outputs"] = outputs;
  out["printed"] = r.printed;
  out["captured"] = captured;
  out["fault"] = r.fault ? nb::cast(*r.fault) : r.trap ? nb::cast(*r.trap) : nb::none();
  return out;
}

void bindSequential(nb::module_ &m) {
  nb::class_<Capturing>(m, "Sequential", "A kernel ready to be run by its sequential meaning, any number of times.")
      .def("__init__", &make, "kernel"_a, "captures"_a = std::vector<std::tuple<uint32_t, uint32_t, bool>>(),
           "`captures`: what is kept, (instruction, tensor, before it) by their numbers in the trace.",
           nb::keep_alive<1, 2>())
      .def("run", &capture, "inputs"_a, "max_steps"_a = 0,
           "A dictionary: `outputs` by name, `captured` in the order of the run as (number of the capture, moment, bytes), "
           "`printed`, `fault`.");
}

} // namespace glia
