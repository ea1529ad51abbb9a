#include "Bytes.h"
#include "ContainerFormat.h"
#include "glia/ISA/Instruction.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/File.h"

namespace glia {

namespace {

void shape(ByteWriter &w, const std::vector<int64_t> &dims) {
  w.put(static_cast<uint8_t>(dims.size()));
  for (int64_t d : dims)
    w.put(d);
}

void tensors(ByteWriter &w, ByteWriter &constants, const Program &p) {
  w.put(static_cast<uint32_t>(p.tensors.size()));
  for (const Tensor &t : p.tensors) {
    w.text(t.name);
    w.put(t.dtype), w.put(t.from.empty() ? static_cast<uint8_t>(t.kind) : kOutputFromInput), w.put(uint8_t{t.shared}),
        w.put(uint8_t{t.uniqueRows}), w.put(uint8_t{t.hasRange});
    w.put(t.hasRange ? t.rangeLo : 0), w.put(t.hasRange ? t.rangeHi : 0);
    shape(w, t.shape);
    if (!t.from.empty())
      w.text(t.from);
    constants.raw(t.data.data(), t.data.size()); // as many bytes as the shape says: no size is stored
  }
}

void allocations(ByteWriter &w, const Program &p) {
  w.put(static_cast<uint32_t>(p.allocations.size()));
  for (const Allocation &a : p.allocations) {
    w.text(a.name);
    w.put(a.space), w.put(a.core), w.put(a.dtype);
    w.put(a.partition), w.put(a.byteOffset), w.put(a.liveFrom), w.put(a.liveTo);
    shape(w, a.shape);
  }
}

void patterns(ByteWriter &w, const Program &p) {
  w.put(static_cast<uint32_t>(p.patterns.size()));
  for (const Pattern &x : p.patterns) {
    w.put(x.dtype), w.put(x.rank), w.put(x.numDynamic), w.put(x.partitions);
    for (int i = 0; i < x.rank; ++i)
      w.put(x.dims[i].stride), w.put(x.dims[i].count);
    for (int i = 0; i < x.numDynamic; ++i)
      w.put(x.dynamic[i].reg), w.put(uint8_t{x.dynamic[i].partition}), w.put(x.dynamic[i].scale);
  }
}

void object(ByteWriter &w, ObjectRef o) { w.put(o.kind), w.put(o.index); }

void streams(ByteWriter &table, ByteWriter &instrs, ByteWriter &words, ByteWriter &syncs, const Program &p) {
  table.put(p.cores);
  table.put(static_cast<uint32_t>(kNumEngines));
  size_t total[3] = {};
  for (const auto &core : p.streams)
    for (const Stream &s : core)
      total[0] += s.instrs.size(), total[1] += s.words.size(), total[2] += s.syncs.size();
  instrs.bytes.reserve(total[0] * sizeof(Instr)), words.bytes.reserve(total[1] * 4),
      syncs.bytes.reserve(total[2] * sizeof(SyncOp));
  for (const auto &core : p.streams)
    for (const Stream &s : core) {
      table.put(static_cast<uint64_t>(s.instrs.size()));
      table.put(static_cast<uint64_t>(s.words.size()));
      table.put(static_cast<uint64_t>(s.syncs.size()));
      instrs.raw(s.instrs.data(), s.instrs.size() * sizeof(Instr));
      words.raw(s.words.data(), s.words.size() * sizeof(uint32_t));
      syncs.raw(s.syncs.data(), s.syncs.size() * sizeof(SyncOp));
    }
}

std::vector<std::byte> assembleFile(const ByteWriter (&sections)[kNumSections + 1]) {
  SectionEntry table[kNumSections];
  uint64_t at = alignUp(sizeof(ContainerHeader) + sizeof table);
  for (uint32_t i = 0; i < kNumSections; ++i) {
    table[i] = {i + 1, 0, at, sections[i + 1].bytes.size()};
    at = alignUp(at + table[i].bytes);
  }
  std::vector<std::byte> file(at);
  ContainerHeader h;
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kContainerVersion;
  h.sections = kNumSections;
  h.fileBytes = at;
  h.checksum = 0;
  std::memcpy(file.data(), &h, sizeof h);
  std::memcpy(file.data() + sizeof h, table, sizeof table);
  for (uint32_t i = 0; i < kNumSections; ++i)
    if (table[i].bytes)
      std::memcpy(file.data() + table[i].offset, sections[i + 1].bytes.data(), table[i].bytes);
  const std::span<const std::byte> all(file);
  h.checksum = checksum64(all.subspan(sizeof h), checksum64(all.first(offsetof(ContainerHeader, checksum))));
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

} // namespace

std::vector<std::byte> toBytes(const Program &p) { return canonicalToBytes(canonical(p)); }

std::vector<std::byte> canonicalToBytes(const Program &p) {
  ByteWriter sections[kNumSections + 1];
  auto at = [&sections](Section s) -> ByteWriter & { return sections[static_cast<uint32_t>(s)]; };

  at(Section::Target).raw(p.target->text.data(), p.target->text.size());
  ByteWriter &opcodes = at(Section::Opcodes);
  opcodes.put(static_cast<uint32_t>(p.opcodes.size()));
  for (const InstrDef *d : p.opcodes)
    opcodes.text(d->name);
  tensors(at(Section::Tensors), at(Section::Constants), p);
  allocations(at(Section::Allocations), p);
  ByteWriter &semaphores = at(Section::Semaphores);
  semaphores.put(static_cast<uint32_t>(p.semaphores.size()));
  for (const Semaphore &s : p.semaphores)
    semaphores.text(s.name), semaphores.put(s.core), semaphores.put(s.initial);
  ByteWriter &queues = at(Section::Queues);
  queues.put(static_cast<uint32_t>(p.queues.size()));
  for (const Queue &q : p.queues)
    queues.text(q.name), queues.put(q.core);
  patterns(at(Section::Patterns), p);
  ByteWriter &strings = at(Section::Strings);
  strings.put(static_cast<uint32_t>(p.strings.size()));
  for (const std::string &s : p.strings)
    strings.text(s);
  at(Section::Origins).raw(p.origins.data(), p.origins.size() * sizeof(InstrOrigin));
  streams(at(Section::Streams), at(Section::Instructions), at(Section::Words), at(Section::Syncs), p);
  ByteWriter &symbols = at(Section::Symbols);
  symbols.put(static_cast<uint32_t>(p.symbols.size()));
  for (const Symbol &s : p.symbols)
    symbols.text(s.name), object(symbols, s.object), symbols.put(uint8_t{s.defined});
  ByteWriter &relocations = at(Section::Relocations);
  relocations.put(static_cast<uint32_t>(p.relocations.size()));
  for (const Relocation &r : p.relocations)
    relocations.put(r.symbol), object(relocations, r.object);
  ByteWriter &contract = at(Section::Contract);
  contract.put(static_cast<uint32_t>(p.contract.size()));
  for (const ContractItem &c : p.contract)
    contract.text(c.key), contract.text(c.value);
  return assembleFile(sections);
}

void save(const Program &p, const std::string &path) { writeFile(path, toBytes(p)); }

} // namespace glia
