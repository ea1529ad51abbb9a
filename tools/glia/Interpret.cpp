#include "Tool.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Graph/Read.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Runtime/Npy.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

#include <bit>
#include <charconv>
#include <map>

namespace glia::tool {

namespace {

struct Argument {
  std::string name, file;
};

Argument split(const std::string &s, const char *option) {
  const size_t at = s.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == s.size())
    throw Error("GRAPH-ARGUMENT", std::string("`") + option + " " + printable(s) + "` is not name=file.npy",
                "The name is that of the argument, or its number from 0.");
  return {s.substr(0, at), s.substr(at + 1)};
}

// As NumPy writes it; ml_dtypes arrays become raw bytes.
std::string descrOf(Element e, bool pairs = false) {
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
bool accepts(Element e, bool pairs, const std::string &descr) {
  const std::string want = descrOf(e, pairs);
  return descr.size() == want.size() && descr[0] != '>' && descr[2] == want[2] &&
         (descr[1] == want[1] || (e == Element::F8E5M2 && descr[1] == 'f')); // NumPy saves this one as "<f1"
}

// The names of the argument: its number, "arg" and its number, and what a front end called it.
int findArgument(mlir::func::FuncOp f, const std::string &name) {
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

std::vector<HostTensor> readInputs(mlir::func::FuncOp f, const std::vector<std::string> &list) {
  std::vector<HostTensor> inputs(f.getNumArguments());
  std::vector<bool> given(inputs.size());
  for (const std::string &s : list) {
    const Argument a = split(s, "--input");
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

std::vector<std::byte> npyOf(const HostTensor &h) {
  return formatNpy({descrOf(h.element, h.pairs), {h.shape.begin(), h.shape.end() - (h.pairs ? 1 : 0)}, h.bytes});
}

// One line per result: type, shape, and the first elements.
std::string summary(const std::vector<HostTensor> &results) {
  std::string out;
  for (size_t i = 0; i < results.size(); ++i) {
    const HostTensor &h = results[i];
    out += std::to_string(i) + ": tensor<";
    for (int64_t n : h.shape)
      out += std::to_string(n) + "x";
    const ElementInfo &t = info(h.element);
    out += std::string(t.name) + ">";
    const size_t count = h.bytes.size() / t.bytes, shown = std::min<size_t>(count, 8);
    for (size_t k = 0; k < shown; ++k) {
      Word w;
      decode(h.element, h.bytes.data() + k * t.bytes, &w, 1);
      out += t.kind == ElementInfo::Float      ? format(" %.7g", std::bit_cast<double>(w))
             : t.kind == ElementInfo::Unsigned ? format(" %llu", static_cast<unsigned long long>(w))
                                               : format(" %lld", static_cast<long long>(w));
    }
    out += shown < count ? " ...\n" : "\n";
  }
  return out;
}

} // namespace

void addInterpret(CLI::App &app, Tool &tool) {
  struct Options {
    std::string file, function;
    std::vector<std::string> inputs, outputs;
    InterpretOptions interpret;
  };
  auto o = std::make_shared<Options>();
  CLI::App *c = app.add_subcommand("interpret", "Evaluates a graph on the host: the reference, without the machine");
  c->add_option("file", o->file, "The graph (StableHLO as text or bytecode, HloModuleProto)")->required();
  c->add_option("--input", o->inputs, "name=file.npy, by name or number of the argument; may be repeated")
      ->allow_extra_args(false);
  c->add_option("--output", o->outputs,
                "number=file.npy, by number of the result; may be repeated. Without it a summary is printed")
      ->allow_extra_args(false);
  c->add_option("--function", o->function, "The function to evaluate; @main if not given");
  c->add_flag("--in-double", o->interpret.inDouble, "Evaluate every float type as f64");
  c->footer("Example: glia interpret model.mlir --input 0=x.npy --output 0=y.npy");
  c->callback([o, &tool] {
    tool.command = [o] {
      const FileBytes f = readFile(o->file);
      graph::Graph g = graph::readGraph(f.text(), o->file);
      mlir::func::FuncOp function = o->function.empty() ? g.main() : g.module->lookupSymbol<mlir::func::FuncOp>(o->function);
      if (!function)
        throw Error("GRAPH-FUNCTION", "there is no function @" + printable(o->function) + " in the graph");
      std::vector<HostTensor> inputs = readInputs(function, o->inputs);
      std::map<size_t, std::string> files;
      for (const std::string &s : o->outputs) {
        const Argument a = split(s, "--output");
        size_t i = 0;
        const auto [end, error] = std::from_chars(a.name.data(), a.name.data() + a.name.size(), i);
        if (error != std::errc() || end != a.name.data() + a.name.size() || i >= function.getNumResults())
          throw Error("GRAPH-ARGUMENT", format("`--output %s`: the function has results 0 to %d", printable(s).c_str(),
                                               static_cast<int>(function.getNumResults()) - 1));
        files[i] = a.file;
      }
      o->interpret.onCustomCall = emit::evaluateKernelCall;
      std::vector<HostTensor> results;
      {
        Progress progress("interpreting");
        results = interpret(*g.module, std::string(function.getSymName()), std::move(inputs), o->interpret);
      }
      if (files.empty())
        write(summary(results));
      for (const auto &[i, file] : files)
        if (i < results.size())
          writeFile(file, npyOf(results[i]));
      return 0;
    };
  });
}

} // namespace glia::tool
