#include "Late.h"
#include "LateText.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <vector>

namespace glia::mutants {

namespace {

// One loop of up to `most` iterations; something happens in iteration `from`, perhaps never.
class Maker : LateText {
public:
  explicit Maker(Random &r)
      : LateText(r), most(static_cast<int>(r.between(40, 120))),
        from(r.chance(40) ? most : static_cast<int>(r.between(12, most - 1))) {}

  Late make() {
    using Kind = void (Maker::*)();
    struct Named {
      const char *name;
      Kind kind;
      bool requireProved = false;
    };
    static constexpr Named kKinds[] = {
        {"undefined", &Maker::undefined},   {"beside", &Maker::beside}, {"phase", &Maker::phase},
        {"table", &Maker::table},           {"groups", &Maker::groups}, {"gather", &Maker::gather},
        {"exchange", &Maker::exchange},     {"wrap", &Maker::wrap},     {"overflow", &Maker::overflow},
        {"scatter", &Maker::scatter},       {"nested", &Maker::nested}, {"product", &Maker::product},
        {"accumulate", &Maker::accumulate}, {"ahead", &Maker::ahead},   {"pipelined", &Maker::pipelined},
        {"indices", &Maker::indices, true}, {"pieces", &Maker::pieces}};
    const Named &k = kKinds[r.below(std::size(kKinds))];
    (this->*k.kind)();
    return {k.name, std::move(text), k.requireProved};
  }

private:
  const int most, from;

  void begin() {
    line("target trn2");
    line("input n : i32[1] range %d %d", static_cast<int>(r.chance(50) ? 0 : r.between(1, 8)), most);
  }
  void indices() { text = computedIndices(r); }
  void pieces() { text = writtenPieces(r); }
  const char *writer() { return r.chance(50) ? "vector" : "gpsimd"; }
  static const char *another(const char *engine) { return engine == std::string("vector") ? "gpsimd" : "vector"; }

  // What is read further on was never written, or belongs to another allocation.
  void undefined() {
    const bool owner = r.chance(30);
    const char *e = writer();
    begin();
    line("output y : f32[1, 1]\nsbuf t : f32[1, %d] @ 0 live 0..1\nsbuf v : f32[1, 1] @ 1024", most);
    if (owner)
      line("sbuf o : f32[1, %d] @ %d live 1..2", std::max(1, most - from), from == most ? 2048 : 4 * from);
    line("semaphore done\nqueue q\n%s reg_load dst=r2 src=n\n%s memset dst=t[0:1, 0:%d] value=1.0", e, e,
         owner ? most : from);
    if (owner)
      line("%s memset dst=o value=5.0", e);
    line("%s memset dst=v value=0.0\n%s loop iv=r1 count=r2\n%s tensor_copy dst=v src=t[0:1, 0:1] + r1*4\n%s end_loop\n"
         "%s nop then done += 1\nsync dma_copy dst=y src=v queue=q when done >= 1",
         e, e, e, e, e);
  }

  // Another engine, or a transfer, works on the columns from `from` on, ordered or not.
  void beside() {
    const char *e = writer(), *other = r.chance(50) ? another(e) : "sync";
    const int end = most + 4;
    const bool ordered = r.chance(30), reads = r.chance(40);
    begin();
    line("input x : f32[1, %d]\noutput y : f32[1, %d]\nsbuf t : f32[1, %d] @ 0\nsemaphore done\nsemaphore begun\n"
         "semaphore other\nqueue q\nqueue p",
         end, end, end);
    line("%s reg_load dst=r2 src=n\n%s memset dst=t value=1.0 then begun += 1\n%s loop iv=r1 count=r2", e, e, e);
    if (reads)
      line("%s tensor_copy dst=t[0:1, %d:%d] src=t[0:1, 0:1] + r1*4", e, end - 1, end);
    else
      line("%s memset dst=t[0:1, 0:1] + r1*4 value=3.0", e);
    line("%s end_loop\n%s nop then done += 1", e, e);
    const char *when = ordered ? "done" : "begun";
    if (other == std::string("sync"))
      line("sync dma_copy dst=t[0:1, %d:%d] src=x[0:1, %d:%d] queue=p when %s >= 1 then other += 16", from, most + 1, from,
           most + 1, when);
    else
      line("%s memset dst=t[0:1, %d:%d] value=2.0 when %s >= 1 then other += 16", other, from, most + 1, when);
    line("sync nop when other >= 16\nsync dma_copy dst=y src=t queue=q when done >= 1");
  }

