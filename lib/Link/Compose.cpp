#include "Compose.h"
#include "glia/ISA/Collective.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"
#include "glia/Target/Title.h"
#include "glia/Target/WhoHas.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace glia::link {

namespace {

std::string typeText(const Tensor &t) {
  std::string out(name(t.dtype));
  out += "[";
  for (size_t i = 0; i < t.shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(t.shape[i]);
  return out + "]";
}

// The first instruction of the object that needs something the target lacks; empty if there is none.
std::string lacking(const Program &p, const Target &t) {
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e)
      for (const Instr &i : p.stream(static_cast<int>(c), static_cast<Engine>(e)).instrs) {
        const InstrDef &d = *p.opcodes[i.opcode];
        std::string_view feature = !d.feature.empty() && !t.has(d.feature) ? d.feature : std::string_view();
        for (const EngineNeed &n : d.engineNeeds)
          if (feature.empty() && n.engine == static_cast<Engine>(e) && !t.has(n.feature))
            feature = n.feature;
        if (!feature.empty())
          return placeOf(p, i) + " needs `" + std::string(feature) + "`, which " + t.name + " does not have" +
                 whoHas(feature);
      }
  return {};
}

class Composer {
public:
  Composer(std::shared_ptr<const Target> target, std::vector<Tensor> tensors, const std::vector<LinkCall> &calls)
      : calls(calls) {
    out.target = std::move(target);
    out.tensors = std::move(tensors);
  }

  Composition run() {
    if (calls.empty())
      throw Error("LINK-EMPTY", "there is no call to link");
    for (uint32_t i = 0; i < out.tensors.size(); ++i)
      if (!tensorOf.emplace(out.tensors[i].name, i).second)
        throw Error("LINK-BIND", "the program has two tensors named `" + out.tensors[i].name + "`");
    for (uint32_t n = 0; n < calls.size(); ++n)
      addCall(n);
    tables();
    memory();
    return std::move(out);
  }

private:
  const std::vector<LinkCall> &calls;
  Composition out;
  std::unordered_map<const Program *, uint32_t> objectOf;
  std::unordered_map<std::string, uint32_t> tensorOf;
  std::unordered_set<std::string> objectNames;
  std::vector<std::string> writer; // per tensor of the program: the kernel that wrote it last

  uint32_t object(const LinkCall &c, uint32_t n) {
    if (!c.object)
      throw Error("LINK-BIND", format("call %u has no object", n));
    const auto [it, fresh] = objectOf.try_emplace(c.object.get(), static_cast<uint32_t>(out.objects.size()));
    if (!fresh)
      return it->second;
    const Program &p = *c.object;
    const std::string kernel = kernelName(p);
    const Target &t = *out.target;
    if (p.target->name != t.name || p.target->text != t.text) {
      const std::string why = lacking(p, t);
      Diagnostic d;
      d.code = "LINK-TARGET";
      d.message = format("kernel `%s` is compiled for %s, and the program is for %s", kernel.c_str(),
                         titleOf(*p.target).c_str(), titleOf(t).c_str());
      if (!why.empty())
        d.message += ": " + why;
      d.value = titleOf(*p.target);
      d.limit = titleOf(t);
      d.advice = "Compile every kernel of a program for the program's target.";
      throw Error(std::move(d));
    }
    if (static_cast<int>(p.cores) > t.maxCores)
      throw Error("LINK-CORES", format("kernel `%s` runs on %u cores, and %s has %d", kernel.c_str(), p.cores,
                                       t.name.c_str(), t.maxCores));
    if (const std::string why = lacking(p, t); !why.empty())
      throw Error("LINK-TARGET", "kernel `" + kernel + "`: " + why, "Compile it for a target that has it.");
    Object o;
    o.program = c.object;
    o.facts = factsOf(p, calls.size() == 1);
    o.name = kernel;
    for (int k = 2; !objectNames.insert(o.name).second; ++k)
      o.name = kernel + "_" + std::to_string(k);
    out.cores = std::max(out.cores, p.cores);
    out.objects.push_back(std::move(o));
    return it->second;
  }

