// The plugin as a framework uses it: through its table alone.
#include "../../lib/Door/Pjrt/Calls.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

using namespace glia::pjrt;

namespace {

const Api &table() { return *api(); }

std::string messageOf(const Failure *f) {
  ErrorMessageArgs m{};
  m.error = f;
  table().ErrorMessage(&m);
  return {m.message, m.messageSize};
}

// What a call says; empty if it is done.
std::string said(Failure *f) {
  if (!f)
    return "";
  std::string out = messageOf(f);
  ErrorDestroyArgs d{};
  d.error = f;
  table().ErrorDestroy(&d);
  return out;
}

#define DONE(call) ASSERT_EQ(said(call), "")

// A platform with two devices.
class Pjrt : public testing::Test {
protected:
  Client *client = nullptr;
  Device *const *devices = nullptr;
  std::vector<Buffer *> buffers;
  std::vector<LoadedExecutable *> executables;

  void SetUp() override {
    setenv("XDG_STATE_HOME", testing::TempDir().c_str(), 1); // not the user's
    setenv("GLIA_DEVICES", "2", 1);
    ClientCreateArgs a{};
    DONE(table().ClientCreate(&a));
    unsetenv("GLIA_DEVICES");
    client = a.client;
    ClientDevicesArgs d{};
    d.client = client;
    DONE(table().ClientDevices(&d));
    ASSERT_EQ(d.numDevices, 2u);
    devices = d.devices;
  }
  // A buffer on the first device whose elements come later.
  struct Promised {
    TransferManager *manager = nullptr;
    Buffer *buffer = nullptr;
  };
  void promise(const std::vector<int64_t> &dims, Promised &out) {
    ShapeSpec shape{};
    shape.dims = dims.data(), shape.numDims = dims.size(), shape.type = ElementType::F32;
    DeviceDefaultMemoryArgs m{};
    m.device = devices[0];
    DONE(table().DeviceDefaultMemory(&m));
    ClientCreateBuffersForAsyncHostToDeviceArgs c{};
    c.client = client;
    c.shapes = &shape, c.numShapes = 1;
    c.memory = m.memory;
    DONE(table().ClientCreateBuffersForAsyncHostToDevice(&c));
    TransferManagerRetrieveBufferArgs r{};
    r.manager = c.manager;
    DONE(table().TransferManagerRetrieveBuffer(&r));
    buffers.push_back(r.buffer);
    out = {c.manager, r.buffer};
  }
  void TearDown() override {
    for (Buffer *b : buffers) {
      BufferDestroyArgs a{};
      a.buffer = b;
      EXPECT_EQ(said(table().BufferDestroy(&a)), "");
    }
    for (LoadedExecutable *e : executables) {
      LoadedExecutableDestroyArgs a{};
      a.loaded = e;
      EXPECT_EQ(said(table().LoadedExecutableDestroy(&a)), "");
    }
    ClientDestroyArgs a{};
    a.client = client;
    EXPECT_EQ(said(table().ClientDestroy(&a)), "");
  }

  std::string compile(const std::string &text, LoadedExecutable *&out, const std::string &options = "") {
    ModuleCode program{};
    std::string code = text;
    program.code = code.data(), program.codeSize = code.size();
    program.format = "mlir", program.formatSize = 4;
    ClientCompileArgs a{};
    a.client = client;
    a.program = &program;
    a.options = options.data(), a.optionsSize = options.size();
    std::string wrong = said(table().ClientCompile(&a));
    out = a.executable;
    if (wrong.empty())
      executables.push_back(out);
    return wrong;
  }

  Buffer *put(const std::vector<float> &data, std::vector<int64_t> dims, std::vector<int64_t> strides = {}, int device = 0) {
    ClientBufferFromHostBufferArgs a{};
    a.client = client;
    a.data = data.data();
    a.type = ElementType::F32;
    a.dims = dims.data(), a.numDims = dims.size();
    a.byteStrides = strides.data(), a.numByteStrides = strides.size();
    a.device = devices[device];
    EXPECT_EQ(said(table().ClientBufferFromHostBuffer(&a)), "");
    await(a.doneWithHostBuffer);
    buffers.push_back(a.buffer);
    return a.buffer;
  }

  std::string await(Event *e) {
    EventAwaitArgs a{};
    a.event = e;
    std::string out = said(table().EventAwait(&a));
    EventDestroyArgs d{};
    d.event = e;
    EXPECT_EQ(said(table().EventDestroy(&d)), "");
    return out;
  }

