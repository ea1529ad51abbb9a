// Prints docs/timing.md.
#include "Validation.h"

#include "glia/Support/Diagnostic.h"

#include <cstdio>

int main() {
  try {
    std::fputs(glia::validation::report(glia::validation::measure()).c_str(), stdout);
    return 0;
  } catch (const glia::Error &e) {
    for (const glia::Diagnostic &d : e.diagnostics())
      std::fprintf(stderr, "%s\n", glia::render(d).c_str());
    return 1;
  }
}
