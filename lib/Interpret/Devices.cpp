// Exchange between ranks. Who exchanges with whom is said in four ways, by what an operation has (StableHLO's specification, "Collective
// ops"); a rank that is alone is the case of one.
#include "Interpret/Complex.h"
#include "Interpret/Fold.h"
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

using Group = std::vector<int64_t>;

// ---- groups of ranks --------------------------------------------------------------------------------------------------------

// What the numbers in a table of groups are, and which ranks are meant.
enum class Mode : uint8_t { CrossReplica, CrossPartition, CrossReplicaAndPartition, Flattened };

bool hasChannel(const Call &c) { return c.integerOr("channel_handle.handle", 0) > 0; }

// Of all_reduce, all_gather and reduce_scatter.
Mode reducingMode(const Call &c) {
  const bool global = c.integerOr("use_global_device_ids", 0) != 0;
  return !hasChannel(c) ? Mode::CrossReplica : global ? Mode::Flattened : Mode::CrossReplicaAndPartition;
}
Mode movingMode(const Call &c) { return hasChannel(c) ? Mode::CrossPartition : Mode::CrossReplica; }

// The ranks that the numbers of one group mean, for the rank `self`.
Group ranksOf(const Group &numbers, Mode mode, const Place &at) {
  const int64_t replica = at.rank / at.partitions, partition = at.rank % at.partitions;
  Group ranks;
  switch (mode) {
  case Mode::CrossReplica:
    for (const int64_t n : numbers)
      ranks.push_back(n * at.partitions + partition);
    break;
  case Mode::CrossPartition:
    for (const int64_t n : numbers)
      ranks.push_back(replica * at.partitions + n);
    break;
  case Mode::CrossReplicaAndPartition:
    for (int64_t p = 0; p < at.partitions; ++p)
      for (const int64_t n : numbers)
        ranks.push_back(n * at.partitions + p);
    break;
  case Mode::Flattened: ranks = numbers; break;
  }
  return ranks;
}

int64_t numberCount(Mode mode, const Place &at) {
  return mode == Mode::Flattened ? at.replicas * at.partitions : mode == Mode::CrossPartition ? at.partitions : at.replicas;
}

// The group that the rank is in; empty if there is none.
Group findGroup(const Call &c, Mode mode) {
  const std::optional<Tensor> table = c.elements("replica_groups");
  if (!table || (table->shape.size() != 2 && table->count() > 0))
    c.fail("groups of devices that are not a table of numbers");
  const Place at = c.place();
  const int64_t count = numberCount(mode, at);
  if (table->count() == 0) { // all together
    Group all;
    for (int64_t n = 0; n < count; ++n)
      all.push_back(n);
    return ranksOf(all, mode, at);
  }
  Group own;
  for (int64_t row = 0, width = table->shape[1]; row < table->shape[0]; ++row) {
    Group numbers; // short groups are filled up with -1
    for (int64_t i = row * width; i < (row + 1) * width; ++i)
      if (const int64_t n = asInt(table->at(i)); n >= 0)
        numbers.push_back(n);
    if (numbers.size() > 1 && std::ranges::any_of(numbers, [&](int64_t n) { return n >= count; }))
      c.fail("an exchange between several devices, of which there are " + std::to_string(count));
    const Group ranks = ranksOf(numbers, mode, at);
    if (own.empty() && std::ranges::find(ranks, at.rank) != ranks.end())
      own = ranks;
  }
  return own;
}

Group requireGroup(const Call &c, Mode mode) {
  Group group = findGroup(c, mode);
  if (group.empty())
    c.fail("an exchange that device " + std::to_string(c.place().rank) + " has no part in");
  return group;
}

size_t indexIn(const Group &group, int64_t rank) {
  return static_cast<size_t>(std::ranges::find(group, rank) - group.begin());
}

// ---- pieces of tensors ------------------------------------------------------------------------------------------------------

