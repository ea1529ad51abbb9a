#include "Programs.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Builder.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

namespace {

constexpr int kBuffers = 14, kBanks = 8, kSteps = 16;

// One semaphore for each buffer in flight: a transfer completes in 16 parts, so two of them cannot share one.
std::vector<int> semaphores(Builder &b, const std::string &name, int count, int32_t initial = 0, int core = 0) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i)
    out.push_back(b.semaphore(name + std::to_string(i), initial, core));
  return out;
}

std::vector<int> queues(Builder &b, const std::string &name, int count, int core = 0) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i)
    out.push_back(b.queue(name + std::to_string(i), core));
  return out;
}

} // namespace

Program unrolledMatmul(uint64_t instructions) {
  constexpr int64_t kPerTile = 3 * kSteps + 2;
  const int64_t tiles = static_cast<int64_t>(instructions + kPerTile - 1) / kPerTile;
  const int64_t columns = 200, rows = (tiles + columns - 1) / columns; // tiles of c
  Builder b(loadTarget("trn2"));
  b.origin("matmul", "nc_matmul", "matmul.py", 1);
  const ObjectRef at = b.input("at", DType::BF16, {kSteps * 128, rows * 128});
  const ObjectRef bm = b.input("b", DType::BF16, {kSteps * 128, columns * 512});
  const ObjectRef c = b.output("c", DType::F32, {rows * 128, columns * 512});
  const ObjectRef a0 = b.sbuf("a", DType::BF16, {128, kBuffers, 128}, 0, 0);
  const ObjectRef b0 = b.sbuf("b_tile", DType::BF16, {128, kBuffers, 512}, 0, kBuffers * 256);
  const ObjectRef out = b.sbuf("out", DType::F32, {128, 2, 512}, 0, kBuffers * 1280);
  const ObjectRef acc = b.psum("acc", DType::F32, {128, kBanks, 512}, 0, 0);
  const std::vector<int> full = semaphores(b, "full", kBuffers), empty = semaphores(b, "empty", kBuffers, 1);
  const int summed = b.semaphore("summed"), bankFree = b.semaphore("bank_free", kBanks), copied = b.semaphore("copied");
  const std::vector<int> outFree = semaphores(b, "out_free", 2, 16);
  const std::vector<int> load = queues(b, "load", kBuffers), store = queues(b, "store", 2);

  int64_t step = 0;
  for (int64_t t = 0; t < rows * columns; ++t) {
    const int64_t m = t / columns * 128, n = t % columns * 512;
    const int bank = static_cast<int>(t % kBanks), half = static_cast<int>(t % 2);
    for (int k = 0; k < kSteps; ++k, ++step) {
      const int i = static_cast<int>(step % kBuffers);
      b.emit(Engine::Sync, "dma_copy")
          .set("dst", b.view(a0, {{0, 128}, {i, i + 1}}))
          .queue(load[i])
          .when(empty[i], 1, true)
          .set("src", b.view(at, {{k * 128, k * 128 + 128}, {m, m + 128}}))
          .then(full[i], 16);
      b.emit(Engine::Sync, "dma_copy")
          .set("dst", b.view(b0, {{0, 128}, {i, i + 1}}))
          .queue(load[i])
          .set("src", b.view(bm, {{k * 128, k * 128 + 128}, {n, n + 512}}))
          .then(full[i], 16);
      Emit e = b.emit(Engine::Tensor, "nc_matmul");
      e.set("dst", b.view(acc, {{0, 128}, {bank, bank + 1}}))
          .set("stationary", b.view(a0, {{0, 128}, {i, i + 1}}))
          .set("moving", b.view(b0, {{0, 128}, {i, i + 1}}))
          .set("accumulate", k > 0 ? 1 : 0)
          .when(full[i], 32, true);
      if (k == 0)
        e.when(bankFree, 1, true);
      e.then(empty[i], 1);
      if (k == kSteps - 1)
        e.then(summed, 1);
    }
    b.emit(Engine::Vector, "tensor_copy")
        .set("dst", b.view(out, {{0, 128}, {half, half + 1}}))
        .set("src", b.view(acc, {{0, 128}, {bank, bank + 1}}))
        .when(summed, 1, true)
        .when(outFree[half], 16, true)
        .then(bankFree, 1)
        .then(copied, 1);
    b.emit(Engine::Scalar, "dma_copy")
        .set("dst", b.view(c, {{m, m + 128}, {n, n + 512}}))
        .set("src", b.view(out, {{0, 128}, {half, half + 1}}))
        .queue(store[half])
        .when(copied, 1, true)
        .then(outFree[half], 16);
  }
  return b.finish();
}

