// Pages and JSON made from the data: rules, errors, instructions, targets, topologies. `glia rules`, `glia explain`, `glia isa`,
// `glia targets`, `glia topologies`, the Python package and the generated files of docs/ use these.
#pragma once
#include "glia/Target/Topology.h"

#include <string>
#include <string_view>

namespace glia {

std::string rulesMarkdown(); // docs/rules.md
std::string rulesJson();

// What `glia explain CODE` prints: of a rule its source, advice and both programs, of another error its meaning and advice. Throws
// Error RULE-UNKNOWN.
std::string explain(std::string_view code);
std::string explainable();    // all that it knows, as a list
std::string errorsMarkdown(); // docs/errors.md

std::string isaMarkdown(); // docs/isa.md
std::string isaJson();

std::string targetsJson();               // all built-in targets
std::string targetJson(const Target &t); // one, with the origin and source of every value

std::string topologiesMarkdown(); // docs/devices.md
std::string topologiesJson();
std::string topologyJson(const Topology &t);
std::string topologyPicture(const Topology &t); // its chips and links, drawn in text

} // namespace glia
