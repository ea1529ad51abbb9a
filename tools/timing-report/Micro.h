// The rows of the report that are about single instructions and transfers.
#pragma once
#include "Validation.h"

namespace glia::validation {
std::vector<Row> microRows();
} // namespace glia::validation
