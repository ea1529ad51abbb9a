// A call of an executable: returns at once; the device's worker waits for the arguments, runs the program and tells whoever waits.
#include "Buffer.h"
#include "Calls.h"
#include "ElementTypes.h"
#include "Executable.h"
#include "Fork.h"
#include "Inspect.h"
#include "glia/Sim/Steps.h"

#include <algorithm>
#include <cstdio>

namespace glia::pjrt {

namespace {

// One call, with everything it needs until it is done.
struct Launch {
  CompiledPtr compiled;
  const Settings *settings; // the client's, which outlives its workers
  StopFlag stop;
  std::string device;
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
    if (!free || !results[i]->takeOver(*arguments[static_cast<size_t>(place)]))
      results[i]->allocate();
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
  const RunResult r = runInPlace(compiled->program, in, options);
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
  try {
    awaitArguments();
    if (stop->load(std::memory_order_relaxed))
      throw Interrupted();
    const TensorViews in = inputs();
    inspect(*compiled, in, *settings, device);
    simulate(in);
  } catch (...) {
    failed = currentFailure();
  }
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
  if (b.isHeld())
    throw failure(Code::FailedPrecondition, "PJRT-DELETED",
                  format("argument %zu is donated while its memory is in use outside of the platform", number),
                  "Let go of views of the array first.");
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

void call(LoadedExecutableExecuteArgs &a) {
  requireOwnProcess();
  LoadedExecutable &loaded = *a.loaded;
  const Signature &signature = loaded.compiled->signature;
  if (loaded.deleted)
    throw failure(Code::InvalidArgument, "PJRT-DELETED", "the executable was deleted", "Compile the function again.");
  if (a.numDevices != 1)
    throw failure(Code::Unimplemented, "PJRT-PARTITIONS",
                  format("an executable is called on %zu devices at once", a.numDevices), "Call it once for each device.");
  if (a.options && (a.options->numSends || a.options->numReceives))
    throw failure(Code::Unimplemented, "PJRT-CALLBACK", "a program sends data to the host while it runs",
                  "Return the data instead.");
  if (a.numArguments != signature.arguments.size())
    throw failure(Code::InvalidArgument, "PJRT-ARGUMENT",
                  format("an executable of %zu arguments is called with %zu", signature.arguments.size(), a.numArguments));
  Device &device = a.device ? *a.device : loaded.device ? *loaded.device : *loaded.client.devices[0];

  Buffer *const *given = a.arguments[0];
  auto launch = std::make_shared<Launch>();
  launch->compiled = loaded.compiled;
  launch->settings = &loaded.client.settings;
  launch->stop = device.worker.stopFlag();
  launch->device = device.text;
  launch->donated = donatedOf(signature, a.options);
  for (size_t i = 0; i < a.numArguments; ++i) {
    checkArgument(*given[i], signature.arguments[i], device, i);
    launch->arguments.push_back(given[i]->storage());
    if (launch->donated[i])
      checkDonated(*given[i], {given, a.numArguments}, i);
  }
  std::vector<std::unique_ptr<Buffer>> results;
  for (const ArraySpec &r : signature.results) {
    Memory &memory = *device.memories[static_cast<int>(r.memory)];
    launch->results.push_back(std::make_shared<Storage>(memory.use, bytesOf(r.type, r.dims), launch->done));
    results.push_back(std::make_unique<Buffer>(r.type, r.dims, memory, launch->results.back()));
  }
  for (size_t i = 0; i < a.numArguments; ++i) // nothing fails behind this
    if (launch->donated[i])
      given[i]->remove("donated");
  device.worker.add([launch] { launch->run(); });
  for (size_t i = 0; i < results.size(); ++i)
    a.outputs[0][i] = results[i].release();
  if (a.completions)
    a.completions[0] = new Event(launch->done);
}

} // namespace glia::pjrt
