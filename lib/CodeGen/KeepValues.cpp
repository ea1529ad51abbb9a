// A kernel that is written as several stages stores what one gives and the next one takes. Where the tile that was stored can stay, the
// load becomes that tile itself, or copies and transposes on chip; what nobody loads any more is not stored, unless it is a result.
//
//   the same partitions, the same layout     the tile is used where it lies
//   partitions of the stored tile            tensor_copy for each run of them
//   rows become columns                      nc_transpose through PSUM, or in blocks on Vector where Tensor's is not exact
//   anything else                            stays a store and a load
#include "Room.h"
#include "Transforms/InstrFacts.h"
#include "Transforms/Remarks.h"
#include "TransferMap.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Verify/StaticRules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace glia {

namespace codegen {

using nisa::Instr;
using nisa::TensorOperand;

namespace {

constexpr size_t kMostStores = 64;        // of a tensor: each load is compared with each
constexpr int64_t kMostInstructions = 64; // in place of one load
constexpr int64_t kVectorBlock = 32;

using Steps = std::vector<SharedBox::Step>;

// Dimensions of both tiles, merged where both go on without a gap.
struct Walk {
  llvm::SmallVector<int64_t, 8> from, to; // stride, count ...
};

Walk walkOf(const Steps &steps) { // widest in the destination first
  Steps merged;
  for (const SharedBox::Step &s : steps)
    if (!merged.empty() && merged.back().from == s.from * s.count && merged.back().to == s.to * s.count) {
      const int64_t count = merged.back().count * s.count;
      merged.back() = s;
      merged.back().count = count;
    } else {
      merged.push_back(s);
    }
  Walk out;
  for (const SharedBox::Step &s : merged) {
    out.from.append({s.from, s.count});
    out.to.append({s.to, s.count});
  }
  if (merged.empty()) {
    out.from = {1, 1};
    out.to = {1, 1};
  }
  return out;
}

// One run of partitions, if the steps are one; 0 otherwise.
int64_t runOf(Steps steps, int64_t SharedBox::Step::*stride) {
  llvm::stable_sort(steps, [&](const auto &a, const auto &b) { return a.*stride < b.*stride; });
  int64_t n = 1;
  for (const SharedBox::Step &s : steps) {
    if (s.*stride != n)
      return 0;
    n *= s.count;
  }
  return n;
}

class Keeper {
public:
  Keeper(nisa::CoreOp core, const Target &target)
      : core(core), block(core.getBody().front()), target(target), room(core, target) {}

  size_t run() {
    std::vector<Instr> loads;
    for (mlir::Operation &op : block)
      if (const Instr i(&op); i && isLoad(i))
        loads.push_back(i);
    for (const Instr &load : loads)
      keep(load);
    return kept;
  }

private:
  nisa::CoreOp core;
  mlir::Block &block;
  const Target &target;
  Room room;
  llvm::DenseMap<mlir::Value, uint32_t> until; // tiles that stay longer than they did
  size_t kept = 0;

  static mlir::Value homeOf(Instr i, int slot) {
    const mlir::Value v = i.tensor(slot);
    return v && llvm::cast<nisa::TensorType>(v.getType()).getSpace() == Space::Hbm ? v : mlir::Value();
  }
  // Ordered by its author, or not a plain transfer.
  static bool isPlain(Instr i) {
    return (i.is("dma_copy") || i.is("dma_transpose")) && i->getNumOperands() == 2 && !i->hasAttr("after") &&
           !i->hasAttr("chain") && !i->hasAttr("id");
  }
  static bool isMade(mlir::Value home) { // by the kernel, nobody else sees it meanwhile
    auto t = home.getDefiningOp<nisa::TensorOp>();
    return t && (t.getKind() == "scratch" || t.getKind() == "output") && !t.getAlias();
  }
  static bool isLoad(Instr i) {
    const mlir::Value home = isPlain(i) ? homeOf(i, 1) : mlir::Value();
    return home && isMade(home) && i.tensor(0).getDefiningOp<nisa::AllocOp>();
  }

