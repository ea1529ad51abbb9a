// Locations from the metadata of instructions: the name of the operation around the line of the program, with its callers.
#include "HloReader.h"

using namespace mlir;

namespace glia::graph::hlo {

static constexpr unsigned kDeepestStack = 500;

Places::Places(const Module &m, MLIRContext *c) : context(c) {
  if (!m.frames)
    return;
  forEach(*m.frames, [&](const Field &f) {
    if (f.number == 1) {
      files.push_back(f.text());
    } else if (f.number == 2) {
      functions.push_back(f.text());
    } else if (f.number == 3) {
      Position p;
      forEach(f.message(), [&](const Field &g) {
        if (g.number >= 1 && g.number <= 4)
          (g.number == 1 ? p.file : g.number == 2 ? p.function : g.number == 3 ? p.line : p.column) = g.integer();
      });
      positions.push_back(p);
    } else if (f.number == 4) {
      Frame frame;
      forEach(f.message(), [&](const Field &g) {
        if (g.number == 1 || g.number == 2)
          (g.number == 1 ? frame.position : frame.parent) = g.integer();
      });
      frames.push_back(frame);
    }
  });
}

static StringRef ref(std::string_view s) { return {s.data(), s.size()}; }

static unsigned small(int64_t n) { return static_cast<unsigned>(std::clamp<int64_t>(n, 0, UINT32_MAX)); }

// The callers first, without recursion; numbers begin at 1, and 0 is none.
LocationAttr Places::ofFrame(int64_t number) {
  SmallVector<int64_t> chain;
  LocationAttr place;
  for (int64_t n = number; n >= 1 && n <= static_cast<int64_t>(frames.size()); n = frames[n - 1].parent) {
    if (const auto known = made.find(n); known != made.end()) {
      place = known->second;
      break;
    }
    if (chain.size() == kDeepestStack)
      break;
    chain.push_back(n);
  }
  for (const int64_t n : llvm::reverse(chain)) {
    const int64_t p = frames[n - 1].position;
    if (p < 1 || p > static_cast<int64_t>(positions.size()))
      continue;
    const Position &position = positions[p - 1];
    const auto text = [](const std::vector<std::string_view> &list, int64_t i) {
      return i >= 1 && i <= static_cast<int64_t>(list.size()) ? ref(list[i - 1]) : StringRef();
    };
    Location here = FileLineColLoc::get(context, text(files, position.file), small(position.line), small(position.column));
    if (const StringRef function = text(functions, position.function); !function.empty())
      here = NameLoc::get(StringAttr::get(context, function), here);
    place = place ? LocationAttr(CallSiteLoc::get(here, Location(place))) : LocationAttr(here);
    made[n] = place;
  }
  return place;
}

Location Places::of(const Instruction &i) {
  StringRef name, file;
  int64_t line = 0, column = 0, frame = 0;
  if (i.metadata)
    forEach(*i.metadata, [&](const Field &f) {
      switch (f.number) {
      case 2: name = ref(f.text()); break;
      case 3: file = ref(f.text()); break;
      case 4: line = f.integer(); break;
      case 15: frame = f.integer(); break;
      case 18: column = f.integer(); break;
      default: break;
      }
    });
  LocationAttr place = ofFrame(frame);
  if (!place && !file.empty())
    place = FileLineColLoc::get(context, file, small(line), small(column));
  if (name.empty() && !place)
    name = ref(i.name);
  if (!place)
    place = UnknownLoc::get(context);
  return name.empty() ? Location(place) : Location(NameLoc::get(StringAttr::get(context, name), Location(place)));
}

} // namespace glia::graph::hlo
