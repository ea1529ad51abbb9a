#include "Tiny.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <array>
#include <set>

namespace glia::tiny {

std::string Tiny::text() const {
  std::string out;
  for (const std::string &d : declarations)
    out += d + "\n";
  for (size_t i = 0; i < semaphores.size(); ++i)
    out += format("semaphore s%zu", i) + (semaphores[i].initial ? format(" = %d", semaphores[i].initial) : "") +
           (semaphores[i].core >= 0 ? format(" core %d", semaphores[i].core) : "") + "\n";
  for (const Line &l : lines) {
    out += l.isLabel() ? l.body : l.engine + " " + l.body;
    for (size_t i = 0; i < l.waits.size(); ++i)
      out += format(" %s s%d >= %d%s", i ? "and" : "when", l.waits[i].semaphore, l.waits[i].value,
                    l.waits[i].consume ? " consume" : "");
    for (size_t i = 0; i < l.adds.size(); ++i)
      out += format(" %s s%d += %d", i ? "and" : "then", l.adds[i].semaphore, l.adds[i].value);
    out += "\n";
  }
  return out;
}

namespace {

const std::vector<std::string> kEngines = {"vector", "gpsimd", "scalar"};
const std::vector<std::string> kWriters = {"vector", "gpsimd"}; // that have memset

class Generator {
public:
  // Few iterations, or more than a summary of a loop looks at one by one.
  explicit Generator(Random &r) : r(r), most(r.chance(65) ? 3 : 10), width(most + 1) {
    std::string once, again; // tables of addresses: all different; the later ones repeat
    for (int i = 0; i < width; ++i) {
      once += (i ? ", " : "") + std::to_string(i == width - 2 ? i + 1 : i == width - 1 ? i - 1 : i);
      again += (i ? ", " : "") + std::to_string(std::min(i, width / 2));
    }
    t.declarations = {"target trn2",
                      format("input n : i32[1] range 0 %d", most),
                      "input k : i32[1] range 0 1",
                      format("input x : f32[1, %d]", width),
                      format("const c : i32[%d] = [%s]", width, once.c_str()),
                      format("const d : i32[%d] = [%s]", width, again.c_str()),
                      format("output y : f32[1, %d]", width),
                      format("sbuf t : f32[1, %d] @ 0", width),
                      format("sbuf u : f32[1, %d] @ 64", width),
                      format("sbuf v : f32[1, %d] @ 128", width),
                      format("scratch h : f32[1, %d]", width),
                      "queue q",
                      "queue p"};
  }

  Tiny make() {
    const int64_t what = r.below(100);
    if (what < 25)
      straight();
    else if (what < 55)
      ring();
    else if (what < 75)
      beside();
    else if (what < 80)
      branches();
    else if (what < 86)
      sides();
    else if (what < 92)
      cores();
    else
      twoLoops();
    return std::move(t);
  }

private:
  Random &r;
  const int most, width; // iterations, columns
  Tiny t;

  int semaphore(int initial = 0) {
    t.semaphores.push_back({initial});
    return static_cast<int>(t.semaphores.size()) - 1;
  }
  Line &add(std::string engine, std::string body) {
    t.lines.push_back({std::move(engine), std::move(body), {}, {}});
    return t.lines.back();
  }
  std::string two() { return r.pick(kWriters); }
  std::string other(const std::string &engine, const std::vector<std::string> &among) {
    std::string e;
    do
      e = r.pick(among);
    while (e == engine);
    return e;
  }
  // dst = f(src), on an engine.
  static std::string compute(const std::string &engine, const std::string &dst, const std::string &src) {
    if (engine == "scalar")
      return "activation dst=" + dst + " data=" + src + " fn=copy scale=2.0";
    return engine == "vector" ? "tensor_scalar dst=" + dst + " data=" + src + " op0=add operand0=1.0"
                              : "tensor_copy dst=" + dst + " src=" + src;
  }
  std::string fill(const std::string &dst) { return format("memset dst=%s value=%d.0", dst.c_str(), (int)r.between(1, 9)); }
  static std::string columns(const char *object, int64_t from, int64_t to) {
    return format("%s[0:1, %d:%d]", object, (int)from, (int)to);
  }
  // The result goes out: behind everything that adds to `after`.
  void store(const char *object, const std::vector<Wait> &after) {
    add("sync", std::string("dma_copy dst=y src=") + object + " queue=q").waits = after;
  }
  void count(const std::string &engine, int reg) { add(engine, format("reg_load dst=r%d src=n", reg)); }

