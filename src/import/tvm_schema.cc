#include "import/tvm_schema.h"

#include <unordered_map>

namespace kiln::tvm_json {

namespace {

// The rows of tvm_schema.def in order: a node type, then its fields.
struct Row {
  bool is_node;
  NodeType type;
  FieldRow field;
};
constexpr Row kRows[] = {
#define KILN_FIELD_NAME(name)
#define KILN_NODE(id, key) {true, NodeType::id, {Field::kCount, key, How::kAbsent, How::kAbsent}},
#define KILN_FIELD(name, tilelang, tvm) {false, NodeType::kOther, {Field::name, #name, How::tilelang, How::tvm}},
#define KILN_END()
#include "import/tvm_schema.def"
#undef KILN_FIELD_NAME
#undef KILN_NODE
#undef KILN_FIELD
#undef KILN_END
};

constexpr auto kFields = [] {
  std::array<FieldRow, std::size(kRows)> out{};
  for (size_t i = 0; i < std::size(kRows); ++i) out[i] = kRows[i].field;
  return out;
}();

constexpr auto make_types() {
  using enum NodeType;
  std::array<TypeRow, kNodeTypes> out{};
  constexpr std::pair<NodeType, std::string_view> kLeaves[] = {{kOther, ""},
                                                               {kNone, "None"},
                                                               {kBool, "bool"},
                                                               {kInt, "int"},
                                                               {kFloat, "float"},
                                                               {kString, "ffi.String"},
                                                               {kArray, "ffi.Array"},
                                                               {kMap, "ffi.Map"},
                                                               {kOp, "ir.Op"},
                                                               {kTargetKind, "target.TargetKind"},
                                                               {kSourceName, "ir.SourceName"}};
  for (auto [type, key] : kLeaves) out[static_cast<size_t>(type)] = {type, key, nullptr, 0};
  TypeRow* row = nullptr;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].is_node) {
      row = &out[static_cast<size_t>(kRows[i].type)];
      *row = {kRows[i].type, kRows[i].field.name, &kFields[i] + 1, 0};
    } else {
      ++row->size;
    }
  }
  return out;
}

constexpr auto make_slots() {
  std::array<std::array<uint8_t, static_cast<size_t>(Field::kCount)>, kNodeTypes> out{};
  for (auto& slots : out) slots.fill(0xff);
  for (const TypeRow& row : make_types()) {
    for (uint8_t i = 0; i < row.size; ++i) out[static_cast<size_t>(row.type)][static_cast<size_t>(row.fields[i].field)] = i;
  }
  return out;
}

}  // namespace

const std::array<TypeRow, kNodeTypes> kTypes = make_types();
const std::array<std::array<uint8_t, static_cast<size_t>(Field::kCount)>, kNodeTypes> kSlots = make_slots();

NodeType find_type(std::string_view key) {
  static const auto* const by_key = [] {
    auto* map = new std::unordered_map<std::string_view, NodeType>;
    for (const TypeRow& row : kTypes) map->emplace(row.key, row.type);
    return map;
  }();
  auto it = by_key->find(key);
  return it == by_key->end() ? NodeType::kOther : it->second;
}

}  // namespace kiln::tvm_json
