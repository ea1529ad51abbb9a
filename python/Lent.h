#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>
#include <vector>

namespace glia {

// The memory of Python objects, lent for as long as this lives.
class Lent {
public:
  Lent() = default;
  Lent(const Lent &) = delete;
  ~Lent() {
    for (Py_buffer &b : buffers)
      PyBuffer_Release(&b);
  }
  std::span<std::byte> lend(nanobind::handle object, bool write) {
    Py_buffer b;
    if (PyObject_GetBuffer(object.ptr(), &b, write ? PyBUF_WRITABLE : PyBUF_SIMPLE))
      throw nanobind::python_error();
    buffers.push_back(b);
    return {static_cast<std::byte *>(b.buf), static_cast<size_t>(b.len)};
  }

private:
  std::vector<Py_buffer> buffers;
};

} // namespace glia
