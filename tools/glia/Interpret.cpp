#include "GraphInputs.h"
#include "Tool.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Graph/Read.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Runtime/Npy.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

#include <bit>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

namespace glia::tool {

namespace {

std::vector<std::byte> npyOf(const HostTensor &h) {
  return formatNpy({descrOf(h.element, h.pairs), {h.shape.begin(), h.shape.end() - (h.pairs ? 1 : 0)}, h.bytes});
}

std::vector<std::string> firstOf(const HostTensor &h) {
  constexpr size_t kFirst = 8;
  const size_t size = info(h.element).bytes;
  std::vector<std::string> out(std::min<size_t>(h.bytes.size() / size, kFirst));
  for (size_t k = 0; k < out.size(); ++k) {
    Word w;
    decode(h.element, h.bytes.data() + k * size, &w, 1);
    out[k] = textOf(h.element, w);
  }
  return out;
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
    const std::vector<std::string> first = firstOf(h);
    for (const std::string &text : first)
      out += " " + text;
    out += first.size() < h.bytes.size() / t.bytes ? " ...\n" : "\n";
  }
  return out;
}

std::string summaryJson(const std::vector<HostTensor> &results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const HostTensor &h : results)
    list.push_back({{"type", info(h.element).name}, {"shape", h.shape}, {"first", firstOf(h)}});
  return asText({{"results", list}});
}

} // namespace

void addInterpret(Command app, Tool &tool) {
  struct Options {
    std::string file, function, autoCast;
    std::vector<std::string> inputs, outputs;
    InterpretOptions interpret;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("interpret", "Evaluates a graph on the host: the reference, without the machine");
  c.option("file", o->file, "The graph (StableHLO as text or bytecode, HloModuleProto)").required();
  c.option("--input", o->inputs, "name=file.npy, by name or number of the argument; may be repeated").oneEach();
  c.option("--output", o->outputs,
           "number=file.npy, by number of the result; may be repeated. Without it a summary is printed")
      .oneEach();
  c.option("--function", o->function, "The function to evaluate; @main if not given");
  c.option("--auto-cast", o->autoCast, "bf16 or f16: operands of f32 products are rounded to it");
  c.flag("--in-double", o->interpret.inDouble, "Evaluate every float type as f64");
  c.flag("--json", o->json, "The summary as JSON; also beside --output");
  c.footer("Example: glia interpret model.mlir --input 0=x.npy --output 0=y.npy");
  c.callback([o, &tool] {
    tool.command = [o] {
      const FileBytes f = readFile(o->file);
      graph::Graph g = graph::readGraph(f.text(), o->file);
      graph::roundProducts(*g.module, o->autoCast);
      mlir::func::FuncOp function = functionOf(g, o->function);
      std::vector<HostTensor> inputs = readArguments(function, o->inputs);
      std::map<size_t, std::string> files;
      for (const std::string &s : o->outputs) {
        const FileArgument a = splitArgument(s, "--output");
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
      if (o->json)
        write(summaryJson(results));
      else if (files.empty())
        write(summary(results));
      for (const auto &[i, file] : files)
        if (i < results.size())
          writeFile(file, npyOf(results[i]));
      return 0;
    };
  });
}

} // namespace glia::tool
