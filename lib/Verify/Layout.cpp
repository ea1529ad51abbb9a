#include "Walk.h"

#include <algorithm>

namespace glia::flow {

namespace {

constexpr size_t kMostPieces = 65536; // of an access: parts of runs that lie in one row of one tile

} // namespace

bool divides(const Layout &l, int64_t bytes) {
  return l.width > 0 && l.height > 0 && l.pitch > 0 && l.pitch <= bytes && l.pitch % l.width == 0 && bytes % l.pitch == 0 &&
         bytes / l.pitch % l.height == 0;
}

bool renumberRuns(const Layout &l, std::vector<ByteRun> &runs) {
  const int64_t tile = l.height * l.width;
  std::vector<ByteRun> out;
  for (const ByteRun &r : runs)
    for (int64_t at = r.lo; at < r.hi;) {
      if (out.size() == kMostPieces)
        return false;
      const int64_t row = at / l.pitch, column = at % l.pitch, inTile = column % l.width;
      const int64_t size = std::min(l.width - inTile, r.hi - at);
      const int64_t number = (row - row % l.height) * l.pitch + column / l.width * tile + row % l.height * l.width + inTile;
      out.push_back({number, number + size});
      at += size;
    }
  mergeRuns(out);
  runs = std::move(out);
  return true;
}

void writeLayouts(HintWriter &out, const Layouts &layouts) {
  for (size_t t = 0; t < layouts.size(); ++t)
    if (const Layout &l = layouts[t])
      for (int64_t v : {static_cast<int64_t>(t), l.pitch, l.height, l.width})
        out.put(v);
  out.put(-1);
}

Layouts readLayouts(HintReader &in, const Program &p) {
  Layouts layouts;
  for (int64_t t; (t = in.get(-1, static_cast<int64_t>(p.tensors.size()) - 1)) >= 0;) {
    const int64_t bytes = p.tensors[static_cast<size_t>(t)].bytes();
    Layout l;
    for (int64_t *v : {&l.pitch, &l.height, &l.width})
      *v = in.get(1, bytes);
    if (!divides(l, bytes))
      in.fail("says tiles that do not divide a tensor");
    layouts.resize(p.tensors.size());
    layouts[static_cast<size_t>(t)] = l;
  }
  return layouts;
}

// Runs of a tensor that has a layout become those of its numbers. What registers or indices move is no list of runs: pieces and spots
// are compared by their bytes, so there the layout proves nothing.
void Walk::layOut(const Decoded &d, Place &p) {
  const Layout l = p.object.kind == ObjectKind::Tensor ? certificate.layouts[p.object.index] : Layout{};
  if (!l)
    return;
  const int index = d.def->slot(std::string(d.def->slots[p.slot].name) + "_index");
  const bool chosen = index >= 0 && d.values[index].kind == Value::Tensor;
  if (!p.fixed || chosen || !renumberRuns(l, p.runs))
    failForGood("CERTIFICATE-FAILS", who(d),
                format("`%s` is said to be reached in tiles, and is not", program.objectName(p.object).c_str()));
}

} // namespace glia::flow
