#include "ContractPlan.h"
#include "ContractAxes.h"
#include "MadeRows.h"
#include "TurnedBlocks.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

constexpr double kTurnNs = 60;        // of 32 x 32 elements on the Vector engine
constexpr double kTurnBytesNs = 12;   // of as many elements of 16 bits on the Tensor engine
constexpr double kTensorTurns = 0.25; // what Tensor takes to turn, where both do, to what Vector takes
constexpr int64_t kManyPasses = 4;
constexpr double kFewPieces = 1.25; // a contraction in pieces gains at least so much
constexpr double kMakeNs = 4;       // of a column of 128 rows that are made
constexpr double kBehindNs = 2.5;   // of a column of 128 rows, in operations that need whole rows
constexpr double kRunBytes = 256;   // that a DMA engine could have moved while it begins with a run
constexpr double kChangeNs = 5'000; // from one panel to the next, until its first blocks are there
constexpr double kLongNs = 150'000; // a kernel that takes this long need not leave half of the memory to its neighbours

constexpr int64_t kMostApart = 40'000;  // instructions of a pass that is written out before a loop
constexpr int64_t kLongBody = 12'000;   // products of an iteration
constexpr int64_t kPiecesBytes = 32768; // of pieces of what passes by that are there at a time, per partition
constexpr int64_t kTurnBanks = 2;

constexpr int64_t kOthers = 2048;  // bytes per partition of what is small
constexpr double kDeep = 1.007;    // what pieces of the contraction cost where both operands are turned as they come
constexpr double kShorter = 1.02;  // what a program of half the length may cost
constexpr double kLeftOver = 1.03; // what a program of twice the length may cost

class Planner {
public:
  Planner(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
          const std::vector<std::vector<int64_t>> &strides, int64_t reserved, MadeRows *made)
      : t(t), op(op), sides{lhs, rhs}, others(strides), reserved(reserved), made(made) {}

  ContractPlan run() {
    measure();
    if (p.batches * p.nr * p.nc == 0 || p.nk == 0)
      return std::move(p);
    shareTurns();
    cut();
    chooseLoop();
    chooseTurns();
    return std::move(p);
  }

  ContractPlan runWhole(const WholeRowsNeed &need) {
    measure();
    const bool left = canTurnBytes(p.left), right = canTurnBytes(p.right); // Vector has other things to do
    p.left.byBytes = left;
    p.right.byBytes = right;
    if (!cutWhole(need))
      throw Error("KERNEL-MEMORY", "whole rows of the product do not fit the on-chip memory");
    return std::move(p);
  }

private:
  const Target &t;
  graph::DotGeneralOp op;
  const Tile *sides[2]; // null: one number everywhere
  const std::vector<std::vector<int64_t>> &others;
  int64_t reserved;
  MadeRows *made;
  ContractPlan p;
  std::vector<ContractAxis> contract;
  bool shared = false; // two engines turn
  double best = 0;     // of the cuts so far, in ns

  void measure() {
    DotAxes axes = axesOf(op, sides, others);
    const int rowSide = axes.rowSide;
    p.rowSide = static_cast<size_t>(rowSide);
    p.batch = std::move(axes.batch);
    p.rows = std::move(axes.rows);
    p.columns = std::move(axes.columns);
    contract = std::move(axes.contract);
    p.left = source(rowSide, p.rows);
    p.right = source(1 - rowSide, p.columns);
    types();
    p.batches = sizeOfAll(p.batch);
    p.nr = sizeOfAll(p.rows);
    p.nc = sizeOfAll(p.columns);
    p.nk = sizeOfAll(contract);
    p.blocks = (p.nk + kContract - 1) / kContract;
    p.right.block = evenly(p.nc, kColumnBlock);
  }

