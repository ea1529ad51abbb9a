// Parts of arrays as the prompts take and show them: [0:4, 3, ::2].
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace glia::debug {

struct Range {
  int64_t start = 0, stop = 0, step = 1;
  bool single = false; // an index, not a slice
  int64_t count() const { return stop > start ? (stop - start + step - 1) / step : 0; }
};

// "[0:4, 3]" over these sizes; missing ones are whole. Throws Error DEBUG-VALUE.
std::vector<Range> rangesOf(std::string_view text, const std::vector<int64_t> &sizes);
std::vector<int64_t> shapeOf(const std::vector<Range> &ranges); // without single indices
void forEachIndex(const std::vector<Range> &ranges, const std::function<void(const std::vector<int64_t> &)> &f);
std::string shapeText(const std::vector<int64_t> &shape); // "[4, 8]"

// Some rows of an array, each in a line of its own, with as many elements as fit; `element(i)` in row-major order.
std::string rowsText(const std::vector<int64_t> &shape, int64_t count, const std::function<std::string(int64_t)> &element);

} // namespace glia::debug
