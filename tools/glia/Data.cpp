#include "Data.h"
#include "Tool.h"
#include "glia/Program/TensorParts.h"
#include "glia/Runtime/ElementValue.h"
#include "glia/Runtime/Npy.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace glia::tool {

namespace {

struct Argument {
  std::string tensor, file;
}; // tensor is empty for a .npz of all of them

Argument split(const std::string &s, const char *option) {
  const size_t at = s.find('=');
  if (at != std::string::npos && at > 0 && at + 1 < s.size())
    return {s.substr(0, at), s.substr(at + 1)};
  if (at == std::string::npos && s.ends_with(".npz"))
    return {"", s};
  throw Error("RUN-INPUT", std::string("`") + option + " " + printable(s) + "` is neither name=file.npy nor a .npz file");
}

const Tensor &find(const std::vector<CallerTensor> &tensors, const std::string &name, TensorKind kind, const char *code,
                   const char *what) {
  std::vector<std::string_view> known;
  std::string all;
  for (const CallerTensor &t : tensors) {
    if (t.whole.kind != kind)
      continue;
    if (t.whole.name == name)
      return t.whole;
    known.push_back(t.whole.name);
    all += (all.empty() ? "" : ", ") + printable(t.whole.name);
  }
  throw Error(
      code, std::string("the program has no ") + what + " `" + printable(name) + "`",
      didYouMean(name, known,
                 all.empty() ? std::string("It has no ") + what + "s." : std::string("Its ") + what + "s: " + all + "."));
}

} // namespace

TensorData readInputs(const Program &p, const std::vector<std::string> &arguments) {
  TensorData out;
  const std::vector<CallerTensor> tensors = callerTensors(p);
  auto add = [&](const std::string &name, NpyArray a) {
    const Tensor &t = find(tensors, name, TensorKind::Input, "RUN-INPUT", "input");
    if (!out.emplace(name, fitTo(t, std::move(a))).second)
      throw Error("RUN-INPUT", "input `" + printable(name) + "` is given twice");
  };
  for (const std::string &s : arguments) {
    const Argument a = split(s, "--input");
    const FileBytes f = readFile(a.file);
    if (a.tensor.empty())
      for (auto &[name, array] : parseNpz(f.bytes, a.file))
        add(name, std::move(array));
    else
      add(a.tensor, parseNpy(f.bytes, a.file));
  }
  return out;
}

std::vector<Schedule> readSchedules(const Program &p, const std::string &path) {
  const FileBytes f = readFile(path);
  return parseSchedules(p, f.text(), path);
}

void checkOutputs(const Program &p, const std::vector<std::string> &arguments) {
  const std::vector<CallerTensor> tensors = callerTensors(p);
  for (const std::string &s : arguments)
    if (const Argument a = split(s, "--output"); !a.tensor.empty())
      find(tensors, a.tensor, TensorKind::Output, "RUN-OUTPUT", "output");
}

void writeOutputs(const Program &p, TensorData outputs, const std::vector<std::string> &arguments) {
  const std::vector<CallerTensor> tensors = callerTensors(p);
  auto array = [&](const std::string &name) {
    return toNpy(find(tensors, name, TensorKind::Output, "RUN-OUTPUT", "output"), outputs.at(name));
  };
  for (const std::string &s : arguments) {
    const Argument a = split(s, "--output");
    if (!a.tensor.empty()) {
      writeFile(a.file, formatNpy(array(a.tensor)));
      continue;
    }
    std::map<std::string, NpyArray> all;
    for (const auto &entry : outputs)
      all.emplace(entry.first, array(entry.first));
    writeFile(a.file, formatNpz(all));
  }
}

namespace {

constexpr int64_t kFirst = 6; // elements that are shown

struct OutputSummary {
  const Tensor &tensor;
  double least = INFINITY, most = -INFINITY, sum = 0; // of what is no NaN
  int64_t nans = 0;
  std::vector<double> first;
  int64_t numbers() const { return tensor.elements() - nans; }
  double mean() const { return sum / static_cast<double>(numbers()); }
};

OutputSummary summaryOf(const Tensor &t, const std::vector<std::byte> &data) {
  OutputSummary out{t};
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double v = elementValue(t.dtype, data.data() + i * sizeOf(t.dtype));
    if (i < kFirst)
      out.first.push_back(v);
    if (std::isnan(v)) {
      ++out.nans;
      continue;
    }
    out.least = std::min(out.least, v), out.most = std::max(out.most, v), out.sum += v;
  }
  return out;
}

template <class Use> void forOutputs(const Program &p, const TensorData &outputs, Use use) {
  for (const CallerTensor &c : callerTensors(p))
    if (auto it = outputs.find(c.whole.name); c.isOutput() && it != outputs.end())
      use(summaryOf(c.whole, it->second));
}

// JSON has neither NaN nor infinity.
nlohmann::ordered_json numberOf(double v) {
  if (std::isfinite(v))
    return v;
  return std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

} // namespace

std::string summary(const Program &p, const TensorData &outputs) {
  std::string out;
  forOutputs(p, outputs, [&](const OutputSummary &s) {
    std::string shape, first;
    for (int64_t d : s.tensor.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(d);
    for (double v : s.first)
      first += (first.empty() ? "" : " ") + format("%.7g", v);
    out += printable(s.tensor.name) + " : " + std::string(name(s.tensor.dtype)) + "[" + shape + "]";
    if (s.numbers())
      out += format("  min %.7g  max %.7g  mean %.7g", s.least, s.most, s.mean());
    if (s.nans)
      out += format("  %lld NaN", (long long)s.nans);
    out += "  [" + first + (s.tensor.elements() > kFirst ? " ..." : "") + "]\n";
  });
  return out;
}

std::string summaryJson(const Program &p, const TensorData &outputs, const std::string &printed) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  forOutputs(p, outputs, [&](const OutputSummary &s) {
    nlohmann::ordered_json j = {{"name", s.tensor.name}, {"dtype", name(s.tensor.dtype)}, {"shape", s.tensor.shape}};
    if (s.numbers()) {
      j["min"] = numberOf(s.least);
      j["max"] = numberOf(s.most);
      j["mean"] = numberOf(s.mean());
    }
    j["nans"] = s.nans;
    j["first"] = nlohmann::ordered_json::array();
    for (double v : s.first)
      j["first"].push_back(numberOf(v));
    list.push_back(std::move(j));
  });
  return asText({{"outputs", list}, {"printed", printed}});
}

} // namespace glia::tool
