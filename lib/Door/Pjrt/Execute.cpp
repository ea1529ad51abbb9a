// A call of an executable: returns at once; the device's worker waits for the arguments, runs the program and tells whoever waits.
#include "Buffer.h"
#include "Calls.h"
#include "ElementTypes.h"
#include "Executable.h"
#include "Fork.h"
#include "Inspect.h"
#include "glia/ISA/Collective.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/Ranks.h"
#include "glia/Sim/Steps.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace glia::pjrt {

namespace {

// One call, with everything it needs until it is done.
struct Launch {
  CompiledPtr compiled;
  const Settings *settings; // the client's, which outlives its workers
  StopFlag stop;
  std::string device;
  int rank = 0;
  std::shared_ptr<RankSession> session; // of a program of several ranks: where they meet
  std::vector<StoragePtr> arguments, results;
  std::vector<bool> donated; // by argument
  CompletionPtr done = std::make_shared<Completion>();

  void run();

private:
  void awaitArguments() const;
  TensorViews inputs() const;
  TensorBuffers outputs();
  void simulate(const TensorViews &in);
};

void Launch::awaitArguments() const {
  for (const StoragePtr &a : arguments) {
    a->ready->wait();
    if (const Failure *f = a->ready->failure())
      throw *f;
  }
}

TensorViews Launch::inputs() const {
  TensorViews in;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (const std::string &name = compiled->signature.arguments[i].tensor; !name.empty())
      in.emplace(name, arguments[i]->bytes());
  return in;
}

// A result that the program computes in the place of an argument gets that argument's memory, if nobody else has an eye on it.
TensorBuffers Launch::outputs() {
  TensorBuffers out;
  for (size_t i = 0; i < results.size(); ++i) {
    const int place = compiled->inPlaceOf[i];
    const bool free =
        place >= 0 && donated[static_cast<size_t>(place)] && arguments[static_cast<size_t>(place)].use_count() == 1;
    if (free)
      std::atomic_thread_fence(std::memory_order_acquire); // behind what others read of it
    if (!free || !results[i]->takeOver(*arguments[static_cast<size_t>(place)]))
      results[i]->allocate(Fill::Zero);
    if (const std::string &name = compiled->signature.results[i].tensor; !name.empty())
      out.emplace(name, results[i]->bytes());
  }
  return out;
}

void Launch::simulate(const TensorViews &in) {
  const TensorBuffers out = outputs();
  RunOptions options;
  options.outputs = &out;
  options.strict = settings->strict;
  options.maxSteps = stepLimit(settings->maxSteps);
  options.stop = [this] { return stop->load(std::memory_order_relaxed); };
  const RunResult r =
      session ? session->run(rank, {&compiled->program, in, &out}, options) : runInPlace(compiled->program, in, options);
  if (!r.printed.empty()) {
    std::fwrite(r.printed.data(), 1, r.printed.size(), stdout);
    std::fflush(stdout);
  }
  if (r.range)
    std::fprintf(stderr, "%s\n", render(*r.range).c_str());
  if (r.fault)
    throw Error(*r.fault);
  if (r.trap)
    throw Error(*r.trap);
}

void Launch::run() {
  std::optional<Failure> failed;
  bool began = false;
  try {
    awaitArguments();
    if (stop->load(std::memory_order_relaxed))
      throw Interrupted();
    const TensorViews in = inputs();
    if (rank == 0)
      inspect(*compiled, in, *settings, device);
    began = true;
    simulate(in);
  } catch (...) {
    failed = currentFailure();
  }
  if (session && !began)
    session->giveUp(rank, failed ? failed->what() : "it was stopped");
  arguments.clear(); // what was donated is free before anybody hears of it
  results.clear();   // what nobody holds any more, too
  done->finish(std::move(failed));
}

void checkArgument(const Buffer &b, const ArraySpec &want, const Device &device, size_t number) {
  if (b.type != want.type || b.dims != want.dims)
    throw failure(Code::InvalidArgument, "PJRT-ARGUMENT",
                  format("argument %zu has another shape or type than the executable was compiled for", number),
                  "Call it with arrays like those it was compiled for.");
  if (b.memory.device != &device)
    throw failure(Code::InvalidArgument, "PJRT-ARGUMENT",
                  format("argument %zu is on %s and the executable runs on %s", number, b.memory.device->text.c_str(),
                         device.text.c_str()),
                  "Copy it there first (jax.device_put).");
}

void checkDonated(const Buffer &b, std::span<Buffer *const> all, size_t number) {
  if (std::count(all.begin(), all.end(), &b) > 1)
    throw failure(Code::InvalidArgument, "PJRT-DELETED",
                  format("argument %zu is donated and passed a second time in the same call", number),
                  "Pass a copy, or do not donate it.");
}

// Which arguments this call takes over: what the module says, without those that the caller keeps.
std::vector<bool> donatedOf(const Signature &s, const ExecuteOptions *options) {
  std::vector<bool> out = s.donated;
  if (options)
    for (size_t i = 0; i < options->numNonDonatable; ++i)
      if (const int64_t k = options->nonDonatable[i]; k >= 0 && k < static_cast<int64_t>(out.size()))
        out[static_cast<size_t>(k)] = false;
  return out;
}

} // namespace

