// A program of several ranks on whole tensors: each rank gets its parts, and what the ranks hold in the end is put together.
#include "Machine.h"
#include "glia/Program/TensorParts.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/Ranks.h"

#include <map>

namespace glia::sim {

namespace {

class Whole {
public:
  Whole(const Program &p, const TensorViews &inputs, const RunOptions &options)
      : program(p), options(options), ranks(ranksOf(p)), jobs(static_cast<size_t>(ranks)), buffers(jobs.size()) {
    for (RankJob &j : jobs)
      j.program = &p;
    for (const CallerTensor &t : callerTensors(p))
      t.isOutput() ? giveOutput(t.whole, p.tensors[t.tensor]) : giveInput(t.whole, p.tensors[t.tensor], inputs);
    for (const auto &[name, data] : inputs)
      if (!known.contains(name))
        throw Error("RUN-INPUT", "the program has no input `" + name + "`");
    for (size_t r = 0; r < jobs.size(); ++r)
      jobs[r].outputs = &buffers[r];
  }

  RunResult run() {
    RanksResult made = runRanks(jobs, options);
    RunResult out;
    for (size_t r = 0; r < made.ranks.size(); ++r) {
      out.instructions += made.ranks[r].instructions;
      out.printed += made.ranks[r].printed;
      out.outOfRange += made.ranks[r].outOfRange;
      if (!out.range)
        out.range = made.ranks[r].range;
    }
    if (!made.ok()) {
      RunResult &bad = made.ranks[static_cast<size_t>(made.failed)];
      for (auto *d : {&bad.fault, &bad.trap})
        if (*d)
          (*d)->notes.insert((*d)->notes.begin(), format("on rank %d", made.failed));
      out.fault = std::move(bad.fault);
      out.trap = std::move(bad.trap);
      return out;
    }
    for (const Put &p : puts)
      putPart(p.parts, p.rank, p.elementBytes, p.part, p.whole);
    out.outputs = std::move(outputs);
    return out;
  }

private:
  struct Put {
    TensorParts parts;
    int rank, elementBytes;
    std::span<const std::byte> part;
    std::span<std::byte> whole;
  };
  const Program &program;
  const RunOptions &options;
  const int ranks;
  std::vector<RankJob> jobs;
  std::vector<TensorBuffers> buffers;
  std::vector<std::vector<std::byte>> kept; // parts that lie apart in the whole
  std::vector<Put> puts;
  TensorData outputs;
  std::map<std::string, bool, std::less<>> known;

  std::span<std::byte> keep(size_t bytes) { return kept.emplace_back(bytes); }

  void giveInput(const Tensor &t, const Tensor &tensor, const TensorViews &inputs) {
    known[t.name] = true;
    const auto it = inputs.find(t.name);
    const TensorParts place = partsOf(program, tensor, t.name);
    const int size = sizeOf(t.dtype);
    const int64_t bytes = t.bytes();
    if (it == inputs.end() || static_cast<int64_t>(it->second.size()) != bytes)
      throw Error("RUN-INPUT", it == inputs.end() ? "input `" + t.name + "` is missing"
                                                  : format("input `%s` has %zu bytes and the ranks hold %lld together",
                                                           t.name.c_str(), it->second.size(), (long long)bytes));
    std::map<int32_t, std::span<const std::byte>> byTile; // copies are shared
    for (int r = 0; r < ranks; ++r) {
      auto [tile, fresh] = byTile.try_emplace(place.tileOf[static_cast<size_t>(r)]);
      if (fresh) {
        const auto part = static_cast<size_t>(tensor.bytes());
        if (const std::optional<size_t> at = offsetOf(place, r, size)) {
          tile->second = it->second.subspan(*at, part);
        } else {
          const std::span<std::byte> mine = keep(part);
          takePart(place, r, size, it->second, mine);
          tile->second = mine;
        }
      }
      jobs[static_cast<size_t>(r)].inputs[t.name] = tile->second;
    }
  }

  void giveOutput(const Tensor &t, const Tensor &tensor) {
    const TensorParts place = partsOf(program, tensor, t.name);
    const int size = sizeOf(t.dtype);
    const int64_t bytes = t.bytes();
    std::span<std::byte> whole;
    if (options.outputs) {
      const auto it = options.outputs->find(t.name);
      if (it == options.outputs->end() || static_cast<int64_t>(it->second.size()) != bytes)
        throw Error("RUN-OUTPUT", "the memory for output `" + t.name + "` is missing or has another size");
      whole = it->second;
    } else {
      whole = outputs[t.name] = std::vector<std::byte>(static_cast<size_t>(bytes));
    }
    std::map<int32_t, bool> taken;
    for (int r = 0; r < ranks; ++r) {
      std::span<std::byte> &part = buffers[static_cast<size_t>(r)][t.name];
      if (!taken.try_emplace(place.tileOf[static_cast<size_t>(r)], true).second)
        continue; // of copies the first counts
      const auto partBytes = static_cast<size_t>(tensor.bytes());
      if (const std::optional<size_t> at = offsetOf(place, r, size)) {
        part = whole.subspan(*at, partBytes);
      } else {
        part = keep(partBytes);
        puts.push_back({place, r, size, part, whole});
      }
    }
  }
};

} // namespace

RunResult runWhole(const Program &p, const TensorViews &inputs, const RunOptions &options) {
  return Whole(p, inputs, options).run();
}

} // namespace glia::sim
