#include "Start.h"
#include "Generate.h"
#include "glia/Program/Assembler.h"
#include "glia/Verify/Verify.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace glia::mutants {

std::vector<Start> smallPrograms() {
  std::vector<Start> out;
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/mutants"))
    if (entry.path().extension() == ".gasm")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto &file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    for (const std::string &target : builtinTargets()) {
      Program p = assemble(text.str(), file.filename().string(), loadTarget(target));
      if (verify(p).ok())
        out.push_back({file.stem().string() + "/" + target, std::move(p)});
    }
  }
  return out;
}

Start generatedProgram(Random &random) {
  static const std::vector<std::string> targets = builtinTargets();
  while (true) {
    const std::string &target = random.pick(targets);
    const uint64_t seed = random.next();
    Random own(seed);
    Program p = generate(loadTarget(target), own);
    if (verify(p).ok())
      return {format("generated from %llu/%s", static_cast<unsigned long long>(seed), target.c_str()), std::move(p)};
  }
}

} // namespace glia::mutants
