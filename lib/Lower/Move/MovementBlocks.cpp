// The way through SBUF. The output is cut into equal blocks, one per partition: runs of a block are long enough for transfers on both sides,
// and an engine puts its elements in order while they are on chip. That is a transpose without transposing partitions; strides,
// reversals, repetitions and padding are the same copy with other steps. Every bit stays as it is, on every target.
#include "MovementWriter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace glia::emit {

// A box of cells of the grid of blocks; the first is on partition `first`.
struct MovementWriter::Cells {
  int64_t first = 0;
  std::vector<int64_t> start, count; // per dimension
};

namespace {

using Axes = std::vector<CopyAxis>;

constexpr int64_t kMostBytes = 16384; // of a block
constexpr int64_t kGap = 128;         // bytes between elements: closer ones are read with what lies between
constexpr int64_t kRun = 128;         // bytes: shorter runs are not written into a tile by DMA if longer ones can be had

// Elements of a block next to each other in the tile and in the source.
int64_t jointRun(const Axes &axes) {
  int64_t run = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].count == 1)
      continue;
    if (axes[i].to != run || axes[i].from != run)
      break;
    run *= axes[i].count;
  }
  return run;
}

// The dimensions of the source that a block has, slowest first.
Axes inSource(Axes axes) {
  std::erase_if(axes, [](const CopyAxis &a) { return a.count == 1 || a.from == 0; });
  std::sort(axes.begin(), axes.end(), [](const CopyAxis &a, const CopyAxis &b) {
    return std::pair(std::abs(a.from), a.to) > std::pair(std::abs(b.from), b.to);
  });
  return axes;
}

// Elements that are read together.
int64_t sourceRun(const Axes &axes, int64_t bytes) {
  const Axes order = inSource(axes);
  int64_t run = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t stride = std::abs(order[i].from);
    if (stride != run)
      return run == 1 && stride * bytes <= kGap ? (order[i].count - 1) * stride + 1 : run;
    run *= order[i].count;
  }
  return run;
}

// One side of the axes lies row-major.
void setDense(Axes &axes, int64_t CopyAxis::*stride) {
  int64_t next = 1;
  for (size_t i = axes.size(); i-- > 0; next *= axes[i].count)
    axes[i].*stride = next;
}

struct Blocked { // a piece in a block
  Axes axes;
  int64_t offset = 0; // in the tile
};

} // namespace

template <class Side>
static Blocked blocked(const Piece &p, const std::vector<Side> &dims, const std::vector<int64_t> &size) {
  Blocked out;
  out.axes.resize(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0; stride *= size[d]) {
    const PieceAxis &a = p.axes[d];
    out.axes[d] = {dims[d].whole ? a.count : size[d], stride * (dims[d].whole ? a.step : 1), a.stride};
    out.offset += dims[d].whole ? a.from * stride : 0;
  }
  return out;
}

// Blocks with runs of about `run` elements on all sides and at most `most` elements, if whole dimensions allow it.
std::vector<int64_t> MovementWriter::blocksFor(const Box &b, int64_t run, int64_t most) const {
  const size_t rank = b.dims.size();
  std::vector<int64_t> size(rank);
  int64_t all = 1;
  for (size_t d = 0; d < rank; ++d)
    all *= size[d] = b.dims[d].whole ? b.dims[d].count : 1;
  const auto grow = [&](size_t d, int64_t want) {
    if (b.dims[d].whole)
      return;
    const int64_t rest = all / size[d], now = std::min({b.dims[d].count, want, std::max<int64_t>(most / rest, 1)});
    size[d] = std::max(size[d], now);
    all = rest * size[d];
  };
  int64_t have = 1;
  for (size_t d = rank; d-- > 0 && have < run;) {
    grow(d, (run + have - 1) / have);
    have *= size[d];
    if (size[d] < b.dims[d].count)
      break;
  }
  for (const Piece &p : b.pieces) {
    if (p.bits)
      continue;
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d)
      if (p.axes[d].stride != 0 && p.axes[d].count > 1)
        order.push_back(d);
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      return std::pair(std::abs(p.axes[x].stride), x) < std::pair(std::abs(p.axes[y].stride), y);
    });
    have = 1;
    for (size_t d : order) {
      if (have >= run)
        break;
      grow(d, (run + have - 1) / have);
      have *= b.dims[d].whole ? p.axes[d].count : size[d];
      if (size[d] < b.dims[d].count)
        break;
    }
  }
  for (size_t d = rank; d-- > 0;)
    grow(d, size[d] * std::max<int64_t>(most / all, 1));
  for (size_t d = 0; d < rank; ++d) { // equal blocks rather than a small last one
    const int64_t times = (b.dims[d].count + size[d] - 1) / size[d];
    size[d] = (b.dims[d].count + times - 1) / times;
  }
  return size;
}

