#include "glia/Runtime/Npy.h"
#include "glia/Support/Diagnostic.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace glia;

static std::vector<std::byte> bytesOf(const std::string &s) {
  std::vector<std::byte> out(s.size());
  std::memcpy(out.data(), s.data(), s.size());
  return out;
}

static std::vector<std::byte> npy(std::string header, const std::string &data) {
  const uint16_t n = static_cast<uint16_t>(header.size());
  std::string s("\x93NUMPY\x01\x00", 8);
  s.append(reinterpret_cast<const char *>(&n), 2);
  return bytesOf(s + header + data);
}

static std::string codeOf(const std::vector<std::byte> &b) {
  try {
    parseNpy(b, "x.npy");
  } catch (const Error &e) {
    return e.diagnostics()[0].code;
  }
  return "";
}

TEST(Npy, ReadsWhatNumPyWrites) {
  const NpyArray a = parseNpy(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }      \n",
                                  std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12)),
                              "x");
  EXPECT_EQ(a.descr, "<i2");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.data.size(), 12u);
  EXPECT_EQ(static_cast<int>(a.data[10]), 6);
}

TEST(Npy, ColumnMajorBecomesRowMajor) {
  const NpyArray a = parseNpy(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "adbecf"), "x");
  EXPECT_EQ(std::memcmp(a.data.data(), "abcdef", 6), 0);
}

TEST(Npy, WrittenAndReadIsTheSame) {
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {1}, {4}, {2, 2}}) {
    NpyArray a{"|V2", shape, {}};
    a.data.resize(shape.empty() ? 2 : 2 * (shape.size() == 2 ? 4 : shape[0]), std::byte{7});
    const auto file = formatNpy(a);
    EXPECT_EQ((file.size() - a.data.size()) % 64, 0u);
    const NpyArray b = parseNpy(file, "x");
    EXPECT_EQ(b.descr, a.descr);
    EXPECT_EQ(b.shape, a.shape);
    EXPECT_EQ(b.data, a.data);
  }
}

TEST(Npy, BadFilesAreRefused) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(codeOf(npy(good, "ab")), "");
  const auto file = npy(good, "ab");
  for (size_t n = 0; n < file.size(); ++n)
    EXPECT_EQ(codeOf({file.begin(), file.begin() + static_cast<ptrdiff_t>(n)}), "NPY-FORMAT") << n;
  for (const char *header :
       {"{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "{'descr': '|u1', 'shape': (2,), }", "{}", "",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "{'descr': '|u0', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1', 'descr': '|u1', 'shape': (2,)}", "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2 3)}", "{'descr: '|u1'}"})
    EXPECT_EQ(codeOf(npy(header, "ab")), "NPY-FORMAT") << header;
}

TEST(Npy, TypeAndShapeMustFit) {
  Tensor t;
  t.name = "x";
  t.dtype = DType::BF16;
  t.shape = {2};
  const std::vector<std::byte> data(4);
  EXPECT_EQ(fitTo(t, {"<V2", {2}, data}), data);
  EXPECT_EQ(fitTo(t, {"|V2", {2}, data}), data);
  EXPECT_THROW(fitTo(t, {"<f2", {2}, data}), Error);
  EXPECT_THROW(fitTo(t, {"|V2", {2, 1}, data}), Error);
  t.dtype = DType::F32;
  t.shape = {1};
  EXPECT_EQ(fitTo(t, {"<f4", {1}, data}), data);
  EXPECT_THROW(fitTo(t, {">f4", {1}, data}), Error);
  EXPECT_THROW(fitTo(t, {"<i4", {1}, data}), Error);
}

TEST(Npz, WrittenAndReadIsTheSame) {
  const std::map<std::string, NpyArray> arrays = {{"x", {"|u1", {3}, std::vector<std::byte>(3, std::byte{5})}},
                                                  {"y z", {"<f4", {1}, std::vector<std::byte>(4)}}};
  const auto file = formatNpz(arrays);
  const auto back = parseNpz(file, "a.npz");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back.at("x").data, arrays.at("x").data);
  EXPECT_EQ(back.at("y z").descr, "<f4");
  for (size_t n = 0; n < file.size(); ++n)
    EXPECT_THROW(parseNpz(std::span(file).first(n), "a.npz"), Error) << n;
  for (size_t i = 0; i < file.size(); ++i) { // damage is refused or lies where nothing is read; it never crashes
    auto bad = file;
    bad[i] ^= std::byte{0xFF};
    try {
      parseNpz(bad, "a.npz");
    } catch (const Error &) {
    }
  }
}
