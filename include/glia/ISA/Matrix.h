// What matmul and transpose share: packing operands for the multiplier, bitwise transposes, the rule on PSUM banks.
#pragma once
#include "glia/ISA/Check.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Gemm.h"

#include <string>
#include <vector>

namespace glia {

// All partitions of an operand as fp32 rows: the memory itself where it has that form, else packed into `values`.
GemmOperand packRows(Exec &x, int slot, std::vector<float> &values, bool always = false);
// Where a factor of a matmul is made if it cannot be read in place. Kept from one instruction to the next.
struct FactorSpace {
  std::vector<float> values;
  std::vector<int32_t> columns;
};
// The same for a factor of a matmul, which may be fp32 or bf16 with any strides: it is read once, on its way into the panels.
GemmOperand factor(Exec &x, int slot, FactorSpace &space);
// dst (+)= stationary^T moving, rounded to dst's type; dst is [M, N].
void multiplyInto(Exec &x, int dst, GemmOperand stationary, GemmOperand moving, int64_t K, int64_t M, int64_t N,
                  bool accumulate);
// dst[m][n] = src[from[n]][m] bit by bit, 0 where from[n] is negative. dst may be wider than src: upper bytes are 0.
void transposeRows(Exec &x, int dst, int src, const std::vector<int> &from);

// Types a bitwise transpose on the Tensor engine can give: the source's own; 2 bytes for a source of 1 byte.
bool isTransposeType(DType dst, DType src);
std::string transposeTypeText(DType src);
// rule PSUM-ONE-BANK: the operand stays in one PSUM bank, unless the target takes moving operands of more than a bank.
void checkOneBank(Check &c, int slot);

} // namespace glia
