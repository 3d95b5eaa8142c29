#include "kiln/target.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "target/target_kinds.h"

namespace kiln {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

std::string Target::attr(std::string_view name, std::string_view fallback) const {
  auto it = attrs().find(name);
  const std::string* text = it == attrs().end() ? nullptr : std::get_if<std::string>(&it->second);
  return text ? *text : std::string(fallback);
}

bool Target::has_key(std::string_view key) const { return std::find(keys().begin(), keys().end(), key) != keys().end(); }

Target Target::with_key(std::string_view key) const {
  if (has_key(key)) return *this;
  auto data = std::make_shared<Data>(*data_);
  data->keys.emplace(data->keys.begin(), key);
  return Target(std::move(data));
}

int Target::device_type() const {
  constexpr int kExtDev = 12;
  auto it = attrs().find("target_device_type");
  if (it != attrs().end()) {
    if (const int64_t* type = std::get_if<int64_t>(&it->second)) return static_cast<int>(*type);
  }
  const target::KindInfo* info = target::find_kind(kind());
  return info ? info->device_type : kExtDev;
}

static void write(Writer& out, const std::string& text) { out.String(text.data(), static_cast<rapidjson::SizeType>(text.size())); }

static void write(Writer& out, const std::vector<std::string>& list) {
  out.StartArray();
  for (const std::string& text : list) write(out, text);
  out.EndArray();
}

static void write(Writer& out, const AttrValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) out.Bool(*b);
  if (const int64_t* i = std::get_if<int64_t>(&value)) out.Int64(*i);
  if (const double* d = std::get_if<double>(&value)) out.Double(*d);
  if (const auto* s = std::get_if<std::string>(&value)) write(out, *s);
  if (const auto* l = std::get_if<std::vector<std::string>>(&value)) write(out, *l);
}

static void write(Writer& out, const Target& target) {
  out.StartObject();
  out.Key("kind");
  write(out, target.kind());
  out.Key("tag");
  write(out, target.tag());
  out.Key("keys");
  write(out, target.keys());
  for (const auto& [name, value] : target.attrs()) {
    out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    write(out, value);
  }
  if (target.host()) {
    out.Key("host");
    write(out, *target.host());
  }
  out.EndObject();
}

std::string Target::to_json() const {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  write(writer, *this);
  return {buffer.GetString(), buffer.GetSize()};
}

// Quotes text that the option form would otherwise read differently.
static std::string quoted(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n,'\"\\") == std::string::npos) return text;
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

static std::string option_text(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& text : list) {
    if (!out.empty()) out += ',';
    out += quoted(text);
  }
  return out;
}

static std::string option_text(const AttrValue& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return quoted(*s);
  if (const auto* l = std::get_if<std::vector<std::string>>(&value)) return option_text(*l);
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  write(writer, value);
  return buffer.GetString();
}

std::string Target::to_string() const {
  std::string out = kind();
  for (const auto& [name, value] : attrs()) out += " -" + name + "=" + option_text(value);
  out += " -keys=" + option_text(keys());
  if (!tag().empty()) out += " -tag=" + quoted(tag());
  if (host()) out += " -host=" + quoted(host()->to_string());
  return out;
}

bool Target::operator==(const Target& other) const {
  if (data_ == other.data_) return true;
  if (kind() != other.kind() || tag() != other.tag() || keys() != other.keys() || attrs() != other.attrs()) return false;
  if (!host() || !other.host()) return host() == other.host();
  return *host() == *other.host();
}

}  // namespace kiln
