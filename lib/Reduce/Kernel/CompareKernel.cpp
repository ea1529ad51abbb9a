#include "glia/Reduce/CompareKernel.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Runtime/FootprintCheck.h"
#include "glia/Verify/Certificate.h"

#include <algorithm>
#include <sstream>

namespace glia::reduce {

namespace {

constexpr uint64_t kMaxSteps = 200'000;

KernelVerdict found(const char *kind, const std::vector<Diagnostic> &list) {
  KernelVerdict v{kind, list.empty() ? "" : list[0].code, ""};
  for (size_t i = 0; i < list.size() && i < 4; ++i)
    v.detail += (i ? "\n" : "") + render(list[i]);
  return v;
}

// Two cores print when they please: compared without the order of the lines.
std::string sortedLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string &line : lines)
    out += line + "\n";
  return out;
}

std::string difference(const TensorData &want, const TensorData &got) {
  for (const auto &[name, bytes] : want) {
    const auto it = got.find(name);
    if (it == got.end() || it->second.size() != bytes.size())
      return format("output `%s` is missing or has another size", name.c_str());
    const auto at = std::mismatch(bytes.begin(), bytes.end(), it->second.begin());
    if (at.first != bytes.end())
      return format("output `%s`, byte %lld: %02x, and the executor says %02x", name.c_str(),
                    (long long)(at.first - bytes.begin()), (unsigned)*at.second, (unsigned)*at.first);
  }
  return "";
}

KernelVerdict runOne(const Program &p, const TensorData &inputs, bool strict, uint64_t seed, const RunResult &want) {
  RunOptions o;
  o.strict = strict;
  o.seed = seed;
  o.maxSteps = kMaxSteps;
  const RunResult r = runChecked(p, inputs, o);
  const std::string mode = strict ? format("strict, seed %llu: ", (unsigned long long)seed) : "fast: ";
  if (r.fault)
    return {"run", r.fault->code, mode + render(*r.fault)};
  if (r.trap)
    return {"run", r.trap->code, mode + render(*r.trap)};
  if (std::string text = difference(want.outputs, r.outputs); !text.empty())
    return {"differs", "", mode + text};
  if (sortedLines(r.printed) != sortedLines(want.printed))
    return {"differs", "printed", mode + "it prints something else"};
  return {};
}

} // namespace

TensorData inputsIn(nisa::Kernel &k, const TensorData &all) {
  TensorData out;
  for (auto t : k.op().getBody().getOps<nisa::TensorOp>())
    if (const auto it = all.find(std::string_view(t.getAlias() ? *t.getAlias() : t.getLabel())); it != all.end())
      out.insert(*it);
  return out;
}

KernelVerdict compareKernel(nisa::Kernel &k, const TensorData &inputs) {
  try {
    if (const std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
      return found("check", bad);
    prepareKernel(k);
  } catch (const Error &e) {
    return found("check", e.diagnostics());
  }
  RunResult want;
  try {
    want = executeKernel(k, inputs, {.maxSteps = kMaxSteps});
  } catch (const Error &e) {
    return found("executor", e.diagnostics());
  }
  if (want.fault || want.trap)
    return found("executor", {want.fault ? *want.fault : *want.trap});
  Program p;
  try {
    p = compileKernel(k, {.tryOrders = true});
  } catch (const Error &e) {
    return found("compile", e.diagnostics());
  }
  std::vector<std::byte> certificate;
  const VerifyResult v = certify(p, certificate);
  if (!v.ok()) { // does the simulator see it too? A smaller kernel must not turn the one kind into the other
    KernelVerdict refused = found("verify", v.diagnostics);
    try {
      if (const KernelVerdict bad = runOne(p, inputs, true, 1, want); !bad.ok())
        refused.code += ", and strict mode: " + bad.kind + " " + bad.code;
    } catch (const Error &) { // what cannot run is refused all the more
      refused.code += ", does not run";
    }
    return refused;
  }
  try {
    verifyWith(p, certificate);
  } catch (const Error &e) {
    return found("certificate", e.diagnostics());
  }
  try {
    if (KernelVerdict bad = runOne(p, inputs, false, 0, want); !bad.ok())
      return bad;
    for (uint64_t seed : {1, 2})
      if (KernelVerdict bad = runOne(p, inputs, true, seed, want); !bad.ok())
        return bad;
  } catch (const Error &e) {
    return found("run", e.diagnostics());
  }
  KernelVerdict good;
  for (const ContractItem &c : p.contract)
    good.spilled += c.key == "spill";
  return good;
}

bool selfContained(nisa::Kernel &k, const TensorData &inputs) {
  try {
    const RunResult a = executeKernel(k, inputs, {.maxSteps = kMaxSteps});
    const RunResult b = executeKernel(k, inputs, {.maxSteps = kMaxSteps, .unwritten = std::byte{0x11}});
    return a.ok() && b.ok() && a.outputs == b.outputs;
  } catch (const Error &) {
    return false;
  }
}

} // namespace glia::reduce
