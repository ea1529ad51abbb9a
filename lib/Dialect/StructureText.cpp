// The text of the ops that hold instructions together; docs/nisa.md shows it.
#include "InstructionText.h"
#include "Literal.h"
#include "ParseScope.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Text.h"

#include <climits>
#include <set>

using namespace mlir;

namespace glia::nisa {

// ---- shared -----------------------------------------------------------------------------------------------------------------

// A region between braces, with its own names.
static ParseResult parseBody(OpAsmParser &p, OperationState &state, bool isolated, const OpAsmParser::Argument *argument) {
  const SMLoc at = p.getCurrentLocation();
  const ParseScope scope(isolated);
  if (ParseScope::tooDeep())
    return p.emitError(at) << "loops are nested too deeply";
  SmallVector<OpAsmParser::Argument, 1> arguments;
  if (argument) {
    arguments.push_back(*argument);
    ParseScope::define(argument->ssaName.name.drop_front(), argument->type);
  }
  Region *body = state.addRegion();
  if (p.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

// The label is the name of the value, unless another one is given.
static ParseResult parseLabel(OpAsmParser &p, OperationState &state) {
  std::string label;
  if (p.parseOptionalString(&label)) {
    if (p.getNumResults() == 0)
      return p.emitError(p.getNameLoc()) << "give this a name: %name = ...";
    label = p.getResultName(0).first.str();
  }
  state.addAttribute("label", p.getBuilder().getStringAttr(label));
  return success();
}

static void printLabel(OpAsmPrinter &p, Value v, StringRef label) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  p.printOperand(v, stream);
  if (StringRef(name).drop_front() == label)
    return;
  p << " ";
  p.printString(label);
}

static void define(OpAsmParser &p, OperationState &state, Type type) {
  state.addTypes(type);
  ParseScope::define(p.getResultName(0).first, type);
}

// 0:4096
static ParseResult parsePair(OpAsmParser &p, OperationState &state, StringRef attribute, StringRef first, StringRef second) {
  int64_t a = 0, b = 0;
  if (parseIntegerIn(p, first, 0, INT64_MAX, a) || p.parseColon() || parseIntegerIn(p, second, 0, INT64_MAX, b))
    return failure();
  state.addAttribute(attribute, p.getBuilder().getDenseI64ArrayAttr({a, b}));
  return success();
}

// ---- kernel and core --------------------------------------------------------------------------------------------------------

ParseResult KernelOp::parse(OpAsmParser &p, OperationState &state) {
  StringAttr name;
  std::string target;
  if (p.parseSymbolName(name, "sym_name", state.attributes) || p.parseKeyword("target"))
    return failure();
  const SMLoc at = p.getCurrentLocation();
  if (p.parseString(&target))
    return failure();
  const StringRef base = StringRef(target).split('=').first.split(',').first; // what is changed of it follows
  if (!base.ends_with(".toml") &&
      !StringRef(target).ends_with(".toml")) { // one's own file is looked for when the kernel is compiled
    std::string all;
    bool known = false;
    for (const BuiltinFile &f : builtinTargetFiles()) {
      all += " " + std::string(f.name);
      known |= StringRef(f.name) == base;
    }
    if (!known)
      return p.emitError(at) << "there is no target `" << printable(target) << "`; there are" << all
                             << ", and files that end in .toml";
  }
  state.addAttribute("target", p.getBuilder().getStringAttr(target));
  if (parseFurtherAttributes(p, state.attributes, {"sym_name", "target"}))
    return failure();
  return parseBody(p, state, /*isolated=*/true, nullptr);
}

void KernelOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getSymName());
  p << " target ";
  p.printString(getTarget());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "target"});
  p << " ";
  p.printRegion(getBody());
}

