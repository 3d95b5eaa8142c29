// TVM's saved JSON as a flat table of nodes, before anything is understood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/tvm_schema.h"
#include "kiln/error.h"

namespace kiln::tvm_json {

struct RawValue {
  enum class Kind : uint8_t { kAbsent, kNull, kBool, kInt, kUInt, kFloat, kString };
  Kind kind = Kind::kAbsent;
  uint32_t length = 0;  // of a string
  union {
    int64_t integer = 0;  // kBool, kInt; kUInt: a value above INT64_MAX as its two's complement
    double floating;
    const char* chars;  // into NodeTable::text
  };
  RawValue() = default;
  RawValue(Kind k, int64_t v) : kind(k), integer(v) {}
  explicit RawValue(double v) : kind(Kind::kFloat), floating(v) {}
  RawValue(const char* s, uint32_t n) : kind(Kind::kString), length(n), chars(s) {}

  std::string_view string() const { return {chars, length}; }
};

struct RawNode {
  NodeType type;
  uint32_t first, count;  // range of NodeTable::values: the type's slots, or the one value of a leaf; of an array or map: of `elements`
  uint32_t key;           // of an undecoded type: index into NodeTable::unknown_types
};

struct NodeTable {
  std::string text;  // the file; strings in `values` point into it
  std::vector<RawNode> nodes;
  std::vector<RawValue> values;
  std::vector<uint32_t> elements;  // of arrays and maps: indices of earlier nodes
  std::vector<std::string_view> unknown_types;
  RawValue root;
  std::string_view version;  // metadata.tvm_version

  // "node 17 (tirx.Add)"
  std::string name(size_t node) const;
};

// Reads the container {"root_index", "nodes", "metadata"}. Errors have no file in their place.
Result<NodeTable> read_node_table(std::string_view text);

}  // namespace kiln::tvm_json
