#include "GradientOperands.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kColumnsPerLoad = 2048;

} // namespace

GradientOperands::GradientOperands(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p, Behind &behind,
                                   llvm::function_ref<const Tile *(mlir::Value)> tensor)
    : places(p.keep), k(k), g(g), p(p), behind(behind), scores(p.scores), second(p.second) {
  for (const GradientPlan::Product &x : p.products)
    others.push_back(x.other);
  for (int i = 0; i < static_cast<int>(g.terms.size()); ++i)
    if (g.terms[i].kind == RowTerm::Tensor)
      tensors[i] = *tensor(g.terms[i].source);
}

void GradientOperands::repeat(llvm::function_ref<void()> body) {
  std::vector<PanelSource *> sources{&scores.rows, &scores.columns, &second.rows, &second.columns};
  for (PanelSource *s : sources) {
    if (s != sources[0])
      s->turning.identity = sources[0]->turning.identity;
    if (!s->turning.identity)
      prepareTurning(k, *s);
  }
  if (p.loop < 0)
    return body();
  for (PanelSource &s : others)
    sources.push_back(&s);
  const auto axis = static_cast<size_t>(p.loop);
  const int reg = k.loop(p.batch[axis].count / p.step);
  for (PanelSource *s : sources)
    s->tensor.moves.push_back({reg, s->batch[axis].stride * p.step});
  for (auto &[i, tile] : tensors)
    if (const int64_t stride = g.terms[i].strides[static_cast<size_t>(p.batch[axis].inScores)])
      tile.moves.push_back({reg, stride * p.step});
  for (size_t i = 0; i < behind.size(); ++i)
    behind[i]->moved(p.products[i].batchDims[axis], reg, p.step);
  body();
  k.endLoop();
}

std::shared_ptr<GradientOperands::Shared> GradientOperands::load(int64_t batch, int64_t from, int64_t columns,
                                                                 bool products) {
  auto s = std::make_shared<Shared>();
  s->from = from;
  s->columns = columns;
  for (int64_t c = 0; c < columns; c += kColumnsPerLoad) {
    const int64_t n = std::min(kColumnsPerLoad, columns - c);
    s->scores.push_back(loadPanel(k, scores.columns, batch, 1, 0, scores.depth(), from + c, n));
    s->second.push_back(loadPanel(k, second.columns, batch, 1, 0, second.depth(), from + c, n));
  }
  s->others.resize(p.products.size());
  s->sums.resize(p.products.size());
  s->deferred.resize(p.products.size());
  s->seen.assign(static_cast<size_t>(blocksOf(columns)), false);
  s->met.assign(p.products.size(), s->seen);
  s->begun.assign(p.products.size(), std::vector<bool>(static_cast<size_t>(blocksOf(columns)), false));
  for (size_t i = 0; i < p.products.size(); ++i)
    if (products && !g.products[i].overRows)
      s->others[i] = loadPanel(k, others[i], batch, 1, from / kContract, blocksOf(columns), 0, p.products[i].width);
  return s;
}

GradientOperands::Panels GradientOperands::panels(int64_t batch, int64_t row, int64_t n) {
  return {loadPanel(k, scores.rows, batch, 1, 0, scores.depth(), row, n),
          loadPanel(k, second.rows, batch, 1, 0, second.depth(), row, n)};
}

Tile GradientOperands::otherRows(size_t product, int64_t batch, int64_t row, int64_t n) {
  const Tile x = loadPanel(k, others[product], batch, 1, row / kContract, 1, 0, p.products[product].width);
  return x.index(0, 0).index(0, 0).rows(0, n);
}

Tile GradientOperands::product(const GradientPlan::Pair &pair, const std::vector<Tile> &columns, const Tile &panel,
                               int64_t from, int64_t n, int64_t column, int64_t count) {
  const Tile out = k.psum(n, {count});
  for (int64_t x = 0; x < count;) {
    // A product stays in a bank and in a load of columns.
    const int64_t at = column + x, in = at % kColumnsPerLoad;
    const int64_t w = std::min({kBank - x % kBank, count - x, kColumnsPerLoad - in});
    const Tile moving = columns[static_cast<size_t>(at / kColumnsPerLoad)].index(0, 0);
    for (int64_t d = 0; d < pair.depth(); ++d) {
      const int64_t deep = std::min(kContract, pair.contract - d * kContract);
      k.matmul(out.columns(x, w), panel.index(0, 0).index(0, d).part(0, from, n).rows(0, deep),
               moving.index(0, d).part(0, in, w).rows(0, deep), d > 0);
    }
    x += w;
  }
  return out;
}

// The sum of each block of columns of the second contraction.
void GradientOperands::sumBlocks(Shared &s) {
  const int64_t blocks = blocksOf(s.columns);
  s.blockSums = k.sbuf(DType::F32, s.second[0].partitions, {second.depth(), blocks});
  for (size_t i = 0; i < s.second.size(); ++i)
    for (int64_t d = 0; d < second.depth(); ++d) {
      const int64_t deep = std::min(kContract, second.contract - d * kContract);
      const Tile in = s.second[i].index(0, 0).index(0, d).rows(0, deep),
                 out = s.blockSums.rows(0, deep).index(0, d).columns(static_cast<int64_t>(i) * kColumnsPerLoad / kContract,
                                                                     blocksOf(in.elements()));
      const int64_t whole = in.elements() / kContract, rest = in.elements() % kContract;
      if (whole)
        k.reduce(out.columns(0, whole), in.columns(0, whole * kContract), "add");
      if (rest)
        k.reduce(out.columns(whole, 1), in.columns(whole * kContract, rest), "add");
    }
}

