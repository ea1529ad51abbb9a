#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <cstring>

namespace glia {

enum { PREFIX, SRC };

static std::string valueText(DType t, const std::byte *element) {
  switch (t) {
  case DType::I64: {
    int64_t v;
    std::memcpy(&v, element, 8);
    return format("%lld", (long long)v);
  }
  case DType::U64: {
    uint64_t v;
    std::memcpy(&v, element, 8);
    return format("%llu", (unsigned long long)v);
  }
  case DType::I32: {
    int32_t v;
    std::memcpy(&v, element, 4);
    return format("%d", v);
  }
  case DType::U32: {
    uint32_t v;
    std::memcpy(&v, element, 4);
    return format("%u", v);
  }
  default: return format("%.9g", toF32(t, element));
  }
}

INSTRUCTION(device_print, "Prints a tensor with a prefix: a line with its place and type, then one line per partition.") {
  def.source("nki.language API reference, device_print; KLR Operators.lean; form of the text chosen")
      .engines({Engine::Tensor, Engine::Vector, Engine::Scalar, Engine::GpSimd})
      .flow(Flow::None)
      .slot("prefix", SlotKind::Text, "printed first")
      .slot("src", SlotKind::In, "what is printed, in SBUF or PSUM");
  def.execute([](Exec &x) {
    const Region &src = x.region(SRC);
    const int size = sizeOf(src.dtype);
    std::string text = format("%s core %d %s[%d, %lld]\n", std::string(x.text(PREFIX)).c_str(), x.core,
                              std::string(name(src.dtype)).c_str(), src.partitions, (long long)src.elements);
    for (int p = 0; p < src.partitions; ++p) {
      const std::byte *row = x.readRaw(SRC, p);
      for (int64_t i = 0; i < src.elements; ++i)
        text += (i ? " " : "") + valueText(src.dtype, row + i * size);
      text += "\n";
    }
    if (x.printed)
      *x.printed += text;
  });
  // Not public: as long as reading the tensor once (assumed).
  def.cost([](const CostQuery &q) { return q.pipelined(q.elements(SRC)); });
}

} // namespace glia
