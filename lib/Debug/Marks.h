// Where a run stops: at instructions, lines, steps, writes, and at values that are worth a look.
#pragma once
#include "Looks.h"
#include "Values.h"

namespace glia::debug {

struct Mark {
  int number = 0;
  std::string text; // as it is listed
  bool once = false;
  std::string condition;             // empty: always
  std::vector<std::vector<bool>> at; // by engine and instruction; empty: not of this kind
  uint64_t step = 0;                 // stop after so many; 0: not of this kind
  double time = 0;                   // stop at this predicted time in ns; 0: not of this kind
  bool passed = false;               // ... which is behind
  std::vector<Element> written;      // stop when one of them is written ...
  int64_t size = 0;                  // ... of so many bytes each
  Look look;                         // stop when such a value is written
};

class Marks {
public:
  explicit Marks(Replay &r) : replay(r), values(r) {}

  // `24`, `k.py:24`, `vector#12`, a mnemonic, `step 500`, a tensor or tile that is written; each with ` if CONDITION`.
  std::string addBreak(std::string_view text, bool once);
  // `nan`, `inf`, `denormal`, `saturation`, `range LOW HIGH`, `write X`.
  std::string addWatch(std::string_view text);
  void remove(std::string_view number); // empty: all
  std::string list() const;

  // Why to stop after the last step; empty: go on. `stream` becomes the engine that it is about.
  std::string reason(int &stream);
  // The next predicted time to stop at, and why then.
  std::optional<double> nextTime() const;
  std::string atTime();
  void goneBack(); // times may come again
  // Why to stop at the very beginning.
  std::string atStart(int &stream);

private:
  Replay &replay;
  Values values;
  std::vector<Mark> marks;
  int numbers = 0;

  std::string add(Mark m);
  Mark instructions(std::string_view where);
  template <class Matches> bool match(Mark &m, Matches &&matches) const;
  void chooseRecording();
  std::string arrived(int stream, int &about);
  std::string touched(int &about);
  bool accept(const Mark &m, int stream);
  std::string found(const Mark &m, const Touched &t) const;
};

bool overlaps(const std::vector<Element> &list, int64_t size, const Touched &t);

} // namespace glia::debug
