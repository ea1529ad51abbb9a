// The published measurements, each with what the timing simulator says. docs/timing.md is made from this.
#pragma once
#include <string>
#include <vector>

namespace glia::validation {

struct Row {
  std::string group, what, target, source;
  double published = 0, predicted = 0;
  std::string unit;    // "ns", "us", "ms", "%"
  std::string usedFor; // the parameter this row sets; empty: a check
  std::string note;
  double error() const { return published == 0 ? 0 : (predicted - published) / published; }
};

std::vector<Row> measure();                       // runs everything, a few seconds
double meanError(const std::vector<Row> &rows);   // of the rows that set nothing, absolute
std::string report(const std::vector<Row> &rows); // docs/timing.md

} // namespace glia::validation