// What the partitions of a box of cells enumerate: of a side that goes `stride` elements per index of dimension d.
template <class Stride>
static Axes rowsOf(const std::vector<int64_t> &count, const std::vector<int64_t> &size, bool write, const Stride &stride) {
  Axes out;
  for (size_t d = 0; d < count.size(); ++d)
    if (count[d] > 1)
      out.push_back({count[d], write ? stride(d) * size[d] : 0, write ? 0 : stride(d) * size[d]});
  return out;
}

double MovementWriter::blockTime(const Box &b, const std::vector<int64_t> &size) const {
  const Target &t = k.target();
  double cells = 1, each = 1;
  for (size_t d = 0; d < b.dims.size(); ++d) {
    cells *= std::ceil(static_cast<double>(b.dims[d].count) / static_cast<double>(size[d]));
    each *= static_cast<double>(size[d]);
  }
  const double lanes = std::min(cells, 128.0), tiles = std::ceil(cells / 128);
  const double engines =
      std::clamp(std::ceil(lanes / t.number("dma.rows_per_engine")), 1.0, static_cast<double>(t.dmaEngines));
  const auto moving = [&](double elements, int64_t run, std::string_view rate) {
    const double length = static_cast<double>(run * bytes(b));
    return elements / static_cast<double>(run) * std::max(t.number("dma.descriptor_floor"), length / t.number(rate)) /
           engines;
  };
  int64_t run = 1;
  for (size_t d = b.dims.size(); d-- > 0 && b.dims[d].stride == run;) {
    run *= size[d];
    if (size[d] < b.dims[d].count)
      break;
  }
  double transfers = moving(cells * each, run, "dma.store_bytes_per_ns"), copies = 0;
  // How many transfers a tile takes: its partitions are the last cells of the grid.
  std::vector<int64_t> together(b.dims.size(), 1);
  int64_t room = 128;
  for (size_t d = b.dims.size(); d-- > 0 && room > 1; room /= together[d])
    together[d] = std::min(room, (b.dims[d].count + size[d] - 1) / size[d]);
  Place chip;
  chip.tile.space = Space::Sbuf;
  Axes columns;
  for (size_t d = 0; d < b.dims.size(); ++d)
    columns.push_back({size[d], b.dims[d].stride, 1});
  setDense(columns, &CopyAxis::from);
  int64_t issued =
      transfersOf(t, b.to, chip, rowsOf(together, size, true, [&](size_t d) { return b.dims[d].stride; }), columns);
  for (const Piece &p : b.pieces) {
    const Blocked in = blocked(p, b.dims, size);
    double elements = 1, read = 1;
    for (const CopyAxis &a : in.axes) {
      elements *= static_cast<double>(a.count);
      read *= a.from ? static_cast<double>(a.count) : 1;
    }
    if (p.bits) {
      copies += elements * tiles;
      continue;
    }
    const int64_t joint = jointRun(in.axes), alone = sourceRun(in.axes, bytes(b));
    const Axes order = inSource(in.axes);
    if (!order.empty() && std::abs(order.back().from) > 1 && std::abs(order.back().from) * bytes(b) <= kGap)
      read *= static_cast<double>(std::abs(order.back().from));
    Axes raw = order;
    setDense(raw, &CopyAxis::to);
    issued += transfersOf(t, chip, b.to, rowsOf(together, size, false, [&](size_t d) { return p.axes[d].stride; }), raw);
    transfers += moving(cells * read, std::max(joint, alone), "dma.bytes_per_ns");
    if (joint < alone) // with strides that are too wide for full speed
      copies += 2 * elements * tiles;
  }
  // Tiles overlap, and more than one engine copies; only within a tile one thing follows another.
  const double work = copies / t.number("clock.vector"), most = std::max(transfers, work / 2);
  return 2 * t.number("dma.fixed_latency") + most * (1 - 1 / tiles) + (transfers + work) / tiles +
         tiles * static_cast<double>(issued) * t.number("dma.queue_spacing") / t.number("dma.queues");
}

