#include "Slices.h"
#include "Names.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <algorithm>
#include <charconv>

namespace glia::debug {

[[noreturn]] static void bad(std::string message, std::string advice = {}) {
  throw Error("DEBUG-VALUE", std::move(message), std::move(advice));
}

static int64_t integer(std::string_view text, int64_t otherwise) {
  text = trimmed(text);
  if (text.empty())
    return otherwise;
  int64_t n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc() || end != text.data() + text.size())
    bad("`" + printable(text) + "` is no index", "Slices are like [0:4, 3, ::2].");
  return n;
}

static Range rangeOf(std::string_view text, int64_t size) {
  const size_t first = text.find(':');
  Range r;
  if (first == std::string_view::npos) {
    r.start = integer(text, 0);
    r.stop = r.start + 1;
    r.single = true;
  } else {
    const size_t second = std::min(text.find(':', first + 1), text.size());
    r.start = integer(text.substr(0, first), 0);
    r.stop = integer(text.substr(first + 1, second - first - 1), size);
    r.step = second < text.size() ? integer(text.substr(second + 1), 1) : 1;
  }
  if (r.start < 0 || r.step < 1 || r.stop > size || r.count() < 1)
    bad(format("`%s` is not in 0:%lld", printable(trimmed(text)).c_str(), (long long)size));
  return r;
}

std::vector<Range> rangesOf(std::string_view text, const std::vector<int64_t> &sizes) {
  std::vector<Range> out;
  if (!text.empty()) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']')
      bad("`" + printable(text) + "` is no slice", "Slices are like [0:4, 3, ::2].");
    text = text.substr(1, text.size() - 2);
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      if (out.size() == sizes.size())
        bad(format("there are only %zu dimensions", sizes.size()));
      out.push_back(rangeOf(text.substr(at, end - at), sizes[out.size()]));
      at = end + 1;
    }
  }
  while (out.size() < sizes.size())
    out.push_back({0, sizes[out.size()], 1, false});
  return out;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string out;
  for (int64_t n : shape)
    out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

std::vector<int64_t> shapeOf(const std::vector<Range> &ranges) {
  std::vector<int64_t> out;
  for (const Range &r : ranges)
    if (!r.single)
      out.push_back(r.count());
  return out;
}

void forEachIndex(const std::vector<Range> &ranges, const std::function<void(const std::vector<int64_t> &)> &f) {
  std::vector<int64_t> index;
  for (const Range &r : ranges) {
    if (r.count() < 1)
      return;
    index.push_back(r.start);
  }
  for (;;) {
    f(index);
    size_t d = ranges.size();
    while (d-- > 0) {
      index[d] += ranges[d].step;
      if (index[d] < ranges[d].stop)
        break;
      index[d] = ranges[d].start;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

std::string rowsText(const std::vector<int64_t> &shape, int64_t count, const std::function<std::string(int64_t)> &element) {
  constexpr int64_t kColumns = 8, kRows = 8;
  const int64_t columns = shape.empty() ? 1 : shape.back(), rows = columns ? count / columns : 0;
  std::string out;
  for (int64_t r = 0; r < rows && r < kRows; ++r) {
    out += "\n ";
    for (int64_t c = 0; c < columns && c < kColumns; ++c)
      out += " " + element(r * columns + c);
    out += columns > kColumns ? " ..." : "";
  }
  return out + (rows > kRows ? "\n  ..." : "");
}

} // namespace glia::debug
