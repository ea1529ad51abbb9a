// Bytes that are written before they are read: they are not filled with zeros first, and many of them lie in blocks.
#pragma once
#include "glia/Support/Blocks.h"

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace glia {

template <class T> struct RawAllocator {
  using value_type = T;
  static constexpr size_t kBlock = size_t{4} << 20; // from here on
  RawAllocator() = default;
  template <class U> RawAllocator(const RawAllocator<U> & /*other*/) {}

  T *allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    void *const p = bytes >= kBlock ? takeBlock(bytes, Fill::None) : std::malloc(bytes);
    if (!p)
      throw std::bad_alloc();
    return static_cast<T *>(p);
  }
  void deallocate(T *p, size_t n) {
    if (const size_t bytes = n * sizeof(T); bytes >= kBlock)
      giveBlock(reinterpret_cast<std::byte *>(p), bytes);
    else
      std::free(p);
  }
  template <class U> void construct(U *p) { ::new (static_cast<void *>(p)) U; }
  template <class U, class... Args> void construct(U *p, Args &&...args) {
    ::new (static_cast<void *>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const RawAllocator & /*other*/) const { return true; }
};

using RawBytes = std::vector<std::byte, RawAllocator<std::byte>>;

} // namespace glia
