// Two versions of one program beside each other: what became faster, by line.
#pragma once
#include "glia/Profile/Profile.h"

#include <string>

namespace glia {

struct Version {
  std::string name; // a file
  const Program &program;
  const Profile &profile;
};
std::string diffText(const Version &before, const Version &after); // ends with a newline
std::string diffJson(const Version &before, const Version &after);

} // namespace glia
