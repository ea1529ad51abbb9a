#include "Buffer.h"
#include "Calls.h"
#include "ElementTypes.h"
#include "Fork.h"

#include <cstring>

namespace glia::pjrt {

namespace {

Memory &placeOf(Memory *memory, Device *device) {
  if (!memory && !device)
    throw failure(Code::InvalidArgument, "PJRT-DEVICE", "a buffer is to be made on no device");
  return memory ? *memory : device->memory;
}

void requireRowMajor(const MemoryLayout *layout, const Shape &dims, int64_t elementBytes) {
  if (layout && !isRowMajor(dims, stridesOf(*layout, dims, elementBytes), elementBytes))
    throw failure(Code::Unimplemented, "PJRT-LAYOUT", "an array is to lie on the device other than row by row",
                  "Leave the layout to the platform.");
}

StoragePtr allocate(Memory &memory, int64_t bytes, Fill fill) { // for what is there at once
  auto out = std::make_shared<Storage>(memory.use, bytes, completed());
  out->allocate(fill);
  return out;
}

// A copy of its own: what one of the two is donated to must not change the other.
Buffer *copyTo(const Buffer &from, Memory &memory) {
  requireOwnProcess();
  const StoragePtr source = from.storage();
  auto ready = std::make_shared<Completion>();
  auto copy = std::make_shared<Storage>(memory.use, from.bytes, ready);
  auto out = std::make_unique<Buffer>(from.type, from.dims, memory, copy);
  source->ready->whenDone([source, copy, ready] {
    if (const Failure *bad = source->ready->failure())
      return ready->finish(*bad);
    std::optional<Failure> failed;
    try {
      std::memcpy(copy->allocate(Fill::None).data(), source->bytes().data(), source->bytes().size());
    } catch (...) {
      failed = currentFailure();
    }
    ready->finish(std::move(failed));
  });
  return out.release();
}

} // namespace

void call(ClientBufferFromHostBufferArgs &a) {
  requireOwnProcess();
  Memory &memory = placeOf(a.memory, a.device);
  Shape dims(a.dims, a.dims + a.numDims);
  const int64_t bytes = bytesOf(a.type, dims), element = bytesPerElement(a.type);
  requireRowMajor(a.deviceLayout, dims, element);
  const Shape here = rowMajor(dims, element);
  const Shape there = a.byteStrides && a.numByteStrides ? Shape(a.byteStrides, a.byteStrides + a.numByteStrides) : here;
  if (there.size() != dims.size())
    throw failure(Code::InvalidArgument, "PJRT-LAYOUT", "an array has another number of strides than of dimensions");
  const StoragePtr storage = allocate(memory, bytes, Fill::None);
  copyStrided(storage->bytes().data(), here, static_cast<const std::byte *>(a.data), there, dims, element);
  a.buffer = new Buffer(a.type, std::move(dims), memory, storage);
  a.doneWithHostBuffer = new Event(completed());
}

void call(ClientCreateUninitializedBufferArgs &a) {
  Memory &memory = placeOf(a.memory, a.device);
  Shape dims(a.dims, a.dims + a.numDims);
  requireRowMajor(a.layout, dims, bytesPerElement(a.type));
  const StoragePtr storage = allocate(memory, bytesOf(a.type, dims), Fill::Zero);
  a.buffer = new Buffer(a.type, std::move(dims), memory, storage);
}

void call(ClientCreateViewOfDeviceBufferArgs &a) {
  Memory &memory = placeOf(a.memory, a.device);
  Shape dims(a.dims, a.dims + a.numDims);
  requireRowMajor(a.layout, dims, bytesPerElement(a.type));
  std::function<void()> release;
  if (a.onDelete)
    release = [f = a.onDelete, data = a.data, argument = a.onDeleteArgument] { f(data, argument); };
  auto storage = std::make_shared<Storage>(static_cast<std::byte *>(a.data), bytesOf(a.type, dims), std::move(release));
  a.buffer = new Buffer(a.type, std::move(dims), memory, std::move(storage));
}

void call(BufferDestroyArgs &a) { delete a.buffer; }
void call(BufferElementTypeArgs &a) { a.type = a.buffer->type; }
void call(BufferDimensionsArgs &a) { a.dims = a.buffer->dims.data(), a.numDims = a.buffer->dims.size(); }
void call(BufferUnpaddedDimensionsArgs &a) { a.dims = a.buffer->dims.data(), a.numDims = a.buffer->dims.size(); }
void call(BufferDynamicDimensionIndicesArgs &a) { a.indices = nullptr, a.numIndices = 0; }
void call(BufferOnDeviceSizeInBytesArgs &a) { a.size = static_cast<size_t>(a.buffer->bytes); }
void call(BufferDeviceArgs &a) { a.device = a.buffer->memory.device; }
void call(BufferMemoryArgs &a) { a.memory = &a.buffer->memory; }
void call(BufferDeleteArgs &a) { a.buffer->remove("deleted"); }
void call(BufferIsDeletedArgs &a) { a.isDeleted = a.buffer->isDeleted(); }
// What is there may be read where it lies. While it is computed the answer is no: JAX would wait for it, deaf to Ctrl-C. JAX asks several
// times while it gets an array, and relies on hearing the same.
void call(BufferIsOnCpuArgs &a) { a.isOnCpu = a.buffer->isReadInPlace(); }
void call(BufferIncreaseExternalReferenceCountArgs &a) { a.buffer->hold(); }
void call(BufferDecreaseExternalReferenceCountArgs &a) { a.buffer->letGo(); }

void call(BufferGetMemoryLayoutArgs &a) {
  a.layout.type = LayoutType::Tiled;
  a.layout.tiled.structSize = sizeof(TiledLayout);
  a.layout.tiled.extensions = nullptr;
  a.layout.tiled.minorToMajor = a.buffer->minorToMajor.data();
  a.layout.tiled.minorToMajorSize = a.buffer->minorToMajor.size();
  a.layout.tiled.tileDims = nullptr;
  a.layout.tiled.tileDimSizes = nullptr;
  a.layout.tiled.numTiles = 0;
}

void call(BufferReadyEventArgs &a) { a.event = new Event(a.buffer->storage()->ready); }

void call(BufferUnsafePointerArgs &a) {
  const StoragePtr s = a.buffer->storage();
  s->ready->wait();
  a.pointer = reinterpret_cast<uintptr_t>(s->place());
}

// Whoever asks waits for the bytes by itself.
void call(BufferOpaqueDeviceMemoryDataPointerArgs &a) { a.pointer = a.buffer->storage()->place(); }

void call(BufferCopyToDeviceArgs &a) {
  if (a.device == a.buffer->memory.device)
    throw failure(Code::InvalidArgument, "PJRT-DEVICE", "an array is copied to the device that it is on");
  a.copy = copyTo(*a.buffer, a.device->memory);
}

void call(BufferCopyToMemoryArgs &a) { a.copy = copyTo(*a.buffer, *a.memory); }

void call(BufferToHostBufferArgs &a) {
  Buffer &b = *a.buffer;
  if (!a.data) {
    a.size = static_cast<size_t>(b.bytes);
    return;
  }
  const StoragePtr storage = b.storage();
  if (a.size < static_cast<size_t>(b.bytes))
    throw failure(Code::InvalidArgument, "PJRT-SIZE",
                  format("an array of %lld bytes is copied to memory of %zu", (long long)b.bytes, a.size));
  const Shape here = rowMajor(b.dims, b.elementBytes);
  Shape there = a.layout ? stridesOf(*a.layout, b.dims, b.elementBytes) : here;
  a.event = whenReady(storage, [to = static_cast<std::byte *>(a.data), here, there = std::move(there), dims = b.dims,
                                element = b.elementBytes](const Storage &s) {
    copyStrided(to, there, s.bytes().data(), here, dims, element);
  });
}

void call(BufferCopyRawToHostArgs &a) {
  const StoragePtr storage = a.buffer->storage();
  if (a.offset < 0 || a.size < 0 || a.offset > a.buffer->bytes || a.size > a.buffer->bytes - a.offset)
    throw failure(Code::InvalidArgument, "PJRT-SIZE",
                  format("bytes %lld to %lld of an array of %lld are asked for", (long long)a.offset,
                         (long long)(a.offset + a.size), (long long)a.buffer->bytes));
  a.event = whenReady(storage, [to = a.data, offset = a.offset, size = a.size](const Storage &s) {
    if (size)
      std::memcpy(to, s.bytes().data() + offset, static_cast<size_t>(size));
  });
}

} // namespace glia::pjrt