  // ---- instructions one after the other --------------------------------------------------------------------------------

  struct Piece {
    int object, from, to;
    bool write;
  };
  void straight() {
    struct Done {
      std::string actor;
      std::vector<Piece> pieces;
      size_t line;
      int semaphore = -1;
      std::set<size_t> known;
    };
    std::vector<Done> all;
    static constexpr std::array<const char *, 4> kObjects = {"t", "u", "v", "h"};
    const bool running = r.chance(40); // one semaphore for each engine, with a running count
    std::vector<std::pair<std::string, int>> counters;
    auto emit = [&](const std::string &engine, std::string body, std::vector<Piece> pieces) {
      Done d{engine, std::move(pieces), t.lines.size(), -1, {}};
      Line line{engine, std::move(body), {}, {}};
      for (size_t j = all.size(); j-- > 0;) {
        Done &o = all[j];
        const bool same = o.actor == engine && !t.lines[o.line].isTransfer();
        if (same || d.known.count(j)) {
          if (same) {
            d.known.insert(o.known.begin(), o.known.end());
            d.known.insert(j);
          }
          continue;
        }
        const bool meets = std::any_of(o.pieces.begin(), o.pieces.end(), [&](const Piece &a) {
          return std::any_of(d.pieces.begin(), d.pieces.end(), [&](const Piece &b) {
            return a.object == b.object && (a.write || b.write) && a.from < b.to && b.from < a.to;
          });
        });
        if (!meets)
          continue;
        Line &before = t.lines[o.line];
        int value = before.isTransfer() ? 16 : 1;
        if (o.semaphore < 0) {
          if (running && !before.isTransfer()) {
            auto it = std::find_if(counters.begin(), counters.end(), [&](const auto &c) { return c.first == o.actor; });
            if (it == counters.end())
              it = counters.insert(counters.end(), {o.actor, semaphore()});
            o.semaphore = it->second;
          } else {
            o.semaphore = semaphore();
          }
          before.adds.push_back({o.semaphore, value});
        }
        if (running && !before.isTransfer()) { // how many of its engine's additions come up to it
          value = 0;
          for (size_t i = 0; i <= o.line; ++i)
            for (const Add &a : t.lines[i].adds)
              value += a.semaphore == o.semaphore ? a.value : 0;
        }
        line.waits.push_back({o.semaphore, value});
        d.known.insert(o.known.begin(), o.known.end());
        d.known.insert(j);
      }
      t.lines.push_back(std::move(line));
      all.push_back(std::move(d));
    };
    for (int o = 0; o < 3; ++o)
      emit(two(), fill(kObjects[o]), {{o, 0, width, true}});
    emit("sync", "dma_copy dst=h src=x queue=q", {{3, 0, width, true}});
    for (int64_t i = r.between(2, 5); i > 0; --i) {
      const int n = static_cast<int>(r.between(1, width)), to = static_cast<int>(r.below(width + 1 - n)),
                from = static_cast<int>(r.below(width + 1 - n));
      if (r.chance(40)) {
        const int a = static_cast<int>(r.below(4)), b = static_cast<int>((a + r.between(1, 3)) % 4);
        const bool sync = r.chance(50);
        emit(sync ? "sync" : "gpsimd",
             "dma_copy dst=" + columns(kObjects[a], to, to + n) + " src=" + columns(kObjects[b], from, from + n) +
                 (sync ? " queue=q" : " queue=p"),
             {{a, to, to + n, true}, {b, from, from + n, false}});
      } else {
        const std::string engine = r.pick(kEngines);
        const int a = static_cast<int>(r.below(3)), b = static_cast<int>((a + r.between(1, 2)) % 3);
        emit(engine, compute(engine, columns(kObjects[a], to, to + n), columns(kObjects[b], from, from + n)),
             {{a, to, to + n, true}, {b, from, from + n, false}});
      }
    }
    const int last = static_cast<int>(r.below(4));
    emit("sync", std::string("dma_copy dst=y src=") + kObjects[last] + " queue=q", {{last, 0, width, false}});
  }

