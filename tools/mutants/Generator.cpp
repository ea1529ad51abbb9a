#include "Generator.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::mutants {

const Types &newestTypes() {
  static const Types types = [] {
    Types t = computeTypes();
    t.push_back(DType::F8E4M3FN);
    return t;
  }();
  return types;
}

int Generator::partitions() {
  static const std::vector<int> sizes = {1, 3, 16, 16, 32, 32, 32, 48, 64, 128};
  return r.pick(sizes);
}

// ---- memory ---------------------------------------------------------------------------------------

Buffer &Generator::allocate(int core, Space space, DType t, int partitions, int64_t elements) {
  Buffer n{.ref = {}, .space = space, .core = core, .dtype = t, .partitions = partitions, .elements = elements};
  Allocation a;
  a.name = format("%s%d", space == Space::Psum ? "p" : "t", names++);
  a.space = space;
  a.core = static_cast<uint8_t>(core);
  a.dtype = t;
  a.shape = {partitions, elements};
  // In the place of one that is no longer needed (M3), or in fresh memory.
  Buffer *old = nullptr;
  for (size_t i = 0; i < retired.size() && !old; ++i)
    if (Buffer &c = *retired[i]; c.space == space && c.core == core && c.bytes() >= n.bytes() &&
                                 c.partitions >= partitions && c.offset % std::max(4, sizeOf(t)) == 0 && r.chance(70)) {
      old = &c;
      retired.erase(retired.begin() + static_cast<int64_t>(i));
    }
  if (old) {
    Allocation &o = b.program().allocations[old->ref.index];
    o.liveTo = o.liveFrom + 1;
    a.liveFrom = o.liveTo;
    n.first = old->first;
    n.offset = old->offset;
  } else {
    int64_t &free = top[{core, static_cast<int>(space)}];
    const int64_t align = space == Space::Psum ? 4 : sizeOf(t);
    free = (free + align - 1) / align * align + (r.chance(30) ? align * r.below(4) : 0);
    const int64_t bank = target.psumBankBytes;
    if (space == Space::Psum && free / bank != (free + n.bytes() - 1) / bank)
      free = (free + bank - 1) / bank * bank;
    n.offset = free;
    free += n.bytes();
    if (free > (space == Space::Psum ? target.psumBytes : target.sbufBytes))
      throw Error("GENERATE", "out of memory");
    const int step = partitions <= 32 ? 32 : partitions <= 64 ? 64 : 128;
    n.first = static_cast<int>(r.below(128 / step)) * step;
  }
  a.partition = n.first;
  a.byteOffset = n.offset;
  n.ref = b.allocation(a);
  buffers.push_back(n);
  return buffers.back();
}

// Between two instructions: some buffer is not used any more, and its place is free.
void Generator::retire() {
  for (Buffer &c : buffers)
    if (!c.dead && !c.reserved && r.chance(15)) {
      c.dead = true;
      retired.push_back(&c);
      return;
    }
}

Hbm Generator::tensor(const char *prefix, TensorKind kind, DType t, std::vector<int64_t> shape, bool shared, int core) {
  Tensor x;
  x.name = format("%s%d", prefix, names++);
  x.dtype = t;
  x.shape = std::move(shape);
  x.kind = kind;
  x.shared = shared;
  Hbm h{.ref = {}, .dtype = t, .elements = x.elements(), .core = shared ? -1 : core};
  if (kind == TensorKind::Constant)
    for (int64_t i = 0; i < x.bytes(); ++i)
      x.data.push_back(static_cast<std::byte>(r.below(100)));
  h.ref = b.tensor(std::move(x));
  return h;
}

Hbm Generator::rangedInput(std::vector<int64_t> shape, DType t, int64_t lo, int64_t hi, bool unique) {
  const Hbm h = tensor("n", TensorKind::Input, t, std::move(shape));
  Tensor &x = b.program().tensors[h.ref.index];
  x.hasRange = true;
  x.rangeLo = lo;
  x.rangeHi = hi;
  x.uniqueRows = unique;
  return h;
}

int Generator::queue(int core, Engine e) {
  std::vector<int> &mine = queues[{core, static_cast<int>(e)}];
  if (mine.empty() || (mine.size() < 3 && queueCount[core] < target.dmaQueues - kNumEngines && r.chance(30))) {
    ++queueCount[core];
    mine.push_back(b.queue(format("q%d", names++), core));
  }
  return r.pick(mine);
}

int Generator::dmaEngine(int) {
  static const std::vector<Engine> engines = {Engine::Sync,   Engine::Sync,   Engine::Scalar,
                                              Engine::GpSimd, Engine::Vector, Engine::Tensor};
  return static_cast<int>(r.pick(engines));
}

