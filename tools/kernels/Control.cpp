// Registers and loops: values from memory in addresses and counts, loops with what they carry from one iteration to the next.
#include "Generator.h"

#include <algorithm>

namespace glia::kernels {

namespace {

// The same value by way of operations that keep values from 0 to `most` as they are.
mlir::Value arithmetic(Generator &g, int core, mlir::Value from, int64_t most) {
  struct Way {
    const char *op;
    int32_t b;
  };
  static const std::vector<std::vector<Way>> ways = {{{"add", 0}},
                                                     {{"and", 7}},
                                                     {{"max", 0}},
                                                     {{"add", 5}, {"subtract", 5}},
                                                     {{"shift_left", 3}, {"shift_right", 3}},
                                                     {{"multiply", 4}, {"shift_right", 2}}};
  std::vector<Way> way = {{"min", static_cast<int32_t>(most)}};
  if (g.r.chance(70))
    way = g.r.pick(ways);
  for (const Way &w : way) {
    const mlir::Value to = g.r.chance(30) ? from : g.reg();
    Draft d(core, SYNC, "reg_alu");
    d.reg("dst", to).reg("a", from).set("op", w.op).set("b", w.b);
    g.add(d);
    from = to;
  }
  return from;
}

} // namespace

// A register with a value from lo to hi, whose source only we know.
mlir::Value Generator::loaded(int core, int64_t lo, int64_t hi, bool proved) {
  go(core);
  static const Types types = {DType::I32, DType::U32, DType::I16, DType::U16, DType::I8, DType::U8};
  const mlir::Value to = reg();
  switch (r.below(4)) {
  case 0: {
    Draft d(core, SYNC, "reg_move");
    d.reg("dst", to).set("src", static_cast<int32_t>(r.between(lo, hi)));
    add(d);
    break;
  }
  case 1: { // by way of SBUF
    Tile &value = allocate(core, Space::Sbuf, DType::I32, 1, 1);
    value.reserved = true;
    Draft set(core, r.chance(50) ? VECTOR : GPSIMD, "memset"), load(core, SYNC, "reg_load");
    set.out("dst", whole(value)).set("value", static_cast<float>(r.between(lo, hi)));
    add(set);
    load.in("src", whole(value)).reg("dst", to);
    add(load);
    break;
  }
  default: {
    const Hbm n = rangedInput(lo < 0 ? DType::I16 : type(types), {2}, lo, hi);
    Draft d(core, SYNC, "reg_load");
    d.in("src", view(n, {{1, 1}}, r.below(2))).reg("dst", to);
    add(d);
  }
  }
  mlir::Value value = lo >= 0 && hi <= 7 && r.chance(50) ? arithmetic(*this, core, to, hi) : to;
  if (!proved)
    return value;
  for (const bool upper : {false, true}) {
    const mlir::Value next = r.chance(50) ? value : reg();
    Draft d(core, SYNC, "reg_alu");
    d.reg("dst", next).reg("a", value).set("op", upper ? "min" : "max").set("b", static_cast<int32_t>(upper ? hi : lo));
    add(d);
    value = next;
  }
  return value;
}

void Generator::registers(int core) {
  if (loops.size() > 1) // addresses that change in two loops around them are proved only if they step
    return compute(core);
  const int p = partitions();
  const int64_t n = r.between(1, 8), steps = r.between(1, 4);
  switch (r.below(5)) {
  case 0: { // a quadrant of the partitions
    const int q = static_cast<int>(r.between(1, 32));
    const mlir::Value v = loaded(core, 0, 3, true);
    Tile &from = source(core, Space::Sbuf, {DType::F32}, 128, n, true);
    Draft d(core, VECTOR, "tensor_copy");
    d.in("src", moved(view(from, {{1, n}}, 0, 0, q), v, 32, true));
    out(d, "dst", {DType::F32, DType::BF16}, q, n);
    add(d);
    return;
  }
  case 1: { // an operand of an engine
    const DType u = type(computeTypes());
    const mlir::Value v = loaded(core, 0, steps, true);
    Tile &from = source(core, Space::Sbuf, {u}, p, n * (steps + 1), true);
    Draft d(core, r.chance(50) ? VECTOR : GPSIMD, "tensor_copy");
    d.in("src", moved(view(from, {{1, n}}, 0, 0, p), v, n * sizeOf(u)));
    if (r.chance(50)) {
      out(d, "dst", {u}, p, n);
    } else { // the destination moves too
      Tile &to = allocate(core, Space::Sbuf, u, p, n * (steps + 1));
      fill(to);
      d.out("dst", moved(view(to, {{1, n}}), v, n * sizeOf(u)));
    }
    add(d);
    return;
  }
  case 2: { // a transfer
    const mlir::Value v = loaded(core, 0, steps);
    const DType u = type(computeTypes());
    const Hbm x = input(u, {p + steps, n});
    Tile &to = allocate(core, Space::Sbuf, u, p, n);
    Draft d(core, SYNC, "dma_copy");
    d.in("src", moved(view(x, {{n, p}, {1, n}}), v, n * sizeOf(u))).out("dst", whole(to));
    if (!has("hwdge"))
      d.set("dge", "swdge");
    Draft onGpSimd(core, GPSIMD, "dma_copy");
    onGpSimd.values = d.values;
    onGpSimd.reads = d.reads;
    onGpSimd.writes = d.writes;
    add(has("hwdge") ? d : onGpSimd);
    return;
  }
  case 3: { // arithmetic, and a register that is stored
    static const Names ops = {"add", "subtract", "multiply", "and", "or", "xor", "min", "max", "shift_left", "shift_right"};
    static const Types types = {DType::I32, DType::U16, DType::I8, DType::F32};
    const mlir::Value a = loaded(core, -9, 9), b = loaded(core, 0, 31), c = reg();
    Draft d(core, SYNC, "reg_alu");
    d.reg("dst", c).reg("a", a).reg("b", b).set("op", r.pick(ops));
    add(d);
    Tile &to = allocate(core, Space::Sbuf, type(types), 1, 1);
    Draft put(core, SYNC, "reg_store");
    put.reg("src", c).out("dst", whole(to));
    add(put);
    return;
  }
  default: { // an output written element by element
    if (inLoop())
      return;
    const Hbm y = output(DType::I32, {2});
    for (int i = 0; i < 2; ++i) {
      Draft d(core, SYNC, "reg_store");
      d.reg("src", loaded(core, -3, 100)).out("dst", view(y, {{1, 1}}, i));
      add(d);
    }
  }
  }
}

// ---- loops ----------------------------------------------------------------------------------------

void Generator::beginLoop(int core) {
  Loop l;
  for (const Tile &x : tiles)
    if (x.sum)
      l.sums.insert(&x);
  std::copy(std::begin(accumulator[core]), std::end(accumulator[core]), std::begin(l.accumulators));
  loops.push_back(std::move(l));
}

void Generator::endLoop(int core) {
  const Loop l = std::move(loops.back());
  loops.pop_back();
  for (Tile &x : tiles) {
    if (x.scope > loops.size() && !x.dead)
      x.dead = true;
    x.sum = x.sum && l.sums.count(&x);
    if (!inLoop())
      x.held = false;
  }
  for (int e = 0; e < 5; ++e)
    accumulator[core][e] &= l.accumulators[e];
}

// One instruction whose operands move with the iteration.
// `bounded`: how often the loop runs is known to be at most `most`.
static void moving(Generator &g, int core, mlir::Value iv, int64_t most, bool bounded, Tile &row, const Hbm &y) {
  const int p = row.partitions;
  const int64_t n = row.elements / most, bytes = n * sizeOf(row.dtype);
  switch (g.r.below(bounded ? 4 : 2)) {
  case 0: { // in
    const Hbm x = g.input(row.dtype, {most, p, n});
    Draft d(core, g.has("hwdge") ? SYNC : GPSIMD, "dma_copy");
    d.in("src", g.moved(g.view(x, {{n, p}, {1, n}}), iv, p * bytes)).out("dst", g.moved(g.view(row, {{1, n}}), iv, bytes));
    g.add(d);
    return;
  }
  case 1: { // out
    Draft d(core, g.has("hwdge") ? SYNC : GPSIMD, "dma_copy");
    Tile &from = g.source(core, Space::Sbuf, {row.dtype}, p, n, true);
    d.in("src", g.randomView(from, p, n, true, false)).out("dst", g.moved(g.view(y, {{n, p}, {1, n}}), iv, p * bytes));
    g.add(d);
    return;
  }
  case 2: { // a step of a sum that goes through the loop
    Tile &carried = g.source(core, Space::Sbuf, {DType::F32, DType::BF16}, p, n, true);
    const View v = g.view(carried, {{1, n}}, 0, 0, p);
    Draft d(core, VECTOR, "tensor_tensor");
    d.in("a", v).in("b", g.moved(g.view(row, {{1, n}}), iv, bytes)).set("op", "add");
    if (carried.memory == row.memory)
      return;
    d.out("dst", v);
    g.add(d);
    return;
  }
  default: { // a column from what is there
    Tile &from = g.source(core, Space::Sbuf, computeTypes(), p, n, true);
    if (from.memory == row.memory)
      return;
    Draft d(core, g.r.chance(50) ? VECTOR : GPSIMD, "tensor_copy");
    d.in("src", g.randomView(from, p, n, true, true)).out("dst", g.moved(g.view(row, {{1, n}}), iv, bytes));
    g.add(d);
  }
  }
}

void Generator::loop(int core) {
  go(core);
  const int depth = static_cast<int>(loops.size());
  const bool repeats = r.chance(20); // while a register is not 0
  const int64_t most = r.between(1, 4);
  const int p = partitions();
  const int64_t n = r.between(1, 6);
  const DType u = r.chance(60) ? DType::F32 : type(computeTypes());
  Tile &row = allocate(core, Space::Sbuf, u, p, n * most);
  fill(row);
  Hbm y;
  if (depth == 0) {
    y = output(u, {most, p, n});
    zero(y, core); // the loop may not run
  } else {
    y = scratch(u, {most, p, n});
  }
  const int64_t fixed = r.chance(10) ? 0 : r.between(1, most);
  const bool counted = !repeats && r.chance(50);
  // A sum that goes through the loop, whole or window by window. Whether the loop writes it may be known at run time only.
  Tile *sum = r.chance(20) ? &allocate(core, Space::Psum, DType::F32, static_cast<int>(r.between(1, 48)),
                                       n * std::max<int64_t>(fixed, 1))
                           : nullptr;
  const bool windows = counted && fixed > 0 && r.chance(40), sums = counted && fixed > 0;
  if (sum && sum->pinned)
    sum = nullptr;
  if (sum) {
    sum->reserved = true;
    if (!sums || r.chance(30)) {
      Draft clear(core, VECTOR, "memset");
      clear.out("dst", whole(*sum));
      add(clear);
    }
  }
  // A register that goes through the loop, from 0 to 3.
  const mlir::Value carried = depth == 0 && r.chance(40) ? loaded(core, 0, 3) : mlir::Value();
  mlir::Value iv;
  Tile *left = nullptr; // how often a while loop is still to run
  bool bounded = true;
  if (repeats) {
    const Hbm count = rangedInput(DType::I32, {1, 1}, 0, most);
    left = &allocate(core, Space::Sbuf, DType::I32, 1, 1);
    left->reserved = true;
    Draft fetch(core, dmaEngine(), "dma_copy"), d(core, SYNC, "reg_load");
    fetch.in("src", wholeOf(count)).out("dst", whole(*left));
    add(fetch);
    const int handle = t.makeRegister();
    iv = t.registerValue(handle);
    d.in("src", whole(*left)).reg("dst", iv);
    add(d);
    t.whileLoop(handle, 0);
  } else if (counted) {
    iv = t.registerValue(t.loop(fixed, -1, 0));
  } else {
    const Hbm count = rangedInput(DType::I32, {1}, -1, most);
    const int handle = t.makeRegister();
    Draft d(core, SYNC, "reg_load");
    d.in("src", wholeOf(count)).reg("dst", t.registerValue(handle));
    add(d);
    bounded = r.chance(60);
    if (bounded) {
      Draft clamp(core, SYNC, "reg_alu");
      clamp.reg("dst", t.registerValue(handle)).reg("a", t.registerValue(handle));
      clamp.set("op", "min").set("b", static_cast<int32_t>(most));
      add(clamp);
    }
    iv = t.registerValue(t.loop(0, handle, 0));
  }
  beginLoop(core);
  row.reserved = true;
  const int64_t length = r.between(1, depth ? 3 : 6);
  for (int64_t i = 0; i < length; ++i) {
    if (sum && (i == 0 || r.chance(20)))
      accumulate(core, *sum, windows ? iv : mlir::Value(), n);
    const int64_t what = r.below(100);
    if (what < 45)
      any(core);
    else if (what < 85 && !repeats)
      moving(*this, core, iv, most, bounded, row, y);
    else if (depth < 1)
      loop(core);
    if (carried && r.chance(50)) {
      Draft d(core, SYNC, "reg_alu"), wrap(core, SYNC, "reg_alu");
      d.reg("dst", carried).reg("a", carried).set("op", "add").set("b", int32_t{1});
      wrap.reg("dst", carried).reg("a", carried).set("op", "and").set("b", int32_t{3});
      add(d);
      add(wrap);
      Tile &from = source(core, Space::Sbuf, {DType::F32}, 16, 8, true);
      Draft copy(core, VECTOR, "tensor_copy");
      copy.in("src", moved(view(from, {{1, 2}}, 0, 0, 16), carried, 8));
      out(copy, "dst", computeTypes(), 16, 2);
      add(copy);
    }
  }
  if (repeats) {
    Draft less(core, VECTOR, "tensor_scalar"), d(core, SYNC, "reg_load");
    less.in("data", whole(*left)).out("dst", whole(*left)).set("op0", "subtract").set("operand0", 1.0f);
    add(less);
    d.in("src", whole(*left)).reg("dst", iv);
    add(d);
    t.endWhile();
  } else {
    t.endLoop();
  }
  endLoop(core);
  row.reserved = false;
  if (sum) {
    sum->reserved = false;
    sum->defined |= sums;
    sum->sum = sums;
  }
}

} // namespace glia::kernels
