// Programs linked of objects written by hand: proved by the verifier, run strict under several orders, compared with what the calls
// would give one after the other.
#include "LinkObjects.h"
#include "glia/Sim/Timing.h"

#include <cmath>

using namespace glia;
using namespace glia::linktest;

TEST(Link, OneCallIsTheObject) {
  const Object twice = objectOf(apply("twice", "multiply", "2.0"));
  const Program p = linkProgram(loadTarget("trn2"), {}, {{twice, "", {}}});
  EXPECT_EQ(toBytes(p), toBytes(*twice));
  const Program named = linkProgram(loadTarget("trn2"), {tensor("in", TensorKind::Input), tensor("out", TensorKind::Output)},
                                    {{twice, "first", {{"x", "in"}, {"y", "out"}}}});
  EXPECT_EQ(named.instructionCount(), twice->instructionCount());
  expectProved(named);
  std::vector<float> x = ramp(1), want = x;
  for (float &v : want)
    v *= 2;
  EXPECT_EQ(runAll(named, {{"in", x}})["out"], want);
}

TEST(Link, ChainsOfEveryLength) {
  const Object twice = objectOf(apply("twice", "multiply", "2.0")), less = objectOf(apply("less", "subtract", "3.0"));
  for (size_t n : {2, 3, 4, 5, 40}) {
    std::vector<Object> list;
    std::vector<float> x = ramp(1), want = x;
    for (size_t i = 0; i < n; ++i) {
      list.push_back(i % 3 ? less : twice);
      for (float &v : want)
        v = i % 3 ? v - 3 : v * 2;
    }
    const Program p = chain(list);
    expectProved(p);
    EXPECT_EQ(runAll(p, {{"in", x}})["out"], want) << n;
    EXPECT_LE(p.allocations.size(), 4u); // once per object and half, however many calls
  }
}

TEST(Link, TooLargeForHalf) {
  const Object big = objectOf(apply("big", "add", "1.0", 150000)), small = objectOf(apply("small", "multiply", "2.0"));
  const Program p = chain({small, big, small, small, big, big, small});
  expectProved(p);
  std::vector<float> x = ramp(0), want = x;
  for (float &v : want)
    v = (((v * 2 + 1) * 2 * 2) + 1 + 1) * 2;
  EXPECT_EQ(runAll(p, {{"in", x}})["out"], want);
}

TEST(Link, IndependentCallsOverlap) {
  const Object twice = objectOf(apply("twice", "multiply", "2.0"));
  const Program one = linkProgram(loadTarget("trn2"), {}, {{twice, "", {}}});
  const Program p = linkProgram(loadTarget("trn2"), {}, std::vector<LinkCall>(8, LinkCall{twice, "", {}}));
  expectProved(p);
  EXPECT_GE(p.findTensor("x"), 0);
  EXPECT_GE(p.findTensor("y_7"), 0);
  // The loads of the next call start while the stores of the one before are under way.
  EXPECT_LT(simulateTime(p, {}).total, 6.2 * simulateTime(one, {}).total);
}

TEST(Link, DiamondWithTablesAndScratch) {
  const Object twice = objectOf(apply("twice", "multiply", "2.0")), less = objectOf(apply("less", "subtract", "3.0"));
  const Object add = objectOf(combine("copy", setOf("trn2", "exp")));
  std::vector<Tensor> tensors{tensor("in", TensorKind::Input), tensor("out", TensorKind::Output)};
  for (const char *n : {"l", "r", "m", "l2"})
    tensors.push_back(tensor(n, TensorKind::Scratch));
  const Program p = linkProgram(loadTarget("trn2"), tensors,
                                {{twice, "", {{"x", "in"}, {"y", "l"}}},
                                 {less, "", {{"x", "in"}, {"y", "r"}}},
                                 {add, "", {{"a", "l"}, {"b", "r"}, {"y", "m"}}},
                                 {twice, "", {{"x", "m"}, {"y", "l"}}}, // l again: written after it was read
                                 {add, "", {{"a", "l"}, {"b", "m"}, {"y", "l2"}}},
                                 {add, "", {{"a", "l2"}, {"b", "l2"}, {"y", "out"}}}});
  expectProved(p);
  std::vector<float> x = ramp(2), want = x;
  for (float &v : want) {
    const float m = v * 2 + (v - 3);
    v = 2 * (2 * m + m);
  }
  EXPECT_EQ(runAll(p, {{"in", x}})["out"], want);
  EXPECT_EQ(countOf(p, "act_table_load"), 1u);
}

