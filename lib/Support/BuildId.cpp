#include "glia/Support/BuildId.h"
#include "glia/Support/Diagnostic.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace glia {

namespace {

struct Wanted {
  uintptr_t address; // of something in this program or library
  std::string id;
};

// The note that the linker makes of a hash of everything it linked.
std::string idIn(const char *at, size_t size) {
  for (const char *end = at + size; end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)));) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char *name = at + sizeof note, *value = name + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string out;
      for (unsigned i = 0; i < note.n_descsz; ++i)
        out += format("%02x", static_cast<unsigned char>(value[i]));
      return out;
    }
    at = value + (note.n_descsz + 3) / 4 * 4;
  }
  return "";
}

int look(dl_phdr_info *library, size_t, void *argument) {
  auto &wanted = *static_cast<Wanted *>(argument);
  std::string id;
  bool here = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = library->dlpi_phdr[i];
    const uintptr_t start = library->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD)
      here |= wanted.address >= start && wanted.address < start + part.p_memsz;
    else if (part.p_type == PT_NOTE && id.empty())
      id = idIn(reinterpret_cast<const char *>(start), part.p_memsz);
  }
  if (here)
    wanted.id = id;
  return here;
}

} // namespace

std::string buildId() {
  Wanted wanted{reinterpret_cast<uintptr_t>(&buildId), ""};
  dl_iterate_phdr(look, &wanted);
  return wanted.id;
}

} // namespace glia
