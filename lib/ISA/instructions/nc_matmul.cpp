#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Matrix.h"
#include "glia/Numerics/Gemm.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>

namespace glia {

enum {
  DST,
  STATIONARY,
  MOVING,
  ACCUMULATE,
  TRANSPOSE,
  PERF_MODE,
  TILE_ROW,
  TILE_COL,
  TILE_ROWS,
  TILE_COLS,
  STATIONARY_01,
  MOVING_01
};
enum { NONE, DOUBLE_ROW };

static const EnumNames &perfModes() {
  static constexpr std::string_view kNames[] = {"none", "double_row"};
  static constexpr EnumNames kEnum{"matmul_perf_mode", kNames};
  return kEnum;
}

static bool isWide(DType t) { return t == DType::F32 || t == DType::TF32; }
static bool isFp8(DType t) { return t == DType::F8E4M3 || t == DType::F8E4M3FN || t == DType::F8E5M2; }
static std::string num(int64_t v) { return format("%lld", (long long)v); }
static std::string str(DType t) { return std::string(name(t)); }

// ---- rules -----------------------------------------------------------------------------------------------------------------

static void checkTypes(Check &c, bool exactTranspose) {
  const DType s = c.operand(STATIONARY).dtype(), m = c.operand(MOVING).dtype(), d = c.operand(DST).dtype();
  for (int slot : {STATIONARY, MOVING}) {
    const DType t = c.operand(slot).dtype();
    if (!isWide(t) && !isFp8(t) && t != DType::BF16 && t != DType::F16 && t != DType::F8E3M4)
      return c.fail("MATMUL-DTYPE", slot, format("the Tensor engine does not multiply %s", str(t).c_str()), str(t),
                    "f32, tf32, bf16, f16 or an 8-bit float");
  }
  if (isWide(s) != isWide(m))
    c.fail("MATMUL-DTYPE", MOVING,
           format("%s is multiplied with %s; 32-bit types pair with 32-bit types only", str(s).c_str(), str(m).c_str()),
           str(m), isWide(s) ? "f32 or tf32" : "a type of 8 or 16 bits");
  if ((s == DType::F8E4M3 && m == DType::F8E4M3FN) || (s == DType::F8E4M3FN && m == DType::F8E4M3))
    c.fail("MATMUL-DTYPE", MOVING, "f8e4m3 and f8e4m3fn are not mixed", str(m), str(s));
  if (c.integer(PERF_MODE) == DOUBLE_ROW && (!isFp8(s) || !isFp8(m)))
    c.fail("MATMUL-DTYPE", PERF_MODE, format("double_row takes 8-bit floats, not %s and %s", str(s).c_str(), str(m).c_str()),
           str(s), "f8e4m3, f8e5m2 or f8e4m3fn");
  if (exactTranspose) {
    if (!isTransposeType(d, s))
      c.fail("MATMUL-DTYPE", DST, format("a transpose of %s cannot give %s", str(s).c_str(), str(d).c_str()), str(d),
             transposeTypeText(s));
  } else if (d != DType::F32 && !(d == DType::BF16 && c.target.has("bf16_psum"))) {
    c.fail("MATMUL-DTYPE", DST, format("the result is %s", str(d).c_str()), str(d),
           c.target.has("bf16_psum") ? "f32 or bf16" : "f32");
  }
}

static void checkTile(Check &c, int64_t K, int64_t M) {
  const int row = c.integer(TILE_ROW), col = c.integer(TILE_COL), rows = c.integer(TILE_ROWS), cols = c.integer(TILE_COLS);
  if (rows == 0 && cols == 0) {
    if (row || col)
      c.fail("MATMUL-TILE", TILE_ROW, "a tile position is given without a tile size", format("%d, %d", row, col), "0, 0");
    return;
  }
  struct Axis {
    int slot, start, size;
    int64_t min, use;
    std::string_view what;
    int operand;
  };
  const Axis axes[] = {{TILE_ROWS, row, rows, c.target.integer("limit.tile_row_min"), K, "rows", STATIONARY},
                       {TILE_COLS, col, cols, c.target.integer("limit.tile_column_min"), M, "columns", DST}};
  for (const Axis &a : axes) {
    const std::string what(a.what);
    if (a.size < a.min || (a.size != 32 && a.size != 64 && a.size != 128))
      c.fail("MATMUL-TILE", a.slot, format("a tile of %d %s", a.size, what.c_str()), num(a.size),
             a.min <= 32 ? "32, 64 or 128" : "64 or 128");
    else if (a.start % a.size != 0 || a.start + a.size > 128)
      c.fail("MATMUL-TILE", a.slot, format("a tile of %d %s starts at %d", a.size, what.c_str(), a.start), num(a.start),
             format("a multiple of %d below 128", a.size));
    else if (a.use > a.size)
      c.fail("MATMUL-TILE", a.slot, format("%lld %s do not fit a tile of %d", (long long)a.use, what.c_str(), a.size),
             num(a.use), num(a.size));
    else if (c.operand(a.operand).partition != a.start)
      c.fail("MATMUL-TILE", a.operand,
             format("the tile starts at %d and the operand at partition %d", a.start, c.operand(a.operand).partition),
             num(c.operand(a.operand).partition), num(a.start));
  }
  if (c.operand(MOVING).partition != c.operand(STATIONARY).partition)
    c.fail("MATMUL-TILE", MOVING,
           format("the tile starts at %d and the operand at partition %d", row, c.operand(MOVING).partition),
           num(c.operand(MOVING).partition), num(row));
  if (c.integer(PERF_MODE) == DOUBLE_ROW && cols != 128)
    c.fail("MATMUL-TILE", TILE_COLS, "double_row is not combined with column tiles", num(cols), "128");
}

static void checkMatmul(Check &c) {
  c.in(STATIONARY, {Space::Sbuf});
  c.in(MOVING, {Space::Sbuf});
  c.in(DST, {Space::Psum});
  const OperandInfo &s = c.operand(STATIONARY), &m = c.operand(MOVING), &d = c.operand(DST);
  if (!s.onChip() || !m.onChip() || !d.onChip())
    return; // the rest is about partitions
  const bool doubleRow = c.integer(PERF_MODE) == DOUBLE_ROW;
  const bool transpose = c.integer(TRANSPOSE) && c.target.has("exact_transpose");
  if (doubleRow && !c.target.has("double_row"))
    return c.fail("MATMUL-MODE", PERF_MODE, "the target has no double_row mode", "double_row", "none");
  if (c.integer(TRANSPOSE) && doubleRow)
    c.fail("MATMUL-MODE", TRANSPOSE, "a transpose is not combined with double_row", "1", "0");
  if (transpose && c.integer(ACCUMULATE))
    c.fail("MATMUL-MODE", ACCUMULATE, "a transpose does not accumulate", "1", "0");
  checkTypes(c, transpose);
  const int64_t K = s.partitions(), M = s.elements() / (doubleRow ? 2 : 1), N = m.elements() / (doubleRow ? 2 : 1);
  if (doubleRow)
    for (int slot : {STATIONARY, MOVING})
      if (c.operand(slot).pattern->dims[0].count % 2 || c.operand(slot).elements() % 2)
        return c.fail("MATMUL-SHAPE", slot,
                      format("double_row needs a first free dimension of 2, and the operand has %lld elements",
                             (long long)c.operand(slot).elements()),
                      num(c.operand(slot).elements()), "2 x n");
  if (m.partitions() != K)
    c.fail("MATMUL-SHAPE", MOVING, format("moving has %d partitions and stationary %lld", m.partitions(), (long long)K),
           num(m.partitions()), num(K));
  if (d.partitions() != M)
    c.fail("MATMUL-SHAPE", DST,
           format("dst has %d partitions and stationary has %lld columns", d.partitions(), (long long)M),
           num(d.partitions()), num(M));
  if (d.elements() != N)
    c.fail("MATMUL-SHAPE", DST, format("dst has %lld columns and moving %lld", (long long)d.elements(), (long long)N),
           num(d.elements()), num(N));
  if (transpose && N != K)
    c.fail("MATMUL-SHAPE", MOVING,
           format("a transpose takes an identity of %lld columns as moving, and it has %lld", (long long)K, (long long)N),
           num(N), num(K));
  const int64_t maxM = c.target.integer("limit.stationary_free");
  if (M > maxM)
    c.fail("MATMUL-SHAPE", STATIONARY,
           format("stationary has %lld columns, and the array takes %lld", (long long)M, (long long)maxM), num(M),
           num(maxM));
  const int64_t maxN = c.target.integer(d.dtype() == DType::BF16 ? "limit.moving_free_bf16" : "limit.moving_free_fp32");
  if (N > maxN)
    c.fail("MATMUL-SHAPE", MOVING,
           format("moving has %lld columns, and an instruction takes %lld", (long long)N, (long long)maxN), num(N),
           num(maxN));
  checkTile(c, K, M);
  checkOneBank(c, DST);
}

// ---- semantics -------------------------------------------------------------------------------------------------------------

// With the exact transpose, `moving` routes columns: column n of the result is the column of `stationary` whose row has the only
// non-zero of moving's column n (an identity: dst[m][n] = stationary[n][m], bit by bit).
static void exactTranspose(Exec &x) {
  const Region &s = x.region(STATIONARY), &d = x.region(DST);
  const int K = s.partitions, N = static_cast<int>(d.elements);
  std::vector<int> from(N, -1);
  for (int k = 0; k < K; ++k) {
    const float *row = x.readF32(MOVING, k);
    for (int n = 0; n < N; ++n) {
      if (row[n] == 0)
        continue;
      if (from[n] >= 0 || row[n] != 1)
        x.trap("MATMUL-IDENTITY", format("moving of a transpose is no identity or permutation: column %d, row %d", n, k));
      from[n] = k;
    }
  }
  transposeRows(x, DST, STATIONARY, from);
}

static void executeMatmul(Exec &x) {
  if (x.integer(TRANSPOSE) && x.target.has("exact_transpose"))
    return exactTranspose(x);
  const bool doubleRow = x.integer(PERF_MODE) == DOUBLE_ROW;
  const Region &d = x.region(DST);
  const int64_t M = d.partitions, N = d.elements;
  static thread_local FactorSpace stationarySpace, movingSpace;
  GemmOperand stationary = factor(x, STATIONARY, stationarySpace), moving = factor(x, MOVING, movingSpace);
  int64_t K = x.region(STATIONARY).partitions;
  if (doubleRow) { // row p holds k = 2p and k = 2p + 1, one after the other
    if (stationary.bf16 || stationary.columns || stationary.stride != 2 * M)
      stationary = packRows(x, STATIONARY, stationarySpace.values, true);
    if (moving.bf16 || moving.columns || moving.stride != 2 * N)
      moving = packRows(x, MOVING, movingSpace.values, true);
    stationary.stride = M, moving.stride = N, K *= 2;
  }
  multiplyInto(x, DST, stationary, moving, K, M, N, x.integer(ACCUMULATE) != 0);
}

// Parts of 32 rows and 32 columns, row by row.
static uint16_t partsOf(const CostQuery &q) {
  constexpr int kPart = 32, kAcross = 4;
  const int row = q.integer(TILE_ROW), col = q.integer(TILE_COL), rows = q.integer(TILE_ROWS), cols = q.integer(TILE_COLS);
  uint16_t parts = 0;
  for (int r = row / kPart; r < std::min((row + rows) / kPart, kAcross); ++r)
    for (int c = col / kPart; c < std::min((col + cols) / kPart, kAcross); ++c)
      parts |= static_cast<uint16_t>(1u << (r * kAcross + c));
  return parts == UINT16_MAX ? 0 : parts;
}

// Moving columns stream at one a cycle and result columns leave the array one after the other. The next weights load meanwhile, so
// their time shows only if the engine has to wait for them; fp32 weights load at the rate of fp32 data (half of its passes each).
static Cost costMatmul(const CostQuery &q) {
  const double rows = q.integer(PERF_MODE) == DOUBLE_ROW ? 2 : 1;
  const bool fp32 = q.dtype(MOVING) == DType::F32 || q.dtype(STATIONARY) == DType::F32;
  const bool cheap =
      q.integer(STATIONARY_01) || q.integer(MOVING_01) || (q.integer(TRANSPOSE) && q.target.has("exact_transpose"));
  const double passes = fp32 ? q.param("cost.fp32_passes") / (cheap ? 2 : 1) : 1;
  const double columns = q.elements(STATIONARY) / rows;
  const double cycles = std::max(q.elements(MOVING) / rows, q.param("cost.issue_floor")) * passes;
  const double weights = fp32 ? columns * passes / 2 : columns / q.param("cost.load_weights_speedup");
  const double latency = (cycles + columns) / q.clock() + q.param("cost.tensor_latency");
  const double load = weights / q.clock();
  Cost cost{std::max(cycles, weights) / q.clock(), latency, 0, q.param("cost.load_weights_start") + load, load};
  cost.tile = partsOf(q);
  cost.issue = std::min(cost.busy, q.param("cost.issue_floor") / q.clock());
  return cost;
}

INSTRUCTION(nc_matmul,
            "dst[M, N] = or += stationary[K, M] transposed times moving[K, N]; products and sums in fp32, k ascending.") {
  def.source("nki.isa API reference, nc_matmul; order of the sum chosen (docs/numerics.md)")
      .engines({Engine::Tensor})
      .flow(Flow::Matmul)
      .accumulates("accumulate")
      .slot("dst", SlotKind::Out, "result in PSUM, row m on partition m; f32, or bf16 where the target has it")
      .slot("stationary", SlotKind::In, "[K, M] in SBUF; double_row: [K, 2, M]")
      .slot("moving", SlotKind::In, "[K, N] in SBUF; double_row: [K, 2, N], row order 2p + j; transpose: an identity [K, K]")
      .slot("accumulate", SlotKind::Flag, "0 overwrites dst, 1 adds to it: the sum over k is formed first, then added once")
      .orElse(0)
      .slot("transpose", SlotKind::Flag,
            "1: dst is stationary transposed, bit by bit (targets with exact_transpose; others multiply)")
      .orElse(0)
      .choice("perf_mode", perfModes(), "double_row: two 8-bit rows per partition")
      .orElse(0)
      .slot("tile_row", SlotKind::Small, "first row of the tile of the array")
      .orElse(0)
      .slot("tile_col", SlotKind::Small, "first column of the tile of the array")
      .orElse(0)
      .slot("tile_rows", SlotKind::Small, "rows of the tile; 0 = whole array")
      .orElse(0)
      .slot("tile_cols", SlotKind::Small, "columns of the tile; 0 = whole array")
      .orElse(0)
      .slot("stationary_onezero", SlotKind::Flag, "hint: stationary holds only 0 and 1 (time only)")
      .orElse(0)
      .slot("moving_onezero", SlotKind::Flag, "hint: moving holds only 0 and 1 (time only)")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "MATMUL-DTYPE", "MATMUL-SHAPE", "MATMUL-TILE", "MATMUL-MODE", "PSUM-ONE-BANK"})
      .check(checkMatmul);
  def.execute(executeMatmul);
  def.cost(costMatmul);
}

} // namespace glia
