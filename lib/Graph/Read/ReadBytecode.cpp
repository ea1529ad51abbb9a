// Reading graphs from StableHLO's portable bytecode: operations and regions.
#include "Accept.h"
#include "BytecodeAttributes.h"
#include "VhloOperations.h"
#include "glia/Graph/Read.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace glia::graph {

namespace {

constexpr unsigned kDeepestRegion = 200;

// What of an operation is in the file, besides its regions.
struct ReadOperation {
  StringRef dialect, name;
  Location location;
  NamedAttrList attributes;
  SmallVector<Type> types;
  SmallVector<Value> operands;
  unsigned regions = 0;
  bool isolated = false;
};

// Values are numbered region by region: a region's numbers begin behind all of the regions around it, up to one that is isolated.
struct Scope {
  std::vector<Value> values;
  size_t next = 0;
};

class OperationReader {
public:
  OperationReader(const BytecodeFile &f, MLIRContext *c) : file(f), context(c), table(f, c) {}
  OwningOpRef<ModuleOp> read();

private:
  // What ends the block that is read: `return` of a function, of a region, or of a computation that is read in place.
  enum class Parent : uint8_t { Module, Function, Operation, InPlace };
  struct Place {
    Block *block;
    Parent parent;
    Scope *scope;
    SmallVector<Value> *returned = nullptr; // of a computation in place
    ValueRange arguments = {};              // likewise
  };

  ReadOperation readHead(ByteCursor &at, Scope &scope);
  void readProperties(ByteCursor &at, const BytecodeFile::OperationName &name, NamedAttrList &attributes);
  void skipUseOrders(ByteCursor &at, size_t values);
  void readOperation(ByteCursor &at, const Place &place);
  void readRegions(ByteCursor &at, const ReadOperation &op, Scope &scope,
                   llvm::function_ref<Place(unsigned, Scope *)> place);
  void readBlock(ByteCursor &at, const Place &place);
  void define(const ByteCursor &at, Scope &scope, ValueRange values);

  void readModule(ByteCursor &at, ReadOperation &op);
  void readVhlo(ByteCursor &at, ReadOperation &op, const Place &place);
  void make(ByteCursor &at, ReadOperation &op, const std::string &name, Parent parent, const Place &place);
  void readConstant(ByteCursor &at, ReadOperation &op, const Place &place);
  void readSharding(ByteCursor &at, ReadOperation &op, const Place &place);
  void readInPlace(ByteCursor &at, ReadOperation &op, const Place &place);

  const BytecodeFile &file;
  MLIRContext *context;
  AttributeTable table;
  OwningOpRef<ModuleOp> module;
  unsigned depth = 0;
};

} // namespace

// ---- one operation without its regions --------------------------------------------------------------------------------------

void OperationReader::define(const ByteCursor &at, Scope &scope, ValueRange values) {
  if (values.size() > scope.values.size() - scope.next)
    at.fail("a region has more values than it announces");
  for (const Value v : values)
    scope.values[scope.next++] = v;
}

// The order in which uses are listed; nothing depends on it.
void OperationReader::skipUseOrders(ByteCursor &at, size_t values) {
  for (uint64_t n = values > 1 ? at.count() : 1; n-- > 0;) {
    if (values > 1)
      at.varint();
    for (uint64_t k = at.flagged().first; k-- > 0;)
      at.varint();
  }
}

namespace {
enum Mask : uint8_t {
  Attributes = 1,
  Results = 2,
  Operands = 4,
  Successors = 8,
  Regions = 16,
  UseOrders = 32,
  Properties = 64
};
} // namespace