  // A ring of two between two engines; one of them changes its phase in iteration 2^k.
  void phase() {
    const int bit = static_cast<int>(r.between(3, 8)), ring = r.chance(70) ? 2 : 4;
    const int free = static_cast<int>(r.chance(75) ? ring : r.between(1, ring + 1)), late = static_cast<int>(r.below(3));
    begin();
    line("output y : f32[1, 1]\nsbuf t : f32[1, %d] @ 0\nsbuf v : f32[1, 1] @ 512\nsemaphore full\nsemaphore free = %d\n"
         "semaphore done\nsemaphore begun\nqueue q",
         ring, free);
    const char *engines[2] = {"gpsimd", "vector"};
    line("gpsimd memset dst=t value=0.0 then begun += 1\nvector memset dst=v value=0.0 when begun >= 1");
    for (int i = 0; i < 2; ++i) {
      const char *e = engines[i];
      line("%s reg_load dst=r2 src=n\n%s loop iv=r1 count=r2 group=\"g\"", e, e);
      if (late == i) { // both or neither is right
        line("%s reg_alu dst=r4 op=shift_right a=r1 b=%d\n%s reg_alu dst=r3 op=add a=r1 b=r4", e, bit, e);
        line("%s reg_alu dst=r3 op=and a=r3 b=%d", e, ring - 1);
      } else {
        line("%s reg_alu dst=r3 op=and a=r1 b=%d", e, ring - 1);
      }
      if (i == 0)
        line("gpsimd iota dst=t[0:1, 0:1] + r3*4 pattern=[1, 1] offset=7 when free >= 1 consume then full += 1");
      else
        line("vector tensor_tensor dst=v a=v b=t[0:1, 0:1] + r3*4 op=add when full >= 1 consume then free += 1");
      line("%s end_loop", e);
    }
    line("vector nop then done += 1\nsync dma_copy dst=y src=v queue=q when done >= 1");
  }

  std::string tableOf(int wrongFrom) {
    std::string entries;
    for (int i = 0; i < most; ++i)
      entries += (i ? ", " : "") + std::to_string(i < wrongFrom ? i : std::max(0, 2 * wrongFrom - i - 1));
    return entries;
  }

  // A consumer that reads where a table says, of a producer that goes straight on.
  void table() {
    begin();
    line("const c : i32[%d] = [%s]", most, tableOf(from).c_str());
    line("output y : f32[1, %d]\nsbuf t : f32[1, %d] @ 0\nsbuf u : f32[1, %d] @ 1024\nsemaphore full\nsemaphore begun\n"
         "semaphore done\nqueue q",
         most, most, most);
    const bool produced = r.chance(50); // the producer goes by the table, and writes places again
    line("gpsimd memset dst=t value=0.0\ngpsimd memset dst=u value=0.0 then begun += 1\ngpsimd reg_load dst=r2 src=n\n"
         "vector reg_load dst=r2 src=n when begun >= 1\ngpsimd loop iv=r1 count=r2 group=\"g\"");
    if (produced)
      line("gpsimd reg_load dst=r3 src=c{ | 0 | 1x1} + r1*4\ngpsimd iota dst=t[0:1, 0:1] + r3*4 pattern=[1, 1] offset=3 "
           "then full += 1");
    else
      line("gpsimd iota dst=t[0:1, 0:1] + r1*4 pattern=[1, 1] offset=3 then full += 1");
    line("gpsimd end_loop\nvector loop iv=r1 count=r2 group=\"g\"");
    if (!produced)
      line("vector reg_load dst=r3 src=c{ | 0 | 1x1} + r1*4");
    line("vector tensor_copy dst=u[0:1, 0:1] + r1*4 src=t[0:1, 0:1] + r%d*4 when full >= 1 consume\nvector end_loop\n"
         "vector nop then done += 1\nsync dma_copy dst=y src=u queue=q when done >= 1",
         produced ? 1 : 3);
  }

