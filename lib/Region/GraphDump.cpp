#include "GraphDump.h"
#include "glia/Support/Diagnostic.h"

#include <filesystem>
#include <fstream>

namespace glia::emit {

GraphDump::GraphDump(std::string f) : folder(std::move(f)) {
  if (folder.empty())
    return;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    throw Error("DUMP-WRITE", format("cannot make the folder %s: %s", folder.c_str(), problem.message().c_str()));
}

void GraphDump::write(const std::string &name, const std::string &text) const {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::ofstream out(path);
  out << text;
  if (!out.flush())
    throw Error("DUMP-WRITE", format("cannot write %s", path.c_str()), "Check that the folder exists and has room.");
}

void GraphDump::graph(mlir::Operation *module) {
  if (folder.empty())
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  write("graph.mlir", text);
}

void GraphDump::kernel(nisa::Kernel &k) {
  if (wanted())
    kernel(k.op().getSymName().str(), k.text());
}

void GraphDump::kernel(const std::string &name, const std::string &text) {
  if (wanted())
    write(name + ".nisa", text);
}

std::string GraphDump::named(std::string_view kernel) {
  return std::string(kernel) + (seen.insert(std::string(kernel)).second ? "\n" : " (again)\n");
}

void GraphDump::operations(const Group &g) {
  for (mlir::Operation *op : g.ops) {
    const nisa::Origin o = nisa::originOf(op->getLoc());
    groups += "  " + op->getName().getStringRef().str();
    for (mlir::Value v : op->getResults()) {
      llvm::raw_string_ostream(groups) << " " << v.getType();
    }
    groups += o.file.empty() ? "\n" : "  " + std::string(o.file) + ":" + std::to_string(o.line) + "\n";
  }
}

void GraphDump::group(const Group &g, std::string_view kernel) {
  if (folder.empty())
    return;
  groups += format("group %zu: ", count++) + named(kernel);
  operations(g);
}

void GraphDump::region(const Region &r, std::string_view kernel) {
  if (folder.empty())
    return;
  groups += format("groups %zu to %zu: ", count, count + r.groups.size() - 1) + named(kernel);
  for (const Group &g : r.groups) {
    groups += format(" group %zu\n", count++);
    operations(g);
  }
}

void GraphDump::finish() {
  if (!folder.empty())
    write("groups.txt", groups);
}

} // namespace glia::emit
