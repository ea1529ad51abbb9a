// Bytes that are written before they are read: they are not filled with zeros first, and large ones lie on large pages.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace glia {

constexpr size_t kLargeBlock = size_t{4} << 20;
// Memory of at least kLargeBlock bytes, on large pages. What is given back is kept for a while, as the system would clear it
// first: that can take longer than what is then done with it. Throws std::bad_alloc.
void *takeBlock(size_t bytes);
void giveBlock(void *block, size_t bytes); // as many as were taken

template <class T> struct RawAllocator {
  using value_type = T;
  RawAllocator() = default;
  template <class U> RawAllocator(const RawAllocator<U> & /*other*/) {}

  T *allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    if (bytes >= kLargeBlock)
      return static_cast<T *>(takeBlock(bytes));
    void *p = std::malloc(bytes);
    if (!p)
      throw std::bad_alloc();
    return static_cast<T *>(p);
  }
  void deallocate(T *p, size_t n) {
    if (n * sizeof(T) >= kLargeBlock)
      giveBlock(p, n * sizeof(T));
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