  // Engines of one group that do not repeat equally often.
  void groups() {
    const int64_t how = r.below(4);
    begin();
    line("input m : i32[1] range %d %d\noutput y : f32[1, 1]\nsbuf t : f32[1, 1] @ 0\nsbuf v : f32[1, 1] @ 64\nsemaphore "
         "full\n"
         "semaphore free = 1\nsemaphore done\nqueue q",
         0, most);
    line("vector memset dst=v value=0.0\ngpsimd reg_load dst=r2 src=n\nvector reg_load dst=r2 src=%s", how == 1 ? "m" : "n");
    if (how == 2) // equal up to `from`
      line("vector reg_alu dst=r2 op=min a=r2 b=%d", from);
    line("gpsimd loop iv=r1 count=r2 group=\"g\"\ngpsimd memset dst=t value=1.0 when free >= 1 consume then full += 1\n"
         "gpsimd end_loop");
    if (how == 3)
      line("gpsimd loop iv=r1 count=r2 group=\"g\"\ngpsimd end_loop");
    line("vector loop iv=r1 count=r2 group=\"g\"\nvector tensor_tensor dst=v a=v b=t op=add when full >= 1 consume then "
         "free += "
         "1\nvector end_loop\nvector nop then done += 1\nsync dma_copy dst=y src=v queue=q when done >= 1");
    if (how == 3)
      line("gpsimd dma_copy dst=t src=v queue=p\nvector memset dst=v value=2.0");
    if (how == 3)
      text.replace(text.find("queue q"), 7, "queue q\nqueue p");
  }

  // Rows of a tensor go to other rows of it; the indices advance in a loop until they meet what is written.
  void gather() {
    const int rows = 128 + static_cast<int>(r.below(64)), scatter = r.chance(50);
    begin();
    line("input x : f32[%d, 2]\noutput y : f32[%d, 2]\nscratch s : f32[%d, 2]\nsbuf i : i32[16, 1] @ 0\nsemaphore "
         "a\nsemaphore k\n"
         "semaphore w\nqueue q\nqueue g",
         rows + 16, rows + 16, rows + 16);
    line("sync dma_copy dst=s src=x queue=q then a += 16\nvector reg_load dst=r2 src=n\ngpsimd iota dst=i pattern=[1, 1] "
         "offset=%d channel_multiplier=1 then k += 1\nvector nop when k >= 1\nvector loop iv=r1 count=r2\n"
         "vector tensor_scalar dst=i data=i op0=add operand0=1.0\nvector end_loop\nvector nop then k += 1\n"
         "gpsimd nop when a >= 16 and k >= 2",
         static_cast<int>(r.below(8)));
    const int to = std::min(from + (r.chance(50) ? 24 : 0), rows);
    if (scatter)
      line("gpsimd dma_copy dst=s{ | 0 | 2x16, 1x2} src=s[%d:%d, 0:2] dst_index=i queue=g dge=swdge then w += 16", to,
           to + 16);
    else
      line("gpsimd dma_copy dst=s[%d:%d, 0:2] src=s{ | 0 | 2x16, 1x2} src_index=i queue=g dge=swdge then w += 16", to,
           to + 16);
    line("sync dma_copy dst=y src=s queue=q when w >= 16");
  }

  // Both cores exchange tiles in a loop and use the buffers again: after the wait, or before it.
  void exchange() {
    const bool early = r.chance(40), loop = r.chance(60), readEarly = r.chance(20);
    begin();
    line("output y : f32[2, 1]");
    text.insert(text.find('\n') + 1, "cores 2\n");
    for (int c = 0; c < 2; ++c)
      line("sbuf a : f32[1, 1] @ 0 core %d\nsbuf b : f32[1, 1] @ 64 core %d\nsbuf c : f32[1, 1] @ 128 core %d\nsemaphore g "
           "core %d\n"
           "semaphore i core %d\nqueue q core %d",
           c, c, c, c, c, c);
    for (int c = 0; c < 2; ++c) {
      line("core%d vector memset dst=a value=%d.0\ncore%d vector memset dst=b value=0.0\ncore%d vector memset dst=c "
           "value=0.0",
           c, c + 1, c, c);
      line("core%d vector reg_load dst=r1 src=n", c);
      if (loop)
        line("core%d vector loop iv=r0 count=r1 group=\"l\"", c);
      line("core%d vector sendrecv dst=b src=a pipe=0 then g += 16", c);
      if (early && c == 0)
        line("core0 vector memset dst=%s value=9.0", r.chance(50) ? "a" : "b");
      if (readEarly && c == 1)
        line("core1 vector tensor_copy dst=c src=b");
      line("core%d vector nop when g >= 16 consume", c);
      line("core%d vector tensor_tensor dst=c a=c b=b op=add\ncore%d vector tensor_scalar dst=a data=a op0=add operand0=1.0",
           c, c);
      if (loop)
        line("core%d vector end_loop", c);
      line("core%d vector nop then i += 1\ncore%d sync dma_copy dst=y[%d:%d] src=c queue=q when i >= 1", c, c, c, c + 1);
    }
  }

