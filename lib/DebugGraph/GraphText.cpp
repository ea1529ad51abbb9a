#include "GraphText.h"
#include "Graph/Read/Place.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <fstream>

namespace glia::debug {

static constexpr int64_t kMostElements = 8; // of a constant

GraphText::GraphText(mlir::ModuleOp module)
    : state(module, mlir::OpPrintingFlags().elideLargeElementsAttrs(kMostElements)) {}

const std::string &GraphText::text(mlir::Operation *op) {
  std::string &out = texts[op];
  if (out.empty()) {
    llvm::raw_string_ostream stream(out);
    op->print(stream, state);
    out.resize(std::min(out.find('\n'), out.size()));
    out.erase(out.find_last_not_of(" \t{") + 1);
    while (true) { // attributes are padded where they may be left out
      const size_t at = out.find("  ");
      if (at == std::string::npos)
        break;
      out.erase(at, 1);
    }
  }
  return out;
}

std::string GraphText::name(mlir::Value v) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  v.printAsOperand(stream, state);
  return out;
}

mlir::Value GraphText::find(mlir::Block *block, std::string_view wanted) {
  auto [it, isNew] = names.try_emplace(block);
  if (isNew) {
    llvm::StringMap<mlir::Value> &known = it->second;
    for (mlir::BlockArgument a : block->getArguments()) {
      known[name(a)] = a;
      if (auto loc = llvm::dyn_cast<mlir::NameLoc>(a.getLoc()))
        known.try_emplace(loc.getName().getValue(), a);
    }
    for (mlir::Operation &op : *block)
      for (mlir::OpResult r : op.getResults()) {
        const std::string own = name(r);
        known[own] = r;
        if (r.getResultNumber() == 0)
          known.try_emplace(own.substr(0, own.find('#')), r);
      }
  }
  return it->second.lookup(llvm::StringRef(wanted.data(), wanted.size()));
}

SourcePlace GraphText::placeOf(mlir::Operation *op) {
  const SourcePlace p = graph::placeOf(op->getLoc());
  // Front ends give a return the line that called for the graph.
  return op->hasTrait<mlir::OpTrait::IsTerminator>() && isSource(p) ? SourcePlace() : p;
}

bool GraphText::isSource(const SourcePlace &p) { return p.file.ends_with(".py"); }

std::string GraphText::line(const SourcePlace &p) {
  const auto [it, isNew] = files.try_emplace(p.file);
  if (isNew) { // empty if it cannot be read: it is elsewhere
    std::ifstream stream(p.file);
    for (std::string l; std::getline(stream, l);)
      it->second.push_back(l);
  }
  std::string out = p.file.substr(p.file.rfind('/') + 1) + ":" + std::to_string(p.line);
  if (p.line >= 1 && p.line <= it->second.size()) {
    const std::string &l = it->second[p.line - 1];
    const size_t from = std::min(l.find_first_not_of(" \t"), l.size());
    out += ": " + l.substr(from);
  }
  return out;
}

std::string GraphText::function(mlir::Operation *op) {
  auto f = llvm::dyn_cast<mlir::FunctionOpInterface>(op);
  return "@" + (f ? f : op->getParentOfType<mlir::FunctionOpInterface>()).getName().str();
}

std::string typeText(mlir::Type t) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  stream << t;
  return out;
}

} // namespace glia::debug
