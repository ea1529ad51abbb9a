// Buffers that exist before their bytes: the framework brings these piece by piece.
#include "Buffer.h"
#include "Calls.h"
#include "ElementTypes.h"

#include <cstring>

namespace glia::pjrt {

class TransferManager {
public:
  explicit TransferManager(Memory &memory) : memory(memory) {}
  ~TransferManager() { // what was never filled never will be
    for (Slot &s : slots)
      if (!s.ready->isDone())
        s.ready->finish(failure(Code::Cancelled, "PJRT-TRANSFER", "the bytes of an array were never brought"));
  }

  struct Slot {
    ElementType type;
    Shape dims;
    CompletionPtr ready;
    StoragePtr storage;
  };
  Memory &memory;
  std::vector<Slot> slots;

  Slot &at(int index) {
    if (index < 0 || index >= static_cast<int>(slots.size()))
      throw failure(Code::InvalidArgument, "PJRT-TRANSFER", format("there is no buffer %d to be filled", index));
    return slots[static_cast<size_t>(index)];
  }
};

void call(ClientCreateBuffersForAsyncHostToDeviceArgs &a) {
  if (!a.memory)
    throw failure(Code::InvalidArgument, "PJRT-DEVICE", "buffers are to be made in no memory");
  auto manager = std::make_unique<TransferManager>(*a.memory);
  for (size_t i = 0; i < a.numShapes; ++i) {
    const ShapeSpec &s = a.shapes[i];
    TransferManager::Slot slot{s.type, Shape(s.dims, s.dims + s.numDims), std::make_shared<Completion>(), nullptr};
    if (i < a.numLayouts && a.layouts && a.layouts[i] &&
        !isRowMajor(slot.dims, stridesOf(*a.layouts[i], slot.dims, bytesPerElement(s.type)), bytesPerElement(s.type)))
      throw failure(Code::Unimplemented, "PJRT-LAYOUT", "an array is to lie on the device other than row by row",
                    "Leave the layout to the platform.");
    slot.storage = std::make_shared<Storage>(a.memory->use, bytesOf(slot.type, slot.dims), slot.ready);
    slot.storage->allocate(Fill::Zero);
    manager->slots.push_back(std::move(slot));
  }
  a.manager = manager.release();
}

void call(TransferManagerDestroyArgs &a) { delete a.manager; }

void call(TransferManagerTransferDataArgs &a) {
  TransferManager::Slot &s = a.manager->at(a.index);
  const std::span<std::byte> to = s.storage->bytes();
  if (s.ready->isDone() || a.offset < 0 || a.size < 0 || static_cast<size_t>(a.offset) > to.size() ||
      static_cast<size_t>(a.size) > to.size() - static_cast<size_t>(a.offset))
    throw failure(Code::InvalidArgument, "PJRT-TRANSFER", "bytes are brought for an array that is full, or outside of it");
  if (a.size)
    std::memcpy(to.data() + a.offset, a.data, static_cast<size_t>(a.size));
  if (a.isLast)
    s.ready->finish();
  a.done = new Event(completed());
}

void call(TransferManagerRetrieveBufferArgs &a) {
  const TransferManager::Slot &s = a.manager->at(a.index);
  a.buffer = new Buffer(s.type, s.dims, a.manager->memory, s.storage);
}

void call(TransferManagerDeviceArgs &a) { a.device = a.manager->memory.device; }
void call(TransferManagerBufferCountArgs &a) { a.count = a.manager->slots.size(); }
void call(TransferManagerBufferSizeArgs &a) { a.size = a.manager->at(a.index).storage->bytes().size(); }

void call(TransferManagerSetBufferErrorArgs &a) {
  TransferManager::Slot &s = a.manager->at(a.index);
  if (!s.ready->isDone())
    s.ready->finish(Failure{a.code, std::string(a.message, a.messageSize)});
}

} // namespace glia::pjrt
