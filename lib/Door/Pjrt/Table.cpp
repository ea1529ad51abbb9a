// The table of calls that a framework gets.
#include "Calls.h"
#include "Failure.h"

#include <cstring>

namespace glia::pjrt {

namespace {

template <class A>
concept Answered = requires(A &a) { static_cast<void (*)(A &)>(call); };

// A call from outside: nothing is thrown through it.
template <class A> Failure *enter(A &a, const char *name) {
  try {
    if constexpr (Answered<A>)
      call(a);
    else
      throw failure(Code::Unimplemented, "PJRT-CALL", std::string("PJRT_") + name + " is not implemented",
                    "docs/jax.md says what is.");
    return nullptr;
  } catch (...) {
    return new Failure(currentFailure());
  }
}

void destroyError(ErrorDestroyArgs *a) { delete a->error; }

void errorMessage(ErrorMessageArgs *a) {
  a->message = a->error->what();
  a->messageSize = std::strlen(a->error->what());
}

Api makeApi() {
  Api t{};
  t.structSize = sizeof t;
  t.version.structSize = sizeof t.version;
  t.version.major = kMajor, t.version.minor = kMinor;
  t.ErrorDestroy = destroyError;
  t.ErrorMessage = errorMessage;
#define GLIA_PJRT_ENTRY(name, text) t.name = [](name##Args *a) { return enter(*a, text); };
  GLIA_PJRT_CALLS(GLIA_PJRT_ENTRY)
#undef GLIA_PJRT_ENTRY
  return t;
}

} // namespace

void call(ErrorGetCodeArgs &a) { a.code = a.error->code; }

const Api *api() {
  static const Api table = makeApi();
  return &table;
}

} // namespace glia::pjrt
