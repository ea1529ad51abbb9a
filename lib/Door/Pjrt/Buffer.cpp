#include "Buffer.h"
#include "ElementTypes.h"

#include <cstdlib>
#include <new>

namespace glia::pjrt {

std::span<std::byte> Storage::allocate() {
  use->take(static_cast<int64_t>(size));
  start = static_cast<std::byte *>(std::calloc(std::max<size_t>(size, 1), 1));
  if (!start) {
    use->give(static_cast<int64_t>(size));
    throw std::bad_alloc();
  }
  return bytes();
}

bool Storage::takeOver(Storage &from) {
  if (!from.use || from.use != use || from.size != size)
    return false;
  std::swap(start, from.start); // what is taken stays taken
  return true;
}

Storage::Storage(std::byte *foreign, int64_t bytes, std::function<void()> release)
    : ready(completed()), start(foreign), size(static_cast<size_t>(bytes)), release(std::move(release)) {}

Storage::~Storage() {
  if (use && start) {
    std::free(start);
    use->give(static_cast<int64_t>(size));
  }
  if (release)
    release();
}

static Shape descending(size_t rank) {
  Shape out;
  for (size_t i = rank; i-- > 0;)
    out.push_back(static_cast<int64_t>(i));
  return out;
}

Buffer::Buffer(ElementType type, Shape dims, Memory &memory, StoragePtr storage)
    : type(type), dims(std::move(dims)), minorToMajor(descending(this->dims.size())), memory(memory),
      elementBytes(bytesPerElement(type)), bytes(bytesOf(type, this->dims)), held(std::move(storage)) {}

StoragePtr Buffer::storage() const {
  const std::lock_guard lock(mutex);
  if (!held)
    throw failure(Code::InvalidArgument, "PJRT-DELETED", std::string("the array was ") + gone,
                  "Do not use an array after it was deleted, or given to a function that takes it over (donate_argnums).");
  return held;
}

bool Buffer::isDeleted() const {
  const std::lock_guard lock(mutex);
  return !held;
}

void Buffer::remove(const char *how) {
  StoragePtr last; // let go of without the lock
  const std::lock_guard lock(mutex);
  last.swap(held);
  if (!gone)
    gone = how;
}

bool Buffer::isHeld() const {
  const std::lock_guard lock(mutex);
  return holders > 0;
}

void Buffer::hold(int change) {
  const std::lock_guard lock(mutex);
  holders += change;
}

Event *whenReady(const StoragePtr &storage, std::function<void(const Storage &)> f) {
  if (storage->ready->isDone()) {
    if (const Failure *bad = storage->ready->failure())
      return new Event(completed(*bad));
    f(*storage);
    return new Event(completed());
  }
  auto done = std::make_shared<Completion>();
  storage->ready->whenDone([storage, f = std::move(f), done] {
    if (const Failure *bad = storage->ready->failure())
      return done->finish(*bad);
    f(*storage);
    done->finish();
  });
  return new Event(done);
}

} // namespace glia::pjrt
