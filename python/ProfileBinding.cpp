// Predicted runs for Python.
#include "Bindings.h"
#include "glia/Program/Program.h"
#include "glia/Runtime/Profile.h"
#include "glia/Sim/Steps.h"
#include "glia/Sim/Timing.h"

#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;

namespace glia {

namespace {

struct Prediction {
  std::shared_ptr<Program> program;
  TimingResult result;
};

std::shared_ptr<Prediction> predict(std::shared_ptr<Program> p, bool haveInputs, nb::dict arrays, bool timeline,
                                    uint64_t maxSteps) {
  const TensorData inputs = toTensorData(arrays);
  auto out = std::make_shared<Prediction>();
  out->program = std::move(p);
  TimingOptions options;
  options.inputs = haveInputs ? &inputs : nullptr;
  options.timeline = timeline;
  options.maxSteps = stepLimit(maxSteps);
  options.stop = interrupted;
  out->result = withoutLock([&] { return simulateTime(*out->program, options); });
  return out;
}

std::string where(int core, Engine e, uint32_t index) {
  return "core" + std::to_string(core) + "." + std::string(name(e)) + "#" + std::to_string(index);
}

nb::list lanes(const Prediction &p) {
  nb::list out;
  for (const LaneUse &l : p.result.lanes) {
    nb::dict entry;
    entry["name"] = l.name;
    entry["busy"] = l.busy;
    entry["instructions"] = l.instructions;
    entry["bytes"] = l.bytes;
    out.append(entry);
  }
  return out;
}

nb::list stalls(const Prediction &p) {
  nb::list out;
  for (const Stall &s : p.result.longestStalls) {
    nb::dict entry;
    entry["where"] = where(s.core, s.engine, s.index);
    entry["start"] = s.start;
    entry["length"] = s.length;
    entry["count"] = s.count;
    entry["reason"] = s.reason;
    out.append(entry);
  }
  return out;
}

nb::list timeline(const Prediction &p) {
  nb::list out;
  for (const TimelineEvent &e : p.result.timeline)
    out.append(nb::make_tuple(p.result.lanes.at(e.lane).name, e.start, e.end));
  return out;
}

nb::dict origins(const Prediction &p) {
  nb::dict out;
  out["documented"] = p.result.documented;
  out["derived"] = p.result.derived;
  out["assumed"] = p.result.assumed;
  return out;
}

} // namespace

void bindProfiles(nb::module_ &m) {
  nb::class_<Prediction> profile(m, "Prediction");
  profile.def_prop_ro("total", [](const Prediction &p) { return p.result.total; })
      .def_prop_ro("launch", [](const Prediction &p) { return p.result.launch; })
      .def_prop_ro("instructions", [](const Prediction &p) { return p.result.instructions; })
      .def_prop_ro("hbm_bytes",
                   [](const Prediction &p) { return nb::make_tuple(p.result.hbmBytesRead, p.result.hbmBytesWritten); })
      .def_prop_ro("lanes", &lanes)
      .def_prop_ro("stalls", &stalls)
      .def_prop_ro("timeline", &timeline)
      .def_prop_ro("origins", &origins)
      .def_prop_ro("assumed_parameters", [](const Prediction &p) { return p.result.assumedParameters; });
  profile.def("summary", [](const Prediction &p) { return profileText(*p.program, p.result); })
      .def("html", [](const Prediction &p) { return profileHtml(*p.program, p.result); })
      .def("json", [](const Prediction &p) { return profileJson(*p.program, p.result); })
      .def("trace", [](const Prediction &p) {
        const std::string bytes = profilePerfetto(*p.program, p.result);
        return nb::bytes(bytes.data(), bytes.size());
      });
  m.def("predict", &predict);
}

} // namespace glia
