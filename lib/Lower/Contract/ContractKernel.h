// Writes a contraction as its plan says: what comes when, what is multiplied with it, and the epilogue of every block.
#pragma once
#include "ContractPlan.h"

namespace glia::emit {

void writeContraction(KernelBuilder &k, const ContractPlan &plan, Epilogue &epilogue, mlir::Value root);

} // namespace glia::emit