TEST(Link, TablesAreLoadedOnceWhileResident) {
  const std::string s0 = setOf("trn2", "exp"), s1 = setOf("trn2", "gelu");
  ASSERT_NE(s0, s1);
  const Object e = objectOf(combine("exp", s0)), g = objectOf(combine("gelu", s1));
  auto calls = [](const std::vector<Object> &list) {
    std::vector<LinkCall> out;
    for (const Object &o : list)
      out.push_back({o, "", {}});
    return out;
  };
  const Program same = linkProgram(loadTarget("trn2"), {}, calls(std::vector<Object>(40, e)));
  expectProved(same);
  EXPECT_EQ(countOf(same, "act_table_load"), 1u);
  const Program mixed = linkProgram(loadTarget("trn2"), {}, calls({e, e, g, g, g, e}));
  expectProved(mixed);
  EXPECT_EQ(countOf(mixed, "act_table_load"), 3u);
}

TEST(Link, EveryTarget) {
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    const Object twice = objectOf(apply("twice", "multiply", "2.0"), target),
                 add = objectOf(combine("exp", setOf(target, "exp")), target);
    // GpSimd and Vector, Vector and Scalar take turns on trn1.
    auto pool = [&](const char *update) {
      return objectOf(std::string("input x : f32[128, 16]\noutput y : f32[128, 16]\nsbuf t : f32[128, 16] @ 0\n") +
                          "semaphore l\nsemaphore m\nsemaphore k\nqueue q\n"
                          "gpsimd dma_copy dst=t src=x queue=q then l += 16\n"
                          "gpsimd tensor_tensor dst=t a=t b=t op=add when l >= 16 consume then k += 1\n"
                          "gpsimd dma_copy dst=y src=t queue=q when k >= 1 consume" +
                          update + "\n",
                      target);
    };
    const Object open = pool(" then m += 16"), fixed = pool("");
    std::vector<LinkCall> calls;
    for (int i = 0; i < 12; ++i)
      calls.push_back({i % 3 == 0 ? twice : i % 3 == 1 ? add : open, "", {}});
    EXPECT_EQ(codeOf([&] { linkProgram(loadTarget(target), {}, calls); }), "LINK-SEMAPHORES") << "m is never consumed";
    for (LinkCall &c : calls)
      if (c.object == open)
        c.object = fixed;
    expectProved(linkProgram(loadTarget(target), {}, calls));
  }
}

