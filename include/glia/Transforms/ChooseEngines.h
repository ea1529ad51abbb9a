// Gives every instruction without an engine one, and every transfer a way to make its descriptors that the target has.
// Runs before code generation and before the sequential executor, because some of these choices change bits (32-bit integers
// are exact on GpSimd, transposes by multiplication are not).
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// Throws Error TARGET-FEATURE with every instruction that no engine of the target runs. An instruction that breaks another rule
// on every engine gets its usual one; checkKernel says what is wrong with it.
// Forms: whether an instruction may become another one that gives the same bits on another engine. An author's calls are taken at their
// word.
enum class Forms : uint8_t { Given, Free };
void chooseEngines(nisa::KernelOp kernel, Forms forms = Forms::Given);

// Takes the engine from instructions that got one only so that engines are busy alike: another one gives the same bits.
void balanceAgain(mlir::Block &block);

} // namespace glia