  void addCall(uint32_t n) {
    const LinkCall &c = calls[n];
    Call call;
    call.object = object(c, n);
    const Object &o = out.objects[call.object];
    const Program &p = *o.program;
    call.label = c.label.empty() ? o.facts.kernel : c.label;
    call.tensors.assign(p.tensors.size(), kUnbound);
    std::vector<bool> reshape(p.tensors.size());
    for (const Binding &b : c.bind) {
      const int t = p.findTensor(b.name);
      if (t < 0 || (p.tensors[t].kind != TensorKind::Input && p.tensors[t].kind != TensorKind::Output))
        throw Error("LINK-BIND", format("kernel `%s` has no input or output `%s`", call.label.c_str(), b.name.c_str()),
                    namesOf(p));
      const auto it = tensorOf.find(b.tensor);
      if (it == tensorOf.end())
        throw Error("LINK-BIND", format("`%s` of kernel `%s` is bound to `%s`, which is no tensor of the program",
                                        b.name.c_str(), call.label.c_str(), b.tensor.c_str()));
      if (call.tensors[t] != kUnbound)
        throw Error("LINK-BIND", format("`%s` of kernel `%s` is bound twice", b.name.c_str(), call.label.c_str()));
      call.tensors[t] = it->second;
      reshape[t] = b.reshape;
    }
    for (uint32_t t = 0; t < p.tensors.size(); ++t) {
      const Tensor &x = p.tensors[t];
      if (x.kind != TensorKind::Input && x.kind != TensorKind::Output)
        continue;
      if (call.tensors[t] == kUnbound)
        call.tensors[t] = ownTensor(x, n);
      else
        fits(call, x, call.tensors[t], reshape[t]);
    }
    flow(call, p);
    out.calls.push_back(std::move(call));
  }

  static std::string namesOf(const Program &p) {
    std::string list;
    for (const Tensor &t : p.tensors)
      if (t.kind == TensorKind::Input || t.kind == TensorKind::Output)
        list += (list.empty() ? "It has `" : ", `") + t.name + "`";
    return list.empty() ? list : list + ".";
  }

  uint32_t ownTensor(const Tensor &x, uint32_t n) {
    Tensor t = x;
    for (int k = 0; !tensorOf.try_emplace(t.name, static_cast<uint32_t>(out.tensors.size())).second; ++k)
      t.name = x.name + "_" + std::to_string(n) + (k ? "_" + std::to_string(k) : "");
    out.tensors.push_back(std::move(t));
    return static_cast<uint32_t>(out.tensors.size() - 1);
  }

  void fits(const Call &call, const Tensor &x, uint32_t bound, bool reshape) {
    Tensor &t = out.tensors[bound];
    if (t.dtype != x.dtype || (reshape ? t.elements() != x.elements() : t.shape != x.shape)) {
      const bool made = bound < writer.size() && !writer[bound].empty();
      Diagnostic d;
      d.code = "LINK-TYPE";
      d.message =
          format("`%s` of kernel `%s` is %s, and `%s` %s %s", x.name.c_str(), call.label.c_str(), typeText(x).c_str(),
                 t.name.c_str(), made ? ("as kernel `" + writer[bound] + "` writes it is").c_str() : "of the program is",
                 typeText(t).c_str());
      d.value = typeText(t);
      d.limit = typeText(x);
      d.advice = "Give the kernel what it was traced for.";
      throw Error(std::move(d));
    }
    if (x.kind == TensorKind::Output && (t.kind == TensorKind::Input || t.kind == TensorKind::Constant))
      throw Error("LINK-BIND", format("kernel `%s` writes to `%s`, which is %s of the program", call.label.c_str(),
                                      t.name.c_str(), t.kind == TensorKind::Input ? "an input" : "a constant"));
    // What a kernel relies on, the program's caller promises.
    if (x.kind == TensorKind::Input && t.kind == TensorKind::Input) {
      if (x.hasRange && t.hasRange && (t.rangeLo > x.rangeHi || t.rangeHi < x.rangeLo))
        throw Error("LINK-BIND", format("kernel `%s` relies on `%s` being %lld to %lld, and others on %lld to %lld",
                                        call.label.c_str(), t.name.c_str(), (long long)x.rangeLo, (long long)x.rangeHi,
                                        (long long)t.rangeLo, (long long)t.rangeHi));
      if (x.hasRange) {
        t.rangeLo = t.hasRange ? std::max(t.rangeLo, x.rangeLo) : x.rangeLo;
        t.rangeHi = t.hasRange ? std::min(t.rangeHi, x.rangeHi) : x.rangeHi;
        t.hasRange = true;
      }
      t.uniqueRows |= x.uniqueRows;
    }
  }

