// The commands of the prompt over a compiled program.
#include "glia/Debug/Debugger.h"
#include "Commands.h"
#include "Marks.h"
#include "Names.h"
#include "glia/Support/Text.h"

#include <map>

namespace glia {

using namespace debug;

namespace {

constexpr std::string_view kHelp = R"(the compiled program in one order of its engines and queues, step by step:
  break k.py:24, break 24, break vector#12, break core1.vector#12, break tensor_tensor     before such an instruction
  break acc, break acc[0:4, 0], break step 500, break time 3.2us     after a write, a number of steps, at a predicted time;  all with `if r3 == 5 and acc[0, 0] > 1`
  tbreak: once;  watch nan | inf | denormal | saturation | range LOW HIGH | write X         stops after what writes such a value
  delete [N], info breakpoints
  run, continue, until WHERE      from the start; on; to a place
  step [N], step ENGINE, line     instructions of any engine; one of an engine; to the next source line of the engine in view
  micro [N]                       single steps: a wait that passes, an instruction, a part of a transfer
  back [N], back to STEP          steps back, by running again to there
  print acc[0:4, 0], print x, print r3, print core0.vector.r3, print SEMAPHORE, print sbuf[0:4, 1024:1088] as bf16
  info streams, info flight [QUEUE], info semaphores, info registers [ENGINE]
  who wrote acc[3, 0], who reads acc[3, 0]
  list [ENGINE], quit
Commands may be shortened (b, tb, c, r, s, u, p, l, i). ? is an element that nothing has defined, ~ one that a transfer
under way writes.)";

} // namespace

class Debugger::State {
public:
  State(const Program &p, TensorData inputs, const RunOptions &options, Write write)
      : program(p), stop(options.stop), write(std::move(write)), replay(p, std::move(inputs), options), marks(replay),
        values(replay) {
    while (focus + 1 < engines() && replay.machine().engineStates()[static_cast<size_t>(focus)].ended())
      ++focus;
  }

  bool command(std::string_view text) { return obey(*this, commands, text); }
  void say(std::string_view text) { write(std::string(text) + "\n"); }

  void view() {
    if (replay.ended()) {
      const RunResult &r = replay.machine().so();
      say(format("%s after %llu steps", r.ok() ? "the program has ended" : "the run stops",
                 (unsigned long long)replay.steps()));
      for (const auto *d : {&r.fault, &r.trap})
        if (*d)
          say(render(**d));
      return;
    }
    const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(focus)];
    say(format("step %llu: ", (unsigned long long)replay.steps()) +
        (s.ended() ? streamName(focus) + " has ended" : instrText(program, s.id())));
  }

