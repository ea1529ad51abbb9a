// Writes a value made of pieces to HBM: in as few and as long transfers as its layout allows, through SBUF where a transfer
// would go element by element.
#pragma once
#include "MovementPieces.h"
#include "MovementTransfer.h"

#include <functional>
#include <map>

namespace glia::emit {

class MovementWriter {
public:
  // The tensors that pieces read, as elements of the given type.
  using Source = std::function<Place(const Piece &, DType)>;
  MovementWriter(KernelBuilder &k, Source source) : k(k), source(std::move(source)) {}

  // `to` is row-major or a box of a row-major tensor: its dims say how the indices of the pieces lie.
  void write(const Place &to, const Pieces &pieces);

private:
  struct Side { // one dimension of a box: of the output, how its indices lie
    int64_t count = 1, stride = 1;
    bool whole = false; // pieces meet along it: a tile holds all of it
  };
  struct Box {
    Place to;
    std::vector<Side> dims;
    Pieces pieces;
    bool covers(const Piece &p) const;
  };
  struct Blocks { // what one partition holds, per dimension
    std::vector<int64_t> size;
    double time = 0; // ns, estimated
  };
  struct Cells; // of a grid of blocks, those that one tile holds

  KernelBuilder &k;
  Source source;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, Tile> numbers; // filled tiles, by elements and type

  int64_t bytes(const Box &b) const { return sizeOf(b.to.tile.dtype); }
  void split(Box b);
  void cut(const Box &b, size_t dim);
  void leaf(Box b);
  double directTime(const Box &b) const;
  void direct(const Box &b);
  Blocks chooseBlocks(const Box &b) const;
  std::vector<int64_t> blocksFor(const Box &b, int64_t run, int64_t most) const;
  double blockTime(const Box &b, const std::vector<int64_t> &size) const;
  void assemble(const Box &b, const std::vector<int64_t> &size);
  void assembleGrid(const Box &b, const std::vector<int64_t> &size);
  void assembleTile(const Box &b, const std::vector<int64_t> &size, const std::vector<Cells> &cells, int64_t partitions);
  void bring(const Tile &tile, const Piece &p, const Box &b, const std::vector<int64_t> &size,
             const std::vector<Cells> &cells);
};

} // namespace glia::emit
