// For tests of emitters: a graph, compiled for every target, equals the reference interpreter group by group.
#pragma once
#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Support/Diagnostic.h"

#include <gtest/gtest.h>

namespace glia {

// The whole of what is wrong, empty if nothing is.
inline std::string differences(const std::string &text, const std::string &target, std::vector<HostTensor> inputs,
                               GraphCheck *report = nullptr, int cores = 1) {
  try {
    graph::Graph g = graph::parseGraph(text, "test.mlir");
    GraphOptions options;
    options.target = target;
    options.cores = cores;
    const GraphCheck check = checkGraph(*g.module, std::move(inputs), options);
    if (report)
      *report = check;
    std::string out;
    for (const Diagnostic &d : check.wrong)
      out += render(d) + "\n";
    return out;
  } catch (const Error &e) {
    return e.what();
  }
}

// How many groups a graph has, which is right.
inline size_t groupsOf(const std::string &text) {
  GraphCheck report;
  EXPECT_EQ(differences(text, "trn1", randomInputs(graph::parseGraph(text, "test.mlir").main(), 2), &report), "");
  return report.groups;
}

// NaN in row 3 and infinity in row 131 of the first input, which has rows of bf16, stay where they belong, on every target.
inline void expectRightNotFinite(const std::string &text, size_t columns) {
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 5);
    auto *bits = reinterpret_cast<uint16_t *>(inputs[0].bytes.data());
    bits[3 * columns + 7] = 0x7FC1;
    bits[131 * columns + 1] = 0x7F80;
    EXPECT_EQ(differences(text, target, inputs), "") << target;
  }
}

// On every target, on random inputs.
inline void expectRight(const std::string &text, uint64_t seed = 1) {
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    std::vector<HostTensor> inputs;
    try {
      inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), seed);
    } catch (const Error &e) {
      FAIL() << e.what();
    }
    EXPECT_EQ(differences(text, target, inputs), "") << target;
  }
}

} // namespace glia
