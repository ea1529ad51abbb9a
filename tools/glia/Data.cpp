#include "Data.h"
#include "glia/Program/TensorParts.h"
#include "glia/Runtime/ElementValue.h"
#include "glia/Runtime/Npy.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

#include <cmath>

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

std::string summary(const Program &p, const TensorData &outputs) {
  std::string out;
  for (const CallerTensor &c : callerTensors(p)) {
    const Tensor &t = c.whole;
    auto it = outputs.find(t.name);
    if (!c.isOutput() || it == outputs.end())
      continue;
    const int64_t n = t.elements(), size = sizeOf(t.dtype);
    double lo = INFINITY, hi = -INFINITY, sum = 0;
    int64_t nans = 0;
    std::string first;
    for (int64_t i = 0; i < n; ++i) {
      const double v = elementValue(t.dtype, it->second.data() + i * size);
      if (i < 6)
        first += format(" %.7g", v);
      if (std::isnan(v)) {
        ++nans;
        continue;
      }
      lo = std::min(lo, v), hi = std::max(hi, v), sum += v;
    }
    std::string shape;
    for (int64_t d : t.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(d);
    out += printable(t.name) + " : " + std::string(name(t.dtype)) + "[" + shape + "]";
    if (nans < n)
      out += format("  min %.7g  max %.7g  mean %.7g", lo, hi, sum / static_cast<double>(n - nans));
    if (nans)
      out += format("  %lld NaN", (long long)nans);
    out += "  [" + first.substr(1) + (n > 6 ? " ..." : "") + "]\n";
  }
  return out;
}

} // namespace glia::tool