  // The smallest parts of `all` that are as few as those of `most` elements: one of a few columns would take as long as one of many.
  static int64_t evenly(int64_t all, int64_t most) {
    constexpr int64_t kGrain = 32; // that Vector turns together
    const int64_t parts = std::max<int64_t>(1, (all + most - 1) / most), each = (all + parts - 1) / parts;
    return std::clamp<int64_t>((each + kGrain - 1) / kGrain * kGrain, kGrain, most);
  }

  static int64_t sizeOfAll(const std::vector<ContractAxis> &axes) {
    int64_t n = 1;
    for (const ContractAxis &a : axes)
      n *= a.count;
    return n;
  }

  PanelSource source(int side, const std::vector<ContractAxis> &free) const {
    PanelSource s;
    const auto dims = [&](const std::vector<ContractAxis> &axes) {
      Dims out;
      for (const ContractAxis &a : axes)
        out.push_back({a.strides[static_cast<size_t>(side)], a.count});
      return out;
    };
    if (sides[side])
      s.tensor = *sides[side];
    else
      s.splat = splatOf(op->getOperand(static_cast<unsigned>(side)));
    s.made = side == 0 ? made : nullptr;
    s.batch = dims(p.batch);
    s.contract = dims(contract);
    s.free = dims(free);
    s.type = heldType(op->getOperand(static_cast<unsigned>(side)));
    return s;
  }

  // The Tensor engine takes fp32 with fp32, and 8- and 16-bit floats with each other.
  void types() {
    const bool wide = p.left.type == DType::F32 || p.right.type == DType::F32;
    for (PanelSource *s : {&p.left, &p.right}) {
      if (wide)
        s->type = DType::F32;
      else if (sizeOf(s->type) == 1 && (liesTurned(*s) || (s->type == DType::F8E4M3FN && !t.has("f8e4m3fn"))))
        s->type = DType::BF16; // holds every 8-bit float
    }
    const auto is = [&](DType a, DType b) { return p.left.type == a && p.right.type == b; };
    if (is(DType::F8E4M3, DType::F8E4M3FN) || is(DType::F8E4M3FN, DType::F8E4M3))
      p.left.type = p.right.type = DType::BF16;
  }

  double engineNs(int64_t rows, int64_t columns) const { // of all products of these sizes
    const double passes = p.left.type == DType::F32 ? t.number("cost.fp32_passes") : 1;
    const double across = std::max(static_cast<double>(columns),
                                   std::ceil(static_cast<double>(columns) / kColumnBlock) * t.number("cost.issue_floor"));
    return std::ceil(static_cast<double>(rows) / kRowBlock) * across * static_cast<double>(p.blocks) * passes /
           t.number("clock.tensor");
  }

  double transferNs(const PanelSource &s, int64_t free) const {
    if (s.splat)
      return 0;
    const double bytes = static_cast<double>(free * p.nk * sizeOf(s.tensor.dtype)) / (s.tensor.dtype == s.type ? 1 : 0.5);
    return bytes / std::min(16 * t.number("dma.bytes_per_ns"), t.number("hbm.bytes_per_ns"));
  }
  // Where Tensor only multiplies, both it and Vector turn what lies the wrong way; Vector two elements of 16 bits as one, if the other
  // operand can come in the order that this gives.
  void shareTurns() {
    bool pairs = p.nk >= 2 * kContract && (p.batches == 1 || p.blocks % 2 == 0);
    for (PanelSource *s : {&p.left, &p.right}) {
      s->byBytes = turnsOnChip(t, *s) && turnsBytes(t, s->type);
      shared |= s->byBytes;
      pairs &= s->byBytes ? sizeOf(s->type) == 2 : !liesTurned(*s) && (s->splat || s->contract.size() == 1);
    }
    for (PanelSource *s : {&p.left, &p.right}) {
      s->paired = shared && pairs;
      s->woven = s->paired && s->byBytes;
    }
  }

