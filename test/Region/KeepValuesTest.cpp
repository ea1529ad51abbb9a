// What a kernel stores and loads again may stay on chip: random layouts on both sides, and the same bytes before and after.
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Lower/KernelBuilder.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace glia;
using namespace glia::emit;

namespace {

class RandomStages {
public:
  RandomStages(uint32_t seed, const std::string &target) : random(seed), target(target) {}

  nisa::Kernel make() {
    KernelBuilder k("stages", target);
    const DType types[] = {DType::F32, DType::BF16, DType::F16, DType::U8, DType::I32};
    type = types[below(5)];
    const int64_t sizes[] = {1, 2, 3, 4, 8, 16, 32, 64};
    shape.clear();
    int64_t all = 1;
    for (size_t n = 2 + below(3); shape.size() < n;) {
      const int64_t d = sizes[below(8)];
      if (all * d <= 16384)
        shape.push_back(d), all *= d;
      else
        shape.push_back(1);
    }
    const Tile x = k.input("x", type, shape), home = below(3) ? k.scratch(type, shape) : k.output("home", type, shape);
    // In one piece, or cut along a dimension.
    std::vector<Tile> from{x}, to{home};
    const int dim = static_cast<int>(below(shape.size()));
    if (const int64_t n = shape[static_cast<size_t>(dim)]; n > 1 && below(2)) {
      const int64_t at = 1 + static_cast<int64_t>(below(static_cast<size_t>(n - 1)));
      from = {x.part(dim, 0, at), x.part(dim, at, n - at)};
      to = {home.part(dim, 0, at), home.part(dim, at, n - at)};
    }
    for (size_t i = 0; i < from.size(); ++i) {
      const Layout l = layoutOf(from[i]);
      const Tile t = k.sbuf(type, l.partitions, l.free);
      k.copy(t, from[i].permuted(l.order));
      k.copy(to[i].permuted(l.order), t);
      if (below(5) == 0)
        k.fill(t, 1);
    }
    for (size_t i = 0, n = 1 + below(3); i < n; ++i) {
      Tile part = home;
      for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] > 1 && below(4) == 0) {
          const int64_t first = static_cast<int64_t>(below(static_cast<size_t>(shape[d])));
          part =
              part.part(static_cast<int>(d), first, 1 + static_cast<int64_t>(below(static_cast<size_t>(shape[d] - first))));
        }
      const Layout l = layoutOf(part);
      const Tile t = k.sbuf(type, l.partitions, l.free);
      if (k.target().has("dma_transpose") && sizeOf(type) == 2 && l.free.size() == 1 && l.free[0] <= 128 && below(2)) {
        const Tile turned = k.sbuf(type, l.free[0], {l.partitions});
        k.transposeByDma(turned, part.permuted(l.order));
        k.copy(k.output("y" + std::to_string(i), type, {l.free[0], l.partitions}), turned);
        continue;
      }
      k.copy(t, part.permuted(l.order));
      if (below(4) == 0)
        k.scalar(t, t, "add", 1.0f);
      std::vector<int64_t> result = l.free;
      result.insert(result.begin(), l.partitions);
      k.copy(k.output("y" + std::to_string(i), type, result), t);
    }
    return k.finish();
  }

  TensorData inputs() {
    int64_t bytes = sizeOf(type);
    for (int64_t n : shape)
      bytes *= n;
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    for (std::byte &b : data)
      b = static_cast<std::byte>(below(60)); // small numbers of every type
    return {{"x", data}};
  }

private:
  std::mt19937 random;
  const std::string target;
  DType type = DType::F32;
  std::vector<int64_t> shape;

  size_t below(size_t n) { return random() % n; }

  struct Layout {
    std::vector<int> order;
    int64_t partitions = 1;
    std::vector<int64_t> free;
  };
  Layout layoutOf(const Tile &t) {
    Layout l;
    l.order.resize(t.dims.size());
    std::iota(l.order.begin(), l.order.end(), 0);
    std::shuffle(l.order.begin(), l.order.end(), random);
    const size_t rows = below(t.dims.size() + 1);
    bool inRows = true;
    for (size_t i = 0; i < l.order.size(); ++i) {
      const int64_t n = t.dims[static_cast<size_t>(l.order[i])].count;
      inRows = inRows && i < rows && l.partitions * n <= 128;
      if (inRows)
        l.partitions *= n;
      else
        l.free.push_back(n);
    }
    if (l.free.empty())
      l.free.push_back(1);
    return l;
  }
};

} // namespace

TEST(KeepValues, SameBytes) {
  size_t kept = 0, made = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const std::string target = seed % 3 ? "trn2" : "trn1";
    RandomStages stages(seed, target);
    nisa::Kernel kernel = stages.make();
    const TensorData in = stages.inputs();
    RunResult expected;
    try {
      expected = executeKernel(kernel, in);
    } catch (const Error &) {
      continue; // a pattern that the machine does not have
    }
    ASSERT_TRUE(expected.ok()) << seed;
    ++made;
    nisa::Kernel changed = kernel.clone();
    const size_t now = keepValues(changed.op(), *loadTarget(target));
    if (!now)
      continue;
    kept += now;
    const RunResult got = executeKernel(changed, in);
    ASSERT_TRUE(got.ok()) << seed;
    ASSERT_EQ(got.outputs, expected.outputs) << seed << "\n" << kernel.text() << "\n" << changed.text();
    if (seed % 10)
      continue;
    const Program p = compileKernel(changed);
    const VerifyResult v = verify(p);
    ASSERT_TRUE(v.ok()) << seed << "\n" << render(v.diagnostics[0]) << "\n" << changed.text();
  }
  EXPECT_GT(made, 150u);
  EXPECT_GT(kept, 80u); // it is of use
}
