#include "glia/ISA/Collective.h"
#include "glia/ISA/Instruction.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace glia {

const EnumNames &collectiveKindNames() {
  static constexpr std::string_view kNames[] = {"all_reduce", "all_gather", "reduce_scatter",
                                                "all_to_all", "permute",    "broadcast"};
  static constexpr EnumNames kEnum{"collective_kind", kNames};
  return kEnum;
}

const EnumNames &collectiveOpNames() {
  static constexpr std::string_view kNames[] = {"add", "multiply", "max", "min", "and", "or", "xor"};
  static constexpr EnumNames kEnum{"collective_op", kNames};
  return kEnum;
}

bool isCollective(const InstrDef &def) { return def.name == "collective"; }

std::vector<int> Collective::members(int rank) const {
  std::vector<int> out;
  if (kind == CollectiveKind::Permute) {
    for (int i = 0; i < ranks; ++i)
      out.push_back(i);
    return out;
  }
  for (size_t row = 0; row + static_cast<size_t>(width) <= groups.size(); row += static_cast<size_t>(width)) {
    const auto begin = groups.begin() + static_cast<ptrdiff_t>(row), end = begin + width;
    if (std::find(begin, end, rank) == end)
      continue;
    std::copy_if(begin, end, std::back_inserter(out), [](int32_t r) { return r >= 0; });
    return out;
  }
  return out;
}

int64_t Collective::resultElements(size_t members) const {
  const auto n = static_cast<int64_t>(members);
  switch (kind) {
  case CollectiveKind::AllGather: return elements * n;
  case CollectiveKind::ReduceScatter: return elements / n;
  default: return elements;
  }
}

std::string Collective::text() const {
  std::string out(collectiveKindNames().names[static_cast<int>(kind)]);
  if (combines())
    out += " " + std::string(collectiveOpNames().names[static_cast<int>(op)]);
  out += format(" of %lld ", (long long)elements) + std::string(name(dtype)) + " among ";
  constexpr size_t kShown = 32;
  for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) {
    out += i % static_cast<size_t>(width) ? ", " : i ? "], [" : "[";
    out += std::to_string(groups[i]);
  }
  return out + (groups.size() > kShown ? ", ...]" : groups.empty() ? "nobody" : "]");
}

static std::string faultOfGroups(const Collective &c) {
  if (c.groups.size() % static_cast<size_t>(c.width))
    return format("%zu ranks do not make groups of %d", c.groups.size(), c.width);
  std::vector<int> seen(static_cast<size_t>(c.ranks));
  size_t least = SIZE_MAX;
  for (size_t row = 0; row < c.groups.size(); row += static_cast<size_t>(c.width)) {
    size_t members = 0;
    for (int i = 0; i < c.width; ++i) {
      const int32_t r = c.groups[row + static_cast<size_t>(i)];
      if (r < 0)
        continue;
      if (r >= c.ranks)
        return format("it names rank %d, and the ranks are 0 to %d", r, c.ranks - 1);
      if (seen[static_cast<size_t>(r)]++)
        return format("rank %d is named twice", r);
      ++members;
    }
    if (!members)
      return "a group has no rank";
    least = std::min(least, members);
  }
  if (const auto none = std::find(seen.begin(), seen.end(), 0); none != seen.end())
    return format("rank %td is in no group", none - seen.begin());
  if (least < static_cast<size_t>(c.width) && c.kind != CollectiveKind::AllReduce && c.kind != CollectiveKind::Broadcast)
    return "its groups differ in size, and so would the results of its ranks";
  const bool divides = c.kind == CollectiveKind::ReduceScatter || c.kind == CollectiveKind::AllToAll;
  if (divides && c.elements % c.width)
    return format("%lld elements cannot be divided among %d ranks", (long long)c.elements, c.width);
  return {};
}

static std::string faultOfPairs(const Collective &c) {
  if (c.width != 2 || c.groups.size() % 2)
    return "a permutation is a list of pairs: who gives, who gets";
  std::vector<bool> gives(static_cast<size_t>(c.ranks)), gets(static_cast<size_t>(c.ranks));
  for (size_t i = 0; i < c.groups.size(); ++i) {
    const int32_t r = c.groups[i];
    if (r < 0 || r >= c.ranks)
      return format("it names rank %d, and the ranks are 0 to %d", r, c.ranks - 1);
    std::vector<bool> &side = i % 2 ? gets : gives;
    if (side[static_cast<size_t>(r)])
      return format("rank %d %s twice", r, i % 2 ? "gets" : "gives");
    side[static_cast<size_t>(r)] = true;
  }
  return {};
}

std::string faultOf(const Collective &c) {
  if (c.ranks < 1 || c.ranks > kMostRanks)
    return format("%d ranks; there are 1 to %d", c.ranks, kMostRanks);
  if (c.width < 1)
    return format("groups of %d ranks", c.width);
  if (c.combines() && !combines(c.op, c.dtype))
    return std::string(name(c.dtype)) + " elements cannot be combined by " +
           std::string(collectiveOpNames().names[static_cast<int>(c.op)]);
  return c.kind == CollectiveKind::Permute ? faultOfPairs(c) : faultOfGroups(c);
}