// An edge to an instruction that does not exist would order nothing.
static ParseResult checkEdges(Region &body) {
  std::set<int32_t> ids;
  SmallVector<Operation *> later;
  body.walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>("id"); id && Instr(op))
      ids.insert(static_cast<int32_t>(id.getInt()));
    if (op->hasAttr("after") && Instr(op))
      later.push_back(op);
  });
  for (Operation *op : later)
    if (auto after = op->getAttrOfType<DenseI32ArrayAttr>("after"))
      for (int32_t id : after.asArrayRef())
        if (!ids.contains(id)) {
          op->emitError() << "comes after instruction " << id << ", and no instruction of this core has that id";
          return failure();
        }
  return success();
}

ParseResult CoreOp::parse(OpAsmParser &p, OperationState &state) {
  int64_t number = 0;
  if (parseIntegerIn(p, "the number of a core", 0, INT_MAX, number))
    return failure();
  state.addAttribute("number", p.getBuilder().getI32IntegerAttr(static_cast<int32_t>(number)));
  if (parseFurtherAttributes(p, state.attributes, {"number"}) || parseBody(p, state, false, nullptr))
    return failure();
  return checkEdges(*state.regions[0]);
}

void CoreOp::print(OpAsmPrinter &p) {
  p << " " << getNumber();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"number"});
  p << " ";
  p.printRegion(getBody());
}

// ---- tensors and registers --------------------------------------------------------------------------------------------------

static constexpr StringRef kTensorOwn[] = {"label", "kind", "isPrivate", "data", "alias", "range", "unique"};

ParseResult TensorOp::parse(OpAsmParser &p, OperationState &state) {
  const SMLoc at = p.getCurrentLocation();
  StringRef kind;
  if (p.parseOptionalKeyword(&kind) || !llvm::is_contained({"input", "output", "constant", "scratch"}, kind))
    return p.emitError(at) << "expected the kind of the tensor: input, output, constant or scratch";
  state.addAttribute("kind", p.getBuilder().getStringAttr(kind));
  TensorType type;
  if (parseLabel(p, state) || p.parseColon() || parseTensor(p, Space::Hbm, type))
    return failure();
  if (succeeded(p.parseOptionalKeyword("private")))
    state.addAttribute("isPrivate", p.getBuilder().getUnitAttr());
  if (succeeded(p.parseOptionalKeyword("alias"))) {
    std::string alias;
    if (p.parseString(&alias))
      return failure();
    state.addAttribute("alias", p.getBuilder().getStringAttr(alias));
  }
  if (succeeded(p.parseOptionalKeyword("range"))) {
    int64_t range[2];
    if (p.parseInteger(range[0]) || p.parseInteger(range[1]))
      return failure();
    state.addAttribute("range", p.getBuilder().getDenseI64ArrayAttr(range));
  }
  if (succeeded(p.parseOptionalKeyword("unique")))
    state.addAttribute("unique", p.getBuilder().getUnitAttr());
  if (succeeded(p.parseOptionalEqual())) {
    SmallVector<int8_t> data;
    if (parseConstant(p, type, data))
      return failure();
    state.addAttribute("data", p.getBuilder().getDenseI8ArrayAttr(data));
  }
  define(p, state, type);
  return parseFurtherAttributes(p, state.attributes, kTensorOwn);
}

void TensorOp::print(OpAsmPrinter &p) {
  p << " " << getKind();
  printLabel(p, getTensor(), getLabel());
  p << " : ";
  printTensor(p, getTensor().getType());
  if (getIsPrivate())
    p << " private";
  if (getAlias()) {
    p << " alias ";
    p.printString(*getAlias());
  }
  if (getRange())
    p << " range " << (*getRange())[0] << " " << (*getRange())[1];
  if (getUnique())
    p << " unique";
  if (getData()) {
    p << " = ";
    printConstant(p, getTensor().getType(), *getData());
  }
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), kTensorOwn);
}

void TensorOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  if (!getLabel().empty())
    set(getTensor(), getLabel());
}

static constexpr StringRef kAllocOwn[] = {"label", "at", "pinned", "live"};

