// An array of plain records that either owns its memory or looks into a mapped file.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace glia {

template <class T> class PodArray {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  size_t size() const { return view.empty() ? own.size() : view.size(); }
  bool empty() const { return size() == 0; }
  const T *data() const { return view.empty() ? own.data() : view.data(); }
  const T &operator[](size_t i) const { return data()[i]; }
  const T *begin() const { return data(); }
  const T *end() const { return data() + size(); }
  std::span<const T> span() const { return {data(), size()}; }

  std::vector<T> &edit() { // for changes: copies a mapped array first
    if (!view.empty()) {
      own.assign(view.begin(), view.end());
      view = {};
    }
    return own;
  }
  void push_back(const T &v) { edit().push_back(v); }
  void look(std::span<const T> mapped) {
    own.clear();
    view = mapped;
  } // the owner of the mapping must outlive this

private:
  std::vector<T> own;
  std::span<const T> view;
};

} // namespace glia