  std::vector<float> get(Buffer *b, const MemoryLayout *layout = nullptr) {
    BufferToHostBufferArgs a{};
    a.buffer = b;
    EXPECT_EQ(said(table().BufferToHostBuffer(&a)), ""); // the size
    std::vector<float> out(a.size / sizeof(float));
    float nothing;
    a.data = out.empty() ? &nothing : out.data(); // null asks for the size
    a.layout = const_cast<MemoryLayout *>(layout);
    const std::string wrong = said(table().BufferToHostBuffer(&a));
    EXPECT_EQ(wrong, "");
    if (wrong.empty())
      EXPECT_EQ(await(a.event), "");
    return out;
  }

  std::string run(LoadedExecutable *e, const std::vector<Buffer *> &arguments, std::vector<Buffer *> &results,
                  Device *device = nullptr) {
    Buffer *const *lists[] = {arguments.data()};
    Buffer **outs[] = {results.data()};
    Event *done[] = {nullptr};
    ExecuteOptions options{};
    LoadedExecutableExecuteArgs a{};
    a.loaded = e;
    a.device = device;
    a.options = &options;
    a.arguments = lists;
    a.numDevices = 1, a.numArguments = arguments.size();
    a.outputs = outs;
    a.completions = done;
    if (std::string wrong = said(table().LoadedExecutableExecute(&a)); !wrong.empty())
      return wrong;
    buffers.insert(buffers.end(), results.begin(), results.end());
    return await(done[0]);
  }

  uintptr_t pointer(Buffer *b) {
    BufferUnsafePointerArgs a{};
    a.buffer = b;
    EXPECT_EQ(said(table().BufferUnsafePointer(&a)), "");
    return a.pointer;
  }

  bool isDeleted(Buffer *b) {
    BufferIsDeletedArgs a{};
    a.buffer = b;
    EXPECT_EQ(said(table().BufferIsDeleted(&a)), "");
    return a.isDeleted;
  }
};

constexpr const char *kSum = R"(
module @sum {
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<0xf32>) {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  %1 = stablehlo.constant dense<> : tensor<0xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<0xf32>
}
})";

TEST_F(Pjrt, RunsAProgram) {
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e), "");
  std::vector<Buffer *> out(2);
  Buffer *a = put({1, 2, 3, 4, 5, 6}, {2, 3});
  ASSERT_EQ(run(e, {a, a}, out), "");
  EXPECT_EQ(get(out[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_TRUE(get(out[1]).empty());
  EXPECT_FALSE(isDeleted(a));
  EXPECT_NE(run(e, {a}, out).find("PJRT-ARGUMENT"), std::string::npos);
  EXPECT_NE(run(e, {a, put({1}, {1})}, out).find("PJRT-ARGUMENT"), std::string::npos);
  EXPECT_NE(run(e, {a, put({1, 2, 3, 4, 5, 6}, {2, 3}, {}, 1)}, out).find("PJRT-ARGUMENT"), std::string::npos);
}

TEST_F(Pjrt, ArraysHaveAnyStrides) {
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(get(put(data, {3, 2}, {4, 12})), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(get(put(data, {2, 2}, {0, 4})), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ(get(put(data, {0, 3}, {12, 4})), std::vector<float>());
  EXPECT_EQ(get(put({7}, {})), std::vector<float>{7});
  const int64_t order[] = {0, 1};
  MemoryLayout columns{};
  columns.type = LayoutType::Tiled;
  columns.tiled.minorToMajor = order, columns.tiled.minorToMajorSize = 2;
  EXPECT_EQ(get(put(data, {2, 3}), &columns), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Pjrt, DonatedArgumentsAreGone) {
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(R"(
func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.subtract %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
})",
                    e),
            "");
  std::vector<Buffer *> out(1);
  Buffer *a = put({5, 6, 7, 8}, {4}), *b = put({1, 1, 2, 2}, {4});
  EXPECT_NE(run(e, {a, a}, out).find("a second time"), std::string::npos);
  const uintptr_t place = pointer(a);
  ASSERT_EQ(run(e, {a, b}, out), "");
  EXPECT_EQ(get(out[0]), (std::vector<float>{4, 5, 5, 6}));
  EXPECT_EQ(pointer(out[0]), place); // no second memory
  EXPECT_TRUE(isDeleted(a));
  EXPECT_FALSE(isDeleted(b));
  EXPECT_NE(run(e, {a, b}, out).find("PJRT-DELETED"), std::string::npos);
}

TEST_F(Pjrt, FailuresReachWhatDependsOnThem) {
  Promised p;
  promise({2, 3}, p);

  // Calls that wait for the argument; each call returns at once.
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e), "");
  Buffer *const first[] = {p.buffer, p.buffer};
  Buffer *outs[2], *more[2];
  Buffer **firstOut[] = {outs}, **secondOut[] = {more};
  Buffer *const *firstIn[] = {first};
  ExecuteOptions options{};
  LoadedExecutableExecuteArgs a{};
  a.loaded = e;
  a.options = &options;
  a.arguments = firstIn, a.outputs = firstOut;
  a.numDevices = 1, a.numArguments = 2;
  DONE(table().LoadedExecutableExecute(&a));
  Buffer *const second[] = {outs[0], outs[0]};
  Buffer *const *secondIn[] = {second};
  a.arguments = secondIn, a.outputs = secondOut;
  DONE(table().LoadedExecutableExecute(&a));
  buffers.insert(buffers.end(), {outs[0], outs[1], more[0], more[1]});
  DeviceMemoryStatsArgs memory{};
  memory.device = devices[0];
  DONE(table().DeviceMemoryStats(&memory));
  EXPECT_EQ(memory.bytesInUse, 24); // the argument's: results have no memory before they are computed
  BufferReadyEventArgs ready{};
  ready.buffer = more[0];
  DONE(table().BufferReadyEvent(&ready));
  EventIsReadyArgs is{};
  is.event = ready.event;
  DONE(table().EventIsReady(&is));
  EXPECT_FALSE(is.isReady);
  std::promise<std::string> heard;
  EventOnReadyArgs on{};
  on.event = ready.event;
  on.argument = &heard;
  on.callback = [](Failure *f, void *argument) { static_cast<std::promise<std::string> *>(argument)->set_value(said(f)); };
  DONE(table().EventOnReady(&on));

  TransferManagerDestroyArgs d{}; // the argument never comes
  d.manager = p.manager;
  DONE(table().TransferManagerDestroy(&d));
  const std::string wrong = await(ready.event);
  EXPECT_NE(wrong.find("PJRT-TRANSFER"), std::string::npos) << wrong;
  EXPECT_EQ(heard.get_future().get(), wrong);
}