Tile GradientOperands::productOfOthers(Shared &s, const Tile &panel, int64_t from, int64_t n, int64_t begin, int64_t end) {
  auto [it, fresh] = s.notCounted.try_emplace({begin, end});
  if (fresh) {
    if (s.blockSums.handle < 0)
      sumBlocks(s);
    const int64_t blocks = blocksOf(s.columns);
    it->second = k.sbuf(second.columns.type, s.blockSums.partitions, {second.depth()});
    for (int64_t d = 0; d < second.depth(); ++d) {
      const int64_t deep = std::min(kContract, second.contract - d * kContract);
      const Tile sums = s.blockSums.rows(0, deep).index(0, d), to = it->second.rows(0, deep).columns(d, 1);
      if (begin == 0 || end == blocks) {
        k.reduce(to, begin == 0 ? sums.columns(end, blocks - end) : sums.columns(0, begin), "add");
        continue;
      }
      const Tile both = k.sbuf(DType::F32, deep, {2});
      k.reduce(both.columns(0, 1), sums.columns(0, begin), "add");
      k.reduce(both.columns(1, 1), sums.columns(end, blocks - end), "add");
      k.reduce(to, both, "add");
    }
  }
  const Tile out = k.psum(n, {1});
  for (int64_t d = 0; d < second.depth(); ++d) {
    const int64_t deep = std::min(kContract, second.contract - d * kContract);
    k.matmul(out, panel.index(0, 0).index(0, d).part(0, from, n).rows(0, deep), it->second.columns(d, 1).rows(0, deep),
             d > 0);
  }
  return out;
}

Tile GradientOperands::tensorTerm(const RowNumbers &rows, int i) {
  const RowTerm &t = g.terms[i];
  const auto along = [&](int d) { return d < 0 ? 0 : t.strides[static_cast<size_t>(d)]; };
  Tile from = tensors.at(i);
  for (size_t a = 0; a < p.batch.size(); ++a)
    from.offset += p.indexOf(rows.batch, a) * along(p.batch[a].inScores);
  from.offset += rows.first * along(p.row.inScores);
  from.dims = {{along(p.row.inScores), rows.count}, {1, 1}};
  const Tile out = k.sbuf(DType::F32, rows.count, {1});
  k.copy(out, from);
  if (t.number != 1)
    k.scalar(out, out, "multiply", t.number);
  return out;
}

Tile GradientOperands::term(RowNumbers &rows, int i) {
  const RowTerm &t = g.terms[i];
  if (t.kind == RowTerm::Weights)
    return rows.ofWeights;
  if (t.kind == RowTerm::Products)
    return rows.ofProducts;
  if (const auto it = rows.terms.find(i); it != rows.terms.end())
    return it->second;
  if (t.kind == RowTerm::Tensor)
    return rows.terms[i] = tensorTerm(rows, i);
  const Tile out = k.sbuf(DType::F32, rows.count, {1});
  if (t.kind == RowTerm::Number) {
    k.fill(out, t.number);
  } else if (t.op == "divide") {
    k.reciprocal(out, term(rows, t.b));
    if (g.terms[t.a].kind != RowTerm::Number)
      k.scalar(out, out, "multiply", term(rows, t.a));
    else if (g.terms[t.a].number != 1)
      k.scalar(out, out, "multiply", g.terms[t.a].number);
  } else {
    const bool first = g.terms[t.a].kind == RowTerm::Number;
    const int data = first ? t.b : t.a, other = first ? t.a : t.b;
    const Tile x = term(rows, data);
    if (g.terms[other].kind == RowTerm::Number)
      k.scalar(out, x, t.op, g.terms[other].number);
    else
      k.scalar(out, x, t.op, term(rows, other));
  }
  return rows.terms[i] = out;
}

void GradientOperands::leave(const Tile &out, const Tile &x) {
  if (k.target().has("scalar_tensor_copy"))
    k.move(out, x);
  else
    k.activation(out, x, "copy");
}

void GradientOperands::store(size_t product, const Tile &out, int64_t batch, int64_t line) {
  const GradientPlan::Product &x = p.products[product];
  graph::DotGeneralOp dot = g.products[product].dot;
  const std::vector<int64_t> shape = shapeOf(dot->getResult(0));
  Block at;
  at.start.assign(shape.size(), 0);
  for (size_t i = 0; i < p.batch.size(); ++i)
    if (x.batchDims[i] >= 0)
      at.start[static_cast<size_t>(x.batchDims[i])] = p.indexOf(batch, i);
  if (x.line >= 0)
    at.rows.push_back({x.line, shape[static_cast<size_t>(x.line)]});
  for (int d : x.widthDims)
    at.columns.push_back({d, shape[static_cast<size_t>(d)]});
  at.row = line;
  behind[product]->block(out, at);
  k.location(dot->getLoc());
}

} // namespace glia::emit
