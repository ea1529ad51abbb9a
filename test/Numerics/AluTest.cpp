// Element operations against plain C++, rows against elements on every instruction set, reductions against the documented
// order written out.
#include "glia/Numerics/Alu.h"
#include "glia/Support/Diagnostic.h"
#include "Numerics/EachTarget.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

using namespace glia;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kSpecials = {0.0f,  -0.0f,  1.0f,        -1.0f, 2.0f,  -3.0f, 0.5f,  -2.5f,  1e-40f, -1e-45f,
                                      3e38f, -3e38f, 16777217.0f, kInf,  -kInf, kNaN,  -kNaN, 1e-30f, 7.25f};
const std::vector<int32_t> kInts = {0, 1, -1, 2, 5, 31, 32, 33, -31, 0x7FFFFFFF, INT32_MIN, 0x40000000, 123456789};

uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }
std::string_view name(AluOp op) { return aluOpNames().names[static_cast<size_t>(op)]; }
bool hasIntForm(AluOp op) { return op <= AluOp::LogicalXor || op == AluOp::Bypass || isBitOp(op); }
template <class Body> void forEachOp(Body body) {
  for (int i = 0; i < kNumAluOps; ++i)
    body(static_cast<AluOp>(i));
}

TEST(Alu, elementsMeanWhatTheNameSays) {
  const float a = 3.5f, b = -2.0f;
  EXPECT_EQ(alu(AluOp::Add, a, b), 1.5f);
  EXPECT_EQ(alu(AluOp::Subtract, a, b), 5.5f);
  EXPECT_EQ(alu(AluOp::Multiply, a, b), -7.0f);
  EXPECT_EQ(alu(AluOp::Max, a, b), a);
  EXPECT_EQ(alu(AluOp::Min, a, b), b);
  EXPECT_EQ(alu(AluOp::AbsMax, 2.0f, -3.0f), -3.0f);
  EXPECT_EQ(alu(AluOp::AbsMin, 2.0f, -3.0f), 2.0f);
  EXPECT_EQ(alu(AluOp::AbsMax, 2.0f, -2.0f), -2.0f);
  EXPECT_EQ(alu(AluOp::Relu, -1.0f, 9.0f), 0.0f);
  EXPECT_EQ(alu(AluOp::Rsqrt, 4.0f, 9.0f), 0.5f);
  EXPECT_EQ(alu(AluOp::Reciprocal, 4.0f, 9.0f), 0.25f);
  EXPECT_EQ(alu(AluOp::LogicalXor, 2.0f, 3.0f), 0.0f);
  EXPECT_EQ(alu(AluOp::GreaterEqual, 2.0f, 2.0f), 1.0f);
  EXPECT_EQ(alu(AluOp::NotEqual, kNaN, kNaN), 1.0f);
  EXPECT_EQ(alu(AluOp::LogicalAnd, kNaN, 1.0f), 1.0f);
  for (AluOp op : {AluOp::Max, AluOp::Min, AluOp::AbsMax, AluOp::AbsMin, AluOp::Add, AluOp::Multiply}) {
    EXPECT_EQ(bits(alu(op, -kNaN, 1.0f)), 0x7FC00000u);
    EXPECT_EQ(bits(alu(op, 1.0f, -kNaN)), 0x7FC00000u);
  }
  EXPECT_EQ(bits(alu(AluOp::Subtract, kInf, kInf)), 0x7FC00000u);
  EXPECT_THROW(alu(AluOp::Average, 1, 2), Error);
}