  double turnNs(const PanelSource &s, int64_t free) const {
    const double each = shared                                  ? kTurnNs / (s.woven ? 2 : 1)
                        : s.byBytes || t.has("exact_transpose") ? kTurnBytesNs * static_cast<double>(sizeOf(s.type)) / 2
                                                                : kTurnNs;
    return turnsOnChip(t, s) ? each / (32 * 32) * static_cast<double>(free * p.nk) : 0;
  }
  // Of products and of what has to be turned meanwhile.
  double besideNs(double engine, double turns) const {
    return !shared || turns <= engine ? std::max(engine, turns)
                                      : engine + (turns - engine) * kTensorTurns / (1 + kTensorTurns);
  }

  double makeNs(const PanelSource &s, int64_t rows) const {
    return s.made ? kMakeNs * static_cast<double>(p.nk) * std::ceil(static_cast<double>(rows) / kRowBlock) : 0;
  }
  static int64_t makingBytes(const PanelSource &s) { return s.made ? s.made->bytes() : 0; }
  // Products of 32 bits leave Vector the time to turn their operands, unless they are narrow.
  bool canTurnBytes(const PanelSource &s) const {
    return turnsOnChip(t, s) && turnsBytes(t, s.type) && (sizeOf(s.type) == 2 || turnsLong());
  }
  bool turnsLong() const { return turnNs(p.left, p.nr) + turnNs(p.right, p.nc) > engineNs(p.nr, p.nc); }

  // What passes by is turned before it does, unless that is quickly done and it comes but once.
  bool turnedBefore(const PanelSource &s, int64_t loads) const {
    return turnsOnChip(t, s) && (loads > 1 || !(s.byBytes || s.made));
  }

  bool becomesLoop() const { return p.batches * productsOf(p.nr, p.nc, p.nk) > kMostProducts; }

  // Panels of one operand stay, chunks of the other pass by: whole ones, or `depth` blocks of the contraction at a time.
  void consider(bool rowsStay, int64_t panel, int64_t width, bool ahead, int64_t depth) {
    const PanelSource &stay = rowsStay ? p.left : p.right, &pass = rowsStay ? p.right : p.left;
    const int64_t all = rowsStay ? p.nr : p.nc, other = rowsStay ? p.nc : p.nr, passes = (all + panel - 1) / panel;
    if (depth && becomesLoop() && (rowsStay ? productsOf(panel, p.nc, p.nk) : productsOf(p.nr, panel, p.nk)) > kLongBody)
      return;                                       // with as many transfers, a program that is long to compile
    const bool before = turnedBefore(pass, passes); // and goes back to HBM once
    const double transfers =
                     transferNs(stay, all) + static_cast<double>(passes + (before ? 2 : 0)) * transferNs(pass, other),
                 stayTurns = turnNs(stay, all), passTurns = turnNs(pass, other), engine = engineNs(p.nr, p.nc);
    const double products = std::ceil(static_cast<double>(p.nr) / kRowBlock) * static_cast<double>(p.blocks) *
                            static_cast<double>(p.nc) / static_cast<double>(rowsStay ? width : kColumnBlock);
    const double makes = makeNs(stay, all) + makeNs(pass, other),
                 first = makeNs(stay, panel) + makeNs(pass, before ? other : width);
    // What is turned before goes back to HBM; without a loop that happens beside the products of the first panel.
    const double times = static_cast<double>(passes), stores = transferNs(stay, panel) + 2 * transferNs(pass, other),
                 turning = besideNs(engine / times, stayTurns / times + passTurns);
    const bool inTwo = passes >= kManyPasses && stores > 0.9 * turning;
    double work = besideNs(engine, stayTurns + passTurns);
    if (before && (becomesLoop() || passes == 1))
      work = besideNs(engine, stayTurns) + std::max(besideNs(0, passTurns), 2 * transferNs(pass, other));
    else if (before)
      work = std::max(turning, stores) + besideNs(engine, stayTurns) * (times - 1) / times;
    // The first panel comes while a chunk passes it. So do others for which there is no room before the last one is gone; their first
    // columns are turned while nothing is multiplied.
    const double chunk = engine / static_cast<double>(passes) * static_cast<double>(width) / static_cast<double>(other),
                 brings = std::max({transferNs(stay, panel), besideNs(0, turnNs(stay, panel)), makeNs(stay, panel)}),
                 turns = turnNs(stay, std::min(panel, kColumnBlock));
    work += std::max(0.0, brings - chunk);
    if (!ahead && depth) // what is used for the last time makes room for what follows, block by block
      work += static_cast<double>(passes - 1) *
              (std::max({transferNs(stay, panel), besideNs(chunk, turnNs(stay, panel)), chunk}) - chunk + kChangeNs);
    else if (!ahead)
      work += static_cast<double>(passes - 1) *
              std::max(turns > 0 ? kTensorTurns * turns + transferNs(stay, kColumnBlock) : 0.0, brings - 2 * chunk);
    const double time = std::max({transfers, work, makes}) + 0.02 * (transfers + stayTurns + (before ? 0 : passTurns)) +
                        10 * products + first;
    // What a loop leaves over is written out once more.
    const bool longer = becomesLoop() && all % panel;
    if (const double cost = (longer ? kLeftOver : 1) * (depth && stayTurns > 0 && passTurns > 0 ? kDeep : 1) * time;
        cost < best) {
      best = cost;
      p.rowsStay = rowsStay;
      p.panel = panel;
      p.chunk = width;
      p.nextBeside = ahead;
      p.depth = depth;
      p.inTwoPasses = inTwo;
    }
  }

