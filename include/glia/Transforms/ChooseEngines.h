// Gives every instruction without an engine one, and every transfer a way to make its descriptors that the target has.
// Runs before code generation and before the sequential executor, because some of these choices change bits (32-bit integers
// are exact on GpSimd, transposes by multiplication are not).
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// Throws Error TARGET-FEATURE with every instruction that no engine of the target runs. An instruction that breaks another rule
// on every engine gets its usual one; checkKernel says what is wrong with it.
// Forms: whether an instruction may become another one that gives the same bits on another engine. An author's calls are taken at their
// word. FewTables: free, as long as that needs no table of functions.
enum class Forms : uint8_t { Given, Free, FewTables };
// Aim: what decides between engines that give the same bits. Even: all have as much to do. Soon: each instruction is done as early as
// possible, which keeps a chain of them on one engine; the forms are given then.
enum class Aim : uint8_t { Even, Soon };
void chooseEngines(nisa::KernelOp kernel, Forms forms = Forms::Given, Aim aim = Aim::Even);

// Takes the engine from instructions that got one only so that engines are busy alike: another one gives the same bits.
void balanceAgain(mlir::Block &block);

} // namespace glia