bool combines(CollectiveOp op, DType t) {
  const bool bits = op == CollectiveOp::And || op == CollectiveOp::Or || op == CollectiveOp::Xor;
  return sizeOf(t) <= 4 && (isFloat(t) ? !bits : isInteger(t));
}

// ---- what comes out ------------------------------------------------------------------------------------------------------

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// sum = sum op next, as the engines do it (docs/numerics.md). Loops of one operation each, for vectors.
void together(CollectiveOp op, float *sum, const float *next, int64_t count) {
  const auto each = [&](auto made) {
    for (int64_t i = 0; i < count; ++i) {
      const float a = sum[i], b = next[i], x = made(a, b);
      sum[i] = a != a || b != b || x != x ? kNaN : x;
    }
  };
  switch (op) {
  case CollectiveOp::Multiply: return each([](float a, float b) { return a * b; });
  case CollectiveOp::Max: return each([](float a, float b) { return a > b ? a : b; });
  case CollectiveOp::Min: return each([](float a, float b) { return a < b ? a : b; });
  default: return each([](float a, float b) { return a + b; });
  }
}

template <class Int> Int together(CollectiveOp op, Int a, Int b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b); // sums and products wrap around
  switch (op) {
  case CollectiveOp::Add: return static_cast<Int>(x + y);
  case CollectiveOp::Multiply: return static_cast<Int>(x * y);
  case CollectiveOp::Max: return std::max(a, b);
  case CollectiveOp::Min: return std::min(a, b);
  case CollectiveOp::And: return static_cast<Int>(a & b);
  case CollectiveOp::Or: return static_cast<Int>(a | b);
  case CollectiveOp::Xor: return static_cast<Int>(a ^ b);
  }
  return a;
}

template <class Int>
void integers(CollectiveOp op, std::span<const std::span<const std::byte>> sources, int64_t first,
              std::span<std::byte> result) {
  const size_t n = result.size() / sizeof(Int);
  for (size_t i = 0; i < n; ++i) {
    Int sum{}, next;
    for (size_t m = 0; m < sources.size(); ++m) {
      std::memcpy(&next, sources[m].data() + (static_cast<size_t>(first) + i) * sizeof(Int), sizeof next);
      sum = m ? together(op, sum, next) : next;
    }
    std::memcpy(result.data() + i * sizeof(Int), &sum, sizeof sum);
  }
}

void floats(CollectiveOp op, DType t, std::span<const std::span<const std::byte>> sources, int64_t first,
            std::span<std::byte> result) {
  const int size = sizeOf(t);
  const int64_t n = static_cast<int64_t>(result.size()) / size;
  constexpr int64_t kBlock = 1024;
  float sum[kBlock], next[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    for (size_t m = 0; m < sources.size(); ++m) {
      loadF32(t, sources[m].data() + (first + at) * size, size, m ? next : sum, count);
      if (m)
        together(op, sum, next, count);
    }
    storeF32(t, sum, result.data() + at * size, size, count);
  }
}

// Elements from `first` on, as many as the result has.
void combineFrom(const Collective &c, std::span<const std::span<const std::byte>> sources, int64_t first,
                 std::span<std::byte> result) {
  if (sources.size() == 1) { // bits stay as they are
    std::memcpy(result.data(), sources[0].data() + first * sizeOf(c.dtype), result.size());
    return;
  }
  switch (c.dtype) {
  case DType::I8: return integers<int8_t>(c.op, sources, first, result);
  case DType::U8: return integers<uint8_t>(c.op, sources, first, result);
  case DType::I16: return integers<int16_t>(c.op, sources, first, result);
  case DType::U16: return integers<uint16_t>(c.op, sources, first, result);
  case DType::I32: return integers<int32_t>(c.op, sources, first, result);
  case DType::U32: return integers<uint32_t>(c.op, sources, first, result);
  default: return floats(c.op, c.dtype, sources, first, result);
  }
}

} // namespace

void combine(const Collective &c, int rank, std::span<const std::span<const std::byte>> sources,
             std::span<std::byte> result) {
  if (result.empty())
    return;
  const std::vector<int> members = c.members(rank);
  const auto place = static_cast<size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  const size_t block = result.size() / std::max<size_t>(members.size(), 1); // of kinds that put blocks one behind the other
  switch (c.kind) {
  case CollectiveKind::AllReduce: return combineFrom(c, sources, 0, result);
  case CollectiveKind::ReduceScatter:
    return combineFrom(c, sources, static_cast<int64_t>(place) * c.resultElements(members.size()), result);
  case CollectiveKind::AllGather:
    for (size_t m = 0; m < members.size(); ++m)
      std::memcpy(result.data() + m * block, sources[m].data(), block);
    return;
  case CollectiveKind::AllToAll:
    for (size_t m = 0; m < members.size(); ++m)
      std::memcpy(result.data() + m * block, sources[m].data() + place * block, block);
    return;
  case CollectiveKind::Broadcast: std::memcpy(result.data(), sources[0].data(), result.size()); return;
  case CollectiveKind::Permute:
    std::fill(result.begin(), result.end(), std::byte{0});
    for (size_t i = 0; i + 1 < c.groups.size(); i += 2)
      if (c.groups[i + 1] == rank)
        std::memcpy(result.data(), sources[static_cast<size_t>(c.groups[i])].data(), result.size());
    return;
  }
}

} // namespace glia
