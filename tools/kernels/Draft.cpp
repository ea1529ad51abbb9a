// Instructions under construction: their operands, and what they do to what is known of the tensors.
#include "Generator.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::kernels {

Draft::Draft(int core, int engine, std::string_view name) : def(*findInstruction(name)), core(core), engine(engine) {}

SlotValue &Draft::at(std::string_view slot) {
  const int i = def.slot(slot);
  if (i < 0)
    throw Error("GENERATE", format("%s has no slot %s", std::string(def.name).c_str(), std::string(slot).c_str()));
  if (values.size() <= static_cast<size_t>(i))
    values.resize(i + 1);
  return values[i];
}

Draft &Draft::in(std::string_view slot, const View &v) {
  at(slot) = SlotValue::of(v.operand);
  reads.push_back(v);
  undefined |= v.tile && !v.tile->defined;
  return *this;
}
Draft &Draft::out(std::string_view slot, const View &v) {
  at(slot) = SlotValue::of(v.operand);
  writes.push_back(v);
  return *this;
}
Draft &Draft::inout(std::string_view slot, const View &v) {
  in(slot, v);
  return out(slot, v);
}
Draft &Draft::set(std::string_view slot, float v) {
  at(slot) = SlotValue::of(v);
  return *this;
}
Draft &Draft::set(std::string_view slot, int32_t v) {
  at(slot) = SlotValue::of(v);
  return *this;
}
Draft &Draft::set(std::string_view slot, const char *choice) {
  const EnumNames *names = def.slots[def.slot(slot)].names;
  if (!names) {
    at(slot) = SlotValue::of(std::string(choice));
    return *this;
  }
  for (size_t i = 0; i < names->names.size(); ++i)
    if (names->names[i] == choice) {
      at(slot) = SlotValue::of(static_cast<int32_t>(i));
      return *this;
    }
  throw Error("GENERATE", format("%s: no choice %s", std::string(def.name).c_str(), choice));
}
Draft &Draft::set(std::string_view slot, std::vector<int32_t> list) {
  SlotValue &v = at(slot);
  v.kind = SlotValue::Ints;
  v.list.assign(list.begin(), list.end());
  return *this;
}
Draft &Draft::reg(std::string_view slot, mlir::Value r) {
  at(slot) = SlotValue::of(r);
  return *this;
}

bool Draft::clear(const View &v) const {
  auto meets = [&](const View &o) { return overlap(v, o); };
  return std::none_of(reads.begin(), reads.end(), meets) && std::none_of(writes.begin(), writes.end(), meets);
}

// ---- in the generator -----------------------------------------------------------------------------

static bool fits(const Tile &x, int core, Space space, const Types &types, int p, int64_t n) {
  const int step = p <= 32 ? 32 : p <= 64 ? 64 : 128;
  return !x.dead && !x.reserved && x.core == core && x.space == space && x.partitions >= p && x.elements >= n &&
         x.first % step == 0 && std::find(types.begin(), types.end(), x.dtype) != types.end();
}

Tile &Generator::source(int core, Space space, const Types &types, int p, int64_t n, bool defined) {
  std::vector<Tile *> fit;
  for (Tile &x : tiles)
    if (fits(x, core, space, types, p, n) && (x.defined || (!defined && !inLoop() && r.chance(15))) && !(x.big && inLoop()))
      fit.push_back(&x);
  if (!fit.empty() && r.chance(80))
    return *r.pick(fit);
  Tile &fresh =
      allocate(core, space, type(types), p + (r.chance(30) && p < 97 ? 32 : 0), n + (r.chance(50) ? r.below(12) : 0));
  if (defined || inLoop() || r.chance(92))
    fill(fresh);
  return fresh;
}

View Generator::in(Draft &d, std::string_view slot, const Types &types, int p, int64_t n, bool psum) {
  const bool usePsum = psum && d.engine != GPSIMD && d.psumInputs == 0 && r.chance(20);
  d.psumInputs += usePsum;
  const View v = randomView(source(d.core, usePsum ? Space::Psum : Space::Sbuf, types, p, n), p, n, true, true);
  d.in(slot, v);
  return v;
}

View Generator::out(Draft &d, std::string_view slot, const Types &types, int p, int64_t n, bool psum) {
  const Space space = psum && d.engine != GPSIMD && r.chance(25) ? Space::Psum : Space::Sbuf;
  std::vector<Tile *> fit;
  for (Tile &x : tiles)
    if (fits(x, d.core, space, types, p, n) && !(inLoop() && (!x.defined || x.big)) && !(x.pinned && d.undefined) &&
        !(inLoop() && x.sum && x.scope < loops.size()))
      fit.push_back(&x);
  if (!fit.empty() && r.chance(50))
    for (int tries = 0; tries < 3; ++tries) {
      const View v = randomView(*r.pick(fit), p, n, false, true);
      if (!d.clear(v))
        continue;
      d.out(slot, v);
      return v;
    }
  Tile &fresh = allocate(d.core, space, type(types), p, n + (r.chance(20) && !inLoop() ? r.below(8) : 0));
  if (fresh.pinned && d.undefined)
    fresh.reserved = true; // nobody looks at it
  const View v = fresh.elements == n ? whole(fresh) : randomView(fresh, p, n, false, true);
  d.out(slot, v);
  return v;
}

