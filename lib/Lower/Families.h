// Makes each family; one function per file.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

const Family &rowsFamily();        // RowsFamily.cpp
const Family &contractFamily();    // ContractFamily.cpp
const Family &convolutionFamily(); // ConvolutionFamily.cpp
const Family &movementFamily();    // MovementFamily.cpp
const Family &controlFamily();     // ControlFamily.cpp
const Family &kernelFamily();      // KernelCalls.cpp
const Family &windowFamily();      // WindowFamily.cpp
const Family &scanFamily();        // ScanFamily.cpp
const Family &gatherFamily();      // GatherFamily.cpp
const Family &scatterFamily();     // ScatterFamily.cpp
const Family &topKFamily();        // TopKFamily.cpp
const Family &weightedFamily();    // WeightedFamily.cpp
const Family &gradientFamily();    // GradientFamily.cpp
const Family &collectiveFamily();  // CollectiveFamily.cpp

} // namespace glia::emit