  // Of so many rows and columns at a time, with the contraction in pieces; what is turned is turned before.
  double inPiecesNs(int64_t rows, int64_t columns) const {
    const auto times = [](int64_t all, int64_t step) { return static_cast<double>((all + step - 1) / step); };
    const double transfers = times(p.nc, columns) * transferNs(p.left, p.nr) + times(p.nr, rows) * transferNs(p.right, p.nc);
    return std::max(transfers, engineNs(p.nr, p.nc)) + besideNs(0, turnNs(p.left, p.nr) + turnNs(p.right, p.nc));
  }

  // A panel of at most `most` free elements.
  void offer(bool rowsStay, int64_t most, int64_t width, bool ahead, int64_t depth = 0) {
    const int64_t all = rowsStay ? p.nr : p.nc, block = p.right.block, grain = !rowsStay && most >= block ? block : 128;
    int64_t panel = std::min(all, most / grain * grain);
    if (most <= 0 || panel == 0)
      return;
    const int64_t passes = (all + panel - 1) / panel;
    panel = passes == 1 ? all : std::min(all, ((all + passes - 1) / passes + grain - 1) / grain * grain);
    consider(rowsStay, panel, width, ahead, depth);
    if (becomesLoop() && all % panel) { // one that leaves nothing over
      while (all % panel && panel > grain)
        panel -= grain;
      if (all % panel == 0)
        consider(rowsStay, panel, width, ahead, depth);
    }
  }

