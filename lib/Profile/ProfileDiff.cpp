#include "glia/Profile/ProfileDiff.h"

#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace glia {

namespace {

// A line of either version, or an engine.
constexpr double kSame = 1e-3; // ns: a rounding of sums

struct Row {
  std::string name;
  double before = 0, after = 0;
  double change() const { return after - before; }
};

void mostChangedFirst(std::vector<Row> &rows) {
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    const double x = std::abs(a.change()), y = std::abs(b.change());
    return x != y ? x > y : a.name < b.name;
  });
  std::erase_if(rows, [](const Row &r) { return std::abs(r.change()) < kSame; });
}

// Both versions have lines of one name where those are the same line of the same file.
template <class T, class Name, class Amount>
std::vector<Row> rowsOf(const std::vector<T> &before, const std::vector<T> &after, Name name, Amount amount) {
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  auto add = [&](const T &x, double Row::*side) {
    const auto [it, fresh] = known.try_emplace(name(x), rows.size());
    if (fresh)
      rows.push_back({it->first});
    rows[it->second].*side += amount(x);
  };
  for (const T &x : before)
    add(x, &Row::before);
  for (const T &x : after)
    add(x, &Row::after);
  mostChangedFirst(rows);
  return rows;
}

std::vector<Row> lineRows(const Version &a, const Version &b) {
  auto name = [](const PlaceUse &u) { return u.name.empty() ? std::string("(no source)") : u.name; };
  const auto &x = a.profile, &y = b.profile;
  const bool lines = std::any_of(x.lines.begin(), x.lines.end(), [](const PlaceUse &u) { return u.line != 0; });
  return rowsOf(lines ? x.lines : x.operations, lines ? y.lines : y.operations, name,
                [](const PlaceUse &u) { return u.critical; });
}

std::vector<Row> laneRows(const Version &a, const Version &b) {
  return rowsOf(
      a.profile.time.lanes, b.profile.time.lanes, [](const LaneUse &l) { return l.name; },
      [](const LaneUse &l) { return l.busy; });
}

double moved(const TimingResult &r) { return static_cast<double>(r.hbmBytesRead + r.hbmBytesWritten); }

std::string changeText(double before, double after) {
  return (after < before ? "-" : "+") + timeText(std::abs(after - before));
}

std::string table(const char *title, const std::vector<Row> &rows) {
  constexpr size_t kMost = 15;
  std::string s;
  for (size_t i = 0; i < rows.size() && i < kMost; ++i)
    s += format("%s%12s %12s %12s  %s\n",
                i ? "" : format("\n%12s %12s %12s  %s\n", "before", "after", "change", title).c_str(),
                timeText(rows[i].before).c_str(), timeText(rows[i].after).c_str(),
                changeText(rows[i].before, rows[i].after).c_str(), rows[i].name.c_str());
  return rows.size() > kMost ? s + format("and %zu more (--json lists them)\n", rows.size() - kMost) : s;
}

} // namespace

std::string diffText(const Version &a, const Version &b) {
  const TimingResult &x = a.profile.time, &y = b.profile.time;
  std::string s =
      format("%s: %s on %s, %llu instructions\n%s: %s on %s, %llu instructions\n", a.name.c_str(), timeText(x.total).c_str(),
             titleOf(*a.program.target).c_str(), (unsigned long long)x.instructions, b.name.c_str(),
             timeText(y.total).c_str(), titleOf(*b.program.target).c_str(), (unsigned long long)y.instructions);
  s += x.total == y.total ? "no difference in time"
       : y.total < x.total && y.total > 0
           ? format("%.2fx faster (%s)", x.total / y.total, changeText(x.total, y.total).c_str())
           : format("%.2fx slower (%s)", y.total / std::max(x.total, 1e-3), changeText(x.total, y.total).c_str());
  if (moved(x) != moved(y))
    s += format("; HBM moves %s, before %s", sizeText(moved(y)).c_str(), sizeText(moved(x)).c_str());
  return s + "\n" + table("critical path, by line", lineRows(a, b)) + table("busy", laneRows(a, b));
}

std::string diffJson(const Version &a, const Version &b) {
  using Json = nlohmann::ordered_json;
  auto rows = [](const std::vector<Row> &all) {
    Json out = Json::array();
    for (const Row &r : all)
      out.push_back({{"name", r.name}, {"before_ns", r.before}, {"after_ns", r.after}});
    return out;
  };
  auto version = [](const Version &v) {
    return Json{{"file", v.name},
                {"target", titleOf(*v.program.target)},
                {"total_ns", v.profile.time.total},
                {"instructions", v.profile.time.instructions},
                {"hbm_bytes", moved(v.profile.time)}};
  };
  const Json j = {
      {"before", version(a)}, {"after", version(b)}, {"lines", rows(lineRows(a, b))}, {"lanes", rows(laneRows(a, b))}};
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace glia
