#include "import/tvm_schema.h"

#include <unordered_map>
#include <vector>

namespace kiln::tvm_json {

namespace {

struct Tables {
  std::vector<FieldRow> fields;
  std::vector<TypeRow> types;
  std::vector<std::array<uint8_t, static_cast<size_t>(Field::kCount)>> slots;
  std::unordered_map<std::string_view, NodeType> by_key;

  Tables() {
    using enum NodeType;
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
    for (auto [type, key] : kLeaves) types.push_back({type, key, nullptr, 0});
    std::vector<size_t> first(types.size(), 0);
#define KILN_FIELD_NAME(name)
#define KILN_NODE(id, key)                \
  types.push_back({id, key, nullptr, 0}); \
  first.push_back(fields.size());
#define KILN_FIELD(name, tilelang, tvm) fields.push_back({Field::name, #name, How::tilelang, How::tvm});
#define KILN_END() types.back().size = static_cast<uint8_t>(fields.size() - first.back());
#include "import/tvm_schema.def"
#undef KILN_FIELD_NAME
#undef KILN_NODE
#undef KILN_FIELD
#undef KILN_END
    slots.resize(types.size());
    for (size_t t = 0; t < types.size(); ++t) {
      types[t].fields = fields.data() + first[t];
      slots[t].fill(0xff);
      for (uint8_t i = 0; i < types[t].size; ++i) slots[t][static_cast<size_t>(types[t].fields[i].field)] = i;
      by_key.emplace(types[t].key, types[t].type);
    }
  }
};

const Tables& tables() {
  static const auto* const t = new Tables;
  return *t;
}

}  // namespace

const TypeRow& type_row(NodeType type) { return tables().types[static_cast<size_t>(type)]; }

NodeType find_type(std::string_view key) {
  auto it = tables().by_key.find(key);
  return it == tables().by_key.end() ? NodeType::kOther : it->second;
}

uint8_t slot_of(NodeType type, Field field) { return tables().slots[static_cast<size_t>(type)][static_cast<size_t>(field)]; }

}  // namespace kiln::tvm_json
