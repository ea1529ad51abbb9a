// Rules found before anything is placed: at the Python line, with the operand's name, each once, and only real ones.
#include "CodeGen/KernelTrace.h"
#include "glia/CodeGen/Compile.h"

#include <gtest/gtest.h>

using namespace glia;
using Codes = std::vector<std::string>;

TEST(CheckKernel, SeveralProblemsEachAtItsLine) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {128, 64}), b = k.sbuf("b", DType::F32, {64, 64}),
            p = k.psum("p", DType::F32, {64, 64});
  k.line = 30;
  k.binary("add", k.all(a), k.all(a), k.all(b)); // shapes
  k.line = 20;
  k.binary("add", k.box(a, 48, 112, 0, 8), k.box(b, 0, 64, 0, 8), k.box(b, 0, 64, 8, 16)); // 64 partitions from 48 on
  k.line = 10;
  k.emit("dma_copy", {k.all(b), k.all(p)}); // PSUM
  nisa::Kernel kernel = k.finish();
  const std::vector<Diagnostic> found = checkKernel(kernel);
  ASSERT_EQ(codesOf(found), (Codes{"ENGINE-REACH", "PARTITION-START", "SAME-SHAPE"}));
  EXPECT_EQ(found[0].place.line, 10u);
  EXPECT_EQ(found[1].place.line, 20u);
  EXPECT_EQ(found[1].place.file, "kernel.py");
  EXPECT_NE(found[1].message.find("`a` (dst)"), std::string::npos) << found[1].message;
  EXPECT_EQ(found[2].place.line, 30u);
  EXPECT_FALSE(found[2].advice.empty());
}

TEST(CheckKernel, UnplacedTensorsDoNotMeet) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {64, 64}), b = k.sbuf("b", DType::F32, {64, 64});
  k.binary("add", k.box(a, 0, 64, 1, 33), k.box(b, 0, 64, 0, 32), k.box(b, 0, 64, 32, 64));
  nisa::Kernel kernel = k.finish();
  EXPECT_EQ(codesOf(checkKernel(kernel)), Codes{});
}

TEST(CheckKernel, PlacedTensorsDo) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {64, 64}, 0, 0), b = k.sbuf("b", DType::F32, {64, 64}, 0, 4);
  k.emit("tensor_copy", {k.all(a), k.all(b)});
  nisa::Kernel kernel = k.finish();
  EXPECT_EQ(codesOf(checkKernel(kernel)), Codes{"OPERAND-OVERLAP"});
}

TEST(CheckKernel, AllocationsThatFitNowhere) {
  KernelTrace k;
  k.sbuf("wide", DType::F32, {128, 100000});
  k.psum("tall", DType::F32, {129, 4});
  k.psum("odd", DType::F32, {128, 4}, 0, 6);
  nisa::Kernel kernel = k.finish();
  EXPECT_EQ(codesOf(checkKernel(kernel)), (Codes{"ALLOC-BOUNDS", "ALLOC-BOUNDS", "ALLOC-ALIGN"}));
}

TEST(CheckKernel, OneLineManyInstructions) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {128, 64}), b = k.sbuf("b", DType::F32, {64, 64});
  k.line = 5;
  for (int i = 0; i < 4; ++i)
    k.emit("tensor_copy", {k.all(a), k.all(b)});
  nisa::Kernel kernel = k.finish();
  const std::vector<Diagnostic> found = checkKernel(kernel);
  ASSERT_EQ(codesOf(found), Codes{"SAME-SHAPE"});
  ASSERT_EQ(found[0].notes.size(), 1u);
  EXPECT_NE(found[0].notes[0].find("3 more"), std::string::npos);
}

TEST(CheckKernel, PatternsTheMachineDoesNotHave) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {8, 64}), b = k.sbuf("b", DType::F32, {4, 64});
  SlotValue v = k.all(a);
  v.tensor.dims = {32, 2, 16, 2, 8, 2, 4, 2, 1, 2};
  k.emit("memset", {v});
  const int r = k.t.makeRegister();
  k.emit("memset", {k.plus(k.plus(k.plus(k.box(a, 0, 8, 0, 1), r, 4), r, 8), r, 12)});
  k.emit("tensor_copy", {k.all(a), k.all(b)}); // the rest is looked at all the same
  nisa::Kernel kernel = k.finish();
  EXPECT_EQ(codesOf(checkKernel(kernel)), (Codes{"NISA-FORM", "NISA-FORM", "SAME-SHAPE"}));
}

TEST(CheckKernel, WhatTheTargetDoesNotHave) {
  KernelTrace k("trn1");
  const int x = k.input("x", DType::F32, {32, 16});
  const int a = k.sbuf("a", DType::F32, {32, 16}), idx = k.sbuf("idx", DType::I32, {32, 1});
  k.line = 7;
  SlotValue rows = k.all(x);
  rows.tensor.dims = {16, 32, 1, 16};
  k.emit("dma_copy", {k.all(a), rows, k.none(), k.all(idx)});
  k.line = 8;
  k.emit("tensor_copy", {k.all(a), k.all(a)}, 2); // not on Scalar there
  nisa::Kernel kernel = k.finish();
  const std::vector<Diagnostic> found = checkKernel(kernel);
  EXPECT_EQ(codesOf(found), (Codes{"DMA-INDEX", "TARGET-FEATURE"}));
  EXPECT_EQ(found[0].place.line, 7u);
}

TEST(CheckKernel, MissingSlotsAreNamed) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {8, 64});
  k.line = 3;
  k.emit("tensor_copy", {k.all(a)});
  nisa::Kernel kernel = k.finish();
  const std::vector<Diagnostic> found = checkKernel(kernel);
  ASSERT_EQ(codesOf(found), Codes{"NISA-FORM"});
  EXPECT_NE(found[0].message.find("`src`"), std::string::npos);
  EXPECT_EQ(found[0].place.line, 3u);
}

TEST(CheckKernel, TheKernelStaysAsItWas) {
  KernelTrace k;
  const int a = k.sbuf("a", DType::F32, {32, 32}), p = k.psum("p", DType::F32, {32, 32});
  k.matmul(k.all(p), k.all(a), k.all(a));
  nisa::Kernel kernel = k.finish();
  const std::string before = kernel.text();
  EXPECT_EQ(codesOf(checkKernel(kernel)), Codes{});
  EXPECT_EQ(kernel.text(), before);
}