TEST(Link, Loops) {
  // A loop of known count, one of a count that an input says, and a branch.
  const std::string head = "input x : f32[128, 16]\noutput y : f32[128, 16]\nsbuf t : f32[128, 16] @ 0\n"
                           "semaphore l\nsemaphore m\nqueue q\nsync dma_copy dst=t src=x queue=q then l += 16\n";
  const std::string tail = "vector nop then m += 1\nsync dma_copy dst=y src=t queue=q when m >= 1 consume\n";
  const Object known = objectOf(head +
                                "vector nop when l >= 16 consume\nvector loop iv=r1 count=5\n"
                                "vector tensor_scalar dst=t data=t op0=add operand0=1.0\nvector end_loop\n" +
                                tail);
  const Object asked = objectOf(
      "input n : i32[1] range 0 9\n" + head +
      "vector reg_load dst=r2 src=n when l >= 16 consume\nvector loop iv=r1 count=r2\n"
      "vector tensor_scalar dst=t data=t op0=add operand0=1.0\nvector end_loop\nvector branch cond=lt a=r2 b=3 target=over\n"
      "vector tensor_scalar dst=t data=t op0=multiply operand0=2.0\nvector over:\n" +
      tail);
  Tensor n = tensor("n", TensorKind::Input, {1});
  n.dtype = DType::I32;
  std::vector<Tensor> tensors{tensor("in", TensorKind::Input), n, tensor("out", TensorKind::Output)};
  for (const char *name : {"a", "b", "c", "d"})
    tensors.push_back(tensor(name, TensorKind::Scratch));
  const Program p = linkProgram(loadTarget("trn2"), tensors,
                                {{known, "", {{"x", "in"}, {"y", "a"}}},
                                 {asked, "", {{"x", "a"}, {"n", "n"}, {"y", "b"}}},
                                 {known, "", {{"x", "b"}, {"y", "c"}}},
                                 {asked, "", {{"x", "c"}, {"n", "n"}, {"y", "d"}}},
                                 {asked, "", {{"x", "d"}, {"n", "n"}, {"y", "out"}}}});
  expectProved(p);
  EXPECT_TRUE(p.tensors[p.findTensor("n")].hasRange);
  for (int trips : {0, 2, 7}) {
    std::vector<float> x = ramp(2), want = x;
    auto once = [trips](float v) { return trips < 3 ? v + static_cast<float>(trips) : 2 * (v + static_cast<float>(trips)); };
    for (float &v : want)
      v = once(once(once(v + 5) + 5));
    float count;
    std::memcpy(&count, &trips, 4);
    EXPECT_EQ(runAll(p, {{"in", x}, {"n", {count}}})["out"], want) << trips;
  }
}

TEST(Link, LoopsThatRepeatWhileARegisterIsNotZero) {
  const Object halving =
      objectOf("input x : f32[128, 16]\ninput n : i32[1] range 0 9\noutput y : f32[128, 16]\nsbuf t : f32[128, 16] @ 0\n"
               "semaphore l\nsemaphore m\nqueue q\nsync dma_copy dst=t src=x queue=q then l += 16\n"
               "vector reg_load dst=r2 src=n when l >= 16 consume\nvector while cond=r2\n"
               "vector tensor_scalar dst=t data=t op0=multiply operand0=0.5\nvector reg_alu dst=r2 a=r2 b=1 "
               "op=subtract\nvector end_loop\n"
               "vector nop then m += 1\nsync dma_copy dst=y src=t queue=q when m >= 1 consume\n");
  ASSERT_EQ(firstOf(verify(*halving)), "");
  Tensor n = tensor("n", TensorKind::Input, {1});
  n.dtype = DType::I32;
  const Program p = linkProgram(
      loadTarget("trn2"),
      {tensor("in", TensorKind::Input), n, tensor("mid", TensorKind::Scratch), tensor("out", TensorKind::Output)},
      {{halving, "", {{"x", "in"}, {"n", "n"}, {"y", "mid"}}}, {halving, "", {{"x", "mid"}, {"n", "n"}, {"y", "out"}}}});
  expectProved(p);
  for (int trips : {0, 3}) {
    std::vector<float> x = ramp(2), want = x;
    for (float &v : want)
      v = std::ldexp(v, -2 * trips);
    float count;
    std::memcpy(&count, &trips, 4);
    EXPECT_EQ(runAll(p, {{"in", x}, {"n", {count}}})["out"], want) << trips;
  }
}

TEST(Link, TransfersInLoopsThatNobodyWaitsFor) {
  const Object copy =
      objectOf("input x : f32[128, 16]\noutput y : f32[128, 16]\nqueue q\nsync loop iv=r1 count=4\n"
               "sync dma_copy dst=y[0:32] + r1*2048 src=x[0:32] + r1*2048 queue=q dge=hwdge\nsync end_loop\n");
  const VerifyResult r = verify(*copy);
  ASSERT_TRUE(r.ok()) << firstOf(r);
  const Program p = chain({copy, copy, copy, copy});
  expectProved(p);
  EXPECT_EQ(runAll(p, {{"in", ramp(5)}})["out"], ramp(5));
}

