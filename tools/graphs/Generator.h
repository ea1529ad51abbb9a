// What the parts of the generator share: the text under construction, the values that operations may read, and what is known of
// them. Numbers stay in a range in which a comparison means something: each value carries a bound, and what grows is scaled.
#pragma once
#include "Generate.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace glia::graphs {

using Shape = std::vector<int64_t>;

// How a value depends on rounding. Nothing that jumps (floor, compare, convert to an integer) is applied to a rounded float, but for
// comparisons whose result is then only moved: two right compilers may disagree about them.
enum class Trust : uint8_t { Exact, Rounded, Decided };

struct Type {
  enum Kind : uint8_t { Float, Signed, Unsigned, Pred, Small }; // Small: 8-bit floats, converted, moved and multiplied only
  const char *name;                                             // as in the text
  Kind kind;
  int bits;
  bool operator==(const Type &o) const { return name == o.name; }
  bool isFloat() const { return kind == Float; }
  bool isInteger() const { return kind == Signed || kind == Unsigned; }
  bool isPred() const { return kind == Pred; }
  bool isSmall() const { return kind == Small; }
};
extern const Type kF32, kBF16, kF16, kE4M3, kE4M3FN, kE5M2, kI32, kU32, kI16, kU16, kI8, kU8, kI1;

struct Value {
  std::string name; // "%v12"
  Type type = kF32;
  Shape shape;
  Trust trust = Trust::Exact;
  double bound = 1; // floats: rarely beyond; integers: not known
  std::string text() const;
  int64_t elements() const;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

std::string tensorType(Type t, const Shape &shape);
std::string list(const Shape &numbers);  // "1, 2, 3"
std::string array(const Shape &numbers); // array<i64: 1, 2, 3>
int64_t product(const Shape &shape);

constexpr int64_t kMostElements = 40'000;

class Generator {
public:
  Generator(Random &random, const Choice &choice) : r(random), choice(choice) {}
  Random &r;
  const Choice &choice;
  bool leftOut(std::string_view name) const;
  std::string module(); // the whole text

  // ---- text
  std::string fresh() { return "%v" + std::to_string(names++); }
  void line(const std::string &text);
  // `%v = text : ...`: `text` is all behind the equals sign.
  Value put(const std::string &text, Type t, Shape shape, Trust trust, double bound);
  // An operation whose operands and result have one type: `stablehlo.add %a, %b : type`.
  Value same(const std::string &op, const std::vector<Value> &operands, Trust trust, double bound);
  // `stablehlo.op %a, %b, attributes : (types) -> type`.
  Value arrow(const std::string &op, const std::vector<Value> &operands, const std::string &attributes, Type t, Shape shape,
              Trust trust, double bound);
  // The region that combines two scalars: `{ ^bb0(...): ... }`.
  std::string combiner(const std::string &op, Type t);

  // ---- values
  using Wanted = std::function<bool(const Value &)>;
  std::optional<Value> find(const Wanted &wanted);                                        // one of those in reach
  Value some(const Wanted &wanted, const std::function<Type()> &type, int64_t rank = -1); // found, or a new one
  Value of(Type t, const Shape &shape); // a value of that type and shape: found, broadcast, constant or an argument
  Value splat(Type t, const Shape &shape, double number);
  Value constant(Type t, const Shape &shape, bool special = false); // different numbers
  Value integers(Type t, const Shape &shape, int64_t lo, int64_t hi);
  Value bits(Type t, const Shape &shape, const std::string &literal); // dense<literal>
  Value argument(Type t, const Shape &shape);
  Value clamped(const Value &v, double bound); // within +-bound
  Value scaled(Value v);                       // back to a sane range
  Value scalarIndex();                         // i32, 0 to 15 or anything
  void keep(const Value &v);                   // others may read it
  void keepScaled(const Value &v) { keep(scaled(v)); }

  Type anyType();
  Type floatType();
  Type integerType();
  Shape anyShape(int64_t rank = -1);
  int64_t anySize();
  static Trust worst(Trust a, Trust b) { return a > b ? a : b; }
  static Trust rounded(const Value &v) { return v.trust == Trust::Decided ? v.trust : Trust::Rounded; }

  // ---- the parts: false if nothing came of it
  bool pointwise(); // Pointwise.cpp
  bool integer();
  bool compareSelect();
  bool convert();
  bool narrow();
  bool pattern();      // Patterns.cpp
  bool scan();         // Scans.cpp
  bool weightedMean(); // WeightedMean.cpp
  bool broadcast();    // Movement.cpp
  bool reshape();
  bool transpose();
  bool slice();
  bool pad();
  bool concatenate();
  bool reverse();
  bool iota();
  bool constantNumbers();
  bool dynamicSlice();
  bool dynamicUpdate();
  bool reduce(); // Reduce.cpp
  bool argmax();
  bool reduceWindow();
  bool selectAndScatter();
  bool dot(); // Contract.cpp
  bool convolution();
  bool gather(); // Index.cpp
  bool scatter();
  bool gatherWindows(); // IndexWindows.cpp
  bool scatterWindows();
  bool complexNumbers(); // Complex.cpp
  bool fourier();
  bool linalg(); // Linalg.cpp
  bool topK();   // Ordered.cpp
  bool sort();
  bool running();
  bool reducePair();
  bool wide();        // Wide.cpp
  bool countedLoop(); // Control.cpp
  bool openLoop();
  bool branch();
  bool call();

  bool draw();      // any of them
  bool drawPlain(); // what may stand in bodies
  void enter(bool function);
  std::string leave();              // the text of the body
  void fill(int64_t steps);         // a body
  Value settled(const Value &like); // made in this body, of that type and shape, no larger and no less exact

  struct Body { // of a function or a region
    std::string text;
    int indent = 2;
    std::vector<Value> values, arguments;
    bool function = false; // may take more arguments
    size_t own = 0;        // values before this one come from outside
  };
  std::vector<Body> bodies;
  Body &body() { return bodies.back(); }
  std::string functions; // private ones, finished
  bool specials = false; // NaN and infinities were written

private:
  int names = 0;
  std::string finishMain();
};

} // namespace glia::graphs
