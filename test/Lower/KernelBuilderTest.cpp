// Kernels written from C++: views, and instructions that compile to proved programs.
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Lower/KernelBuilder.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/Verify.h"

#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>

using namespace glia;
using namespace glia::emit;

namespace {

std::vector<std::byte> bytes(const std::vector<float> &v) {
  std::vector<std::byte> out(v.size() * 4);
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}
std::vector<float> floats(const std::vector<std::byte> &b) {
  std::vector<float> out(b.size() / 4);
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

TEST(Tile, ReshapesWhatLiesTogether) {
  Tile t;
  t.dims = {{12, 2}, {4, 3}, {1, 4}};
  EXPECT_EQ(t.reshaped({6, 4}).shape(), (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(t.reshaped({2, 2, 6}).shape(), (std::vector<int64_t>{2, 2, 6}));
  EXPECT_EQ(t.reshaped({24}).dims[0].stride, 1);
  const Tile columns = t.columns(0, 2);
  EXPECT_THROW(columns.reshaped({12}), std::logic_error);
  EXPECT_EQ(columns.reshaped({6, 2}).dims[0].stride, 4);
  EXPECT_EQ(t.index(1, 2).offset, 8);
  EXPECT_THROW(t.rows(1, 2), std::logic_error);
}

// y = (2x + x) summed over rows, then x transposed by the Tensor engine.
TEST(KernelBuilder, CompilesToAProvedProgram) {
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    KernelBuilder k("k", target);
    const Tile x = k.input("x", DType::F32, {64, 32}), y = k.output("y", DType::F32, {64}),
               z = k.output("z", DType::F32, {32, 64});
    const Tile a = k.sbuf(DType::F32, 64, {32}), b = k.sbuf(DType::F32, 64, {32}), s = k.sbuf(DType::F32, 64, {1});
    k.copy(a, x);
    k.scalar(b, a, "multiply", 2.0f);
    k.tensor(b, b, a, "add");
    k.reduce(s, b, "add");
    k.copy(y.reshaped({64, 1}), s);
    const Tile p = k.psum(32, {64}), t = k.sbuf(DType::F32, 32, {64});
    k.transpose(p, a);
    k.move(t, p);
    k.copy(z, t);
    nisa::Kernel kernel = k.finish();
    ASSERT_TRUE(checkKernel(kernel).empty()) << render(checkKernel(kernel)[0]);
    const Program program = compileKernel(kernel);
    const VerifyResult v = verify(program);
    ASSERT_TRUE(v.ok()) << render(v.diagnostics[0]);
    std::vector<float> in(64 * 32);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(i % 17) - 8;
    const RunResult r = run(program, {{"x", bytes(in)}});
    ASSERT_TRUE(r.ok());
    const std::vector<float> sums = floats(r.outputs.at("y")), turned = floats(r.outputs.at("z"));
    for (int i = 0; i < 64; ++i) {
      float sum = 0;
      for (int j = 0; j < 32; ++j) {
        sum += 3 * in[i * 32 + j];
        EXPECT_EQ(turned[j * 64 + i], in[i * 32 + j]);
      }
      EXPECT_EQ(sums[i], sum);
    }
  }
}

} // namespace
