#include "Calls.h"
#include "CompileOptions.h"
#include "Executable.h"
#include "ElementTypes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace glia::pjrt {

namespace {

std::string_view view(const char *bytes, size_t size) { return bytes ? std::string_view(bytes, size) : std::string_view(); }

// On the devices that the options name, those that it was kept for, or the first ones.
LoadedExecutable *load(Kept kept, Client &client, const CompileOptions &options) {
  CompiledPtr compiled = std::move(kept.compiled);
  const Signature &s = compiled->signature;
  std::vector<int64_t> chosen = options.devices.empty() ? std::move(kept.devices) : options.devices;
  if (chosen.empty()) {
    chosen.resize(static_cast<size_t>(s.ranks()));
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  std::vector<Device *> devices;
  if (!options.portable)
    for (const int64_t id : chosen)
      devices.push_back(&client.device(id));
  if (s.ranks() > 1 && devices.size() != static_cast<size_t>(s.ranks()))
    throw failure(Code::InvalidArgument, "PJRT-OPTIONS",
                  format("a program of %lld ranks is compiled for %zu devices", (long long)s.ranks(), devices.size()));
  for (size_t i = 0; i < devices.size(); ++i)
    if (std::find(devices.begin(), devices.begin() + static_cast<ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<ptrdiff_t>(i))
      throw failure(Code::InvalidArgument, "PJRT-OPTIONS", "two ranks of a program are on " + devices[i]->text);
  if (s.ranks() == 1 && devices.size() > 1) // the module has no ranks to run there
    devices.resize(1);
  return new LoadedExecutable(std::move(compiled), client, std::move(devices));
}

int64_t bytesOfAll(const std::vector<ArraySpec> &specs) {
  int64_t sum = 0;
  for (const ArraySpec &s : specs)
    sum += bytesOf(s.type, s.dims);
  return sum;
}

int64_t codeBytes(const Program &p) {
  uint64_t sum = 0;
  for (const auto &core : p.streams)
    for (const Stream &s : core)
      sum += s.instrs.size() * sizeof(Instr) + s.words.size() * sizeof(uint32_t) + s.syncs.size() * sizeof(SyncOp);
  return static_cast<int64_t>(sum);
}

NamedValue cost(const char *name, double value) {
  NamedValue v{};
  v.structSize = sizeof v;
  v.name = name, v.nameSize = std::strlen(name);
  v.type = ValueType::Float;
  v.number = static_cast<float>(value);
  v.valueSize = 1;
  return v;
}

} // namespace

void call(ClientCompileArgs &a) {
  const CompileOptions options = readCompileOptions(view(a.options, a.optionsSize));
  a.executable = load({compileModule({a.program->code, a.program->codeSize}, {a.program->format, a.program->formatSize},
                                     a.client->settings, {options.replicas, options.partitions}),
                       {}},
                      *a.client, options);
}

// For devices that need not be there: nothing is loaded.
void call(CompileArgs &a) {
  if (a.topology->numDevices == 0)
    throw failure(Code::InvalidArgument, "PJRT-DEVICE", "a program is compiled for no device");
  const CompileOptions options = readCompileOptions(view(a.options, a.optionsSize));
  a.executable =
      new Executable(compileModule({a.program->code, a.program->codeSize}, {a.program->format, a.program->formatSize},
                                   a.topology->devices[0]->client.settings, {options.replicas, options.partitions}),
                     options.portable ? std::vector<int64_t>() : options.devices);
}

void call(ExecutableDestroyArgs &a) { delete a.executable; }

void call(ExecutableNameArgs &a) {
  const std::string &name = a.executable->compiled->signature.name;
  a.name = name.data(), a.nameSize = name.size();
}

void call(ExecutableNumReplicasArgs &a) { a.number = static_cast<size_t>(a.executable->compiled->signature.replicas); }
void call(ExecutableNumPartitionsArgs &a) { a.number = static_cast<size_t>(a.executable->compiled->signature.partitions); }
void call(ExecutableNumOutputsArgs &a) { a.number = a.executable->compiled->resultTypes.size(); }
void call(ExecutableSizeOfGeneratedCodeInBytesArgs &a) { a.size = codeBytes(a.executable->compiled->program); }

void call(ExecutableFingerprintArgs &a) {
  const std::string &f = a.executable->compiled->fingerprint;
  a.fingerprint = f.data(), a.fingerprintSize = f.size();
}

void call(ExecutableOutputElementTypesArgs &a) {
  a.types = a.executable->compiled->resultTypes.data();
  a.numTypes = a.executable->compiled->resultTypes.size();
}

void call(ExecutableOutputDimensionsArgs &a) {
  a.numOutputs = a.executable->compiled->resultRanks.size();
  a.dims = a.executable->compiled->resultDims.data();
  a.ranks = a.executable->compiled->resultRanks.data();
}

void call(ExecutableOutputMemoryKindsArgs &a) {
  Executable &e = *a.executable;
  e.memoryKinds.clear(), e.memoryKindSizes.clear();
  for (const ArraySpec &r : e.compiled->signature.results) {
    e.memoryKinds.push_back(kindName(r.memory).data());
    e.memoryKindSizes.push_back(kindName(r.memory).size());
  }
  a.numOutputs = e.memoryKinds.size();
  a.kinds = a.executable->memoryKinds.data();
  a.kindSizes = a.executable->memoryKindSizes.data();
}

void call(ExecutableOptimizedProgramArgs &a) {
  const std::string &module = a.executable->compiled->described();
  a.program->format = "mlir", a.program->formatSize = 4;
  if (a.program->code && a.program->codeSize >= module.size())
    std::memcpy(a.program->code, module.data(), module.size());
  a.program->codeSize = module.size();
}

void call(ExecutableGetCostAnalysisArgs &a) {
  const Compiled &c = *a.executable->compiled;
  if (a.executable->costs.empty()) {
    std::vector<NamedValue> &costs = a.executable->costs;
    costs.push_back(cost("flops", c.signature.flops));
    costs.push_back(cost("instructions", static_cast<double>(c.program.instructionCount())));
    if (const TimingResult *t = c.timing()) {
      costs.push_back(cost("bytes accessed", static_cast<double>(t->hbmBytesRead + t->hbmBytesWritten)));
      costs.push_back(cost("predicted_seconds", t->total * 1e-9));
    }
  }
  a.numProperties = a.executable->costs.size();
  a.properties = a.executable->costs.data();
}

void call(ExecutableGetCompiledMemoryStatsArgs &a) {
  const Compiled &c = *a.executable->compiled;
  a.generatedCode = codeBytes(c.program);
  a.arguments = bytesOfAll(c.signature.arguments);
  a.outputs = bytesOfAll(c.signature.results);
  a.aliased = a.temporary = 0;
  for (const Tensor &t : c.program.tensors) {
    if (!t.from.empty())
      a.aliased += t.bytes();
    if (t.kind == TensorKind::Scratch)
      a.temporary += t.bytes() * (t.shared ? 1 : c.program.cores);
  }
  a.hostGeneratedCode = a.hostArguments = a.hostOutputs = a.hostAliased = a.hostTemporary = 0;
  a.peak = a.arguments + a.outputs - a.aliased + a.temporary;
}

void call(LoadedExecutableDestroyArgs &a) { delete a.loaded; }
void call(LoadedExecutableGetExecutableArgs &a) {
  std::vector<int64_t> ids;
  for (const Device *d : a.loaded->devices)
    ids.push_back(d->id);
  a.executable = new Executable(a.loaded->compiled, std::move(ids));
}

void call(LoadedExecutableAddressableDevicesArgs &a) {
  a.devices = a.loaded->devices.data();
  a.numDevices = a.loaded->devices.size();
}

void call(LoadedExecutableDeleteArgs &a) { a.loaded->deleted = true; }
void call(LoadedExecutableIsDeletedArgs &a) { a.isDeleted = a.loaded->deleted; }

void call(LoadedExecutableFingerprintArgs &a) {
  const std::string &f = a.loaded->compiled->fingerprint;
  a.fingerprint = f.data(), a.fingerprintSize = f.size();
}

// ---- in bytes -------------------------------------------------------------------------------------

class SerializedExecutable {
public:
  std::string bytes;
};

void call(ExecutableSerializeArgs &a) {
  auto owner = std::make_unique<SerializedExecutable>();
  owner->bytes = serialize({a.executable->compiled, a.executable->devices});
  a.bytes = owner->bytes.data(), a.bytesSize = owner->bytes.size();
  a.owner = owner.release();
  a.deleter = [](SerializedExecutable *s) { delete s; };
}

void call(ExecutableDeserializeAndLoadArgs &a) {
  const CompileOptions options = readCompileOptions(view(a.options, a.optionsSize));
  a.executable = load(deserialize(view(a.bytes, a.bytesSize), a.client->settings), *a.client, options);
}

} // namespace glia::pjrt
