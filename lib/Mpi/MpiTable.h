// What glia needs of MPI, as a plugin offers it: binaries of different MPIs do not fit each other, so each has a plugin of its own, which is loaded when a launcher of that MPI
// has started the process. All calls come from one thread.
#pragma once
#include <cstdint>

namespace glia {

struct MpiTable {
  int version;                                            // kMpiTableVersion
  int (*begin)(int *process, int *processes);             // 0: done
  void *(*send)(int to, const void *data, int64_t bytes); // begins; the data stay until it is done
  int64_t (*probe)(int *from);                            // bytes of a message that has come, -1: none
  void *(*receive)(int from, void *data, int64_t bytes);  // begins with its data
  int (*done)(void *begun);                               // whether what was begun is done; then the handle is gone
  void (*end)();                                          // when all processes have come here
  void (*abort)();                                        // ends all processes
};
inline constexpr int kMpiTableVersion = 2;
inline constexpr const char *kMpiTableSymbol = "glia_mpi_table";

} // namespace glia
