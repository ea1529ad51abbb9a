#include "glia/Target/Title.h"
#include "TargetOrigin.h"
#include "glia/Support/BuiltinFiles.h"

#include <mutex>

namespace glia {

namespace {

// By text, which is all that a target is: it travels with a program, its file does not.
struct Origins {
  std::mutex lock;
  std::map<std::string, std::string, std::less<>> words;
};
Origins &origins() {
  static Origins all;
  return all;
}

} // namespace

void rememberOrigin(const Target &t, std::string words) {
  Origins &all = origins();
  const std::lock_guard guard(all.lock);
  all.words[t.text] = std::move(words);
}

std::string titleOf(const Target &t) {
  for (const BuiltinFile &f : builtinTargetFiles())
    if (f.text == t.text)
      return t.name;
  Origins &all = origins();
  const std::lock_guard guard(all.lock);
  const auto it = all.words.find(t.text);
  return t.name + " (" + (it == all.words.end() ? "not the built-in one" : it->second) + ")";
}

} // namespace glia
