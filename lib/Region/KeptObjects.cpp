#include "KeptObjects.h"
#include "glia/CodeGen/Contract.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Program/Container.h"
#include "glia/Support/BuildId.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cstring>
#include <map>
#include <tuple>

namespace glia::emit {

namespace {

// To make fewer instructions takes hardly longer than to look for them.
constexpr uint64_t kWorthKeeping = 100;

// The places of all operations, of those whose numbers they take into themselves, and none. What a kernel says of them is kept as their number.
class Places {
public:
  Places() { add(nisa::Origin()); }

  void add(llvm::ArrayRef<mlir::Operation *> ops) {
    for (mlir::Operation *op : ops)
      op->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *inner) {
        add(nisa::originOf(inner->getLoc()));
        for (mlir::Value v : inner->getOperands())
          if (mlir::Operation *maker = v.getDefiningOp(); maker && !llvm::is_contained(ops, maker))
            add(nisa::originOf(maker->getLoc()));
      });
  }

  // Of which of them are the same: kernels of others that are alike in this are the same but for what places are called.
  std::string pattern() const {
    std::string out;
    for (size_t i = 0; i < firsts.size(); ++i)
      out += std::to_string(firsts[i]) + (places[i].line ? "," : "-,");
    return out;
  }

  // False: it speaks of a place that is not among them.
  bool takeOut(Program &p) const {
    std::vector<InstrOrigin> origins;
    for (const InstrOrigin &o : p.origins) {
      if (o == InstrOrigin{}) {
        origins.push_back(o);
        continue;
      }
      const auto it = numbers.find({p.strings[o.operation], p.strings[o.file], o.line});
      if (it == numbers.end())
        return false;
      origins.push_back({0, 0, 0, static_cast<uint32_t>(it->second) + 1});
    }
    // Of the contract only notes: the rest is read from the instructions. Texts that nobody speaks of any more are not written.
    p.contract.erase(p.contract.begin(), p.contract.begin() + static_cast<long>(describeContract(p, "").size()));
    p.origins = std::move(origins);
    for (ContractItem &c : p.contract)
      for (const auto &[place, i] : numbers)
        replace(c.value, textOf(i), numbered(i));
    return true;
  }

  bool putIn(Program &p, const std::string &kernel) const {
    std::map<std::string, uint32_t> known;
    for (size_t i = 0; i < p.strings.size(); ++i)
      known.try_emplace(p.strings[i], static_cast<uint32_t>(i));
    const auto string = [&](const std::string &text) {
      const auto [it, fresh] = known.try_emplace(text, static_cast<uint32_t>(p.strings.size()));
      if (fresh)
        p.strings.push_back(text);
      return it->second;
    };
    for (InstrOrigin &o : p.origins) {
      if (o == InstrOrigin{})
        continue;
      if (o.line > places.size())
        return false;
      const nisa::Origin &place = places[o.line - 1];
      o = {string(kernel), string(place.operation), string(place.file), place.line};
    }
    for (ContractItem &c : p.contract)
      for (const auto &[place, i] : numbers)
        replace(c.value, numbered(i), textOf(i));
    const std::vector<ContractItem> said = describeContract(p, kernel);
    p.contract.insert(p.contract.begin(), said.begin(), said.end());
    return true;
  }

private:
  std::vector<nisa::Origin> places;
  std::vector<size_t> firsts; // for each the first that is the same
  std::map<std::tuple<std::string, std::string, uint32_t>, size_t> numbers;

  void add(nisa::Origin o) {
    firsts.push_back(numbers.try_emplace({o.operation, o.file, o.line}, places.size()).first->second);
    places.push_back(std::move(o));
  }
  std::string textOf(size_t i) const { // as notes have it
    return places[i].line ? format("%s:%u", places[i].file.c_str(), places[i].line) : "";
  }
  static std::string numbered(size_t i) { return format("\1%zu", i); }

  // Whole words: neither the end of a longer path nor the beginning of a longer number.
  static void replace(std::string &text, const std::string &what, const std::string &with) {
    for (size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;) {
      const size_t end = at + what.size();
      const bool starts = at == 0 || text[at - 1] == ' ' || text[at - 1] == '(';
      if (starts && (end == text.size() || !llvm::isDigit(static_cast<char>(text[end])))) {
        text.replace(at, what.size(), with);
        at += with.size();
      } else {
        ++at;
      }
    }
  }
};

