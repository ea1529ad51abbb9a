// Arrays on a device: always row by row, in memory of the host that stands for the device's.
#pragma once
#include "Client.h"
#include "Completion.h"
#include "Strides.h"
#include "glia/Support/Blocks.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace glia::pjrt {

// The bytes of an array. Written once, before `ready` is done; there is no memory for them until then, so that calls may run far ahead.
class Storage {
public:
  Storage(std::shared_ptr<MemoryUse> use, int64_t bytes, CompletionPtr ready)
      : ready(std::move(ready)), use(std::move(use)), size(static_cast<size_t>(bytes)) {}
  // Memory of somebody else, who is told when it is not needed any more.
  Storage(std::byte *foreign, int64_t bytes, std::function<void()> release);
  Storage(const Storage &) = delete;
  ~Storage();

  // By who writes the bytes; throws Failure PJRT-MEMORY.
  std::span<std::byte> allocate(Fill fill);
  bool takeOver(Storage &from); // instead: the memory of another one, bytes and all; false if it cannot be had
  // Where the bytes lie or are going to lie, for who waits for them.
  std::byte *place();
  std::span<std::byte> bytes() const { return {start, size}; } // of what is ready
  const CompletionPtr ready;

private:
  std::mutex mutex; // of the memory, until it is there
  std::shared_ptr<MemoryUse> use;
  std::byte *start = nullptr;
  size_t size = 0;
  std::function<void()> release;
};

using StoragePtr = std::shared_ptr<Storage>;

class Buffer {
public:
  Buffer(ElementType type, Shape dims, Memory &memory, StoragePtr storage);

  const ElementType type;
  const Shape dims, minorToMajor;
  Memory &memory;
  const int64_t elementBytes, bytes;

  StoragePtr storage() const; // throws Failure PJRT-DELETED
  bool isDeleted() const;
  bool isReadInPlace();         // it was there, and computed, when that was first asked; the answer stays
  void remove(const char *how); // "deleted" or "donated"
  // Somebody outside reads the memory: it stays, and stays as it is, until let go of, even if the array is deleted or donated.
  void hold(); // throws Failure PJRT-DELETED
  void letGo();

private:
  const StoragePtr &present() const; // with the lock
  mutable std::mutex mutex;
  StoragePtr held;
  const char *gone = nullptr;
  StoragePtr read; // by holders
  std::optional<bool> readInPlace;
  int holders = 0;
};

// Does `f` with the storage when it is ready, now if it is; the event says when that is done, or why it cannot be.
Event *whenReady(const StoragePtr &storage, std::function<void(const Storage &)> f);

} // namespace glia::pjrt