  // A register that goes round at 2^32, or into the negative, on its way to an address.
  void wrap() {
    const char *e = writer();
    const int64_t how = r.below(3);
    const bool masked = r.chance(50);
    const int start = how == 0 ? INT32_MAX - from : 0;
    begin();
    line("output y : f32[1, 1]\nsbuf t : f32[1, 128] @ 0\nsbuf v : f32[1, 1] @ 1024\nsemaphore done\nqueue q");
    line("%s reg_load dst=r2 src=n\n%s memset dst=t value=1.0\n%s memset dst=v value=0.0\n%s reg_move dst=r3 src=%d\n%s "
         "loop iv=r1 "
         "count=r2",
         e, e, e, e, start, e);
    if (how == 0) // counts over the largest number; its difference to the start is the address
      line("%s reg_alu dst=r4 op=max a=r3 b=%d\n%s reg_alu dst=r4 op=subtract a=r4 b=%d\n%s reg_alu dst=r3 op=add a=r3 b=1",
           e, start - 1, e, start, e);
    else if (how == 1) // a step that is a divisor of 2^32
      line("%s reg_alu dst=r4 op=shift_right a=r3 b=%d\n%s reg_alu dst=r3 op=add a=r3 b=%d", e, 25, e, 1 << 25);
    else // grows by multiplication
      line("%s reg_alu dst=r3 op=add a=r3 b=3\n%s reg_alu dst=r4 op=multiply a=r3 b=%d\n%s reg_alu dst=r4 op=shift_right "
           "a=r4 b=24",
           e, e, 1 << 20, e);
    if (masked)
      line("%s reg_alu dst=r4 op=and a=r4 b=%d", e, r.chance(80) ? 127 : 255);
    line("%s tensor_copy dst=v src=t[0:1, 0:1] + r4*4\n%s end_loop\n%s nop then done += 1\nsync dma_copy dst=y src=v "
         "queue=q when "
         "done >= 1",
         e, e, e);
  }

  // A producer that nobody holds back fills a semaphore.
  void overflow() {
    const bool held = r.chance(40);
    const int each = static_cast<int>(r.between(200, 3000));
    begin();
    line("output y : i32[1]\nsemaphore s\nsemaphore f = %d\nscalar reg_load dst=r2 src=n\nvector reg_load dst=r2 src=n\n"
         "scalar loop iv=r1 count=r2 group=\"g\"\nscalar nop%s then s += %d\nscalar end_loop\nvector loop iv=r1 count=r2 "
         "group=\"g\"\nvector nop when s >= %d consume%s\nvector end_loop\nsync reg_move dst=r0 src=0\nsync reg_store dst=y "
         "src=r0",
         static_cast<int>(r.between(1, 40)), held ? " when f >= 1 consume" : "", each, each, held ? " then f += 1" : "");
  }

  // Indices of a later iteration are not all different, and there may be no such iteration.
  void scatter() {
    const int columns = static_cast<int>(r.between(5, 10)), last = r.chance(50) ? columns : most;
    line("target trn2\ninput n : i32[1] range 0 %d\ninput v : f32[16, 2]\noutput y : f32[16, 2]\nsbuf i : i32[16, %d] @ 0\n"
         "sbuf d : f32[16, 2] @ 1024\nsbuf z : f32[16, 2] @ 1088\nsemaphore b\nsemaphore o\nsemaphore w\nqueue q\nqueue "
         "g\nqueue h",
         last, most);
    line("sync dma_copy dst=d src=v queue=q then b += 16\ngpsimd memset dst=i value=0.0\ngpsimd memset dst=z value=0.0");
    for (int c = 0; c < columns; ++c)
      line("gpsimd iota dst=i[0:16, %d:%d] pattern=[1, 1] channel_multiplier=1", c, c + 1);
    line("gpsimd dma_copy dst=y src=z queue=h then o += 16\ngpsimd nop when b >= 16 and o >= 16\ngpsimd reg_load dst=r2 "
         "src=n\n"
         "gpsimd loop iv=r1 count=r2 group=\"g\"\ngpsimd dma_copy dst=y src=d dst_index=i[0:16, 0:1] + r1*4 queue=g "
         "dge=swdge then w "
         "+= 16\ngpsimd nop when w >= 16 consume\ngpsimd end_loop");
  }