MovementWriter::Blocks MovementWriter::chooseBlocks(const Box &b) const {
  int64_t gap = 1; // elements that are read for one
  for (const Piece &p : b.pieces) {
    int64_t least = 0;
    for (const PieceAxis &a : p.axes)
      if (a.count > 1 && a.stride)
        least = least ? std::min(least, std::abs(a.stride)) : std::abs(a.stride);
    if (least * bytes(b) <= kGap)
      gap = std::max(gap, least);
  }
  Blocks best;
  for (int64_t most = kMostBytes; most >= 512; most /= 2)
    for (int64_t run = 1024; run >= 16; run /= 2) {
      std::vector<int64_t> size =
          blocksFor(b, std::max<int64_t>(run / bytes(b), 1), std::max<int64_t>(most / bytes(b) / gap, 1));
      const double time = blockTime(b, size);
      if (best.size.empty() || time < best.time * 0.99)
        best = {std::move(size), time};
    }
  return best;
}

// Whole blocks in one go, what is left over along a dimension by itself.
void MovementWriter::assemble(const Box &b, const std::vector<int64_t> &size) {
  for (size_t d = 0; d < b.dims.size(); ++d) {
    const int64_t rest = b.dims[d].count % size[d], main = b.dims[d].count - rest;
    if (rest == 0)
      continue;
    for (const auto &[lo, count] : {std::pair{int64_t{0}, main}, std::pair{main, rest}}) {
      Box part = b;
      part.dims[d].count = count;
      part.to.tile.offset += lo * b.dims[d].stride;
      for (Piece &p : part.pieces)
        p = *restricted(std::move(p), d, lo, 1, count);
      if (lo == 0)
        assemble(part, size);
      else
        split(std::move(part));
    }
    return;
  }
  assembleGrid(b, size);
}

void MovementWriter::assembleGrid(const Box &b, const std::vector<int64_t> &size) {
  std::vector<int64_t> grid;
  int64_t cells = 1;
  for (size_t d = 0; d < b.dims.size(); ++d) {
    grid.push_back(b.dims[d].count / size[d]);
    cells *= grid.back();
  }
  // Whole rows of the grid if that wastes little: their transfers are one each.
  int64_t together = 128, row = 1;
  for (size_t d = grid.size(); d-- > 0 && row * grid[d] <= 128;) {
    row *= grid[d];
    if (const int64_t n = 128 / row * row; n >= 96)
      together = n;
  }
  // The cells [first, first + n) below dimension d, as boxes.
  std::vector<Cells> out;
  const auto boxes = [&](const auto &self, size_t d, int64_t first, int64_t n, Cells at) -> void {
    if (d == grid.size()) {
      out.push_back(std::move(at));
      return;
    }
    int64_t inner = 1;
    for (size_t i = d + 1; i < grid.size(); ++i)
      inner *= grid[i];
    while (n > 0) {
      const int64_t within = first % inner;
      const int64_t take = within == 0 && n >= inner ? n / inner * inner : std::min(inner - within, n);
      Cells part = at;
      part.start.push_back(first / inner);
      part.count.push_back(std::max<int64_t>(take / inner, 1));
      if (take >= inner) {
        for (size_t i = d + 1; i < grid.size(); ++i) {
          part.start.push_back(0);
          part.count.push_back(grid[i]);
        }
        out.push_back(part);
      } else {
        self(self, d + 1, within, take, part);
      }
      at.first += take;
      first += take;
      n -= take;
    }
  };
  for (int64_t first = 0; first < cells; first += together) {
    const int64_t n = std::min(together, cells - first);
    out.clear();
    boxes(boxes, 0, first, n, {});
    assembleTile(b, size, out, n);
  }
}

