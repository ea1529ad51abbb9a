// Writes a weighted mean whose scores are made once, and whose weights transfers turn.
#pragma once
#include "PlaceBounds.h"
#include "WeightedOperands.h"

#include <functional>

namespace glia::emit {

// Rows stay on partitions. The Vector engine finds the largest of each tile of scores while it takes them from PSUM to SBUF, where they wait for
// the largest of their group of columns and become weights, whose sums come with them. Transfers turn the weights for the contraction with the
// values, and the Tensor engine those for which transfers have no time. What groups before gave is scaled by what the largest score has grown.
class WeightedTiles {
public:
  WeightedTiles(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind);
  void run();

private:
  using Holds = WeightedOperands::Holds;
  // 128 rows.
  struct Block {
    int64_t first = 0, count = 0;
    int64_t begin = 0, end = 0; // blocks of columns that count for some of the rows
    int64_t others = 0;         // columns that count as `masked` for all of the rows
    // Of the groups so far: the largest score, below zero; the sums of weights, and of weights times values.
    Tile lowered, total, sums;
  };
  // Rows whose weights are multiplied together.
  struct Rows {
    int64_t batch = 0, first = 0, count = 0;
    std::shared_ptr<WeightedOperands::Shared> shared;
    Tile panel; // [contract, 1, depth, rows]
    std::vector<Block> blocks;
    int64_t begin = 0, end = 0; // of the blocks, together
  };
  // Blocks of columns whose weights are multiplied together.
  struct Group {
    std::shared_ptr<Rows> rows;
    int64_t begin = 0, end = 0;
    bool first = false, last = false;
    Tile turned;               // weights: [columns, blocks of rows, blocks of columns, rows]
    Tile other;                // the weights of a column that counts as `masked`: [columns, rows]
    std::vector<Tile> factors; // of what the groups before gave, by blocks of rows
  };
  // What is exponentiated of a block of rows in a group.
  struct Scores {
    std::vector<WeightedOperands::Part> parts;
    bool stand = false; // for columns that count as `masked`
    Tile made, weights; // [rows, columns]
    // The largest: of all parts where Vector goes on from one to the next, else of each part and of what is masked, below zero.
    Tile largest;
  };
  using Steps = std::vector<std::function<void()>>;

  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  WeightedOperands operands;
  double masked;       // what is exponentiated where a condition does not hold
  double byTransfers;  // the share of the weights that transfers turn
  Tile filled, nought; // scores that are `masked`; weights of 0
  // Where a condition does not hold, Vector puts the lowest number in passing. If the factor is exact, what is exponentiated has none then: exp
  // takes it.
  const bool bounded, ranges;
  PlaceBounds bounds;
  const bool goesOn; // Vector finds the largest of several parts without looking at each
  // Places in PSUM, of half a bank or more, so that none of these waits for a gap between others. Where there are none, memory is given out.
  struct Places {
    DType type = DType::F32;
    int64_t columns = 0, from = 0; // of each; the byte of the first
    int64_t count = 0;
    size_t used = 0;
    std::vector<Tile> tiles;
    Tile next(KernelBuilder &k);
  };
  Places scorePlaces, turnedPlaces, sumPlaces;

  void means();
  Tile turnedIn(int64_t columns, int64_t blocks, int64_t rows);
  std::shared_ptr<Rows> rowsAt(int64_t batch, int64_t first) const;
  void load(const Group &g, const Group *before);
  std::vector<WeightedOperands::Part> partsOf(const Group &g, const Block &b) const;
  Steps score(Group &g, size_t block, Steps &turns, Steps &transfers);
  void make(const Group &g, const Block &b, const Scores &s, size_t part);
  void lower(const Group &g, Block &b, const Scores &s);
  void weigh(Group &g, Block &b, Scores &s);
  Steps turn(const Group &g, const Block &b, const std::shared_ptr<Scores> &s, Steps &transfers);
  void weighOthers(Group &g, const Block &b, const Tile &total);
  Steps multiply(Group &g);
  static std::pair<int64_t, int64_t> rowsOf(const Rows &rows, int64_t column);
  static Tile part(const Rows &rows, const Tile &x, int64_t from, int64_t to);
  void addOthers(const Group &g, WeightedSums &sums);
  void finish(const Group &g, WeightedSums &sums);
};

} // namespace glia::emit