  void cut() {
    const bool isLong = static_cast<double>(p.batches) * engineNs(p.nr, p.nc) > kLongNs;
    const int64_t room = (isLong ? t.sbufBytes / 8 * 7 : t.sbufBytes / 2) - reserved - kOthers;
    const int64_t l = p.blocks * sizeOf(p.left.type), r = p.blocks * sizeOf(p.right.type); // bytes per row and column
    const int64_t turning =
        turningBytes(t, p.left, p.blocks) + turningBytes(t, p.right, p.blocks) + makingBytes(p.left) + makingBytes(p.right);
    // Everything of a batch at once, and the next batches beside it. Where both are turned it takes what there is: then as much is turned
    // for a product in the beginning as in the end.
    const bool both = isLong && p.batches == 1 && turnsOnChip(t, p.left) && turnsOnChip(t, p.right);
    if (p.nr * l + p.nc * r + turning <= (both ? t.sbufBytes - reserved - kOthers : room)) {
      const int64_t each = std::max<int64_t>(1, p.nr * l + p.nc * r);
      p.panel = p.nr;
      p.chunk = p.nc;
      p.together = std::clamp<int64_t>((room - turning) / each, 1, p.batches);
      if (p.together < p.batches)
        p.together = std::max<int64_t>(1, p.together / 2);
      return;
    }
    best = std::numeric_limits<double>::infinity();
    for (const bool rowsStay : {true, false}) {
      const PanelSource &stay = rowsStay ? p.left : p.right, &pass = rowsStay ? p.right : p.left;
      const int64_t all = rowsStay ? p.nr : p.nc, other = rowsStay ? p.nc : p.nr;
      for (int64_t chunk : {512, 256, 128}) {
        const int64_t width = std::min(rowsStay ? evenly(other, chunk) : chunk, other);
        const int64_t left = room - turningBytes(t, stay, p.blocks) - 2 * width * (rowsStay ? r : l) -
                             (pass.byBytes || pass.made ? turningBytes(t, pass, p.blocks) : 0) - makingBytes(pass);
        const int64_t most = left / (rowsStay ? l : r);
        // With the next panel beside it, that is made and turned while this one is multiplied; or this one alone.
        for (const bool ahead : {true, false})
          if (!ahead || (most < all && turnsOnChip(t, stay)))
            offer(rowsStay, ahead ? (left - makingBytes(stay)) / (rowsStay ? l : r) / 2 : most, width, ahead);
        if (!stay.made && !pass.made)
          offerDeep(rowsStay, room, width);
      }
    }
    // Not even one row block and one column block fit with all of the contraction, or so few that the other operand passes by too often.
    const int64_t blocksAcross = (p.nc + kColumnBlock - 1) / kColumnBlock;
    int64_t down = std::min(kBanks, (p.nr + kRowBlock - 1) / kRowBlock), across = std::min(kBanks / down, blocksAcross);
    // Half of the rows in an iteration: as long a program, with what turns the operands before, is long to compile.
    const int64_t half = (down + 1) / 2, wide = std::min(2 * kBanks / half, blocksAcross);
    if (becomesLoop() && (turnsOnChip(t, p.left) || turnsOnChip(t, p.right)) &&
        productsOf(down * kRowBlock, p.nc, p.nk) > kLongBody &&
        inPiecesNs(half * kRowBlock, wide * p.right.block) <
            kShorter * inPiecesNs(down * kRowBlock, across * p.right.block)) {
      down = half;
      across = wide;
    }
    if (best < kFewPieces * inPiecesNs(down * kRowBlock, across * p.right.block)) {
      if (p.rowsStay)
        p.right.block = p.chunk;
      return;
    }
    p.rowsStay = true;
    p.depth = 0;
    p.panel = std::min(p.nr, down * kRowBlock);
    p.chunk = std::min(p.nc, across * p.right.block);
    const int64_t perBlock = p.panel * sizeOf(p.left.type) + p.chunk * sizeOf(p.right.type) + turningBytes(t, p.left, 1) +
                             turningBytes(t, p.right, 1);
    p.piece = std::clamp<int64_t>(room / 3 / perBlock, 1, p.blocks);
    if (p.left.paired)
      p.piece = std::max<int64_t>(2, p.piece / 2 * 2);
  }

  // The same with what passes by in pieces of the contraction. All sums of a chunk grow at a time, each in a bank.
  void offerDeep(bool rowsStay, int64_t room, int64_t width) {
    const PanelSource &stay = rowsStay ? p.left : p.right, &pass = rowsStay ? p.right : p.left;
    const int64_t depth = std::max<int64_t>(1, transferBytes(p.nk) / (width * sizeOf(pass.type)) / 2) * 2;
    if (p.blocks < 2 * depth)
      return;
    const int64_t turning = turningBytes(t, stay, p.blocks) + turningBytes(t, pass, p.blocks),
                  banks = t.psumBytes / t.psumBankBytes - (turning ? kTurnBanks : 0),
                  mostByBanks = rowsStay ? banks * kRowBlock : banks / ((width + kRowBlock - 1) / kRowBlock) * p.right.block,
                  left = room - turning - kPiecesBytes, most = left / (p.blocks * sizeOf(stay.type)),
                  all = rowsStay ? p.nr : p.nc;
    for (const bool ahead : {true, false})
      if (!ahead || most < all)
        offer(rowsStay, std::min(ahead ? most / 2 : most, mostByBanks), width, ahead, depth);
  }