TEST_F(Pjrt, RefusalsSayWhatAndWhere) {
  LoadedExecutable *e = nullptr;
  EXPECT_NE(compile("func.func @main() {", e).find("GRAPH-SYNTAX"), std::string::npos);
  const std::string wrong = compile(R"(
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.custom_call @nobodys(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
})",
                                    e);
  EXPECT_NE(wrong.find("GRAPH-UNSUPPORTED"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("help:"), std::string::npos) << wrong;
  // CompileOptionsProto {executable_build_options {num_replicas: 1 num_partitions: 200}}: more than there are devices
  EXPECT_NE(compile(kSum, e, "\x1a\x05\x20\x01\x28\xc8\x01").find("PJRT-DEVICE"), std::string::npos);
  EXPECT_NE(compile(kSum, e, "\x1a\x09\x20").find("PJRT-OPTIONS"), std::string::npos); // cut off
}

TEST_F(Pjrt, TheDeviceOfAnExecutableIsThatOfItsOptions) {
  // {executable_build_options {device_assignment {computation_devices {replica_device_ids: 1}}}}
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e, "\x1a\x07\x4a\x05\x1a\x03\x0a\x01\x01"), "");
  LoadedExecutableAddressableDevicesArgs a{};
  a.loaded = e;
  DONE(table().LoadedExecutableAddressableDevices(&a));
  ASSERT_EQ(a.numDevices, 1u);
  EXPECT_EQ(a.devices[0], devices[1]);
  EXPECT_NE(compile(kSum, e, "\x1a\x07\x4a\x05\x1a\x03\x0a\x01\x09").find("there is no device 9"), std::string::npos);
}

