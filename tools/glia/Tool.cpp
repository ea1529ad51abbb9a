#include "FileKind.h"
#include "Tool.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Program/Decode.h"
#include "glia/Support/File.h"
#include "glia/Verify/VerifyRanks.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace glia::tool {

static nlohmann::json toJson(const Diagnostic &d) {
  static constexpr const char *kSeverity[] = {"error", "warning", "note"};
  return {{"severity", kSeverity[static_cast<int>(d.severity)]},
          {"code", d.code},
          {"message", d.message},
          {"file", d.place.file},
          {"line", d.place.line},
          {"column", d.place.column},
          {"context", d.context},
          {"value", d.value},
          {"limit", d.limit},
          {"advice", d.advice},
          {"notes", d.notes}};
}

// Names may hold any bytes; JSON is UTF-8.
std::string asText(const nlohmann::ordered_json &j) {
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print(const Tool &tool, const std::vector<Diagnostic> &diagnostics) {
  std::string out;
  if (tool.jsonDiagnostics) {
    nlohmann::json list = nlohmann::json::array();
    for (const Diagnostic &d : diagnostics)
      list.push_back(toJson(d));
    out = asText(nlohmann::json{{"diagnostics", list}});
  } else {
    for (const Diagnostic &d : diagnostics)
      out += render(d) + "\n";
  }
  std::cerr << out;
}

void write(std::string_view text) {
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::cout.flush();
  if (!std::cout)
    throw Error("FILE-WRITE", std::string("cannot write to standard output: ") + std::strerror(errno));
}

void checkFolder(const std::string &output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw Error("FILE-WRITE", "cannot write " + output + ": there is no folder " + folder.string());
}

std::string grouped(uint64_t n) {
  std::string s = std::to_string(n);
  for (size_t i = s.size(); i > 3; i -= 3)
    s.insert(i - 3, ",");
  return s;
}

Program loadProgram(const std::string &path, const std::string &target) {
  std::shared_ptr<const Target> chosen = target.empty() ? nullptr : loadTarget(target);
  const FileBytes f = readFile(path);
  for (const char *ending : {".mlir", ".mlirbc", ".pb", ".nisa"})
    if (path.ends_with(ending) && !looksLikeContainer(f.bytes))
      throw Error("PROGRAM-FILE", path + " is a graph or a kernel, not a program",
                  "Make a program of it first: glia compile " + path + " -o program.glia");
  refuseScript(path);
  const bool text = path.ends_with(".gasm") || (!looksLikeContainer(f.bytes) && !path.ends_with(".glia"));
  Progress progress(text ? "assembling" : "opening");
  if (text && f.text().find('\0') != std::string_view::npos)
    throw Error("PROGRAM-FILE", path + " is neither a program file nor the text of a program",
                "`glia asm` and `glia compile` make programs.");
  if (text)
    return assemble(f.text(), path, chosen);
  Program p = load(path);
  if (chosen) {
    p.target = chosen;
    checkStructure(p); // another target has other registers
  }
  return p;
}

bool verified(const Tool &tool, const Program &p, bool requireProved) {
  Progress progress("verifying " + grouped(p.instructionCount()) + " instructions");
  VerifyOptions options;
  options.requireProved = requireProved;
  const VerifyResult r = verifyRanks(p, options);
  if (!r.ok())
    print(tool, r.diagnostics);
  return r.ok();
}

Progress::Progress(std::string text) : what(std::move(text)) {
  if (!::isatty(2))
    return;
  thread = std::thread([this] {
    std::unique_lock guard(lock);
    bool shown = false;
    for (int seconds = 1; !wake.wait_for(guard, std::chrono::seconds(1), [this] { return stop; }); ++seconds)
      if (seconds >= 2) {
        std::cerr << "\r\033[K" << what << ": " << seconds << " s " << std::flush;
        shown = true;
      }
    if (shown)
      std::cerr << "\r\033[K" << std::flush;
  });
}

void Progress::say(std::string text) {
  const std::lock_guard guard(lock);
  what = std::move(text);
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    const std::lock_guard guard(lock);
    stop = true;
  }
  wake.notify_one();
  thread.join();
}

} // namespace glia::tool
