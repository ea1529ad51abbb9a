#include "glia/Program/Decode.h"
#include "glia/Program/Encoding.h"

#include <cstring>

namespace glia {

static Access readAccess(const Program &p, const uint32_t *w) {
  Access a;
  a.pattern = w[0];
  a.object.kind = w[1] >> 31 ? ObjectKind::Allocation : ObjectKind::Tensor;
  a.object.index = w[1] & 0x7FFFFFFFu;
  if (a.object.kind == ObjectKind::Allocation) {
    a.byteOffset = static_cast<int32_t>(w[2]);
    a.partition = static_cast<int32_t>(w[3]);
  } else {
    a.byteOffset = static_cast<int64_t>(static_cast<uint64_t>(w[3]) << 32 | w[2]);
  }
  (void)p;
  return a;
}

void decode(const Program &p, int core, Engine e, uint32_t index, Decoded &out) {
  const Stream &s = p.stream(core, e);
  const Instr &in = s.instrs[index];
  out.def = p.opcodes[in.opcode];
  out.core = core;
  out.engine = e;
  out.index = index;
  out.origin = in.origin;
  out.waits = {s.syncs.data() + in.sync, in.numWaits};
  out.updates = {s.syncs.data() + in.sync + in.numWaits, in.numUpdates};
  const std::vector<Slot> &slots = out.def->slots;
  out.values.resize(slots.size());
  const uint32_t *w = s.words.data() + in.words;

  int packed = 0; // bytes of Enum/Flag/Small slots come first, four to a word
  for (size_t i = 0; i < slots.size(); ++i)
    if (isPackedSlot(slots[i].kind)) {
      Value &v = out.values[i];
      v.kind = Value::Int;
      v.integer = static_cast<int32_t>(w[packed / 4] >> (packed % 4 * 8) & 0xFF);
      ++packed;
    }
  w += (packed + 3) / 4;

  for (size_t i = 0; i < slots.size(); ++i) {
    Value &v = out.values[i];
    switch (slots[i].kind) {
    case SlotKind::Enum:
    case SlotKind::Flag:
    case SlotKind::Small: break;
    case SlotKind::In:
    case SlotKind::Out:
    case SlotKind::InOut:
    case SlotKind::OptIn:
    case SlotKind::OptOut:
    case SlotKind::Scalar:
    case SlotKind::OptScalar:
      if (w[0] == kAbsentWord) {
        v.kind = Value::Absent;
        ++w;
      } else if (w[0] == kImmediateWord) {
        v.kind = Value::Float;
        std::memcpy(&v.number, &w[1], 4);
        w += 2;
      } else {
        v.kind = Value::Tensor;
        v.access = readAccess(p, w);
        w += 4;
      }
      break;
    case SlotKind::Float:
      v.kind = Value::Float;
      std::memcpy(&v.number, w++, 4);
      break;
    case SlotKind::Int:
    case SlotKind::Label:
    case SlotKind::Queue:
      v.kind = Value::Int;
      v.integer = static_cast<int32_t>(*w++);
      break;
    case SlotKind::RegOut:
    case SlotKind::RegIn:
      v.kind = Value::Register;
      v.integer = static_cast<int32_t>(*w++);
      break;
    case SlotKind::RegOrInt:
      v.kind = w[0] ? Value::Register : Value::Int;
      v.integer = static_cast<int32_t>(w[1]);
      w += 2;
      break;
    case SlotKind::Ints:
      v.kind = Value::Ints;
      v.list = {w + 1, w[0]};
      w += 1 + w[0];
      break;
    case SlotKind::Text:
      v.kind = Value::Text;
      v.integer = static_cast<int32_t>(*w++);
      break;
    }
  }
}

} // namespace glia