TEST(Link, Refusals) {
  const Object twice = objectOf(apply("twice", "multiply", "2.0"));
  std::string text;
  auto link = [&](std::vector<Tensor> tensors, std::vector<LinkCall> calls) {
    text.clear();
    return codeOf([&] { linkProgram(loadTarget("trn2"), tensors, calls); }, &text);
  };
  EXPECT_EQ(link({}, {}), "LINK-EMPTY");
  EXPECT_EQ(link({}, {{nullptr, "", {}}}), "LINK-BIND");
  const std::vector<Tensor> some{tensor("in", TensorKind::Input), tensor("mid", TensorKind::Scratch),
                                 tensor("wide", TensorKind::Scratch, {128, 32})};
  EXPECT_EQ(link(some, {{twice, "", {{"z", "in"}}}}), "LINK-BIND");
  EXPECT_EQ(link(some, {{twice, "", {{"x", "nothing"}}}}), "LINK-BIND");
  EXPECT_EQ(link(some, {{twice, "", {{"y", "in"}}}}), "LINK-BIND") << "an input is not written";
  EXPECT_EQ(link(some, {{twice, "", {{"x", "mid"}}}}), "LINK-ORDER");
  EXPECT_EQ(link(some, {{twice, "", {{"y", "mid"}}}, {twice, "", {{"x", "mid"}, {"y", "mid"}}}}), "LINK-BIND");
  const Object wide = objectOf("input x : f32[128, 32]\noutput y : f32[128, 32]\nqueue q\n"
                               ".loc \"wide\" \"copy\" \"wide.py\" 4\nsync dma_copy dst=y src=x queue=q\n");
  EXPECT_EQ(link(some, {{twice, "", {{"y", "mid"}}}, {wide, "", {{"x", "mid"}}}}), "LINK-TYPE");
  EXPECT_NE(text.find("`twice`"), std::string::npos) << text;
  EXPECT_NE(text.find("`wide`"), std::string::npos) << text;
  // More tables than a program may use.
  const Target &t = *loadTarget("trn2");
  std::vector<LinkCall> calls;
  for (const ActivationSet &s : t.activationSets)
    calls.push_back(
        {objectOf(".loc \"uses_" + s.name + "\" \"load\" \"k.py\" 1\nscalar act_table_load set=\"" + s.name + "\"\n"),
         "",
         {}});
  ASSERT_GT(calls.size(), 8u);
  EXPECT_EQ(link({}, calls), "LINK-TABLES");
  EXPECT_NE(text.find("`uses_" + t.activationSets[3].name + "`"), std::string::npos) << text;
  // A contract that is not true.
  Program changed = *twice;
  changed.contract = {{"kernel", "twice"}, {"target", "trn2"}, {"core0.sbuf", "0..4"}};
  EXPECT_EQ(link({}, {{std::make_shared<Program>(changed), "", {}}}), "LINK-CONTRACT");
}

