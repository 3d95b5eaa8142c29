#include "target/target_kinds.h"

#include <algorithm>

namespace kiln::target {

// What every kind has; kind, keys, tag and host are members of Target and read apart.
static constexpr std::string_view kCommon = "device:s from_device:i libs:S model:s target_device_type:i";

static constexpr KindInfo kKinds[] = {
#include "target/target_kinds.def"
};

std::span<const KindInfo> kind_table() { return kKinds; }

const KindInfo* find_kind(std::string_view name) {
  auto it = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindInfo& k) { return k.name == name; });
  return it == std::end(kKinds) ? nullptr : it;
}

std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (end > 0) out.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

static AttrType type_of_letter(char letter) {
  switch (letter) {
    case 's': return AttrType::kString;
    case 'i': return AttrType::kInt;
    case 'b': return AttrType::kBool;
    case 'S': return AttrType::kStrings;
    case 'T': return AttrType::kTargets;
  }
  return AttrType::kUnknown;
}

AttrType attr_type(const KindInfo* kind, std::string_view name) {
  if (name.starts_with("feature.")) return AttrType::kAny;
  for (std::string_view list : {kCommon, kind ? kind->attributes : std::string_view()}) {
    for (const std::string& word : split_words(list)) {
      if (std::string_view(word).substr(0, word.size() - 2) == name) return type_of_letter(word.back());
    }
  }
  return kind ? AttrType::kUnknown : AttrType::kAny;
}

std::vector<std::string> attr_names(const KindInfo& kind) {
  std::vector<std::string> names = {"host", "keys", "kind", "tag"};
  for (std::string_view list : {kCommon, kind.attributes}) {
    for (const std::string& word : split_words(list)) names.push_back(word.substr(0, word.size() - 2));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kiln::target