  // Transfers of neighbouring outer iterations that reach into each other when the inner loop is long.
  void nested() {
    const int inner = static_cast<int>(r.between(4, 24)), pitch = static_cast<int>(r.between(4, 28)), outer = 6;
    line("target trn2\ninput n : i32[1] range 0 %d\ninput m : i32[1] range 0 %d\ninput x : f32[64]\noutput y : f32[%d] from "
         "y0\n"
         "queue p\ngpsimd reg_load dst=r2 src=n\ngpsimd reg_load dst=r3 src=m\ngpsimd loop iv=r1 count=r2\ngpsimd loop "
         "iv=r4 count=r3\n"
         "gpsimd dma_copy dst=y{ | 0 | 1x1} + r1*%d + r4*4 src=x{ | 0 | 1x1} + r1*4 queue=p dge=swdge\ngpsimd end_loop\n"
         "gpsimd end_loop",
         outer, inner, outer * pitch + inner, 4 * pitch);
  }

  // An address that is a product of two registers, one of which counts.
  void product() {
    const bool apart = r.chance(50);
    begin();
    line("output y : f32[1, %d]\nsbuf t : f32[1, %d] @ 0\nsemaphore done\nsemaphore begun\nsemaphore other\nqueue q",
         2 * most, 2 * most);
    line("vector reg_load dst=r2 src=n\nvector reg_move dst=r6 src=%d\nvector memset dst=t value=1.0 then begun += 1\n"
         "vector loop iv=r1 count=r2 group=\"g\"\nvector reg_alu dst=r3 op=multiply a=r6 b=r1\n"
         "vector memset dst=t[0:1, 0:1] + r3*4 value=3.0\nvector end_loop\nvector nop then done += 1\n"
         "gpsimd reg_load dst=r2 src=n when begun >= 1\ngpsimd loop iv=r1 count=r2 group=\"g\"\n"
         "gpsimd memset dst=t[0:1, %d:%d] value=2.0\ngpsimd end_loop\ngpsimd nop then other += 1\nsync nop when other >= 1\n"
         "sync dma_copy dst=y src=t queue=q when done >= 1",
         1, apart ? 2 * most - 1 : from, apart ? 2 * most : from + 1);
  }

  // Matmuls onto PSUM that only the first ones have written.
  void accumulate() {
    const int columns = std::min(most, 64);
    begin();
    text.replace(text.find(format(" %d\n", most)), format(" %d\n", most).size(), format(" %d\n", columns));
    const int written = std::min(from, columns);
    line("input x : f32[32, %d]\noutput y : f32[32, %d]\nsbuf a : f32[32, %d] @ 0\nsbuf o : f32[32, %d] @ 1024\npsum c : "
         "f32[32, %d] @ "
         "0\nsemaphore l\nsemaphore m\nsemaphore d\nqueue q",
         columns, written, columns, written, columns);
    line("sync dma_copy dst=a src=x queue=q then l += 16\ntensor nc_matmul dst=c[0:32, 0:%d] stationary=a[0:32, 0:32] "
         "moving=a[0:32, 0:%d] accumulate=0 when l >= 16\ntensor reg_load dst=r2 src=n\ntensor loop iv=r1 count=r2\n"
         "tensor nc_matmul dst=c[0:32, 0:1] + r1*4 stationary=a[0:32, 0:32] moving=a[0:32, 0:1] accumulate=1\ntensor "
         "end_loop\n"
         "tensor nop then m += 1\nvector tensor_copy dst=o src=c[0:32, 0:%d] when m >= 1 then d += 1\n"
         "sync dma_copy dst=y src=o queue=q when d >= 1",
         written, written, written);
  }

