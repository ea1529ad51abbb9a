// Contractions in every form, from text to numbers, on every target: against sums in double of the same elements.
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Numerics/Convert.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/Verify.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace glia;

namespace {

using Shape = std::vector<int64_t>;
using Ints = std::vector<int64_t>;

int64_t product(const Shape &s) { return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()); }

std::string typeText(const Shape &s, const std::string &element) {
  std::string out = "tensor<";
  for (int64_t n : s)
    out += std::to_string(n) + "x";
  return out + element + ">";
}
std::string list(const Ints &v) {
  std::string out = "[";
  for (size_t i = 0; i < v.size(); ++i)
    out += (i ? ", " : "") + std::to_string(v[i]);
  return out + "]";
}

struct Form {
  Shape lhs, rhs;
  Ints lb, rb, lc, rc;
  std::string types[3] = {"f32", "f32", "f32"};
};

DType machine(const std::string &t) {
  return t == "f32"        ? DType::F32
         : t == "bf16"     ? DType::BF16
         : t == "f16"      ? DType::F16
         : t == "f8E4M3FN" ? DType::F8E4M3FN
         : t == "f8E5M2"   ? DType::F8E5M2
                           : DType::F8E4M3;
}

struct Data {
  std::vector<std::byte> bytes;
  std::vector<double> values;
};
Data data(const Shape &s, const std::string &type, int seed, double nan = 0) {
  const DType t = machine(type);
  const size_t n = static_cast<size_t>(product(s)), size = static_cast<size_t>(sizeOf(t));
  Data out{std::vector<std::byte>(n * size), std::vector<double>(n)};
  for (size_t i = 0; i < n; ++i) {
    const auto h = static_cast<uint32_t>((i + 1) * 2654435761u + static_cast<uint32_t>(seed) * 40503u);
    float v = static_cast<float>((h >> 8) % 2001) / 1000 - 1;
    if (nan != 0 && i == n / 3)
      v = static_cast<float>(nan);
    fromF32(t, v, out.bytes.data() + i * size);
    out.values[i] = toF32(t, out.bytes.data() + i * size);
  }
  return out;
}

Ints restOf(size_t rank, const Ints &a, const Ints &b) {
  Ints out;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
      out.push_back(d);
  return out;
}

Shape resultShape(const Form &f) {
  Shape out;
  for (int64_t d : f.lb)
    out.push_back(f.lhs[static_cast<size_t>(d)]);
  for (int64_t d : restOf(f.lhs.size(), f.lb, f.lc))
    out.push_back(f.lhs[static_cast<size_t>(d)]);
  for (int64_t d : restOf(f.rhs.size(), f.rb, f.rc))
    out.push_back(f.rhs[static_cast<size_t>(d)]);
  return out;
}

std::string text(const Form &f, bool ones = false) {
  const std::string l = typeText(f.lhs, f.types[0]), r = typeText(f.rhs, f.types[1]),
                    o = typeText(resultShape(f), f.types[2]);
  std::string t = "func.func public @main(%a: " + l + ", %b: " + r + ") -> " + o + " {\n";
  if (ones)
    t += "%one = stablehlo.constant dense<1.0> : " + r + "\n";
  t += "%0 = stablehlo.dot_general %a, " + std::string(ones ? "%one" : "%b") + ", batching_dims = " + list(f.lb) + " x " +
       list(f.rb) + ", contracting_dims = " + list(f.lc) + " x " + list(f.rc) + " : (" + l + ", " + r + ") -> " + o +
       "\nreturn %0 : " + o + "\n}";
  return t;
}

// Sums in double, and sums of magnitudes: what the error is measured by.
void reference(const Form &f, const Data &a, const Data &b, std::vector<double> &sums, std::vector<double> &sizes) {
  const auto strides = [](const Shape &s) {
    Ints out(s.size(), 1);
    for (size_t i = s.size(); i-- > 1;)
      out[i - 1] = out[i] * s[i];
    return out;
  };
  struct Run {
    int64_t n, a, b;
  };
  std::vector<Run> outer, inner;
  const Ints as = strides(f.lhs), bs = strides(f.rhs);
  for (size_t i = 0; i < f.lb.size(); ++i)
    outer.push_back(
        {f.lhs[static_cast<size_t>(f.lb[i])], as[static_cast<size_t>(f.lb[i])], bs[static_cast<size_t>(f.rb[i])]});
  for (int64_t d : restOf(f.lhs.size(), f.lb, f.lc))
    outer.push_back({f.lhs[static_cast<size_t>(d)], as[static_cast<size_t>(d)], 0});
  for (int64_t d : restOf(f.rhs.size(), f.rb, f.rc))
    outer.push_back({f.rhs[static_cast<size_t>(d)], 0, bs[static_cast<size_t>(d)]});
  for (size_t i = 0; i < f.lc.size(); ++i)
    inner.push_back(
        {f.lhs[static_cast<size_t>(f.lc[i])], as[static_cast<size_t>(f.lc[i])], bs[static_cast<size_t>(f.rc[i])]});
  const auto offsets = [](const std::vector<Run> &runs) {
    std::vector<std::pair<int64_t, int64_t>> out{{0, 0}};
    for (const Run &r : runs) {
      std::vector<std::pair<int64_t, int64_t>> next;
      for (auto [x, y] : out)
        for (int64_t i = 0; i < r.n; ++i)
          next.push_back({x + i * r.a, y + i * r.b});
      out = std::move(next);
    }
    return out;
  };
  const auto in = offsets(inner);
  for (auto [x, y] : offsets(outer)) {
    double sum = 0, size = 0;
    for (auto [i, j] : in) {
      const double p = a.values[static_cast<size_t>(x + i)] * b.values[static_cast<size_t>(y + j)];
      sum += p;
      size += std::fabs(p);
    }
    sums.push_back(sum);
    sizes.push_back(size);
  }
}