private:
  template <class D> friend Commands debug::commandsOf(D &, Commands);
  const Program &program;
  const StopQuestion stop;
  const Write write;
  Replay replay;
  Marks marks;
  Values values;
  int focus = 0; // the engine in view
  const Commands commands = commandsOf(*this, {{"micro", {}, [this](std::string_view rest) { micro(countOf(rest)); }}});

  int engines() const { return static_cast<int>(program.cores) * kNumEngines; }
  std::string_view help() const { return kHelp; }

  // ---- going on

  // Until `wanted` or a breakpoint says so, or to the end.
  void goOn(const std::function<bool()> &wanted) {
    std::string why;
    if (replay.steps() == 0 && !replay.ended() && !wanted)
      why = marks.atStart(focus);
    if (const std::optional<double> time = marks.nextTime(); time && why.empty() && !wanted)
      replay.pauseAt(*time);
    while (why.empty() && replay.advance()) {
      why = marks.reason(focus);
      if (wanted && wanted())
        break;
      if (replay.steps() % kStepsPerQuestion == 0 && stop && stop())
        throw Interrupted();
    }
    if (replay.paused())
      why = marks.atTime();
    if (!why.empty())
      say(why);
    view();
  }

  void run() {
    goTo(0);
    goOn({});
  }

  bool did(sim::Strict::Taken::Kind kind) { return replay.machine().taken().kind == kind; }
  int mover() { return static_cast<int>(replay.machine().taken().who.who); }

  void step(std::string_view rest) {
    const std::optional<int> engine = parseStream(program, rest);
    uint64_t left = engine ? 1 : countOf(rest);
    if (engine && replay.machine().engineStates()[static_cast<size_t>(*engine)].ended())
      throw Error("DEBUG-PLACE", streamName(*engine) + " has ended");
    goOn([&] {
      if (!did(sim::Strict::Taken::Instruction) || (engine && mover() != *engine))
        return false;
      say("did " + instrText(program, replay.machine().taken().id));
      focus = mover();
      return --left == 0;
    });
  }

  void micro(uint64_t left) {
    goOn([&] {
      const sim::Strict::Taken &t = replay.machine().taken();
      if (t.kind == sim::Strict::Taken::Part)
        say(format(t.who.ahead ? "moved part %d, before its turn, of " : "did part %d of ", t.who.part) +
            instrText(program, t.id));
      else
        say((t.kind == sim::Strict::Taken::Wait ? "passed a wait: " : "did ") + instrText(program, t.id));
      if (t.kind != sim::Strict::Taken::Part)
        focus = mover();
      return --left == 0;
    });
  }

  uint32_t originInView() {
    const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(focus)];
    return s.ended() ? 0 : program.stream(s.core, s.engine).instrs[s.pc].origin;
  }

  void line() {
    const std::string before = placeOf(program, originInView());
    const int engine = focus;
    goOn([&] {
      return did(sim::Strict::Taken::Instruction) && mover() == engine &&
             (placeOf(program, originInView()) != before ||
              replay.machine().engineStates()[static_cast<size_t>(engine)].ended());
    });
  }

  void goTo(uint64_t step) {
    replay.goTo(step);
    marks.goneBack();
  }

  // ---- looking

  void print(std::string_view rest) {
    if (rest.empty())
      throw Error("DEBUG-COMMAND", "print what?", "Say print acc[0:4, 0], print r3, print a semaphore.");
    say(values.print(rest, focus));
  }

  void info(std::string_view rest) {
    const std::string_view what = word(rest);
    if (what.empty() || std::string_view("streams").starts_with(what))
      streams();
    else if (std::string_view("flight").starts_with(what) || std::string_view("queues").starts_with(what))
      flight(rest);
    else if (std::string_view("semaphores").starts_with(what))
      semaphores();
    else if (std::string_view("registers").starts_with(what))
      registers(rest);
    else if (std::string_view("breakpoints").starts_with(what))
      say(marks.list());
    else
      throw Error("DEBUG-COMMAND", "info about what?", "Say info streams, flight, semaphores, registers or breakpoints.");
  }

  void streams() {
    for (int i = 0; i < engines(); ++i) {
      const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(i)];
      if (s.size == 0)
        continue;
      const std::string mark = i == focus ? "-> " : "   ";
      if (s.ended())
        say(mark + streamName(i) + "  has ended");
      else if (replay.machine().canMove(i))
        say(mark + instrText(program, s.id()));
      else
        say(mark + instrText(program, s.id()) + "  " + replay.machine().standing(i));
    }
  }

  // What each queue does now; of a queue that is named, also what waits in it.
  void flight(std::string_view queue) {
    std::map<std::string, std::vector<std::string>> lines;
    for (const sim::Strict::Flight &f : replay.machine().flights()) {
      std::string text;
      for (const sim::InstrId &id : f.issuers)
        text += instrText(program, id) + ", ";
      lines[f.queue].push_back(text + format("%d parts to do", f.left));
    }
    bool any = false;
    for (const auto &[name, transfers] : lines) {
      if (!queue.empty() && !name.ends_with(" " + std::string(queue)))
        continue;
      any = true;
      const size_t shown = queue.empty() ? 1 : transfers.size();
      for (size_t i = 0; i < shown; ++i)
        say(name + ": " + transfers[i] +
            (shown < transfers.size() ? format("; %zu more behind it", transfers.size() - 1) : ""));
    }
    if (!any)
      say("nothing is in flight" + (queue.empty() ? "" : " in " + printable(queue)));
  }

  void semaphores() {
    for (size_t i = 0; i < program.semaphores.size(); ++i)
      say(format("core%d.", program.semaphores[i].core) + program.semaphores[i].name + ": " +
          std::to_string(replay.machine().semaphoreNow(static_cast<int>(i))));
    if (program.semaphores.empty())
      say("the program has no semaphores");
  }

  void registers(std::string_view rest) {
    const std::optional<int> engine = rest.empty() ? focus : parseStream(program, rest);
    if (!engine)
      throw Error("DEBUG-COMMAND", "`" + printable(rest) + "` is no engine", "Say info registers core0.vector.");
    const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(*engine)];
    std::string out;
    for (size_t r = 0; r < s.state.regs.size(); ++r)
      if (replay.machine().isDefinedRegister(*engine, static_cast<int>(r)))
        out += format(" r%zu = %d", r, s.state.regs[r]);
    say(streamName(*engine) + ":" + (out.empty() ? " no register is defined" : out));
  }

  void who(std::string_view rest) {
    const std::string_view what = word(rest);
    if ((what != "wrote" && what != "reads") || rest.empty())
      throw Error("DEBUG-COMMAND", "who did what?", "Say who wrote acc[3, 0] or who reads acc[3, 0].");
    if (rest.ends_with(" next"))
      rest.remove_suffix(5);
    const Elements e = values.elements(rest);
    say(std::string(rest) + ": " + (what == "wrote" ? wrote(e) : reads(e)));
  }

  // Both run the same order once more, beside this run.
  std::string wrote(const Elements &e) {
    Replay other = replay.again();
    other.record(true);
    std::string found = "nothing has written it";
    while (other.steps() < replay.steps() && other.advance()) {
      for (const Touched &t : other.touched())
        if (t.write && overlaps(e.list, sizeOf(e.dtype), t))
          found = format("written at step %llu by ", (unsigned long long)other.steps()) + instrText(program, t.by) +
                  (e.object && !(t.object == *e.object) ? ", as part of `" + program.objectName(t.object) + "`" : "");
      if (other.steps() % kStepsPerQuestion == 0 && stop && stop())
        throw Interrupted();
    }
    return found;
  }

  std::string reads(const Elements &e) {
    Replay other = replay.again();
    other.goTo(replay.steps());
    other.record(true);
    while (other.advance()) {
      for (const Touched &t : other.touched())
        if (overlaps(e.list, sizeOf(e.dtype), t))
          return format(t.write ? "nobody reads it before it is written again, at step %llu by " : "read at step %llu by ",
                        (unsigned long long)other.steps()) +
                 instrText(program, t.by);
      if (other.steps() % kStepsPerQuestion == 0 && stop && stop())
        throw Interrupted();
    }
    return "nobody reads it any more";
  }

  void list(std::string_view rest) {
    const std::optional<int> engine = rest.empty() ? focus : parseStream(program, rest);
    if (!engine)
      throw Error("DEBUG-COMMAND", "`" + printable(rest) + "` is no engine", "Say list core0.vector.");
    focus = *engine;
    const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(*engine)];
    if (s.size == 0)
      return say(streamName(*engine) + " has no instructions");
    for (uint32_t i = s.pc > 4 ? s.pc - 4 : 0; i < std::min(s.pc + 6, s.size); ++i)
      say((i == s.pc ? "-> " : "   ") + instrText(program, {static_cast<uint8_t>(s.core), s.engine, i}));
  }
};

Debugger::Debugger(const Program &p, TensorData inputs, const RunOptions &options, Write write)
    : state(std::make_unique<State>(p, std::move(inputs), options, std::move(write))) {}
Debugger::~Debugger() = default;
bool Debugger::command(std::string_view text) { return state->command(text); }
void Debugger::greet() { state->view(); }

} // namespace glia
