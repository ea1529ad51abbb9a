#include "Generator.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace glia::kernels {

Generator::Generator(const std::shared_ptr<const Target> &target, Random &random, int cores)
    : target(*target), r(random), cores(cores), t("random", target->name, cores) {}

int Generator::partitions() {
  static const std::vector<int> sizes = {1, 3, 8, 16, 16, 32, 32, 32, 48, 64, 128};
  return r.pick(sizes);
}

std::string Generator::name(const char *prefix) { return format("%s%d", prefix, names++); }

void Generator::go(int core) {
  if (core == current)
    return;
  t.core(core);
  current = core;
}

// ---- memory ---------------------------------------------------------------------------------------

int64_t Generator::psumInUse(int core) const {
  int64_t n = 0;
  for (const Tile &x : tiles)
    if (x.core == core && x.space == Space::Psum && !x.pinned && (!x.dead || x.held))
      n += x.taken;
  return n;
}

// At an address of its own, or where a tile that is not used any more was.
bool Generator::pinSomewhere(Tile &tile, int64_t bytes) {
  const int step = tile.partitions <= 32 ? 32 : tile.partitions <= 64 ? 64 : 128;
  for (Tile &x : tiles)
    if (x.pinned && x.dead && !x.held && x.core == tile.core && x.space == tile.space && x.taken >= bytes &&
        x.start % std::max(4, sizeOf(tile.dtype)) == 0 && legalStart(x.first, tile.partitions) &&
        x.first + tile.partitions <= 128 && r.chance(60)) {
      tile.first = x.first;
      tile.start = x.start;
      x.taken = 0; // its place is given away once
      return true;
    }
  const bool psum = tile.space == Space::Psum;
  int64_t &top = pinTop[{tile.core, tile.space}];
  const int64_t base = psum   ? target.psumBytes / 2 + 2 * target.psumBankBytes
                       : room ? target.sbufBytes - room
                              : target.sbufBytes / 3,
                end = psum ? target.psumBytes : base + (room ? room / 8 : 16384);
  const int64_t align = std::max(4, sizeOf(tile.dtype)), bank = target.psumBankBytes;
  int64_t at = (base + top + align - 1) / align * align;
  if (psum && at / bank != (at + bytes - 1) / bank)
    at = (at / bank + 1) * bank;
  if (at + bytes > end)
    return false;
  top = at + bytes - base;
  tile.first = static_cast<int>(r.below(128 / step)) * step;
  tile.start = at;
  return true;
}

Tile &Generator::allocate(int core, Space space, DType type, int partitions, int64_t elements, bool plain) {
  go(core);
  if (space == Space::Psum)
    for (int tries = 0; tries < 20 && psumInUse(core) > target.psumBytes / 4; ++tries)
      for (Tile &x : tiles)
        if (!x.dead && x.core == core && x.space == Space::Psum && !x.reserved && r.chance(30)) {
          x.dead = true;
          x.held = inLoop();
        }
  Tile n;
  n.space = space;
  n.core = core;
  n.dtype = type;
  n.partitions = partitions;
  n.elements = elements;
  n.scope = loops.size();
  // More than is ever used, so that some of it stays undefined.
  const int moreRows = !plain && r.chance(15) ? static_cast<int>(r.below(129 - partitions)) : 0;
  int64_t more = !plain && r.chance(20) ? r.below(space == Space::Psum ? 64 : room ? 32 : 400) : 0;
  if (space == Space::Psum && !plain && r.chance(10) && psumInUse(core) < target.psumBytes / 8)
    more = target.psumBankBytes / sizeOf(type) - elements;
  n.taken = (elements + more) * sizeOf(type);
  n.pinned = !inLoop() && r.chance(8) && moreRows == 0 && pinSomewhere(n, n.taken);
  n.memory = n.pinned ? -1 - core * 2 - (space == Space::Psum) : ++memories;
  n.handle = t.alloc(space, name(space == Space::Psum ? "p" : "t"), type, {partitions + moreRows, elements + more},
                     n.pinned ? n.first : -1, n.pinned ? n.start : -1);
  tiles.push_back(n);
  return tiles.back();
}

Tile &Generator::pinned(int core, Space space, DType type, int first, int partitions, int64_t byte, int64_t elements) {
  go(core);
  Tile n;
  n.space = space;
  n.core = core;
  n.dtype = type;
  n.partitions = partitions;
  n.first = first;
  n.elements = elements;
  n.start = byte;
  n.scope = loops.size();
  n.pinned = true;
  n.taken = 0; // its place is not given to another one: tiles on top of it may still be used
  n.memory = -1 - core * 2 - (space == Space::Psum);
  n.handle = t.alloc(space, name("a"), type, {partitions, elements}, first, byte);
  tiles.push_back(n);
  return tiles.back();
}

