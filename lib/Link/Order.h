// The order between calls: who waits for which call, where (docs/linking.md). On each core the Sync engine is the hub: it learns that a
// call is over from a mark of each engine and from the transfers nobody waited for, and tells engines that a call may begin.
#pragma once
#include "Layout.h"

#include <deque>
#include <optional>

namespace glia::link {

struct CoreStart {                              // what comes before a call on one core
  int level = -1;                               // the call that has to be over
  std::vector<uint32_t> dependent;              // tensors of the object that Sync has to wait for
  std::vector<SyncOp> waits;                    // of the Sync engine
  std::vector<SyncOp> signals;                  // by it
  std::vector<SyncOp> engineWaits[kNumEngines]; // by the first instruction of an engine
  std::vector<std::pair<uint32_t, std::vector<SyncOp>>>
      later;                                  // waits of the Sync engine before its instruction n, ascending
  std::optional<std::vector<SyncOp>> barrier; // a barrier between the cores comes first, with these waits
  int barrierAfter = -1;                      // the call that it keeps apart from this one
};

class Order {
public:
  Order(const Composition &c, const Layout &layout, const Program &program);
  // Calls in their order, each once.
  std::vector<CoreStart> next(uint32_t call, uint32_t object, int slot, Layout &tensors);

private:
  struct PerStream { // of calls aside
    int call[kStreams] = {-1, -1};
    int &operator[](int stream) { return call[stream]; }
    int operator[](int stream) const { return call[stream]; }
    bool any() const { return call[0] >= 0 || call[1] >= 0; }
    void add(const PerStream &o) { // the later ones
      for (int s = 0; s < kStreams; ++s)
        call[s] = std::max(call[s], o[s]);
    }
    bool isBeyond(const PerStream &o) const { return call[0] > o[0] || call[1] > o[1]; }
  };
  struct Access {                    // of a tensor by one core
    int wrote = -1, read = -1;       // the last call
    PerStream asideWrote, asideRead; // the last calls aside
    Hull writes, reads;              // of all calls
  };
  struct Core {
    int known = -1;                                // Sync knows that all calls up to this one are over here
    int cross = -1;                                // ... on the other core
    int told[kNumEngines], toldCross[kNumEngines]; // what the engines have been told of that
    int inSlot[2] = {-1, -1};                      // the last call there
    std::deque<int> marks[kNumEngines];            // calls whose marks are not consumed
    int completing[2] = {-1, -1};                  // the call whose transfers are to be waited for, per slot
    int amount[2] = {0, 0};
    int touched[kNumEngines][2]; // the last call in which an engine touched SBUF, PSUM
    // Calls aside: the last ones; up to which Sync knows that they are over; what the engines have been told of that; what is to be waited for.
    PerStream aside, asideKnown, toldAside[kNumEngines];
    int asideAmount[kStreams] = {0, 0};
  };
  const Composition &c;
  const Layout &layout;
  const Program &program; // as far as it is made
  const bool serialSbuf, serialPsum;
  std::vector<Core> cores;
  std::vector<std::array<Access, 2>> accesses; // by tensor of the program, by core

  void waitFor(int core, int call, std::vector<SyncOp> &out);
  void waitForAside(int core, const PerStream &calls, std::vector<SyncOp> &out);
  struct Need {
    int here = -1, other = -1; // calls on this core, on the other one
    PerStream aside;
    void add(const Need &n) {
      here = std::max(here, n.here);
      other = std::max(other, n.other);
      aside.add(n.aside);
    }
  };
  Need needOf(uint32_t tensor, const TensorUse &u, int core) const;
  int serialNeed(const Core &k, const ObjectFacts &f, int core, int engine) const;
  uint32_t tensorOf(uint32_t call, uint32_t object, int slot, uint32_t tensor, Layout &tensors) const;
};

} // namespace glia::link