  // All columns on chip and rows passing by, or the other way round. With room for two blocks of rows behind the contraction, one is
  // begun while the other ends.
  bool cutWhole(const WholeRowsNeed &need) {
    const bool isLong = static_cast<double>(p.batches) * engineNs(p.nr, p.nc) > kLongNs;
    best = std::numeric_limits<double>::infinity();
    for (const int64_t all : {isLong ? t.sbufBytes / 8 * 7 : t.sbufBytes / 2, t.sbufBytes / 8 * 7}) {
      for (const int64_t times : {2, 1})
        offerWhole(all - 2048, need, times);
      if (best < std::numeric_limits<double>::infinity())
        return true;
    }
    return false;
  }

  void offerWhole(int64_t all, const WholeRowsNeed &need, int64_t times) {
    const int64_t l = p.blocks * sizeOf(p.left.type), r = p.blocks * sizeOf(p.right.type); // bytes per row and column
    const int64_t turning = turningBytes(t, p.left, p.blocks) + turningBytes(t, p.right, p.blocks), result = need.result;
    const int64_t room = all - times * need.behind - turning;
    const auto blocksOf = [](int64_t rows) { return (rows + kRowBlock - 1) / kRowBlock; };
    for (const int64_t width : {512, 256, 128}) {
      const int64_t rows = std::min(width, p.nr), columns = std::min(evenly(p.nc, width), p.nc);
      if ((p.batches > 1 ? times : 1) * p.nc * r + times * (rows * l + blocksOf(rows) * result) <= room &&
          isBest(wholeNs(1, 1, kColumnBlock, times))) {
        p.rowsStay = false;
        p.panel = p.nc;
        p.chunk = rows;
        p.right.block = evenly(p.nc, kColumnBlock);
      }
      const int64_t left = room - 2 * columns * r, each = kRowBlock * l + result;
      // All rows at once: what turns them is gone when they are complete. Otherwise the next rows begin while these end.
      const bool once = left + std::min(turning, times * need.behind) >= blocksOf(p.nr) * each;
      const int64_t blocks = once ? blocksOf(p.nr) : left / (times * each);
      if (blocks < 1)
        continue;
      const int64_t passes = (blocksOf(p.nr) + blocks - 1) / blocks, even = (blocksOf(p.nr) + passes - 1) / passes;
      if (isBest(wholeNs(passes, even, columns, times))) {
        p.rowsStay = true;
        p.panel = std::min(p.nr, even * kRowBlock);
        p.chunk = p.right.block = columns;
        p.turnRight = passes > 1 && turnsOnChip(t, p.right);
      }
    }
  }

  bool isBest(double time) {
    const bool is = time < best;
    best = std::min(best, time);
    return is;
  }

  // The right operand comes `passes` times, in `columns` columns each; `blocks` blocks of rows are complete at a time.
  double wholeNs(int64_t passes, int64_t blocks, int64_t columns, int64_t times) const {
    const bool before = passes > 1 && turnsOnChip(t, p.right); // turned before, and back in HBM once
    const double shortRuns = 1 + kRunBytes / static_cast<double>(columns * sizeOf(p.right.type));
    const double transfers =
        transferNs(p.left, p.nr) + static_cast<double>(passes + (before ? 2 : 0)) * shortRuns * transferNs(p.right, p.nc);
    const double turns = turnNs(p.left, p.nr) + turnNs(p.right, p.nc);
    const double products = static_cast<double>(productsOf(p.nr, p.nc, p.nk)) *
                            std::ceil(static_cast<double>(std::min(p.nc, kColumnBlock)) / static_cast<double>(columns));
    const double behind = kBehindNs * static_cast<double>(p.nc);
    const double allBehind = behind * std::ceil(static_cast<double>(p.nr) / kRowBlock) * (times == 1 ? 1.3 : 1);
    return std::max({transfers, turns, engineNs(p.nr, p.nc), allBehind}) + 0.02 * (transfers + turns) + 10 * products +
           behind * static_cast<double>(blocks);
  }

