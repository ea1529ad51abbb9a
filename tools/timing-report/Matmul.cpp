// The fp32 matmul kernels of the optimization guide. Sync loads by hardware DGE, Tensor multiplies, Vector empties PSUM, Scalar stores.
#include "Kernels.h"
#include "Loops.h"

namespace glia::validation {

namespace {

constexpr int64_t M = 4096, K = 8192, N = 8192, TM = 128, TK = 128, TN = 512;
enum Reg { R_M = 1, R_N = 2, R_K = 3, R_T = 4 };

// What the four kernels share: tensors, one tile of results in each of two PSUM banks, and the way of a result tile to HBM.
struct Kernel {
  Builder b{loadTarget("trn2")};
  ObjectRef lhs = b.input("lhsT", DType::F32, {K, M}), rhs = b.input("rhs", DType::F32, {K, N}),
            out = b.output("out", DType::F32, {M, N});
  int load = b.queue("load"), store = b.queue("store");
  std::vector<ObjectRef> psum, tile;
  std::vector<int> done, psumFree, copied, stored;

  explicit Kernel(int64_t tilesAt) {
    for (int j = 0; j < 2; ++j) {
      const std::string n = std::to_string(j);
      psum.push_back(b.psum("acc" + n, DType::F32, {128, TN}, 0, j * 2048));
      tile.push_back(b.sbuf("tile" + n, DType::F32, {128, TN}, 0, tilesAt + j * 2048));
      done.push_back(b.semaphore("done" + n));
      psumFree.push_back(b.semaphore("psum_free" + n, 1));
      copied.push_back(b.semaphore("copied" + n));
      stored.push_back(b.semaphore("stored" + n, 16));
    }
  }