TEST(Link, AnotherTargetIsRefused) {
  const Object two = objectOf(
      "cores 2\n.loc \"pair\" \"meet\" \"pair.py\" 8\nsync core_barrier name=\"b\"\ncore1 sync core_barrier name=\"b\"\n");
  std::string text;
  EXPECT_EQ(codeOf([&] { linkProgram(loadTarget("trn1"), {}, {{two, "", {}}}); }, &text), "LINK-TARGET");
  for (const char *part : {"`pair`", "core_barrier at pair.py:8", "trn2", "trn1", "lnc2"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

// ---- two cores --------------------------------------------------------------------------------------------------------------------

namespace {

// Each core scales half of the rows; the halves are exchanged so that every core has seen all of it, and written as [mine + other].
std::string pair(const char *extra = "") {
  std::string text = "cores 2\ninput x : f32[128, 16]\noutput y : f32[128, 16]\nscratch keep : f32[128, 16]\n";
  text += ".loc \"pair\" \"exchange\" \"pair.py\" 5\n";
  for (int c = 0; c < 2; ++c) {
    const std::string core = c ? " core 1\n" : "\n", on = c ? "core1 " : "";
    const std::string rows = c ? "[64:128]" : "[0:64]", other = c ? "[0:64]" : "[64:128]";
    text += "sbuf m : f32[64, 16] @ 0" + core + "sbuf o : f32[64, 16] @ 0:64" + core;
    for (const char *s : {"l", "a", "r", "k", "w", "d"})
      text += std::string("semaphore ") + s + core;
    text += "queue q" + core;
    text += on + "sync dma_copy dst=m src=x" + rows + " queue=q then l += 16\n";
    text += on + "vector tensor_scalar dst=m data=m op0=multiply operand0=2.0 when l >= 16 consume then a += 1\n";
    text += on + "sync sendrecv dst=o src=m when a >= 1 consume then r += 16\n";
    text += on + "vector tensor_tensor dst=m a=m b=o op=add when r >= 16 consume then k += 1\n";
    text += on + "sync dma_copy dst=keep" + rows + " src=m queue=q when k >= 1 consume then w += 16\n";
    text += on + "sync core_barrier name=\"kept\" when w >= 16 consume\n";
    text += on + "sync dma_copy dst=y" + rows + " src=keep" + other + " queue=q\n";
    text += extra;
  }
  return text;
}

std::vector<float> pairOf(const std::vector<float> &x) {
  std::vector<float> y(x.size());
  const size_t half = x.size() / 2;
  for (size_t i = 0; i < half; ++i)
    y[i] = y[i + half] = 2 * x[i] + 2 * x[i + half];
  return y;
}

} // namespace

TEST(LinkTwoCores, SendrecvAnyNumberOfTimes) {
  const Object both = objectOf(pair());
  ASSERT_EQ(firstOf(verify(*both)), "");
  for (size_t n : {1, 2, 3, 4, 40}) {
    const Program p = chain(std::vector<Object>(n, both));
    expectProved(p);
    std::vector<float> x = ramp(1), want = x;
    for (float &v : x)
      v *= 0x1p-40f;
    want = x;
    for (size_t i = 0; i < n; ++i)
      want = pairOf(want);
    EXPECT_EQ(runAll(p, {{"in", x}})["out"], want) << n;
  }
}

TEST(LinkTwoCores, BarriersHaveOneNameOnBothCores) {
  const Program p = chain(std::vector<Object>(5, objectOf(pair())));
  std::vector<std::string> names[2];
  for (int c = 0; c < 2; ++c) {
    const Stream &s = p.stream(c, Engine::Sync);
    for (const Instr &i : s.instrs)
      if (p.opcodes[i.opcode]->name == "core_barrier")
        names[c].push_back(p.strings[s.words[i.words]]);
  }
  EXPECT_EQ(names[0], names[1]);
  EXPECT_GE(names[0].size(), 5u);
}

TEST(LinkTwoCores, OneCoreAndTwoCoresMixed) {
  const Object both = objectOf(pair()), twice = objectOf(apply("twice", "multiply", "2.0"));
  const Program p = chain({twice, both, twice, twice, both, both, twice});
  expectProved(p);
  std::vector<float> x = ramp(1), want = x;
  auto scale = [&] {
    for (float &v : want)
      v *= 2;
  };
  scale(), want = pairOf(want), scale(), scale(), want = pairOf(pairOf(want)), scale();
  EXPECT_EQ(runAll(p, {{"in", x}})["out"], want);
}

// Each core works on its own rows only: no core waits for the other.
TEST(LinkTwoCores, NoBarrierWhereNoDataCross) {
  std::string text = "cores 2\ninput x : f32[128, 16]\noutput y : f32[128, 16]\n";
  for (int c = 0; c < 2; ++c) {
    const std::string core = c ? " core 1\n" : "\n", on = c ? "core1 " : "", rows = c ? "[64:128]" : "[0:64]";
    text += "sbuf m : f32[64, 16] @ 0" + core + "semaphore l" + core + "semaphore a" + core + "queue q" + core + on +
            "sync dma_copy dst=m src=x" + rows + " queue=q then l += 16\n" + on +
            "vector tensor_scalar dst=m data=m op0=add operand0=1.0 when l >= 16 consume then a += 1\n" + on +
            "sync dma_copy dst=y" + rows + " src=m queue=q when a >= 1 consume\n";
  }
  const Program p = chain(std::vector<Object>(6, objectOf(text)));
  expectProved(p);
  EXPECT_EQ(countOf(p, "core_barrier"), 0u);
  std::vector<float> x = ramp(1), want = x;
  for (float &v : want)
    v += 6;
  EXPECT_EQ(runAll(p, {{"in", x}})["out"], want);
}

// Objects that need the same resources for different things: pipes and queues of other engines, other semaphores.
TEST(LinkTwoCores, PipesAndQueuesOfOtherEngines) {
  const Object both = objectOf(pair());
  std::string moved = pair();
  for (size_t at; (at = moved.find("sync sendrecv")) != std::string::npos;)
    moved.replace(at, 13, "scalar sendrecv");
  for (size_t at; (at = moved.find("\"pair\"")) != std::string::npos;)
    moved.replace(at, 6, "\"moved\"");
  const Program p = chain({both, objectOf(moved), both, objectOf(moved)});
  expectProved(p);
  std::vector<float> x = ramp(1);
  EXPECT_EQ(runAll(p, {{"in", x}})["out"], pairOf(pairOf(pairOf(pairOf(x)))));
}

// ---- size -------------------------------------------------------------------------------------------------------------------------

TEST(Link, ManyCalls) {
  const Object twice = objectOf(apply("twice", "multiply", "1.0")), less = objectOf(apply("less", "subtract", "1.0"));
  std::vector<Object> list;
  for (int i = 0; i < 2000; ++i)
    list.push_back(i % 2 ? less : twice);
  const Program p = chain(list);
  const VerifyResult r = verify(p);
  EXPECT_TRUE(r.ok()) << firstOf(r);
  EXPECT_LE(p.semaphores.size(), 12u);
}

// More semaphores of different kinds than a core has: objects take turns before the program is refused.
TEST(Link, SemaphoresRunOut) {
  auto many = [](const std::string &name, const std::string &engine, int n) {
    std::string text = ".loc \"" + name +
                       "\" \"load\" \"many.py\" 2\ninput x : f32[128, 16]\noutput y : f32[128, 16]\nsbuf t : f32[128, 16] @ "
                       "0\nqueue q\nsemaphore made\n";
    for (int i = 0; i < n; ++i)
      text += "semaphore s" + std::to_string(i) + "\n";
    for (int i = 0; i < n; ++i)
      text += "sync dma_copy dst=t src=x queue=q then s" + std::to_string(i) + " += 16\n" + engine + " nop when s" +
              std::to_string(i) + " >= 16 consume then made += 1\nsync nop when made >= 1 consume\n";
    return text + "sync dma_copy dst=y src=t queue=q\n";
  };
  const Program p = chain({objectOf(many("a", "vector", 60)), objectOf(many("b", "scalar", 70)),
                           objectOf(many("c", "tensor", 60)), objectOf(many("a", "vector", 50))});
  expectProved(p);
  EXPECT_EQ(runAll(p, {{"in", ramp(3)}})["out"], ramp(3));
  std::string text;
  EXPECT_EQ(codeOf([&] { chain({objectOf(many("a", "vector", 150)), objectOf(many("b", "scalar", 160))}); }, &text),
            "LINK-SEMAPHORES");
  EXPECT_NE(text.find("`a`"), std::string::npos) << text;
  EXPECT_NE(text.find("`b`"), std::string::npos) << text;
}
