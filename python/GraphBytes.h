// A graph as Python gives it: its text, or the bytes of a binary form.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <string_view>
#include <variant>

namespace glia {

using GraphBytes = std::variant<std::string_view, nanobind::bytes>;

inline std::string_view bytesOf(const GraphBytes &g) {
  if (const auto *text = std::get_if<std::string_view>(&g))
    return *text;
  const auto &bytes = std::get<nanobind::bytes>(g);
  return {bytes.c_str(), bytes.size()};
}

} // namespace glia
