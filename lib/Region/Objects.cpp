#include "Objects.h"
#include "Graph/Decompose/CollectiveCall.h"
#include "CompileGroup.h"
#include "CompileRegion.h"
#include "LinkApart.h"
#include "glia/Link/Link.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Sim/Timing.h"

namespace glia::emit {

// Regions have at most as many instructions as this: more take longer to compile, and gain little. Groups that last much longer than their
// transfers hide these behind their work.
static constexpr int64_t kMostOfRegion = 3000, kMostOfGroup = 400;
static constexpr uint64_t kFew = 300;     // instructions of a region for which everything is tried
static constexpr double kLongest = 40000; // ns, of a group
// Convolutions have gradients of weights that can be done beside other groups, however long these are (Braid.h).
static constexpr int64_t kMostBesides = 2000, kMostOfLong = 5000; // instructions of a group, and of a region

std::shared_ptr<const Program> Objects::of(const Group &g) {
  const auto [it, fresh] = groups.try_emplace(structureOf(g));
  if (!fresh)
    return it->second;
  const auto show = [&](nisa::Kernel &kernel) {
    dump.kernel(kernel);
    if (options.onKernel)
      options.onKernel(kernel);
  };
  const std::string name = std::string(g.family->name()) + std::to_string(groups.size());
  return it->second = std::make_shared<Program>(
             kept.group(g, it->first, name, [&] { return compileGroup(g, name, options.target, options.cores, show); }));
}

std::shared_ptr<const Program> Objects::of(const Region &r) {
  auto [it, fresh] = regions.try_emplace(structureOf(r));
  if (fresh) {
    const std::string name = "region" + std::to_string(regions.size());
    KeptObjects::Choice made = kept.region(r, it->first, name, besides, [&] { return compileIfBetter(r, name); });
    chosen.push_back(std::move(made.choice));
    if (made.program)
      it->second = std::make_shared<Program>(std::move(*made.program));
  }
  return it->second;
}

std::vector<size_t> Objects::regionLengths(std::span<const Group> all) {
  if (options.effort == 0 || options.cores > 1) // on two cores each group is cut on its own
    return std::vector<size_t>(all.size(), 1);
  besides = llvm::any_of(all, [](const Group &g) { return g.family->name() == "convolution"; });
  std::vector<Stage> stages;
  std::map<const Program *, size_t> kinds;
  for (const Group &g : all)
    stages.push_back(stageOf(g, kinds));
  return emit::regionLengths(stages, besides ? kMostOfLong : kMostOfRegion);
}

static bool hasLoops(const Program &p, const Stream &s) {
  return llvm::any_of(s.instrs, [&](const Instr &i) { return p.opcodes[i.opcode]->unit == Unit::Control; });
}

Stage Objects::stageOf(const Group &g, std::map<const Program *, size_t> &kinds) {
  Stage s;
  s.alone = isKernelCall(g.ops.front()) || isCollectiveCall(g.ops.front()) || g.over;
  if (s.alone)
    return s;
  const std::shared_ptr<const Program> object = of(g);
  for (const auto &core : object->streams)
    for (const Stream &stream : core) {
      s.weight += static_cast<int64_t>(stream.instrs.size());
      s.alone |= hasLoops(*object, stream);
    }
  s.alone = s.alone || (besides ? s.weight > kMostBesides : s.weight > kMostOfGroup || timeOf(object) > kLongest);
  s.kind = kinds.try_emplace(object.get(), kinds.size()).first->second;
  return s;
}

double Objects::timeOf(const std::shared_ptr<const Program> &object) {
  const auto [it, fresh] = times.try_emplace(object.get());
  if (fresh)
    it->second = simulateTime(*object).total;
  return it->second;
}

static double busiest(const TimingResult &t) {
  double most = 0;
  for (int e = 0; e < kNumEngines; ++e)
    most = std::max(most, t.lanes[static_cast<size_t>(e)].busy);
  return most;
}

// What stands beside a region waits for the whole of it: it is to gain more than that may cost.
static constexpr double kLeastGain = 0.02;

// The candidates, and the first of those that take least.
KeptObjects::Choice Objects::compileIfBetter(const Region &r, const std::string &name) {
  std::vector<std::shared_ptr<const Program>> apart;
  for (const Group &g : r.groups)
    apart.push_back(of(g));
  KeptObjects::Choice out{{name, r.groups.size(), {}, 0}, std::nullopt};
  RegionChoice &choice = out.choice;
  choice.tried.push_back({"apart", simulateTime(linkApart(r, apart, options.target)).total});
  bool triesAll =
      options.effort > 1 || besides; // or an engine has much to do, of which others may take some; or it costs little
  std::string text;
  const auto show = [&](nisa::Kernel &kernel) {
    text = dump.wanted() ? kernel.text() : "";
    if (options.onKernel)
      options.onKernel(kernel);
  };
  for (const auto &[way, aim] : {std::pair{"each result soon", Aim::Soon}, std::pair{"engines even", Aim::Even}}) {
    if (aim == Aim::Even && !triesAll)
      continue;
    std::optional<Program> p = compileRegion(r, name, options.target, aim, show);
    if (!p)
      break;
    const TimingResult timing = simulateTime(*p);
    triesAll |= busiest(timing) > timing.total / 2 || timing.instructions <= kFew;
    if (timing.total < choice.tried[choice.taken].time * (choice.taken ? 1 : 1 - kLeastGain)) {
      choice.taken = choice.tried.size();
      out.program = std::move(p);
      dump.kernel(name, text);
    }
    choice.tried.push_back({way, timing.total});
  }
  return out;
}

} // namespace glia::emit
