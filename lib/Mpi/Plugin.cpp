// The plugin for one MPI: compiled with that MPI's header, once for each that is found when glia is built.
#include "MpiTable.h"

#include <algorithm>
#include <mpi.h>
#include <vector>

namespace {

constexpr int kLengthTag = 1, kDataTag = 2;
constexpr int64_t kMost = int64_t{1} << 30; // of one message of MPI

// A message is its length, then its bytes in pieces. MPI keeps messages between two processes in order.
struct Begun {
  int64_t bytes = 0;
  std::vector<MPI_Request> requests;
};

int begin(int *process, int *processes) {
  int given = 0, already = 0;
  if (MPI_Initialized(&already) == MPI_SUCCESS && already) // by somebody else in this process
    return 1;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
    return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, process);
  MPI_Comm_size(MPI_COMM_WORLD, processes);
  return 0;
}

void *send(int to, const void *data, int64_t bytes) {
  auto *s = new Begun;
  s->bytes = bytes;
  MPI_Isend(&s->bytes, 1, MPI_INT64_T, to, kLengthTag, MPI_COMM_WORLD, &s->requests.emplace_back());
  for (int64_t at = 0; at < bytes; at += kMost)
    MPI_Isend(static_cast<const char *>(data) + at, static_cast<int>(std::min(kMost, bytes - at)), MPI_BYTE, to, kDataTag,
              MPI_COMM_WORLD, &s->requests.emplace_back());
  return s;
}

int64_t probe(int *from) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kLengthTag, MPI_COMM_WORLD, &there, &status);
  if (!there)
    return -1;
  int64_t bytes = 0;
  *from = status.MPI_SOURCE;
  MPI_Recv(&bytes, 1, MPI_INT64_T, *from, kLengthTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return bytes;
}

void *receive(int from, void *data, int64_t bytes) {
  auto *r = new Begun;
  for (int64_t at = 0; at < bytes; at += kMost)
    MPI_Irecv(static_cast<char *>(data) + at, static_cast<int>(std::min(kMost, bytes - at)), MPI_BYTE, from, kDataTag,
              MPI_COMM_WORLD, &r->requests.emplace_back());
  return r;
}

int done(void *begun) {
  auto *b = static_cast<Begun *>(begun);
  int all = 0;
  MPI_Testall(static_cast<int>(b->requests.size()), b->requests.data(), &all, MPI_STATUSES_IGNORE);
  if (all)
    delete b;
  return all;
}

void end() { MPI_Finalize(); }
void abort() { MPI_Abort(MPI_COMM_WORLD, 1); }

const glia::MpiTable kTable = {glia::kMpiTableVersion, begin, send, probe, receive, done, end, abort};

} // namespace

extern "C" __attribute__((visibility("default"))) const glia::MpiTable *glia_mpi_table() { return &kTable; }
