// Element types of the device IR: code, bits, lanes, with DLPack's numbering of codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/error.h"

namespace kiln::ir {

// Values follow DLPack 1.1's DLDataTypeCode, so that a DataType and a DLDataType have the same bytes.
enum class TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kHandle = 3,  // an opaque pointer; with bits == 0 it is void
  kBFloat = 4,
  kBool = 6,
  kFloat8E3M4 = 7,
  kFloat8E4M3 = 8,
  kFloat8E4M3B11FNUZ = 9,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
  kFloat6E2M3FN = 15,
  kFloat6E3M2FN = 16,
  kFloat4E2M1FN = 17,
};

struct DataType {
  TypeCode code = TypeCode::kHandle;
  uint8_t bits = 0;
  uint16_t lanes = 0;

  constexpr bool operator==(const DataType&) const = default;

  constexpr bool is_void() const { return code == TypeCode::kHandle && bits == 0; }
  constexpr bool is_handle() const { return code == TypeCode::kHandle && bits != 0; }
  constexpr bool is_bool() const { return code == TypeCode::kBool; }
  constexpr bool is_int() const { return code == TypeCode::kInt; }
  constexpr bool is_uint() const { return code == TypeCode::kUInt; }
  // Signed or unsigned integer; bool is not one.
  constexpr bool is_integer() const { return is_int() || is_uint(); }
  // Any floating format, down to float4.
  constexpr bool is_floating() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat || code >= TypeCode::kFloat8E3M4; }
  constexpr bool is_float8() const { return bits == 8 && is_floating(); }
  constexpr bool is_vector() const { return lanes > 1; }
  constexpr DataType with_lanes(uint16_t n) const { return {code, bits, n}; }
  constexpr DataType element() const { return with_lanes(1); }
  // Bytes of one element in memory; sub-byte types round up.
  constexpr int element_bytes() const { return (bits + 7) / 8; }
};

constexpr DataType kVoid{};
constexpr DataType kHandle{TypeCode::kHandle, 64, 1};
constexpr DataType kBool{TypeCode::kBool, 8, 1};
constexpr DataType kInt8{TypeCode::kInt, 8, 1}, kInt16{TypeCode::kInt, 16, 1};
constexpr DataType kInt32{TypeCode::kInt, 32, 1}, kInt64{TypeCode::kInt, 64, 1};
constexpr DataType kUInt8{TypeCode::kUInt, 8, 1}, kUInt16{TypeCode::kUInt, 16, 1};
constexpr DataType kUInt32{TypeCode::kUInt, 32, 1}, kUInt64{TypeCode::kUInt, 64, 1};
constexpr DataType kFloat16{TypeCode::kFloat, 16, 1}, kFloat32{TypeCode::kFloat, 32, 1};
constexpr DataType kFloat64{TypeCode::kFloat, 64, 1}, kBFloat16{TypeCode::kBFloat, 16, 1};

// TVM's spelling: "int32", "float16x4", "bool", "bfloat16", "float8_e4m3fn", "handle", "void" ("" reads as void too).
// Writes the text to `out` without allocating when it has room.
void append_dtype(std::string& out, DataType dtype);
std::string to_string(DataType dtype);

// Reads TVM's spelling. Scalable vectors ("int32xvscalex4") and unknown names are errors of code kUnsupported or kParse.
Result<DataType> parse_dtype(std::string_view text);

}  // namespace kiln::ir
