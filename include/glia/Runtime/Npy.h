// NumPy files: .npy (one array) and .npz (a zip of them), read strictly and written as NumPy does. bf16 and fp8 appear as
// raw two- and one-byte elements ("V2", "V1"), which is what ml_dtypes arrays become when NumPy saves them.
#pragma once
#include "glia/Program/Program.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct NpyArray {
  std::string descr; // "<f4"
  std::vector<int64_t> shape;
  std::vector<std::byte> data; // row-major, whatever the order in the file
};

// `name` is for messages. Throw Error NPY-FORMAT.
NpyArray parseNpy(std::span<const std::byte> bytes, std::string_view name);
std::map<std::string, NpyArray> parseNpz(std::span<const std::byte> bytes, std::string_view name);
std::vector<std::byte> formatNpy(const NpyArray &a);
std::vector<std::byte> formatNpz(const std::map<std::string, NpyArray> &arrays);

// The bytes of `a` for the tensor, if type and shape are its own. Throws Error RUN-INPUT.
std::vector<std::byte> fitTo(const Tensor &t, NpyArray a);
NpyArray toNpy(const Tensor &t, std::vector<std::byte> data);

} // namespace glia