// Calls fn for the tensor of a value, or for both parts of a complex one, and puts the results together.
template <class Fn> Datum byPart(const Datum &like, const TensorType &type, Fn &&fn) {
  Datum out;
  if (like.parts.empty()) {
    out.tensor = fn([](const Datum &d) -> const Tensor & { return d.tensor; }, type.element);
    return out;
  }
  out.tensor.element = type.element;
  out.tensor.shape = type.shape;
  out.parts.resize(2);
  out.parts[0].tensor = fn([](const Datum &d) -> const Tensor & { return d.parts[0].tensor; }, partOf(type.element));
  out.parts[1].tensor = fn([](const Datum &d) -> const Tensor & { return d.parts[1].tensor; }, partOf(type.element));
  return out;
}

// `piece` of `pieces` of equal size along a dimension.
Tensor piece(const Call &c, const Tensor &t, int64_t dim, int64_t pieces, int64_t index) {
  if (dim < 0 || dim >= t.rank() || pieces <= 0 || t.shape[static_cast<size_t>(dim)] % pieces)
    c.fail("a dimension that cannot be cut into " + std::to_string(pieces) + " equal parts");
  Shape shape = t.shape;
  const auto d = static_cast<size_t>(dim);
  shape[d] /= pieces;
  Tensor out(t.element, shape);
  const Shape from = rowMajor(t.shape), to = rowMajor(shape);
  if (out.count())
    copyStrided(shape, out.own(), 0, to, t.words(), index * shape[d] * from[d], from);
  return out;
}

Tensor joined(const Call &c, const std::vector<Tensor> &parts, int64_t dim, const Shape &shape) {
  Tensor out(parts[0].element, shape);
  const Shape to = rowMajor(shape);
  const auto d = static_cast<size_t>(dim);
  int64_t at = 0;
  for (const Tensor &p : parts) {
    Shape expected = shape;
    if (dim < 0 || d >= shape.size() || p.rank() != out.rank())
      c.fail("a result of another shape than the exchange gives");
    expected[d] = p.shape[d];
    if (p.shape != expected || at + p.shape[d] > shape[d])
      c.fail("a result of another shape than the exchange gives");
    if (p.count())
      copyStrided(p.shape, out.own(), 0 + at * to[d], to, p.words(), 0, rowMajor(p.shape));
    at += p.shape[d];
  }
  if (at != shape[d])
    c.fail("a result of another shape than the exchange gives");
  return out;
}

void expectShape(const Call &c, const Shape &got, const TensorType &type) {
  if (got != type.shape)
    c.fail("a result of another shape than the exchange gives");
}

// ---- reductions -------------------------------------------------------------------------------------------------------------

// Operand k of all members, from the first to the last of the group. A fold stays in double and is rounded once.
Tensor foldTensors(Call &c, const std::vector<const Tensor *> &parts, std::string_view single, Body *body) {
  Tensor out = *parts[0];
  Word *to = out.own();
  if (const Fold fold = findFold(single, out.element)) {
    for (size_t m = 1; m < parts.size(); ++m)
      fold(to, 1, parts[m]->words(), 1, out.count());
    settle(out.element, c.inDouble, to, out.count());
    return out;
  }
  if (!body)
    c.fail("complex numbers are only added up across devices");
  for (size_t m = 1; m < parts.size(); ++m)
    for (int64_t i = 0; i < out.count(); ++i) {
      const Word arguments[] = {to[i], parts[m]->at(i)};
      body->run(arguments, &to[i]);
    }
  return out;
}

Datum reduced(Call &c, const std::vector<std::vector<Datum>> &all, size_t k) {
  const Datum &own = all[0][k];
  TensorType type = c.operandType(k);
  const bool complex = !own.parts.empty(), sums = c.name() == "stablehlo.cross-replica-sum";
  const std::string single = sums ? "stablehlo.add" : c.singleOperation(0).value_or("");
  if (complex && single != "stablehlo.add" && all.size() > 1)
    c.fail("complex numbers are only added up across devices");
  const std::unique_ptr<Body> body = complex || sums ? nullptr : c.body(0);
  return byPart(own, type, [&](auto part, Element) {
    std::vector<const Tensor *> parts;
    for (const std::vector<Datum> &m : all)
      parts.push_back(&part(m[k]));
    return foldTensors(c, parts, single, body.get());
  });
}

