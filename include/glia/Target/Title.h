// How people are told what a target is: a file of one's own may call itself like a built-in target.
#pragma once
#include "glia/Target/Target.h"

namespace glia {

// "trn2" for what is built in; else also where it comes from: "trn2 (from mine.toml)", "trn2 (with clock.vector=2x)".
std::string titleOf(const Target &t);

} // namespace glia
