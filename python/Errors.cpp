// Diagnostics in Python, and the two exceptions that carry them.
#include "Bindings.h"
#include "glia/Support/Diagnostic.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

static const char *severityName(Severity s) {
  static const char *const names[] = {"error", "warning", "note"};
  return names[static_cast<int>(s)];
}

static PyObject *gError = nullptr, *gTrap = nullptr; // live as long as the interpreter

// Names in a damaged file may be any bytes: what is no UTF-8 is shown as \xNN.
static void makeText(std::string &s) {
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
  if (!text.is_valid())
    throw nb::python_error();
  s = nb::cast<std::string>(text);
}

static nb::list toPython(const std::vector<Diagnostic> &ds) {
  nb::list out;
  for (Diagnostic d : ds) {
    for (std::string *s : {&d.code, &d.message, &d.place.file, &d.context, &d.value, &d.limit, &d.advice})
      makeText(*s);
    for (std::string &note : d.notes)
      makeText(note);
    out.append(nb::cast(std::move(d)));
  }
  return out;
}

nb::object raisable(const char *exception, nb::object diagnostics) {
  std::string text;
  for (nb::handle d : diagnostics)
    text += (text.empty() ? "" : "\n") + render(nb::cast<const Diagnostic &>(d));
  nb::object e = nb::borrow(std::string_view(exception) == "Trap" ? gTrap : gError)(text);
  e.attr("diagnostics") = diagnostics;
  return e;
}

void bindErrors(nb::module_ &m) {
  nb::class_<Diagnostic>(m, "Diagnostic", "What is wrong: a code, a sentence, a place, a value with its limit, advice.")
      .def(
          "__init__",
          [](Diagnostic *self, std::string code, std::string message, std::string advice, std::string file, uint32_t line,
             std::string context, std::string value, std::string limit, std::vector<std::string> notes, bool warning,
             uint32_t column) {
            new (self) Diagnostic{std::move(code),    std::move(message), {std::move(file), line, column},
                                  std::move(context), std::move(value),   std::move(limit),
                                  std::move(advice),  std::move(notes),   warning ? Severity::Warning : Severity::Error};
          },
          "code"_a, "message"_a, "advice"_a = "", "file"_a = "", "line"_a = 0, "context"_a = "", "value"_a = "",
          "limit"_a = "", "notes"_a = std::vector<std::string>(), "warning"_a = false, "column"_a = 0)
      .def_ro("code", &Diagnostic::code)
      .def_ro("message", &Diagnostic::message)
      .def_prop_ro("file", [](const Diagnostic &d) { return d.place.file; })
      .def_prop_ro("line", [](const Diagnostic &d) { return d.place.line; })
      .def_prop_ro("column", [](const Diagnostic &d) { return d.place.column; })
      .def_ro("context", &Diagnostic::context)
      .def_ro("value", &Diagnostic::value)
      .def_ro("limit", &Diagnostic::limit)
      .def_ro("advice", &Diagnostic::advice)
      .def_ro("notes", &Diagnostic::notes)
      .def_prop_ro("severity", [](const Diagnostic &d) { return severityName(d.severity); })
      .def("__str__", [](const Diagnostic &d) { return render(d); })
      .def("__repr__", [](const Diagnostic &d) { return "<" + d.code + ": " + d.message + ">"; });

  gError = PyErr_NewExceptionWithDoc("glia.Error", "Bad input or a fault; `.diagnostics` lists what is wrong.",
                                     PyExc_Exception, nullptr);
  gTrap = PyErr_NewExceptionWithDoc(
      "glia.Trap", "A guarded trap: a defined end of a program, such as an index out of range.", gError, nullptr);
  m.def("error_of", [](nb::list diagnostics) { return raisable("Error", diagnostics); });
  m.attr("Error") = nb::borrow(gError);
  m.attr("Trap") = nb::borrow(gTrap);
  nb::register_exception_translator([](const std::exception_ptr &p, void *) {
    try {
      std::rethrow_exception(p);
    } catch (const Error &e) {
      nb::object instance = raisable("Error", toPython(e.diagnostics()));
      PyErr_SetObject(gError, instance.ptr());
    }
  });
}

} // namespace glia
