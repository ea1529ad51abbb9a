// The memories of a run: SBUF and PSUM of every core, HBM tensors. Pages are mapped lazily and read as zero until written.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/RawBytes.h"

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace glia::sim {

using SharedBytes = std::shared_ptr<const RawBytes>;

// Zeroed pages that cost nothing until touched. Throws Error RUN-MEMORY if the host refuses.
class Pages {
public:
  Pages() = default;
  explicit Pages(size_t bytes, bool large = false); // large: most of it will be touched
  Pages(Pages &&o) noexcept : start(o.start), size(o.size), large(o.large) { o.start = nullptr; }
  Pages &operator=(Pages &&o) noexcept {
    std::swap(start, o.start);
    std::swap(size, o.size);
    std::swap(large, o.large);
    return *this;
  }
  Pages(const Pages &) = delete;
  ~Pages();
  std::byte *data() const { return start; }
  size_t bytes() const { return size; }
  bool isLarge() const { return large; }
  void drop() { drop(0, size); }
  void drop(size_t begin, size_t end); // what lies wholly in there is zero again and costs nothing

private:
  std::byte *start = nullptr;
  size_t size = 0;
  bool large = false;
};

// An object in a core's view. On chip, `base` is the first byte of the whole memory and starts are absolute.
struct Place {
  std::byte *base = nullptr;
  int64_t pitch = 0; // bytes from one partition to the next; 0 in HBM
  Space space = Space::Hbm;
  int32_t firstPartition = 0, partitions = 1;
  int64_t start = 0, bytes = 0; // of the object, per partition on chip; cut to what the memory has
  bool readOnly = false;
  int memory = 0; // which memory it is in, see Memory::memories
};

// One memory as shadow state sees it: rows of bytes. An HBM tensor is a memory of one row.
struct MemoryInfo {
  Space space = Space::Hbm;
  int rows = 1;
  int64_t bytes = 0; // per row
  bool readOnly = false;
  bool begun = false; // all of it is defined when the program begins
};

class Memory {
public:
  Memory(const Program &p, const TensorViews &inputs, const TensorBuffers *outputs);
  const Place &place(ObjectRef o, int core) const {
    return o.kind == ObjectKind::Allocation ? allocations[o.index] : tensors[o.index * cores + core];
  }
  Memory(const Memory &) = delete;
  ~Memory();
  TensorData outputs() const;
  std::vector<MemoryInfo> memories;

  // Tensors that are seen by nobody but the program: their bytes may go when it has done with them.
  struct Inner {
    uint32_t tensor;
    size_t page;
    bool isGone = false;
    SharedBytes adopted; // what it reads as, instead of the page
  };
  std::vector<Inner> inner;
  void letGo(Inner &x);
  int64_t chipBytes() const; // of all cores
  // On chip nothing is kept but these allocations.
  void keepOnly(const std::vector<uint32_t> &allocations);
  // Makes bytes that others have too the content of a tensor that nothing writes any more.
  void adopt(Inner &x, SharedBytes bytes);

private:
  const Program &program;
  size_t cores;
  std::vector<Pages> pages;
  struct Part {            // of a memory, from the first to the last that an allocation has
    int64_t lo, hi;        // bytes of a partition
    int64_t first, behind; // partitions
  };
  struct Chip { // an on-chip memory of a core
    size_t page;
    int64_t pitch, bytes;
    int memory;
  };
  std::vector<std::array<Chip, 2>> chips; // by core and space
  void keepOnly(const Chip &chip, const std::vector<const Place *> &kept);
  struct Used { // a memory to be kept: what of it has to be zeroed
    size_t page;
    int64_t pitch;
    Part part;
  };
  Part usedPart(int core, Space s, int64_t capacity) const;
  std::vector<Used> used;
  void setBase(uint32_t tensor, std::byte *base);
  std::vector<Place> allocations, tensors; // tensors: [tensor][core]
};

// Throws Error RUN-INPUT unless `inputs` are exactly the program's inputs, with the sizes and values they promise.
void checkInputs(const Program &p, const TensorViews &inputs);
// Throws Error RUN-OUTPUT unless there is a buffer of the right size for every output.
void checkOutputs(const Program &p, const TensorBuffers &outputs);

} // namespace glia::sim