  void chooseLoop() {
    if (!becomesLoop())
      return;
    const auto steps = [](const std::vector<ContractAxis> &axes, int64_t all, int64_t step) {
      return axes.size() == 1 && all >= 2 * step;
    };
    const bool down = p.rowsStay || p.piece, rows = down && steps(p.rows, p.nr, p.panel),
               columns = steps(p.columns, p.nc, down ? p.chunk : p.panel);
    if (steps(p.batch, p.batches, p.together))
      p.loop = ContractPlan::Batches;
    else if (rows && !(columns && turnsByDma(t, p.left) && liesTurned(p.left) && !liesTurned(p.right)))
      p.loop = ContractPlan::Rows; // a transfer that turns has a fixed address: what moves is turned on chip
    else if (columns)
      p.loop = ContractPlan::Columns;
  }

  // Whether a pass in which all of what passes by is turned can be written out.
  bool fitsApart(const PanelSource &pass, int64_t free) const {
    const int64_t blocks = free * p.nk / (32 * 32) / (pass.woven ? 2 : 1);
    return blocks + p.panel / kRowBlock * productsOf(kRowBlock, free, p.nk) <= kMostApart;
  }

  void chooseTurns() {
    const auto times = [](int64_t all, int64_t step) { return (all + step - 1) / step; };
    int64_t loadsLeft = 1, loadsRight = 1;
    if (p.piece || (p.rowsStay && p.loop == ContractPlan::Columns)) {
      loadsLeft = times(p.nc, p.chunk);
      loadsRight = times(p.nr, p.panel);
    } else if (p.rowsStay) {
      loadsRight = times(p.nr, p.panel);
    } else {
      loadsLeft = times(p.nc, p.panel);
    }
    const bool all = p.panel == p.nr && p.chunk == p.nc; // each is loaded once, with room to turn it
    p.turnLeft = !all && (loadsLeft > 1 || !p.rowsStay) && turnedBefore(p.left, loadsLeft);
    p.turnRight = !all && (loadsRight > 1 || p.rowsStay) && turnedBefore(p.right, loadsRight);
    p.inTwoPasses &= p.loop == ContractPlan::None;
    p.asItPasses = !p.piece && p.loop == ContractPlan::None && (p.rowsStay ? loadsRight : loadsLeft) > 1;
    const bool down = p.loop == ContractPlan::Rows, across = p.loop == ContractPlan::Columns && !p.rowsStay;
    p.ahead = !p.piece && p.batches == 1 && p.nextBeside &&
              ((down && !p.turnLeft && turnsOnChip(t, p.left)) || (across && !p.turnRight && turnsOnChip(t, p.right)));
    p.firstApart = !p.piece && p.batches == 1 &&
                   ((down && p.turnRight && !p.turnLeft) || (across && p.turnLeft && !p.turnRight)) &&
                   fitsApart(down ? p.right : p.left, down ? p.nc : p.nr);
  }
};

} // namespace

ContractPlan planContraction(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
                             const std::vector<std::vector<int64_t>> &strides, int64_t reserved, MadeRows *made) {
  return Planner(t, op, lhs, rhs, strides, reserved, made).run();
}

ContractPlan planForWholeRows(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
                              const std::vector<int64_t> &strides, const WholeRowsNeed &need) {
  const std::vector<std::vector<int64_t>> result{strides};
  return Planner(t, op, lhs, rhs, result, 0, nullptr).runWhole(need);
}

} // namespace glia::emit
