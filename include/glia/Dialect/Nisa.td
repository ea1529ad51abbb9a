// The structural part of the `nisa` dialect: what holds instructions together. The instructions themselves are not listed here:
// they are registered from the instruction definitions (lib/Dialect/Instructions.cpp).
#ifndef GLIA_NISA_TD
#define GLIA_NISA_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Nisa_Dialect : Dialect {
  let name = "nisa";
  let cppNamespace = "::glia::nisa";
  let summary = "Kernels: the machine's instructions on tensors in HBM, SBUF and PSUM, in sequential order.";
  let isExtensible = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerInstructions();
    // The definition an op was registered from; null for structural ops.
    static const ::glia::InstrDef *definition(::mlir::Operation *op);
    ::std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override; // names that are no op
  private:
    ::llvm::DenseMap<::mlir::OperationName, const ::glia::InstrDef *> definitions;
  public:
  }];
}

class Nisa_Type<string name, string mnem> : TypeDef<Nisa_Dialect, name> { let mnemonic = mnem; }
class Nisa_Attr<string name, string mnem> : AttrDef<Nisa_Dialect, name> { let mnemonic = mnem; }
// The text form of the ops is in lib/Dialect/StructureText.cpp; inside a kernel the prefix `nisa.` is left out.
class Nisa_Op<string mnemonic, list<Trait> traits = []> : Op<Nisa_Dialect, mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
class Nisa_RegionOp<string mnemonic, list<Trait> traits = []> : Nisa_Op<mnemonic, traits # [NoTerminator, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 0;
  let hasRegionVerifier = 1; // after the ops inside have been found sound
  code defaultDialect = [{
    static ::llvm::StringRef getDefaultDialect() { return "nisa"; }
  }];
  let extraClassDeclaration = defaultDialect;
}

def Nisa_Tensor : Nisa_Type<"Tensor", "tensor"> {
  let summary = "A tensor in one of the memories: !nisa.tensor<sbuf, f32[128, 512]>. On chip the first dimension is the partitions.";
  let parameters = (ins "::glia::Space":$space, "::glia::DType":$dtype, ArrayRefParameter<"int64_t">:$shape);
  let hasCustomAssemblyFormat = 1;
}
def Nisa_Reg : Nisa_Type<"Reg", "reg"> { let summary = "A virtual register: 32 bits that the sequencers read."; }

// Where an instruction's tensor operand starts and how it walks, relative to the tensor: the machine's access pattern.
def Nisa_Access : Nisa_Attr<"Access", "at"> {
  let parameters = (ins "uint32_t":$base, // operand number of the tensor
                        "::glia::DType":$dtype, "int32_t":$partition, "int32_t":$partitions, "int64_t":$byteOffset,
                        ArrayRefParameter<"int64_t">:$dims,    // stride, count, stride, count ... (elements), slowest first
                        ArrayRefParameter<"int64_t">:$terms);  // operand number of a register, scale, 1 if partitions ...
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t elementsPerPartition() const;
    int64_t elements() const { return elementsPerPartition() * (getPartitions() ? getPartitions() : 1); }
    // The machine's form; the registers in `dynamic` are operand numbers of the op, to be replaced by physical ones.
    ::glia::Pattern pattern() const;
  }];
}
// A register slot: the operand number of the register.
def Nisa_RegisterSlot : Nisa_Attr<"RegisterSlot", "register"> {
  let parameters = (ins "uint32_t":$operand);
  let assemblyFormat = "`<` $operand `>`";
}

def Nisa_KernelOp : Nisa_RegionOp<"kernel", [IsolatedFromAbove, NoRegionArguments, Symbol, OpAsmOpInterface]> {
  let summary = "A kernel: HBM tensors, then one nisa.core per core.";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target, OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<StrAttr>:$schedule); // "as_written": the author's order on each engine; absent: the best
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$target)>];
  let extraClassDeclaration = defaultDialect # [{
    unsigned cores(); // the number of nisa.core ops
    bool asWritten() { return getSchedule() == "as_written"; }
    ::glia::nisa::CoreOp core(unsigned number);
  }];
}

def Nisa_TensorOp : Nisa_Op<"tensor", [HasParent<"KernelOp">,
                                       DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A tensor in HBM: input, output, constant or scratch.";
  let arguments = (ins StrAttr:$label, StrAttr:$kind, UnitAttr:$isPrivate, OptionalAttr<DenseI8ArrayAttr>:$data,
                       OptionalAttr<StrAttr>:$alias,               // an output that begins as this input
                       OptionalAttr<DenseI64ArrayAttr>:$range,     // inputs: lowest and highest value, checked when it runs
                       UnitAttr:$unique);                          // inputs: no value occurs twice, checked likewise
  let results = (outs Nisa_Tensor:$tensor);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$label, "::llvm::StringRef":$kind, "::glia::nisa::TensorType":$type,
                                 CArg<"bool", "false">:$isPrivate, CArg<"::llvm::ArrayRef<int8_t>", "{}">:$data)>];
}

def Nisa_CoreOp : Nisa_RegionOp<"core", [NoRegionArguments, HasParent<"KernelOp">, OpAsmOpInterface]> {
  let summary = "What one core executes, in order.";
  let arguments = (ins I32Attr:$number);
}

def Nisa_AllocOp : Nisa_Op<"alloc", [ParentOneOf<["CoreOp", "LoopOp", "WhileOp"]>,
                                     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A tensor in SBUF or PSUM; `at` (partition, byte) is given by the author, or by allocation.";
  let arguments = (ins StrAttr:$label, OptionalAttr<DenseI64ArrayAttr>:$at, UnitAttr:$pinned, // pinned: the author gave `at`
                       OptionalAttr<DenseI64ArrayAttr>:$live); // [from, to) in program order, by allocation
  let results = (outs Nisa_Tensor:$tensor);
}

def Nisa_RegisterOp : Nisa_Op<"register", [ParentOneOf<["CoreOp", "LoopOp", "WhileOp"]>,
                                           DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A virtual register.";
  let results = (outs Nisa_Reg:$reg);
  let hasVerifier = 0;
}

def Nisa_LoopOp : Nisa_RegionOp<"loop", [ParentOneOf<["CoreOp", "LoopOp", "WhileOp"]>,
                                         DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Repeats its body; the block argument counts 0, 1, 2 ...; the count is a number or a register.";
  let arguments = (ins Optional<Nisa_Reg>:$countRegister, OptionalAttr<I32Attr>:$count);
  let extraClassDeclaration = defaultDialect # [{
    ::mlir::Value iterator() { return getBody().getArgument(0); }
  }];
}

def Nisa_WhileOp : Nisa_RegionOp<"while", [NoRegionArguments, ParentOneOf<["CoreOp", "LoopOp", "WhileOp"]>, OpAsmOpInterface]> {
  let summary = "Repeats its body while the register is not 0, tested before each iteration.";
  let arguments = (ins Nisa_Reg:$condition);
}

#endif
