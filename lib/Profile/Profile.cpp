#include "glia/ISA/Instruction.h"
#include "glia/Profile/Profile.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

Profile profileOf(const Program &p, const TimingOptions &options) {
  Profile x;
  x.time = simulateTime(p, options);
  if (x.time.timeline.empty())
    return x;
  x.path = criticalPath(x.time);
  x.lines = timeUse(p, x.time, x.path, Grouping::Line);
  x.operations = timeUse(p, x.time, x.path, Grouping::Operation);
  x.kernels = timeUse(p, x.time, x.path, Grouping::Kernel);
  x.waits = waitUse(p, x.time, x.path, options);
  x.memory = memoryUse(p, x.time);
  x.links = linkUse(p, x.time);
  x.proposals = proposals(p, x.time, x.path, x.waits);
  x.roofline = rooflineOf(p, x.time, x.kernels);
  return x;
}

std::string describeInstruction(const Program &p, const InstrPlace &x) {
  const Instr &in = instr(p, x);
  const InstrOrigin &o = p.origins[in.origin];
  std::string s = format("core %d %s #%u %s", x.core, std::string(name(x.engine)).c_str(), x.index,
                         std::string(p.opcodes[in.opcode]->name).c_str());
  const std::string &kernel = p.strings[o.kernel], &file = p.strings[o.file];
  std::string from = kernel;
  if (!file.empty())
    from += (from.empty() ? "" : ", ") + file + (o.line ? ":" + std::to_string(o.line) : "");
  return from.empty() ? s : s + " (" + from + ")";
}

std::string timeText(double ns) {
  return ns < 1e3   ? format("%.0f ns", ns)
         : ns < 1e6 ? format("%.2f us", ns / 1e3)
         : ns < 1e9 ? format("%.3f ms", ns / 1e6)
                    : format("%.3f s", ns / 1e9);
}

std::string sizeText(double bytes) {
  return bytes < 1e3   ? format("%.0f B", bytes)
         : bytes < 1e6 ? format("%.1f kB", bytes / 1e3)
         : bytes < 1e9 ? format("%.2f MB", bytes / 1e6)
                       : format("%.3f GB", bytes / 1e9);
}

} // namespace glia
