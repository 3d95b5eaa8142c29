#include "ir/dtype.h"

#include <charconv>
#include <iterator>

namespace kiln::ir {

namespace {

struct Named {
  std::string_view name;
  TypeCode code;
  uint8_t bits;
};

// Formats whose name holds their width; the integers, float and bfloat are spelled stem + bits.
constexpr Named kNamed[] = {
    {"bool", TypeCode::kBool, 8},
    {"handle", TypeCode::kHandle, 64},
    {"void", TypeCode::kHandle, 0},
    {"float8_e3m4", TypeCode::kFloat8E3M4, 8},
    {"float8_e4m3", TypeCode::kFloat8E4M3, 8},
    {"float8_e4m3b11fnuz", TypeCode::kFloat8E4M3B11FNUZ, 8},
    {"float8_e4m3fn", TypeCode::kFloat8E4M3FN, 8},
    {"float8_e4m3fnuz", TypeCode::kFloat8E4M3FNUZ, 8},
    {"float8_e5m2", TypeCode::kFloat8E5M2, 8},
    {"float8_e5m2fnuz", TypeCode::kFloat8E5M2FNUZ, 8},
    {"float8_e8m0fnu", TypeCode::kFloat8E8M0FNU, 8},
    {"float6_e2m3fn", TypeCode::kFloat6E2M3FN, 6},
    {"float6_e3m2fn", TypeCode::kFloat6E3M2FN, 6},
    {"float4_e2m1fn", TypeCode::kFloat4E2M1FN, 4},
};
constexpr Named kStems[] = {
    {"int", TypeCode::kInt, 0}, {"uint", TypeCode::kUInt, 0}, {"float", TypeCode::kFloat, 0}, {"bfloat", TypeCode::kBFloat, 0}};

// Splits "x8" off the end; false when the text has no such tail.
bool read_lanes(std::string_view tail, uint16_t& lanes) {
  if (tail.size() < 2 || tail[0] != 'x') return false;
  auto [end, ec] = std::from_chars(tail.data() + 1, tail.data() + tail.size(), lanes);
  return ec == std::errc() && end == tail.data() + tail.size() && lanes > 0;
}

Error bad_dtype(std::string_view text) {
  return {Code::kParse, "'" + std::string(text.substr(0, 60)) + "' is not a dtype", "", "expected one such as int32, float16x4, bfloat16"};
}

}  // namespace

void append_dtype(std::string& out, DataType t) {
  auto lanes = [&] {
    if (t.lanes > 1) out.append("x").append(std::to_string(t.lanes));
  };
  if (t.is_void()) {
    out += "void";
    return;
  }
  for (const Named& n : kNamed) {
    if (n.code == t.code) {
      out += n.name;
      return lanes();
    }
  }
  for (const Named& n : kStems) {
    if (n.code == t.code) {
      out.append(n.name).append(std::to_string(t.bits));
      return lanes();
    }
  }
}

std::string to_string(DataType dtype) {
  std::string out;
  append_dtype(out, dtype);
  return out;
}

Result<DataType> parse_dtype(std::string_view text) {
  if (text.empty()) return kVoid;
  if (text.find("xvscale") != text.npos) {
    return Error{Code::kUnsupported, "scalable vector dtype '" + std::string(text.substr(0, 60)) + "' is not supported", "",
                 "lower with a fixed vector width"};
  }
  const Named* best = nullptr;  // the longest name that begins the text: float8_e4m3fnuz before float8_e4m3fn
  for (const Named& n : kNamed) {
    if (text.starts_with(n.name) && (!best || n.name.size() > best->name.size())) best = &n;
  }
  if (best) {
    DataType t{best->code, best->bits, uint16_t(best->bits ? 1 : 0)};
    std::string_view tail = text.substr(best->name.size());
    if (tail.empty()) return t;
    if (t.bits == 0 || !read_lanes(tail, t.lanes)) return bad_dtype(text);
    return t;
  }
  for (const Named& n : kStems) {
    if (!text.starts_with(n.name)) continue;
    std::string_view rest = text.substr(n.name.size());
    unsigned bits = 0;
    auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), bits);
    if (ec != std::errc() || bits == 0 || bits > 255) return bad_dtype(text);
    DataType t{n.code, uint8_t(bits), 1};
    std::string_view tail(end, size_t(rest.data() + rest.size() - end));
    if (!tail.empty() && !read_lanes(tail, t.lanes)) return bad_dtype(text);
    bool wide = n.code == TypeCode::kFloat ? bits == 16 || bits == 32 || bits == 64 : n.code == TypeCode::kBFloat ? bits == 16 : true;
    if (!wide) return bad_dtype(text);
    return t;
  }
  return bad_dtype(text);
}

}  // namespace kiln::ir
