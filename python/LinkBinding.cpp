// The linker for Python: calls of kernel objects become one program.
#include "Bindings.h"
#include "glia/Link/Link.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <cstring>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

using TensorTuple = std::tuple<std::string, std::string, std::string, std::vector<int64_t>, std::optional<nb::bytes>>;
using CallTuple = std::tuple<std::shared_ptr<Program>, std::string, std::vector<std::tuple<std::string, std::string, bool>>>;

Tensor tensorOf(const TensorTuple &x) {
  static constexpr std::string_view kKinds[] = {"input", "output", "constant", "scratch"};
  const auto &[kind, name, dtype, shape, data] = x;
  Tensor t;
  t.name = name;
  t.shape = shape;
  const auto *at = std::find(std::begin(kKinds), std::end(kKinds), kind);
  const std::optional<DType> type = parseDType(dtype);
  if (at == std::end(kKinds) || !type)
    throw Error("LINK-BIND",
                format("`%s` is a tensor of unknown kind or type: %s %s", name.c_str(), kind.c_str(), dtype.c_str()));
  t.kind = static_cast<TensorKind>(at - std::begin(kKinds));
  t.dtype = *type;
  if (data) {
    t.data.resize(data->size());
    std::memcpy(t.data.data(), data->c_str(), data->size());
  }
  return t;
}

std::shared_ptr<Program> linkCalls(std::string_view target, const std::vector<TensorTuple> &tensors,
                                   const std::vector<CallTuple> &calls) {
  std::vector<Tensor> ts;
  for (const TensorTuple &t : tensors)
    ts.push_back(tensorOf(t));
  std::vector<LinkCall> list;
  for (const auto &[object, label, bind] : calls) {
    list.push_back({object, label, {}});
    for (const auto &[name, tensor, reshape] : bind)
      list.back().bind.push_back({name, tensor, reshape});
  }
  nb::gil_scoped_release release;
  return std::make_shared<Program>(linkProgram(loadTarget(target), std::move(ts), list));
}

std::shared_ptr<Program> linkObjects(std::string_view target, const std::vector<std::shared_ptr<Program>> &objects) {
  std::vector<LinkCall> list;
  for (const auto &o : objects)
    list.push_back({o, "", {}});
  nb::gil_scoped_release release;
  return std::make_shared<Program>(linkProgram(loadTarget(target), {}, list));
}

} // namespace

void bindLink(nb::module_ &m) {
  m.def("link", &linkObjects, "target"_a, "objects"_a,
        "One program that calls the objects in their order, each with inputs and outputs of its own.");
  m.def("link", &linkCalls, "target"_a, "tensors"_a, "calls"_a,
        "tensors: (kind, name, dtype, shape, data or None); calls: (object, label, [(its name, tensor, may be reshaped)]).");
}

} // namespace glia
