#include "TurnedOperand.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kWidest = 512;       // free elements of a panel
constexpr int64_t kDeepest = 32;       // blocks of the contraction at a time, if they fit
constexpr int64_t kInFlight = 12;      // tiles of so many blocks that fit at least
constexpr int64_t kMostTurns = 40'000; // blocks of 32 x 32 that are written out; more of them are a loop

class Turner {
public:
  Turner(KernelBuilder &k, const PanelSource &s, int64_t width)
      : k(k), from(s), to(s), depth(countOf(s.contract)), free(countOf(s.free)), blocks((depth + kContract - 1) / kContract),
        deepest(std::clamp<int64_t>(k.target().sbufBytes / (kInFlight * kContract * sizeOf(s.type)), 1, kDeepest)) {
    to.packed = width;
    to.made = nullptr;
    to.tensor = k.scratch(s.type, {countOf(s.batch), (free + width - 1) / width, kContract, blocks, width});
  }

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
    const int64_t elements = std::min(count * kContract, depth - block * kContract), full = elements / kContract,
                  rest = elements % kContract;
    if (full)
      store(chip.part(0, 0, full), b, x, block, full, kContract, n);
    if (rest)
      store(chip.rows(0, rest).part(0, full, 1), b, x, block + full, 1, rest, n);
  }

  void store(const Tile &chip, int64_t b, int64_t x, int64_t block, int64_t count, int64_t rows, int64_t n) {
    const int64_t width = to.packed, row = blocks * width;
    Tile out = to.tensor;
    out.offset += b * packedBatch(to) + x / width * kContract * row + block * width + x % width;
    out.dims = {{row, rows}, {width, count}, {1, n}};
    k.copy(out, chip);
  }
};

} // namespace

PanelSource turnOnce(KernelBuilder &k, const PanelSource &s, int64_t width) {
  int64_t panel = kWidest;
  while (panel > kContract && width % panel)
    panel /= 2;
  return Turner(k, s, panel).run();
}

} // namespace glia::emit
