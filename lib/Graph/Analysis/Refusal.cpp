#include "Refusal.h"
#include "glia/Dialect/Nisa.h"

namespace glia::emit {

Diagnostic refusalAt(mlir::Location place, std::string code, std::string message, std::string advice) {
  const nisa::Origin o = nisa::originOf(place);
  Diagnostic d;
  d.code = std::move(code);
  d.message = std::move(message);
  d.advice = std::move(advice);
  d.place = {o.file, o.line, 0};
  return d;
}

} // namespace glia::emit