ReadOperation OperationReader::readHead(ByteCursor &at, Scope &scope) {
  const uint64_t index = at.varint();
  if (index >= file.names.size())
    at.fail(format("there is no name of an operation %llu", static_cast<unsigned long long>(index)));
  const BytecodeFile::OperationName &name = file.names[index];
  const uint8_t mask = at.byte();
  ReadOperation op{StringRef(name.dialect.data(), name.dialect.size()), StringRef(name.name.data(), name.name.size()),
                   table.location(at)};
  if (mask & Attributes) {
    const auto dictionary = dyn_cast<DictionaryAttr>(table.attribute(at));
    if (!dictionary)
      at.fail("the attributes of an operation are expected");
    op.attributes = NamedAttrList(dictionary);
  }
  if (mask & Properties)
    readProperties(at, name, op.attributes);
  if (mask & Results)
    for (uint64_t n = at.count(); n-- > 0;)
      op.types.push_back(table.type(at));
  if (mask & Operands)
    for (uint64_t n = at.count(); n-- > 0;) {
      const uint64_t number = at.varint();
      if (number >= scope.values.size() || !scope.values[number])
        at.fail(format("the value %llu is used and not defined before", static_cast<unsigned long long>(number)));
      op.operands.push_back(scope.values[number]);
    }
  if (mask & Successors)
    at.fail("a block branches to another one");
  if (mask & UseOrders)
    skipUseOrders(at, op.types.size());
  if (mask & Regions) {
    const auto [n, isolated] = at.flagged();
    if (n > at.left())
      at.fail("an operation has more regions than there are bytes");
    op.regions = static_cast<unsigned>(n);
    op.isolated = isolated;
  }
  return op;
}

// Properties are attributes in the order of their names; optional ones have a flag.
void OperationReader::readProperties(ByteCursor &at, const BytecodeFile::OperationName &name, NamedAttrList &attributes) {
  if (!name.registered) {
    const auto dictionary = dyn_cast<DictionaryAttr>(table.attribute(at));
    if (!dictionary)
      at.fail("the properties of an operation are expected");
    attributes.append(dictionary.getValue());
    return;
  }
  const uint64_t index = at.varint();
  if (index >= file.properties.size())
    at.fail(format("there are no properties %llu", static_cast<unsigned long long>(index)));
  ByteCursor in = file.properties[index];
  const StringRef op(name.name.data(), name.name.size());
  const auto required = [&](ArrayRef<StringRef> names) {
    for (const StringRef n : names)
      attributes.set(n, table.attribute(in));
  };
  const auto optional = [&](ArrayRef<StringRef> names) {
    for (const StringRef n : names)
      if (const auto [i, there] = in.flagged(); there)
        attributes.set(n, table.attribute(in, i));
  };
  if (name.dialect == "vhlo") {
    if (const VhloOperation *known = findVhloOperation(op))
      required(known->attributes);
    else
      return; // refused by its name
  } else if (name.dialect == "builtin" && op == "module") {
    optional({"sym_name", "sym_visibility"});
  } else if (name.dialect == "sdy" && op == "mesh") {
    required({"mesh", "sym_name"});
  } else if (name.dialect == "sdy" && op == "manual_computation") {
    required({"in_shardings", "manual_axes", "out_shardings"});
  } else if (name.dialect == "sdy" && (op == "sharding_constraint" || op == "reshard")) {
    required({"sharding"});
  } else if (op == "constant") { // of Shardy, or of StableHLO where VHLO has no form for its elements
    required({"value"});
  } else {
    return; // of an annotation, or refused by its name
  }
  if (!in.done())
    in.fail("bytes are left behind the properties of `" + op.str() + "`");
}

// ---- regions ----------------------------------------------------------------------------------------------------------------

void OperationReader::readBlock(ByteCursor &at, const Place &place) {
  const auto [operations, hasArguments] = at.flagged();
  SmallVector<Type> types;
  SmallVector<Location> places;
  if (hasArguments) {
    for (uint64_t n = at.count(); n-- > 0;) {
      const auto [index, located] = file.version >= 4 ? at.flagged() : std::pair(at.varint(), true);
      types.push_back(table.type(at, index));
      places.push_back(located ? table.location(at) : UnknownLoc::get(context));
    }
    if (file.version >= 3 && at.byte())
      skipUseOrders(at, types.size());
  }
  if (place.parent == Parent::InPlace) {
    if (TypeRange(types) != place.arguments.getTypes())
      at.fail("a computation takes other values than it is given");
    define(at, *place.scope, place.arguments);
  } else {
    place.block->addArguments(types, places);
    define(at, *place.scope, place.block->getArguments());
  }
  if (operations > at.left())
    at.fail("a block has more operations than there are bytes");
  for (uint64_t n = operations; n-- > 0;)
    readOperation(at, place);
}

