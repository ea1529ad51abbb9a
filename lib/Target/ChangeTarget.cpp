#include "glia/Target/ChangeTarget.h"

#include "Support/Toml.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <cmath>
#include <sstream>

namespace glia {

static TargetChange parseChange(std::string_view text) {
  TargetChange c;
  const size_t equals = text.find('=');
  std::string_view number = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (number.ends_with('x')) {
    c.factor = true;
    number.remove_suffix(1);
  }
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), c.value);
  if (equals == 0 || number.empty() || error != std::errc() || end != number.data() + number.size() ||
      !std::isfinite(c.value))
    throw Error("TARGET-CHANGE", format("`%s` does not change a value of a target", std::string(text).c_str()),
                "Write KEY=NUMBER or KEY=FACTORx, several with commas: dma.fixed_latency=0,clock.vector=2x");
  c.key = text.substr(0, equals);
  return c;
}

std::vector<TargetChange> parseChanges(std::string_view text) {
  std::vector<TargetChange> out;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(',', from), text.size());
    out.push_back(parseChange(text.substr(from, to - from)));
    from = to + 1;
  }
  return out;
}

// The values whose names have a part in common with a key that there is not: `psum.banks` is a question about PSUM.
static std::string related(const std::string &key, const std::vector<std::string_view> &keys, std::string otherwise) {
  constexpr size_t kMost = 6;
  for (size_t from = 0; from < key.size();) {
    const size_t to = std::min(key.find_first_of("._", from), key.size());
    const std::string part = key.substr(from, to - from);
    from = to + 1;
    std::string with;
    size_t count = 0;
    for (std::string_view k : keys)
      if (part.size() > 2 && k.find(part) != k.npos && !k.starts_with("feature."))
        with += (count++ ? ", " : "") + std::string(k);
    if (count && count <= kMost)
      return "Those about " + part + ": " + with + ".";
  }
  return otherwise;
}

// `vector.clock` for `clock.vector` is understood as a question.
static std::string advice(const Target &t, const std::string &key) {
  std::vector<std::string_view> keys;
  for (const auto &[name, value] : t.values)
    keys.push_back(name);
  const size_t dot = key.find('.');
  const std::string turned = dot == std::string::npos ? key : key.substr(dot + 1) + "." + key.substr(0, dot);
  const std::string list = "`glia targets " + t.name + "` lists them.";
  return t.values.contains(turned) ? "Did you mean `" + turned + "`?" : didYouMean(key, keys, related(key, keys, list));
}

// A part of what is counted is counted too.
static double multiplied(const TargetValue &v, double factor) {
  const bool counted = v.number == std::floor(v.number) && (v.unit.empty() || v.unit == "bytes" || v.unit == "elements" ||
                                                            v.unit == "partitions" || v.unit == "columns");
  return counted ? std::floor(v.number * factor) : v.number * factor;
}

std::shared_ptr<const Target> changeTarget(const Target &t, const std::vector<TargetChange> &changes) {
  toml::table root = toml::parse(t.text);
  for (const TargetChange &c : changes) {
    const auto found = t.values.find(c.key);
    const size_t dot = c.key.find('.');
    toml::table *section = found == t.values.end() ? nullptr : root[c.key.substr(0, dot)].as_table();
    toml::table *entry = section ? (*section)[c.key.substr(dot + 1)].as_table() : nullptr;
    if (!entry)
      throw Error("TARGET-KEY", format("target `%s` has no value `%s`", t.name.c_str(), c.key.c_str()), advice(t, c.key));
    const double value = c.factor ? multiplied(found->second, c.value) : c.value;
    if ((*entry)["value"].is_boolean())
      entry->insert_or_assign("value", value != 0);
    else if (value == std::floor(value) && std::abs(value) < 1e15)
      entry->insert_or_assign("value", static_cast<int64_t>(value));
    else
      entry->insert_or_assign("value", value);
    entry->insert_or_assign("origin", "assumed");
    entry->insert_or_assign("source", "changed to see what if");
  }
  std::ostringstream text;
  text << root;
  return parseTarget(text.str(), t.name + ".toml");
}

} // namespace glia
