#include "ChannelRows.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

// Rows of a band that lie inside of the image, from the start of the band.
Span insideOf(const ImagePart &part, int64_t band, int64_t size) {
  const int64_t first = part.y.from + band * part.step;
  const int64_t from = std::clamp<int64_t>(-first, 0, part.y.count), to = std::clamp<int64_t>(size - first, 0, part.y.count);
  return {from, std::max<int64_t>(to - from, 0)};
}

// Bands one after the other that hold the same of an image.
struct Run {
  int64_t band, bands;
  Span inside;
};
std::vector<Run> runsOf(const ImagePart &part, int64_t bands, int64_t size) {
  std::vector<Run> out;
  for (int64_t b = 0; b < bands; ++b) {
    const Span inside = insideOf(part, b, size);
    if (!out.empty() && out.back().inside.from == inside.from && out.back().inside.count == inside.count)
      ++out.back().bands;
    else
      out.push_back({b, 1, inside});
  }
  return out;
}

bool isCut(const std::vector<Run> &runs, int64_t rows) {
  return std::any_of(runs.begin(), runs.end(), [&](const Run &r) { return r.inside.count != rows; });
}

// Where a run's first row inside of the image begins.
Tile startOf(const Tile &source, const ImagePart &part, const Run &run) {
  Tile t = source;
  t.offset +=
      (part.y.from + run.band * part.step + run.inside.from) * source.dims[2].stride + part.x.from * source.dims[3].stride;
  return t;
}

Dims positionsOf(const Tile &source, int64_t rows, int64_t columns) {
  return merged({{source.dims[2].stride, rows}, {source.dims[3].stride, columns}});
}

ChannelRows bandsOf(const ChannelRows &rows, int64_t bands) {
  ChannelRows out = rows;
  out.bands = bands;
  return out;
}

Tile flat(Tile t, int64_t from, int64_t count) {
  t.offset += from;
  t.dims = {{1, count}};
  return t;
}

// As they lie.
Tile loadPlain(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part, int64_t channel,
               int64_t channels, DType type, const std::vector<Run> &runs) {
  const Tile t = k.sbuf(type, rows.partitions(), {part.y.count, part.x.count});
  if (isCut(runs, part.y.count))
    k.fill(t, 0);
  for (const Run &run : runs) {
    if (!run.inside.count)
      continue;
    const int64_t from = run.inside.from * part.x.count, count = run.inside.count * part.x.count;
    Tile start = startOf(source, part, run);
    start.offset += channel * source.dims[1].stride;
    load(k, flat(t.rows(run.band * rows.count, run.bands * rows.count), from, count), start,
         rowDims(source, bandsOf(rows, run.bands), channels, part.step), positionsOf(source, run.inside.count, part.x.count),
         rows.first, 0);
  }
  return t;
}

// Positions on the partitions, with all channels, as they lie; then turned.
std::vector<Tile> loadTurned(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part,
                             int64_t channels, DType type, const std::vector<Run> &runs) {
  std::vector<Tile> out;
  for (int64_t i = 0; i < channels; ++i)
    out.push_back(k.sbuf(type, rows.partitions(), {part.y.count, part.x.count}));
  ChannelRows all = rows; // of single channels
  all.groups *= channels, all.first *= channels, all.count *= channels;
  const int64_t positions = part.y.count * part.x.count;
  for (int64_t at = 0; at < positions; at += 128) {
    const int64_t n = std::min<int64_t>(128, positions - at);
    const Tile lying = k.sbuf(type, n, {rows.partitions(), channels});
    if (isCut(runs, part.y.count))
      k.fill(lying, 0);
    for (const Run &run : runs) {
      const int64_t inside = run.inside.from * part.x.count;
      const int64_t from = std::max(at, inside), to = std::min(at + n, inside + run.inside.count * part.x.count);
      if (from >= to)
        continue;
      load(k, flat(lying.rows(from - at, to - from), run.band * all.count, run.bands * all.count),
           startOf(source, part, run), positionsOf(source, run.inside.count, part.x.count),
           rowDims(source, bandsOf(all, run.bands), 1, part.step), from - inside, all.first);
    }
    for (int64_t i = 0; i < channels; ++i)
      transposeTile(k, flat(out[static_cast<size_t>(i)], at, n), lying.index(1, i));
  }
  return out;
}

} // namespace

std::vector<ChannelRows> chunksOf(int64_t images, int64_t groups, int64_t bands) {
  std::vector<ChannelRows> out;
  for (const Span &s : spansOf(images * groups, 128))
    out.push_back({images, groups, s.from, s.count, bands});
  return out;
}

bool channelsLast(const Tile &memory) {
  return memory.dims[1].stride == 1 && memory.dims[1].count > 1 && turned(memory.permuted({1, 0, 2, 3}));
}

Dims rowDims(const Tile &memory, const ChannelRows &rows, int64_t channelsOfGroup, int64_t step) {
  return merged({{step * memory.dims[2].stride, rows.bands},
                 {memory.dims[0].stride, rows.images},
                 {channelsOfGroup * memory.dims[1].stride, rows.groups}});
}

std::vector<Tile> loadImages(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part,
                             DType type) {
  const int64_t channels = source.dims[1].count / rows.groups;
  const std::vector<Run> runs = runsOf(part, rows.bands, source.dims[2].count);
  if (channelsLast(source))
    return loadTurned(k, source, rows, part, channels, type, runs);
  std::vector<Tile> out;
  for (int64_t i = 0; i < channels; ++i)
    out.push_back(loadPlain(k, source, rows, part, i, channels, type, runs));
  return out;
}

} // namespace glia::emit
