// For tests of the graph compiler: the same graph on the machine and in the reference interpreter, bit for bit.
#pragma once
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace glia {

inline HostTensor floats(const std::vector<float> &x, std::vector<int64_t> shape = {}) {
  HostTensor out{Element::F32, shape.empty() ? std::vector<int64_t>{static_cast<int64_t>(x.size())} : std::move(shape), {}};
  out.bytes.resize(x.size() * 4);
  std::memcpy(out.bytes.data(), x.data(), out.bytes.size());
  return out;
}

// All kinds of bits, large and small.
inline HostTensor integers(Element element, std::vector<int64_t> shape, size_t n) {
  HostTensor out{element, std::move(shape), {}};
  const size_t size = info(element).bytes;
  out.bytes.resize(n * size);
  uint64_t seed = 88172645463325252u;
  for (size_t i = 0; i < n; ++i) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    const uint64_t value = element == Element::Pred ? seed & 1 : seed >> (i % 4 * 14);
    std::memcpy(&out.bytes[i * size], &value, size);
  }
  return out;
}

// Elements are equal if their bits are, or both are NaN. Gives the number of groups.
inline size_t compareRuns(const std::string &text, const std::vector<HostTensor> &arguments, const char *target) {
  using Bytes = std::vector<std::byte>;
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  GraphOptions options;
  options.target = target;
  CompiledGraph c;
  try {
    c = compileGraph(*g.module, options);
  } catch (const Error &e) {
    ADD_FAILURE() << e.what() << "\n" << text;
    return 0;
  }
  const VerifyResult v = verify(c.program);
  EXPECT_TRUE(v.ok()) << render(v.diagnostics[0]);
  TensorData data;
  for (size_t i = 0; i < arguments.size(); ++i)
    data["arg" + std::to_string(i)] = arguments[i].bytes;
  const RunResult r = run(c.program, data);
  EXPECT_TRUE(r.ok());
  const std::vector<HostTensor> want = interpret(*g.module, "main", arguments);
  const auto word = [](const Bytes &from, Element element, size_t i) {
    const size_t size = info(element).bytes;
    Word w = 0;
    if (i * size < from.size())
      decode(element, &from[i * size], &w, 1);
    return w;
  };
  for (size_t i = 0; i < want.size(); ++i) {
    const Bytes &got = r.outputs.at("result" + std::to_string(i));
    EXPECT_EQ(got.size(), want[i].bytes.size());
    const Element e = want[i].element;
    const size_t size = info(e).bytes;
    const auto shown = [&](Word w) {
      return isFloat(e) ? std::to_string(std::bit_cast<double>(w)) : std::to_string(static_cast<int64_t>(w));
    };
    size_t wrong = 0;
    for (size_t k = 0; k * size < got.size(); ++k) {
      const Word a = word(got, e, k), b = word(want[i].bytes, e, k);
      const bool nan = isFloat(e) && std::isnan(std::bit_cast<double>(a)) && std::isnan(std::bit_cast<double>(b));
      if (a == b || nan || ++wrong >= 4)
        continue;
      std::string operands;
      for (const HostTensor &t : arguments)
        operands += " " + (isFloat(t.element) ? std::to_string(std::bit_cast<double>(word(t.bytes, t.element, k)))
                                              : std::to_string(static_cast<int64_t>(word(t.bytes, t.element, k))));
      ADD_FAILURE() << target << " result " << i << " element " << k << " of" << operands << ": " << shown(a) << ", not "
                    << shown(b) << "\n"
                    << text;
    }
  }
  return c.groups;
}

} // namespace glia
