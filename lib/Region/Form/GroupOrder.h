// An order of groups in which each comes after those it reads, kept while groups appear, read from each other and become one. Questions
// look only at what stands between two groups in the order, so that they stay cheap in a long program.
#pragma once
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <vector>

namespace glia::emit {

class GroupOrder {
public:
  size_t add(); // a new group at the end; its number
  // `group` reads from `other`. The caller has made sure that `other` does not read from `group`.
  void connect(size_t group, size_t other);
  bool reads(size_t group, size_t other) const;       // directly or not
  bool readsAround(size_t group, size_t other) const; // through a third group
  void merge(size_t into, size_t from);               // neither reads from the other through a third group
  size_t age(size_t group) const { return order.size() - place[group]; } // how far from the end it stands
  // Every group after those that it reads, the earliest made first.
  std::vector<size_t> sorted() const;

private:
  using List = llvm::SmallVector<size_t, 4>;
  std::vector<List> from, to; // what a group reads, who reads it
  std::vector<size_t> place, order;
  mutable std::vector<size_t> seen; // the question in which a group was seen last
  mutable size_t question = 0;

  void collect(size_t start, const std::vector<List> &edges, size_t low, size_t high, std::vector<size_t> &out) const;
};

} // namespace glia::emit
