#include "GroupOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace glia::emit {

size_t GroupOrder::add() {
  const size_t g = place.size();
  place.push_back(order.size());
  order.push_back(g);
  from.emplace_back();
  to.emplace_back();
  seen.push_back(0);
  return g;
}

// What `edges` lead to from `start` (included), among groups that stand in [low, high].
void GroupOrder::collect(size_t start, const std::vector<List> &edges, size_t low, size_t high,
                         std::vector<size_t> &out) const {
  ++question;
  out.push_back(start);
  seen[start] = question;
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t next : edges[out[i]])
      if (seen[next] != question && place[next] >= low && place[next] <= high) {
        seen[next] = question;
        out.push_back(next);
      }
}

bool GroupOrder::reads(size_t group, size_t other) const {
  if (group == other || place[other] > place[group])
    return false;
  std::vector<size_t> found;
  collect(group, from, place[other], place[group], found);
  return seen[other] == question;
}

bool GroupOrder::readsAround(size_t group, size_t other) const {
  return llvm::any_of(from[group], [&](size_t h) { return h != other && reads(h, other); });
}

void GroupOrder::connect(size_t group, size_t other) {
  if (group == other || llvm::is_contained(from[group], other))
    return;
  from[group].push_back(other);
  to[other].push_back(group);
  if (place[other] < place[group])
    return;
  // `other` and what it reads come first, then `group` and those that read it; together they keep the places that they had.
  std::vector<size_t> before, after;
  const size_t low = place[group], high = place[other];
  collect(other, from, low, high, before);
  collect(group, to, low, high, after);
  const auto byPlace = [&](size_t a, size_t b) { return place[a] < place[b]; };
  std::sort(before.begin(), before.end(), byPlace);
  std::sort(after.begin(), after.end(), byPlace);
  before.insert(before.end(), after.begin(), after.end());
  std::vector<size_t> places;
  for (size_t g : before)
    places.push_back(place[g]);
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < before.size(); ++i) {
    place[before[i]] = places[i];
    order[places[i]] = before[i];
  }
}

void GroupOrder::merge(size_t into, size_t gone) {
  const List reads = from[gone], readers = to[gone];
  from[gone].clear();
  to[gone].clear();
  for (size_t g : reads)
    llvm::erase(to[g], gone);
  for (size_t g : readers)
    llvm::erase(from[g], gone);
  for (size_t g : reads)
    connect(into, g);
  for (size_t g : readers)
    connect(g, into);
}

std::vector<size_t> GroupOrder::sorted() const {
  std::vector<size_t> left(from.size()), out;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t g = 0; g < from.size(); ++g)
    if (left[g] = from[g].size(); left[g] == 0)
      ready.push(g);
  while (!ready.empty()) {
    const size_t g = ready.top();
    ready.pop();
    out.push_back(g);
    for (size_t reader : to[g])
      if (--left[reader] == 0)
        ready.push(reader);
  }
  return out;
}

} // namespace glia::emit
