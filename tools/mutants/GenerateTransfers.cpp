// Transfers: loads, stores, copies through HBM, casts, sums, transposes, gathers and scatters.
#include "Generator.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

namespace {

// hwdge (no cast) and swdge where they exist, else prepared descriptors.
void chooseDge(Generator &g, Op &op, bool casts) {
  if (op.engine == Engine::GpSimd && g.r.chance(40))
    op.set("dge", "swdge");
  else if ((op.engine == Engine::Scalar || op.engine == Engine::Sync) && !casts && g.has("hwdge") && g.r.chance(40))
    op.set("dge", "hwdge");
}

Op &put(Op &op, const char *slot, const Operand &o, bool write) { return write ? op.out(slot, o) : op.in(slot, o); }

} // namespace

// Fills a buffer from a new input, by one transfer or by two that share the work.
void Generator::load(Buffer &buf) {
  const bool constant = r.chance(15);
  const DType from = !constant && r.chance(20) && sizeOf(buf.dtype) < 8 ? type(computeTypes()) : buf.dtype;
  const int64_t pitch = buf.elements + (r.chance(40) ? r.below(6) : 0);
  const Hbm x =
      tensor(constant ? "c" : "x", constant ? TensorKind::Constant : TensorKind::Input, from, {buf.partitions, pitch});
  const bool split = buf.partitions > 1 && r.chance(30);
  const int half = split ? static_cast<int>(r.between(1, buf.partitions - 1)) : buf.partitions;
  for (int at = 0; at < buf.partitions; at += half) {
    const int n = std::min(half, buf.partitions - at);
    const Engine e = static_cast<Engine>(dmaEngine(buf.core));
    Op op = dma(buf.core, e);
    op.out("dst", view(buf, {{1, static_cast<uint32_t>(buf.elements)}}, 0, at, n))
        .in("src", randomView(x, n, buf.elements, pitch, true));
    chooseDge(*this, op, from != buf.dtype);
    op.queue(queue(buf.core, e));
    s.add(std::move(op));
  }
  buf.defined = true;
}

// To a new output that is written completely.
void Generator::store(Buffer &buf) {
  const DType to = r.chance(20) && sizeOf(buf.dtype) < 8 ? type(computeTypes()) : buf.dtype;
  const Hbm y = tensor("y", TensorKind::Output, to, {buf.partitions, buf.elements});
  const bool split = buf.partitions > 1 && r.chance(30);
  const int half = split ? static_cast<int>(r.between(1, buf.partitions - 1)) : buf.partitions;
  const auto n = static_cast<uint32_t>(buf.elements);
  for (int at = 0; at < buf.partitions; at += half) {
    const auto rows = static_cast<uint32_t>(std::min(half, buf.partitions - at));
    const Engine e = static_cast<Engine>(dmaEngine(buf.core));
    Op op = dma(buf.core, e);
    op.out("dst", view(y, {{static_cast<int32_t>(n), rows}, {1, n}}, at * buf.elements))
        .in("src", view(buf, {{1, n}}, 0, at, static_cast<int>(rows)));
    chooseDge(*this, op, to != buf.dtype);
    op.queue(queue(buf.core, e));
    s.add(std::move(op));
  }
}

