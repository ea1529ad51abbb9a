#include "Bindings.h"

NB_MODULE(_glia, m) {
  m.doc() = "The machine: see the package glia for the API.";
  glia::bindErrors(m);
  glia::bindData(m);
  glia::bindPrograms(m);
  glia::bindProfiles(m);
  glia::bindBuilder(m);
  glia::bindLines(m);
#ifdef GLIA_COMPILER
  glia::bindKernel(m);
  glia::bindExecution(m);
  glia::bindSequential(m);
  glia::bindLink(m);
  glia::bindTrace(m);
  glia::bindInterpret(m);
  glia::bindGraph(m);
#endif
}
