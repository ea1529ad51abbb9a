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

Dims rowsIn(const Tile &memory, const ChannelRows &rows, int64_t channels, int64_t step) {
  return rowDims(rows, step * memory.dims[2].stride, memory.dims[0].stride, channels * memory.dims[1].stride);
}

// As they lie.
Tile loadPlain(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part, int64_t channels,
               const std::vector<Run> &runs) {
  const Tile t = k.sbuf(source.dtype, rows.partitions(), {channels, part.y.count, part.x.count});
  const int64_t positions = part.y.count * part.x.count;
  const bool cut = isCut(runs, part.y.count);
  if (cut)
    k.fill(t, 0);
  const int64_t together = cut ? 1 : channels;
  for (const Run &run : runs)
    for (int64_t i = 0; i < channels && run.inside.count; i += together) {
      Tile start = startOf(source, part, run);
      start.offset += i * source.dims[1].stride;
      load(k,
           flat(t.rows(run.band * rows.count, run.bands * rows.count), i * positions + run.inside.from * part.x.count,
                together * run.inside.count * part.x.count),
           start, rowsIn(source, bandsOf(rows, run.bands), channels, part.step),
           merged({{source.dims[1].stride, together},
                   {source.dims[2].stride, run.inside.count},
                   {source.dims[3].stride, part.x.count}}),
           rows.first, 0);
    }
  return t;
}

// Positions on the partitions, with all channels, as they lie; then turned.
Tile loadTurned(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part, int64_t channels,
                const std::vector<Run> &runs) {
  const Tile t = k.sbuf(source.dtype, rows.partitions(), {channels, part.y.count, part.x.count});
  const int64_t positions = part.y.count * part.x.count;
  for (int64_t at = 0; at < positions; at += 128) {
    const int64_t n = std::min<int64_t>(128, positions - at);
    const Tile lying = k.sbuf(source.dtype, n, {rows.partitions(), channels});
    if (isCut(runs, part.y.count))
      k.fill(lying, 0);
    for (const Run &run : runs) {
      const int64_t inside = run.inside.from * part.x.count;
      const int64_t from = std::max(at, inside), to = std::min(at + n, inside + run.inside.count * part.x.count);
      if (from >= to)
        continue;
      Dims columns = rowsIn(source, bandsOf(rows, run.bands), channels, part.step);
      columns.push_back({source.dims[1].stride, channels});
      const int64_t row = rows.count * channels;
      load(k, flat(lying.rows(from - at, to - from), run.band * row, run.bands * row), startOf(source, part, run),
           merged({{source.dims[2].stride, run.inside.count}, {source.dims[3].stride, part.x.count}}), merged(columns),
           from - inside, rows.first * channels);
    }
    for (int64_t i = 0; i < channels; ++i)
      transposeTile(k, flat(t, i * positions + at, n), lying.index(1, i));
  }
  return t;
}

} // namespace

std::vector<ChannelRows> chunksOf(ChannelRows all) {
  std::vector<ChannelRows> out;
  for (const Span &s : spansOf(all.images * all.groups, 128)) {
    all.first = s.from, all.count = s.count;
    out.push_back(all);
  }
  return out;
}

int64_t groupsBeside(int64_t images, int64_t groups, int64_t positions) {
  constexpr int64_t kShort = 64, kLong = 512, kMost = 32; // elements of an instruction; groups
  const auto chunks = [&](int64_t beside) { return (images * groups / beside + 127) / 128; };
  int64_t best = 1;
  for (int64_t beside = 2; positions <= kShort && beside * positions <= kLong && beside <= std::min(groups, kMost); ++beside)
    if (groups % beside == 0 && chunks(beside) < chunks(best))
      best = beside;
  return best;
}

bool channelsLast(const Tile &memory) { return turned(memory.permuted({1, 0, 2, 3})); }

Dims rowDims(const ChannelRows &rows, int64_t band, int64_t image, int64_t group) {
  const Tile::Dim images{image, rows.images}, groups{group, rows.groups};
  return merged({{band, rows.bands}, rows.imagesInside ? groups : images, rows.imagesInside ? images : groups});
}

Tile loadImages(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part, int64_t few) {
  const int64_t channels = source.dims[1].count / rows.groups;
  const bool many = rows.partitions() * channels * part.y.count * part.x.count > few;
  const std::vector<Run> runs = runsOf(part, rows.bands, source.dims[2].count);
  return many && channelsLast(source) ? loadTurned(k, source, rows, part, channels, runs)
                                      : loadPlain(k, source, rows, part, channels, runs);
}

} // namespace glia::emit
