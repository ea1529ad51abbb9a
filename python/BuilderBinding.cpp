// The C++ builder for Python generators of programs. glia/builder.py gives it its Python shape.
#include "Bindings.h"
#include "glia/Program/Builder.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/RefusedTypes.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static Engine engineOf(std::string_view text) {
  for (int e = 0; e < kNumEngines; ++e)
    if (name(static_cast<Engine>(e)) == text)
      return static_cast<Engine>(e);
  throw Error("BUILD-ENGINE", format("there is no engine `%s`", std::string(text).c_str()),
              "The engines are tensor, vector, scalar, gpsimd and sync.");
}

static DType typeOf(std::string_view text) {
  if (std::optional<DType> t = parseDType(text))
    return *t;
  if (const std::string_view why = refusedDType(text); !why.empty())
    throw Error("ISA-REFUSED",
                format("the type `%s` is not implemented: %s", std::string(text).c_str(), std::string(why).c_str()));
  throw Error("BUILD-DTYPE", format("there is no data type `%s`", std::string(text).c_str()));
}

using Shape = std::vector<int64_t>;
using Sync = std::tuple<int, int, bool>; // waits: semaphore, value, consume; updates: semaphore, value, unused

static Access explicitView(Builder &b, ObjectRef o, std::string_view dtype, int partitions,
                           const std::vector<std::tuple<int32_t, uint32_t>> &dims, int64_t byteOffset, int partition) {
  if (dims.empty() || dims.size() > kMaxDims)
    throw Error("BUILD-VIEW", format("a view has 1 to %d dimensions, this one has %zu", kMaxDims, dims.size()));
  if (partitions < 0 || partitions > 128)
    throw Error("BUILD-VIEW", format("a view has 0 (HBM) to 128 partitions, this one has %d", partitions));
  Pattern p;
  p.dtype = typeOf(dtype);
  p.partitions = static_cast<uint16_t>(partitions);
  p.rank = static_cast<uint8_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    p.dims[i] = {std::get<0>(dims[i]), std::get<1>(dims[i])};
  return b.view(o, p, byteOffset, partition);
}

struct PyRegister {
  int number = 0;
};

static void setSlot(Emit &e, std::string_view slot, nb::handle v) {
  if (nb::isinstance<Access>(v))
    e.set(slot, nb::cast<Access>(v));
  else if (nb::isinstance<ObjectRef>(v))
    e.set(slot, nb::cast<ObjectRef>(v));
  else if (nb::isinstance<PyRegister>(v))
    e.reg(slot, nb::cast<PyRegister>(v).number);
  else if (PyUnicode_Check(v.ptr()))
    e.set(slot, nb::cast<std::string_view>(v));
  else if (PyLong_Check(v.ptr()))
    e.set(slot, nb::cast<int32_t>(v));
  else if (PyFloat_Check(v.ptr()))
    e.set(slot, static_cast<float>(PyFloat_AsDouble(v.ptr())));
  else if (PyList_Check(v.ptr()) || PyTuple_Check(v.ptr()))
    e.set(slot, nb::cast<std::vector<int32_t>>(v));
  else
    throw Error("BUILD-OPERAND", format("`%s` is given a %s", std::string(slot).c_str(), Py_TYPE(v.ptr())->tp_name),
                "An operand is a view, a number, a register, a name or a list of integers.");
}

static uint32_t emit(Builder &b, int core, std::string_view engine, std::string_view instruction, nb::dict operands,
                     const std::vector<Sync> &waits, const std::vector<Sync> &updates) {
  const Engine e = engineOf(engine);
  Emit instr = b.emit(core, e, instruction);
  const uint32_t index = b.nextIndex(core, e);
  for (auto [slot, value] : operands)
    setSlot(instr, nb::cast<std::string_view>(slot), value);
  for (auto [semaphore, value, consume] : waits)
    instr.when(semaphore, value, consume);
  for (auto [semaphore, value, unused] : updates)
    instr.then(semaphore, value);
  instr.done();
  return index;
}

