#include "RankMessages.h"

#include <cstring>

namespace glia::sim {

namespace {

class Writer {
public:
  RankNetwork::Message out;
  void bytes(const void *data, size_t n) {
    const auto *p = static_cast<const std::byte *>(data);
    out.insert(out.end(), p, p + n);
  }
  template <class T> void value(T v) { bytes(&v, sizeof v); }
  void list(const void *data, size_t count, size_t each) {
    value<uint64_t>(count);
    bytes(data, count * each);
  }
};

class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : rest(bytes) {}
  bool ok = true;
  void bytes(void *to, size_t n) {
    if (!(ok = ok && n <= rest.size()))
      return;
    if (n)
      std::memcpy(to, rest.data(), n);
    rest = rest.subspan(n);
  }
  template <class T> T value() {
    T v{};
    bytes(&v, sizeof v);
    return v;
  }
  template <class List> void list(List &out) {
    const auto n = value<uint64_t>();
    if (!(ok = ok && n <= rest.size() / sizeof(typename List::value_type)))
      return;
    out.resize(n);
    bytes(out.data(), n * sizeof(typename List::value_type));
  }
  std::span<const std::byte> all() { // one list, as it lies there
    const auto n = value<uint64_t>();
    ok = ok && n == rest.size();
    return rest;
  }

private:
  std::span<const std::byte> rest;
};

} // namespace

RankNetwork::Message encode(const RankMessage &m) {
  Writer w;
  w.out.reserve(m.data.size() + m.text.size() + 256);
  w.value(m.kind);
  w.value(m.run);
  w.value(m.rank);
  w.value(m.visit);
  w.value(m.what.kind);
  w.value(m.what.op);
  w.value(m.what.dtype);
  w.value(m.what.elements);
  w.value<int32_t>(m.what.ranks);
  w.value<int32_t>(m.what.width);
  w.list(m.what.groups.data(), m.what.groups.size(), sizeof(int32_t));
  w.list(m.text.data(), m.text.size(), 1);
  w.list(m.data.data(), m.data.size(), 1);
  return std::move(w.out);
}

std::optional<RankMessage> decode(RankNetwork::Message bytes) {
  RankMessage m;
  m.held = std::move(bytes);
  Reader r(m.held);
  m.kind = r.value<RankMessage::Kind>();
  m.run = r.value<uint64_t>();
  m.rank = r.value<int32_t>();
  m.visit = r.value<uint64_t>();
  m.what.kind = r.value<CollectiveKind>();
  m.what.op = r.value<CollectiveOp>();
  m.what.dtype = r.value<DType>();
  m.what.elements = r.value<int64_t>();
  m.what.ranks = r.value<int32_t>();
  m.what.width = r.value<int32_t>();
  r.list(m.what.groups);
  r.list(m.text);
  m.data = r.all();
  return r.ok && m.kind <= RankMessage::Output ? std::optional(std::move(m)) : std::nullopt;
}

} // namespace glia::sim