  // The stores of a tensor; nothing if somebody else writes to it too.
  std::optional<std::vector<Instr>> storesOf(mlir::Value home) const {
    std::vector<Instr> out;
    for (mlir::Operation *user : home.getUsers()) {
      const Instr i(user);
      if (!i)
        return std::nullopt;
      bool writes = false;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        writes |= i.tensor(static_cast<int>(k)) == home && i.writes(static_cast<int>(k));
      if (!writes)
        continue;
      if (user->getBlock() != &block || !isPlain(i) || out.size() == kMostStores)
        return std::nullopt;
      out.push_back(i);
    }
    return out;
  }

  // Whether somebody writes to a tile from one operation of the block on (it excluded) up to another; null: to the end.
  bool changes(mlir::Value tile, mlir::Operation *from, mlir::Operation *to) const {
    return llvm::any_of(tile.getUsers(), [&](mlir::Operation *user) {
      mlir::Operation *at = block.findAncestorOpInBlock(*user);
      if (!at || !Instr(user))
        return true;
      if (!from->isBeforeInBlock(at) || (to && !at->isBeforeInBlock(to)))
        return false;
      const Instr i(user);
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.tensor(static_cast<int>(k)) == tile && i.writes(static_cast<int>(k)))
          return true;
      return false;
    });
  }

  struct Source {
    Instr store;
    TransferMap map;
    SharedBox box;
  };

  // Where the elements of a load were stored from, each once.
  std::optional<std::vector<Source>> sourcesOf(Instr load, const TransferMap &wanted) const {
    const auto stores = storesOf(load.tensor(1));
    if (!stores)
      return std::nullopt;
    std::vector<Source> out;
    int64_t elements = 0;
    for (const Instr &store : *stores) {
      const std::optional<TransferMap> map = mapOf(store, 1);
      if (!map)
        return std::nullopt;
      const auto shared = sharedBy(*map, wanted);
      if (std::holds_alternative<Unknown>(shared))
        return std::nullopt;
      const auto &box = std::get<std::optional<SharedBox>>(shared);
      if (!box)
        continue;
      if (!store->isBeforeInBlock(load.operation()) || changes(map->tile, store.operation(), load.operation()) ||
          map->tile == wanted.tile)
        return std::nullopt;
      for (const Source &other : out) {
        const auto twice = sharedBy(other.map, *map);
        if (std::holds_alternative<Unknown>(twice) || std::get<std::optional<SharedBox>>(twice))
          return std::nullopt;
      }
      elements += box->elements();
      out.push_back({store, *map, *box});
    }
    return elements == wanted.elements() && !out.empty() ? std::optional(std::move(out)) : std::nullopt;
  }

  void keep(Instr load) {
    const std::optional<TransferMap> wanted = mapOf(load, 0);
    const auto sources = wanted ? sourcesOf(load, *wanted) : std::nullopt;
    if (!sources)
      return;
    const mlir::Value home = load.tensor(1);
    if (!becomes(load, *wanted, *sources) && !moves(load, *wanted, *sources))
      return;
    ++kept;
    load.operation()->erase();
    forget(home);
  }

  // Nobody loads it any more, and it is no result.
  static void forget(mlir::Value home) {
    auto tensor = home.getDefiningOp<nisa::TensorOp>();
    const std::vector<mlir::Operation *> users(home.getUsers().begin(), home.getUsers().end());
    if (tensor.getKind() != "scratch" || !llvm::all_of(users, [&](mlir::Operation *u) {
          const Instr i(u);
          return i && isPlain(i) && i.tensor(0) == home;
        }))
      return;
    for (mlir::Operation *u : users)
      u->erase();
    tensor.erase();
  }

  uint32_t endOf(nisa::AllocOp tile) const {
    const auto it = until.find(tile.getTensor());
    return it == until.end() ? room.of(tile).to : it->second;
  }

