#include "glia/Runtime/Npy.h"
#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <cstring>

namespace glia {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

// The header is a Python dictionary with exactly three entries; nothing else of Python is understood.
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string_view name) : text(text), name(name) {}

  void parse(NpyArray &a, bool &fortran) {
    bool seen[3] = {};
    expect('{');
    while (!eat('}')) {
      const std::string key = quotedText();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which])
        fail("its header has an unexpected entry `" + printable(key) + "`");
      seen[which] = true;
      if (which == 0)
        a.descr = quotedText();
      else if (which == 1)
        fortran = boolean();
      else
        a.shape = shape();
      if (!eat(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at != text.size() || !seen[0] || !seen[1] || !seen[2])
      fail("its header is not complete");
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("NPY-FORMAT", "`" + printable(name, 200) + "` is no NumPy array: " + what,
                "Write it with numpy.save or numpy.savez.");
  }

private:
  std::string_view text, name;
  size_t at = 0;

  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool eat(char c) {
    skip();
    const bool yes = at < text.size() && text[at] == c;
    at += yes;
    return yes;
  }
  void expect(char c) {
    if (!eat(c))
      fail(std::string("expected `") + c + "` in its header");
  }
  std::string quotedText() {
    skip();
    const char quote = at < text.size() ? text[at] : '\0';
    if (quote != '\'' && quote != '"')
      fail("expected text in its header (structured types are not read)");
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      fail("text in its header is not closed");
    std::string out(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return out;
  }
  bool boolean() {
    skip();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (text.substr(at).starts_with(word)) {
        at += word.size();
        return word == "True";
      }
    fail("expected True or False in its header");
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> out;
    expect('(');
    while (!eat(')')) {
      skip();
      int64_t v = 0;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), v);
      if (error != std::errc() || v < 0 || out.size() >= 32)
        fail("its shape is malformed");
      at = static_cast<size_t>(end - text.data());
      out.push_back(v);
      if (!eat(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }
};

// Bytes per element of a simple type such as "<f4", or 0.
int64_t elementBytes(std::string_view descr) {
  if (descr.size() < 3 || descr.size() > 4 || std::string_view("<|>=").find(descr[0]) == std::string_view::npos)
    return 0;
  int64_t n = 0;
  auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), n);
  return error == std::errc() && end == descr.data() + descr.size() && n > 0 && n <= 16 ? n : 0;
}

