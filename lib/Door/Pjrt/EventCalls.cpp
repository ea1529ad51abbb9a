#include "Calls.h"
#include "Completion.h"

namespace glia::pjrt {

void call(EventDestroyArgs &a) { delete a.event; }

void call(EventIsReadyArgs &a) { a.isReady = a.event->completion->isDone(); }

static void throwFailure(const Completion &c) {
  if (const Failure *f = c.failure())
    throw *f;
}

void call(EventErrorArgs &a) {
  if (a.event->completion->isDone())
    throwFailure(*a.event->completion);
}

void call(EventAwaitArgs &a) {
  a.event->completion->wait();
  throwFailure(*a.event->completion);
}

void call(EventOnReadyArgs &a) {
  a.event->completion->whenDone([c = a.event->completion, callback = a.callback, argument = a.argument] {
    const Failure *f = c->failure();
    callback(f ? new Failure(*f) : nullptr, argument);
  });
}

} // namespace glia::pjrt
