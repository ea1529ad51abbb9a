#include "TurnedOperand.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kDeepest = 32;       // blocks of the contraction at a time, if they fit
constexpr int64_t kInFlight = 12;      // tiles of so many blocks that fit at least
constexpr int64_t kMostTurns = 40'000; // blocks of 32 x 32 that are written out; more of them are a loop

class Turner {
public:
  Turner(KernelBuilder &k, const PanelSource &s, int64_t width)
      : k(k), from(s), to(packedLike(k, s, width)), depth(countOf(s.contract)), free(countOf(s.free)),
        blocks((depth + kContract - 1) / kContract),
        deepest(std::clamp<int64_t>(k.target().sbufBytes / (kInFlight * kContract * sizeOf(s.type)) / 2 * 2, 2, kDeepest)) {}

  PanelSource run() {
    const int64_t width = to.packed, whole = free / width, size = packedColumn(to) * width;
    const bool loops = !from.made && turnsOnChip(k.target(), from) && from.free.size() == 1 && whole > 1 &&
                       free * depth / 1024 > kMostTurns;
    for (int64_t b = 0; b < countOf(from.batch); ++b) {
      int64_t x = 0;
      if (loops) {
        const int reg = k.loop(whole);
        from.tensor.moves.push_back({reg, from.free[0].stride * width});
        to.tensor.moves.push_back({reg, size});
        panel(b, 0, width);
        k.endLoop();
        from.tensor.moves.clear();
        to.tensor.moves.clear();
        x = whole * width;
      }
      for (; x < free; x += width)
        panel(b, x, std::min(width, free - x));
    }
    return to;
  }

private:
  KernelBuilder &k;
  PanelSource from, to;
  const int64_t depth, free, blocks, deepest;

  // In pieces of 128 rows as they lie, so that one is turned while the next comes.
  void panel(int64_t b, int64_t x, int64_t n) {
    for (int64_t at = 0; at < n; at += kContract)
      for (int64_t block = 0; block < blocks; block += deepest)
        piece(b, x + at, std::min(kContract, n - at), block, std::min(deepest, blocks - block));
  }

  void piece(int64_t b, int64_t x, int64_t n, int64_t block, int64_t count) {
    const Tile chip = loadPanel(k, from, b, 1, block, count, x, n).index(0, 0);
    storePacked(k, to, chip, b, x, n, block, count);
  }
};

} // namespace

PanelSource packedLike(KernelBuilder &k, const PanelSource &s, int64_t width) {
  int64_t panel = s.block;
  while (panel > kContract && width % panel)
    panel /= 2;
  PanelSource to = s;
  to.packed = panel;
  to.made = nullptr;
  to.tensor = k.scratch(
      s.type, {countOf(s.batch), (countOf(s.free) + panel - 1) / panel, kContract, packedColumn(s) / kContract, panel});
  return to;
}

void storePacked(KernelBuilder &k, const PanelSource &to, const Tile &chip, int64_t b, int64_t x, int64_t n, int64_t block,
                 int64_t count, int64_t at) {
  const int64_t width = to.packed, blocks = packedColumn(to) / kContract, row = blocks * width,
                depth = std::min(count * kContract, countOf(to.contract) - block * kContract), full = depth / kContract,
                woven = wovenBlocks(to, block, count);
  for (int64_t done = 0; done < n;) {
    const int64_t column = (x + done) % width, here = std::min(n - done, width - column);
    const auto store = [&](int64_t first, int64_t many, int64_t rows) {
      Tile out = to.tensor;
      out.offset += b * packedBatch(to) + (x + done) / width * kContract * row;
      out.dims = {{width, blocks}, {1, width}};
      const Tile from = chip.rows(0, rows);
      const bool pairs = first < woven;
      out =
          pairs ? wovenPart(out, block + first, many, column, here) : out.part(0, block + first, many).part(1, column, here);
      out.dims.insert(out.dims.begin(), {row, rows});
      k.copy(out,
             pairs ? wovenPart(from, first, many, at + done, here) : from.part(0, first, many).part(1, at + done, here));
    };
    if (woven)
      store(0, woven, kContract);
    if (full > woven)
      store(woven, full - woven, kContract);
    if (depth % kContract)
      store(full, 1, depth % kContract);
    done += here;
  }
}

PanelSource turnOnce(KernelBuilder &k, const PanelSource &s, int64_t width) { return Turner(k, s, width).run(); }

} // namespace glia::emit
