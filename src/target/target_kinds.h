// The target kinds that Kiln knows without any backend, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::target {

enum class AttrType : uint8_t { kAny, kString, kInt, kBool, kStrings, kTargets, kUnknown };

struct KindInfo {
  std::string_view name;
  std::string_view keys;  // default keys, separated by spaces
  int device_type;        // DLDeviceType
  std::string_view attributes;
};

// Sorted by name.
std::span<const KindInfo> kind_table();
// Null when the table lacks it.
const KindInfo* find_kind(std::string_view name);

// The type that attribute `name` of a kind must have: kUnknown when the kind has no such attribute. A null kind (one that only a backend
// knows) takes any attribute.
AttrType attr_type(const KindInfo* kind, std::string_view name);
// Names of a kind's attributes, sorted.
std::vector<std::string> attr_names(const KindInfo& kind);
std::vector<std::string> split_words(std::string_view words);

}  // namespace kiln::target
