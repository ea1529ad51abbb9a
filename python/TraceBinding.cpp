// Tracing for Python: the front records a kernel and plays it in here, call by call. Slots cross as plain tuples, read with the
// interpreter's own calls, because there may be a hundred thousand instructions.
#include "Bindings.h"
#include "glia/Dialect/Trace.h"
#include "glia/ISA/Instruction.h"
#include "glia/Support/Diagnostic.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {
namespace {

using nisa::SlotValue;
using nisa::TensorOperand;

// A bad value of a slot: the instruction and the slot are named.
[[noreturn]] void badSlot(const InstrDef &d, size_t slot, const std::string &what) {
  throw Error("TRACE-SLOT",
              format("`%s` of %s: %s", std::string(d.slots[slot].name).c_str(), std::string(d.name).c_str(), what.c_str()));
}

int64_t integerOf(const InstrDef &d, size_t slot, PyObject *o) {
  const long long v = PyLong_Check(o) ? PyLong_AsLongLong(o) : -1;
  if (!PyLong_Check(o))
    badSlot(d, slot, format("an integer is expected, not a %s", Py_TYPE(o)->tp_name));
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    badSlot(d, slot, "the integer has more than 64 bits");
  }
  return v;
}

int32_t integer32(const InstrDef &d, size_t slot, PyObject *o) {
  const int64_t v = integerOf(d, slot, o);
  if (v < INT32_MIN || v > INT32_MAX)
    badSlot(d, slot, format("%lld does not fit 32 bits", (long long)v));
  return static_cast<int32_t>(v);
}

// (handle, dtype, partition, byte offset, partitions, dims, terms)
TensorOperand tensorOf(const nisa::Trace &t, const InstrDef &d, size_t slot, PyObject *o) {
  TensorOperand out;
  out.tensor = t.tensorValue(integer32(d, slot, PyTuple_GET_ITEM(o, 0)));
  const int64_t dtype = integerOf(d, slot, PyTuple_GET_ITEM(o, 1));
  if (dtype < 0 || dtype >= kNumDTypes)
    badSlot(d, slot, format("%lld is no element type", (long long)dtype));
  out.dtype = static_cast<DType>(dtype);
  out.partition = integer32(d, slot, PyTuple_GET_ITEM(o, 2));
  out.byteOffset = integerOf(d, slot, PyTuple_GET_ITEM(o, 3));
  out.partitions = integer32(d, slot, PyTuple_GET_ITEM(o, 4));
  PyObject *dims = PyTuple_GET_ITEM(o, 5), *terms = PyTuple_GET_ITEM(o, 6);
  if (!PyTuple_Check(dims) || !PyTuple_Check(terms) || PyTuple_GET_SIZE(dims) % 2 || PyTuple_GET_SIZE(terms) % 3)
    badSlot(d, slot, "dims are (stride, count ...) and terms are (register, scale, partition ...)");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims); ++i)
    out.dims.push_back(integerOf(d, slot, PyTuple_GET_ITEM(dims, i)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(terms); i += 3)
    out.terms.push_back({t.registerValue(integer32(d, slot, PyTuple_GET_ITEM(terms, i))),
                         integerOf(d, slot, PyTuple_GET_ITEM(terms, i + 1)),
                         integerOf(d, slot, PyTuple_GET_ITEM(terms, i + 2)) != 0});
  return out;
}

SlotValue valueOf(const nisa::Trace &t, const InstrDef &d, size_t slot, PyObject *o) {
  if (o == Py_None)
    return {};
  if (PyTuple_Check(o)) {
    if (PyTuple_GET_SIZE(o) == 7)
      return SlotValue::of(tensorOf(t, d, slot, o));
    if (PyTuple_GET_SIZE(o) == 1)
      return SlotValue::of(t.registerValue(integer32(d, slot, PyTuple_GET_ITEM(o, 0))));
    badSlot(d, slot, format("a tuple of %zd values is neither a tensor nor a register", PyTuple_GET_SIZE(o)));
  }
  if (PyFloat_Check(o))
    return SlotValue::of(static_cast<float>(PyFloat_AS_DOUBLE(o)));
  if (PyLong_Check(o)) {
    const SlotKind k = d.slots[slot].kind;
    if (k == SlotKind::Float || k == SlotKind::Scalar || k == SlotKind::OptScalar)
      return SlotValue::of(static_cast<float>(integerOf(d, slot, o)));
    return SlotValue::of(integer32(d, slot, o));
  }
  if (PyUnicode_Check(o)) {
    const std::string_view text = nb::cast<std::string_view>(nb::handle(o));
    const EnumNames *names = d.slots[slot].names;
    if (!names)
      return SlotValue::of(std::string(text));
    const int at = names->find(text);
    if (at < 0)
      badSlot(d, slot, format("there is no %s `%s`", std::string(names->type).c_str(), std::string(text).c_str()));
    return SlotValue::of(at);
  }
  if (PyList_Check(o)) {
    SlotValue v;
    v.kind = SlotValue::Ints;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
      v.list.push_back(integer32(d, slot, PyList_GET_ITEM(o, i)));
    return v;
  }
  badSlot(d, slot, format("a %s is no value of a slot", Py_TYPE(o)->tp_name));
}

