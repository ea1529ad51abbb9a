// Processes of their own: what they do wrong, how long they take and what they leave behind does not matter to the search.
#include "glia/Reduce/Outcome.h"
#include "glia/Support/File.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glia::reduce {

namespace {

constexpr char kEnd = 0; // between the parts of a message

[[noreturn]] void cannot(const char *what) {
  throw Error("REDUCE-PROCESS", format("cannot %s: %s", what, std::strerror(errno)),
              "The machine has no room for another process or file now; end some, and try again.");
}

class Folder { // an empty one, gone afterwards
public:
  Folder() : path((std::filesystem::temp_directory_path() / "glia-reduce-XXXXXX").string()) {
    if (!::mkdtemp(path.data()))
      cannot("make a folder");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

class Child {
public:
  // In the child process, `work` is done; its result is the status. It has a group of its own, so that what it starts can be ended with
  // it and Ctrl-C is its parent's alone.
  explicit Child(const std::function<int()> &work) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    id = ::fork();
    if (id < 0)
      cannot("start a process");
    if (id == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent)
        ::_exit(1);
      for (int s : {SIGINT, SIGTERM, SIGHUP})
        ::signal(s, SIG_DFL);
      silence();
      ::_exit(work());
    }
    ::setpgid(id, id); // whoever is first
  }
  ~Child() {
    if (id > 0) {
      ::kill(-id, SIGKILL);
      wait(0);
    }
  }
  // Its status, when it has ended; waits a moment for that.
  std::optional<int> ended() {
    if (const std::optional<int> status = wait(WNOHANG))
      return status;
    ::usleep(pause);
    pause = std::min<useconds_t>(pause * 2, 20'000);
    return std::nullopt;
  }
  int status() { return *wait(0); }

private:
  pid_t id = 0;
  useconds_t pause = 500;
  std::optional<int> wait(int how) {
    int status = 0;
    pid_t which = 0;
    while ((which = ::waitpid(id, &status, how)) < 0 && errno == EINTR)
      ;
    if (which == 0)
      return std::nullopt;
    ::kill(-id, SIGKILL); // what it left running
    id = 0;
    return status;
  }
  static void silence() {
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2})
      ::dup2(nowhere, fd);
  }
};

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0)
      cannot("make a pipe");
  }
  ~Pipe() {
    shut(0);
    shut(1);
  }
  void shut(int i) {
    if (ends[i] >= 0)
      ::close(ends[i]);
    ends[i] = -1;
  }
};

void send(int fd, const std::string &message) {
  for (size_t at = 0; at < message.size();) {
    const ssize_t n = ::write(fd, message.data() + at, message.size() - at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return;
    at += static_cast<size_t>(n);
  }
}

class Timer {
public:
  explicit Timer(const Patience &p) : patience(p) {}
  bool ended() const {
    const std::chrono::duration<double> sofar = std::chrono::steady_clock::now() - start;
    return sofar.count() >= patience.seconds || (patience.stop && patience.stop());
  }

private:
  const Patience &patience;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// All that comes until the other end is shut; false: not in time.
bool receive(int fd, const Patience &patience, std::string &out) {
  char part[4096];
  for (const Timer timer(patience); !timer.ended();) {
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, 50) <= 0)
      continue;
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return true;
    out.append(part, static_cast<size_t>(n));
  }
  return false;
}

std::string messageOf(const Outcome &outcome) {
  std::string out;
  for (const Finding &f : outcome)
    out += f.code + kEnd + f.text + kEnd;
  return out + kEnd; // an empty code: all of it arrived
}

bool read(const std::string &message, Outcome &out) {
  for (size_t at = 0; at < message.size();) {
    if (message[at] == kEnd)
      return true;
    const size_t code = message.find(kEnd, at), text = message.find(kEnd, std::min(code, message.size() - 1) + 1);
    if (text == std::string::npos)
      return false;
    out.push_back({message.substr(at, code - at), message.substr(code + 1, text - code - 1)});
    at = text + 1;
  }
  return false;
}

Outcome judgeHere(const Judge &judge, const std::string &input) {
  try {
    return judge(input);
  } catch (const Error &e) {
    return outcomeOf(e.diagnostics());
  } catch (const std::bad_alloc &) {
    return {{"MEMORY", "there is not enough memory"}};
  } catch (const std::exception &e) {
    return {{"INTERNAL", e.what()}};
  }
}

} // namespace

std::string shellWord(const std::string &path) {
  if (!path.empty() &&
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+") == std::string::npos)
    return path;
  std::string out = "'";
  for (char c : path)
    out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

Outcome judgeApart(const Judge &judge, const std::string &input, const Patience &patience) {
  const Folder folder;
  Pipe pipe;
  Child child([&] {
    pipe.shut(0);
    if (::chdir(folder.path.c_str()) == 0)
      send(pipe.ends[1], messageOf(judgeHere(judge, input)));
    return 0;
  });
  pipe.shut(1);
  std::string message;
  if (!receive(pipe.ends[0], patience, message))
    return {{kEndless, format("it did not end within %.3g s", patience.seconds)}};
  const int status = child.status();
  Outcome out;
  if (!read(message, out))
    return {{kCrash, WIFSIGNALED(status) ? std::string("it ended with signal ") + ::strsignal(WTERMSIG(status))
                                         : format("it ended with status %d", WEXITSTATUS(status))}};
  return out;
}

bool succeeds(const std::string &command, const std::string &input, const std::string &ending, const Patience &patience) {
  const Folder folder;
  const std::string path = folder.path + "/input" + ending;
  writeFile(path, input);
  std::string text = command;
  const std::string file = shellWord(path);
  for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}", at + file.size()))
    text.replace(at, 2, file);
  Child child([&] {
    ::execl("/bin/sh", "sh", "-c", text.c_str(), static_cast<char *>(nullptr));
    return 127;
  });
  for (const Timer timer(patience); !timer.ended();)
    if (const std::optional<int> status = child.ended())
      return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  return false;
}

bool Trials::fails(const std::string &input) {
  const auto start = std::chrono::steady_clock::now();
  bool yes = false;
  if (keep.command.empty()) {
    last = judgeApart(judge, input, patience);
    const auto known = [&](const Finding &f) { return codes.empty() || codes.count(f.code); };
    yes = keep.in(last) && std::all_of(last.begin(), last.end(), known);
    for (const Finding &f : last)
      if (yes)
        codes.insert(f.code);
  } else {
    yes = succeeds(keep.command, input, ending, patience);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (yes)
    patience.seconds = std::min(patience.seconds, trySeconds > 0 ? trySeconds : 2 * took.count() + 1);
  return yes;
}

} // namespace glia::reduce