void OperationReader::readRegions(ByteCursor &outer, const ReadOperation &op, Scope &around,
                                  llvm::function_ref<Place(unsigned, Scope *)> place) {
  if (++depth > kDeepestRegion)
    outer.fail(format("regions are nested more than %u deep", kDeepestRegion));
  ByteCursor section;
  const bool inSection = op.isolated && file.version >= 2 && op.regions;
  if (inSection) {
    const auto [kind, data] = readSection(outer);
    if (kind != kIrSection)
      outer.fail("the region of an operation is expected");
    section = data;
  }
  ByteCursor &at = inSection ? section : outer;
  Scope own;
  Scope &scope = op.isolated ? own : around;
  for (unsigned i = 0; i < op.regions; ++i) {
    const uint64_t blocks = at.varint();
    if (blocks > 1)
      at.fail("a region has several blocks");
    if (blocks == 0) {
      place(i, nullptr);
      continue;
    }
    const size_t size = scope.values.size(), next = scope.next;
    const uint64_t values = at.varint();
    if (values > file.ir.left() - std::min(size, file.ir.left())) // each value takes a byte of its own
      at.fail("a region has more values than there are bytes");
    scope.values.resize(size + values);
    scope.next = size;
    readBlock(at, place(i, &scope));
    scope.values.resize(size);
    scope.next = next;
  }
  if (inSection && !section.done())
    section.fail("bytes are left behind a region");
  --depth;
}

// ---- kinds of operations ----------------------------------------------------------------------------------------------------

void OperationReader::readOperation(ByteCursor &at, const Place &place) {
  ReadOperation op = readHead(at, *place.scope);
  if (op.dialect == "vhlo")
    return readVhlo(at, op, place);
  if ((op.dialect == "sdy" || op.dialect == "stablehlo") && op.name == "constant")
    return readConstant(at, op, place);
  if (op.dialect == "sdy")
    return readSharding(at, op, place);
  if (op.dialect == "builtin" && op.name == "module" && place.parent == Parent::Module && !module)
    return readModule(at, op);
  if (op.dialect == "builtin" && op.name == "unrealized_conversion_cast" && op.types == ValueRange(op.operands).getTypes())
    return define(at, *place.scope, op.operands); // types of VHLO and of other dialects are the same here
  const std::string name = (op.dialect + "." + op.name).str();
  if (op.dialect == "func" || op.dialect == "stablehlo" || op.dialect == "chlo" || op.dialect == "mhlo")
    at.fail("BYTECODE-FORMAT", "the operation '" + name + "' is stored as such, and a portable artifact holds VHLO",
            "Write the module as a portable artifact, or as text.");
  at.fail("GRAPH-OPERATION", "unknown operation '" + name + "'", "A portable artifact holds operations of VHLO and Shardy.");
}

void OperationReader::readModule(ByteCursor &at, ReadOperation &op) {
  module = ModuleOp::create(op.location);
  (*module)->setAttrs(op.attributes.getDictionary(context));
  if (op.regions != 1)
    at.fail("a module has one region");
  Scope none;
  readRegions(at, op, none, [&](unsigned, Scope *scope) { return Place{module->getBody(), Parent::Module, scope}; });
}

void OperationReader::readVhlo(ByteCursor &at, ReadOperation &op, const Place &place) {
  const VhloOperation *known = findVhloOperation(op.name);
  if (!known)
    at.fail("BYTECODE-VERSION", "the operation `" + op.name.str() + "` of VHLO is unknown",
            "Write the artifact for StableHLO 1.17 or older.");
  convertVhloAttributes(*known, op.attributes, context, at);
  if (known->name == "return" && place.parent == Parent::InPlace)
    at.fail("a computation ends with a return of something else");
  const bool isFunction = known->name == "func";
  if (isFunction != (place.parent == Parent::Module))
    at.fail("functions are expected in a module, and only there");
  if (isFunction && op.regions != 1)
    at.fail("a function has one region");
  const std::string name = isFunction                                                    ? "func.func"
                           : known->name == "call"                                       ? "func.call"
                           : known->name != "return" || place.parent != Parent::Function ? ("stablehlo." + known->name).str()
                                                                                         : "func.return";
  make(at, op, name, isFunction ? Parent::Function : Parent::Operation, place);
}

// The operation in the graph, with its regions.
void OperationReader::make(ByteCursor &at, ReadOperation &op, const std::string &name, Parent parent, const Place &place) {
  OperationState state(op.location, name);
  if (state.name.isRegistered()) // what is wrong is reported, and the rest is read
    (void)state.name.verifyInherentAttrs(op.attributes, [&] { return emitError(op.location) << name << ": "; });
  state.attributes = std::move(op.attributes);
  state.addOperands(op.operands);
  state.addTypes(op.types);
  for (unsigned i = 0; i < op.regions; ++i)
    state.addRegion();
  Operation *made = Operation::create(state);
  place.block->push_back(made);
  define(at, *place.scope, made->getResults());
  if (!op.regions)
    return;
  readRegions(at, op, *place.scope, [&](unsigned i, Scope *scope) {
    Block *block = nullptr;
    if (scope)
      made->getRegion(i).push_back(block = new Block);
    return Place{block, parent, scope};
  });
}