void bindBuilder(nb::module_ &m) {
  nb::class_<ObjectRef>(m, "ObjectRef").def_ro("index", &ObjectRef::index).def("__eq__", [](ObjectRef a, ObjectRef b) {
    return a == b;
  });
  nb::class_<Access>(m, "Access");
  nb::class_<PyRegister>(m, "Register", "A register of the issuing engine.")
      .def(nb::init<int>(), "number"_a)
      .def_ro("number", &PyRegister::number)
      .def("__repr__", [](const PyRegister &r) { return "r" + std::to_string(r.number); });

  nb::class_<Builder>(m, "Builder")
      .def(
          "__init__",
          [](Builder *self, std::string_view target, int cores) {
            std::shared_ptr<const Target> t = loadTarget(target);
            if (cores < 1 || cores > 64)
              throw Error("BUILD-CORE", format("a program has 1 to 64 cores, not %d", cores));
            new (self) Builder(std::move(t), cores);
          },
          "target"_a, "cores"_a)
      .def(
          "input",
          [](Builder &b, std::string name, std::string_view t, Shape shape, const std::vector<int64_t> &range, bool unique) {
            Tensor x;
            x.name = std::move(name);
            x.dtype = typeOf(t);
            x.shape = std::move(shape);
            x.kind = TensorKind::Input;
            x.uniqueRows = unique;
            if (range.size() == 2) {
              x.hasRange = true;
              x.rangeLo = range[0];
              x.rangeHi = range[1];
            }
            return b.tensor(std::move(x));
          })
      .def("output", [](Builder &b, std::string name, std::string_view t,
                        Shape shape) { return b.output(std::move(name), typeOf(t), std::move(shape)); })
      .def("scratch", [](Builder &b, std::string name, std::string_view t, Shape shape,
                         bool shared) { return b.scratch(std::move(name), typeOf(t), std::move(shape), shared); })
      .def("constant",
           [](Builder &b, std::string name, std::string_view t, Shape shape, nb::bytes data) {
             return b.constant(std::move(name), typeOf(t), std::move(shape),
                               std::as_bytes(std::span(data.c_str(), data.size())));
           })
      .def("allocation",
           [](Builder &b, bool psum, std::string name, std::string_view t, Shape shape, int partition, int64_t byteOffset,
              int core, uint32_t liveFrom, uint32_t liveTo) {
             Allocation a;
             a.name = std::move(name);
             a.space = psum ? Space::Psum : Space::Sbuf;
             a.core = static_cast<uint8_t>(core);
             a.dtype = typeOf(t);
             a.shape = std::move(shape);
             a.partition = partition;
             a.byteOffset = byteOffset;
             a.liveFrom = liveFrom;
             a.liveTo = liveTo;
             return b.allocation(std::move(a));
           })
      .def("semaphore", &Builder::semaphore)
      .def("queue", &Builder::queue)
      .def("view",
           [](Builder &b, ObjectRef o, const std::vector<std::tuple<int64_t, int64_t, int64_t>> &slices) {
             std::vector<Slice> s;
             for (auto [start, stop, step] : slices)
               s.push_back({start, stop, step});
             return b.view(o, std::move(s));
           })
      .def("explicit_view", &explicitView)
      .def("dynamic", [](Builder &b, const Access &a, const PyRegister &r, int64_t scale,
                         bool partition) { return b.dynamic(a, r.number, scale, partition); })
      .def("emit", &emit)
      .def("next_index", [](const Builder &b, int core, std::string_view e) { return b.nextIndex(core, engineOf(e)); })
      .def("patch_label", [](Builder &b, int core, std::string_view e, uint32_t index,
                             uint32_t target) { b.patchLabel(core, engineOf(e), index, target); })
      .def("origin", &Builder::origin)
      .def("finish", [](Builder &b) { return std::make_shared<Program>(b.finish()); });
}

} // namespace glia
