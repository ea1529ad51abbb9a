#include "Template.h"
#include "glia/Program/Encoding.h"

namespace glia::link {

uint16_t TemplateMaker::opcode(const InstrDef *d) {
  std::vector<const InstrDef *> &list = b.program().opcodes;
  const auto [it, fresh] = opcodes.try_emplace(d, static_cast<uint16_t>(list.size()));
  if (fresh)
    list.push_back(d);
  return it->second;
}

Template TemplateMaker::make(uint32_t object, int slot) {
  const Object &o = c.objects[object];
  Template out;
  out.parts.resize(o.program->cores);
  for (uint32_t core = 0; core < o.program->cores; ++core)
    for (int e = 0; e < kNumEngines; ++e)
      fill(out.parts[core][e], o, object, slot, static_cast<int>(core), static_cast<Engine>(e));
  return out;
}

void TemplateMaker::fill(Part &out, const Object &o, uint32_t object, int slot, int core, Engine e) {
  const Program &p = *o.program;
  const Stream &s = p.stream(core, e);
  out.instrs.assign(s.instrs.begin(), s.instrs.end());
  out.words.assign(s.words.begin(), s.words.end());
  out.syncs.assign(s.syncs.begin(), s.syncs.end());
  for (SyncOp &op : out.syncs)
    op.semaphore = static_cast<uint16_t>(layout.semaphore(object, slot, op.semaphore));
  for (Instr &in : out.instrs) {
    const InstrDef &def = *p.opcodes[in.opcode];
    in.opcode = opcode(&def);
    uint32_t w = in.words;
    auto later = [&](Patch::Kind kind) { out.patches.push_back({kind, w, out.words[w]}); };
    int packed = 0;
    for (const Slot &slot : def.slots)
      if (isPackedSlot(slot.kind)) {
        if (def.unit == Unit::Exchange && slot.name == "pipe") {
          uint32_t &word = out.words[w + packed / 4];
          const int shift = packed % 4 * 8;
          const uint32_t pipe = static_cast<uint32_t>(layout.pipes[object].at(static_cast<int>(word >> shift & 0xFF)));
          word = (word & ~(0xFFu << shift)) | pipe << shift;
        }
        ++packed;
      }
    w += (packed + 3) / 4;
    for (const Slot &slotDef : def.slots) {
      const SlotKind kind = slotDef.kind;
      if (isPackedSlot(kind))
        continue;
      if (isTensorSlot(kind) || kind == SlotKind::Scalar || kind == SlotKind::OptScalar) {
        if (out.words[w] == kAbsentWord) {
          w += 1;
          continue;
        }
        if (out.words[w] == kImmediateWord) {
          w += 2;
          continue;
        }
        out.words[w] = b.internPattern(p.patterns[out.words[w]]);
        ++w;
        const uint32_t index = out.words[w] & 0x7FFFFFFFu;
        if (out.words[w] >> 31)
          out.words[w] = layout.allocation(object, slot, index) | 0x80000000u;
        else if (const TensorKind k = p.tensors[index].kind; k == TensorKind::Input || k == TensorKind::Output)
          later(Patch::Tensor);
        else
          out.words[w] = layout.tensor(object, slot, index);
        w += 3;
      } else if (kind == SlotKind::Queue) {
        out.words[w] = static_cast<uint32_t>(layout.queue(object, slot, out.words[w]));
        ++w;
      } else if (kind == SlotKind::Label) {
        later(def.name == "branch" ? Patch::BranchLabel : Patch::LoopLabel);
        ++w;
      } else if (kind == SlotKind::Text) {
        const std::string &text = p.strings[out.words[w]];
        if (def.unit == Unit::Barrier)
          later(Patch::Barrier);
        else if (def.unit == Unit::Control && !text.empty()) // loops that run in step: the object's own
          out.words[w] = b.internString(o.name + "." + text);
        else
          out.words[w] = b.internString(text);
        ++w;
      } else if (kind == SlotKind::Ints) {
        w += 1 + out.words[w];
      } else {
        w += kind == SlotKind::RegOrInt ? 2 : 1;
      }
    }
  }
}

} // namespace glia::link
