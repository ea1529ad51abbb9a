// What processes tell each other about their ranks.
#pragma once
#include "glia/ISA/Collective.h"
#include "glia/Sim/RankNetwork.h"

#include <optional>
#include <span>
#include <string>

namespace glia::sim {

struct RankMessage {
  enum Kind : uint8_t { Arrived, Ended, Output } kind = Arrived;
  uint64_t run = 0; // programs of several ranks are run in the same order by all processes
  int32_t rank = 0;
  uint64_t visit = 0; // Arrived: how often the rank met this group before; Output: a checksum of the rank's inputs
  Collective what;    // Arrived
  std::string text;   // Arrived: the instruction; Ended: why it failed, if it did; Output: the tensor
  std::span<const std::byte> data; // Arrived: what it gives; Output: the bytes
  RankNetwork::Message held;       // of a message that came: what `data` lies in
};

RankNetwork::Message encode(const RankMessage &m);
std::optional<RankMessage> decode(RankNetwork::Message bytes); // nullopt: not a whole message

} // namespace glia::sim
