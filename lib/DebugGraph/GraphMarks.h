// Where an evaluation stops: at lines, operations, functions, values that are made, steps, and at values that are worth a look.
#pragma once
#include "GraphValues.h"

namespace glia::debug {

struct GraphMark {
  int number = 0;
  std::string text; // as it is listed
  bool once = false;
  std::string condition;                // empty: always
  llvm::DenseSet<mlir::Operation *> at; // before one of these
  mlir::Value made;                     // after it has been made; null: not of this kind
  std::optional<uint64_t> step;         // before this one
  Look look;                            // after such a value was made
};

class GraphMarks {
public:
  GraphMarks(mlir::ModuleOp module, GraphReplay &replay, GraphText &text, GraphValues &values);

  // `24`, `f.py:24`, `add`, `@relu`, `%5`, `step 500`; each with ` if CONDITION`.
  std::string addBreak(std::string_view text, bool once);
  // `nan`, `inf`, `denormal`, `saturation`, `range LOW HIGH`.
  std::string addWatch(std::string_view text);
  void remove(std::string_view number); // empty: all
  std::string list() const;
  // Why to stop before the operation it stands at; empty: go on. Breakpoints that count once are removed unless it only asks.
  std::string reason(bool asks = false);
  void goneBack() { seen.clear(); }

private:
  mlir::ModuleOp module;
  GraphReplay &replay;
  GraphText &text;
  GraphValues &values;
  std::vector<GraphMark> marks;
  int numbers = 0;
  struct Seen { // what was found since the last operation began
    int number;
    std::string what;
  };
  std::vector<Seen> seen;

  std::string add(GraphMark m);
  GraphMark operations(std::string_view where);
  void results(mlir::Operation &op, const std::vector<interp::Datum> &results);
  bool accept(const GraphMark &m);
};

} // namespace glia::debug