void allReduce(Call &c) {
  const Group group = requireGroup(c, c.name() == "stablehlo.cross-replica-sum" ? Mode::CrossReplica : reducingMode(c));
  const std::vector<std::vector<Datum>> all = c.exchange(group);
  for (size_t k = 0; k < c.resultCount(); ++k) {
    c.results[k] = reduced(c, all, k);
    expectShape(c, all[0][k].tensor.shape, c.resultType(k));
  }
}

void reduceScatter(Call &c) {
  const Group group = requireGroup(c, reducingMode(c));
  const std::vector<std::vector<Datum>> all = c.exchange(group);
  const Datum sum = reduced(c, all, 0);
  const int64_t dim = c.integerOr("scatter_dimension", 0);
  const auto index = static_cast<int64_t>(indexIn(group, c.place().rank));
  c.results[0] = byPart(sum, c.resultType(0), [&](auto part, Element) {
    Tensor t = piece(c, part(sum), dim, static_cast<int64_t>(group.size()), index);
    expectShape(c, t.shape, c.resultType(0));
    return t;
  });
}

// ---- movement ---------------------------------------------------------------------------------------------------------------

void allGather(Call &c) {
  const std::vector<std::vector<Datum>> all = c.exchange(requireGroup(c, reducingMode(c)));
  const int64_t dim = c.integerOr("all_gather_dim", 0);
  for (size_t k = 0; k < c.resultCount(); ++k)
    c.results[k] = byPart(all[0][k], c.resultType(k), [&](auto part, Element) {
      std::vector<Tensor> parts;
      for (const std::vector<Datum> &m : all)
        parts.push_back(part(m[k]));
      return joined(c, parts, dim, c.resultType(k).shape);
    });
}

void allToAll(Call &c) {
  const Group group = requireGroup(c, movingMode(c));
  const int64_t from = c.integerOr("split_dimension", 0), to = c.integerOr("concat_dimension", 0),
                count = c.integerOr("split_count", 1);
  if (count != static_cast<int64_t>(group.size()))
    c.fail("an operand that is cut into " + std::to_string(count) + " parts for " + std::to_string(group.size()) +
           " devices");
  const std::vector<std::vector<Datum>> all = c.exchange(group);
  const auto index = static_cast<int64_t>(indexIn(group, c.place().rank));
  for (size_t k = 0; k < c.resultCount(); ++k)
    c.results[k] = byPart(all[0][k], c.resultType(k), [&](auto part, Element) {
      std::vector<Tensor> parts;
      for (const std::vector<Datum> &m : all)
        parts.push_back(piece(c, part(m[k]), from, count, index));
      return joined(c, parts, to, c.resultType(k).shape);
    });
}

Datum zeros(const TensorType &type) {
  if (isComplex(type.element)) {
    const Tensor part(partOf(type.element), type.shape);
    return makeComplex(type.element, part, part);
  }
  Datum out;
  out.tensor = Tensor(type.element, type.shape);
  return out;
}

// Who is in no group gets zeros.
void broadcast(Call &c) {
  if (c.operandCount() != c.resultCount())
    c.fail("a root that is computed");
  const Group group = findGroup(c, movingMode(c));
  const std::vector<std::vector<Datum>> all = group.empty() ? std::vector<std::vector<Datum>>() : c.exchange(group);
  for (size_t k = 0; k < c.resultCount(); ++k)
    c.results[k] = all.empty() ? zeros(c.resultType(k)) : all[0][k];
}

void reduceToOne(Call &c) {
  if (c.operandCount() != c.resultCount())
    c.fail("a root that is computed");
  if (requireGroup(c, reducingMode(c)).size() > 1)
    c.fail("a reduction to one of several devices");
  for (size_t k = 0; k < c.resultCount(); ++k)
    c.results[k] = c.operands[k];
}