void MovementWriter::assembleTile(const Box &b, const std::vector<int64_t> &size, const std::vector<Cells> &cells,
                                  int64_t partitions) {
  int64_t elements = 1;
  for (int64_t n : size)
    elements *= n;
  Tile tile;
  const bool number = b.pieces.size() == 1 && b.pieces[0].bits;
  const auto fill = [&](const Piece &p) {
    const Blocked in = blocked(p, b.dims, size);
    Tile t = tile;
    t.offset += in.offset;
    fillOnChip(k, t, in.axes, *p.bits);
  };
  if (number) {
    const auto [it, fresh] = numbers.try_emplace({*b.pieces[0].bits, {elements, sizeOf(b.to.tile.dtype)}});
    if (fresh) {
      tile = it->second = k.sbuf(b.to.tile.dtype, 128, {elements});
      fill(b.pieces[0]);
    }
    tile = it->second;
  } else {
    tile = k.sbuf(b.to.tile.dtype, partitions, {elements});
    for (const Piece &p : b.pieces) {
      if (p.bits) {
        fill(p);
        continue;
      }
      bring(tile, p, b, size, cells);
    }
  }
  Axes columns;
  int64_t stride = elements;
  for (size_t d = 0; d < size.size(); ++d) {
    stride /= size[d];
    columns.push_back({size[d], b.dims[d].stride, stride});
  }
  for (const Cells &c : cells) {
    Place to = b.to, from{tile, {}};
    from.tile.partition += static_cast<int32_t>(c.first);
    for (size_t d = 0; d < size.size(); ++d)
      to.tile.offset += c.start[d] * size[d] * b.dims[d].stride;
    transfer(k, to, from, rowsOf(c.count, size, true, [&](size_t d) { return b.dims[d].stride; }), columns);
  }
}

// The elements of a piece to their places in the tile.
void MovementWriter::bring(const Tile &tile, const Piece &p, const Box &b, const std::vector<int64_t> &size,
                           const std::vector<Cells> &cells) {
  const Blocked in = blocked(p, b.dims, size);
  const int64_t bytes = sizeOf(tile.dtype), joint = jointRun(in.axes), alone = sourceRun(in.axes, bytes);
  Tile to = tile;
  to.offset += in.offset;
  const Place base = source(p, tile.dtype);
  const auto load = [&](const Tile &chip, int64_t offset, const Axes &columns) {
    for (const Cells &c : cells) {
      Place from = base, dst{chip, {}};
      dst.tile.partition += static_cast<int32_t>(c.first);
      from.tile.offset += offset;
      for (size_t d = 0; d < size.size(); ++d)
        from.tile.offset += c.start[d] * size[d] * p.axes[d].stride;
      transfer(k, dst, from, rowsOf(c.count, size, false, [&](size_t d) { return p.axes[d].stride; }), columns);
    }
  };
  const bool repeats =
      std::any_of(in.axes.begin(), in.axes.end(), [](const CopyAxis &a) { return a.count > 1 && a.from == 0; });
  if (joint * bytes >= kRun || (joint >= alone && !repeats))
    return load(to, 0, in.axes);
  // As it lies in the source, then in order.
  Axes order = inSource(in.axes), columns = in.axes;
  const int64_t gap = order.empty() ? 1 : std::abs(order.back().from);
  int64_t raws = bytes;
  for (const CopyAxis &a : order)
    raws *= a.count;
  const bool between = gap > 1 && gap * bytes <= kGap && raws * gap <= 2 * kMostBytes;
  const bool flip = !order.empty() && order.back().from < 0 && (gap == 1 || between);
  int64_t stride = 1, offset = 0;
  for (size_t i = order.size(); i-- > 0;) {
    CopyAxis &a = order[i];
    const bool last = i + 1 == order.size();
    // The same dimension of the copy on chip: the first that is not matched yet (their order does not matter).
    for (CopyAxis &c : columns)
      if (c.to == a.to && c.count == a.count) {
        c.from = last && between ? gap : stride;
        break;
      }
    if (last && (between || flip)) {
      if (flip)
        offset += (a.count - 1) * a.from;
      a = {between ? (a.count - 1) * gap + 1 : a.count, 0, between ? 1 : gap};
    }
    a.to = stride;
    stride *= a.count;
  }
  const Tile raw = k.sbuf(tile.dtype, tile.partitions, {stride});
  load(raw, offset, order);
  if (!flip)
    return copyOnChip(k, to, raw, columns);
  size_t fast = 0; // the reversed one has the smallest step in the raw tile
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].count > 1 && columns[i].from > 0 &&
        (columns[fast].count == 1 || columns[fast].from == 0 || columns[i].from < columns[fast].from))
      fast = i;
  flipOnChip(k, to, raw, columns, fast);
}

} // namespace glia::emit
