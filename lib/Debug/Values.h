// What the prompt can name of a machine: parts of tensors and tiles, stretches of a memory, registers, semaphores.
#pragma once
#include "Replay.h"

namespace glia::debug {

struct Element {
  const std::byte *at = nullptr;
  int memory = 0, row = 0; // of sim::Memory
  int64_t byte = 0;
};

struct Elements {
  std::string title;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // of the part; empty: one element
  std::vector<Element> list;
  std::optional<ObjectRef> object; // none: a stretch of a memory
};

class Values {
public:
  explicit Values(Replay &r) : replay(r), program(r.prog()) {}

  // `acc`, `core1.acc[0:4, 0]`, `x[3]`, `sbuf[0:4, 1024:1088] as bf16` (partitions, bytes). Throws Error DEBUG-VALUE.
  Elements elements(std::string_view text);
  // `3.5`, `r3` (of the engine `stream`), `core0.vector.r3`, a semaphore, or one element. Throws Error DEBUG-VALUE.
  double number(std::string_view text, int stream);
  // `A == B and C > D` ...
  bool holds(std::string_view condition, int stream);
  std::string print(std::string_view text, int stream);

private:
  Replay &replay;
  const Program &program;

  std::optional<std::string> registerText(std::string_view text, int stream, double *value);
  int semaphore(std::string_view text) const; // -1: none
  bool isObject(std::string_view name) const;
  std::optional<ObjectRef> object(std::string_view name, int core) const;
  Elements ofObject(ObjectRef o, int core, std::string_view slices, std::string_view name);
  Elements ofMemory(Space s, int core, std::string_view slices, std::string_view type);
  std::string show(const Elements &e);
  [[noreturn]] void unknown(std::string_view text) const;
};

} // namespace glia::debug