  // ---- a producer and a consumer in a loop -----------------------------------------------------------------------------

  // An offset that moves with the iteration: appends what computes it, returns what is added to the address.
  std::string moving(const std::string &engine, int iv, int64_t how) {
    switch (how) {
    case 0: return ""; // stays
    case 1: return format(" + r%d*4", iv);
    case 2: add(engine, format("reg_alu dst=r5 op=and a=r%d b=1", iv)); return " + r5*4";
    case 3: add(engine, format("reg_alu dst=r5 op=xor a=r%d b=1", iv)); return " + r5*4";
    case 4: add(engine, format("reg_load dst=r5 src=c{ | 0 | 1x1} + r%d*4", iv)); return " + r5*4";
    case 5: add(engine, format("reg_load dst=r5 src=d{ | 0 | 1x1} + r%d*4", iv)); return " + r5*4";
    default:
      add(engine, "reg_move dst=r6 src=" + std::to_string(most - 1));
      add(engine, format("reg_alu dst=r5 op=subtract a=r6 b=r%d", iv));
      return " + r5*4";
    }
  }

  void ring() {
    const bool dynamic = r.chance(75), byDma = r.chance(35), storeByDma = r.chance(20);
    const std::string producer = byDma ? "gpsimd" : two(), consumer = storeByDma ? "sync" : other(producer, kEngines);
    const int trips = static_cast<int>(r.between(1, most));
    const int64_t how = r.pick(std::vector<int64_t>{0, 1, 1, 2, 2, 3, 4, 5});
    const int slots = how == 0 ? 1 : how == 2 || how == 3 ? 2 : width;
    // Enough room for all iterations needs nothing that says it is free.
    const bool backwards = slots < width || how == 5 || r.chance(50);
    const int full = semaphore(), free = backwards ? semaphore(std::min(slots, how == 5 ? 1 : slots)) : -1,
              done = semaphore();
    const std::string loop = format("loop iv=r1 count=%s group=\"g\"", dynamic ? "r2" : format("%d", trips).c_str());
    const int ready = semaphore();
    if (dynamic)
      count(producer, 2);
    add(producer == "gpsimd" ? "gpsimd" : "vector", fill("t")).adds = {{ready, 1}};
    add(producer, loop);
    const std::string to = moving(producer, 1, how);
    Line &made = add(producer, byDma ? "dma_copy dst=t[0:1, 0:1]" + to + " src=x[0:1, 0:1] + r1*4 queue=p dge=swdge"
                                     : fill("t[0:1, 0:1]" + to));
    if (backwards)
      made.waits.push_back({free, 1, true});
    made.adds.push_back({full, byDma ? 16 : 1});
    add(producer, "end_loop");
    if (dynamic)
      count(consumer, 2);
    const std::string filler = consumer == "scalar" || consumer == "sync" ? "vector" : consumer;
    Line &first = add(filler, fill("u"));
    if (filler != consumer) {
      const int begun = semaphore();
      first.adds.push_back({begun, 1});
      add(consumer, "nop").waits = {{begun, 1}};
    }
    if (r.chance(50)) // t is filled by its producer, who is ordered with whoever waits for `full`
      add(consumer, "nop").waits = {{ready, 1}};
    add(consumer, loop);
    const std::string from = moving(consumer, 1, how);
    const int bytes = byDma ? 16 : 1;
    if (storeByDma) {
      const int stored = semaphore();
      Line &out = add("sync", "dma_copy dst=u[0:1, 0:1] + r1*4 src=t[0:1, 0:1]" + from + " queue=q dge=hwdge");
      out.waits = {{full, bytes, true}};
      out.adds = {{stored, 16}};
      Line &freed = add("sync", "nop");
      freed.waits = {{stored, 16, true}};
      if (backwards)
        freed.adds = {{free, 1}};
    } else {
      Line &used = add(consumer, compute(consumer, "u[0:1, 0:1] + r1*4", "t[0:1, 0:1]" + from));
      used.waits = {{full, bytes, true}};
      if (backwards)
        used.adds = {{free, 1}};
    }
    add(consumer, "end_loop");
    add(consumer, "nop").adds = {{done, 1}};
    store("u", {{done, 1}});
  }

