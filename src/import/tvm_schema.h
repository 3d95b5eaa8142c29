// The schema of TVM's saved JSON as tables: which fields a node type has, and whether a field's integer is a value or a node's index.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kiln::tvm_json {

enum class NodeType : uint8_t {
  kOther,  // a type that the importer does not decode; an error only where a decoded node needs it
  // Leaves and containers of tvm-ffi, whose data is not an object.
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kArray,
  kMap,
  kOp,
  kTargetKind,
  kSourceName,
#define KILN_FIELD_NAME(name)
#define KILN_NODE(id, key) id,
#define KILN_FIELD(name, tilelang, tvm)
#define KILN_END()
#include "import/tvm_schema.def"
#undef KILN_FIELD_NAME
#undef KILN_NODE
#undef KILN_FIELD
#undef KILN_END
  kCount,
};

enum class Field : uint8_t {
#define KILN_FIELD_NAME(name) name,
#define KILN_NODE(id, key)
#define KILN_FIELD(name, tilelang, tvm)
#define KILN_END()
#include "import/tvm_schema.def"
#undef KILN_FIELD_NAME
#undef KILN_NODE
#undef KILN_FIELD
#undef KILN_END
  kCount,
};

enum class How : uint8_t { kAbsent, kInline, kNode };

constexpr size_t kNodeTypes = static_cast<size_t>(NodeType::kCount);

struct FieldRow {
  Field field;
  std::string_view name;
  How tilelang, tvm;  // in TileLang's dialect, in Apache TVM 0.27's
};

// A node type with its fields; a field's position among them is its slot.
struct TypeRow {
  NodeType type;
  std::string_view key;
  const FieldRow* fields;
  uint8_t size;
};

// By enumerator; leaves and containers have a key and no fields.
extern const std::array<TypeRow, kNodeTypes> kTypes;
extern const std::array<std::array<uint8_t, static_cast<size_t>(Field::kCount)>, kNodeTypes> kSlots;

inline const TypeRow& type_row(NodeType type) { return kTypes[static_cast<size_t>(type)]; }
// Slot of `field` in `type`, or 0xff.
inline uint8_t slot_of(NodeType type, Field field) { return kSlots[static_cast<size_t>(type)][static_cast<size_t>(field)]; }
// kOther when the importer does not know the key.
NodeType find_type(std::string_view key);

}  // namespace kiln::tvm_json
