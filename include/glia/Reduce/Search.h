// The search for the smallest input that still fails: what may be spent on it, and what was found so far. What can be left out of an input
// is for those who know its form (ReduceGraph.h, ReduceKernel.h, ReduceProgram.h).
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <unordered_set>

namespace glia::reduce {

struct Limits {
  double seconds = 60;
  int tries = 100'000;
  std::function<bool()> stop; // asked before each try; may be empty
};

struct Size {
  size_t parts = 0;    // operations or instructions
  size_t elements = 0; // of what they work on
  size_t bytes = 0;    // of the text
  friend auto operator<=>(const Size &, const Size &) = default;
};

class Search {
public:
  using Question = std::function<bool(const std::string &input)>; // does it fail in the same way?
  using Measure = std::function<Size(const std::string &input)>;

  // `first` fails.
  Search(std::string first, Question question, Measure measure, Limits limits);

  bool spent() const; // time or tries
  bool offer(const std::string
                 &candidate); // whether it fails too: then it is what the search goes on with. Asked once of each text

  const std::string &current() const { return now; }
  const std::string &smallest() const { return best; } // of all that failed
  Size size() const { return bestSize; }
  int tries() const { return asked; }
  double elapsed() const;
  std::function<void(const Search &)> onTry; // for a progress display; may be empty

private:
  std::string now, best;
  Question question;
  Measure measure;
  Limits limits;
  Size bestSize;
  int asked = 0;
  std::unordered_set<size_t> refused; // hashes of texts
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// Leaves out runs of things, of half of them down to one, until no single one can be left out. `count` says how many there are now;
// `without(from, to)` offers the input without those, and says whether that was kept.
bool leaveOut(const Search &search, const std::function<size_t()> &count,
              const std::function<bool(size_t from, size_t to)> &without);

// Lines, of a text that has no other form that can be read.
void reduceLines(Search &search);
Size sizeOfLines(const std::string &text);

} // namespace glia::reduce