  // Inside an object its tensors are different ones; and what a call reads has been written.
  void flow(const Call &call, const Program &p) {
    writer.resize(out.tensors.size());
    std::set<uint32_t> written;
    for (uint32_t t = 0; t < p.tensors.size(); ++t)
      if (p.tensors[t].kind == TensorKind::Output && !written.insert(call.tensors[t]).second)
        throw Error("LINK-BIND", format("two outputs of kernel `%s` are bound to `%s`", call.label.c_str(),
                                        out.tensors[call.tensors[t]].name.c_str()));
    for (uint32_t t = 0; t < p.tensors.size(); ++t) {
      if (p.tensors[t].kind != TensorKind::Input)
        continue;
      const Tensor &x = out.tensors[call.tensors[t]];
      if (written.count(call.tensors[t]))
        throw Error("LINK-BIND",
                    format("kernel `%s` reads and writes `%s` under two names", call.label.c_str(), x.name.c_str()),
                    "Bind its output to another tensor.");
      if ((x.kind == TensorKind::Scratch || (x.kind == TensorKind::Output && x.from.empty())) &&
          writer[call.tensors[t]].empty())
        throw Error("LINK-ORDER",
                    format("kernel `%s` reads `%s`, which no call before it writes", call.label.c_str(), x.name.c_str()));
    }
    for (uint32_t t : written)
      writer[t] = call.label;
  }

  void tables() const {
    std::map<std::string, std::string> sets; // -> the first kernel that loads it
    for (const Object &o : out.objects)
      for (const auto &[set, where] : o.facts.tables)
        sets.emplace(set, o.facts.kernel);
    const size_t most = static_cast<size_t>(out.target->maxActivationSets);
    if (sets.size() <= most)
      return;
    Diagnostic d;
    d.code = "LINK-TABLES";
    std::string kernels;
    std::set<std::string> named;
    for (const auto &[set, kernel] : sets) {
      d.notes.push_back("`" + set + "` is brought by kernel `" + kernel + "`");
      if (named.insert(kernel).second)
        kernels += (kernels.empty() ? "`" : ", `") + kernel + "`";
    }
    d.message = format("together, kernels %s load %zu activation tables, and a program may use %zu", kernels.c_str(),
                       sets.size(), most);
    d.value = std::to_string(sets.size());
    d.limit = std::to_string(most);
    d.advice = "Use functions that share a table.";
    throw Error(std::move(d));
  }

  // One engine of core 0 issues collectives to one queue, and nothing in the object waits for them.
  static bool onlyExchanges(const Object &o) {
    const Program &p = *o.program;
    if (!p.allocations.empty() || !o.facts.semaphores.empty() || p.cores != 1)
      return false;
    for (int e = 0; e < kNumEngines; ++e) {
      const EngineFacts &f = o.facts.engines[0][e];
      const Stream &s = p.stream(0, static_cast<Engine>(e));
      if (f.size && (static_cast<Engine>(e) != Engine::GpSimd || f.completed.size() != 1 || !f.fences.empty() ||
                     !std::all_of(s.instrs.begin(), s.instrs.end(),
                                  [&](const Instr &i) { return isCollective(*p.opcodes[i.opcode]); })))
        return false;
    }
    return o.facts.engines[0][static_cast<int>(Engine::GpSimd)].size > 0;
  }

  void memory() {
    const Target &t = *out.target;
    const int64_t capacity[2] = {t.sbufBytes, t.psumBytes};
    const int64_t half[2] = {t.sbufBytes / 2 / 64 * 64, t.psumBytes / 2 / t.psumBankBytes * t.psumBankBytes};
    for (Object &o : out.objects)
      for (int s = 0; s < 2; ++s) {
        if (o.facts.bytes[s] > capacity[s])
          throw Error("LINK-MEMORY",
                      format("kernel `%s` uses %lld bytes of a partition of %s, and %s has %lld", o.facts.kernel.c_str(),
                             (long long)o.facts.bytes[s], s ? "PSUM" : "SBUF", t.name.c_str(), (long long)capacity[s]));
        o.whole |= o.facts.bytes[s] > half[s];
      }
    for (Object &o : out.objects)
      o.aside = onlyExchanges(o);
    // A loop of unknown count teaches its engines only about transfers that were over before it (L7): it starts alone.
    for (Object &o : out.objects)
      o.whole |= o.facts.unknownLoops;
  }
};

} // namespace

Composition compose(std::shared_ptr<const Target> target, std::vector<Tensor> tensors, const std::vector<LinkCall> &calls) {
  return Composer(std::move(target), std::move(tensors), calls).run();
}

} // namespace glia::link
