// Writes a weighted mean whose scores go through steps before the softmax.
#pragma once
#include "ScoreChain.h"
#include "WeightedOperands.h"

#include <functional>

namespace glia::emit {

// Rows stay on partitions: 128 of them at a time get all their scores, which go through the steps once and become weights. The Tensor engine
// turns those, 128 columns at a time, for the contraction with the values. The scores of the next rows are made while the weights of these are
// turned.
class WeightedRows {
public:
  WeightedRows(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind,
               std::vector<std::vector<Tile>> tensors);
  void run();

private:
  struct Rows {
    int64_t batch = 0, first = 0, count = 0;
    std::shared_ptr<WeightedOperands::Shared> shared;
    Tile panel;                 // [contract, 1, depth, rows]
    int64_t at = 0;             // of the first row, in the panel
    int64_t begin = 0, end = 0; // blocks of columns that count for some of the rows
    Tile made;                  // [rows, columns of these blocks, and 128 that stand for all others if there are some]
    Tile lowered;               // the largest of each row, below zero
  };
  using Steps = std::vector<std::function<void()>>;

  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  WeightedOperands operands;
  ScoreChain chain;
  double masked; // before the factor
  Tile identity; // on chip, where weights of fp32 are turned by products

  void means();
  bool others(const Rows &rows) const { return rows.begin > 0 || rows.end < blocksOf(p.columns); }
  int64_t columnsOf(const Rows &rows) const; // that count
  void score(Rows &rows, Steps &steps);
  void weigh(Rows &rows, Steps &steps);
  Tile weightsOf(const Rows &rows);
  void turn(const Tile &out, const Tile &weights);
};

} // namespace glia::emit
