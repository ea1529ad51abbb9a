#include "glia/Program/TensorParts.h"
#include "glia/Program/RankContract.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <numeric>

namespace glia {

std::vector<int64_t> TensorParts::partShape() const {
  std::vector<int64_t> out(shape);
  for (size_t d = 0; d < out.size(); ++d)
    out[d] /= tiles[d];
  return out;
}

std::vector<int64_t> TensorParts::startOf(int rank) const {
  std::vector<int64_t> out(shape.size());
  int64_t n = tileOf[static_cast<size_t>(rank)];
  for (size_t d = shape.size(); d-- > 0; n /= tiles[d])
    out[d] = n % tiles[d] * (shape[d] / tiles[d]);
  return out;
}

// ---- text: "16,32;4,1;0,0,1,1,2,2,3,3" -----------------------------------------------------------------------------------

template <class Int> static std::string listOf(const std::vector<Int> &v) {
  std::string out;
  for (size_t i = 0; i < v.size(); ++i)
    out += (i ? "," : "") + std::to_string(v[i]);
  return out;
}

std::string textOf(const TensorParts &p) { return listOf(p.shape) + ";" + listOf(p.tiles) + ";" + listOf(p.tileOf); }

template <class Int> static bool readList(std::string_view text, std::vector<Int> &out) {
  while (!text.empty()) {
    Int v{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || v < 0)
      return false;
    out.push_back(v);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && (text.front() != ',' || text.size() == 1))
      return false;
    text.remove_prefix(text.empty() ? 0 : 1);
  }
  return true;
}

static bool fits(const TensorParts &p, std::span<const int64_t> part, int ranks) {
  if (p.shape.size() != part.size() || p.tiles.size() != part.size() || p.tileOf.size() != static_cast<size_t>(ranks))
    return false;
  int64_t all = 1;
  for (size_t d = 0; d < part.size(); ++d) {
    if (p.tiles[d] < 1 || p.tiles[d] > ranks || p.shape[d] % p.tiles[d] || p.shape[d] / p.tiles[d] != part[d])
      return false;
    if ((all *= p.tiles[d]) > ranks)
      return false;
  }
  std::vector<bool> held(static_cast<size_t>(all)); // by somebody: a whole has no holes
  for (const int32_t t : p.tileOf)
    if (t < all)
      held[static_cast<size_t>(t)] = true;
    else
      return false;
  return std::find(held.begin(), held.end(), false) == held.end();
}

TensorParts parseParts(std::string_view text, std::string_view tensor, std::span<const int64_t> part, int ranks) {
  const size_t first = text.find(';'), second = first == std::string_view::npos ? first : text.find(';', first + 1);
  TensorParts p;
  if (second == std::string_view::npos || !readList(text.substr(0, first), p.shape) ||
      !readList(text.substr(first + 1, second - first - 1), p.tiles) || !readList(text.substr(second + 1), p.tileOf) ||
      !fits(p, part, ranks))
    throw Error("RANK-PARTS",
                "the program's contract says `" + std::string(text) + "` of where the parts of `" + std::string(tensor) +
                    "` lie, which does not fit it",
                "Compile the program again.");
  return p;
}

std::string partsKey(std::string_view tensor) { return "parts." + std::string(tensor); }

TensorParts partsOf(const Program &p, const Tensor &t, std::string_view name) {
  const int ranks = ranksOf(p);
  const std::string key = partsKey(name);
  for (const ContractItem &c : p.contract)
    if (c.key == key)
      return parseParts(c.value, name, t.shape, ranks);
  TensorParts own{t.shape, std::vector<int64_t>(t.shape.size(), 1), std::vector<int32_t>(static_cast<size_t>(ranks))};
  own.shape.insert(own.shape.begin(), ranks);
  own.tiles.insert(own.tiles.begin(), ranks);
  std::iota(own.tileOf.begin(), own.tileOf.end(), 0);
  return own;
}

std::vector<CallerTensor> callerTensors(const Program &p) {
  const bool several = ranksOf(p) > 1;
  const std::string rank = rankInputOf(p);
  std::vector<CallerTensor> out;
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    const Tensor &t = p.tensors[i];
    const auto add = [&](const std::string &name, TensorKind kind) {
      CallerTensor c{{}, i};
      c.whole.name = name;
      c.whole.dtype = t.dtype;
      c.whole.shape = several ? partsOf(p, t, name).shape : t.shape;
      c.whole.kind = kind;
      out.push_back(std::move(c));
    };
    if (const std::string input(t.inputName()); !input.empty() && (!several || input != rank))
      add(input, TensorKind::Input);
    if (t.kind == TensorKind::Output)
      add(t.name, TensorKind::Output);
  }
  return out;
}

// ---- parts ---------------------------------------------------------------------------------------------------------------

// Calls f(byte in the whole, byte in the part, bytes) for each stretch of the part.
static void forEachRun(const TensorParts &p, int rank, int elementBytes,
                       const std::function<void(size_t, size_t, size_t)> &f) {
  const std::vector<int64_t> part = p.partShape(), start = p.startOf(rank);
  size_t inner = part.size(); // dimensions from here on are whole: one stretch, with the one before
  while (inner > 0 && p.tiles[inner - 1] == 1)
    --inner;
  int64_t run = elementBytes, rows = 1;
  for (size_t d = inner > 0 ? inner - 1 : 0; d < part.size(); ++d)
    run *= part[d];
  for (size_t d = 0; d + 1 < inner; ++d)
    rows *= part[d];
  for (int64_t row = 0; row < rows && run > 0; ++row) {
    int64_t at = 0, left = row, pitch = 1;
    for (size_t d = part.size(); d-- > 0; pitch *= p.shape[d]) {
      int64_t index = 0;
      if (d + 1 < inner) {
        index = left % part[d];
        left /= part[d];
      }
      at += (start[d] + index) * pitch;
    }
    f(static_cast<size_t>(at * elementBytes), static_cast<size_t>(row * run), static_cast<size_t>(run));
  }
}

void takePart(const TensorParts &p, int rank, int elementBytes, std::span<const std::byte> whole,
              std::span<std::byte> part) {
  forEachRun(p, rank, elementBytes,
             [&](size_t from, size_t to, size_t n) { std::memcpy(part.data() + to, whole.data() + from, n); });
}

void putPart(const TensorParts &p, int rank, int elementBytes, std::span<const std::byte> part, std::span<std::byte> whole) {
  forEachRun(p, rank, elementBytes,
             [&](size_t to, size_t from, size_t n) { std::memcpy(whole.data() + to, part.data() + from, n); });
}

std::optional<size_t> offsetOf(const TensorParts &p, int rank, int elementBytes) {
  std::optional<size_t> out;
  size_t runs = 0;
  forEachRun(p, rank, elementBytes, [&](size_t at, size_t, size_t) { out = runs++ ? std::nullopt : std::optional(at); });
  return runs == 1 ? out : std::nullopt;
}

} // namespace glia