// Who gets nothing has zeros.
void permute(Call &c) {
  const Shape pairs = c.intsOr("source_target_pairs", 0, 0);
  const Mode mode = movingMode(c);
  const Place at = c.place();
  Group numbers;
  for (const int64_t n : pairs) {
    if (n < 0 || n >= numberCount(mode, at))
      c.fail("an exchange between several devices, of which there are " + std::to_string(numberCount(mode, at)));
    if (std::ranges::find(numbers, n) == numbers.end())
      numbers.push_back(n);
  }
  std::ranges::sort(numbers);
  const Group group = ranksOf(numbers, mode, at);
  c.results[0] = zeros(c.resultType(0));
  if (std::ranges::find(group, at.rank) == group.end())
    return;
  const std::vector<std::vector<Datum>> all = c.exchange(group);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (ranksOf({pairs[i + 1]}, mode, at)[0] == at.rank)
      c.results[0] = all[indexIn(group, ranksOf({pairs[i]}, mode, at)[0])][0];
}

// ---- from one to another ------------------------------------------------------------------------------------------------------

// Pairs of ranks; fails if it is an exchange with the host.
std::vector<std::pair<int64_t, int64_t>> transfers(const Call &c) {
  if (c.integerOr("is_host_transfer", 0) != 0)
    c.fail("an exchange with the host");
  const Shape pairs = c.intsOr("source_target_pairs", 0, 0);
  const Mode mode = movingMode(c);
  const Place at = c.place();
  std::vector<std::pair<int64_t, int64_t>> out;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    for (const int64_t n : {pairs[i], pairs[i + 1]})
      if (n < 0 || n >= numberCount(mode, at))
        c.fail("an exchange between several devices, of which there are " + std::to_string(numberCount(mode, at)));
    out.emplace_back(ranksOf({pairs[i]}, mode, at)[0], ranksOf({pairs[i + 1]}, mode, at)[0]);
  }
  if (out.empty())
    c.fail("it does not say who sends to whom");
  return out;
}

void send(Call &c) {
  for (const auto &[from, to] : transfers(c))
    if (from == c.place().rank)
      c.give(to, c.integerOr("channel_handle.handle", 0), {c.operands.begin(), c.operands.end() - 1});
}

// Who is nobody's target has zeros.
void receive(Call &c) {
  std::vector<Datum> got;
  for (const auto &[from, to] : transfers(c))
    if (to == c.place().rank)
      got = c.take(c.integerOr("channel_handle.handle", 0));
  if (!got.empty() && got.size() + 1 != c.resultCount())
    c.fail("another number of tensors than was sent");
  for (size_t k = 0; k + 1 < c.resultCount(); ++k) {
    const Datum none = zeros(c.resultType(k));
    c.results[k] = got.empty() ? none : got[k];
    if (c.results[k].tensor.element != none.tensor.element || c.results[k].tensor.shape != none.tensor.shape)
      c.fail("a tensor of another type than was sent");
  }
}

void partitionId(Call &c) {
  c.set(0, Tensor::scalar(c.resultType(0).element, static_cast<Word>(c.place().rank % c.place().partitions)));
}
void replicaId(Call &c) {
  c.set(0, Tensor::scalar(c.resultType(0).element, static_cast<Word>(c.place().rank / c.place().partitions)));
}

constexpr Rule kRules[] = {
    {"stablehlo.all_reduce", allReduce},
    {"stablehlo.all_gather", allGather},
    {"stablehlo.all_to_all", allToAll},
    {"stablehlo.reduce_scatter", reduceScatter},
    {"stablehlo.collective_broadcast", broadcast},
    {"stablehlo.collective_reduce", reduceToOne},
    {"stablehlo.cross-replica-sum", allReduce},
    {"stablehlo.collective_permute", permute},
    {"stablehlo.send", send},
    {"stablehlo.recv", receive},
    {"stablehlo.partition_id", partitionId},
    {"stablehlo.replica_id", replicaId},
};

} // namespace

std::span<const Rule> deviceRules() { return kRules; }

} // namespace glia::interp
