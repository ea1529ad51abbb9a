#include "Buffer.h"
#include "ElementTypes.h"

namespace glia::pjrt {

std::span<std::byte> Storage::allocate(Fill fill) {
  const std::lock_guard lock(mutex);
  if (start) // zeroed, for who waits
    return bytes();
  use->take(static_cast<int64_t>(size));
  try {
    start = takeBlock(size, fill);
  } catch (...) {
    use->give(static_cast<int64_t>(size));
    throw;
  }
  return bytes();
}

bool Storage::takeOver(Storage &from) {
  const std::scoped_lock lock(mutex, from.mutex);
  if (start || !from.use || from.use != use || from.size != size)
    return false;
  std::swap(start, from.start); // what is taken stays taken
  return true;
}

std::byte *Storage::place() {
  if (ready->isDone()) {
    if (const Failure *f = ready->failure())
      throw *f;
    return start;
  }
  return allocate(Fill::Zero).data();
}

Storage::Storage(std::byte *foreign, int64_t bytes, std::function<void()> release)
    : ready(completed()), start(foreign), size(static_cast<size_t>(bytes)), release(std::move(release)) {}

Storage::~Storage() {
  if (use && start) {
    giveBlock(start, size);
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
  return present();
}

const StoragePtr &Buffer::present() const {
  if (!held)
    throw failure(Code::InvalidArgument, "PJRT-DELETED", std::string("the array was ") + gone,
                  "Do not use an array after it was deleted, or given to a function that takes it over (donate_argnums).");
  return held;
}

bool Buffer::isDeleted() const {
  const std::lock_guard lock(mutex);
  return !held;
}

bool Buffer::isReadInPlace() {
  const std::lock_guard lock(mutex);
  if (!readInPlace)
    readInPlace = held && held->ready->isDone();
  return *readInPlace;
}

void Buffer::remove(const char *how) {
  StoragePtr last; // let go of without the lock
  const std::lock_guard lock(mutex);
  last.swap(held);
  if (!gone)
    gone = how;
}

void Buffer::hold() {
  const std::lock_guard lock(mutex);
  read = present();
  ++holders;
}

void Buffer::letGo() {
  StoragePtr last;
  const std::lock_guard lock(mutex);
  if (holders > 0 && --holders == 0)
    last.swap(read);
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
