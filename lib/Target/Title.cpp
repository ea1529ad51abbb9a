#include "glia/Target/Title.h"
#include "TargetFiles.h"
#include "glia/Support/BuiltinFiles.h"

#include <filesystem>
#include <mutex>

namespace glia {

namespace {

// By text, which is all that a target is: it travels with a program, its file does not.
struct Files {
  std::mutex lock;
  std::map<std::string, std::string, std::less<>> names;
};
Files &files() {
  static Files all;
  return all;
}

} // namespace

void rememberFile(const Target &t, std::string_view path) {
  Files &all = files();
  const std::lock_guard guard(all.lock);
  all.names[t.text] = std::filesystem::path(path).filename().string();
}

std::string titleOf(const Target &t) {
  for (const BuiltinFile &f : builtinTargetFiles())
    if (f.text == t.text)
      return t.name;
  Files &all = files();
  const std::lock_guard guard(all.lock);
  const auto it = all.names.find(t.text);
  return t.name + (it == all.names.end() ? " (not the built-in one)" : " (from " + it->second + ")");
}

} // namespace glia