  // There is room for a tile until then.
  bool stays(nisa::AllocOp tile, uint32_t to) {
    const uint32_t end = endOf(tile);
    if (end < to && !room.take(tile, {{end, to}}))
      return false;
    until[tile.getTensor()] = std::max(end, to);
    return true;
  }

  // The loaded tile is the stored one.
  bool becomes(Instr load, const TransferMap &wanted, const std::vector<Source> &sources) {
    if (sources.size() != 1)
      return false;
    const SharedBox &box = sources[0].box;
    auto to = wanted.tile.getDefiningOp<nisa::AllocOp>(), from = sources[0].map.tile.getDefiningOp<nisa::AllocOp>();
    const auto alike = [](const SharedBox::Step &s) { return s.fromPartition == s.toPartition && s.from == s.to; };
    if (!from || to.getPinned() || from.getPinned() || box.fromPartition != box.toPartition ||
        !llvm::all_of(box.steps, alike) || !nisa::writesAll(load, wanted.tile) ||
        changes(sources[0].map.tile, sources[0].store.operation(), nullptr) || changesBeside(wanted.tile, load) ||
        !stays(from, endOf(to)))
      return false;
    const int64_t bytes = (box.from - box.to) * sizeOf(wanted.dtype);
    std::vector<mlir::Operation *> users;
    for (mlir::Operation *user : wanted.tile.getUsers())
      if (user != load.operation() && !llvm::is_contained(users, user))
        users.push_back(user);
    for (mlir::Operation *user : users)
      redirect(Instr(user), wanted.tile, from.getTensor(), bytes);
    return true;
  }

  // Somebody but the load writes to its tile, or looks at it before.
  bool changesBeside(mlir::Value tile, Instr load) const {
    return changes(tile, load.operation(), nullptr) || llvm::any_of(tile.getUsers(), [&](mlir::Operation *user) {
             mlir::Operation *at = block.findAncestorOpInBlock(*user);
             return at != load.operation() && at->isBeforeInBlock(load.operation());
           });
  }

  static void redirect(Instr user, mlir::Value old, mlir::Value now, int64_t bytes) {
    for (size_t k = 0; k < user.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (user.tensor(slot) != old)
        continue;
      const nisa::AccessAttr a = user.access(slot);
      user.setSlot(slot, nisa::AccessAttr::get(a.getContext(), a.getBase(), a.getDtype(), a.getPartition(),
                                               a.getPartitions(), a.getByteOffset() + bytes, a.getDims(), a.getTerms()));
    }
    for (mlir::OpOperand &operand : user->getOpOperands())
      if (operand.get() == old)
        operand.set(now);
  }

  // Instructions on chip that do what the load did.
  bool moves(Instr load, const TransferMap &wanted, const std::vector<Source> &sources) {
    mlir::OpBuilder b(load.operation());
    std::vector<mlir::Operation *> made;
    const auto undo = [&] {
      for (mlir::Operation *op : llvm::reverse(made))
        op->erase();
      return false;
    };
    const uint32_t at = room.of(wanted.tile.getDefiningOp<nisa::AllocOp>()).to;
    for (const Source &s : sources) {
      auto tile = s.map.tile.getDefiningOp<nisa::AllocOp>();
      if (!tile || !Mover(*this, b, load->getLoc(), wanted, s, made).run() ||
          static_cast<int64_t>(made.size()) > kMostInstructions)
        return undo();
    }
    for (const Source &s : sources)
      if (!stays(s.map.tile.getDefiningOp<nisa::AllocOp>(), at))
        return undo();
    return true;
  }

  class Mover {
  public:
    Mover(Keeper &k, mlir::OpBuilder &b, mlir::Location loc, const TransferMap &wanted, const Source &s,
          std::vector<mlir::Operation *> &made)
        : target(k.target), b(b), loc(loc), wanted(wanted), s(s), made(made) {}

