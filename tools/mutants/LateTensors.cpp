// Late programs about what tensors hold: computed indices, and pieces that loops write.
#include "LateText.h"

#include <vector>

namespace glia::mutants {

namespace {

struct Maker : LateText {
  using LateText::LateText;

  // Rows are chosen by numbers that were computed: rounded, cut off, clamped, masked, through several types.
  void indices() {
    static constexpr const char *kTypes[] = {"i32", "i32", "f32", "i16", "u8", "bf16", "u16", "i8"};
    static constexpr const char *kNumbers[] = {"0.0",  "1.0", "3.0",   "15.0",    "63.0",       "100.0",      "0.5",  "2.5",
                                               "-1.0", "8.0", "300.0", "40000.0", "16777216.0", "33554432.0", "-0.25"};
    static constexpr const char *kSteps[] = {"add", "subtract", "multiply", "max", "min", "bitwise_and"};
    struct Made {
      std::string name;
      bool integer;
    };
    const int rows = static_cast<int>(r.between(16, 80));
    const int64_t lo = r.chance(70) ? r.between(0, 8) : r.between(-20, 16'777'210),
                  hi = lo + r.below(r.chance(80) ? 40 : 70'000);
    std::vector<Made> made;
    std::string code;
    std::string sbuf;
    auto fresh = [&](const char *type) {
      made.push_back({format("v%zu", made.size()), type[0] != 'f' && type[0] != 'b'});
      sbuf += format("sbuf %s : %s[16, 1] @ %zu\n", made.back().name.c_str(), type, 64 * made.size());
      return made.back().name;
    };
    auto step = [&](std::string from, bool integer, const char *to, const char *op, std::string number) {
      if (op == std::string("bitwise_and") && (!integer || to[0] == 'f' || to[0] == 'b'))
        op = "add";
      if (op == std::string("bitwise_and"))
        number = r.pick(std::vector<std::string>{"15", "63", "7", "12"});
      const std::string name = fresh(to);
      code += format("vector tensor_scalar dst=%s data=%s op0=%s operand0=%s%s\n", name.c_str(), from.c_str(), op,
                     number.c_str(), r.chance(15) && op != std::string("bitwise_and") ? " reverse0=1" : "");
    };
    fresh("i32");
    code += "gpsimd dma_copy dst=v0 src=i queue=q dge=swdge then l += 16\n";
    const char *type = kTypes[r.below(std::size(kTypes))];
    const int offset = static_cast<int>(r.between(-4, 8)), each = static_cast<int>(r.between(-2, 4));
    code += format("gpsimd iota dst=%s pattern=[1, 1] offset=%d channel_multiplier=%d\n", fresh(type).c_str(), offset, each);
    const bool whole = r.chance(50);
    const char *value = kNumbers[r.below(whole ? 6 : std::size(kNumbers))];
    code += format("gpsimd memset dst=%s value=%s\ngpsimd nop when l >= 16 consume then k += 1\nvector nop when k >= 1\n",
                   fresh(whole ? "i32" : "f32").c_str(), value);
    if (r.chance(40)) { // there and back: what the type in between does not hold is lost
      const char *far = kNumbers[r.below(std::size(kNumbers))];
      type = kTypes[r.below(std::size(kTypes))];
      const Made a = r.pick(made);
      step(a.name, a.integer, type, "add", far);
      step(made.back().name, made.back().integer, r.chance(70) ? "i32" : "f32", "subtract", far);
    }
    for (int64_t k = r.between(0, 3); k > 0; --k) {
      const Made a = r.pick(made), b = r.pick(made);
      type = kTypes[r.below(std::size(kTypes))];
      const char *op = kSteps[r.below(std::size(kSteps))], *number = kNumbers[r.below(std::size(kNumbers))];
      if (r.chance(50))
        step(a.name, a.integer, type, op, number);
      else if (r.chance(60))
        code += format("vector tensor_tensor dst=%s a=%s b=%s op=%s\n", fresh(type).c_str(), a.name.c_str(), b.name.c_str(),
                       op == kSteps[5] ? "add" : op);
      else
        code += format("vector tensor_copy dst=%s src=%s\n", fresh(type).c_str(), a.name.c_str());
    }
    const int slack = static_cast<int>(r.between(-1, 1));
    if (r.chance(50)) {
      const char *least = r.chance(80) ? "0.0" : "-1.0";
      type = kTypes[r.below(4)];
      step(made.back().name, made.back().integer, type, "max", least);
      step(made.back().name, made.back().integer, type, "min", format("%d.0", rows - 1 + slack));
    }
    const std::string last = made.back().name;
    code += format("vector tensor_copy dst=%s src=%s then d += 1\n", fresh("i32").c_str(), last.c_str());
    const bool gathers = r.chance(70);
    line("target trn2\ninput i : i32[16, 1] range %lld %lld\ninput x : f32[%d, 2]\noutput y : f32[%d, 2]\nsbuf t : f32[16, "
         "2] @ 4096\n"
         "semaphore l\nsemaphore k\nsemaphore d\nsemaphore w\nqueue q\nqueue g",
         static_cast<long long>(lo), static_cast<long long>(hi), rows, gathers ? 16 : rows);
    text += sbuf + code;
    if (gathers)
      line("gpsimd dma_copy dst=t src=x{ | 0 | 2x16, 1x2} src_index=%s queue=g dge=swdge when d >= 1 then w += 16\ngpsimd "
           "nop when w >= 16 consume\n"
           "gpsimd dma_copy dst=y src=t queue=q dge=swdge",
           made.back().name.c_str());
    else
      line(
          "gpsimd dma_copy dst=y src=x queue=q dge=swdge then l += 16\ngpsimd memset dst=t value=1.0\n"
          "gpsimd nop when l >= 16 and d >= 1\ngpsimd dma_copy dst=y{ | 0 | 2x16, 1x2} src=t dst_index=%s queue=g dge=swdge",
          made.back().name.c_str());
  }

  // A loop writes pieces of a tensor, each at a place of its own, another may spoil some; what is read afterwards may lie between them.
  void pieces() {
    const int least = static_cast<int>(r.between(9, 20)), width = static_cast<int>(r.between(1, 3));
    const int step = width + (r.chance(50) ? 0 : static_cast<int>(r.between(1, 2))), at = static_cast<int>(r.below(3));
    const int columns = at + step * (least + 3) + 8, parts = r.chance(50) ? 32 : 64;
    const bool other = r.chance(20); // another allocation takes a part of it
    line("target trn2\ninput n : i32[1] range %d %d\noutput y : f32[64, 8]\nsbuf t : f32[64, %d] @ 0%s\nsbuf v : f32[64, 4] "
         "@ 4096\n"
         "sbuf o : f32[64, 8] @ 4160\nsemaphore d\nqueue q",
         least, least + 3, columns, other ? " live 0..1\nsbuf u : f32[64, 4] @ 64 live 1..2" : "");
    line("vector reg_load dst=r2 src=n\nvector memset dst=o value=0.0");
    if (r.chance(30))
      line("vector memset dst=t[0:64, 0:%d] value=2.0", at + 1);
    line("vector loop iv=r1 count=r2\nvector memset dst=t[0:%d, %d:%d] + r1*%d value=1.0", parts, at, at + width, 4 * step);
    if (r.chance(40))
      line("vector memset dst=t[0:%d, %d:%d] + r1*%d value=3.0", r.chance(50) ? parts : 32, at + width, at + width + 1,
           4 * step);
    if (r.chance(40)) { // something undefined, here or there, and what is read is of this iteration
      const int partitions = r.chance(50) ? 32 : 64, by = r.chance(60) ? 4 * step : 0;
      const int spoilt = at + static_cast<int>(r.between(0, width + 1)), read = at + static_cast<int>(r.below(width + 1));
      if (r.chance(50))
        line("vector tensor_copy dst=t[0:%d, %d:%d] + r1*%d src=v[0:%d, 0:1]", partitions, spoilt, spoilt + 1, by,
             partitions);
      line("vector tensor_tensor dst=o[0:%d, 7:8] a=o[0:%d, 7:8] b=t[0:%d, %d:%d] + r1*%d op=add", parts, parts, parts, read,
           read + 1, 4 * step);
    }
    line("vector end_loop");
    if (r.chance(40)) { // a second loop: of another start, of other partitions, or of undefined values
      const int first = r.chance(50) ? 0 : 32;
      const std::string place = format("t[%d:%d, %d:%d] + r1*%d", first, first + 32, at + width, at + 2 * width, 4 * step);
      line("vector loop iv=r1 count=r2");
      if (r.chance(60))
        line("vector memset dst=%s value=5.0", place.c_str());
      else
        line("vector tensor_copy dst=%s src=v[%d:%d, 0:%d]", place.c_str(), first, first + 32, width);
      line("vector end_loop");
    }
    if (other)
      line("vector memset dst=u value=7.0");
    const int rows = r.chance(60) ? parts : 64, from = at + step * static_cast<int>(r.below(least)),
              many = static_cast<int>(r.between(1, 6));
    if (r.chance(50)) // as they were written
      line("vector tensor_copy dst=o[0:%d, 0:%d] src=t{0+%d | %d | %dx%d, 1x%d}", rows, many, rows, 4 * from, step, many, 1);
    else
      line("vector tensor_copy dst=o[0:%d, 0:%d] src=t[0:%d, %d:%d]", rows, many, rows, from, from + many);
    line("vector nop then d += 1\nsync dma_copy dst=y src=o queue=q when d >= 1");
  }
};

} // namespace

std::string computedIndices(Random &random) {
  Maker m(random);
  m.indices();
  return std::move(m.text);
}

std::string writtenPieces(Random &random) {
  Maker m(random);
  m.pieces();
  return std::move(m.text);
}

} // namespace glia::mutants
