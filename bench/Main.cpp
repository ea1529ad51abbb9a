// glia-bench replay|profile|verify|certificate|container matmul|loops|unknown|strided INSTRUCTIONS: measures one thing on one large program in a process of its
// own (so that the peak of the memory is its own) and prints one line of JSON. A replay counts what is executed, the others what is
// written down.
#include "Programs.h"
#include "glia/Profile/Profile.h"
#include "glia/Program/Container.h"
#include "glia/Program/Decode.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"
#include "glia/Verify/Certificate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

using namespace glia;

// Of processor time, of all threads: other programs on the machine do not count.
static double processorTime() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

static double seconds(const std::function<void()> &work) {
  const double start = processorTime();
  work();
  return processorTime() - start;
}

static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

static double medianOf(int times, const std::function<void()> &work) {
  std::vector<double> v;
  for (int i = 0; i < times; ++i)
    v.push_back(seconds(work));
  return median(v);
}

static double peakMiB() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) / 1024;
}

static int replay(const Program &p) {
  TimingOptions options;
  options.stalls = false;
  uint64_t executed = 0;
  double total = 0;
  const double s = medianOf(9, [&] { // lowering included
    const TimingResult r = simulateTime(p, options);
    executed = r.instructions;
    total = r.total;
  });
  std::printf("{\"instructions\": %llu, \"seconds\": %.6f, \"rate\": %.0f, \"predicted_us\": %.3f}\n",
              (unsigned long long)executed, s, static_cast<double>(executed) / s, total / 1000);
  return 0;
}

// Lines, critical path, waits, bounds, memory; and the page. GLIA_BENCH_PAGE keeps it.
static int profileOnce(const Program &p) {
  TimingOptions options;
  options.timeline = true;
  Profile x;
  const double s = seconds([&] { x = profileOf(p, options); });
  std::string page;
  const double written = seconds([&] { page = profileHtml(p, x); });
  std::printf("{\"instructions\": %llu, \"seconds\": %.6f, \"page_seconds\": %.6f, \"page_mb\": %.2f, \"peak_mib\": %.1f}\n",
              (unsigned long long)x.time.instructions, s, written, static_cast<double>(page.size()) / 1e6, peakMiB());
  if (const char *path = std::getenv("GLIA_BENCH_PAGE"))
    writeFile(path, page);
  return 0;
}

static int verifyOnce(const Program &p) {
  const double before = peakMiB();
  VerifyResult r;
  const double s = seconds([&] { r = verify(p); });
  for (size_t i = 0; i < r.diagnostics.size() && i < 3; ++i)
    std::fprintf(stderr, "%s\n", render(r.diagnostics[i]).c_str());
  std::printf("{\"instructions\": %llu, \"seconds\": %.6f, \"peak_mib\": %.1f, \"program_mib\": %.1f, \"ok\": %s}\n",
              (unsigned long long)p.instructionCount(), s, peakMiB(), before, r.ok() ? "true" : "false");
  return r.ok() ? 0 : 1;
}

static int certificate(const Program &p) {
  std::vector<std::byte> bytes;
  if (!certify(p, bytes).ok())
    return 1;
  const double without = medianOf(3, [&] { verify(p); }), with = medianOf(3, [&] { verifyWith(p, bytes); });
  std::printf("{\"instructions\": %llu, \"without\": %.6f, \"with\": %.6f, \"bytes\": %zu}\n",
              (unsigned long long)p.instructionCount(), without, with, bytes.size());
  return 0;
}

static int container(const Program &p) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("glia-bench-" + std::to_string(getpid()) + ".glia")).string();
  save(p, path);
  const double s = medianOf(9, [&] { load(path); });
  const double bytes = static_cast<double>(std::filesystem::file_size(path));
  std::filesystem::remove(path);
  std::printf("{\"instructions\": %llu, \"bytes_per_instruction\": %.2f, \"seconds\": %.6f}\n",
              (unsigned long long)p.instructionCount(), bytes / static_cast<double>(p.instructionCount()), s);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(
        stderr, "usage: glia-bench replay|profile|verify|certificate|container matmul|loops|unknown|strided INSTRUCTIONS\n");
    return 2;
  }
  try {
    const std::string_view what = argv[1], which = argv[2];
    const uint64_t n = std::strtoull(argv[3], nullptr, 10);
    const Counted how = what == "replay" || what == "profile" ? Counted::Executed : Counted::Written;
    const Program p = which == "matmul"    ? unrolledMatmul(n)
                      : which == "unknown" ? unknownLoops(n)
                      : which == "strided" ? stridedTransfers(n)
                                           : loopHeavy(n, how);
    return what == "replay"        ? replay(p)
           : what == "profile"     ? profileOnce(p)
           : what == "verify"      ? verifyOnce(p)
           : what == "certificate" ? certificate(p)
                                   : container(p);
  } catch (const Error &e) {
    std::fprintf(stderr, "%s\n", render(e.diagnostics().front()).c_str());
    return 1;
  }
}