int Generator::reg(int core, Engine e) {
  int &used = registersUsed[{core, static_cast<int>(e)}];
  return used++ % registersInUse; // a value is not needed for long: the next ones overwrite it (O6, D5)
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

static std::vector<std::pair<int64_t, int64_t>> runsOf(const std::vector<Dim> &dims, int64_t start, int size) {
  std::vector<int64_t> at = {start};
  for (const Dim &d : dims) {
    std::vector<int64_t> next;
    for (int64_t a : at)
      for (uint32_t i = 0; i < d.count; ++i)
        next.push_back(a + int64_t(i) * d.stride * size);
    at = std::move(next);
  }
  std::vector<std::pair<int64_t, int64_t>> runs;
  runs.reserve(at.size());
  for (int64_t a : at)
    runs.push_back({a, a + size});
  merge(runs);
  return runs;
}

static Pattern patternOf(DType t, const std::vector<Dim> &dims, int partitions) {
  Pattern p;
  p.dtype = t;
  p.partitions = static_cast<uint16_t>(partitions);
  for (const Dim &d : dims)
    p.dims[p.rank++] = d;
  return p;
}

Operand Generator::view(const Buffer &buf, const std::vector<Dim> &dims, int64_t element, int partition, int partitions) {
  const int n = partitions ? partitions : buf.partitions - partition, size = sizeOf(buf.dtype);
  Operand o;
  o.access = b.view(buf.ref, patternOf(buf.dtype, dims, n), element * size, partition);
  o.touch = {buf.space,
             buf.core,
             buf.ref.index,
             buf.first + partition,
             buf.first + partition + n,
             runsOf(dims, buf.offset + element * size, size),
             false};
  return o;
}

Operand Generator::view(const Hbm &t, const std::vector<Dim> &dims, int64_t element) {
  const int size = sizeOf(t.dtype);
  Operand o;
  o.access = b.view(t.ref, patternOf(t.dtype, dims, 0), element * size);
  o.touch = {Space::Hbm, t.core, t.ref.index, 0, 1, runsOf(dims, element * size, size), false};
  return o;
}

Operand Generator::cast(const Buffer &buf, const Operand &o, DType t) {
  Pattern p = b.program().patterns[o.access.pattern];
  p.dtype = t;
  Operand out = o;
  out.access = b.view(buf.ref, p, o.access.byteOffset, o.access.partition);
  return out;
}

Operand Generator::randomView(const Buffer &buf, int p, int64_t n, bool source, bool engine) {
  std::vector<int> starts;
  for (int i = 0; i + p <= buf.partitions; ++i)
    if (!engine || legalStart(buf.first + i, p))
      starts.push_back(i);
  const int start = r.pick(starts);
  const int64_t all = buf.elements;
  auto at = [&](int64_t extent) { return r.below(all - extent + 1); };
  const auto N = static_cast<uint32_t>(n);
  for (int tries = 0; tries < 6; ++tries) {
    const int64_t a = r.between(1, std::min<int64_t>(n, 6)), c = n / a;
    const auto A = static_cast<uint32_t>(a), C = static_cast<uint32_t>(c);
    switch (r.below(6)) {
    case 0: // strided
      if (const int64_t st = r.between(2, 4); (n - 1) * st + 1 <= all)
        return view(buf, {{static_cast<int32_t>(st), N}}, at((n - 1) * st + 1), start, p);
      break;
    case 1: // rows with gaps
      if (const int64_t pitch = c + r.below(4); n % a == 0 && (a - 1) * pitch + c <= all)
        return view(buf, {{static_cast<int32_t>(pitch), A}, {1, C}}, at((a - 1) * pitch + c), start, p);
      break;
    case 2: // a transposed walk
      if (n % a == 0 && n <= all)
        return view(buf, {{1, C}, {static_cast<int32_t>(c), A}}, at(n), start, p);
      break;
    case 3: // repeated
      if (source && n % a == 0 && c <= all && r.chance(50))
        return view(buf, {{0, A}, {1, C}}, at(c), start, p);
      break;
    case 4: // three dimensions
      if (n % a == 0 && c % 2 == 0 && n <= all)
        return view(buf, {{static_cast<int32_t>(c / 2), 2}, {static_cast<int32_t>(c), A}, {1, C / 2}}, at(n), start, p);
      break;
    default:
      if (n <= all)
        return view(buf, {{1, N}}, at(n), start, p);
    }
  }
  return n <= all ? view(buf, {{1, N}}, at(n), start, p) : view(buf, {{0, N}}, at(1), start, p);
}

Operand Generator::randomView(const Hbm &t, int64_t rows, int64_t n, int64_t pitch, bool source) {
  const auto R = static_cast<uint32_t>(rows), N = static_cast<uint32_t>(n);
  const auto P = static_cast<int32_t>(pitch);
  const int64_t room = t.elements - (rows - 1) * pitch - n;
  switch (r.below(source ? 5 : 3)) {
  case 0: return view(t, {{-P, R}, {1, N}}, (rows - 1) * pitch + r.below(room + 1)); // last row first
  case 3: return view(t, {{0, R}, {1, N}}, r.below(t.elements - n + 1));             // one row for all
  case 4: return view(t, {{P, R}, {0, N}}, r.below(room + 1));                       // one element per row
  default: return view(t, {{P, R}, {1, N}}, r.below(room + 1));
  }
}

Operand Generator::moved(const Operand &o, int reg, int64_t stepBytes, int64_t lo, int64_t hi) {
  Operand out = o;
  out.access = b.dynamic(o.access, reg, stepBytes);
  out.touch.runs.clear();
  for (int64_t v = lo; v <= hi; ++v)
    for (const auto &run : o.touch.runs)
      out.touch.runs.push_back({run.first + v * stepBytes, run.second + v * stepBytes});
  merge(out.touch.runs);
  return out;
}

// ---- instructions ---------------------------------------------------------------------------------

Buffer &Generator::source(int core, Space space, const Types &types, int p, int64_t n, bool defined) {
  std::vector<Buffer *> fit;
  for (Buffer &c : buffers)
    if (!c.dead && !c.reserved && c.core == core && c.space == space && c.partitions >= p && c.elements >= n &&
        legalStart(c.first, p) && (c.defined || (!defined && r.chance(15))) &&
        std::find(types.begin(), types.end(), c.dtype) != types.end())
      fit.push_back(&c);
  if (!fit.empty() && r.chance(80))
    return *r.pick(fit);
  Buffer &fresh =
      allocate(core, space, type(types), p + (r.chance(30) && p < 97 ? 32 : 0), n + (r.chance(50) ? r.below(12) : 0));
  if (defined || r.chance(90))
    fill(fresh);
  return fresh;
}

Operand Generator::in(Draft &d, const char *slot, const Types &types, int p, int64_t n, bool psum) {
  const bool usePsum = psum && d.op.engine != Engine::GpSimd && d.psumInputs == 0 && r.chance(20);
  d.psumInputs += usePsum;
  const Buffer &buf = source(d.op.core, usePsum ? Space::Psum : Space::Sbuf, types, p, n);
  const Operand o = randomView(buf, p, n, true, true);
  d.undefined |= !buf.defined;
  d.op.in(slot, o);
  return o;
}

void Generator::write(Draft &d, const char *slot, Buffer &buf, const Operand &o) {
  int64_t bytes = 0;
  for (const auto &run : o.touch.runs)
    bytes += run.second - run.first;
  d.op.out(slot, o);
  d.outs.push_back({&buf, bytes == buf.bytes() && o.touch.last - o.touch.first == buf.partitions});
}

Operand Generator::out(Draft &d, const char *slot, const Types &types, int p, int64_t n, bool psum) {
  const Space space = psum && d.op.engine != Engine::GpSimd && r.chance(25) ? Space::Psum : Space::Sbuf;
  std::vector<Buffer *> fit;
  for (Buffer &c : buffers)
    if (!c.dead && !c.reserved && c.core == d.op.core && c.space == space && c.partitions >= p && c.elements >= n &&
        legalStart(c.first, p) && std::find(types.begin(), types.end(), c.dtype) != types.end())
      fit.push_back(&c);
  if (!fit.empty() && r.chance(50))
    for (int tries = 0; tries < 3; ++tries) {
      Buffer &c = *r.pick(fit);
      const Operand o = randomView(c, p, n, false, true);
      if (std::any_of(d.op.touches.begin(), d.op.touches.end(), [&](const Touch &t) { return overlap(t, o.touch); }))
        continue;
      write(d, slot, c, o);
      return o;
    }
  Buffer &fresh = allocate(d.op.core, space, type(types), p, n + (r.chance(20) ? r.below(8) : 0));
  const Operand o = fresh.elements == n ? whole(fresh) : randomView(fresh, p, n, false, true);
  write(d, slot, fresh, o);
  return o;
}

int Generator::add(Draft &d) {
  for (auto &[buf, all] : d.outs)
    buf->defined = !d.undefined && (buf->defined || all);
  return s.add(std::move(d.op));
}

void Generator::fill(Buffer &buf) {
  if (buf.space == Space::Sbuf && r.chance(60))
    return load(buf);
  const Engine e = buf.space == Space::Sbuf && r.chance(40) ? Engine::GpSimd : Engine::Vector;
  const int64_t half = buf.elements / 2;
  const bool split = half > 0 && r.chance(20);
  for (int part = 0; part <= split; ++part) {
    const int64_t from = part ? half : 0, n = split && !part ? half : buf.elements - from;
    Op op(buf.core, e, "memset");
    op.out("dst", view(buf, {{1, static_cast<uint32_t>(n)}}, from));
    if (isFloat(buf.dtype))
      op.set("value", static_cast<float>(r.between(-8, 8)) / 4);
    else if (r.chance(50))
      op.set("bits", static_cast<int32_t>(r.below(50)));
    else
      op.set("value", static_cast<float>(r.below(50)));
    s.add(std::move(op));
  }
  buf.defined = true;
}

} // namespace glia::mutants
