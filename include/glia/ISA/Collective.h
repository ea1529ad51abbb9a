// What ranks do together: kinds of exchange, who takes part in them, and what each rank gets. docs/ordering.md ("Ranks") says when.
#pragma once
#include "glia/Support/DType.h"
#include "glia/Support/EnumNames.h"
#include "glia/Target/CollectiveKind.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace glia {

struct InstrDef;

const EnumNames &collectiveKindNames(); // "all_reduce" ...
const EnumNames &collectiveOpNames();   // "add" ...

bool isCollective(const InstrDef &def);

// One exchange, as every rank that takes part says it.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveOp op = CollectiveOp::Add; // of kinds that combine
  DType dtype = DType::F32;
  int64_t elements = 0; // of what a rank gives
  int ranks = 1;        // of the program
  // Groups of `width` ranks each, one after the other; short ones are filled up with -1. Permute: pairs (width 2) of who gives and who gets.
  int width = 1;
  std::vector<int32_t> groups;
  friend bool operator==(const Collective &, const Collective &) = default;

  bool combines() const { return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter; }
  // Whom a rank meets, in the order in which they are combined or put one behind the other; a permutation is met by all ranks.
  std::vector<int> members(int rank) const;
  int64_t resultElements(size_t members) const;
  std::string text() const; // "all_reduce add of 128 f32 among [0, 1], [2, 3]"
};

// What is wrong with it, whatever the ranks do: empty if nothing.
std::string faultOf(const Collective &c);
// Whether elements of a type can be combined so.
bool combines(CollectiveOp op, DType t);

// What `rank` gets when its members give `sources`, in the order of Collective::members. Floats are combined in fp32, one member after the other,
// and rounded once; integers wrap around.
void combine(const Collective &c, int rank, std::span<const std::span<const std::byte>> sources,
             std::span<std::byte> result);

inline constexpr int kMostRanks = 4096; // a list of an operand is no longer

} // namespace glia
