// Profiles: text, JSON, the Perfetto trace decoded again, and the page loaded in a browser.
#include "Kernels.h"

#include "glia/Program/Builder.h"
#include "glia/Profile/Profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <unistd.h>

using namespace glia;

namespace {

struct Sample {
  Program program = validation::mambaV1();
  Profile result;
  Sample() {
    TimingOptions o;
    o.timeline = true;
    result = profileOf(program, o);
  }
};
const Sample &sample() {
  static const Sample s;
  return s;
}

// A reader of protocol buffers that knows nothing of the writer: field number -> values in order.
struct Fields {
  std::multimap<int, uint64_t> numbers;
  std::multimap<int, std::string> texts;
  explicit Fields(std::string_view b) {
    size_t i = 0;
    auto varint = [&] {
      uint64_t v = 0;
      for (int shift = 0;; shift += 7) {
        const uint8_t c = static_cast<uint8_t>(b.at(i++));
        v |= static_cast<uint64_t>(c & 0x7F) << shift;
        if (c < 0x80)
          return v;
      }
    };
    while (i < b.size()) {
      const uint64_t key = varint();
      if ((key & 7) == 0) {
        numbers.emplace(static_cast<int>(key >> 3), varint());
      } else if ((key & 7) == 1) {
        uint64_t v = 0;
        for (int k = 0; k < 8; ++k)
          v |= static_cast<uint64_t>(static_cast<uint8_t>(b.at(i++))) << (8 * k);
        numbers.emplace(static_cast<int>(key >> 3), v);
      } else {
        EXPECT_EQ(key & 7, 2u);
        const uint64_t n = varint();
        texts.emplace(static_cast<int>(key >> 3), b.substr(i, n));
        i += n;
      }
    }
  }
};

std::string output(const std::string &command) {
  std::string out;
  std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 65536> buffer;
  for (size_t n; pipe && (n = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
    out.append(buffer.data(), n);
  return out;
}

std::string attribute(const std::string &dom, const std::string &name) {
  const size_t at = dom.find(name + "=\"");
  return at == std::string::npos
             ? ""
             : dom.substr(at + name.size() + 2, dom.find('"', at + name.size() + 2) - at - name.size() - 2);
}

} // namespace

TEST(Profile, TextSaysWhatMatters) {
  const std::string text = profileText(sample().program, sample().result);
  for (const char *part : {"us on trn1", "core 0 vector", "core 0 queue load0", "HBM",
                           "critical path: ", "without this wait", "DMA bandwidth", "documented"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

// Each lane is as busy as its line is long: a mark counts for the middle of what it stands for.
TEST(Profile, TheTimelineOfATerminalIsAsBusyAsTheLanes) {
  const Profile &x = sample().result;
  constexpr int kColumns = 400;
  const std::string text = timelineText(sample().program, x, kColumns);
  const double slice = x.time.total / kColumns;
  size_t seen = 0;
  for (const LaneUse &lane : x.time.lanes) {
    if (!lane.name.starts_with("core 0 ") || lane.name.find("queue") != std::string::npos || !lane.instructions)
      continue;
    const size_t at = text.find("\n  " + lane.name.substr(7));
    ASSERT_NE(at, std::string::npos) << lane.name << " in\n" << text;
    const size_t begin = text.find('|', at) + 1;
    ASSERT_EQ(text.find('|', begin), begin + kColumns);
    double busy = 0, marks = 0;
    for (char c : text.substr(begin, kColumns)) {
      busy += (c == '#' ? 5.0 / 6 : c == '=' ? 0.5 : c == '-' ? 1.0 / 6 : 0) * slice;
      marks += c != ' ';
    }
    EXPECT_NEAR(busy, lane.busy, marks * slice / 6 + 1e-6) << lane.name << " in\n" << text;
    ++seen;
  }
  EXPECT_GE(seen, 2u);
  EXPECT_NE(text.find("\n  transfers"), std::string::npos) << text;
}

TEST(Profile, JsonHasTheTotals) {
  const auto j = nlohmann::json::parse(profileJson(sample().program, sample().result));
  EXPECT_EQ(j["total_ns"], sample().result.time.total);
  EXPECT_EQ(j["lanes"].size(), sample().result.time.lanes.size());
  EXPECT_FALSE(j["stalls"].empty());
}

TEST(Profile, TraceHoldsEverySlice) {
  const Fields trace(profilePerfetto(sample().program, sample().result));
  size_t begins = 0, ends = 0;
  uint64_t last = 0;
  std::map<uint64_t, int> open;
  std::map<uint64_t, std::string> tracks;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> flows; // when and on which track they begin
  std::map<std::string, uint64_t> most;                    // of counters
  size_t arrows = 0;
  for (auto [it, stop] = trace.texts.equal_range(1); it != stop; ++it) {
    const Fields packet(it->second);
    if (auto d = packet.texts.find(60); d != packet.texts.end()) {
      const Fields track(d->second);
      tracks[track.numbers.find(1)->second] = track.texts.find(2)->second;
    }
    auto e = packet.texts.find(11);
    if (e == packet.texts.end())
      continue;
    const Fields event(e->second);
    const uint64_t at = packet.numbers.find(8)->second, track = event.numbers.find(11)->second;
    EXPECT_GE(at, last);
    last = at;
    EXPECT_TRUE(tracks.count(track));
    for (auto [f, none] = event.numbers.equal_range(47); f != none; ++f)
      EXPECT_TRUE(flows.emplace(f->second, std::pair(at, track)).second);
    for (auto [f, none] = event.numbers.equal_range(48); f != none; ++f, ++arrows) {
      ASSERT_TRUE(flows.count(f->second));
      EXPECT_LE(flows[f->second].first, at);
      EXPECT_NE(flows[f->second].second, track);
    }
    if (event.numbers.find(9)->second == 4) {
      most[tracks[track]] = std::max(most[tracks[track]], event.numbers.find(30)->second);
      continue;
    }
    if (event.numbers.find(9)->second == 1)
      ++begins, ++open[track];
    else
      ++ends, --open[track];
    EXPECT_TRUE(open[track] == 0 || open[track] == 1);
  }
  EXPECT_EQ(begins, sample().result.time.timeline.size());
  EXPECT_EQ(ends, begins);
  EXPECT_GT(arrows, 100u);
  for (const MemoryUse &m : sample().result.memory)
    EXPECT_EQ(most[std::string(name(m.space)) + " of core 0"], static_cast<uint64_t>(m.peak));
}

TEST(Profile, PageDrawsInABrowser) {
  std::string browser;
  for (const char *name : {"chromium", "chromium-browser", "google-chrome"})
    if (browser.empty())
      browser = output(std::string("command -v ") + name + " 2>/dev/null");
  if (browser.empty())
    GTEST_SKIP() << "no chromium here: the page was not loaded (apt-get install chromium)";
  browser.pop_back();
  const auto folder = std::filesystem::temp_directory_path() / ("glia-profile-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto page = folder / "page.html";
  std::ofstream(page, std::ios::binary) << profileHtml(sample().program, sample().result);
  auto load = [&](const std::string &view) {
    return output("HOME='" + folder.string() + "' '" + browser +
                  "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=1280,800 "
                  "--virtual-time-budget=10000 --dump-dom 'file://" +
                  page.string() + view + "' 2>/dev/null");
  };
  const std::string dom = load(""), waits = load("#tab=waits&choose=path&search=tensor"), memory = load("#tab=memory"),
                    bounds = load("#tab=bounds");
  std::filesystem::remove_all(folder);
  for (const std::string &view : {waits, memory, bounds}) {
    EXPECT_EQ(attribute(view, "data-error"), "");
    EXPECT_EQ(attribute(view, "data-ready"), "1");
  }
  EXPECT_NE(waits.find("DMA bandwidth"), std::string::npos);
  EXPECT_NE(waits.find("started behind"), std::string::npos);
  EXPECT_NE(memory.find("SBUF of core 0: at most"), std::string::npos);
  EXPECT_NE(bounds.find("% of the roof above it"), std::string::npos);
  EXPECT_EQ(attribute(dom, "data-error"), "");
  EXPECT_EQ(attribute(dom, "data-ready"), "1");
  size_t lanes = 0;
  for (const LaneUse &l : sample().result.time.lanes)
    lanes += l.instructions > 0;
  EXPECT_EQ(attribute(dom, "data-lanes"), std::to_string(lanes));
  EXPECT_EQ(attribute(dom, "data-events"), std::to_string(sample().result.time.timeline.size()));
  EXPECT_GT(std::atoi(attribute(dom, "data-bars").c_str()), 50);
}

TEST(Profile, PageKeepsHostileTextInside) {
  Builder b(loadTarget("trn2"));
  b.origin("</script><script>document.body.dataset.error='ran'</script>", "a\"b\\", "<b>.py", 3);
  b.emit(Engine::Sync, "nop");
  const Program p = b.finish();
  TimingOptions o;
  o.timeline = true;
  const std::string page = profileHtml(p, profileOf(p, o));
  EXPECT_EQ(page.find("</script><script>document.body.dataset.error"), std::string::npos);
}