namespace {

// `loop` around `body` on one engine of one core.
template <class Body> void loop(Builder &b, int core, Engine e, int iv, int count, const std::string &group, Body body) {
  const uint32_t begin = b.nextIndex(core, e);
  b.emit(core, e, "loop").reg("iv", iv).set("count", count).set("group", group).set("end", 0);
  body();
  const uint32_t end = b.nextIndex(core, e);
  b.emit(core, e, "end_loop").set("begin", static_cast<int32_t>(begin));
  b.patchLabel(core, e, begin, end);
}

struct Lane { // what one core of the loop-heavy program works with
  ObjectRef in, out, result;
  int full, free, ready, taken, loads, stores;
};

} // namespace

Program loopHeavy(uint64_t instructions, Counted how) {
  // A nest: 4 outer iterations of 5 inner ones, on sync, vector and scalar of each core. An inner iteration executes 4
  // instructions and 3 end_loops, an outer one 3 loops and 3 end_loops, the nest 3 loops: 167 instructions on a core. 16 are written
  // there: 4 instructions, 6 loops, 6 end_loops.
  constexpr int kOuter = 4, kInner = 5;
  const uint64_t perNest = 2 * (how == Counted::Executed ? kOuter * (kInner * 7 + 6) + 3 : 16);
  const int nests = static_cast<int>((instructions + perNest - 1) / perNest);
  Builder b(loadTarget("trn2"), 2);
  b.origin("stream", "scale", "stream.py", 1);
  const ObjectRef x = b.input("x", DType::F32, {2, kOuter * kInner, 128, 64});
  const int64_t tile = 128 * 64 * 4;
  Lane lanes[2];
  for (int core = 0; core < 2; ++core) {
    const std::string id = std::to_string(core);
    Lane &l = lanes[core];
    l.result = b.output("y" + id, DType::F32, {kOuter * kInner, 128, 64});
    l.in = b.sbuf("in" + id, DType::F32, {128, 64}, 0, 0, core);
    l.out = b.sbuf("out" + id, DType::F32, {128, 64}, 0, 256, core);
    l.full = b.semaphore("full" + id, 0, core);
    l.free = b.semaphore("free" + id, 1, core);
    l.ready = b.semaphore("ready" + id, 0, core);
    l.taken = b.semaphore("taken" + id, 16, core);
    l.loads = b.queue("loads" + id, core);
    l.stores = b.queue("stores" + id, core);
  }
  for (int nest = 0; nest < nests; ++nest)
    for (int core = 0; core < 2; ++core) {
      const Lane &l = lanes[core];
      const std::string outer = "outer" + std::to_string(nest), inner = "inner" + std::to_string(nest);
      auto tileOf = [&](ObjectRef o, std::vector<Slice> first) {
        return b.dynamic(b.dynamic(b.view(o, std::move(first)), 1, kInner * tile), 2, tile);
      };
      auto nested = [&](Engine e, auto body) {
        loop(b, core, e, 1, kOuter, outer, [&] { loop(b, core, e, 2, kInner, inner, body); });
      };
      nested(Engine::Sync, [&] {
        b.emit(core, Engine::Sync, "dma_copy")
            .set("dst", l.in)
            .set("src", tileOf(x, {{core, core + 1}, {0, 1}}))
            .queue(l.loads)
            .set("dge", "hwdge")
            .when(l.free, 1, true)
            .then(l.full, 16);
      });
      nested(Engine::Vector, [&] {
        b.emit(core, Engine::Vector, "tensor_scalar")
            .set("dst", l.in)
            .set("data", l.in)
            .set("op0", "multiply")
            .set("operand0", 2.0f)
            .when(l.full, 16, true);
        b.emit(core, Engine::Vector, "tensor_tensor")
            .set("dst", l.out)
            .set("a", l.in)
            .set("b", l.in)
            .set("op", "add")
            .when(l.taken, 16, true)
            .then(l.free, 1)
            .then(l.ready, 1);
      });
      nested(Engine::Scalar, [&] {
        b.emit(core, Engine::Scalar, "dma_copy")
            .set("dst", tileOf(l.result, {{0, 1}}))
            .set("src", l.out)
            .queue(l.stores)
            .set("dge", "hwdge")
            .when(l.ready, 1, true)
            .then(l.taken, 16);
      });
    }
  return b.finish();
}

