// How a weighted mean is laid out: rows (of which each has its weights), columns (over which they are), what both operands of the scores
// contract, and what the values have beside the columns.
#pragma once
#include "KeptPlaces.h"
#include "Lower/Contract/OperandPanels.h"
#include "WeightedMatch.h"

namespace glia::emit {

inline constexpr int64_t kRowsAtOnce = 512, kRowBlockOf = 128; // rows whose weights are made together; rows of one sum
inline constexpr int64_t kPieces = 3;                          // 16-bit floats that hold an fp32 number
inline constexpr int64_t kScoreColumns = 1024;                 // whose largest score is found at once
inline constexpr int64_t kBank = 512;                          // numbers of a bank of PSUM

inline constexpr int64_t kRowsOfTiles = 256; // rows whose weights are multiplied together, in tiles that are scored once
inline constexpr int64_t kMostGroup = 4096;  // columns whose weights are made together there

inline constexpr int64_t kWidestTurned = 255; // values whose sums PSUM holds beside scores of two orientations
inline constexpr double kLargest = 3e38;      // stands for larger numbers that are not infinite

inline constexpr int64_t kHalf = kContract / 2; // of the array's rows
inline constexpr int64_t kOnHalf = 256;         // columns that lie on one of them

inline int64_t blocksOf(int64_t n, int64_t size = kContract) { return (n + size - 1) / size; }

// Along dimensions that none of the contractions sums over.
struct WeightedAxis {
  int inScores = -1, inResult = -1; // the dimension there
  int64_t count = 1;
};

struct WeightedPlan {
  std::vector<WeightedAxis>
      batch; // slowest first: those that the columns have too, then other rows, which share columns and values
  int64_t batches = 1, sharing = 1; // all of them; neighbours that share columns and values
  WeightedAxis row;
  int column = -1;                              // the dimension of the scores
  int64_t columns = 1, contract = 1, width = 1; // flat sizes
  std::vector<int> widthDims;                   // of the result: the values' own dimensions
  PanelSource rowSide, columnSide, values;      // [contract x rows], [contract x columns], [columns x width]
  DType weights = DType::F32;                   // on chip
  // The partition from which on the operands of the scores have room for the pieces of the largest ones; 0: there is none, and they are
  // subtracted apart.
  int64_t piecesAt = 0;
  std::vector<PlaceCondition> keep;
  // Blocks of rows whose scores go through the steps before their weights are made, with rows on partitions all the time; 0: scores are
  // made in two orientations.
  int64_t together = 0;
  // Columns whose weights are made together, in tiles that are scored once (WeightedTiles.h); 0: another form.
  int64_t group = 0;
  // What is contracted fits half of the array: rows lie on both halves of the partitions, columns on one or the other, and products of both run
  // at the same time.
  bool halves = false;
  double rowFactor = 1;    // the first step, where it is a factor that rows take without a rounding
  int64_t besideBytes = 0; // of SBUF, per partition: tensors of the steps
  // Too much for one piece of code: a run-time loop along one of `batch`, so many of it at a time.
  int loop = -1;
  int64_t step = 1;
  int64_t indexOf(int64_t flat, size_t axis) const; // of a flat index of all of `batch`
  int64_t bytes() const;                            // of SBUF, per partition
  // Blocks of rows that are scored before the weights of one are multiplied, in tiles: more of them where rows are shorter.
  int64_t ahead() const;
  // Blocks of rows that are scored before transfers turn the weights of one, as written: until then their memory is not given away.
  int64_t transfersAhead() const;
  // Of blocks of weights, in tiles, those that transfers turn: with all that they move, they take as long as Vector takes for the scores, or the
  // Tensor engine for its products.
  double byTransfers(const Target &t) const;
  // How far the largest scores are ahead of the weights, in rows that are weighed together, where scores are made in two orientations.
  double foundEarly() const;
  // Of these: what the steps give, of so many blocks of rows and the next ones.
  static int64_t madeBytes(int64_t blocks, int64_t columns);
  int64_t instructions() const; // about, of what is not in a loop or of one iteration
};

int64_t widthOf(const WeightedMean &m); // of its values

// nullopt: not in this form. Tiles are those of the operands of both contractions; without them sizes only.
std::optional<WeightedPlan> planWeightedMean(const WeightedMean &m, const Target &target, const Tile *scoresLeft = nullptr,
                                             const Tile *scoresRight = nullptr, const Tile *values = nullptr);

} // namespace glia::emit
