// The one symbol of the library.
#include "Calls.h"

extern "C" __attribute__((visibility("default"))) const glia::pjrt::Api *GetPjrtApi() { return glia::pjrt::api(); }
