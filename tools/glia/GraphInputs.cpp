#include "GraphInputs.h"
#include "glia/Runtime/Npy.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

namespace glia::tool {

FileArgument splitArgument(const std::string &s, const char *option) {
  const size_t at = s.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == s.size())
    throw Error("GRAPH-ARGUMENT", std::string("`") + option + " " + printable(s) + "` is not name=file.npy",
                "The name is that of the argument, or its number from 0.");
  return {s.substr(0, at), s.substr(at + 1)};
}

std::string descrOf(Element e, bool pairs) {
  const ElementInfo &t = info(e);
  if (pairs)
    return "<c" + std::to_string(2 * t.bytes);
  const bool native = t.kind != ElementInfo::Float || (t.bits >= 16 && e != Element::BF16);
  const char kind = !native                           ? 'V'
                    : t.kind == ElementInfo::Float    ? 'f'
                    : t.kind == ElementInfo::Unsigned ? 'u'
                    : t.kind == ElementInfo::Pred     ? 'b'
                                                      : 'i';
  return std::string(t.bytes == 1 || !native ? "|" : "<") + kind + std::to_string(t.bytes);
}
static bool accepts(Element e, bool pairs, const std::string &descr) {
  const std::string want = descrOf(e, pairs);
  return descr.size() == want.size() && descr[0] != '>' && descr[2] == want[2] &&
         (descr[1] == want[1] || (e == Element::F8E5M2 && descr[1] == 'f')); // NumPy saves this one as "<f1"
}

// The names of the argument: its number, "arg" and its number, and what a front end called it.
static int findArgument(mlir::func::FuncOp f, const std::string &name) {
  for (unsigned i = 0; i < f.getNumArguments(); ++i) {
    if (name == std::to_string(i) || name == "arg" + std::to_string(i))
      return static_cast<int>(i);
    if (auto loc = mlir::dyn_cast<mlir::NameLoc>(f.getArgument(i).getLoc()); loc && loc.getName().getValue() == name)
      return static_cast<int>(i);
  }
  throw Error(
      "GRAPH-ARGUMENT", "@" + f.getSymName().str() + " has no argument `" + printable(name) + "`",
      format("It has %u; each is named by its number, from 0, or by the name the graph gives it.", f.getNumArguments()));
}

std::vector<HostTensor> readArguments(mlir::func::FuncOp f, const std::vector<std::string> &list) {
  std::vector<HostTensor> inputs(f.getNumArguments());
  std::vector<bool> given(inputs.size());
  for (const std::string &s : list) {
    const FileArgument a = splitArgument(s, "--input");
    const int i = findArgument(f, a.name);
    const auto type = mlir::dyn_cast<mlir::RankedTensorType>(f.getArgument(i).getType());
    std::string text;
    if (type)
      llvm::raw_string_ostream(text) << type.getElementType();
    const bool pairs = text.starts_with("complex<");
    const std::optional<Element> e = parseElement(pairs ? text.substr(8, 3) : text);
    if (!e)
      throw Error("GRAPH-INTERPRET", "argument " + a.name + " is no tensor of numbers");
    NpyArray array = parseNpy(readFile(a.file).bytes, a.file);
    if (!accepts(*e, pairs, array.descr))
      throw Error("GRAPH-ARGUMENT",
                  a.file + " has elements of type `" + printable(array.descr) + "`, argument " + a.name + " is " + text,
                  "NumPy calls that type `" + descrOf(*e, pairs) + "`.");
    if (pairs)
      array.shape.push_back(2);
    inputs[i] = {*e, array.shape, std::move(array.data), pairs};
    given[i] = true;
  }
  std::string missing;
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i])
      missing += (missing.empty() ? "" : ", ") + std::to_string(i);
  if (!missing.empty())
    throw Error("GRAPH-ARGUMENT", "no input for argument " + missing + " of @" + f.getSymName().str(),
                "Give each with --input NUMBER=file.npy.");
  return inputs;
}

mlir::func::FuncOp functionOf(graph::Graph &g, const std::string &name) {
  mlir::func::FuncOp f = name.empty() ? g.main() : g.module->lookupSymbol<mlir::func::FuncOp>(name);
  if (!f)
    throw Error("GRAPH-FUNCTION", "there is no function @" + printable(name) + " in the graph");
  return f;
}

} // namespace glia::tool
