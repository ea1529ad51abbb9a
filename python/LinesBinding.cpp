// Tells Python of the lines of some functions while they run, as sys.settrace does of all functions. A kernel's own lines are few beside
// the calls of the front end that they make, and a call of a Python function for each of those takes longer than the kernel.
#include "Bindings.h"

#include <unordered_map>
#include <unordered_set>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

class Lines {
public:
  Lines(nb::object told, nb::object admits, nb::object others)
      : told(std::move(told)), admits(std::move(admits)), others(std::move(others)) {}

  void start() { PyEval_SetTrace(&look, nb::capsule(this).ptr()); }
  static void stop() { PyEval_SetTrace(nullptr, nullptr); }

private:
  nb::object told, admits, others;
  std::unordered_map<PyObject *, std::pair<nb::object, bool>>
      known;                                    // by code, which is held: whether it is one of the others
  std::unordered_set<PyFrameObject *> admitted; // frames that run now

  bool isOther(PyFrameObject *frame) {
    const nb::object code = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(frame)));
    const auto [it, isNew] = known.try_emplace(code.ptr(), code, false);
    if (isNew)
      it->second.second = nb::cast<bool>(others(code));
    return it->second.second;
  }

  void event(PyFrameObject *frame, int what, PyObject *argument) {
    const nb::handle f(reinterpret_cast<PyObject *>(frame));
    if (isOther(frame)) {
      if (what == PyTrace_CALL)
        f.attr("f_trace_lines") = false; // most lines that are run are those of the others
      return;
    }
    if (what == PyTrace_CALL) {
      if (nb::cast<bool>(admits(f)))
        admitted.insert(frame);
      return;
    }
    if (!admitted.contains(frame))
      return;
    const char *name = what == PyTrace_LINE ? "line" : what == PyTrace_RETURN ? "return" : "exception";
    told(f, name, argument ? nb::handle(argument) : nb::handle(Py_None));
    if (what == PyTrace_RETURN)
      admitted.erase(frame);
  }

  static int look(PyObject *self, PyFrameObject *frame, int what, PyObject *argument) {
    try {
      static_cast<Lines *>(PyCapsule_GetPointer(self, nullptr))->event(frame, what, argument);
      return 0;
    } catch (nb::python_error &e) {
      e.restore();
      stop();
      return -1;
    }
  }
};

} // namespace

void bindLines(nb::module_ &m) {
  nb::class_<Lines>(m, "Lines",
                    "Calls told(frame, event, argument) for lines, returns and exceptions of frames that are admitted.")
      .def(nb::init<nb::object, nb::object, nb::object>(), "told"_a, "admits"_a, "others"_a,
           "`admits(frame)` is asked when a function is called, `others(code)` once for its code: of those nothing is told.")
      .def("start", &Lines::start)
      .def_static("stop", &Lines::stop);
}

} // namespace glia
