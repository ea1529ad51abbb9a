// The switch of the planted faults (plant.py): at most one is chosen, and decides otherwise than the code says.
#pragma once

namespace glia::planted {

inline int chosen = 0;       // 0: none
inline bool matters = false; // the chosen fault was met where it makes a difference

inline bool is(int fault, bool value, bool otherwise) {
  if (chosen != fault)
    return value;
  matters |= value != otherwise;
  return otherwise;
}
inline bool does(int fault) { return is(fault, true, false); }

} // namespace glia::planted
