// Bytes that are written before they are read: they are not filled with zeros first, and large ones lie on large pages.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace glia {

template <class T> struct RawAllocator {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20; // a large one
  RawAllocator() = default;
  template <class U> RawAllocator(const RawAllocator<U> & /*other*/) {}

  T *allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    const bool large = bytes >= 2 * kPage;
    const size_t whole = large ? (bytes + kPage - 1) / kPage * kPage : bytes;
    void *p = whole < bytes ? nullptr : large ? std::aligned_alloc(kPage, whole) : std::malloc(bytes);
    if (!p)
      throw std::bad_alloc();
    if (large)
      madvise(p, whole, MADV_HUGEPAGE);
    return static_cast<T *>(p);
  }
  void deallocate(T *p, size_t /*n*/) { std::free(p); }
  template <class U> void construct(U *p) { ::new (static_cast<void *>(p)) U; }
  template <class U, class... Args> void construct(U *p, Args &&...args) {
    ::new (static_cast<void *>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const RawAllocator & /*other*/) const { return true; }
};

using RawBytes = std::vector<std::byte, RawAllocator<std::byte>>;

} // namespace glia