int Generator::add(Draft &d) {
  go(d.core);
  const int loc = t.location("random.py", static_cast<int>(t.instructions()) + 1, d.def.name);
  const int engine = d.open && r.chance(50) ? -1 : d.engine;
  const int id = t.emit(d.def, d.values, engine, loc, r.chance(4) ? "named" : "");
  for (const View &v : d.writes) {
    if (!v.tile)
      continue;
    int64_t bytes = 0;
    for (const auto &run : v.runs)
      bytes += run.second - run.first;
    const bool all = v.operand.terms.empty() && bytes == v.tile->bytes() && v.operand.partitions == v.tile->partitions;
    v.tile->defined = !d.undefined && (v.tile->defined || all);
    if (v.tile->space == Space::Psum) {
      for (Tile &x : tiles)
        if (x.memory == v.memory && &x != v.tile)
          x.sum = false;
      v.tile->sum = d.matmul && (v.tile->sum || all) && !v.tile->pinned;
    }
  }
  if (!made[d.core].empty() && r.chance(5)) {
    std::vector<int> before;
    for (int64_t k = r.between(1, 2); k > 0; --k)
      before.push_back(r.pick(made[d.core]));
    t.after(id, before);
  }
  made[d.core].push_back(id);
  return id;
}

int Generator::dmaEngine() {
  static const std::vector<int> engines = {SYNC, SYNC, SCALAR, GPSIMD, VECTOR, TENSOR};
  return r.pick(engines);
}

// hwdge (no cast) and swdge where they exist, else the compiler's choice.
void Generator::dge(Draft &d, bool casts) {
  const bool named = r.chance(30);
  if (d.engine == GPSIMD && named)
    d.set("dge", "swdge");
  else if ((d.engine == SCALAR || d.engine == SYNC) && !casts && has("hwdge") && named)
    d.set("dge", "hwdge");
}

void Generator::fill(Tile &tile) {
  if (tile.space == Space::Sbuf && r.chance(60))
    return load(tile);
  const int e = tile.space == Space::Sbuf && r.chance(40) ? GPSIMD : VECTOR;
  const int64_t half = tile.elements / 2;
  const bool split = half > 0 && r.chance(20);
  for (int part = 0; part <= split; ++part) {
    const int64_t from = part ? half : 0, n = split && !part ? half : tile.elements - from;
    Draft d(tile.core, e, "memset");
    d.out("dst", view(tile, {{1, n}}, from));
    if (isFloat(tile.dtype))
      d.set("value", static_cast<float>(r.between(-8, 8)) / 4);
    else if (r.chance(50))
      d.set("bits", static_cast<int32_t>(r.below(50)));
    else
      d.set("value", static_cast<float>(r.below(50)));
    add(d);
  }
  tile.defined = true;
}

// From a new input or constant, by one transfer or by two that share the work.
void Generator::load(Tile &tile) {
  const bool fixed = r.chance(15);
  const DType from = r.chance(20) && sizeOf(tile.dtype) < 8 ? type(computeTypes()) : tile.dtype;
  const int64_t pitch = tile.elements + (r.chance(40) ? r.below(6) : 0);
  const Hbm x = fixed ? constant(from, {tile.partitions, pitch}) : input(from, {tile.partitions, pitch});
  const bool split = tile.partitions > 1 && r.chance(30);
  const int half = split ? static_cast<int>(r.between(1, tile.partitions - 1)) : tile.partitions;
  for (int at = 0; at < tile.partitions; at += half) {
    const int n = std::min(half, tile.partitions - at);
    Draft d(tile.core, dmaEngine(), "dma_copy");
    d.out("dst", view(tile, {{1, tile.elements}}, 0, at, n)).in("src", randomView(x, n, tile.elements, pitch, true));
    dge(d, from != tile.dtype);
    add(d);
  }
  tile.defined = true;
}

// To a new output that is written completely.
void Generator::store(Tile &tile) {
  const DType to = r.chance(20) && sizeOf(tile.dtype) < 8 ? type(computeTypes()) : tile.dtype;
  Tile *from = &tile;
  if (tile.space == Space::Psum) { // DMA does not reach it
    from = &allocate(tile.core, Space::Sbuf, tile.dtype, tile.partitions, tile.elements);
    Draft copy(tile.core, r.chance(60) || !has("scalar_tensor_copy") ? VECTOR : SCALAR, "tensor_copy");
    copy.in("src", whole(tile)).out("dst", whole(*from));
    add(copy);
  }
  const Hbm y = output(to, {tile.partitions, tile.elements});
  const bool split = tile.partitions > 1 && r.chance(30);
  const int half = split ? static_cast<int>(r.between(1, tile.partitions - 1)) : tile.partitions;
  const int64_t n = tile.elements;
  for (int at = 0; at < tile.partitions; at += half) {
    const int rows = std::min(half, tile.partitions - at);
    Draft d(tile.core, dmaEngine(), "dma_copy");
    d.out("dst", view(y, {{n, rows}, {1, n}}, at * n)).in("src", view(*from, {{1, n}}, 0, at, rows));
    dge(d, to != tile.dtype);
    add(d);
  }
}

void Generator::zero(const Hbm &y, int core) {
  const Hbm clear = constant(y.dtype, {1});
  Draft d(core, dmaEngine(), "dma_copy");
  d.out("dst", wholeOf(y)).in("src", view(clear, {{0, y.elements}}));
  add(d);
}

} // namespace glia::kernels
