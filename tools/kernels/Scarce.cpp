// Memory: tensors that their author placed on top of each other, and more live bytes than SBUF has.
#include "Generator.h"

#include <algorithm>

namespace glia::kernels {

// A region that several tensors of different types share, each with a part of it. What one writes the others read.
void Generator::aliases(int core) {
  if (inLoop() || room)
    return;
  const bool psum = r.chance(25);
  const Space space = psum ? Space::Psum : Space::Sbuf;
  static const std::vector<int> sizes = {16, 32, 32, 64, 128};
  const int p = r.pick(sizes), step = p <= 32 ? 32 : p <= 64 ? 64 : 128;
  const int first = static_cast<int>(r.below(128 / step)) * step;
  const int64_t bytes = 8 * r.between(4, 24);
  const int64_t area = psum ? target.psumBankBytes * 4 : target.sbufBytes / 3 / 64 * 64 + 20480;
  const int64_t base = area + 8 * r.below(16);
  const DType t = type(computeTypes());
  Tile &all = pinned(core, space, t, first, p, base, bytes / sizeOf(t));
  fill(all);
  const int64_t count = r.between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    const DType u = type(computeTypes());
    const int64_t size = sizeOf(u), from = 8 * r.below(bytes / 8), n = r.between(1, (bytes - from) / size);
    int rows = p, start = first;
    if (p > 32 && r.chance(50)) {
      rows = 32;
      start = first + 32 * static_cast<int>(r.below(p / 32));
    }
    Tile &part = pinned(core, space, u, start, rows, base + from, n);
    part.defined = true;
    if (r.chance(50)) { // now, from it or into it; else later, or never
      Draft d(core, VECTOR, "tensor_copy");
      if (r.chance(50)) {
        d.in("src", whole(part));
        out(d, "dst", computeTypes(), rows, n);
      } else {
        d.in("src", randomView(source(core, Space::Sbuf, computeTypes(), rows, n, true), rows, n, true, true));
        if (!d.clear(whole(part)))
          continue;
        d.out("dst", whole(part));
      }
      add(d);
    }
  }
  if (r.chance(30)) // the others keep what it has left
    all.dead = true;
}

// A tensor that takes nearly all of SBUF from the beginning to the end, so that everything else takes turns in what is left.
void Generator::crowd(int core) {
  if (!room)
    room = 64 * r.between(16, 30);
  const int64_t elements = (target.sbufBytes - room) / 64 * 16;
  ballast[core] = &pinned(core, Space::Sbuf, DType::F32, 0, 1, 0, elements);
  ballast[core]->reserved = true;
  fill(*ballast[core]);
}

void Generator::uncrowd(int core) {
  const Hbm y = output(DType::F32, {1, 8});
  Draft d(core, SYNC, "dma_copy");
  d.in("src", view(*ballast[core], {{1, 8}})).out("dst", wholeOf(y));
  add(d);
}

// Tensors that together are larger than SBUF, filled one after the other and used again later.
void Generator::pressure(int core) {
  const int64_t size = target.sbufBytes / r.between(7, 12) / 64 * 64,
                count = target.sbufBytes * r.between(9, 16) / 10 / size;
  const int p = static_cast<int>(r.between(1, 3));
  std::vector<Tile *> big;
  for (int64_t i = 0; i < count; ++i) {
    const DType u = r.chance(50) ? DType::F32 : DType::BF16;
    Tile &x = allocate(core, Space::Sbuf, u, p, size / sizeOf(u), true);
    x.big = true;
    if (x.pinned)
      return;
    const Hbm from = input(u, {p, x.elements});
    Draft d(core, dmaEngine(), "dma_copy");
    d.out("dst", whole(x)).in("src", wholeOf(from));
    add(d);
    big.push_back(&x);
    if (r.chance(30))
      any(core);
  }
  for (size_t i = 0; i < big.size(); ++i) {
    Tile &x = *big[i], &y = *big[r.below(static_cast<int64_t>(big.size()))];
    if (&x == &y || x.dead || y.dead)
      continue;
    const int64_t n = r.between(1, 64);
    Draft d(core, VECTOR, "tensor_tensor");
    d.in("a", randomView(x, p, n, true, true)).in("b", randomView(y, p, n, true, true));
    const View v = r.chance(40) ? randomView(x, p, n, false, true) : View{};
    if (v.tile && d.clear(v))
      d.out("dst", v);
    else
      out(d, "dst", computeTypes(), p, n);
    d.set("op", "add");
    add(d);
  }
  for (Tile *x : big) {
    if (r.chance(40)) {
      const int64_t n = r.between(1, 200);
      const Hbm y = output(x->dtype, {p, n});
      Draft d(core, dmaEngine(), "dma_copy");
      d.in("src", randomView(*x, p, n, true, false)).out("dst", wholeOf(y));
      add(d);
    }
    x->dead = true;
  }
}

} // namespace glia::kernels
