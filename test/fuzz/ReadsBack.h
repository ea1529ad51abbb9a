// What fuzz targets of texts and files have in common: bytes are refused with an error, or are something whose text reads back as the same.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace glia {

// `read` reads the bytes; `again` what was printed, which must be accepted.
template <class Read, class Again> int readsBack(const uint8_t *data, size_t size, Read &&read, Again &&again) {
  std::string text;
  try {
    auto made = read(std::string_view(reinterpret_cast<const char *>(data), size));
    text = made.text();
  } catch (const Error &e) {
    if (e.diagnostics().empty())
      std::abort();
    return 0;
  }
  if (again(text).text() != text)
    std::abort();
  return 0;
}

} // namespace glia