std::optional<Program> programIn(std::span<const std::byte> bytes, const Places &places, const std::string &name) {
  try {
    Program p = loadBytes(bytes);
    return places.putIn(p, name) ? std::optional(std::move(p)) : std::nullopt;
  } catch (const Error &) {
    return std::nullopt;
  }
}

std::optional<std::vector<std::byte>> bytesOf(const Program &p, const Places &places) {
  Program same = p;
  return places.takeOut(same) ? std::optional(toBytes(same)) : std::nullopt;
}

// A line for each way, with its time in bits, then an empty one.
std::string textOf(const RegionChoice &c) {
  std::string out = std::to_string(c.taken) + "\n";
  for (const RegionChoice::Way &w : c.tried)
    out += format("%016llx ", (unsigned long long)std::bit_cast<uint64_t>(w.time)) + w.name + "\n";
  return out + "\n";
}

// Takes its text from the front; nullopt: it is none.
std::optional<RegionChoice> choiceIn(std::string_view &text) {
  RegionChoice out;
  const auto line = [&]() -> std::optional<std::string> {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string found(text.substr(0, end));
    text.remove_prefix(end + 1);
    return found;
  };
  const std::optional<std::string> taken = line();
  if (!taken)
    return std::nullopt;
  out.taken = std::strtoull(taken->c_str(), nullptr, 10);
  for (;;) {
    const std::optional<std::string> way = line();
    if (!way || (!way->empty() && way->size() < 17))
      return std::nullopt;
    if (way->empty())
      return out.taken < out.tried.size() ? std::optional(std::move(out)) : std::nullopt;
    out.tried.push_back(
        {way->substr(17), std::bit_cast<double>(uint64_t{std::strtoull(way->substr(0, 16).c_str(), nullptr, 16)})});
  }
}

} // namespace

KeptObjects::KeptObjects(const GraphOptions &options) {
  const std::string build = buildId();
  if (!options.keep || build.empty() || !options.dump.empty() || options.onKernel) // somebody wants to see how it is made
    return;
  disk = DiskCache::ofUser();
  common = "build " + build + "\n" + loadTarget(options.target)->text + "\n" +
           format("cores %d, effort %d\n", options.cores, options.effort);
}

Program KeptObjects::group(const Group &g, const std::string &structure, const std::string &name,
                           const std::function<Program()> &make) {
  if (!disk)
    return make();
  Places places;
  places.add(g.ops);
  const std::string key = common + "group of " + std::string(g.family->name()) + (g.fewTables ? ", few tables\n" : "\n") +
                          structure + places.pattern();
  if (const auto bytes = disk->get(key))
    if (std::optional<Program> kept = programIn(*bytes, places, name))
      return std::move(*kept);
  Program made = make();
  if (made.instructionCount() >= kWorthKeeping)
    if (const auto bytes = bytesOf(made, places))
      disk->put(key, *bytes);
  return made;
}

KeptObjects::Choice KeptObjects::region(const Region &r, const std::string &structure, const std::string &name, bool besides,
                                        const std::function<Choice()> &make) {
  if (!disk)
    return make();
  Places places;
  bool few = false;
  for (const Group &g : r.groups) {
    places.add(g.ops);
    few |= g.fewTables;
  }
  const std::string key =
      common + "region" + (few ? ", few tables" : "") + (besides ? ", long groups\n" : "\n") + structure + places.pattern();
  if (const auto bytes = disk->get(key)) {
    std::string_view text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    if (std::optional<RegionChoice> choice = choiceIn(text)) {
      choice->kernel = name;
      choice->groups = r.groups.size();
      if (!choice->taken)
        return {std::move(*choice), std::nullopt};
      const std::span<const std::byte> rest = std::span(*bytes).last(text.size());
      if (std::optional<Program> kept = programIn(rest, places, name))
        return {std::move(*choice), std::move(kept)};
    }
  }
  Choice made = make();
  const std::string text = textOf(made.choice);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  if (made.program) {
    const auto program = bytesOf(*made.program, places);
    if (!program)
      return made;
    bytes.insert(bytes.end(), program->begin(), program->end());
  }
  disk->put(key, bytes);
  return made;
}

} // namespace glia::emit
