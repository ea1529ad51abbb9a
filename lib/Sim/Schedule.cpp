#include "glia/Sim/Schedule.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <optional>

namespace glia {

namespace {

constexpr std::string_view kFirstLine = "glia-schedule 1";

std::string engineName(uint32_t who) {
  return format("core%u.%s", who / kNumEngines, std::string(name(static_cast<Engine>(who % kNumEngines))).c_str());
}

// Ties a schedule to the program that it is an order of.
std::string fingerprint(const Program &p) { return format("%016llx", (unsigned long long)checksum64(toBytes(p))); }

class Reader {
public:
  Reader(const Program &p, std::string_view text, const std::string &file) : program(p), rest(text), file(file) {}

  std::vector<Schedule> read() {
    if (next() != kFirstLine)
      fail("the first line is not `" + std::string(kFirstLine) + "`");
    if (const std::string expected = "program " + fingerprint(program); next() != expected)
      fail("it is of another program: `" + expected + "` is expected");
    while (!rest.empty())
      if (const std::string_view text = next(); !text.empty())
        line(text);
    if (out.empty())
      fail("there is no order in it");
    return std::move(out);
  }

private:
  const Program &program;
  std::string_view rest;
  const std::string &file;
  uint32_t number = 0;
  std::vector<Schedule> out;

  [[noreturn]] void fail(std::string what) const {
    throw Error("DEBUG-SCHEDULE", "not a schedule of this program: " + what,
                "Write it anew: glia debug PROGRAM --find-race FILE.", {file, number, 0});
  }

  std::string_view next() {
    ++number;
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (const size_t remark = text.find('#'); remark != std::string_view::npos)
      text = text.substr(0, remark);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
      text.remove_suffix(1);
    return text;
  }

  void line(std::string_view text) {
    if (text.starts_with("order ")) {
      out.push_back({std::string(text.substr(6)), {}});
      return;
    }
    if (out.empty())
      fail("a step comes before the first `order`");
    out.back().steps.push_back(stepOf(text));
  }

  // Takes `word` and the number after it from the text.
  static std::optional<int> numberAfter(std::string_view word, std::string_view &text) {
    int n = 0;
    if (!text.starts_with(word))
      return {};
    const auto [end, wrong] = std::from_chars(text.data() + word.size(), text.data() + text.size(), n);
    if (wrong != std::errc() || n < 0)
      return {};
    text = std::string_view(end, text.data() + text.size());
    return n;
  }

  ScheduleStep stepOf(std::string_view text) const {
    for (uint32_t who = 0; who < program.cores * kNumEngines; ++who)
      if (text == engineName(who))
        return {who, -1};
    std::string_view left = text;
    const std::optional<int> queue = numberAfter("queue ", left), part = numberAfter(" part ", left);
    const int ahead = left.empty() ? 0 : numberAfter(" ahead ", left).value_or(-1);
    if (queue && part && ahead >= 0 && left.empty())
      return {static_cast<uint32_t>(*queue), *part, ahead};
    fail("`" + printable(text) + "` is no step; steps are core0.vector or queue 0 part 3");
  }
};

} // namespace

std::string formatSchedules(const Program &p, const std::vector<Schedule> &schedules) {
  std::string out = std::string(kFirstLine) + "\nprogram " + fingerprint(p) + "\n";
  for (const Schedule &s : schedules) {
    out += "order " + s.says + "\n";
    for (const ScheduleStep &step : s.steps)
      out += step.part < 0
                 ? engineName(step.who) + "\n"
                 : format("queue %u part %d", step.who, step.part) + (step.ahead ? format(" ahead %d\n", step.ahead) : "\n");
  }
  return out;
}

std::vector<Schedule> parseSchedules(const Program &p, std::string_view text, const std::string &file) {
  return Reader(p, text, file).read();
}

} // namespace glia