// From SBUF through a scratch tensor back to SBUF, a copy within SBUF, a sum, or a transpose.
void Generator::transfer(int core) {
  const Engine e = static_cast<Engine>(dmaEngine(core));
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  const auto N = static_cast<uint32_t>(n);
  const int form = static_cast<int>(r.below(has("dma_transpose") ? 7 : 5));
  if (form == 4)
    return passThrough(core);
  if (form == 6)
    return transposedRows(core);
  if (form == 5) {
    const DType t = r.chance(50) ? DType::BF16 : DType::F32;
    const bool hwdge = t == DType::BF16 && has("hwdge") && (e == Engine::Sync || e == Engine::Scalar) && r.chance(50);
    const int64_t rows = hwdge ? 16 : r.between(1, 20), middle = hwdge || r.chance(60) ? 1 : r.between(2, 3);
    const int columns = static_cast<int>(r.between(1, 32));
    const Hbm x = tensor("x", TensorKind::Input, t, {rows, middle, columns});
    Buffer &to = allocate(core, Space::Sbuf, t, columns, rows * middle);
    Op op(core, e, "dma_transpose");
    op.out("dst", whole(to))
        .in("src", view(x, {{1, static_cast<uint32_t>(x.elements)}}))
        .set("middle", static_cast<int32_t>(middle));
    if (hwdge)
      op.set("dge", "hwdge");
    op.queue(queue(core, e));
    s.add(std::move(op));
    to.defined = true;
    return;
  }
  Buffer &from = source(core, Space::Sbuf, computeTypes(), p, n);
  Draft d(core, e, form == 3 ? "dma_compute" : "dma_copy");
  d.undefined = !from.defined;
  if (form <= 1) {
    const bool shared = r.chance(60);
    const Hbm h = scratch(from.dtype, {p, n + 2}, shared, core);
    Op out = dma(core, e);
    out.out("dst", view(h, {{static_cast<int32_t>(n + 2), static_cast<uint32_t>(p)}, {1, N}}, 1))
        .in("src", randomView(from, p, n, true, false));
    chooseDge(*this, out, false);
    out.queue(queue(core, e));
    s.add(std::move(out));
    const Engine e2 = static_cast<Engine>(dmaEngine(core));
    Buffer &to = allocate(core, Space::Sbuf, r.chance(80) ? from.dtype : type(computeTypes()), p, n);
    Draft back(core, e2, "dma_copy");
    back.undefined = d.undefined;
    write(back, "dst", to, whole(to));
    back.op.in("src", view(h, {{static_cast<int32_t>(n + 2), static_cast<uint32_t>(p)}, {1, N}}, 1));
    chooseDge(*this, back.op, to.dtype != from.dtype);
    back.op.queue(queue(core, e2));
    add(back);
    return;
  }
  Buffer &to = allocate(core, Space::Sbuf, type(computeTypes()), p, n);
  write(d, "dst", to, whole(to));
  if (form == 2) {
    d.op.in("src", randomView(from, p, n, true, false));
    chooseDge(*this, d.op, to.dtype != from.dtype);
  } else {
    static const char *const slots[] = {"src0", "src1", "src2", "src3", "src4"};
    const int terms = static_cast<int>(r.between(1, 5));
    for (int i = 0; i < terms; ++i)
      if (r.chance(50)) {
        put(d.op, slots[i], randomView(from, p, n, true, false), false);
      } else {
        const Hbm x = tensor("x", TensorKind::Input, type(computeTypes()), {p, n});
        put(d.op, slots[i], randomView(x, p, n, n, true), false);
      }
  }
  d.op.queue(queue(core, e));
  add(d);
}

// A new scratch tensor, or an old one of the core whose contents are no longer needed.
Hbm Generator::scratch(DType t, std::vector<int64_t> shape, bool shared, int core) {
  for (const auto &[owner, h] : scratches)
    if (owner == core && h.dtype == t && h.elements >= shape[0] * shape[1] && r.chance(60))
      return h;
  const Hbm h = tensor("h", TensorKind::Scratch, t, std::move(shape), shared, core);
  scratches.push_back({core, h});
  return h;
}

// Bytes of a type that nothing computes on, in and out again, and from HBM to HBM.
void Generator::passThrough(int core) {
  static const Types types = {DType::I64, DType::U64, DType::F8E4M3FN, DType::F32, DType::U8};
  const DType t = type(types);
  const int64_t rows = r.between(1, 40), n = r.between(1, 9);
  const Engine e = static_cast<Engine>(dmaEngine(core));
  const Hbm x = tensor("x", TensorKind::Input, t, {rows, n}), y = tensor("y", TensorKind::Output, t, {rows, n});
  const auto R = static_cast<uint32_t>(rows), N = static_cast<uint32_t>(n);
  Op out = dma(core, e);
  if (r.chance(50)) { // transposed on the way
    out.out("dst", view(y, {{static_cast<int32_t>(n), R}, {1, N}}))
        .in("src", r.chance(50) ? view(x, {{1, R}, {static_cast<int32_t>(rows), N}}) : randomView(x, rows, n, n, true));
  } else {
    Buffer &buf = allocate(core, Space::Sbuf, t, static_cast<int>(rows), n);
    buf.reserved = true;
    Op in = dma(core, e);
    in.out("dst", whole(buf)).in("src", randomView(x, rows, n, n, true)).queue(queue(core, e));
    s.add(std::move(in));
    out.out("dst", view(y, {{static_cast<int32_t>(n), R}, {1, N}})).in("src", whole(buf));
  }
  chooseDge(*this, out, false);
  out.queue(queue(core, e));
  s.add(std::move(out));
}

// dst[c, r] = x[index[r], c], by DMA.
void Generator::transposedRows(int core) {
  const int64_t rows = 16 * r.between(1, 2), all = rows + r.below(8);
  const int columns = static_cast<int>(r.between(1, 32));
  const Hbm x = tensor("x", TensorKind::Input, DType::BF16, {all, columns});
  Buffer &index = allocate(core, Space::Sbuf, DType::U32, static_cast<int>(rows), 1),
         &to = allocate(core, Space::Sbuf, DType::BF16, columns, rows);
  index.reserved = true;
  Op iota(core, Engine::GpSimd, "iota");
  iota.out("dst", whole(index)).set("pattern", std::vector<int32_t>{0, 1}).set("channel_multiplier", int32_t{1});
  iota.set("offset", static_cast<int32_t>(r.below(all - rows + 1)));
  s.add(std::move(iota));
  Op op(core, Engine::GpSimd, "dma_transpose");
  Operand src = view(x, {{columns, static_cast<uint32_t>(rows)}, {1, static_cast<uint32_t>(columns)}});
  src.touch.runs = {{0, all * columns * 2}};
  op.out("dst", whole(to))
      .in("src", src)
      .in("src_index", whole(index))
      .set("dge", "swdge")
      .queue(queue(core, Engine::GpSimd));
  s.add(std::move(op));
  to.defined = true;
}

