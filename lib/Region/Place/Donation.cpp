#include "Donation.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/DenseSet.h"

namespace glia::emit {

namespace {

[[noreturn]] void fail(mlir::Value argument, unsigned number, const std::string &what) {
  const nisa::Origin o = nisa::originOf(argument.getLoc());
  throw Error("GRAPH-DONATION", "argument " + std::to_string(number) + " is given away for " + what,
              "An argument takes the place of one result of its own type.", {o.file, o.line, 0});
}

} // namespace

std::vector<Donation> donationsOf(mlir::func::FuncOp main) {
  mlir::Operation *end = main.getBody().front().getTerminator();
  std::vector<bool> taken(end->getNumOperands());
  std::vector<Donation> out;
  const auto typeOf = [&](size_t result) { return end->getOperand(static_cast<unsigned>(result)).getType(); };
  for (mlir::BlockArgument a : main.getArguments()) {
    const auto named = main.getArgAttrOfType<mlir::IntegerAttr>(a.getArgNumber(), "tf.aliasing_output");
    if (!named)
      continue;
    const int64_t result = named.getInt();
    if (result < 0 || result >= static_cast<int64_t>(taken.size()))
      fail(a, a.getArgNumber(), "result " + std::to_string(result) + ", which there is not");
    if (typeOf(static_cast<size_t>(result)) != a.getType())
      fail(a, a.getArgNumber(), "result " + std::to_string(result) + ", which has another type");
    if (taken[static_cast<size_t>(result)])
      fail(a, a.getArgNumber(), "result " + std::to_string(result) + ", as another one is");
    taken[static_cast<size_t>(result)] = true;
    out.push_back({a.getArgNumber(), static_cast<unsigned>(result)});
  }
  for (mlir::BlockArgument a : main.getArguments()) {
    const auto donor = main.getArgAttrOfType<mlir::BoolAttr>(a.getArgNumber(), "jax.buffer_donor");
    if (!donor || !donor.getValue() || main.getArgAttr(a.getArgNumber(), "tf.aliasing_output"))
      continue;
    for (size_t r = 0; r < taken.size(); ++r)
      if (!taken[r] && typeOf(r) == a.getType()) {
        taken[r] = true;
        out.push_back({a.getArgNumber(), static_cast<unsigned>(r)});
        break;
      }
  }
  return out;
}

void orderForDonations(std::vector<Group> &groups, mlir::func::FuncOp main, const std::vector<Donation> &donations) {
  if (donations.empty())
    return;
  llvm::DenseMap<mlir::Value, size_t> maker;
  for (size_t g = 0; g < groups.size(); ++g)
    for (mlir::Value v : groups[g].outputs)
      maker[rootOf(v)] = g;
  llvm::DenseMap<mlir::Value, std::vector<size_t>> readers; // of arguments
  std::vector<std::vector<size_t>> reads(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (mlir::Value v : groups[g].inputs) {
      const mlir::Value root = rootOf(v);
      if (const auto it = maker.find(root); it != maker.end())
        reads[g].push_back(it->second);
      else if (!root.getDefiningOp())
        readers[root].push_back(g);
    }
  std::vector<size_t> order(groups.size()), place(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    order[g] = place[g] = g;
  mlir::Operation *end = main.getBody().front().getTerminator();
  for (const Donation &d : donations) {
    const auto made = maker.find(rootOf(end->getOperand(d.result)));
    const auto read = readers.find(main.getArgument(d.argument));
    if (made == maker.end() || read == readers.end())
      continue;
    const size_t writer = place[made->second];
    size_t last = 0;
    for (size_t g : read->second)
      last = std::max(last, place[g]);
    if (last <= writer)
      continue;
    // The writer, and what needs it, go behind the last reader.
    llvm::DenseSet<size_t> later = {order[writer]};
    std::vector<size_t> before, behind = {order[writer]};
    for (size_t p = writer + 1; p <= last; ++p) {
      const bool needs = llvm::any_of(reads[order[p]], [&](size_t g) { return later.contains(g); });
      if (needs)
        later.insert(order[p]);
      (needs ? behind : before).push_back(order[p]);
    }
    if (llvm::any_of(read->second, [&](size_t g) { return g != made->second && later.contains(g); }))
      continue; // a reader needs the result itself
    before.insert(before.end(), behind.begin(), behind.end());
    for (size_t i = 0; i < before.size(); ++i) {
      order[writer + i] = before[i];
      place[before[i]] = writer + i;
    }
  }
  std::vector<Group> sorted;
  for (size_t g : order)
    sorted.push_back(std::move(groups[g]));
  groups = std::move(sorted);
}

} // namespace glia::emit
