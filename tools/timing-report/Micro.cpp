// Single instructions and transfers as tiny programs. A duration is the time of a program with one instruction; an interval is what
// one more instruction adds to a long program.
#include "Micro.h"

#include "glia/Program/Builder.h"
#include "glia/Sim/Timing.h"

#include <functional>

namespace glia::validation {

namespace {

using Build = std::function<void(Builder &)>;

double total(const char *target, const Build &build, bool timeline = false, TimingResult *keep = nullptr) {
  Builder b(loadTarget(target));
  build(b);
  TimingOptions o;
  o.timeline = timeline;
  TimingResult r = simulateTime(b.finish(), o);
  const double t = r.total;
  if (keep)
    *keep = std::move(r);
  return t;
}

// What one more of something adds, between 64 and 128 of them.
double interval(const char *target, const std::function<void(Builder &, int)> &build) {
  const double a = total(target, [&](Builder &b) { build(b, 64); }), c = total(target, [&](Builder &b) { build(b, 128); });
  return (c - a) / 64;
}

void activations(Builder &b, DType t, int partitions, int elements, int count) {
  ObjectRef x = b.sbuf("x", t, {partitions, elements}, 0, 0);
  for (int i = 0; i < count; ++i)
    b.emit(Engine::Scalar, "activation")
        .set("dst", x)
        .set("data", x)
        .set("fn", count > 1 ? "copy" : "exp")
        .set("scale", 2.0f);
}

double tensorTensor(const char *target, int partitions, int elements, const char *op, bool psum) {
  return total(target, [&](Builder &b) {
    ObjectRef x = b.sbuf("x", DType::F32, {partitions, elements}, 0, 0);
    ObjectRef y = psum ? b.psum("y", DType::F32, {partitions, elements}, 0, 0)
                       : b.sbuf("y", DType::F32, {partitions, elements}, 0, elements * 4);
    ObjectRef z = b.sbuf("z", DType::F32, {partitions, elements}, 0, elements * 8);
    b.emit(Engine::Vector, "tensor_tensor").set("dst", z).set("a", x).set("b", y).set("op", op);
  });
}

void matmuls(Builder &b, DType t, int k, int m, int n, int count) {
  ObjectRef s = b.sbuf("s", t, {k, m}, 0, 0), x = b.sbuf("x", t, {k, n}, 0, 4096),
            acc = b.psum("acc", DType::F32, {m, n}, 0, 0);
  for (int i = 0; i < count; ++i)
    b.emit(Engine::Tensor, "nc_matmul").set("dst", acc).set("stationary", s).set("moving", x);
}

// A product is a weight load, which nothing hides for a single one, and a multiply.
struct Product {
  double weights, multiply, interval;
};
Product product(const char *target, DType t, int k, int m, int n) {
  // The ramp doubles the first products; a target without it gives the steady state.
  auto steady = std::make_shared<Target>(*loadTarget(target));
  steady->values["cost.tensor_ramp_time"].number = 0;
  auto time = [&](int count) {
    Builder b(steady);
    matmuls(b, t, k, m, n, count);
    return simulateTime(b.finish()).total;
  };
  Builder b(steady);
  matmuls(b, t, k, m, n, 1);
  TimingOptions o;
  o.timeline = true;
  const TimingResult one = simulateTime(b.finish(), o);
  const double weights = one.timeline.front().start;
  return {weights, one.total - weights, (time(128) - time(64)) / 64};
}

// Payload of the first transfer, as the queue's bar.
double payload(const char *target, const Build &build) {
  TimingResult r;
  total(target, build, true, &r);
  for (const TimelineEvent &e : r.timeline)
    if (e.lane >= kNumEngines)
      return e.end - e.start;
  return 0;
}

Build load(DType t, int rows, int columns, bool storing = false) {
  return [=](Builder &b) {
    ObjectRef x = storing ? b.output("x", t, {rows, columns}) : b.input("x", t, {rows, columns});
    ObjectRef s = b.sbuf("s", t, {rows, columns}, 0, 0);
    const int q = b.queue("q");
    b.emit(Engine::Sync, "dma_copy").set("dst", storing ? x : s).set("src", storing ? s : x).queue(q);
  };
}

// Bytes per ns of back-to-back copies of 128 partitions.
double throughput(int bytesPerPartition) {
  const double each = interval("trn2", [&](Builder &b, int count) {
    ObjectRef x = b.input("x", DType::U8, {128, bytesPerPartition}),
              s = b.sbuf("s", DType::U8, {128, bytesPerPartition}, 0, 0);
    const int q = b.queue("q");
    for (int i = 0; i < count; ++i)
      b.emit(Engine::Sync, "dma_copy").set("dst", s).set("src", x).queue(q);
  });
  return 128.0 * bytesPerPartition / each;
}

struct Chain {
  double trigger, completion, end;
};
Chain chain() {
  TimingResult r;
  total(
      "trn2",
      [](Builder &b) {
        ObjectRef x = b.input("x", DType::BF16, {4, 4096}), s = b.sbuf("s", DType::BF16, {4, 4096}, 0, 0);
        const int q = b.queue("q"), loaded = b.semaphore("loaded");
        b.emit(Engine::Sync, "dma_copy").set("dst", s).set("src", x).queue(q).then(loaded, 16);
        b.emit(Engine::Scalar, "act_table_load").set("set", "natural_log_exp_and_others").when(loaded, 16);
        b.emit(Engine::Scalar, "activation").set("dst", s).set("data", s).set("fn", "exp").set("scale", 1.0f);
      },
      true, &r);
  Chain c{};
  double payloadEnd = 0, waiter = 0;
  for (const TimelineEvent &e : r.timeline) {
    if (e.lane >= kNumEngines)
      c.trigger = e.start, payloadEnd = e.end;
    else if (e.engine == Engine::Scalar && e.index == 0)
      waiter = e.start;
  }
  c.completion = waiter - payloadEnd;
  c.end = r.total;
  return c;
}

} // namespace

std::vector<Row> microRows() {
  std::vector<Row> rows;
  const char *pg = "performance guide", *intro = "DMA overview, figures", *how = "kernel optimization guide, figures";
  auto add = [&](const char *group, const char *what, const char *target, const char *source, double published,
                 double predicted, const char *usedFor = "", const char *note = "", const char *unit = "ns") {
    rows.push_back({group, what, target, source, published, predicted, unit, usedFor, note});
  };
  const char *g = "Instructions";
  add(g, "ACTIVATE 128x1 fp32, duration", "trn1", pg, 159,
      total("trn1", [](Builder &b) { activations(b, DType::F32, 128, 1, 1); }), "cost.scalar_latency");
  add(g, "ACTIVATE 128x1 fp32, each needs the one before, interval", "trn1", pg, 189,
      interval("trn1", [](Builder &b, int n) { activations(b, DType::F32, 128, 1, n); }));
  add(g, "ACTIVATE 128x8192 fp32", "trn1", pg, 6000,
      total("trn1", [](Builder &b) { activations(b, DType::F32, 128, 8192, 1); }));
  add(g, "TENSOR_TENSOR add 64x8192 fp32, SBUF + SBUF", "trn1", pg, 14968, tensorTensor("trn1", 64, 8192, "add", false),
      "cost.vector_latency (trn1)");
  add(g, "TENSOR_TENSOR multiply 128x8192 fp32, SBUF + SBUF", "trn1", pg, 14987,
      tensorTensor("trn1", 128, 8192, "multiply", false));
  const Product m1 = product("trn1", DType::BF16, 128, 1, 128), m96 = product("trn1", DType::BF16, 128, 96, 128);
  add(g, "LDWEIGHTS 128x1 bf16", "trn1", pg, 67, m1.weights, "cost.load_weights_start");
  add(g, "MATMUL K128 M1 N128 bf16, duration", "trn1", pg, 188, m1.multiply, "cost.tensor_latency");
  add(g, "MATMUL K128 M96 N128 bf16, duration", "trn1", pg, 219, m96.multiply);
  add(g, "EVENT_SEMAPHORE", "trn1", pg, 9, total("trn1", [](Builder &b) { b.emit(Engine::Sync, "nop"); }),
      "cost.sequencer_op");
  add(g, "exp 128x128 bf16", "trn2", intro, 399, total("trn2", [](Builder &b) { activations(b, DType::BF16, 128, 128, 1); }),
      "cost.scalar_latency (trn2)");
  add(g, "exp 4x4096 bf16", "trn2", intro, 3708, total("trn2", [](Builder &b) { activations(b, DType::BF16, 4, 4096, 1); }));
  add(g, "activation table load", "trn2", intro, 1285,
      total("trn2", [](Builder &b) { b.emit(Engine::Scalar, "act_table_load").set("set", "natural_log_exp_and_others"); }),
      "cost.activation_table_load");
  const Product fp32 = product("trn2", DType::F32, 128, 128, 512);
  add(g, "MATMUL 128x128x512 fp32, interval of each of its two passes", "trn2", how, 430.5, fp32.interval / 2);
  add(g, "MATMUL 128x128x512 fp32, duration of a pass", "trn2", how, 599.5, fp32.multiply - fp32.interval / 2);
  add(g, "LDWEIGHTS 128x128 fp32", "trn2", how, 198, fp32.weights);
  add(g, "TENSOR_TENSOR add 128x512 fp32, PSUM + SBUF", "trn2", how, 694, tensorTensor("trn2", 128, 512, "add", true),
      "cost.vector_latency (trn2)");

  g = "Transfers";
  add(g, "32 KiB on each of 16 engines", "trn1", pg, 1810, payload("trn1", load(DType::U8, 128, 4096)));
  add(g, "4 bytes", "trn1", pg, 7, payload("trn1", load(DType::F32, 1, 1)), "dma.descriptor_floor");
  add(g, "HBM to SBUF, 32 KiB on one engine ([4, 4096] bf16)", "trn2", intro, 1416,
      payload("trn2", load(DType::BF16, 4, 4096)));
  add(g, "HBM to SBUF, 2 KiB on each engine ([128, 128] bf16)", "trn2", intro, 97,
      payload("trn2", load(DType::BF16, 128, 128)));
  add(g, "SBUF to HBM, 32 KiB on one engine", "trn2", intro, 1236, payload("trn2", load(DType::BF16, 4, 4096, true)));
  add(g, "one more transfer by hardware DGE", "trn2", "Trainium2 architecture guide", 600,
      interval("trn2",
               [](Builder &b, int n) {
                 ObjectRef x = b.input("x", DType::F32, {128, 32}), s = b.sbuf("s", DType::F32, {128, 32}, 0, 0);
                 const int q = b.queue("q");
                 for (int i = 0; i < n; ++i)
                   b.emit(Engine::Sync, "dma_copy").set("dst", s).set("src", x).queue(q).set("dge", "hwdge");
               }),
      "dma.hwdge_interval");

  g = "Latency chain of one 32 KiB load and the exp that waits for it";
  const Chain c = chain();
  add(g, "trigger to first byte", "trn2", intro, 1000, c.trigger);
  add(g, "last byte to start of the waiting engine", "trn2", intro, 308, c.completion, "dma.completion_latency");
  add(g, "fixed cost", "trn2", "DMA bandwidth guide", 1300, c.trigger + c.completion, "dma.fixed_latency");
  add(g, "last byte of a store to its semaphore", "trn2", intro, 325, c.completion);
  add(
      g, "engine to engine by semaphore", "trn2", intro, 28,
      [] {
        TimingResult r;
        total(
            "trn2",
            [](Builder &b) {
              ObjectRef s = b.sbuf("s", DType::F32, {128, 512}, 0, 0), y = b.sbuf("y", DType::F32, {128, 512}, 0, 2048);
              const int done = b.semaphore("done");
              b.emit(Engine::Scalar, "activation")
                  .set("dst", s)
                  .set("data", y)
                  .set("fn", "copy")
                  .set("scale", 1.0f)
                  .then(done, 1);
              b.emit(Engine::GpSimd, "nop").when(done, 1);
            },
            true, &r);
        double start = 0;
        for (const TimelineEvent &e : r.timeline)
          if (e.engine == Engine::GpSimd)
            start = e.start;
        return start - total("trn2", [](Builder &b) {
                 ObjectRef s = b.sbuf("s", DType::F32, {128, 512}, 0, 0), y = b.sbuf("y", DType::F32, {128, 512}, 0, 2048);
                 b.emit(Engine::Scalar, "activation").set("dst", s).set("data", y).set("fn", "copy").set("scale", 1.0f);
               });
      }(),
      "cost.semaphore_latency");
  add(g, "trigger to end of exp, table load included", "trn2", intro, 7717, c.end);

  g = "Throughput against bytes per partition, 128 partitions, relative to 32 KiB";
  const double full = throughput(32768);
  const std::pair<int, double> curve[] = {{32, 1.3},    {64, 2.6},    {128, 5.0},   {256, 10.3},  {512, 20.6},
                                          {1024, 42.3}, {2048, 81.4}, {4096, 96.8}, {8192, 98.4}, {16384, 99.2}};
  for (auto [bytes, percent] : curve)
    add(g, (std::to_string(bytes) + " bytes").c_str(), "trn2", "DMA overview, plot", percent, 100 * throughput(bytes) / full,
        bytes == 512 ? "dma.queue_spacing" : "", "", "%");
  return rows;
}

} // namespace glia::validation
