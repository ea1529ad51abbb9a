#include "glia/Profile/ProfileDiff.h"

#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

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

// What both versions have under one name is one row.
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

// What a line is called in a comparison: by what stands in it and how many such lines are above it, so that lines stay
// themselves where others are added or left out; where that is not known, by its number.
std::map<const PlaceUse *, std::string> keysOf(const std::vector<PlaceUse> &all) {
  std::vector<const PlaceUse *> order;
  for (const PlaceUse &u : all)
    order.push_back(&u);
  std::sort(order.begin(), order.end(), [](const PlaceUse *a, const PlaceUse *b) {
    return std::tie(a->file, a->line, a->name) < std::tie(b->file, b->line, b->name);
  });
  std::map<const PlaceUse *, std::string> keys;
  std::map<std::string, int> seen;
  for (const PlaceUse *u : order) {
    const std::string text = u->file.ends_with(".gasm") ? sourceLine(u->file, u->line) : u->text;
    keys[u] = text.empty() ? u->name : format("%s #%d", text.c_str(), seen[text]++);
  }
  return keys;
}

std::vector<Row> lineRows(const Version &a, const Version &b) {
  const auto hasLines = [](const Profile &x) {
    return std::any_of(x.lines.begin(), x.lines.end(), [](const PlaceUse &u) { return u.line != 0; });
  };
  const bool lines = hasLines(a.profile) || hasLines(b.profile);
  const std::vector<PlaceUse> &x = lines ? a.profile.lines : a.profile.operations,
                              &y = lines ? b.profile.lines : b.profile.operations;
  const auto before = keysOf(x), after = keysOf(y);
  std::map<std::string, std::string> then, now; // how each is called in its version
  for (const auto &[u, key] : before)
    then[key] = u->name.empty() ? "(no source)" : u->name;
  for (const auto &[u, key] : after)
    now[key] = u->name.empty() ? "(no source)" : u->name;
  std::vector<Row> rows = rowsOf(
      x, y, [&](const PlaceUse &u) { return before.contains(&u) ? before.at(&u) : after.at(&u); },
      [](const PlaceUse &u) { return u.critical; });
  for (Row &r : rows) {
    const auto was = then.find(r.name), is = now.find(r.name);
    r.name = is == now.end()
                 ? was->second
                 : is->second + (was == then.end() || was->second == is->second ? "" : " (was " + was->second + ")");
  }
  mostChangedFirst(rows); // in the order of their names
  return rows;
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
  const std::string change = changeText(x.total, y.total);
  s += x.total == y.total             ? "no difference in time"
       : x.total <= 0 || y.total <= 0 ? change
       : y.total < x.total            ? format("%.2fx faster (%s)", x.total / y.total, change.c_str())
                                      : format("%.2fx slower (%s)", y.total / x.total, change.c_str());
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