CompiledGraph compiled(const std::string &text, const char *target) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  CompiledGraph c = compileGraph(*g.module, {target, {}});
  const VerifyResult v = verify(c.program);
  EXPECT_TRUE(v.ok()) << render(v.diagnostics[0]);
  return c;
}

void expectNear(const Form &f, const std::vector<std::byte> &got, const std::vector<double> &sums,
                const std::vector<double> &sizes) {
  const DType t = machine(f.types[2]);
  const double half = t == DType::F32 ? 0x1p-24 : t == DType::BF16 ? 0x1p-8 : 0x1p-11;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double y = toF32(t, got.data() + i * static_cast<size_t>(sizeOf(t)));
    if (!std::isfinite(sums[i]))
      ASSERT_TRUE(std::isnan(sums[i]) ? std::isnan(y) : y == sums[i]) << i;
    else
      ASSERT_NEAR(y, sums[i], sizes[i] * 0x1p-21 + std::fabs(sums[i]) * half + 1e-30) << i;
  }
}

void check(const Form &f, const char *target, double nan = 0) {
  const Data a = data(f.lhs, f.types[0], 1, nan), b = data(f.rhs, f.types[1], 2);
  std::vector<double> sums, sizes;
  reference(f, a, b, sums, sizes);
  const CompiledGraph c = compiled(text(f), target);
  const RunResult r = run(c.program, {{"arg0", a.bytes}, {"arg1", b.bytes}});
  ASSERT_TRUE(r.ok());
  expectNear(f, r.outputs.at("result0"), sums, sizes);
}

class Contract : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Contract, testing::Values("trn1", "trn2", "trn3"));

Form matrices(int64_t m, int64_t k, int64_t n, bool turnLeft, bool turnRight) {
  return {turnLeft ? Shape{k, m} : Shape{m, k},
          turnRight ? Shape{n, k} : Shape{k, n},
          {},
          {},
          {turnLeft ? 0 : 1},
          {turnRight ? 1 : 0}};
}

TEST_P(Contract, MatricesOfAnySizeLyingAnyWay) {
  for (const auto &[m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {127, 129, 128}, {129, 127, 513}, {130, 300, 70}})
    for (int way = 0; way < 4; ++way) {
      SCOPED_TRACE(testing::Message() << m << " " << k << " " << n << " way " << way);
      check(matrices(m, k, n, way & 1, way & 2), GetParam());
    }
}

TEST_P(Contract, Bf16) {
  for (int way = 0; way < 4; ++way) {
    Form f = matrices(140, 260, 530, way & 1, way & 2);
    for (std::string &t : f.types)
      t = "bf16";
    check(f, GetParam());
  }
}

TEST_P(Contract, NarrowProductsShareABank) {
  check(matrices(700, 64, 10, false, false), GetParam());
  check({{9, 30, 20}, {9, 20, 7}, {0}, {0}, {2}, {1}}, GetParam());
}

TEST_P(Contract, HeadsBetweenPositionsAndWidth) { // as attention lies
  Form scores{{2, 33, 3, 64}, {2, 40, 3, 64}, {0, 2}, {0, 2}, {3}, {3}};
  check(scores, GetParam());
  Form mixed{{2, 3, 33, 40}, {2, 40, 3, 64}, {0, 1}, {0, 2}, {3}, {1}};
  for (std::string &t : mixed.types)
    t = "bf16";
  check(mixed, GetParam());
}

TEST_P(Contract, SeveralDimensionsInAnyOrder) {
  check({{3, 5, 7, 11}, {7, 4, 5, 6}, {}, {}, {1, 2}, {2, 0}}, GetParam());
  check({{5, 3, 40}, {9, 5, 4, 40}, {0}, {1}, {2}, {3}}, GetParam());
  check({{150, 2, 9}, {2, 9, 3, 1}, {}, {}, {2, 1}, {1, 0}}, GetParam());
}