namespace {

struct Prepared { // the call on one device
  std::shared_ptr<Launch> launch = std::make_shared<Launch>();
  std::vector<std::unique_ptr<Buffer>> results;
};

Prepared prepare(const LoadedExecutableExecuteArgs &a, size_t rank, Device &device) {
  const LoadedExecutable &loaded = *a.loaded;
  const Signature &signature = loaded.compiled->signature;
  Buffer *const *given = a.arguments[rank];
  Prepared out;
  Launch &launch = *out.launch;
  launch.compiled = loaded.compiled;
  launch.settings = &loaded.client.settings;
  launch.stop = device.worker.stopFlag();
  launch.device = device.text;
  launch.rank = static_cast<int>(rank);
  launch.donated = donatedOf(signature, a.options);
  for (size_t i = 0; i < a.numArguments; ++i) {
    checkArgument(*given[i], signature.arguments[i], device, i);
    launch.arguments.push_back(given[i]->storage());
    if (launch.donated[i])
      checkDonated(*given[i], {given, a.numArguments}, i);
  }
  for (const ArraySpec &r : signature.results) {
    Memory &memory = *device.memories[static_cast<int>(r.memory)];
    launch.results.push_back(std::make_shared<Storage>(memory.use, bytesOf(r.type, r.dims), launch.done));
    out.results.push_back(std::make_unique<Buffer>(r.type, r.dims, memory, launch.results.back()));
  }
  return out;
}

// Ranks that neither exchange anything nor ask for their numbers do not need each other.
bool runsAlone(const Program &p) {
  return rankInputOf(p).empty() &&
         std::none_of(p.opcodes.begin(), p.opcodes.end(), [](const InstrDef *d) { return isCollective(*d); });
}

// The devices of a call, by rank; one of them alone where a framework calls its ranks one by one, as torch_xla does.
std::vector<Device *> devicesOf(const LoadedExecutableExecuteArgs &a) {
  const LoadedExecutable &loaded = *a.loaded;
  const auto ranks = static_cast<size_t>(loaded.compiled->signature.ranks());
  if (a.numDevices == 1 && ranks > 1 && a.device && runsAlone(loaded.compiled->program))
    return {a.device};
  if (a.numDevices != ranks)
    throw failure(Code::InvalidArgument, "PJRT-PARTITIONS",
                  format("an executable of %zu devices is called on %zu at once", ranks, a.numDevices),
                  "Call it on the devices that it was compiled for. torch_xla calls one at a time: docs/pytorch.md, Several "
                  "ranks, says how they exchange.");
  if (ranks > 1)
    return loaded.devices;
  return {a.device ? a.device : !loaded.devices.empty() ? loaded.devices[0] : loaded.client.devices[0]};
}

} // namespace

void call(LoadedExecutableExecuteArgs &a) {
  requireOwnProcess();
  LoadedExecutable &loaded = *a.loaded;
  const Signature &signature = loaded.compiled->signature;
  if (loaded.deleted)
    throw failure(Code::InvalidArgument, "PJRT-DELETED", "the executable was deleted", "Compile the function again.");
  if (a.options && (a.options->numSends || a.options->numReceives))
    throw failure(Code::Unimplemented, "PJRT-CALLBACK", "a program sends data to the host while it runs",
                  "Return the data instead.");
  if (a.numArguments != signature.arguments.size())
    throw failure(Code::InvalidArgument, "PJRT-ARGUMENT",
                  format("an executable of %zu arguments is called with %zu", signature.arguments.size(), a.numArguments));
  const std::vector<Device *> devices = devicesOf(a);
  std::vector<Prepared> all;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    all.push_back(prepare(a, rank, *devices[rank]));
  if (signature.ranks() > 1)
    for (auto session = std::make_shared<RankSession>(static_cast<int>(signature.ranks()), loaded.client.settings.timeout);
         Prepared &p : all)
      p.launch->session = session;
  for (size_t rank = 0; rank < devices.size(); ++rank) // nothing fails behind this
    for (size_t i = 0; i < a.numArguments; ++i)
      if (all[rank].launch->donated[i])
        a.arguments[rank][i]->remove("donated");
  {
    const std::lock_guard lock(loaded.client.launching); // ranks of two calls meet in one order on all devices
    for (size_t rank = 0; rank < devices.size(); ++rank)
      devices[rank]->worker.add([launch = all[rank].launch] { launch->run(); });
  }
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    for (size_t i = 0; i < all[rank].results.size(); ++i)
      a.outputs[rank][i] = all[rank].results[i].release();
    if (a.completions)
      a.completions[rank] = new Event(all[rank].launch->done);
  }
}

} // namespace glia::pjrt