// Rows by index: the indices are an iota, an input with a range, or clamped; then perhaps stored by index.
void Generator::gather(int core) {
  if (!has("swdge_indirect"))
    return transfer(core);
  const int p = static_cast<int>(r.between(1, 4)) * 16;
  const int64_t rows = p + r.below(20), n = r.between(1, 12);
  const auto N = static_cast<uint32_t>(n);
  const bool scatter = r.chance(50);
  const Engine g = Engine::GpSimd;
  const DType indexType = r.chance(50) ? DType::I32 : DType::U32;
  Buffer &index = allocate(core, Space::Sbuf, indexType, p, 1);
  index.reserved = true;
  const int kind = static_cast<int>(r.below(scatter ? 2 : 3));
  if (kind == 0) {
    Op iota(core, g, "iota");
    iota.out("dst", whole(index))
        .set("pattern", std::vector<int32_t>{0, 1})
        .set("offset", static_cast<int32_t>(r.below(rows - p + 1)));
    iota.set("channel_multiplier", int32_t{1});
    s.add(std::move(iota));
  } else {
    const Hbm x =
        kind == 1 ? rangedInput({p, 1}, indexType, 0, rows - 1, scatter) : tensor("x", TensorKind::Input, indexType, {p, 1});
    const Engine e = static_cast<Engine>(dmaEngine(core));
    Op op = dma(core, e);
    op.out("dst", whole(index)).in("src", view(x, {{1, static_cast<uint32_t>(p)}})).queue(queue(core, e));
    s.add(std::move(op));
    if (kind == 2) {
      Op clamp(core, Engine::Vector, "tensor_scalar");
      clamp.out("dst", whole(index)).in("data", whole(index)).set("op0", "max").set("operand0", 0.0f);
      clamp.set("op1", "min").set("operand1", static_cast<float>(rows - 1));
      s.add(std::move(clamp));
    }
  }
  const bool skip = r.chance(20);
  const int q = queue(core, g);
  if (!scatter) {
    const DType t = type(computeTypes());
    const Hbm x = tensor("x", TensorKind::Input, t, {rows, n});
    Buffer &to = allocate(core, Space::Sbuf, t, p, n);
    if (skip)
      fill(to);
    Op op = dma(core, g);
    Operand src = view(x, {{static_cast<int32_t>(n), static_cast<uint32_t>(p)}, {1, N}});
    src.touch.runs = {{0, rows * n * sizeOf(t)}};
    op.out("dst", whole(to))
        .in("src", src)
        .in("src_index", whole(index))
        .set("index_stride", static_cast<int32_t>(n))
        .set("dge", "swdge");
    if (skip)
      op.set("oob", "skip");
    op.queue(q);
    s.add(std::move(op));
    to.defined = true;
    return;
  }
  // A scratch tensor is cleared, rows are stored or added by index, and all of it goes to an output.
  const DType t = type(floatTypes());
  const bool sum = r.chance(40);
  const Hbm h = tensor("h", TensorKind::Scratch, t, {rows, n}), y = tensor("y", TensorKind::Output, t, {rows, n});
  const Hbm clear = tensor("c", TensorKind::Constant, t, {1, n});
  const std::vector<Dim> all = {{1, static_cast<uint32_t>(rows * n)}};
  const Engine e = static_cast<Engine>(dmaEngine(core));
  Op first = dma(core, e);
  first.out("dst", view(h, all)).in("src", view(clear, {{0, static_cast<uint32_t>(rows)}, {1, N}})).queue(queue(core, e));
  s.add(std::move(first));
  Buffer &from = source(core, Space::Sbuf, {t}, p, n, true);
  Op op(core, g, sum ? "dma_compute" : "dma_copy");
  Operand dst = view(h, {{static_cast<int32_t>(n), static_cast<uint32_t>(p)}, {1, N}});
  dst.touch.runs = {{0, rows * n * sizeOf(t)}};
  op.inout("dst", dst).in(sum ? "src0" : "src", randomView(from, p, n, true, false)).in("dst_index", whole(index));
  op.set("index_stride", static_cast<int32_t>(n)).set("dge", "swdge");
  if (sum)
    op.set("accumulate", int32_t{1});
  if (skip)
    op.set("oob", "skip");
  op.queue(q);
  s.add(std::move(op));
  Op last = dma(core, e);
  last.out("dst", view(y, all)).in("src", view(h, all)).queue(queue(core, e));
  s.add(std::move(last));
}

} // namespace glia::mutants