TEST_P(Contract, VectorsAndScalars) {
  check({{300}, {300}, {}, {}, {0}, {0}}, GetParam());
  check({{300, 40}, {40}, {}, {}, {1}, {0}}, GetParam());
  check({{40, 300}, {40}, {}, {}, {0}, {0}}, GetParam());
  check({{40}, {40, 600}, {}, {}, {0}, {0}}, GetParam());
  check({{20}, {30}, {}, {}, {}, {}}, GetParam());
}

TEST_P(Contract, TypesMix) {
  for (const auto &types : std::vector<std::array<std::string, 3>>{{"bf16", "bf16", "f32"},
                                                                   {"f16", "bf16", "f32"},
                                                                   {"f32", "bf16", "f32"},
                                                                   {"f32", "f32", "bf16"},
                                                                   {"f8E5M2", "bf16", "f32"},
                                                                   {"f8E4M3FN", "f8E4M3FN", "f32"},
                                                                   {"f8E4M3FN", "f8E5M2", "bf16"}})
    for (int way = 0; way < 4; ++way) {
      if (types[0] == "f8E4M3FN" && GetParam() != std::string("trn3"))
        continue; // the only target that has it
      SCOPED_TRACE(types[0] + " " + types[1] + " " + types[2]);
      Form f = matrices(40, 150, 33, way & 1, way & 2);
      std::copy(types.begin(), types.end(), f.types);
      check(f, GetParam());
    }
}

TEST_P(Contract, ANaNSpoilsItsOwnRowOnly) {
  check(matrices(70, 140, 50, false, true), GetParam(), NAN);
  check(matrices(70, 140, 50, true, true), GetParam(), INFINITY);
}

TEST_P(Contract, AConstantOperandIsNotLoaded) {
  const Form f = matrices(20, 140, 30, false, false);
  const Data a = data(f.lhs, "f32", 1);
  Data ones{{}, std::vector<double>(140 * 30, 1)};
  std::vector<double> sums, sizes;
  reference(f, a, ones, sums, sizes);
  const CompiledGraph c = compiled(text(f, true), GetParam());
  EXPECT_EQ(c.groups, 1u);
  const RunResult r = run(c.program, {{"arg0", a.bytes}, {"arg1", data(f.rhs, "f32", 2).bytes}});
  ASSERT_TRUE(r.ok());
  expectNear(f, r.outputs.at("result0"), sums, sizes);
}

// Panels of one operand stay while the other passes by. Every element is 1: the sums count the products.
TEST_P(Contract, PanelsStay) {
  for (int way = 0; way < 4; ++way) {
    Form f = matrices(way < 2 ? 1600 : 160, 2200, way < 2 ? 160 : 1600, way & 1, way & 1);
    for (std::string &t : f.types)
      t = "bf16";
    const size_t m = static_cast<size_t>(resultShape(f)[0]), n = static_cast<size_t>(resultShape(f)[1]);
    const CompiledGraph c = compiled(text(f), GetParam());
    std::vector<uint16_t> a(m * 2200, 0x3F80), b(n * 2200, 0x3F80);
    const auto bytes = [](const std::vector<uint16_t> &v) {
      const auto *p = reinterpret_cast<const std::byte *>(v.data());
      return std::vector<std::byte>(p, p + 2 * v.size());
    };
    // One row and one column are twice as large.
    for (size_t i = 0; i < 2200; ++i) {
      a[way & 1 ? i * m + m - 1 : (m - 1) * 2200 + i] = 0x4000;
      b[way & 1 ? 150 * 2200 + i : i * n + 150] = 0x4000;
    }
    const RunResult r = run(c.program, {{"arg0", bytes(a)}, {"arg1", bytes(b)}});
    ASSERT_TRUE(r.ok());
    const std::vector<std::byte> &got = r.outputs.at("result0");
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        ASSERT_EQ(toF32(DType::BF16, got.data() + 2 * (i * n + j)), 2208.0f * (i == m - 1 ? 2 : 1) * (j == 150 ? 2 : 1))
            << i << " " << j;
  }
}

TEST_P(Contract, ManyBatchesAreALoopOfTheDevice) { // and a rest behind it
  Form f{{20700, 12, 8}, {20700, 8, 12}, {0}, {0}, {2}, {1}};
  const CompiledGraph c = compiled(text(f), GetParam());
  EXPECT_LT(c.program.instructionCount(), 12000u); // of 20700 products
  check(f, GetParam());
}

TEST_P(Contract, LargerThanTheChip) {
  check(matrices(3, 40000, 2, false, true), GetParam()); // the contraction in pieces
  check(matrices(140, 20000, 13, true, false), GetParam());
}

} // namespace