  // ---- a loop, and an engine beside it ---------------------------------------------------------------------------------

  void beside() {
    const std::string looping = two(), single = other(looping, kEngines);
    const int begun = semaphore(), done = semaphore(), also = semaphore();
    add(looping, fill("t"));
    add(looping, fill("u")).adds = {{begun, 1}};
    const int64_t where = r.below(3); // the single instruction comes before, after, or at any time
    const int64_t column = r.below(width), end = r.between(column + 1, width);
    const bool reads = r.chance(50);
    const std::string piece = columns("t", column, end), target = columns("u", column, end);
    if (where == 0)
      add(looping, "nop").waits = {{also, 1}};
    count(looping, 2);
    add(looping, "loop iv=r1 count=r2");
    const std::string to = moving(looping, 1, r.pick(std::vector<int64_t>{1, 1, 2, 4, 5, 6}));
    add(looping, fill("t[0:1, 0:1]" + to));
    add(looping, "end_loop");
    add(looping, "nop").adds = {{done, 1}};
    const bool dma = r.chance(30);
    const int ended = semaphore();
    Line &one = dma ? add("sync", "dma_copy dst=" + (reads ? target : piece) +
                                      " src=" + (reads ? piece : columns("x", column, end)) + " queue=q")
                    : add(single, compute(single, reads ? target : piece, reads ? piece : columns("u", column, end)));
    one.waits = {{where == 1 ? done : begun, 1}};
    one.adds = {{dma ? ended : also, dma ? 16 : 1}};
    if (dma)
      add("sync", "nop").waits = {{ended, 16}};
    if (dma)
      t.lines.back().adds = {{also, 1}};
    std::vector<Wait> after = {{done, 1}, {also, 1}};
    store(r.chance(50) ? "t" : "u", after);
  }

  // ---- branches --------------------------------------------------------------------------------------------------------

  void branches() {
    const std::string engine = two(), reader = other(engine, kEngines);
    const int done = semaphore(), last = semaphore();
    add(engine, fill("t"));
    add(engine, fill("u"));
    add(engine, "reg_load dst=r3 src=k");
    add(engine, r.chance(50) ? "branch cond=eq a=r3 b=0 target=over" : "branch cond=gt a=r3 b=0 target=over");
    add(engine, fill(columns("t", r.below(3), 3)));
    if (r.chance(40))
      add(engine, fill("u[0:1, 0:1] + r3*4"));
    if (r.chance(40)) { // in two steps, over bytes that nobody else has written
      add(engine, fill(columns("v", r.below(3), 3)));
      add(engine, compute(engine, columns("t", 0, 2), columns("v", 0, 2)));
    }
    add(engine, "over:");
    add(engine, "nop").adds = {{done, 1}};
    Line &read = add(reader, compute(reader, columns("u", 0, 2), columns("t", 1, 3)));
    read.waits = {{done, 1}};
    read.adds = {{last, 1}};
    store("u", {{last, 1}});
  }

  // Both sides of an if signal alike, after as many instructions as each has.
  void sides() {
    const std::string engine = two(), reader = other(engine, kEngines);
    const int half = semaphore(), done = semaphore(), last = semaphore();
    add(engine, fill("t"));
    add(engine, fill("u"));
    add(engine, "reg_load dst=r3 src=k");
    auto side = [&] {
      for (int64_t i = r.below(2); i >= 0; --i)
        add(engine, fill(columns("t", 0, 1 + r.below(2))));
      t.lines.back().adds = {{half, 1}};
      for (int64_t i = r.below(2); i >= 0; --i)
        add(engine, fill(columns("t", 2, 3)));
      t.lines.back().adds = {{done, 1}};
    };
    add(engine, "branch cond=eq a=r3 b=0 target=else");
    side();
    add(engine, "branch cond=always a=r3 b=0 target=end");
    add(engine, "else:");
    side();
    add(engine, "end:");
    add(engine, "nop");
    add(reader, compute(reader, columns("u", 0, 2), columns("t", 0, 2))).waits = {{half, 1}};
    Line &read = add(reader, compute(reader, columns("u", 2, 3), columns("t", 2, 3)));
    read.waits = {{done, 1}};
    read.adds = {{last, 1}};
    store("u", {{last, 1}});
  }