    bool run() {
      Steps steps = s.box.steps;
      llvm::stable_sort(steps, [](const auto &a, const auto &x) { return a.to > x.to; });
      for (const SharedBox::Step &step : steps) {
        if (step.fromPartition && step.toPartition)
          both.push_back(step);
        else if (step.fromPartition)
          rows.push_back(step);
        else if (step.toPartition)
          columns.push_back(step);
        else
          rest.push_back(step);
        if (step.toPartition && !step.fromPartition && step.from == 0)
          return false; // one element for many partitions
      }
      const bool turned = both.empty() && (!rows.empty() || !columns.empty());
      return turned ? turn() : copy();
    }

  private:
    const Target &target;
    mlir::OpBuilder &b;
    mlir::Location loc;
    const TransferMap &wanted;
    const Source &s;
    std::vector<mlir::Operation *> &made;
    Steps both, rows, columns, rest; // partitions of both; of the stored tile; of the loaded one; of none

    TensorOperand operand(mlir::Value tile, DType t, int64_t partition, int64_t partitions, int64_t at,
                          llvm::ArrayRef<int64_t> dims) const {
      TensorOperand o;
      o.tensor = tile;
      o.dtype = t;
      o.partition = static_cast<int32_t>(partition);
      o.partitions = static_cast<int32_t>(partitions);
      o.byteOffset = at * sizeOf(t);
      o.dims.assign(dims.begin(), dims.end());
      return o;
    }
    void emit(const char *name, TensorOperand to, TensorOperand from) {
      made.push_back(nisa::createInstruction(b, loc, *findInstruction(name),
                                             {nisa::SlotValue::of(std::move(to)), nisa::SlotValue::of(std::move(from))})
                         .operation());
    }
    static bool starts(int64_t partition, int64_t partitions) {
      return partition % partitionStep(static_cast<int>(partitions)) == 0;
    }
    static bool fits(const Walk &w) { return w.from.size() <= 8 && w.to.size() <= 8; }

    // Every index of some steps: how far it is in both tiles.
    template <typename F> static bool each(const Steps &steps, F visit) {
      int64_t all = 1;
      for (const SharedBox::Step &step : steps)
        all *= step.count;
      if (all > kMostInstructions)
        return false;
      for (int64_t n = 0; n < all; ++n) {
        int64_t left = n, from = 0, to = 0, fromRows = 0, toRows = 0;
        for (const SharedBox::Step &step : llvm::reverse(steps)) {
          const int64_t i = left % step.count;
          left /= step.count;
          (step.fromPartition ? fromRows : from) += i * step.from;
          (step.toPartition ? toRows : to) += i * step.to;
        }
        if (!visit(fromRows, from, toRows, to))
          return false;
      }
      return true;
    }

    bool copy() {
      const int64_t n = runOf(both, &SharedBox::Step::from);
      const Walk walk = walkOf(rest);
      const auto alike = [](const SharedBox::Step &step) { return step.from == step.to; }; // else partitions change places
      if (!n || !llvm::all_of(both, alike) || !fits(walk))
        return false;
      Steps others = rows;
      others.insert(others.end(), columns.begin(), columns.end());
      return each(others, [&](int64_t fromRows, int64_t from, int64_t toRows, int64_t to) {
        const int64_t p = s.box.fromPartition + fromRows, q = s.box.toPartition + toRows;
        if (!starts(p, n) || !starts(q, n))
          return false;
        emit("tensor_copy", operand(wanted.tile, wanted.dtype, q, n, s.box.to + to, walk.to),
             operand(s.map.tile, wanted.dtype, p, n, s.box.from + from, walk.from));
        return true;
      });
    }