// Column-major bytes to row-major ones.
std::vector<std::byte> rowMajor(const std::vector<int64_t> &shape, std::span<const std::byte> in, size_t size) {
  std::vector<std::byte> out(in.size());
  std::vector<int64_t> index(shape.size()), step(shape.size());
  int64_t stride = 1, from = 0;
  for (size_t i = 0; i < shape.size(); stride *= shape[i++])
    step[i] = stride;
  for (size_t k = 0; k < in.size() / size; ++k) {
    std::memcpy(out.data() + k * size, in.data() + static_cast<size_t>(from) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      from += step[d];
      if (++index[d] < shape[d])
        break;
      from -= step[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string out;
  for (int64_t d : shape)
    out += (out.empty() ? "" : ", ") + std::to_string(d);
  return "(" + out + (shape.size() == 1 ? ",)" : ")");
}

std::string descrOf(DType t) {
  const int n = sizeOf(t);
  if (t == DType::F32 || t == DType::TF32 || t == DType::F16)
    return "<f" + std::to_string(n);
  if (isFloat(t))
    return "|V" + std::to_string(n);
  return std::string(n == 1 ? "|" : "<") + (info(t).isSigned ? "i" : "u") + std::to_string(n);
}

bool accepts(DType t, std::string_view descr) {
  const std::string want = descrOf(t);
  if (descr == want)
    return true;
  if (descr.size() != 3 || descr[0] == '>' || descr[2] != want[2])
    return false;
  return descr[1] == want[1] || (t == DType::F8E5M2 && descr[1] == 'f'); // NumPy saves this one type as "<f1"
}

} // namespace

NpyArray parseNpy(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HeaderParser none({}, name);
  if (all.size() < 10 || all.substr(0, kMagicBytes) != std::string_view(kMagic, kMagicBytes))
    none.fail("it does not start like one");
  const int version = static_cast<unsigned char>(all[6]);
  if (version < 1 || version > 3)
    none.fail("version " + std::to_string(version) + " of the format is not known");
  size_t start = 10, length = 0;
  if (version == 1) {
    uint16_t n;
    std::memcpy(&n, all.data() + 8, 2);
    length = n;
  } else {
    if (all.size() < 12)
      none.fail("it is too short");
    uint32_t n;
    std::memcpy(&n, all.data() + 8, 4);
    length = n, start = 12;
  }
  if (length > all.size() - start)
    none.fail("its header is longer than the file");
  NpyArray a;
  bool fortran = false;
  HeaderParser(all.substr(start, length), name).parse(a, fortran);
  const int64_t size = elementBytes(a.descr);
  if (!size)
    none.fail("elements of type `" + printable(a.descr) + "` are not read");
  int64_t total = size;
  for (int64_t d : a.shape)
    if (__builtin_mul_overflow(total, d, &total))
      none.fail("its shape is too large");
  const std::span<const std::byte> data = bytes.subspan(start + length);
  if (static_cast<uint64_t>(total) != data.size())
    none.fail("it has " + std::to_string(data.size()) + " bytes of data and its shape " + shapeText(a.shape) + " needs " +
              std::to_string(total));
  if (fortran && a.shape.size() > 1)
    a.data = rowMajor(a.shape, data, static_cast<size_t>(size));
  else
    a.data.assign(data.begin(), data.end());
  return a;
}

std::vector<std::byte> formatNpy(const NpyArray &a) {
  std::string header = "{'descr': '" + a.descr + "', 'fortran_order': False, 'shape': " + shapeText(a.shape) + ", }";
  header.append(63 - (10 + header.size()) % 64, ' '); // data start at a multiple of 64
  header += '\n';
  const uint16_t length = static_cast<uint16_t>(header.size());
  std::string start = std::string(kMagic, kMagicBytes) + std::string("\x01\x00", 2);
  start.append(reinterpret_cast<const char *>(&length), 2);
  start += header;
  std::vector<std::byte> out(start.size() + a.data.size());
  std::memcpy(out.data(), start.data(), start.size());
  if (!a.data.empty())
    std::memcpy(out.data() + start.size(), a.data.data(), a.data.size());
  return out;
}

std::vector<std::byte> fitTo(const Tensor &t, NpyArray a) {
  auto bad = [&t](const std::string &what, std::string advice) {
    throw Error("RUN-INPUT", "input `" + printable(t.name) + "` " + what, std::move(advice));
  };
  const bool truth = t.dtype == DType::U8 && a.descr == "|b1"; // a byte of 0 or 1
  if (!accepts(t.dtype, a.descr) && !truth)
    bad("has elements of type `" + printable(a.descr) + "` and the program takes " + std::string(name(t.dtype)),
        "Convert the array: NumPy calls that type `" + descrOf(t.dtype) + "`" +
            (isFloat(t.dtype) && descrOf(t.dtype)[1] == 'V' ? " when an ml_dtypes array is saved." : "."));
  const bool scalar = a.shape.empty() && t.shape == std::vector<int64_t>{1}; // a program's tensors have a dimension
  if (a.shape != t.shape && !scalar)
    bad("has shape " + shapeText(a.shape) + " and the program takes " + shapeText(t.shape), "Reshape the array.");
  return std::move(a.data);
}

NpyArray toNpy(const Tensor &t, std::vector<std::byte> data) { return {descrOf(t.dtype), t.shape, std::move(data)}; }

} // namespace glia