// torch_xla compiles for all devices, and calls one.
TEST_F(Pjrt, RanksThatExchangeNothingRunOneByOne) {
  const char *two = "\x1a\x02\x20\x02"; // CompileOptionsProto {executable_build_options {num_replicas: 2}}
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e, two), "");
  for (int d = 0; d < 2; ++d) {
    std::vector<Buffer *> out(2);
    Buffer *a = put({1, 2, 3, 4, 5, 6}, {2, 3}, {}, d);
    ASSERT_EQ(run(e, {a, a}, out, devices[d]), "");
    EXPECT_EQ(get(out[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  }
  LoadedExecutableGetExecutableArgs g{};
  g.loaded = e;
  DONE(table().LoadedExecutableGetExecutable(&g));
  ModuleCode text{};
  ExecutableOptimizedProgramArgs o{};
  o.executable = g.executable, o.program = &text;
  DONE(table().ExecutableOptimizedProgram(&o)); // the size
  std::string described(text.codeSize, ' ');
  text.code = described.data();
  DONE(table().ExecutableOptimizedProgram(&o));
  EXPECT_NE(described.find("num_replicas = 2"), std::string::npos) << described;
  EXPECT_EQ(described.find("sharding"), std::string::npos) << described; // XLA crashes on empty ones
  ExecutableDestroyArgs d{};
  d.executable = g.executable;
  DONE(table().ExecutableDestroy(&d));

  ASSERT_EQ(compile(R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})",
                    e, two),
            "");
  std::vector<Buffer *> out(1);
  const std::string wrong = run(e, {put({1, 2, 3, 4}, {4})}, out, devices[0]);
  EXPECT_NE(wrong.find("PJRT-PARTITIONS"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("docs/pytorch.md"), std::string::npos) << wrong;
}

TEST_F(Pjrt, ExecutablesAreKeptAndDamageIsSeen) {
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e), "");
  LoadedExecutableGetExecutableArgs g{};
  g.loaded = e;
  DONE(table().LoadedExecutableGetExecutable(&g));
  ExecutableSerializeArgs s{};
  s.executable = g.executable;
  DONE(table().ExecutableSerialize(&s));
  std::string bytes(s.bytes, s.bytesSize);
  s.deleter(s.owner);
  ExecutableDestroyArgs d{};
  d.executable = g.executable;
  DONE(table().ExecutableDestroy(&d));
  const auto load = [&](const std::string &from, LoadedExecutable *&out) {
    ExecutableDeserializeAndLoadArgs a{};
    a.client = client;
    a.bytes = from.data(), a.bytesSize = from.size();
    const std::string wrong = said(table().ExecutableDeserializeAndLoad(&a));
    if (wrong.empty())
      executables.push_back(out = a.executable);
    return wrong;
  };
  LoadedExecutable *again = nullptr;
  ASSERT_EQ(load(bytes, again), "");
  std::vector<Buffer *> out(2);
  Buffer *a = put({1, 2, 3, 4, 5, 6}, {2, 3});
  ASSERT_EQ(run(again, {a, a}, out), "");
  EXPECT_EQ(get(out[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  for (const size_t at : {size_t{3}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] ^= 1;
    EXPECT_NE(load(damaged, again).find("PJRT-SERIALIZED"), std::string::npos);
  }
  EXPECT_NE(load(bytes.substr(0, 40), again).find("PJRT-SERIALIZED"), std::string::npos);
}

TEST_F(Pjrt, PiecesMakeABuffer) {
  Promised p;
  promise({4}, p);
  const std::vector<float> data{1, 2, 3, 4};
  for (int half : {1, 0}) {
    TransferManagerTransferDataArgs t{};
    t.manager = p.manager;
    t.data = data.data() + 2 * half;
    t.offset = 8 * half, t.size = 8;
    t.isLast = half == 0;
    DONE(table().TransferManagerTransferData(&t));
    EXPECT_EQ(await(t.done), "");
  }
  EXPECT_EQ(get(p.buffer), data);
  TransferManagerDestroyArgs d{};
  d.manager = p.manager;
  DONE(table().TransferManagerDestroy(&d));
}

TEST_F(Pjrt, CopiesAreOnTheirOwn) {
  Buffer *a = put({1, 2, 3}, {3});
  BufferCopyToDeviceArgs c{};
  c.buffer = a;
  c.device = devices[1];
  DONE(table().BufferCopyToDevice(&c));
  buffers.push_back(c.copy);
  BufferDeleteArgs d{};
  d.buffer = a;
  DONE(table().BufferDelete(&d));
  EXPECT_EQ(get(c.copy), (std::vector<float>{1, 2, 3}));
  BufferReadyEventArgs r{};
  r.buffer = a;
  EXPECT_NE(said(table().BufferReadyEvent(&r)).find("PJRT-DELETED"), std::string::npos);
}

// What somebody outside reads stays as it is, whatever becomes of the array.
TEST_F(Pjrt, MemoryThatIsReadStays) {
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(R"(
func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
})",
                    e),
            "");
  const auto inUse = [&] {
    DeviceMemoryStatsArgs m{};
    m.device = devices[0];
    EXPECT_EQ(said(table().DeviceMemoryStats(&m)), "");
    return m.bytesInUse;
  };
  Buffer *a = put({1, 2, 3, 4}, {4}), *b = put({5, 6, 7, 8}, {4});
  const int64_t both = inUse();
  for (Buffer *x : {a, b}) {
    BufferIncreaseExternalReferenceCountArgs hold{};
    hold.buffer = x;
    DONE(table().BufferIncreaseExternalReferenceCount(&hold));
  }
  const auto *readA = reinterpret_cast<const float *>(pointer(a)), *readB = reinterpret_cast<const float *>(pointer(b));
  std::vector<Buffer *> out(1);
  ASSERT_EQ(run(e, {a}, out), ""); // donated: computed in other memory
  BufferDeleteArgs d{};
  d.buffer = b;
  DONE(table().BufferDelete(&d));
  EXPECT_EQ(get(out[0]), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(std::vector<float>(readA, readA + 4), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(std::vector<float>(readB, readB + 4), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_TRUE(isDeleted(a) && isDeleted(b));
  EXPECT_EQ(inUse(), both + 16);
  for (Buffer *x : {a, b}) {
    BufferDecreaseExternalReferenceCountArgs letGo{};
    letGo.buffer = x;
    DONE(table().BufferDecreaseExternalReferenceCount(&letGo));
    BufferIncreaseExternalReferenceCountArgs hold{};
    hold.buffer = x;
    EXPECT_NE(said(table().BufferIncreaseExternalReferenceCount(&hold)).find("PJRT-DELETED"), std::string::npos);
    BufferIsOnCpuArgs on{};
    on.buffer = x;
    DONE(table().BufferIsOnCpu(&on));
    EXPECT_FALSE(on.isOnCpu);
  }
  EXPECT_EQ(inUse(), both - 16);
}

TEST_F(Pjrt, APlaceIsKnownBeforeItsBytes) {
  LoadedExecutable *e = nullptr;
  ASSERT_EQ(compile(kSum, e), "");
  Promised p;
  promise({2, 3}, p);
  Buffer *const given[] = {p.buffer, p.buffer};
  Buffer *outs[2];
  Buffer **lists[] = {outs};
  Buffer *const *in[] = {given};
  ExecuteOptions options{};
  LoadedExecutableExecuteArgs a{};
  a.loaded = e;
  a.options = &options;
  a.arguments = in, a.outputs = lists;
  a.numDevices = 1, a.numArguments = 2;
  DONE(table().LoadedExecutableExecute(&a));
  buffers.insert(buffers.end(), {outs[0], outs[1]});
  BufferIsOnCpuArgs on{};
  on.buffer = outs[0];
  DONE(table().BufferIsOnCpu(&on));
  EXPECT_FALSE(on.isOnCpu);
  BufferOpaqueDeviceMemoryDataPointerArgs where{};
  where.buffer = outs[0];
  DONE(table().BufferOpaqueDeviceMemoryDataPointer(&where)); // does not wait
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  TransferManagerTransferDataArgs t{};
  t.manager = p.manager;
  t.data = data.data(), t.size = 24, t.isLast = true;
  DONE(table().TransferManagerTransferData(&t));
  EXPECT_EQ(await(t.done), "");
  EXPECT_EQ(get(outs[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(pointer(outs[0]), reinterpret_cast<uintptr_t>(where.pointer));
  DONE(table().BufferIsOnCpu(&on));
  EXPECT_FALSE(on.isOnCpu); // who has asked is told the same
  on.buffer = p.buffer;
  DONE(table().BufferIsOnCpu(&on));
  EXPECT_TRUE(on.isOnCpu);
  TransferManagerDestroyArgs d{};
  d.manager = p.manager;
  DONE(table().TransferManagerDestroy(&d));
}

TEST(PjrtTable, HasEveryCallAndNamesWhatIsMissing) {
#define CHECK_ENTRY(name, text) EXPECT_NE(table().name, nullptr) << text;
  GLIA_PJRT_CALLS(CHECK_ENTRY)
#undef CHECK_ENTRY
  ClientDmaMapArgs a{};
  EXPECT_NE(said(table().ClientDmaMap(&a)).find("PJRT_Client_DmaMap is not implemented"), std::string::npos);
  EXPECT_EQ(table().version.minor, kMinor);
  EXPECT_EQ(table().structSize, sizeof(Api));
}

} // namespace