Program unknownLoops(uint64_t instructions) {
  constexpr uint64_t kPerNest = 16;
  std::string text = R"(target trn2
input n : i32[1] range 0 100
input m : i32[1] range 0 100
input x : f32[100, 100, 32, 16]
output y : f32[100, 32, 16] from y0
sbuf a : f32[32, 16] @ 0
sbuf sum : f32[32, 16] @ 64
queue ql
queue qs
semaphore fa
semaphore ea = 1
semaphore fo
semaphore eo = 1
semaphore so
gpsimd reg_load dst=r1 src=n
gpsimd reg_load dst=r2 src=m
vector reg_load dst=r1 src=n
vector reg_load dst=r2 src=m
sync reg_load dst=r1 src=n
)";
  for (uint64_t i = 0; i < (instructions + kPerNest - 1) / kPerNest; ++i) {
    const std::string outer = " count=r1 group=\"o" + std::to_string(i) + "\"\n",
                      inner = " count=r2 group=\"i" + std::to_string(i) + "\"\n";
    text += "gpsimd loop iv=r3" + outer + "gpsimd loop iv=r4" + inner +
            "gpsimd dma_copy dst=a src=x[0, 0, 0:32, 0:16] + r3*204800 + r4*2048 queue=ql dge=swdge when ea >= 1 consume "
            "then fa "
            "+= 16\ngpsimd end_loop\ngpsimd end_loop\nvector loop iv=r3" +
            outer + "vector memset dst=sum value=0.0 when eo >= 1 consume\nvector loop iv=r4" + inner +
            "vector tensor_tensor dst=sum a=sum b=a op=add when fa >= 16 consume then ea += 1\nvector end_loop\nvector nop "
            "then fo "
            "+= 1\nvector end_loop\nsync loop iv=r3" +
            outer +
            "sync dma_copy dst=y[0, 0:32, 0:16] + r3*2048 src=sum queue=qs dge=hwdge when fo >= 1 consume then so += 16\n"
            "sync nop when so >= 16 consume then eo += 1\nsync end_loop\n";
  }
  return assemble(text, "loops.gasm");
}

Program stridedTransfers(uint64_t transfers) {
  constexpr uint64_t kTiles = 8;
  std::string text = R"(target trn2
input x : f32[256, 192]
output y : f32[128, 64]
queue q
queue r
)";
  for (uint64_t i = 0; i < kTiles; ++i)
    text += format("sbuf t%llu : f32[128, 64] @ %llu\nsemaphore s%llu\n", (unsigned long long)i, (unsigned long long)i * 256,
                   (unsigned long long)i);
  for (uint64_t i = 0; i < transfers; ++i) {
    const auto tile = static_cast<unsigned long long>(i % kTiles);
    text += format("sync dma_copy dst=t%llu src=x[0:256:2, 0:192:3] queue=q%s then s%llu += 16\n", tile,
                   i < kTiles ? "" : format(" when s%llu >= 16 consume", tile).c_str(), tile);
  }
  text += "sync dma_copy dst=y src=t0 queue=r when s0 >= 16\n";
  return assemble(text, "strided.gasm");
}

} // namespace glia
