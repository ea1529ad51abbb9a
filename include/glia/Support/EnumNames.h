// The names of an enumeration's values, for assembly, tables and messages. The index is the value.
#pragma once
#include <span>
#include <string_view>

namespace glia {

struct EnumNames {
  std::string_view type; // "alu_op"
  std::span<const std::string_view> names;
  int find(std::string_view name) const { // -1 if absent
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name)
        return static_cast<int>(i);
    return -1;
  }
};

} // namespace glia