  // The producer may run ahead by more than there are places, or the consumer reads one place too far.
  void ahead() {
    const int ring = 1 << r.below(4), free = ring + static_cast<int>(r.between(-1, 1)), shift = static_cast<int>(r.below(2));
    begin();
    line("input x : f32[%d]\noutput y : f32[1, %d]\nsbuf t : f32[1, %d] @ 0\nsbuf u : f32[1, %d] @ 512\nsemaphore "
         "full\nsemaphore free "
         "= %d\nsemaphore in\nsemaphore begun\nsemaphore done\nqueue q\nqueue p",
         most, most, ring, most, std::max(1, free));
    line("gpsimd memset dst=t value=0.0\ngpsimd memset dst=u value=0.0 then begun += 1\ngpsimd reg_load dst=r2 src=n\n"
         "gpsimd loop iv=r1 count=r2 group=\"g\"\ngpsimd reg_alu dst=r3 op=and a=r1 b=%d\ngpsimd dma_copy dst=t[0:1, 0:1] + "
         "r3*4 "
         "src=x{ | 0 | 1x1} + r1*4 queue=p dge=swdge when free >= 1 consume then in += 16\ngpsimd nop when in >= 16 consume "
         "then "
         "full += 1\ngpsimd end_loop\nvector reg_load dst=r2 src=n when begun >= 1\nvector loop iv=r1 count=r2 group=\"g\"\n"
         "vector reg_alu dst=r3 op=add a=r1 b=%d\nvector reg_alu dst=r3 op=and a=r3 b=%d\n"
         "vector tensor_copy dst=u[0:1, 0:1] + r1*4 src=t[0:1, 0:1] + r3*4 when full >= 1 consume then free += 1\n"
         "vector end_loop\nvector nop then done += 1\nsync dma_copy dst=y src=u queue=q when done >= 1",
         ring - 1, shift, ring - 1);
  }

  // Tile i is used while a later one is loaded, into the place that its number says; the last ones are used behind the loop. A place may be
  // wrong, or be filled again while it is read.
  void pipelined() {
    const int ring = r.chance(60) ? 2 : 4, mask = ring - 1, early = 1 + static_cast<int>(r.below(ring - 1));
    const int shift = r.chance(40) ? static_cast<int>(r.between(1, mask)) : 0; // of the place that is read behind the loop
    const bool asks = r.chance(80), dma = early == 1 && r.chance(60);
    auto load = [&](const std::string &at, const std::string &tile) {
      if (dma)
        line("gpsimd dma_copy dst=t%s src=x%s queue=p dge=swdge then full += 16", at.c_str(), tile.c_str());
      else
        line("gpsimd memset dst=t%s value=3.0 then full += 1", at.c_str());
    };
    const int each = dma ? 16 : 1;
    begin();
    line("input x : f32[%d]\noutput y : f32[1, 1]\nsbuf t : f32[1, %d] @ 0\nsbuf u : f32[1, 1] @ 512\nsemaphore full\n"
         "semaphore free = %d\nsemaphore done\nqueue q\nqueue p\ngpsimd reg_load dst=r2 src=n",
         most + ring, ring, ring - early);
    for (int k = 0; k < early; ++k)
      load(format("[0:1, %d:%d]", k, k + 1), format("{ | %d | 1x1}", 4 * k));
    line("gpsimd loop iv=r1 count=r2 group=\"g\"\ngpsimd reg_alu dst=r3 op=add a=r1 b=%d\ngpsimd reg_alu dst=r4 op=and a=r3 "
         "b=%d\ngpsimd nop%s",
         early, mask, asks ? " when free >= 1 consume" : "");
    load("[0:1, 0:1] + r4*4", "{ | 0 | 1x1} + r3*4");
    line("gpsimd end_loop\nvector reg_load dst=r2 src=n\nvector memset dst=u value=0.0\nvector loop iv=r1 count=r2 "
         "group=\"g\"\n"
         "vector reg_alu dst=r3 op=and a=r1 b=%d\nvector nop when full >= %d consume\n"
         "vector tensor_tensor dst=u a=u b=t[0:1, 0:1] + r3*4 op=add%s\nvector end_loop",
         mask, each, asks ? " then free += 1" : "");
    for (int k = 0; k < early; ++k)
      line("vector reg_alu dst=r3 op=add a=r2 b=%d\nvector reg_alu dst=r3 op=and a=r3 b=%d\nvector nop when full >= %d "
           "consume\n"
           "vector tensor_tensor dst=u a=u b=t[0:1, 0:1] + r3*4 op=add",
           k + shift, mask, each);
    line("vector nop then done += 1\nsync dma_copy dst=y src=u queue=q when done >= 1");
  }
};

} // namespace

Late lateProgram(Random &random) { return Maker(random).make(); }

} // namespace glia::mutants