  // ---- two cores: an exchange or a barrier, once or in a loop -----------------------------------------------------------

  void cores() {
    const bool barrier = r.chance(40), loop = r.chance(50), dynamic = r.chance(70);
    t.declarations = {"target trn2", "cores 2", format("input n : i32[1] range 0 %d", most), "output y : f32[2, 1]",
                      "scratch h : f32[2, 1]"};
    for (int c = 0; c < 2; ++c)
      for (const char *d : {"sbuf a : f32[1, 1] @ 0", "sbuf b : f32[1, 1] @ 64", "queue q"})
        t.declarations.push_back(std::string(d) + " core " + std::to_string(c));
    for (int c = 0; c < 2; ++c) {
      const std::string core = format("core%d ", c), e = core + (barrier ? "sync" : two()), work = core + "vector";
      auto own = [&](int initial = 0) {
        const int s = semaphore(initial);
        t.semaphores.back().core = c;
        return s;
      };
      const int ready = own(), moved = own(), done = own();
      add(work, fill("b"));
      add(work, fill("a")).adds = {{ready, 1}};
      if (dynamic && loop)
        add(e, "reg_load dst=r2 src=n");
      add(e, "nop").waits = {{ready, 1}};
      if (loop)
        add(e, format("loop iv=r1 count=%s group=\"g\"", dynamic ? "r2" : "2"));
      if (barrier) {
        add(e, format("dma_copy dst=h[%d:%d] src=a queue=q", c, c + 1)).adds = {{moved, 16}};
        add(e, "nop").waits = {{moved, 16, true}};
        add(e, "core_barrier name=\"in\"");
        add(e, format("dma_copy dst=b src=h[%d:%d] queue=q", 1 - c, 2 - c)).adds = {{moved, 16}};
        add(e, "nop").waits = {{moved, 16, true}};
        if (loop)
          add(e, "core_barrier name=\"out\"");
      } else {
        add(e, "sendrecv dst=b src=a pipe=0").adds = {{moved, 16}};
        add(e, "nop").waits = {{moved, 16, true}};
        if (r.chance(50))
          add(e, compute(e.substr(6), "a", "b"));
      }
      if (loop)
        add(e, "end_loop");
      add(e, "nop").adds = {{done, 1}};
      add(core + "sync", format("dma_copy dst=y[%d:%d] src=b queue=q", c, c + 1)).waits = {{done, 1}};
    }
  }

  // ---- one loop after the other ----------------------------------------------------------------------------------------

  void twoLoops() {
    const std::string a = two(), b = other(a, kEngines);
    const int done = semaphore(), last = semaphore();
    count(a, 2);
    add(a, fill("t"));
    add(a, fill("u"));
    add(a, "loop iv=r1 count=r2");
    const std::string to = moving(a, 1, r.pick(std::vector<int64_t>{1, 2, 5, 6}));
    add(a, fill("t[0:1, 0:1]" + to));
    add(a, "end_loop");
    add(a, "nop").adds = {{done, 1}};
    add(b, "reg_load dst=r2 src=n").waits = {{done, 1}};
    add(b, "loop iv=r1 count=r2");
    const std::string from = moving(b, 1, r.pick(std::vector<int64_t>{1, 2, 4, 6}));
    add(b, compute(b, "u[0:1, 0:1] + r1*4", "t[0:1, 0:1]" + from));
    add(b, "end_loop");
    add(b, "nop").adds = {{last, 1}};
    store("u", {{last, 1}});
  }
};

} // namespace

Tiny generate(Random &r) { return Generator(r).make(); }

} // namespace glia::tiny
