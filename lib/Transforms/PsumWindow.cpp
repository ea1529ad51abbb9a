#include "PsumWindow.h"

using namespace mlir;

namespace glia::nisa {

static constexpr int64_t kMaxWindows = 256; // followed one by one after the loop

PsumWindow::PsumWindow(PsumContents &contents, Operation *op, int64_t trips, PsumStates &s)
    : contents(contents), trips(trips) {
  auto loop = dyn_cast<LoopOp>(op);
  if (!loop)
    return;
  std::map<int, View> views; // by number of the allocation
  loop.walk([&](Operation *x) {
    if (Instr i(x); i)
      for (int k = 0; k < static_cast<int>(i.def().slots.size()); ++k)
        if (PsumContents::isPsum(i.tensor(k)) && s.contains(contents.numberOf(i.tensor(k))))
          views[contents.numberOf(i.tensor(k))].add(i, k, loop.iterator());
  });
  for (auto &[number, view] : views)
    if (view.moves && view.apart() && !contents.windows.contains(view.tensor))
      open(number, view, s);
}

PsumWindow::~PsumWindow() {
  for (const Opened &o : opened)
    contents.windows.erase(o.view.tensor);
}

void PsumWindow::View::add(Instr i, int slot, mlir::Value it) {
  AccessAttr a = i.access(slot);
  tensor = i.tensor(slot);
  iterator = it;
  const auto terms = a.getTerms();
  if (terms.size() != 3 || terms[2] || i->getOperand(static_cast<unsigned>(terms[0])) != it ||
      (lo != INT64_MAX && terms[1] != scale)) {
    moves = false;
    return;
  }
  scale = terms[1];
  const ByteRun run = extent(a.pattern());
  lo = std::min(lo, a.getByteOffset() + run.lo);
  hi = std::max(hi, a.getByteOffset() + run.hi);
  first = std::min(first, a.getPartition());
  last = std::max(last, a.getPartition() + a.getPartitions());
}

Touched PsumWindow::View::passed(int64_t trips) const {
  const ByteRun all = PsumContents::whole(tensor).runs.front();
  Touched t = window();
  int64_t by = 0;
  if (__builtin_mul_overflow(scale, trips - 1, &by))
    by = scale < 0 ? all.lo - hi : all.hi - lo;
  (by < 0 ? t.runs[0].lo : t.runs[0].hi) += by;
  t.runs[0] = {std::max(t.runs[0].lo, all.lo), std::min(t.runs[0].hi, all.hi)};
  return t;
}

void PsumWindow::open(int number, const View &view, PsumStates &s) {
  std::optional<Box> one;
  bool uniform = true;
  s[number].visit(view.passed(trips), [&](const Box &b) {
    uniform &= !one || (one->held == b.held && one->memset == b.memset);
    one = one ? one : b;
  });
  if (!uniform)
    return;
  opened.push_back({number, view, s[number]});
  contents.windows[view.tensor] = view.iterator;
}

void PsumWindow::moveOn(PsumStates &s) const {
  for (const Opened &o : opened)
    s[o.number] = o.before;
}

void PsumWindow::close(const PsumStates &before, PsumStates &end) {
  for (const Opened &o : opened) {
    contents.windows.erase(o.view.tensor);
    PsumState after = before.at(o.number);
    const Touched window = o.view.window();
    if (trips > kMaxWindows) { // some windows were visited, the rest is as before
      after.change(o.view.passed(trips), [&](Box &was) {
        end[o.number].visit(window, [&](const Box &is) {
          if (is.held == was.held && is.memset == was.memset)
            return;
          contents.read(was), contents.read(is);
          was.held = Held::Unknown;
          was.memset = -1;
        });
      });
    } else {
      for (int64_t k = 0; k < trips; ++k)
        end[o.number].visit(window, [&](const Box &b) {
          after.set({b.p0, b.p1 - b.p0, {{b.b0 + k * o.view.scale, b.b1 + k * o.view.scale}}}, b.held, b.memset);
        });
    }
    end[o.number] = std::move(after);
  }
  opened.clear();
}

} // namespace glia::nisa
