#include "NanOrigin.h"
#include "glia/Debug/Debugger.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/TensorParts.h"
#include "glia/Runtime/ElementValue.h"
#include "glia/Support/Text.h"

#include <cmath>

namespace glia::tool {

namespace {

struct Nans {
  int64_t count = 0, first = -1; // element
};

Nans nansOf(const Tensor &t, std::span<const std::byte> data) {
  Nans out;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::isnan(elementValue(t.dtype, data.data() + i * sizeOf(t.dtype))) && out.count++ == 0)
      out.first = i;
  return out;
}

std::string indexText(const Tensor &t, int64_t element) {
  std::string out;
  for (size_t d = t.shape.size(); d-- > 0; element /= t.shape[d])
    out = std::to_string(element % t.shape[d]) + (out.empty() ? "" : ", ") + out;
  return "[" + out + "]";
}

std::string firstWriter(const Program &p, const TensorData &inputs, const RunOptions &options) {
  std::string said;
  Debugger debugger(p, inputs, options, [&](std::string_view text) { said += text; });
  debugger.command("watch nan");
  said.clear();
  debugger.command("continue");
  const size_t line = said.find("watch 1: ");
  return line == std::string::npos ? "" : said.substr(line + 9, said.find('\n', line) - line - 9);
}

} // namespace

std::optional<Diagnostic> nanOrigin(const Program &p, const TensorData &inputs, const TensorData &outputs,
                                    const RunOptions &options) {
  std::vector<std::string> given;
  std::optional<Diagnostic> out;
  for (const CallerTensor &c : callerTensors(p)) {
    if (const auto in = inputs.find(c.whole.name); in != inputs.end() && nansOf(c.whole, in->second).count)
      given.push_back("the input `" + printable(c.whole.name) + "` has NaNs");
    const auto it = outputs.find(c.whole.name);
    if (out || !c.isOutput() || it == outputs.end())
      continue;
    if (const Nans n = nansOf(c.whole, it->second); n.count)
      out = Diagnostic{.code = "RUN-NAN",
                       .message = format("`%s` has %lld NaN, the first at %s", printable(c.whole.name).c_str(),
                                         (long long)n.count, indexText(c.whole, n.first).c_str())};
  }
  if (!out)
    return out;
  out->notes = std::move(given);
  out->advice = "`glia debug` with `watch nan` stops there.";
  if (ranksOf(p) == 1)
    if (const std::string first = firstWriter(p, inputs, options); !first.empty())
      out->notes.push_back("the first that is written: " + first);
  return out;
}

} // namespace glia::tool