    bool turn() {
      const int64_t p = runOf(rows, &SharedBox::Step::from), f = runOf(columns, &SharedBox::Step::to);
      llvm::stable_sort(
          rows, [](const auto &a, const auto &x) { return a.from > x.from; }); // a row of the stored tile after the other
      const Walk down = walkOf(rows),
                 across = walkOf(columns); // down.to: along the loaded tile; across.from: along the stored one
      if (!p || !f || p > 128 || f > 128)
        return false;
      const DType t = sizeOf(wanted.dtype) == 4 ? DType::F32 : wanted.dtype;
      const bool exact = target.has("exact_transpose") && (t == DType::F32 || t == DType::BF16 || t == DType::F16);
      return exact ? turnThroughPsum(t, p, f, down, across) : turnByBlocks(p, f, down, across);
    }

    // Blocks beside each other leave a bank of PSUM together.
    bool turnThroughPsum(DType t, int64_t p, int64_t f, const Walk &down, const Walk &across) {
      if (!starts(s.box.fromPartition, p) || !starts(s.box.toPartition, f))
        return false;
      Steps inner;
      Steps outer = rest;
      const int64_t bank = target.psumBankBytes;
      if (!outer.empty() && outer.back().count * p * sizeOf(t) <= bank) {
        inner.push_back(outer.back());
        outer.pop_back();
      }
      const int64_t blocks = inner.empty() ? 1 : inner[0].count;
      llvm::SmallVector<int64_t, 8> to;
      if (!inner.empty())
        to.append({inner[0].to, blocks});
      to.append(down.to.begin(), down.to.end());
      if (to.size() > 8 || across.from.size() > 8 || blocks * p * sizeOf(t) > bank)
        return false;
      return each(outer, [&](int64_t, int64_t from, int64_t, int64_t at) {
        auto psum = nisa::AllocOp::create(b, loc, nisa::TensorType::get(b.getContext(), Space::Psum, t, {f, blocks * p}),
                                          b.getStringAttr("turned"), mlir::DenseI64ArrayAttr(), mlir::UnitAttr(),
                                          mlir::DenseI64ArrayAttr());
        made.push_back(psum);
        for (int64_t i = 0; i < blocks; ++i)
          emit("nc_transpose", operand(psum.getTensor(), t, 0, f, i * p, {1, p}),
               operand(s.map.tile, t, s.box.fromPartition, p, s.box.from + from + (inner.empty() ? 0 : i * inner[0].from),
                       across.from));
        emit("tensor_copy", operand(wanted.tile, t, s.box.toPartition, f, s.box.to + at, to),
             operand(psum.getTensor(), t, 0, f, 0, {1, blocks * p}));
        return true;
      });
    }

    bool turnByBlocks(int64_t p, int64_t f, const Walk &down, const Walk &across) {
      if (down.to.size() != 2 || across.from.size() != 2 || s.box.fromPartition % kVectorBlock ||
          s.box.toPartition % kVectorBlock)
        return false;
      return each(rest, [&](int64_t, int64_t from, int64_t, int64_t at) {
        for (int64_t i = 0; i < p; i += kVectorBlock)
          for (int64_t j = 0; j < f; j += kVectorBlock) {
            const int64_t np = std::min(kVectorBlock, p - i), nf = std::min(kVectorBlock, f - j);
            emit("nc_transpose",
                 operand(wanted.tile, wanted.dtype, s.box.toPartition + j, nf, s.box.to + at + i * down.to[0],
                         {down.to[0], np}),
                 operand(s.map.tile, wanted.dtype, s.box.fromPartition + i, np, s.box.from + from + j * across.from[0],
                         {across.from[0], nf}));
          }
        return static_cast<int64_t>(made.size()) <= kMostInstructions;
      });
    }
  };
};

} // namespace

} // namespace codegen

size_t keepValues(nisa::KernelOp kernel, const Target &target) {
  if (kernel.asWritten() || kernel.cores() != 1)
    return 0;
  const size_t kept = codegen::Keeper(kernel.core(0), target).run();
  if (kept)
    addRemark(kernel, "left out " + counted(kept, "load") + " of what it had stored itself");
  return kept;
}

} // namespace glia
