// mamba_v1 of the fused Mamba tutorial, unrolled: per tile of 128 channels and per state, five Vector instructions over 512 steps.
// B and C are spread over the partitions by a product with ones; Scalar takes them from PSUM to SBUF, since the tutorial's profile
// shows Vector at two cycles an element throughout.
#include "Kernels.h"
#include "glia/Program/Builder.h"

namespace glia::validation {

Program mambaV1() {
  constexpr int kSteps = 512, kChannels = 256, kStates = 16, kTiles = kChannels / 128, kBuffers = 2;
  Builder b(loadTarget("trn1"));
  b.origin("mamba_v1", "scan", "", 0);
  ObjectRef delta = b.input("delta", DType::F32, {kChannels, kSteps}), u = b.input("u", DType::F32, {kChannels, kSteps});
  ObjectRef A = b.input("A", DType::F32, {kChannels, kStates}), B = b.input("B", DType::F32, {kStates, kSteps});
  ObjectRef C = b.input("C", DType::F32, {kStates, kSteps}), y = b.output("y", DType::F32, {kChannels, kSteps});
  int64_t at = 0;
  auto buffer = [&](const std::string &name, std::vector<int64_t> shape) {
    ObjectRef o = b.sbuf(name, DType::F32, shape, 0, at);
    at += shape[1] * 4;
    return o;
  };
  struct Set {
    ObjectRef delta, u, a, bRow, cRow, bAll, cAll, deltaA, psumB, psumC;
    int loaded, free, spread, expDone, bcFree;
  };
  Set sets[kBuffers];
  for (int i = 0; i < kBuffers; ++i) {
    const std::string n = std::to_string(i);
    sets[i] = {buffer("delta" + n, {128, kSteps}),
               buffer("u" + n, {128, kSteps}),
               buffer("a" + n, {128, 1}),
               buffer("b" + n, {1, kSteps}),
               buffer("c" + n, {1, kSteps}),
               buffer("b_all" + n, {128, kSteps}),
               buffer("c_all" + n, {128, kSteps}),
               buffer("delta_a" + n, {128, kSteps}),
               b.psum("psum_b" + n, DType::F32, {128, kSteps}, 0, i * 4096),
               b.psum("psum_c" + n, DType::F32, {128, kSteps}, 0, i * 4096 + 2048),
               b.semaphore("loaded" + n),
               b.semaphore("free" + n, 1),
               b.semaphore("spread" + n),
               b.semaphore("exp" + n),
               b.semaphore("bc_free" + n, 1)};
  }
  ObjectRef ones = buffer("ones", {1, 128}), deltaU = buffer("delta_u", {128, kSteps}),
            deltaBu = buffer("delta_bu", {128, kSteps});
  ObjectRef scan = buffer("scan", {128, kSteps}), scanC = buffer("scan_c", {128, kSteps});
  ObjectRef sums[kTiles] = {buffer("sum0", {128, kSteps}), buffer("sum1", {128, kSteps})};
  const int onesReady = b.semaphore("ones"), tileDone = b.semaphore("tile_done"), stored = b.semaphore("stored");
  int queues[5];
  for (int i = 0; i < 5; ++i)
    queues[i] = b.queue("load" + std::to_string(i));
  const int storeQueue = b.queue("store");

  b.emit(Engine::Vector, "memset").set("dst", ones).set("value", 1.0f).then(onesReady, 1);
  b.emit(Engine::Scalar, "act_table_load").set("set", "natural_log_exp_and_others");
  int done = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    b.emit(Engine::Vector, "memset").set("dst", sums[tile]).set("value", 0.0f);
    for (int state = 0; state < kStates; ++state, ++done) {
      Set &s = sets[done % kBuffers];
      const Slice rows{tile * 128, (tile + 1) * 128}, row{state, state + 1};
      const std::pair<ObjectRef, Access> loads[] = {{s.delta, b.view(delta, {rows})},
                                                    {s.u, b.view(u, {rows})},
                                                    {s.a, b.view(A, {rows, row})},
                                                    {s.bRow, b.view(B, {row})},
                                                    {s.cRow, b.view(C, {row})}};
      for (int i = 0; i < 5; ++i) {
        Emit e = b.emit(Engine::Sync, "dma_copy");
        e.set("dst", loads[i].first).set("src", loads[i].second).queue(queues[i]).then(s.loaded, 16);
        if (i == 0)
          e.when(s.free, 1, true);
      }
      const int round = done / kBuffers + 1;
      for (bool c : {false, true}) {
        Emit e = b.emit(Engine::Tensor, "nc_matmul");
        e.set("dst", c ? s.psumC : s.psumB).set("stationary", ones).set("moving", c ? s.cRow : s.bRow);
        if (!c) {
          e.when(s.loaded, 80 * round).when(s.bcFree, 1, true);
          if (done == 0)
            e.when(onesReady, 1);
        } else {
          e.then(s.spread, 1);
        }
      }
      b.emit(Engine::Scalar, "activation")
          .set("dst", s.deltaA)
          .set("data", s.delta)
          .set("fn", "exp")
          .set("scale", s.a)
          .when(s.loaded, 80 * round);
      b.emit(Engine::Scalar, "activation")
          .set("dst", s.bAll)
          .set("data", s.psumB)
          .set("fn", "copy")
          .set("scale", 1.0f)
          .when(s.spread, round);
      b.emit(Engine::Scalar, "activation")
          .set("dst", s.cAll)
          .set("data", s.psumC)
          .set("fn", "copy")
          .set("scale", 1.0f)
          .then(s.expDone, 1)
          .then(s.bcFree, 1);
      auto vector = [&](const char *op, ObjectRef dst, ObjectRef a, ObjectRef c) {
        Emit e = b.emit(Engine::Vector, "tensor_tensor");
        e.set("dst", dst).set("a", a).set("b", c).set("op", op);
        return e;
      };
      vector("multiply", deltaU, s.delta, s.u).when(s.loaded, 80 * round);
      vector("multiply", deltaBu, deltaU, s.bAll).when(s.expDone, round);
      b.emit(Engine::Vector, "tensor_tensor_scan")
          .set("dst", scan)
          .set("data0", s.deltaA)
          .set("data1", deltaBu)
          .set("initial", 0.0f)
          .set("op0", "multiply")
          .set("op1", "add");
      vector("multiply", scanC, scan, s.cAll).then(s.free, 1);
      Emit last = vector("add", sums[tile], sums[tile], scanC);
      if (state == kStates - 1)
        last.then(tileDone, 1);
    }
    b.emit(Engine::GpSimd, "dma_copy")
        .set("dst", b.view(y, {Slice{tile * 128, (tile + 1) * 128}}))
        .set("src", sums[tile])
        .queue(storeQueue)
        .when(tileDone, tile + 1)
        .then(stored, 16);
  }
  return b.finish();
}

} // namespace glia::validation
