// Compilation targets in TVM's forms.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/error.h"

namespace kiln {

namespace registry {
struct KindSlot;  // the registry's list for one target kind
}

// Value of a target attribute.
using AttrValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

// An immutable target; copies share their data. Safe to read from any thread.
class Target {
 public:
  // Reads TVM's three forms: a kind name ("KIND"), a string with options ("KIND -arch=sm_90a -keys=gpu,x"), a JSON object
  // ({"kind": "KIND", "arch": "sm_90a", "host": {"kind": "HOST"}}). Kinds are those of TVM and TileLang and those for which a backend has a
  // manifest or a codegen is registered; the latter take any attribute. Unknown kinds and attributes are errors of code kUnknownTarget with
  // the nearest name, malformed text and wrong types of code kInvalidArgument. Keys default to those of the kind; no other default is
  // filled in (TVM asks the devices of this machine for some), so that the result depends on the text alone. Text over 64 KiB is refused.
  static Result<Target> parse(std::string_view text);

  const std::string& kind() const { return data_->kind; }
  const std::vector<std::string>& keys() const { return data_->keys; }
  // Sorted by name, for stable output. Without kind, keys, tag and host.
  const std::map<std::string, AttrValue, std::less<>>& attrs() const { return data_->attrs; }
  const std::string& tag() const { return data_->tag; }
  // Null when no host is set.
  const Target* host() const { return data_->host.get(); }

  // The string attribute `name`, or `fallback`.
  std::string attr(std::string_view name, std::string_view fallback = "") const;
  bool has_key(std::string_view key) const;
  // The same target with one more key, before the others; itself when it has the key.
  Target with_key(std::string_view key) const;
  // DLPack's DLDeviceType of the devices that this target's code runs on; kDLExtDev (12) for kinds that only a backend knows.
  int device_type() const;

  // {"kind":"KIND","tag":"","keys":[...],"arch":"..."}: attributes sorted; parse() reads it back to an equal target.
  std::string to_json() const;
  // "cuda -arch=sm_90a -keys=cuda,gpu"
  std::string to_string() const;

  bool operator==(const Target& other) const;

  // The registry's list for this kind, found once when the target is parsed.
  registry::KindSlot* slot() const { return data_->slot; }

 private:
  struct Data {
    std::string kind, tag;
    std::vector<std::string> keys;
    std::map<std::string, AttrValue, std::less<>> attrs;
    std::shared_ptr<const Target> host;
    registry::KindSlot* slot = nullptr;
  };
  explicit Target(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  friend class TargetParser;

  std::shared_ptr<const Data> data_;
};

}  // namespace kiln