void OperationReader::readConstant(ByteCursor &at, ReadOperation &op, const Place &place) {
  const auto value = dyn_cast_or_null<ElementsAttr>(op.attributes.get("value"));
  if (!value || !op.operands.empty() || op.regions || op.types.size() != 1 || place.parent == Parent::Module)
    at.fail("a constant has elements and one result");
  OperationState state(op.location, ConstantOp::getOperationName());
  state.addAttribute("value", value);
  state.addTypes(op.types);
  Operation *made = Operation::create(state);
  place.block->push_back(made);
  define(at, *place.scope, made->getResults());
}

// ---- Shardy -----------------------------------------------------------------------------------------------------------------

void OperationReader::readSharding(ByteCursor &at, ReadOperation &op, const Place &place) {
  // These say where the parts of a tensor are, and the tensor is the same.
  static constexpr StringLiteral kIdentities[] = {"propagation_barrier", "data_flow_edge", "all_gather",
                                                  "all_slice",           "all_to_all",     "collective_permute",
                                                  "func_data_flow_edge"};
  const bool plain = !op.regions && op.types == ValueRange(op.operands).getTypes();
  if ((op.name == "mesh" && op.types.empty() && !op.regions) || op.name == "sharding_constraint" || op.name == "reshard" ||
      op.name == "manual_computation") {
    make(at, op, "sdy." + op.name.str(), Parent::Operation, place);
  } else if (op.name == "sharding_group" && op.types.empty() && !op.regions) {
    return;
  } else if (llvm::is_contained(kIdentities, op.name) && plain) {
    define(at, *place.scope, op.operands);
  } else if (op.name == "return" && place.parent == Parent::InPlace && op.types.empty() && !op.regions) {
    *place.returned = op.operands;
  } else if (op.name == "return" && place.parent == Parent::Operation && op.types.empty() && !op.regions) {
    make(at, op, "sdy.return", Parent::Operation, place);
  } else if (op.name == "named_computation") {
    readInPlace(at, op, place);
  } else {
    at.fail("GRAPH-DEVICES", "the operation 'sdy." + op.name.str() + "' divides the graph among several devices",
            "Compile for one device: a mesh of one, or no shard_map.");
  }
}

// The body of a computation takes the place of the operation.
void OperationReader::readInPlace(ByteCursor &at, ReadOperation &op, const Place &place) {
  if (op.regions != 1 || place.parent == Parent::Module)
    at.fail("a computation has one region and is in a function");
  // The results have the numbers before the body's, and get their values after it.
  const size_t first = place.scope->next;
  if (op.types.size() > place.scope->values.size() - first)
    at.fail("a region has more values than it announces");
  place.scope->next += op.types.size();
  SmallVector<Value> returned;
  readRegions(at, op, *place.scope,
              [&](unsigned, Scope *scope) { return Place{place.block, Parent::InPlace, scope, &returned, op.operands}; });
  if (ValueRange(returned).getTypes() != TypeRange(op.types))
    at.fail("a computation returns other values than it has");
  for (const auto [i, v] : llvm::enumerate(returned))
    place.scope->values[first + i] = v;
}

OwningOpRef<ModuleOp> OperationReader::read() {
  ByteCursor at = file.ir;
  Scope none;
  const auto [operations, hasArguments] = at.flagged();
  if (operations != 1 || hasArguments)
    at.fail("one module is expected");
  readOperation(at, Place{nullptr, Parent::Module, &none});
  if (!at.done())
    at.fail("bytes are left behind the module");
  return std::move(module);
}

Graph readBytecode(std::string_view bytes, std::string_view file) {
  const ByteSource source{bytes, std::string(file), "BYTECODE-FORMAT",
                          "The file is cut off or damaged, or is no portable artifact of StableHLO."};
  const BytecodeFile container(source);
  return accept({}, file, [&](MLIRContext *context) { return OperationReader(container, context).read(); });
}

} // namespace glia::graph
