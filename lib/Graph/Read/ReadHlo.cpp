// Reading graphs from HloModuleProto: functions, computations and their values.
#include "Accept.h"
#include "HloReader.h"
#include "glia/Graph/Read.h"

using namespace mlir;

namespace glia::graph {

namespace hlo {

static constexpr unsigned kDeepestComputation = 200;

static StringRef ref(std::string_view s) { return {s.data(), s.size()}; }

Reader::Reader(const Module &m, MLIRContext *c) : module(m), context(c), places(m, c) {
  size_t instructions = 0;
  for (const ByteCursor &in : m.computations) {
    const Computation &made = computations.emplace_back(in);
    instructions += made.instructions.size();
    if (!byId.try_emplace(made.id, computations.size() - 1).second)
      in.fail(format("two computations have the number %lld", static_cast<long long>(made.id)));
  }
  mostOperations = 10000 + 20 * instructions;
}

void Reader::unsupported(const Instruction &i, const std::string &why) const {
  i.at.fail("HLO-UNSUPPORTED", "`" + std::string(i.opcode) + "` (" + std::string(i.name) + ") " + why,
            "Give the module as it was before XLA optimised it, or as StableHLO.");
}

void Reader::wrong(const Instruction &i, const std::string &why) const {
  i.at.fail("`" + std::string(i.opcode) + "` (" + std::string(i.name) + ") " + why);
}

// ---- values -----------------------------------------------------------------------------------------------------------------

void Reader::flatten(const Shape &shape, const ByteCursor &at, SmallVectorImpl<Type> &out) const {
  if (!shape.isTuple()) {
    out.push_back(typeOf(shape, context, at));
    return;
  }
  for (const Shape &p : shape.parts)
    flatten(p, at, out);
}

SmallVector<Type> Reader::types(const Shape &shape, const ByteCursor &at) const {
  SmallVector<Type> out;
  flatten(shape, at, out);
  return out;
}

const Reader::Known &Reader::operand(const Instruction &i, const Body &body, size_t which) const {
  if (which >= i.operands.size())
    wrong(i, "has too few operands");
  const auto found = body.values.find(localId(i.operands[which]));
  if (found == body.values.end())
    wrong(i, format("uses the instruction %lld, which is not before it", static_cast<long long>(i.operands[which])));
  return found->second;
}

Value Reader::value(const Instruction &i, const Body &body, size_t which) const {
  const Known &k = operand(i, body, which);
  if (k.shape->isTuple())
    wrong(i, "takes arrays, and is given a tuple");
  return k.leaves[0];
}

Reader::Leaves Reader::operands(const Instruction &i, const Body &body, size_t from) const {
  Leaves out;
  for (size_t n = from; n < i.operands.size(); ++n)
    llvm::append_range(out, operand(i, body, n).leaves);
  return out;
}

NamedAttribute Reader::integer(StringRef name, int64_t v, unsigned bits) const {
  return named(name, IntegerAttr::get(IntegerType::get(context, bits), APInt(bits, static_cast<uint64_t>(v), true, true)));
}

Attribute Reader::matrix(ArrayRef<int64_t> v, int64_t columns) const {
  const int64_t rows = static_cast<int64_t>(v.size()) / std::max<int64_t>(columns, 1);
  return DenseIntElementsAttr::get(RankedTensorType::get({rows, columns}, IntegerType::get(context, 64)), v);
}

void Reader::count(const Instruction &i) {
  if (++operations > mostOperations)
    unsupported(i, "is in a computation that is called too often to be written out at each place");
}

Value Reader::makeConstant(const Instruction &i, Body &body, DenseElementsAttr elements) {
  count(i);
  return ConstantOp::create(body.builder, places.of(i), elements);
}

Operation *Reader::make(const Instruction &i, Body &body, StringRef name, ValueRange operands, const Attributes &attributes,
                        unsigned regions) {
  count(i);
  OperationState state(places.of(i), name);
  state.addOperands(operands);
  state.addTypes(types(i.shape, i.at));
  state.addAttributes(attributes);
  for (unsigned n = 0; n < regions; ++n)
    state.addRegion();
  if (state.name.isRegistered())
    (void)state.name.verifyInherentAttrs(state.attributes, [&] { return emitError(state.location) << name << ": "; });
  return body.builder.create(state);
}

// ---- computations -----------------------------------------------------------------------------------------------------------

const Computation &Reader::computation(const Instruction &i, size_t which) const {
  if (which >= i.computations.size())
    wrong(i, "calls too few computations");
  const auto found = byId.find(i.computations[which]);
  if (found == byId.end())
    wrong(i, format("calls the computation %lld, which does not exist", static_cast<long long>(i.computations[which])));
  return computations[found->second];
}

Reader::Leaves Reader::readInstruction(const Instruction &i, Body &body) {
  if (i.opcode == "parameter") {
    if (i.parameter < 0 || i.parameter >= static_cast<int64_t>(body.parameters.size()))
      wrong(i, "has no such number");
    return body.parameters[i.parameter].leaves;
  }
  Leaves out;
  if (readElementwise(i, body, out) || readMovement(i, body, out) || readIndexing(i, body, out) ||
      readCompute(i, body, out) || readControl(i, body, out) || readCalls(i, body, out) || readDevices(i, body, out))
    return out;
  unsupported(i, "has no equal in StableHLO");
}

Reader::Known Reader::readComputation(const Computation &c, Block *block, ArrayRef<Known> parameters) {
  if (++depth > kDeepestComputation)
    c.at.fail("HLO-UNSUPPORTED", format("computations call each other more than %u deep", kDeepestComputation),
              "Recursion has no equal in StableHLO.");
  Body body{OpBuilder::atBlockEnd(block), parameters, {}};
  for (const ByteCursor &in : c.instructions) {
    const Instruction i(in);
    Leaves leaves = readInstruction(i, body);
    const SmallVector<Type> expected = types(i.shape, in);
    if (ValueRange(leaves).getTypes() != TypeRange(expected))
      wrong(i, "gives a value of another shape than it says");
    if (!body.values.try_emplace(localId(i.id), Known{std::move(leaves), std::make_shared<const Shape>(i.shape)}).second)
      wrong(i, "has the number of another instruction");
  }
  const auto root = body.values.find(localId(c.root));
  if (root == body.values.end())
    c.at.fail("the computation " + std::string(c.name) + " has no root");
  --depth;
  return root->second;
}

std::vector<Reader::Parameter> Reader::parametersOf(const Computation &c) {
  std::vector<Parameter> out;
  for (const ByteCursor &in : c.instructions) {
    bool isParameter = false;
    forEach(in, [&](const Field &f) { isParameter |= f.number == 2 && f.text() == "parameter"; });
    if (!isParameter)
      continue;
    const Instruction i(in);
    const auto n = static_cast<uint64_t>(i.parameter);
    if (n >= c.instructions.size())
      wrong(i, "has no such number");
    if (n >= out.size())
      out.resize(n + 1);
    if (out[n].shape)
      wrong(i, "is there twice");
    out[n] = {std::make_shared<const Shape>(i.shape), places.of(i)};
  }
  for (const Parameter &p : out)
    if (!p.shape)
      c.at.fail("the computation " + std::string(c.name) + " lacks a parameter");
  return out;
}

std::vector<Reader::Known> Reader::addArguments(const Computation &c, Block *block) {
  std::vector<Known> out;
  for (const Parameter &p : parametersOf(c)) {
    Known k{{}, p.shape};
    for (const Type t : types(*p.shape, c.at))
      k.leaves.push_back(block->addArgument(t, Location(p.place)));
    out.push_back(std::move(k));
  }
  return out;
}

void Reader::fillRegion(const Instruction &i, Region &region, const Computation &c) {
  Block *block = &region.emplaceBlock();
  const std::vector<Known> parameters = addArguments(c, block);
  const Known root = readComputation(c, block, parameters);
  OpBuilder::atBlockEnd(block).create(places.of(i), StringAttr::get(context, "stablehlo.return"), root.leaves);
}

// ---- functions --------------------------------------------------------------------------------------------------------------

FlatSymbolRefAttr Reader::functionOf(const Computation &c) {
  const size_t number = static_cast<size_t>(&c - computations.data());
  auto [at, fresh] = functions.try_emplace(number);
  if (fresh) {
    std::string name(c.name.empty() ? "computation" : c.name);
    while (names.contains(name))
      name += "_";
    names[name] = 1;
    at->second = StringAttr::get(context, name);
    waiting.push_back(number);
  }
  return FlatSymbolRefAttr::get(at->second);
}

// What is given away: an entry says which result takes the memory of which parameter.
void Reader::readAliases(func::FuncOp main, ArrayRef<Known> parameters, const Shape &root) {
  if (!module.aliases)
    return;
  const auto leafOf = [](const Shape &shape, ArrayRef<int64_t> path) -> std::optional<size_t> {
    const Shape *s = &shape;
    size_t leaf = 0;
    for (const int64_t p : path) {
      if (!s->isTuple() || p < 0 || p >= static_cast<int64_t>(s->parts.size()))
        return std::nullopt;
      for (int64_t n = 0; n < p; ++n)
        leaf += s->parts[n].leaves();
      s = &s->parts[p];
    }
    return s->isTuple() ? std::nullopt : std::optional(leaf);
  };
  forEach(*module.aliases, [&](const Field &entry) {
    if (entry.number != 1)
      return;
    SmallVector<int64_t> output, input;
    int64_t parameter = 0;
    forEach(entry.message(), [&](const Field &f) {
      if (f.number == 1)
        f.appendTo(output);
      else if (f.number == 2)
        parameter = f.integer();
      else if (f.number == 3)
        f.appendTo(input);
    });
    if (parameter < 0 || parameter >= static_cast<int64_t>(parameters.size()))
      entry.data.fail(format("there is no parameter %lld to give away", static_cast<long long>(parameter)));
    size_t first = 0;
    for (int64_t n = 0; n < parameter; ++n)
      first += parameters[n].leaves.size();
    const std::optional<size_t> from = leafOf(*parameters[parameter].shape, input), to = leafOf(root, output);
    if (!from || !to)
      entry.data.fail("a parameter or result to give away does not exist");
    main.setArgAttr(static_cast<unsigned>(first + *from), "tf.aliasing_output",
                    IntegerAttr::get(IntegerType::get(context, 32), static_cast<int64_t>(*to)));
  });
}

void Reader::readFunction(const Computation &c, bool entry) {
  const Location place = NameLoc::get(StringAttr::get(context, ref(c.name)));
  auto f = func::FuncOp::create(place, entry ? StringRef("main") : functions[&c - computations.data()].getValue(),
                                FunctionType::get(context, {}, {}));
  made->push_back(f);
  Block *block = &f.getBody().emplaceBlock();
  const std::vector<Known> parameters = addArguments(c, block);
  const Known root = readComputation(c, block, parameters);
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  func::ReturnOp::create(builder, place, root.leaves);
  f.setFunctionType(
      FunctionType::get(context, block->getArgumentTypes(), llvm::to_vector(ValueRange(root.leaves).getTypes())));
  if (!entry)
    f.setPrivate();
  else
    readAliases(f, parameters, *root.shape);
}

OwningOpRef<ModuleOp> Reader::read() {
  made = ModuleOp::create(UnknownLoc::get(context), module.name.empty() ? std::nullopt : std::optional(ref(module.name)));
  const Computation *entry = nullptr;
  if (const auto found = byId.find(module.entry); found != byId.end())
    entry = &computations[found->second];
  for (const Computation &c : computations) // modules of old have no number of it
    if (!entry && !module.entryName.empty() && c.name == module.entryName)
      entry = &c;
  if (!entry)
    module.at.fail("the module has no entry computation");
  names["main"] = 1;
  readFunction(*entry, true);
  for (size_t n = 0; n < waiting.size(); ++n)
    readFunction(computations[waiting[n]], false);
  return std::move(made);
}

} // namespace hlo

// An HloProto holds the module in its first field; a module's own first field is its name, and it has computations.
static ByteCursor moduleOf(const ByteSource &source) {
  const ByteCursor whole(source);
  std::optional<ByteCursor> first;
  bool isModule = false;
  hlo::forEach(whole, [&](const hlo::Field &f) {
    if (f.number == 1 && f.wire == hlo::Wire::Bytes)
      first = f.data;
    isModule |= f.number == 2 || f.number == 5 || f.number == 6;
  });
  return isModule || !first ? whole : *first;
}

Graph readHlo(std::string_view bytes, std::string_view file) {
  const ByteSource source{bytes, std::string(file), "HLO-FORMAT",
                          "The file is cut off or damaged, or is no HloModuleProto."};
  const hlo::Module module(moduleOf(source));
  if (module.computations.empty())
    module.at.fail("there are no computations");
  return accept({}, file, [&](MLIRContext *context) { return hlo::Reader(module, context).read(); });
}

} // namespace glia::graph
