// A tiny program as lines of assembly that can still be changed.
#pragma once
#include "glia/Sim/Simulator.h"
#include "glia/Support/Random.h"

#include <string>
#include <vector>

namespace glia::tiny {

struct Wait {
  int semaphore;
  int value;
  bool consume = false;
};
struct Add {
  int semaphore;
  int value;
};

struct Line {
  std::string engine, body; // body: the instruction without its waits and updates; a label ends with ':'
  std::vector<Wait> waits;
  std::vector<Add> adds;
  bool isLabel() const { return body.ends_with(':'); }
  bool isTransfer() const { return body.starts_with("dma") || body.starts_with("sendrecv"); }
};

struct Semaphore {
  int initial = 0;
  int core = -1; // -1: there is one only
};

struct Tiny {
  std::vector<std::string> declarations;
  std::vector<Semaphore> semaphores;
  std::vector<Line> lines;
  std::string text() const;
};

Tiny generate(Random &r);         // ordered as it should be, mostly
void perturb(Tiny &t, Random &r); // one thing is changed
Tiny next(Random &random);        // generated, with up to two changes

// Every value that the small inputs can have.
std::vector<TensorData> everyInput(const Program &p);
// The reason to refuse is the order of things, and not how something is written.
bool aboutOrder(const std::vector<Diagnostic> &ds);

} // namespace glia::tiny