void Generator::retire() {
  for (Tile &x : tiles)
    if (!x.dead && !x.reserved && r.chance(15)) {
      x.dead = true;
      x.held = inLoop();
      return;
    }
}

Hbm Generator::tensor(const char *kind, const char *prefix, DType type, const std::vector<int64_t> &shape, bool shared,
                      std::vector<std::byte> data) {
  Hbm h;
  h.dtype = type;
  h.elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  h.handle = t.tensor(kind, name(prefix), type, shape, shared, data);
  return h;
}

static std::vector<std::byte> integers(Random &r, int64_t n, int size, int64_t lo, int64_t hi, bool unique) {
  std::vector<std::byte> bytes(n * size);
  std::vector<int64_t> pool;
  if (unique) { // a shuffle of the range
    pool.resize(hi - lo + 1);
    std::iota(pool.begin(), pool.end(), lo);
    for (size_t i = pool.size(); i > 1; --i)
      std::swap(pool[i - 1], pool[r.below(static_cast<int64_t>(i))]);
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = unique ? pool[i % static_cast<int64_t>(pool.size())] : r.between(lo, hi);
    std::memcpy(bytes.data() + i * size, &v, size); // little-endian: the low bytes
  }
  return bytes;
}

Hbm Generator::rangedInput(DType type, std::vector<int64_t> shape, int64_t lo, int64_t hi, bool unique) {
  const Hbm h = tensor("input", "n", type, std::move(shape), true);
  inputs[format("n%d", names - 1)] = integers(r, h.elements, sizeOf(type), lo, hi, unique);
  return h;
}

Hbm Generator::input(DType type, std::vector<int64_t> shape) {
  if (isInteger(type))
    return rangedInput(type, std::move(shape), 0, 100);
  const Hbm h = tensor("input", "x", type, std::move(shape), true);
  std::vector<std::byte> bytes(h.elements * sizeOf(type));
  for (int64_t i = 0; i < h.elements; ++i)
    fromF32(type, static_cast<float>(r.between(-64, 64)) / 16.0f, bytes.data() + i * sizeOf(type));
  inputs[format("x%d", names - 1)] = std::move(bytes);
  return h;
}

Hbm Generator::constant(DType type, std::vector<int64_t> shape, int64_t lo, int64_t hi) {
  const int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<std::byte> bytes;
  if (isInteger(type)) {
    bytes = integers(r, n, sizeOf(type), lo, hi, false);
  } else {
    bytes.resize(n * sizeOf(type));
    for (int64_t i = 0; i < n; ++i)
      fromF32(type, static_cast<float>(r.between(-16, 16)) / 8.0f, bytes.data() + i * sizeOf(type));
  }
  return tensor("constant", "c", type, std::move(shape), true, std::move(bytes));
}

Hbm Generator::output(DType type, std::vector<int64_t> shape) { return tensor("output", "y", type, std::move(shape), true); }
Hbm Generator::updated(DType type, std::vector<int64_t> shape) {
  const Hbm x = input(type, shape), y = output(type, std::move(shape));
  t.begin(y.handle, x.handle);
  return y;
}
Hbm Generator::scratch(DType type, std::vector<int64_t> shape, bool shared) {
  return tensor("scratch", "h", type, std::move(shape), shared);
}

// ---- views ----------------------------------------------------------------------------------------

static void merge(std::vector<std::pair<int64_t, int64_t>> &runs) {
  std::sort(runs.begin(), runs.end());
  size_t n = 0;
  for (const auto &run : runs)
    if (n && run.first <= runs[n - 1].second)
      runs[n - 1].second = std::max(runs[n - 1].second, run.second);
    else
      runs[n++] = run;
  runs.resize(n);
}

static std::vector<std::pair<int64_t, int64_t>> runsOf(const std::vector<Step> &dims, int64_t start, int size) {
  std::vector<std::pair<int64_t, int64_t>> runs = {{start, start + size}};
  for (size_t k = dims.size(); k-- > 0;) {
    const Step &d = dims[k];
    if (runs.size() == 1 && d.stride * size == runs[0].second - runs[0].first) { // contiguous
      runs[0].second = runs[0].first + d.stride * size * d.count;
      continue;
    }
    std::vector<std::pair<int64_t, int64_t>> next;
    for (const auto &run : runs)
      for (int64_t i = 0; i < (d.stride ? d.count : 1); ++i)
        next.push_back({run.first + i * d.stride * size, run.second + i * d.stride * size});
    merge(next);
    runs = std::move(next);
  }
  return runs;
}

