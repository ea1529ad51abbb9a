// Objects for the tests of the linker, and what is asked of every linked program.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Link/Link.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>

namespace glia::linktest {

using Object = std::shared_ptr<const Program>;
using Arrays = std::map<std::string, std::vector<float>>;

inline Object objectOf(const std::string &text, const char *target = "trn2") {
  return std::make_shared<Program>(assemble(text, "test.gasm", loadTarget(target)));
}

inline std::string setOf(const char *target, const char *function) {
  const auto t = loadTarget(target);
  return t->activationSets[t->activationSet(function)].name;
}

// y = op(x, number) on 128 x 16; its tile begins at `byte`, so that it can be made too large for a half.
inline std::string apply(const std::string &name, const std::string &op, const std::string &number, int byte = 0) {
  return ".loc \"" + name + "\" \"" + op + "\" \"" + name + ".py\" 3\n" +
         "input x : f32[128, 16]\noutput y : f32[128, 16]\nsbuf t : f32[128, 16] @ 0:" + std::to_string(byte) +
         "\nsemaphore loaded\nsemaphore made\nqueue q\nsync dma_copy dst=t src=x queue=q then loaded += 16\n"
         "vector tensor_scalar dst=t data=t op0=" +
         op + " operand0=" + number +
         " when loaded >= 16 consume then made += 1\nsync dma_copy dst=y src=t queue=q when made >= 1 consume\n";
}

// y = f(a + b), through PSUM and a tensor of its own in HBM; `set` is the activation table.
inline std::string combine(const std::string &fn, const std::string &set) {
  return ".loc \"combine_" + fn + "\" \"add\" \"combine.py\" 9\n" +
         "input a : f32[128, 16]\ninput b : f32[128, 16]\noutput y : f32[128, 16]\nscratch keep : f32[128, 16]\n"
         "sbuf ta : f32[128, 16] @ 0\nsbuf tb : f32[128, 16] @ 0:64\nsbuf tc : f32[128, 16] @ 0:128\npsum acc : f32[128, "
         "16] @ 0\n"
         "semaphore la\nsemaphore lb\nsemaphore added\nsemaphore saved\nsemaphore done\nqueue q0\nqueue q1\n"
         "sync dma_copy dst=ta src=a queue=q0 then la += 16\nscalar dma_copy dst=tb src=b queue=q1 then lb += 16\n"
         "scalar act_table_load set=\"" +
         set +
         "\"\nvector nop when la >= 16 consume\n"
         "vector tensor_tensor dst=acc a=ta b=tb op=add when lb >= 16 consume then added += 1\nscalar activation dst=tc "
         "data=acc fn=" +
         fn +
         " when added >= 1 consume then done += 1\n"
         "sync dma_copy dst=keep src=tc queue=q0 when done >= 1 consume then saved += 16\n"
         "sync dma_copy dst=y src=keep queue=q0 when saved >= 16 consume\n";
}

inline Tensor tensor(const std::string &name, TensorKind kind, std::vector<int64_t> shape = {128, 16}) {
  Tensor t;
  t.name = name;
  t.kind = kind;
  t.shape = std::move(shape);
  return t;
}

inline std::string firstOf(const VerifyResult &r) { return r.ok() ? "" : render(r.diagnostics.front()); }

inline void expectProved(const Program &p) {
  const VerifyResult r = verify(p);
  ASSERT_TRUE(r.ok()) << firstOf(r);
  const std::vector<std::byte> bytes = toBytes(p); // it survives its own file
  EXPECT_EQ(toBytes(loadBytes(bytes)), bytes);
}

inline std::vector<float> ramp(float start) {
  std::vector<float> v(128 * 16);
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = start + static_cast<float>(i % 97) * 0.25f;
  return v;
}

// The outputs, which are the same in fast mode and strict in several orders.
inline Arrays runAll(const Program &p, const Arrays &inputs) {
  TensorData in;
  for (const auto &[name, v] : inputs) {
    in[name].resize(v.size() * 4);
    std::memcpy(in[name].data(), v.data(), v.size() * 4);
  }
  Arrays first;
  for (uint64_t seed : {0, 1, 2, 3}) {
    RunOptions options;
    options.strict = seed > 0;
    options.seed = seed;
    const RunResult r = glia::run(p, in, options);
    EXPECT_FALSE(r.fault) << render(*r.fault);
    EXPECT_FALSE(r.trap);
    Arrays out;
    for (const auto &[name, bytes] : r.outputs) {
      out[name].resize(bytes.size() / 4);
      std::memcpy(out[name].data(), bytes.data(), bytes.size());
    }
    if (seed == 0)
      first = out;
    else
      EXPECT_EQ(first, out) << "seed " << seed;
  }
  return first;
}

inline size_t countOf(const Program &p, std::string_view name) {
  size_t n = 0;
  for (const auto &core : p.streams)
    for (const Stream &s : core)
      for (const Instr &i : s.instrs)
        n += p.opcodes[i.opcode]->name == name;
  return n;
}

inline std::string codeOf(const std::function<void()> &f, std::string *text = nullptr) {
  try {
    f();
  } catch (const Error &e) {
    if (text)
      *text = render(e.diagnostics().front());
    return e.diagnostics().front().code;
  }
  return "";
}

// A chain of calls over the given objects: in -> t0 -> t1 ... -> out.
inline Program chain(const std::vector<Object> &objects, const char *target = "trn2") {
  std::vector<Tensor> tensors{tensor("in", TensorKind::Input), tensor("out", TensorKind::Output)};
  std::vector<LinkCall> calls;
  std::string last = "in";
  for (size_t i = 0; i < objects.size(); ++i) {
    const bool end = i + 1 == objects.size();
    const std::string next = end ? "out" : "t" + std::to_string(i);
    if (!end)
      tensors.push_back(tensor(next, TensorKind::Scratch));
    calls.push_back({objects[i], kernelName(*objects[i]) + "#" + std::to_string(i), {{"x", last}, {"y", next}}});
    last = next;
  }
  return linkProgram(loadTarget(target), tensors, calls);
}

} // namespace glia::linktest
