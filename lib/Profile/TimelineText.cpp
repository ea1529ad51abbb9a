// A timeline for a terminal: a line for each engine, one for the transfers of each core, one for each way between ranks, a column for each
// slice of the time.
#include "glia/Profile/Profile.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>

namespace glia {

namespace {

struct Row {
  std::string name;
  std::vector<double> share; // of each slice, that is busy; of transfers: how many are on their way, on average
};

class Chart {
public:
  Chart(const Program &p, const Profile &x, int columns)
      : program(p), time(x.time), links(x.links), columns(static_cast<size_t>(columns)), slice(x.time.total / columns) {}

  std::string text() {
    const size_t engines = static_cast<size_t>(program.cores) * kNumEngines;
    std::vector<Row> rows(engines + program.cores);
    for (size_t i = 0; i < engines; ++i)
      rows[i].name = nameOf(static_cast<int>(i / kNumEngines), name(static_cast<Engine>(i % kNumEngines)));
    for (uint32_t core = 0; core < program.cores; ++core)
      rows[engines + core].name = nameOf(static_cast<int>(core), "transfers");
    for (const TimelineEvent &e : time.timeline)
      add(rows[e.lane < engines ? e.lane : engines + e.core], e.start, e.end, 1);
    for (const LinkUse &l : links) {
      rows.push_back({l.name, {}});
      for (size_t i = 0; i + 1 < l.shares.size(); ++i)
        add(rows.back(), l.shares[i].first, l.shares[i + 1].first, l.shares[i].second);
    }
    std::erase_if(rows, [](const Row &r) { return r.share.empty(); });
    size_t width = 0;
    for (const Row &r : rows)
      width = std::max(width, r.name.size());

    const std::string end = timeText(time.total);
    std::string s = std::string(width + 3, ' ') + "0" +
                    std::string(columns > end.size() ? columns - end.size() - 1 : 1, ' ') + end + "\n";
    for (const Row &r : rows) {
      s += "  " + r.name + std::string(width - r.name.size(), ' ') + "|";
      const bool transfers = r.name.ends_with("transfers");
      for (double share : r.share)
        s += transfers ? countMark(share) : shareMark(share);
      s += "|\n";
    }
    return s + format("  a column is %s; busy # two thirds of it or more, = a third, - less; transfers: how many are on "
                      "their way\n",
                      timeText(slice).c_str());
  }

private:
  const Program &program;
  const TimingResult &time;
  const std::vector<LinkUse> &links;
  const size_t columns;
  const double slice; // ns

  std::string nameOf(int core, std::string_view what) const {
    return program.cores > 1 ? format("core %d %.*s", core, static_cast<int>(what.size()), what.data()) : std::string(what);
  }

  void add(Row &row, double start, double end, double share) const {
    row.share.resize(columns);
    const auto first = static_cast<size_t>(std::clamp(start / slice, 0.0, static_cast<double>(columns - 1)));
    for (size_t i = first; i < columns && static_cast<double>(i) * slice < end; ++i) {
      const double from = std::max(start, static_cast<double>(i) * slice), to = std::min(end, static_cast<double>(i + 1) * slice);
      row.share[i] += share * std::max(to - from, 0.0) / slice;
    }
  }

  static char shareMark(double share) { return share <= 0 ? ' ' : share >= 2.0 / 3 ? '#' : share >= 1.0 / 3 ? '=' : '-'; }
  static char countMark(double count) {
    if (count <= 0)
      return ' ';
    const auto n = static_cast<int>(std::lround(std::max(count, 1.0)));
    return n > 9 ? '+' : static_cast<char>('0' + n);
  }
};

} // namespace

std::string timelineText(const Program &p, const Profile &x, int columns) {
  return x.time.timeline.empty() || x.time.total <= 0 ? "" : Chart(p, x, std::clamp(columns, 10, 1000)).text();
}

} // namespace glia