int emit(nisa::Trace &t, std::string_view mnemonic, nb::tuple slots, int engine, int loc, std::string_view name) {
  const InstrDef *d = findInstruction(mnemonic);
  if (!d)
    throw Error("TRACE-INSTRUCTION", format("there is no instruction `%s`", std::string(mnemonic).c_str()));
  const size_t n = slots.size();
  if (n > d->slots.size())
    throw Error("TRACE-SLOT",
                format("%s has %zu slots, and %zu values are given", std::string(mnemonic).c_str(), d->slots.size(), n));
  if (engine < -1 || engine >= kNumEngines)
    throw Error("TRACE-ENGINE", format("there is no engine %d", engine));
  std::vector<SlotValue> values;
  values.reserve(n);
  for (size_t i = 0; i < n; ++i)
    values.push_back(valueOf(t, *d, i, PyTuple_GET_ITEM(slots.ptr(), i)));
  return t.emit(*d, std::move(values), engine, loc, name);
}

DType typeOf(std::string_view name) {
  const std::optional<DType> t = parseDType(name);
  if (!t)
    throw Error("TRACE-DTYPE", format("there is no element type `%s`", std::string(name).c_str()));
  return *t;
}

void checkShape(const std::vector<int64_t> &shape, DType t) {
  int64_t bytes = sizeOf(t);
  for (int64_t n : shape)
    if (n < 1 || n > (int64_t{1} << 40) || __builtin_mul_overflow(bytes, n, &bytes))
      throw Error("TRACE-SHAPE", "a tensor is empty, or too large to address");
}

int tensor(nisa::Trace &t, std::string_view kind, std::string_view name, std::string_view dtype, std::vector<int64_t> shape,
           bool shared, std::optional<nb::bytes> data, int loc) {
  const DType type = typeOf(dtype);
  checkShape(shape, type);
  const std::span<const std::byte> bytes =
      data ? std::as_bytes(std::span(data->c_str(), data->size())) : std::span<const std::byte>();
  return t.tensor(kind, name, type, std::move(shape), shared, bytes, loc);
}

int alloc(nisa::Trace &t, std::string_view space, std::string_view name, std::string_view dtype, std::vector<int64_t> shape,
          int64_t partition, int64_t byte, int loc) {
  if (space != "sbuf" && space != "psum")
    throw Error("TRACE-SPACE", format("`%s` is neither sbuf nor psum", std::string(space).c_str()));
  const DType type = typeOf(dtype);
  checkShape(shape, type);
  return t.alloc(space == "psum" ? Space::Psum : Space::Sbuf, name, type, std::move(shape), partition, byte, loc);
}

} // namespace

void bindTrace(nb::module_ &m) {
  m.def("dtype_code", [](std::string_view name) { return static_cast<int>(typeOf(name)); });
  nb::class_<nisa::Trace>(m, "Trace", "Records a kernel.")
      .def(nb::init<std::string_view, std::string_view, int>(), "kernel"_a, "target"_a, "cores"_a = 1)
      .def("schedule", &nisa::Trace::schedule)
      .def("core", &nisa::Trace::core)
      .def("tensor", &tensor, "kind"_a, "name"_a, "dtype"_a, "shape"_a, "shared"_a = true, "data"_a = nb::none(),
           "loc"_a = 0)
      .def("promise", &nisa::Trace::promise, "input"_a, "range"_a.none(), "unique"_a)
      .def("begin", &nisa::Trace::begin, "output"_a, "input"_a)
      .def("alloc", &alloc, "space"_a, "name"_a, "dtype"_a, "shape"_a, "partition"_a = -1, "byte"_a = -1, "loc"_a = 0)
      .def("register", &nisa::Trace::makeRegister)
      .def("location", &nisa::Trace::location)
      .def("emit", &emit, "mnemonic"_a, "slots"_a, "engine"_a = -1, "loc"_a = 0, "name"_a = "")
      .def("loop", [](nisa::Trace &t, int64_t count, int loc) { return t.loop(count, -1, loc); })
      .def("loop", [](nisa::Trace &t, nb::tuple count, int loc) { return t.loop(0, nb::cast<int>(count[0]), loc); })
      .def("end_loop", &nisa::Trace::endLoop)
      .def("while_", &nisa::Trace::whileLoop)
      .def("end_while", &nisa::Trace::endWhile)
      .def("chain", &nisa::Trace::chain)
      .def("after", &nisa::Trace::after)
      .def_prop_ro("instructions", &nisa::Trace::instructions)
      .def("finish", [](nisa::Trace &t) { return std::make_shared<nisa::Kernel>(t.finish()); });
}

} // namespace glia