  Emit dma(ObjectRef dst, Access src) {
    Emit e = b.emit(Engine::Sync, "dma_copy");
    e.set("dst", dst).set("src", src).queue(load).set("dge", "hwdge");
    return e;
  }
  // [TK x width] of a [K, columns] tensor at row tile k (plus registers), column byte offset.
  Access block(ObjectRef t, int64_t columns, int64_t width, int64_t row, int64_t column) {
    Pattern pattern;
    pattern.dtype = DType::F32;
    pattern.rank = 2;
    pattern.dims[0] = {static_cast<int32_t>(columns), 128};
    pattern.dims[1] = {1, static_cast<uint32_t>(width)};
    return b.view(t, pattern, (row * columns + column) * 4);
  }
  void multiply(int j, ObjectRef stationary, ObjectRef moving, bool first, bool last,
                const std::vector<std::pair<int, int>> &waits, const std::vector<int> &frees) {
    Emit e = b.emit(Engine::Tensor, "nc_matmul");
    e.set("dst", psum[j]).set("stationary", stationary).set("moving", moving).set("accumulate", first ? 0 : 1);
    if (first)
      e.when(psumFree[j], 1, true);
    for (auto [s, v] : waits)
      e.when(s, v, true);
    for (int s : frees)
      e.then(s, 1);
    if (last)
      e.then(done[j], 1);
  }
  // Vector copies the finished bank, Scalar stores it; once per result tile, two tiles per pass of the loop.
  void drain(int j, int64_t rowScale, int64_t columnScale, int64_t fixedColumn, int64_t fixedRow = 0) {
    b.emit(Engine::Vector, "tensor_copy")
        .set("dst", tile[j])
        .set("src", psum[j])
        .when(done[j], 1, true)
        .when(stored[j], 16, true)
        .then(copied[j], 1)
        .then(psumFree[j], 1);
    Access to = b.dynamic(b.dynamic(block(out, N, TN, fixedRow, fixedColumn), R_M, rowScale), R_N, columnScale);
    b.emit(Engine::Scalar, "dma_copy")
        .set("dst", to)
        .set("src", tile[j])
        .queue(store)
        .set("dge", "hwdge")
        .when(copied[j], 1, true)
        .then(stored[j], 16);
  }
};

} // namespace

Program matmulTiled() {
  constexpr int kBuffers = 8;
  Kernel x(180000);
  Builder &b = x.b;
  b.origin("matmul_tiled", "tiles", "", 0);
  std::vector<ObjectRef> l, r;
  std::vector<int> full, free;
  for (int i = 0; i < kBuffers; ++i) {
    const std::string n = std::to_string(i);
    l.push_back(b.sbuf("lhs" + n, DType::F32, {128, TM}, 0, i * 2560));
    r.push_back(b.sbuf("rhs" + n, DType::F32, {128, TN}, 0, i * 2560 + 512));
    full.push_back(b.semaphore("full" + n));
    free.push_back(b.semaphore("free" + n, 1));
  }
  Loops loops(b, 0, {Engine::Sync, Engine::Tensor, Engine::Vector, Engine::Scalar});
  loops.open(R_M, M / TM, "m");
  loops.open(R_N, N / TN / 2, "n");
  for (int j = 0; j < 2; ++j) {
    auto round = [&](bool first, bool last) { // kBuffers products
      for (int i = 0; i < kBuffers; ++i) {
        Access a = b.dynamic(b.dynamic(x.block(x.lhs, M, TM, i * TK + (first ? 0 : kBuffers * TK), 0), R_M, TM * 4), R_K,
                             first ? 0 : kBuffers * TK * M * 4);
        Access c = b.dynamic(b.dynamic(x.block(x.rhs, N, TN, i * TK + (first ? 0 : kBuffers * TK), j * TN), R_N, 2 * TN * 4),
                             R_K, first ? 0 : kBuffers * TK * N * 4);
        x.dma(l[i], a).when(free[i], 1, true).then(full[i], 16);
        x.dma(r[i], c).then(full[i], 16);
        x.multiply(j, l[i], r[i], first && i == 0, last && i == kBuffers - 1, {{full[i], 32}}, {free[i]});
      }
    };
    Loops inner(b, 0, {Engine::Sync, Engine::Tensor});
    round(true, false);
    inner.open(R_K, K / TK / kBuffers - 2, "k" + std::to_string(j));
    round(false, false);
    inner.close();
    round(false, true);
    x.drain(j, TM * N * 4, 2 * TN * 4, j * TN);
  }
  loops.close();
  loops.close();
  return b.finish();
}

namespace {

// lhs tiles of `blockM` columns of tiles and one column of rhs tiles, in groups with one semaphore each.
Program columns(int blockM, const char *kernelName) {
  constexpr int kGroups = 16, kPer = K / TK / kGroups;
  Kernel x(200000);
  Builder &b = x.b;
  b.origin(kernelName, "columns", "", 0);
  std::vector<ObjectRef> l, r;
  std::vector<int> lFull, lFree, rFull, rFree;
  for (int k = 0; k < K / TK; ++k) {
    for (int m = 0; m < blockM; ++m)
      l.push_back(b.sbuf("lhs" + std::to_string(k * blockM + m), DType::F32, {128, TM}, 0, (k * blockM + m) * 512));
    r.push_back(b.sbuf("rhs" + std::to_string(k), DType::F32, {128, TN}, 0, blockM * 32768 + k * 2048));
  }
  for (int g = 0; g < kGroups; ++g) {
    const std::string n = std::to_string(g);
    lFull.push_back(b.semaphore("lhs_full" + n)), lFree.push_back(b.semaphore("lhs_free" + n, 1));
    rFull.push_back(b.semaphore("rhs_full" + n)), rFree.push_back(b.semaphore("rhs_free" + n, 1));
  }
  Loops loops(b, 0, {Engine::Sync, Engine::Tensor, Engine::Vector, Engine::Scalar});
  loops.open(R_M, M / TM / blockM, "m");
  // One column of rhs; the first one of a row of blocks brings the lhs tiles too, the last one gives them back.
  auto column = [&](bool bringLhs, bool lastUse) {
    for (int g = 0; g < kGroups; ++g) {
      for (int i = 0; bringLhs && i < kPer * blockM; ++i) {
        Access a = b.dynamic(x.block(x.lhs, M, TM, (g * kPer + i / blockM) * TK, i % blockM * TM), R_M, blockM * TM * 4);
        Emit e = x.dma(l[g * kPer * blockM + i], a);
        if (i == 0)
          e.when(lFree[g], 1, true);
        e.then(lFull[g], 16);
      }
      for (int i = 0; i < kPer; ++i) {
        Access c = b.dynamic(x.block(x.rhs, N, TN, (g * kPer + i) * TK, 0), R_N, TN * 4);
        Emit e = x.dma(r[g * kPer + i], c);
        if (i == 0)
          e.when(rFree[g], 1, true);
        e.then(rFull[g], 16);
      }
    }
    for (int m = 0; m < blockM; ++m) {
      const int j = m % 2;
      for (int k = 0; k < K / TK; ++k) {
        const int g = k / kPer;
        std::vector<std::pair<int, int>> waits;
        std::vector<int> frees;
        if (k % kPer == 0 && m == 0) {
          waits.push_back({rFull[g], 16 * kPer});
          if (bringLhs)
            waits.push_back({lFull[g], 16 * kPer * blockM});
        }
        if (k % kPer == kPer - 1 && m == blockM - 1) {
          frees.push_back(rFree[g]);
          if (lastUse)
            frees.push_back(lFree[g]);
        }
        x.multiply(j, l[k * blockM + m], r[k], k == 0, k == K / TK - 1, waits, frees);
      }
      x.drain(j, blockM * TM * N * 4, TN * 4, 0, m * TM);
    }
  };
  auto pass = [&](int trips, const char *group, bool bringLhs, bool lastUse) {
    loops.open(R_N, trips, group);
    column(bringLhs, lastUse);
    loops.close();
  };
  pass(1, "first", true, false);
  pass(N / TN - 2, "middle", false, false);
  pass(1, "last", false, true);
  loops.close();
  return b.finish();
}

} // namespace

Program matmulHoisted() { return columns(1, "matmul_hoisted"); }
Program matmulBlockedFree() { return columns(2, "matmul_blocked_free"); }

// N in blocks of 1024, K in blocks of 1024: partial sums of a 4096 x 1024 block stay in SBUF (128 KiB per partition), the rhs block is
// double buffered (64 KiB), lhs comes one column of tiles at a time (8 KiB).
Program matmulBlocked() {
  constexpr int kDeep = 8, kMTiles = M / TM, kWide = 1024;
  Builder b(loadTarget("trn2"));
  b.origin("matmul_blocked", "blocks", "", 0);
  ObjectRef lhs = b.input("lhsT", DType::F32, {K, M}), rhs = b.input("rhs", DType::F32, {K, N}),
            out = b.output("out", DType::F32, {M, N});
  const int load = b.queue("load"), store = b.queue("store");
  ObjectRef sums = b.sbuf("sums", DType::F32, {128, kMTiles, 2, TN}, 0, 0),
            packed = b.sbuf("packed", DType::F32, {128, kWide}, 0, 204800);
  ObjectRef r[2][kDeep], l[2][kDeep];
  int rFull[2], rFree[2], lFull[2], lFree[2];
  for (int h = 0; h < 2; ++h) {
    const std::string n = std::to_string(h);
    rFull[h] = b.semaphore("rhs_full" + n), rFree[h] = b.semaphore("rhs_free" + n, 1);
    lFull[h] = b.semaphore("lhs_full" + n), lFree[h] = b.semaphore("lhs_free" + n, 1);
    for (int k = 0; k < kDeep; ++k) {
      r[h][k] = b.sbuf("rhs" + n + std::to_string(k), DType::F32, {128, kWide}, 0, 131072 + (h * kDeep + k) * 4096);
      l[h][k] = b.sbuf("lhs" + n + std::to_string(k), DType::F32, {128, TM}, 0, 196608 + (h * kDeep + k) * 512);
    }
  }
  std::vector<ObjectRef> psum;
  std::vector<int> done, psumFree;
  for (int j = 0; j < 4; ++j) {
    psum.push_back(b.psum("acc" + std::to_string(j), DType::F32, {128, TN}, 0, j * 2048));
    done.push_back(b.semaphore("done" + std::to_string(j)));
    psumFree.push_back(b.semaphore("psum_free" + std::to_string(j), 1));
  }
  const int packedFull = b.semaphore("packed"), stored = b.semaphore("stored", 16);
  auto block = [&](ObjectRef t, int64_t columns, int64_t width, int64_t row, int64_t column) {
    Pattern pattern;
    pattern.dtype = DType::F32;
    pattern.rank = 2;
    pattern.dims[0] = {static_cast<int32_t>(columns), 128};
    pattern.dims[1] = {1, static_cast<uint32_t>(width)};
    return b.view(t, pattern, (row * columns + column) * 4);
  };
  // Two adjacent result tiles at m tile R_T.
  auto sum = [&](int m, int n) {
    return b.dynamic(b.view(sums, {Slice{0, 128}, Slice{m, m + 1}, Slice{n, n + 1}}), R_T, 2 * 2 * TN * 4);
  };
  auto clear = [&] {
    for (int i = 0; i < 4; ++i)
      b.emit(Engine::Vector, "memset").set("dst", sum(i / 2, i % 2)).set("value", 0.0f);
  };
  Loops vector(b, 0, {Engine::Vector});
  vector.open(R_T, kMTiles / 2, "");
  clear();
  vector.close();

  Loops all(b, 0, {Engine::Sync, Engine::Tensor, Engine::Vector, Engine::Scalar});
  all.open(R_N, N / kWide, "n");
  Loops three(b, 0, {Engine::Sync, Engine::Tensor, Engine::Vector});
  three.open(R_K, K / TK / kDeep / 2, "k");
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < kDeep; ++k) {
      Access c =
          b.dynamic(b.dynamic(block(rhs, N, kWide, (h * kDeep + k) * TK, 0), R_N, kWide * 4), R_K, 2 * kDeep * TK * N * 4);
      Emit e = b.emit(Engine::Sync, "dma_copy");
      e.set("dst", r[h][k]).set("src", c).queue(load).set("dge", "hwdge").then(rFull[h], 16);
      if (k == 0)
        e.when(rFree[h], 1, true);
    }
    b.emit(Engine::Tensor, "nop").when(rFull[h], 16 * kDeep, true);
    three.open(R_T, kMTiles / 2, "t" + std::to_string(h));
    for (int g = 0; g < 2; ++g) {
      for (int k = 0; k < kDeep; ++k) { // the block of K is known to the outer registers only by R_K: two terms
        Access a = b.dynamic(b.dynamic(block(lhs, M, TM, (h * kDeep + k) * TK, g * TM), R_T, 2 * TM * 4), R_K,
                             2 * kDeep * TK * M * 4);
        Emit e = b.emit(Engine::Sync, "dma_copy");
        e.set("dst", l[g][k]).set("src", a).queue(load).set("dge", "hwdge").then(lFull[g], 16);
        if (k == 0)
          e.when(lFree[g], 1, true);
      }
      for (int n = 0; n < 2; ++n) {
        const int j = g * 2 + n;
        for (int k = 0; k < kDeep; ++k) {
          Emit e = b.emit(Engine::Tensor, "nc_matmul");
          e.set("dst", psum[j])
              .set("stationary", l[g][k])
              .set("moving", b.view(r[h][k], {Slice{0, 128}, Slice{n * TN, (n + 1) * TN}}))
              .set("accumulate", k == 0 ? 0 : 1);
          if (k == 0) {
            e.when(psumFree[j], 1, true);
            if (n == 0)
              e.when(lFull[g], 16 * kDeep, true);
          }
          if (k == kDeep - 1) {
            e.then(done[j], 1);
            if (n == 1)
              e.then(lFree[g], 1);
          }
        }
        b.emit(Engine::Vector, "tensor_tensor")
            .set("dst", sum(g, n))
            .set("a", sum(g, n))
            .set("b", psum[j])
            .set("op", "add")
            .when(done[j], 1, true)
            .then(psumFree[j], 1);
      }
    }
    three.close();
    b.emit(Engine::Tensor, "nop").then(rFree[h], 1);
  }
  three.close();
  // Results out, and the sums back to zero.
  Loops store2(b, 0, {Engine::Vector, Engine::Scalar});
  store2.open(R_T, kMTiles / 2, "out");
  for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 2; ++n) {
      Emit e = b.emit(Engine::Vector, "tensor_copy");
      e.set("dst", b.view(packed, {Slice{0, 128}, Slice{n * TN, (n + 1) * TN}})).set("src", sum(m, n));
      if (n == 0)
        e.when(stored, 16, true);
      else
        e.then(packedFull, 1);
    }
    Access to = b.dynamic(b.dynamic(block(out, N, kWide, m * TM, 0), R_T, 2 * TM * N * 4), R_N, kWide * 4);
    b.emit(Engine::Scalar, "dma_copy")
        .set("dst", to)
        .set("src", packed)
        .queue(store)
        .set("dge", "hwdge")
        .when(packedFull, 1, true)
        .then(stored, 16);
  }
  clear();
  store2.close();
  all.close();
  return b.finish();
}

} // namespace glia::validation