bool overlap(const View &a, const View &b) {
  if (a.memory != b.memory || a.last <= b.first || b.last <= a.first)
    return false;
  for (size_t i = 0, k = 0; i < a.runs.size() && k < b.runs.size(); a.runs[i].second < b.runs[k].second ? ++i : ++k)
    if (a.runs[i].first < b.runs[k].second && b.runs[k].first < a.runs[i].second)
      return true;
  return false;
}

View Generator::view(Tile &tile, const std::vector<Step> &dims, int64_t element, int partition, int partitions) {
  const int n = partitions ? partitions : tile.partitions - partition, size = sizeOf(tile.dtype);
  View v;
  v.operand.tensor = t.tensorValue(tile.handle);
  v.operand.dtype = tile.dtype;
  v.operand.partition = partition;
  v.operand.partitions = n;
  v.operand.byteOffset = element * size;
  for (const Step &d : dims)
    v.operand.dims.append({d.stride, d.count});
  v.tile = &tile;
  v.memory = tile.memory;
  v.first = tile.first + partition;
  v.last = v.first + n;
  v.runs = runsOf(dims, tile.start + element * size, size);
  return v;
}

View Generator::view(const Hbm &h, const std::vector<Step> &dims, int64_t element) {
  const int size = sizeOf(h.dtype);
  View v;
  v.operand.tensor = t.tensorValue(h.handle);
  v.operand.dtype = h.dtype;
  v.operand.byteOffset = element * size;
  for (const Step &d : dims)
    v.operand.dims.append({d.stride, d.count});
  v.memory = (int64_t{1} << 40) + h.handle;
  v.runs = runsOf(dims, element * size, size);
  return v;
}

View Generator::randomView(Tile &tile, int p, int64_t n, bool source, bool engine) {
  std::vector<int> starts;
  for (int i = 0; i + p <= tile.partitions; ++i)
    if (!engine || legalStart(tile.first + i, p))
      starts.push_back(i);
  const int start = r.pick(starts);
  const int64_t all = tile.elements;
  auto at = [&](int64_t extent) { return r.below(all - extent + 1); };
  for (int tries = 0; tries < 6; ++tries) {
    const int64_t a = r.between(1, std::min<int64_t>(n, 6)), c = n / a;
    switch (r.below(6)) {
    case 0: // strided
      if (const int64_t st = r.between(2, 4); (n - 1) * st + 1 <= all)
        return view(tile, {{st, n}}, at((n - 1) * st + 1), start, p);
      break;
    case 1: // rows with gaps
      if (const int64_t pitch = c + r.below(4); n % a == 0 && (a - 1) * pitch + c <= all)
        return view(tile, {{pitch, a}, {1, c}}, at((a - 1) * pitch + c), start, p);
      break;
    case 2: // a transposed walk
      if (n % a == 0 && n <= all)
        return view(tile, {{1, c}, {c, a}}, at(n), start, p);
      break;
    case 3: // repeated
      if (source && n % a == 0 && c <= all && r.chance(50))
        return view(tile, {{0, a}, {1, c}}, at(c), start, p);
      break;
    case 4: // three dimensions
      if (n % a == 0 && c % 2 == 0 && n <= all)
        return view(tile, {{c / 2, 2}, {c, a}, {1, c / 2}}, at(n), start, p);
      break;
    default:
      if (n <= all)
        return view(tile, {{1, n}}, at(n), start, p);
    }
  }
  return n <= all ? view(tile, {{1, n}}, at(n), start, p) : view(tile, {{0, n}}, at(1), start, p);
}

View Generator::randomView(const Hbm &h, int64_t rows, int64_t n, int64_t pitch, bool source) {
  const int64_t room = h.elements - (rows - 1) * pitch - n;
  switch (r.below(source ? 6 : 4)) {
  case 0: return view(h, {{-pitch, rows}, {1, n}}, (rows - 1) * pitch + r.below(room + 1)); // last row first
  case 4: return view(h, {{0, rows}, {1, n}}, r.below(h.elements - n + 1));                 // one row for all
  case 5: return view(h, {{pitch, rows}, {0, n}}, r.below(room + 1));                       // one element per row
  default: return view(h, {{pitch, rows}, {1, n}}, r.below(room + 1));
  }
}

View Generator::moved(View v, mlir::Value reg, int64_t bytes, bool partition) {
  v.operand.terms.push_back({reg, bytes, partition});
  v.runs = {{INT64_MIN / 2, INT64_MAX / 2}};
  if (partition)
    v.first = 0, v.last = 128;
  return v;
}

} // namespace glia::kernels
