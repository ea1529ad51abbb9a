#include "PairSends.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Dialect/Nisa.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include <map>

namespace glia::emit {

namespace {

[[noreturn]] void refuse(mlir::Operation *op, const char *what, const char *advice) {
  const nisa::Origin o = nisa::originOf(op->getLoc());
  throw Error("GRAPH-COLLECTIVE", "`" + opName(op).str() + "`: " + what, advice, {o.file, o.line, 0});
}

graph::ChannelHandleAttr channelOf(mlir::Operation *op) {
  constexpr int64_t kDevices = 1; // the type of a channel between devices
  const auto host = op->getAttrOfType<mlir::BoolAttr>("is_host_transfer");
  const auto channel = op->getAttrOfType<graph::ChannelHandleAttr>("channel_handle");
  if ((host && host.getValue()) || channel.getType() != kDevices)
    refuse(op, "an exchange with the host", "A program runs without the host: make it an argument or a result.");
  return channel;
}

mlir::DenseIntElementsAttr pairsOf(mlir::Operation *op) {
  const auto pairs = op->getAttrOfType<mlir::DenseIntElementsAttr>("source_target_pairs");
  if (!pairs || pairs.empty())
    refuse(op, "it does not say who sends to whom", "Give source_target_pairs.");
  return pairs;
}

void receive(mlir::Operation *recv, mlir::Operation *send) {
  if (send->getBlock() != recv->getBlock())
    refuse(recv, "its send stands in another loop or branch", "Send and receive in the same one.");
  const auto pairs = pairsOf(recv);
  if (pairs != pairsOf(send))
    refuse(recv, "its send has other pairs of ranks", "Give both the same source_target_pairs.");
  const mlir::ValueRange sent = send->getOperands().drop_back();
  const mlir::ResultRange received = recv->getResults().drop_back();
  if (sent.getTypes() != received.getTypes())
    refuse(recv, "its send gives tensors of other types", "Receive what is sent.");
  GraphBuilder g(recv);
  for (auto [from, to] : llvm::zip(sent, received))
    to.replaceAllUsesWith(g.make("collective_permute", {from}, from.getType(),
                                 {g.b.getNamedAttr("source_target_pairs", pairs),
                                  g.b.getNamedAttr("channel_handle", recv->getAttr("channel_handle"))}));
}

// What only says that an operation comes after another.
void eraseWithToken(mlir::Operation *op) {
  op->getResults().back().replaceAllUsesWith(op->getOperands().back());
  op->erase();
}

} // namespace

void pairSends(mlir::func::FuncOp main) {
  std::map<int64_t, std::vector<mlir::Operation *>> waiting; // sends by channel, the last one first
  std::vector<mlir::Operation *> done;
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) == "send") {
      std::vector<mlir::Operation *> &others = waiting[channelOf(op).getHandle()];
      others.insert(others.begin(), op);
    } else if (opName(op) == "recv") {
      std::vector<mlir::Operation *> &sends = waiting[channelOf(op).getHandle()];
      if (sends.empty())
        refuse(op, "nothing is sent to its channel before", "Send first: each rank runs the same program.");
      receive(op, sends.back());
      done.insert(done.end(), {op, sends.back()});
      sends.pop_back();
    }
  }
  for (const auto &[channel, sends] : waiting)
    if (!sends.empty())
      refuse(sends.back(), "nobody receives from its channel", "Add the recv: each rank runs the same program.");
  for (mlir::Operation *op : done)
    eraseWithToken(op);
}

} // namespace glia::emit
