// The symbols of the library: the interface, and what python/glia/jax_plugin.py calls when Python ends.
#include "Calls.h"
#include "Compiled.h"

extern "C" __attribute__((visibility("default"))) const glia::pjrt::Api *GetPjrtApi() { return glia::pjrt::api(); }
extern "C" __attribute__((visibility("default"))) void GliaStopCompiling() { glia::pjrt::stopCompiling(); }