TEST(Alu, integersWrap) {
  EXPECT_EQ(aluInt(AluOp::Add, INT32_MAX, 1, false), INT32_MIN);
  EXPECT_EQ(aluInt(AluOp::Multiply, 65536, 65537, false), 65536);
  EXPECT_EQ(aluInt(AluOp::Max, -1, 1, false), 1);
  EXPECT_EQ(aluInt(AluOp::Max, -1, 1, true), -1);
  EXPECT_EQ(aluInt(AluOp::Less, -1, 1, false), 1);
  EXPECT_EQ(aluInt(AluOp::Less, -1, 1, true), 0);
  EXPECT_EQ(aluInt(AluOp::ShiftRight, -1, 28, false), 15);
  EXPECT_EQ(aluInt(AluOp::ShiftLeft, 1, 32, false), 0);
  EXPECT_EQ(aluInt(AluOp::ShiftLeft, 1, -1, false), 0);
  EXPECT_THROW(aluInt(AluOp::Power, 1, 2, false), Error);
}

TEST(Alu, powerWithin2UlpAndSpecialCasesOfC) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    float a = std::bit_cast<float>(static_cast<uint32_t>(random() & 0x7FFFFFFF));
    float b = std::ldexp(static_cast<float>(static_cast<int32_t>(random())), static_cast<int>(random() % 40) - 60);
    if (i % 3 == 0)
      a = -a, b = std::rint(b);
    if (std::isnan(a))
      continue;
    long double want = powl(a, b);
    float got = alu(AluOp::Power, a, b);
    if (!(fabsl(want) < 3.4028235e38L)) {
      ASSERT_EQ(bits(got), bits(std::isnan(want) ? kNaN : static_cast<float>(want))) << a << " ^ " << b;
      continue;
    }
    int exponent = want == 0 ? -149 : std::max(ilogbl(want) - 23, -149);
    ASSERT_LE(fabsl(got - want) / ldexpl(1, exponent), 2) << a << " ^ " << b;
  }
  for (float a : kSpecials)
    for (float b : kSpecials) {
      float want = static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      if (std::isnan(want))
        want = kNaN;
      float got = alu(AluOp::Power, a, b);
      ASSERT_EQ(bits(got), bits(want)) << a << " ^ " << b << " = " << got;
    }
}

TEST(Alu, rowsEqualElementsOnEveryTarget) {
  std::vector<float> a, b;
  for (float x : kSpecials)
    for (float y : kSpecials)
      a.push_back(x), b.push_back(y);
  const int64_t n = static_cast<int64_t>(a.size());
  forEachOp([&](AluOp op) {
    std::vector<float> got(a.size()), inPlace(a.size());
    if (op == AluOp::Average) {
      EXPECT_THROW(aluRow(op, a.data(), b.data(), got.data(), n), Error);
      return;
    }
    std::vector<float> want;
    for (size_t i = 0; i < a.size(); ++i)
      want.push_back(alu(op, a[i], b[i]));
    test::onEachTarget([&] {
      inPlace = b;
      aluRow(op, a.data(), b.data(), got.data(), n);
      aluRow(op, a.data(), inPlace.data(), inPlace.data(), n);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0) << name(op);
      ASSERT_EQ(std::memcmp(inPlace.data(), want.data(), want.size() * 4), 0) << name(op);
      for (float s : kSpecials)
        for (bool reverse : {false, true}) {
          aluRowScalar(op, a.data(), s, reverse, got.data(), n);
          for (size_t i = 0; i < a.size(); i += 7)
            ASSERT_EQ(bits(got[i]), bits(reverse ? alu(op, s, a[i]) : alu(op, a[i], s))) << name(op) << a[i] << " " << s;
        }
    });
  });
}

