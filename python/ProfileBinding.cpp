// Predicted runs for Python.
#include "Bindings.h"
#include "glia/Profile/ProfileDiff.h"
#include "glia/Profile/WhatIf.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/Diagnostic.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;

namespace glia {

namespace {

struct Prediction {
  std::shared_ptr<Program> program;
  TensorData inputs; // where control flow depends on data: what is timed again is timed with them
  TimingOptions options;
  Profile profile;
  const TimingResult &time() const { return profile.time; }
};

std::shared_ptr<Prediction> predict(std::shared_ptr<Program> p, bool haveInputs, nb::dict arrays, bool timeline,
                                    uint64_t maxSteps) {
  auto out = std::make_shared<Prediction>();
  out->program = std::move(p);
  out->inputs = toTensorData(arrays);
  out->options.inputs = haveInputs ? &out->inputs : nullptr;
  out->options.timeline = timeline;
  out->options.maxSteps = stepLimit(maxSteps);
  out->options.stop = interrupted;
  out->profile = withoutLock([&] { return profileOf(*out->program, out->options); });
  return out;
}

std::string where(const InstrPlace &x) {
  return "core" + std::to_string(x.core) + "." + std::string(name(x.engine)) + "#" + std::to_string(x.index);
}

nb::list lanes(const Prediction &p) {
  nb::list out;
  for (const LaneUse &l : p.time().lanes)
    out.append(nb::make_tuple(l.name, l.busy, l.instructions, l.bytes));
  return out;
}

nb::list stalls(const Prediction &p) {
  nb::list out;
  for (const Stall &s : p.time().longestStalls)
    out.append(nb::make_tuple(where({s.core, s.engine, s.index}), s.start, s.length, s.count, s.reason));
  return out;
}

nb::list timeline(const Prediction &p) {
  nb::list out;
  for (const TimelineEvent &e : p.time().timeline)
    out.append(nb::make_tuple(p.time().lanes.at(e.lane).name, e.start, e.end));
  return out;
}

nb::list places(const Prediction &p, int by) {
  nb::list out;
  for (const PlaceUse &u : by == 0 ? p.profile.lines : by == 1 ? p.profile.operations : p.profile.kernels)
    out.append(nb::make_tuple(u.name, u.file, u.line, u.critical, u.busy[0], u.busy[1], u.busy[2], u.busy[3], u.busy[4],
                              u.transfers, u.bytes, u.instructions));
  return out;
}

nb::list path(const Prediction &p) {
  nb::list out;
  for (const PathStep &s : p.profile.path) {
    const TimelineEvent &e = p.time().timeline[s.event];
    const InstrPlace at = instructionOf(e);
    out.append(
        nb::make_tuple(e.start, s.work, s.latency, p.time().lanes.at(e.lane).name, where(at), placeOf(*p.program, at)));
  }
  return out;
}

nb::list waits(const Prediction &p) {
  nb::list out;
  for (const WaitUse &w : p.profile.waits)
    out.append(nb::make_tuple(std::string(name(w.kind)), placeOf(*p.program, w.at), w.known ? placeOf(*p.program, w.by) : "",
                              w.tile, w.gain, w.critical, w.length, w.count, w.copies, describe(*p.program, w)));
  return out;
}

nb::list proposed(const Prediction &p) {
  nb::list out;
  for (const Proposal &x : p.profile.proposals)
    out.append(nb::make_tuple(x.place, x.text, x.about, x.time));
  return out;
}

nb::list tiles(const std::vector<TileUse> &all) {
  nb::list out;
  for (const TileUse &t : all)
    out.append(nb::make_tuple(t.name, t.bytes, t.from, t.to));
  return out;
}

nb::list memory(const Prediction &p) {
  nb::list out;
  for (const MemoryUse &m : p.profile.memory)
    out.append(nb::make_tuple(nb::make_tuple(std::string(name(m.space)), m.core, m.capacity, m.peak, m.peakAt),
                              tiles(m.inPeak), tiles(m.tiles)));
  return out;
}

nb::list links(const Prediction &p) {
  nb::list out;
  for (const LinkUse &l : p.profile.links)
    out.append(nb::make_tuple(l.name, l.busy, l.most, l.shares));
  return out;
}

std::vector<Sensitivity> sensitivitiesOf(const Prediction &p) {
  return withoutLock([&] { return sensitivities(*p.program, p.options, p.time().total); });
}

nb::list sensitive(const Prediction &p) {
  nb::list out;
  for (const Sensitivity &s : sensitivitiesOf(p))
    out.append(nb::make_tuple(s.key, s.value, s.unit, s.half, s.twice));
  return out;
}

nb::tuple roofline(const Prediction &p) {
  const Roofline &r = p.profile.roofline;
  nb::list roofs, points;
  for (const Roof &x : r.roofs)
    roofs.append(nb::make_tuple(x.name, x.perSecond));
  for (const RooflinePoint &x : r.points)
    points.append(nb::make_tuple(x.name, x.operations, x.bytes, x.time));
  return nb::make_tuple(roofs, points, r.bytesPerSecond);
}

double retimed(const Prediction &p, const std::string &changes) {
  const Elsewhere x = withoutLock([&] { return timeIf(*p.program, p.options, parseChanges(changes)); });
  if (!x.refused.empty())
    throw Error(x.refused);
  return x.total;
}

// Beside it what is compiled for the changed target, or why it cannot be.
nb::tuple whatIf(const Prediction &p, const std::string &changes, const Prediction *compiled, const Diagnostic *refused) {
  WhatIf x;
  x.before = p.time().total;
  x.same = withoutLock([&] { return timeIf(*p.program, p.options, parseChanges(changes)); });
  x.compiled.emplace();
  if (refused)
    x.compiled->refused = {*refused};
  else
    x.compiled->total = compiled->time().total;
  const auto total = [](const Elsewhere &e) { return e.refused.empty() ? nb::cast(e.total) : nb::none(); };
  return nb::make_tuple(x.before, total(x.same), total(*x.compiled), whatIfText(x), whatIfJson(x, changes));
}

nb::dict origins(const Prediction &p) {
  nb::dict out;
  out["documented"] = p.time().documented;
  out["derived"] = p.time().derived;
  out["assumed"] = p.time().assumed;
  return out;
}

} // namespace

void bindProfiles(nb::module_ &m) {
  nb::class_<Prediction> profile(m, "Prediction");
  profile.def_prop_ro("total", [](const Prediction &p) { return p.time().total; })
      .def_prop_ro("launch", [](const Prediction &p) { return p.time().launch; })
      .def_prop_ro("instructions", [](const Prediction &p) { return p.time().instructions; })
      .def_prop_ro("hbm_bytes",
                   [](const Prediction &p) { return nb::make_tuple(p.time().hbmBytesRead, p.time().hbmBytesWritten); })
      .def_prop_ro("lanes", &lanes)
      .def_prop_ro("stalls", &stalls)
      .def_prop_ro("timeline", &timeline)
      .def_prop_ro("critical_path", &path)
      .def_prop_ro("waits", &waits)
      .def_prop_ro("memory", &memory)
      .def_prop_ro("links", &links)
      .def_prop_ro("proposals", &proposed)
      .def_prop_ro("roofline", &roofline)
      .def_prop_ro("origins", &origins)
      .def_prop_ro("assumed_parameters", [](const Prediction &p) { return p.time().assumedParameters; });
  profile.def("places", &places)
      .def("sensitivities", &sensitive)
      .def("retimed", &retimed)
      .def("what_if", &whatIf, nb::arg(), nb::arg().none(), nb::arg().none())
      .def("sensitivity_text", [](const Prediction &p) { return sensitivityText(sensitivitiesOf(p), p.time().total); })
      .def("sensitivity_json", [](const Prediction &p) { return sensitivityJson(sensitivitiesOf(p), p.time().total); })
      .def("summary", [](const Prediction &p) { return profileText(*p.program, p.profile); })
      .def("drawn", [](const Prediction &p, int columns) { return timelineText(*p.program, p.profile, columns); })
      .def("html", [](const Prediction &p) { return profileHtml(*p.program, p.profile); })
      .def("json", [](const Prediction &p) { return profileJson(*p.program, p.profile); })
      .def("trace", [](const Prediction &p) {
        const std::string bytes = profilePerfetto(*p.program, p.profile);
        return nb::bytes(bytes.data(), bytes.size());
      });
  m.def("predict", &predict);
  m.def("diff", [](const Prediction &a, const Prediction &b) {
    return diffText({"before", *a.program, a.profile}, {"after", *b.program, b.profile});
  });
}

} // namespace glia
