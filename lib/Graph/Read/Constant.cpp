// The bytes of a constant, whatever form its text had.
#include "glia/Graph/Graph.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace glia::graph {

std::vector<uint8_t> constantBytes(ElementsAttr value) {
  const ShapedType type = value.getShapedType();
  const Type e = type.getElementType();
  const uint64_t bits =
      isa<ComplexType>(e) ? 2 * cast<ComplexType>(e).getElementType().getIntOrFloatBitWidth() : e.getIntOrFloatBitWidth();
  uint64_t bytes = (bits + 7) / 8;
  const uint64_t size = bytes;
  for (int64_t d : type.getShape())
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes) || bytes > (uint64_t(1) << 40))
      throw Error("GRAPH-CONSTANT", "a constant has more than 2^40 bytes");
  std::vector<uint8_t> out;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != bytes)
      throw Error("GRAPH-CONSTANT", "dense_resource<" + resource.getRawHandle().getKey().str() + "> has no fitting bytes");
    out.assign(blob->getData().begin(), blob->getData().end());
    return out;
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    throw Error("GRAPH-CONSTANT", "a constant that is neither dense nor a resource");
  if (!bytes)
    return out;
  out.reserve(bytes);
  if (e.isInteger(1)) { // MLIR may pack these
    for (bool b : dense.getValues<bool>())
      out.push_back(b);
    return out;
  }
  const ArrayRef<char> raw = dense.getRawData();
  const size_t repeats = dense.isSplat() ? bytes / size : 1;
  if (raw.size() * repeats != bytes)
    throw Error("GRAPH-CONSTANT", "a constant whose bytes do not fit its type");
  for (size_t i = 0; i < repeats; ++i)
    out.insert(out.end(), raw.begin(), raw.end());
  return out;
}

} // namespace glia::graph