TEST(Alu, integerRowsEqualElementsOnEveryTarget) {
  std::vector<int32_t> a, b;
  for (int32_t x : kInts)
    for (int32_t y : kInts)
      a.push_back(x), b.push_back(y);
  const int64_t n = static_cast<int64_t>(a.size());
  test::onEachTarget([&] {
    forEachOp([&](AluOp op) {
      for (bool isUnsigned : {false, true}) {
        std::vector<int32_t> got(a.size());
        if (!hasIntForm(op)) {
          EXPECT_THROW(aluRowInt(op, a.data(), b.data(), got.data(), n, isUnsigned), Error);
          continue;
        }
        aluRowInt(op, a.data(), b.data(), got.data(), n, isUnsigned);
        for (size_t i = 0; i < a.size(); ++i)
          ASSERT_EQ(got[i], aluInt(op, a[i], b[i], isUnsigned)) << name(op);
        aluRowIntScalar(op, a.data(), 3, true, got.data(), n, isUnsigned);
        for (size_t i = 0; i < a.size(); ++i)
          ASSERT_EQ(got[i], aluInt(op, 3, a[i], isUnsigned)) << name(op);
      }
    });
  });
}

TEST(Alu, rowsOfEveryLength) {
  for (int64_t n = 0; n <= 70; ++n) {
    std::vector<float> a(static_cast<size_t>(n) + 1, 2), out(static_cast<size_t>(n) + 1, 7);
    aluRow(AluOp::Multiply, a.data(), a.data(), out.data(), n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(out[static_cast<size_t>(i)], 4.0f);
    ASSERT_EQ(out.back(), 7.0f);
  }
}

// The documented order, word for word.
template <class T, class Op> T reference(const std::vector<T> &a, Op op) {
  std::vector<T> lanes(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(64, a.size())));
  for (size_t i = 64; i < a.size(); ++i)
    lanes[i % 64] = op(lanes[i % 64], a[i]);
  for (size_t half = 32; half; half /= 2)
    for (size_t j = 0; j < half && j + half < lanes.size(); ++j)
      lanes[j] = op(lanes[j], lanes[j + half]);
  return lanes[0];
}

TEST(Alu, reductionsInTheDocumentedOrderOnEveryTarget) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (size_t n : {1, 2, 3, 5, 8, 16, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 191, 192, 1000, 2048}) {
    std::vector<float> a(n);
    for (float &x : a)
      x = normal(random);
    if (n == 100)
      a[77] = kNaN;
    if (n == 48)
      for (float &x : a)
        x = std::copysign(kInf, x);
    std::vector<int32_t> ints(n);
    for (size_t i = 0; i < n; ++i)
      ints[i] = std::bit_cast<int32_t>(a[i]);
    const int64_t count = static_cast<int64_t>(n);
    test::onEachTarget([&] {
      for (AluOp op : {AluOp::Add, AluOp::Multiply, AluOp::Max, AluOp::Min, AluOp::AbsMax, AluOp::AbsMin, AluOp::BitXor})
        ASSERT_EQ(bits(reduceRow(op, a.data(), count)), bits(reference(a, [op](float x, float y) { return alu(op, x, y); })))
            << name(op) << " " << n;
      float sum = reduceRow(AluOp::Add, a.data(), count);
      ASSERT_EQ(bits(reduceRow(AluOp::Average, a.data(), count)),
                bits(std::isnan(sum) ? kNaN : sum / static_cast<float>(n)));
      if (n > 1) {
        float rest = reduceRow(AluOp::Add, a.data() + 1, count - 1);
        ASSERT_EQ(bits(reduceRow(AluOp::Subtract, a.data(), count)), bits(alu(AluOp::Subtract, a[0], rest)));
      }
      for (bool isUnsigned : {false, true})
        for (AluOp op : {AluOp::Add, AluOp::Multiply, AluOp::Max, AluOp::Min, AluOp::BitAnd, AluOp::BitOr})
          ASSERT_EQ(reduceRowInt(op, ints.data(), count, isUnsigned),
                    reference(ints, [=](int32_t x, int32_t y) { return aluInt(op, x, y, isUnsigned); }));
    });
  }
  const float one = 5;
  EXPECT_EQ(reduceRow(AluOp::LogicalAnd, &one, 1), 1.0f);
  EXPECT_THROW(reduceRow(AluOp::Power, &one, 1), Error);
}

} // namespace