ParseResult AllocOp::parse(OpAsmParser &p, OperationState &state) {
  const SMLoc at = p.getCurrentLocation();
  StringRef word;
  if (p.parseOptionalKeyword(&word) || (word != "sbuf" && word != "psum"))
    return p.emitError(at) << "expected the memory: sbuf or psum";
  TensorType type;
  if (parseLabel(p, state) || p.parseColon() || parseTensor(p, word == "sbuf" ? Space::Sbuf : Space::Psum, type))
    return failure();
  const bool pinned = succeeded(p.parseOptionalKeyword("at"));
  if (pinned || succeeded(p.parseOptionalKeyword("placed"))) {
    if (parsePair(p, state, "at", "the partition", "the byte"))
      return failure();
    if (pinned)
      state.addAttribute("pinned", p.getBuilder().getUnitAttr());
  }
  if (succeeded(p.parseOptionalKeyword("live")) &&
      parsePair(p, state, "live", "where the tensor begins to live", "where it ends to live"))
    return failure();
  define(p, state, type);
  return parseFurtherAttributes(p, state.attributes, kAllocOwn);
}

void AllocOp::print(OpAsmPrinter &p) {
  p << " " << spaceName(getTensor().getType().getSpace());
  printLabel(p, getTensor(), getLabel());
  p << " : ";
  printTensor(p, getTensor().getType());
  if (getAt() && getAt()->size() == 2)
    p << (getPinned() ? " at " : " placed ") << (*getAt())[0] << ":" << (*getAt())[1];
  if (getLive() && getLive()->size() == 2)
    p << " live " << (*getLive())[0] << ":" << (*getLive())[1];
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), kAllocOwn);
}

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  if (!getLabel().empty())
    set(getTensor(), getLabel());
}

ParseResult RegisterOp::parse(OpAsmParser &p, OperationState &state) {
  define(p, state, RegType::get(p.getContext()));
  return parseFurtherAttributes(p, state.attributes, {});
}

void RegisterOp::print(OpAsmPrinter &p) { p.printOptionalAttrDictWithKeyword((*this)->getAttrs()); }

void RegisterOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getReg(), "r"); }

// ---- loops ------------------------------------------------------------------------------------------------------------------

static ParseResult parseRegister(OpAsmParser &p, OperationState &state) {
  const SMLoc at = p.getCurrentLocation();
  Value reg;
  if (parseDefined(p, reg))
    return failure();
  if (!isa<RegType>(reg.getType()))
    return p.emitError(at) << "expected a register, and this is a tensor";
  state.addOperands(reg);
  return success();
}

ParseResult LoopOp::parse(OpAsmParser &p, OperationState &state) {
  OpAsmParser::Argument counter;
  if (p.parseArgument(counter) || p.parseLess())
    return failure();
  counter.type = RegType::get(p.getContext());
  if (nextIs(p, '%')) {
    if (parseRegister(p, state))
      return failure();
  } else {
    int64_t count = 0;
    if (parseIntegerIn(p, "the count", 0, INT_MAX, count))
      return failure();
    state.addAttribute("count", p.getBuilder().getI32IntegerAttr(static_cast<int32_t>(count)));
  }
  if (parseFurtherAttributes(p, state.attributes, {"count"}))
    return failure();
  return parseBody(p, state, false, &counter);
}

void LoopOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printRegionArgument(getBody().getArgument(0), {}, /*omitType=*/true);
  p << " < ";
  if (getCountRegister())
    p << getCountRegister();
  else
    p << static_cast<int32_t>(getCount().value_or(0));
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"count"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void LoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn set) {
  if (!region.empty() && region.getNumArguments() == 1)
    set(region.getArgument(0), "i");
}

ParseResult WhileOp::parse(OpAsmParser &p, OperationState &state) {
  if (parseRegister(p, state) || parseFurtherAttributes(p, state.attributes, {}))
    return failure();
  return parseBody(p, state, false, nullptr);
}

void WhileOp::print(OpAsmPrinter &p) {
  p << " " << getCondition();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << " ";
  p.printRegion(getBody());
}

} // namespace glia::nisa
