// What ranks can do together; glia/ISA/Collective.h says what comes out of it.
#pragma once
#include <cstdint>

namespace glia {

enum class CollectiveKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute, Broadcast };
enum class CollectiveOp : uint8_t { Add, Multiply, Max, Min, And, Or, Xor };

} // namespace glia
