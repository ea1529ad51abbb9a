// A call that is another one, but for what a class made of this changes.
#pragma once
#include "Interpret/Call.h"

namespace glia::interp {

class CallOf : public Call {
public:
  explicit CallOf(Call &whole) : whole(whole) { inDouble = whole.inDouble; }
  std::string_view name() const override { return whole.name(); }
  size_t operandCount() const override { return whole.operandCount(); }
  size_t resultCount() const override { return whole.resultCount(); }
  TensorType operandType(size_t i) const override { return whole.operandType(i); }
  TensorType resultType(size_t i) const override { return whole.resultType(i); }
  std::optional<Shape> ints(std::string_view a) const override { return whole.ints(a); }
  std::optional<std::string> text(std::string_view a) const override { return whole.text(a); }
  std::optional<double> number(std::string_view a) const override { return whole.number(a); }
  std::optional<Tensor> elements(std::string_view a) const override { return whole.elements(a); }
  void failAs(std::string_view code, std::string message, std::string advice) const override {
    whole.failAs(code, std::move(message), std::move(advice));
  }
  std::unique_ptr<Body> body(size_t region) override { return whole.body(region); }
  std::optional<std::string> singleOperation(size_t region) override { return whole.singleOperation(region); }
  std::vector<Datum> region(size_t region, std::vector<Datum> arguments) override {
    return whole.region(region, std::move(arguments));
  }
  std::vector<Datum> function(const std::string &name, std::vector<Datum> arguments) override {
    return whole.function(name, std::move(arguments));
  }
  size_t regionCount() const override { return whole.regionCount(); }
  void countIteration() override { whole.countIteration(); }
  Place place() const override { return whole.place(); }
  std::vector<std::vector<Datum>> exchange(const std::vector<int64_t> &ranks) override { return whole.exchange(ranks); }
  void give(int64_t to, int64_t channel, std::vector<Datum> values) override { whole.give(to, channel, std::move(values)); }
  std::vector<Datum> take(int64_t channel) override { return whole.take(channel); }

protected:
  Call &whole;
};

} // namespace glia::interp
