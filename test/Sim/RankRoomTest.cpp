// Ranks of this process meet those of another one, whose messages the test sends.
#include "../../lib/Sim/RankRoom.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace glia;
using namespace glia::sim;

namespace {

// Process 0 of 2. Nobody is at the other end.
class LoneNetwork final : public RankNetwork {
public:
  int process() const override { return 0; }
  int processes() const override { return 2; }
  void send(int /*process*/, std::shared_ptr<const Message> /*message*/) override {}
  void listen(std::function<void(int, Message)> /*listener*/) override {}
  void expect(int /*more*/) override {}
  void abandon() override {}
};

constexpr int kRanks = 4, kElements = 1 << 18; // ranks 0 and 1 are here

Collective sumOfAll() {
  Collective c;
  c.elements = kElements;
  c.ranks = c.width = kRanks;
  c.groups = {0, 1, 2, 3};
  return c;
}

std::span<const std::byte> bytesOf(const std::vector<float> &v) { return std::as_bytes(std::span(v)); }

} // namespace

// The others' last message and their end come together: whoever still sleeps is not stuck, and the sum is made once.
TEST(RankRoom, ranksWhoEndBehindTheLastMeetingLeaveNobodyStuck) {
  LoneNetwork network;
  const std::vector<float> given(kElements, 1.0F);
  for (int time = 0; time < 300; ++time) {
    RankRoom room(kRanks, &network, std::chrono::seconds(60), 2);
    std::vector<SharedBytes> sums(2);
    std::vector<std::string> failures(2);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.emplace_back([&, r] {
        const auto i = static_cast<size_t>(r);
        try {
          room.takeTurn(r, {});
          sums[i] = room.meet(r, sumOfAll(), bytesOf(given), "here", {});
        } catch (const std::exception &e) {
          failures[i] = e.what();
        }
      });
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (time % 4)));
    for (const RankMessage::Kind kind : {RankMessage::Arrived, RankMessage::Ended})
      for (int r = 2; r < kRanks; ++r) {
        RankMessage m;
        m.kind = kind;
        m.rank = r;
        if (kind == RankMessage::Arrived)
          m.what = sumOfAll(), m.text = "there", m.data = bytesOf(given);
        room.hear(std::move(m));
      }
    for (std::thread &t : ranks)
      t.join();
    ASSERT_EQ(sums[0], sums[1]) << "made twice, time " << time;
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(failures[i], "") << "rank " << i << ", time " << time;
      const std::vector<float> expected(kElements, 4.0F);
      ASSERT_EQ(sums[i]->size(), bytesOf(expected).size());
      ASSERT_EQ(std::memcmp(sums[i]->data(), expected.data(), sums[i]->size()), 0) << "rank " << i << ", time " << time;
    }
  }
}
