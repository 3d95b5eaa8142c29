#include "cases/npy.h"

#include <charconv>
#include <cstring>

#include "import/import.h"

namespace kiln::cases {

namespace {

Error bad(const std::string& path, std::string message) {
  return {Code::kParse, std::move(message), path, "expected an array that numpy.save wrote"};
}

// Text of a key's value in the header, which is a Python dictionary: up to the next comma outside brackets.
std::string_view header_value(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == header.npos) return {};
  at = header.find(':', at);
  if (at == header.npos) return {};
  size_t begin = header.find_first_not_of(' ', at + 1);
  int open = 0;
  for (size_t i = begin; i < header.size(); ++i) {
    if (header[i] == '(') ++open;
    if (header[i] == ')') --open;
    if (open == 0 && (header[i] == ',' || header[i] == '}')) return header.substr(begin, i - begin);
  }
  return {};
}

bool parse_shape(std::string_view text, std::vector<int64_t>& shape) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  const char *p = text.data() + 1, *end = text.data() + text.size() - 1;
  while (p < end) {
    if (*p == ' ' || *p == ',') {
      ++p;
      continue;
    }
    int64_t v = 0;
    auto [next, ec] = std::from_chars(p, end, v);
    if (ec != std::errc() || v < 0) return false;
    shape.push_back(v);
    p = next;
  }
  return true;
}

// Fortran order has the first index fastest.
void to_c_order(Array& a) {
  std::vector<char> out(a.data.size());
  size_t item = static_cast<size_t>(a.item_bytes), n = a.shape.size();
  std::vector<int64_t> index(n, 0);
  for (int64_t c = 0; c < a.elements(); ++c) {
    int64_t f = 0;
    for (size_t d = n; d-- > 0;) f = f * a.shape[d] + index[d];
    std::memcpy(out.data() + static_cast<size_t>(c) * item, a.data.data() + static_cast<size_t>(f) * item, item);
    for (size_t d = n; d-- > 0 && ++index[d] == a.shape[d];) index[d] = 0;
  }
  a.data = std::move(out);
}

}  // namespace

Result<Array> read_npy(const std::string& path) {
  auto file = read_file(path);
  if (!file) return file.error();
  const std::string& s = *file;
  if (s.size() < 10 || std::memcmp(s.data(), "\x93NUMPY", 6) != 0) return bad(path, "not a .npy file");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(s[i])); };
  int version = s[6];
  if (version < 1 || version > 3 || s.size() < 12) return bad(path, "a .npy file of unknown version");
  size_t length_bytes = version == 1 ? 2 : 4, length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  size_t start = 8 + length_bytes + length;
  if (start > s.size()) return bad(path, "the .npy header is cut short");
  std::string_view header(s.data() + 8 + length_bytes, length);
  Array a;
  std::string_view descr = header_value(header, "descr");
  if (descr.size() < 5 || (descr[1] != '<' && descr[1] != '|'))
    return bad(path, "unknown element type " + std::string(descr.substr(0, 40)));
  a.kind = descr[2];
  a.item_bytes = std::atoi(std::string(descr.substr(3)).c_str());
  bool known = (a.kind == 'f' || a.kind == 'i' || a.kind == 'u' || a.kind == 'b') &&
               (a.item_bytes == 1 || a.item_bytes == 2 || a.item_bytes == 4 || a.item_bytes == 8);
  if (!known) return bad(path, "unknown element type " + std::string(descr.substr(0, 40)));
  if (!parse_shape(header_value(header, "shape"), a.shape)) return bad(path, "the .npy header has no shape");
  int64_t bytes = a.item_bytes;
  for (int64_t d : a.shape) {
    if (__builtin_mul_overflow(bytes, d, &bytes)) return bad(path, "the array's shape is too large");
  }
  if (static_cast<size_t>(bytes) != s.size() - start) {
    return bad(path, "expected " + std::to_string(bytes) + " bytes of elements, got " + std::to_string(s.size() - start));
  }
  a.data.assign(s.begin() + static_cast<std::ptrdiff_t>(start), s.end());
  if (header_value(header, "fortran_order") == "True") to_c_order(a);
  return a;
}

}  // namespace kiln::cases
