#include "Failure.h"
#include "glia/Sim/Simulator.h"

#include <new>

namespace glia::pjrt {

namespace {

// The codes of what is right and not implemented, or too large; everything else that is refused is the caller's to change.
Code codeOf(const std::string &name) {
  for (const char *missing : {"GRAPH-UNSUPPORTED", "GRAPH-TYPE", "GRAPH-DYNAMIC", "GRAPH-QUANTISED", "GRAPH-SPARSE",
                              "GRAPH-OPERATION", "GRAPH-DEVICES", "BYTECODE-VERSION"})
    if (name == missing)
      return Code::Unimplemented;
  for (const char *large : {"GRAPH-MEMORY", "RUN-MEMORY", "MEMORY", "GRAPH-SIZE"})
    if (name == large)
      return Code::ResourceExhausted;
  for (const char *ours : {"INTERNAL", "GRAPH-INTERNAL", "GRAPH-DIFFERS"})
    if (name == ours)
      return Code::Internal;
  return Code::InvalidArgument;
}

std::string textOf(const std::vector<Diagnostic> &list) {
  std::string out;
  for (const Diagnostic &d : list)
    out += (out.empty() ? "" : "\n") + render(d);
  return out;
}

} // namespace

Failure failure(Code code, std::string name, std::string message, std::string advice) {
  return {code, textOf(Error(std::move(name), std::move(message), std::move(advice)).diagnostics())};
}

Failure currentFailure() {
  try {
    throw;
  } catch (const Failure &f) {
    return f;
  } catch (const Error &e) {
    return {e.diagnostics().empty() ? Code::Internal : codeOf(e.diagnostics().front().code), textOf(e.diagnostics())};
  } catch (const Interrupted &) {
    return failure(Code::Cancelled, "PJRT-STOPPED", "the work was stopped because the platform is shut down");
  } catch (const std::bad_alloc &) {
    return failure(Code::ResourceExhausted, "MEMORY", "the host ran out of memory",
                   "Use a smaller program or input, or a larger machine.");
  } catch (const std::exception &e) {
    return failure(Code::Internal, "INTERNAL", e.what(), "Please report it with the program.");
  }
}

} // namespace glia::pjrt
