// Reads targets. Both text forms become an ir::Value map, the form that modules hold; TargetParser turns that into a Target.
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/ir.h"
#include "kiln/target.h"
#include "registry/names.h"
#include "registry/registry.h"
#include "target/from_ir.h"
#include "target/target_kinds.h"

namespace kiln {

using ir::KeyValue;
using ir::Value;
using target::AttrType;
using target::KindInfo;

// Bounds for hostile input: real targets have a host that has none, and a few hundred bytes.
static constexpr int kMaxDepth = 8;
static constexpr size_t kMaxText = size_t{64} << 10;

static Error invalid(std::string message, std::string hint = "") {
  return Error{Code::kInvalidArgument, std::move(message), "", std::move(hint)};
}

// Text from outside, fit for a message: printable and short.
static std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 80)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return "'" + out + (text.size() > 80 ? "…'" : "'");
}

// Whether text is UTF-8 without control characters, as names and attributes must be.
static bool is_plain_text(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') return false;
  }
  rapidjson::MemoryStream in(text.data(), text.size());
  rapidjson::StringBuffer out;
  while (in.Tell() < text.size()) {
    if (!rapidjson::UTF8<>::Validate(in, out)) return false;
  }
  return in.Tell() == text.size();
}

static std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// "did you mean 'x'? known: a, b"
static std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  std::string near = nearest(name, known);
  return (near.empty() ? "" : "did you mean '" + near + "'? ") + "known: " + join(known);
}

static Error unknown_kind(std::string_view name) {
  if (name.find('/') != name.npos) {
    return Error{Code::kUnknownTarget, "target tag " + shown(name) + " is not known", "",
                 "write the kind and its attributes, such as {\"kind\": \"cuda\", \"arch\": \"sm_90a\"}"};
  }
  std::vector<std::string> known = registry::kinds_in_use();
  for (const KindInfo& info : target::kind_table()) known.emplace_back(info.name);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return Error{Code::kUnknownTarget, "target " + shown(name) + " is not known", "", suggestion(name, known)};
}

static std::string_view kind_word(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNone: return "null";
    case Value::Kind::kBool: return "a boolean";
    case Value::Kind::kInt: return "an integer";
    case Value::Kind::kFloat: return "a number with a fraction";
    case Value::Kind::kString: return "a string";
    case Value::Kind::kArray: return "a list";
    case Value::Kind::kMap: return "a map";
    case Value::Kind::kTarget: return "a target";
    case Value::Kind::kExpr: return "an expression";
    case Value::Kind::kBuffer: return "a buffer";
  }
  return "";
}

static std::string_view type_word(AttrType type) {
  switch (type) {
    case AttrType::kString: return "a string";
    case AttrType::kInt: return "an integer";
    case AttrType::kBool: return "true or false";
    case AttrType::kStrings: return "a list of strings";
    case AttrType::kTargets: return "a list of targets";
    case AttrType::kAny:
    case AttrType::kUnknown: return "a boolean, number, string or list of strings";
  }
  return "";
}

static bool is_map(const Value& value) { return value.kind == Value::Kind::kMap || value.kind == Value::Kind::kTarget; }

class TargetParser {
 public:
  // A string is one of the text forms; anything else must be a map. `live`: a compiler's own target, whose attributes are taken as they
  // are.
  static Result<Target> from_value(const Value& value, int depth, bool live = false);
  static Result<Target> from_text(std::string_view text, int depth);

 private:
  TargetParser(int depth, bool live) : depth_(depth), live_(live) {}
  Status read_kind(const Value& map);
  Status read_member(std::string_view name, const Value& value);
  Status read_attr(std::string_view name, const Value& value);
  Result<AttrValue> convert(std::string_view name, AttrType type, const Value& value) const;
  Result<std::vector<std::string>> strings(std::string_view name, const Value& value) const;
  Error wrong_type(std::string_view name, std::string_view want, const Value& value) const;
  void complete_keys();

  int depth_;
  bool live_;
  Target::Data data_;
  const KindInfo* info_ = nullptr;
  bool has_keys_ = false, has_tag_ = false;
};

Error TargetParser::wrong_type(std::string_view name, std::string_view want, const Value& value) const {
  return invalid("attribute " + shown(name) + " of target '" + data_.kind + "' must be " + std::string(want) + ", got " +
                 std::string(kind_word(value)));
}

Status TargetParser::read_kind(const Value& map) {
  const Value* kind = map.find("kind");
  if (!kind) return invalid("a target needs a kind", "such as {\"kind\": \"cuda\"}");
  if (kind->kind != Value::Kind::kString) return invalid("the kind of a target must be a string, got " + std::string(kind_word(*kind)));
  info_ = target::find_kind(kind->string);
  bool known = info_ || registry::kind_in_use(kind->string) || (live_ && registry::is_name(kind->string));
  if (!known) return unknown_kind(kind->string);
  data_.kind = kind->string;
  return Ok{};
}

Result<std::vector<std::string>> TargetParser::strings(std::string_view name, const Value& value) const {
  if (value.kind != Value::Kind::kArray) return wrong_type(name, "a list of strings", value);
  std::vector<std::string> out;
  for (const Value& item : value.array) {
    if (item.kind != Value::Kind::kString) return wrong_type(name, "a list of strings", item);
    if (!is_plain_text(item.string)) return invalid("attribute " + shown(name) + " of a target is not plain text");
    out.emplace_back(item.string);
  }
  return out;
}

Result<AttrValue> TargetParser::convert(std::string_view name, AttrType type, const Value& value) const {
  switch (value.kind) {
    case Value::Kind::kBool:
      if (type == AttrType::kBool || type == AttrType::kAny) return AttrValue(value.boolean);
      break;
    case Value::Kind::kInt:
      if (type == AttrType::kInt || type == AttrType::kAny) return AttrValue(value.integer);
      if (type == AttrType::kBool && (value.integer == 0 || value.integer == 1)) return AttrValue(value.integer == 1);
      break;
    case Value::Kind::kFloat:
      if (type == AttrType::kAny && std::isfinite(value.floating)) return AttrValue(value.floating);
      break;
    case Value::Kind::kString:
      if (!is_plain_text(value.string)) return invalid("attribute " + shown(name) + " of a target is not plain text");
      if (type == AttrType::kString || type == AttrType::kAny) return AttrValue(std::string(value.string));
      break;
    case Value::Kind::kArray:
      if (type == AttrType::kStrings || type == AttrType::kAny) {
        Result<std::vector<std::string>> list = strings(name, value);
        if (!list) return list.error();
        return AttrValue(std::move(*list));
      }
      if (type == AttrType::kTargets) {  // kept as their JSON, which parse() accepts wherever a target may stand
        std::vector<std::string> list;
        for (const Value& item : value.array) {
          Result<Target> target = from_value(item, depth_ + 1);
          if (!target) return target.error();
          list.push_back(target->to_json());
        }
        return AttrValue(std::move(list));
      }
      break;
    case Value::Kind::kNone:
    case Value::Kind::kMap:
    case Value::Kind::kTarget:
    case Value::Kind::kExpr:
    case Value::Kind::kBuffer: break;
  }
  return wrong_type(name, type_word(type), value);
}

Status TargetParser::read_attr(std::string_view name, const Value& value) {
  AttrType type = live_ ? AttrType::kAny : target::attr_type(info_, name);
  if (type == AttrType::kUnknown) {
    return Error{Code::kUnknownTarget, "target '" + data_.kind + "' has no attribute " + shown(name), "",
                 suggestion(name, target::attr_names(*info_))};
  }
  if (name.empty() || !is_plain_text(name)) return invalid("a target has an attribute whose name is not plain text");
  Result<AttrValue> converted = convert(name, type, value);
  if (!converted && live_) return Ok{};  // of a type that no text form has, so no codegen asks for it
  if (!converted) return converted.error();
  if (!data_.attrs.emplace(name, std::move(*converted)).second) return invalid("attribute " + shown(name) + " is given twice");
  return Ok{};
}

Status TargetParser::read_member(std::string_view name, const Value& value) {
  if (name == "kind") return Ok{};
  bool repeated = (name == "keys" && has_keys_) || (name == "tag" && has_tag_) || (name == "host" && data_.host);
  if (repeated) return invalid("attribute " + shown(name) + " is given twice");
  if (name == "keys") {
    Result<std::vector<std::string>> keys = strings(name, value);
    if (!keys) return keys.error();
    data_.keys = std::move(*keys);
    has_keys_ = true;
    return Ok{};
  }
  if (name == "tag") {
    if (value.kind != Value::Kind::kString) return wrong_type(name, "a string", value);
    if (!is_plain_text(value.string)) return invalid("attribute 'tag' of a target is not plain text");
    data_.tag = value.string;
    has_tag_ = true;
    return Ok{};
  }
  if (name == "host") {
    if (value.kind == Value::Kind::kNone) return Ok{};
    Result<Target> host = from_value(value, depth_ + 1, live_);
    if (!host) return host.error();
    data_.host = std::make_shared<const Target>(std::move(*host));
    return Ok{};
  }
  if (name == "attrs" && is_map(value)) {  // how modules hold them
    for (const KeyValue& item : value.map) {
      if (Status s = read_attr(item.key.string, item.value); !s) return s;
    }
    return Ok{};
  }
  return read_attr(name, value);
}

// TVM's rule: the given keys, else the device and the keys of the kind; each once.
void TargetParser::complete_keys() {
  std::vector<std::string> all = std::move(data_.keys);
  auto device = data_.attrs.find("device");
  const std::string* name = device == data_.attrs.end() ? nullptr : std::get_if<std::string>(&device->second);
  if (name) all.push_back(*name);
  if (!has_keys_) {
    for (std::string& key : info_ ? target::split_words(info_->keys) : std::vector<std::string>{data_.kind}) all.push_back(std::move(key));
  }
  data_.keys.clear();
  for (std::string& key : all) {
    if (std::find(data_.keys.begin(), data_.keys.end(), key) == data_.keys.end()) data_.keys.push_back(std::move(key));
  }
}

Result<Target> TargetParser::from_value(const Value& value, int depth, bool live) {
  if (depth > kMaxDepth) return invalid("a target is nested more than " + std::to_string(kMaxDepth) + " deep");
  if (value.kind == Value::Kind::kString) return from_text(value.string, depth);
  if (!is_map(value)) return invalid("a target must be a string or a map, got " + std::string(kind_word(value)));
  TargetParser parser(depth, live);
  if (Status s = parser.read_kind(value); !s) return s.error();
  bool has_kind = false;
  for (const KeyValue& item : value.map) {
    if (item.key.kind != Value::Kind::kString)
      return invalid("the names in a target must be strings, got " + std::string(kind_word(item.key)));
    if (item.key.string == "kind" && std::exchange(has_kind, true)) return invalid("attribute 'kind' is given twice");
    if (Status s = parser.read_member(item.key.string, item.value); !s) return s.error();
  }
  parser.complete_keys();
  parser.data_.slot = registry::slot_for(parser.data_.kind);
  return Target(std::make_shared<const Target::Data>(std::move(parser.data_)));
}

// ---- JSON -------------------------------------------------------------------------------------------------------

static Value string_value(Arena& arena, std::string_view text) {
  Value value;
  value.kind = Value::Kind::kString;
  value.string = arena.string(text);
  return value;
}

static Result<Value> value_of(const rapidjson::Value& json, Arena& arena, int depth) {
  if (depth > 2 * kMaxDepth) return invalid("a target is nested more than " + std::to_string(kMaxDepth) + " deep");
  Value value;
  if (json.IsString()) return string_value(arena, {json.GetString(), json.GetStringLength()});
  if (json.IsBool()) value.kind = Value::Kind::kBool, value.boolean = json.GetBool();
  if (json.IsInt64()) {
    value.kind = Value::Kind::kInt, value.integer = json.GetInt64();
  } else if (json.IsNumber()) {
    if (json.IsUint64()) return invalid("the integer " + std::to_string(json.GetUint64()) + " in a target does not fit in 64 bits");
    value.kind = Value::Kind::kFloat, value.floating = json.GetDouble();
  }
  if (json.IsArray()) {
    std::vector<Value> items;
    for (const rapidjson::Value& item : json.GetArray()) {
      Result<Value> v = value_of(item, arena, depth + 1);
      if (!v) return v;
      items.push_back(*v);
    }
    value.kind = Value::Kind::kArray, value.array = arena.list(items);
  }
  if (json.IsObject()) {
    std::vector<KeyValue> items;
    for (const auto& item : json.GetObject()) {
      Result<Value> v = value_of(item.value, arena, depth + 1);
      if (!v) return v;
      items.push_back({string_value(arena, {item.name.GetString(), item.name.GetStringLength()}), *v});
    }
    value.kind = Value::Kind::kMap, value.map = arena.list(items);
  }
  return value;
}

static Result<Value> read_json(std::string_view text, Arena& arena) {
  // Iterative: hostile nesting must not use the stack.
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::Document document;
  document.Parse<kFlags>(text.data(), text.size());
  if (document.HasParseError()) {
    return Error{Code::kInvalidArgument, std::string("target is not valid JSON: ") + rapidjson::GetParseError_En(document.GetParseError()),
                 "target: byte " + std::to_string(document.GetErrorOffset()), "such as {\"kind\": \"cuda\", \"arch\": \"sm_90a\"}"};
  }
  return value_of(document, arena, 0);
}

// ---- options ----------------------------------------------------------------------------------------------------

// Pieces of `text` between characters of `separators`, quotes and backslashes left in. Separators within quotes do not count.
static Result<std::vector<std::string_view>> split_quoted(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  size_t start = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quote) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '\'' || text[i] == '"') {
      quote = text[i];
    } else if (separators.find(text[i]) != separators.npos) {
      pieces.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  if (quote) return invalid(std::string("target has a quote (") + quote + ") that does not end: " + shown(text));
  pieces.push_back(text.substr(start));
  return pieces;
}

static std::string unquoted(std::string_view text) {
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out += text[++i];
    } else if (quote ? text[i] == quote : text[i] == '\'' || text[i] == '"') {
      quote = quote ? 0 : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

// The number that the whole text is, if it is one.
template <class T>
static bool is_number(std::string_view text, T* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// The value of an option, by the type that the attribute must have; what does not fit stays text, and the parser says what is wrong.
static Result<Value> option_value(AttrType type, std::string_view raw, Arena& arena) {
  Value value;
  if (type == AttrType::kStrings || type == AttrType::kTargets) {
    std::vector<Value> items;
    if (!raw.empty()) {
      Result<std::vector<std::string_view>> pieces = split_quoted(raw, ",");
      if (!pieces) return pieces.error();
      for (std::string_view piece : *pieces) items.push_back(string_value(arena, unquoted(piece)));
    }
    value.kind = Value::Kind::kArray, value.array = arena.list(items);
    return value;
  }
  bool truth = raw == "true" || raw == "1";
  if (type == AttrType::kBool && (truth || raw == "false" || raw == "0")) value.kind = Value::Kind::kBool, value.boolean = truth;
  if (type == AttrType::kAny && (raw == "true" || raw == "false")) value.kind = Value::Kind::kBool, value.boolean = truth;
  if (type == AttrType::kInt || type == AttrType::kAny) {
    if (is_number(raw, &value.integer)) {
      value.kind = Value::Kind::kInt;
    } else if (type == AttrType::kAny && is_number(raw, &value.floating) && std::isfinite(value.floating)) {
      value.kind = Value::Kind::kFloat;
    }
  }
  return value.kind == Value::Kind::kNone ? string_value(arena, unquoted(raw)) : value;
}

static AttrType option_type(const KindInfo* info, std::string_view name) {
  if (name == "keys") return AttrType::kStrings;
  if (name == "host" || name == "tag") return AttrType::kString;
  return target::attr_type(info, name);
}

// "cuda -arch=sm_90a --max_num_threads 1024 -fast-math": a value follows '=' or a space; a flag without one is true.
static Result<Value> read_options(std::string_view text, Arena& arena) {
  Result<std::vector<std::string_view>> split = split_quoted(text, " \t\r\n");
  if (!split) return split.error();
  std::vector<std::string_view> words;
  std::copy_if(split->begin(), split->end(), std::back_inserter(words), [](std::string_view w) { return !w.empty(); });
  if (words.empty()) return invalid("a target is empty", "such as cuda, or {\"kind\": \"cuda\", \"arch\": \"sm_90a\"}");

  const KindInfo* info = target::find_kind(words[0]);
  std::vector<KeyValue> items = {{string_value(arena, "kind"), string_value(arena, words[0])}};
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    size_t dashes = std::min<size_t>(2, std::min(word.find_first_not_of('-'), word.size()));
    if (dashes == 0) return invalid("expected an option such as -arch=sm_90a after target " + shown(words[0]) + ", got " + shown(word));
    word.remove_prefix(dashes);
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    AttrType type = option_type(info, name);
    Value value;
    if (equals == word.npos && (i + 1 == words.size() || words[i + 1].starts_with('-'))) {
      value.kind = Value::Kind::kBool, value.boolean = true;
    } else {
      Result<Value> read = option_value(type, equals == word.npos ? words[++i] : word.substr(equals + 1), arena);
      if (!read) return read;
      value = *read;
    }
    items.push_back({string_value(arena, name), value});
  }
  Value map;
  map.kind = Value::Kind::kMap, map.map = arena.list(items);
  return map;
}

Result<Target> TargetParser::from_text(std::string_view text, int depth) {
  if (text.size() > kMaxText) return invalid("a target has " + std::to_string(text.size()) + " bytes, at most 65536 are read");
  if (!is_plain_text(text)) return invalid("a target must be UTF-8 text without control characters");
  size_t first = text.find_first_not_of(" \t\r\n");
  bool json = first != text.npos && (text[first] == '{' || text[first] == '"' || text[first] == '[');
  Arena arena;
  Result<Value> value = json ? read_json(text, arena) : read_options(text, arena);
  if (!value) return value.error();
  return from_value(*value, depth + 1);
}

Result<Target> Target::parse(std::string_view text) { return TargetParser::from_text(text, 0); }

Result<Target> target_from_value(const ir::Value& value) { return TargetParser::from_value(value, 0); }

Result<Target> live_target_from_json(std::string_view json) {
  Arena arena;
  Result<Value> value = read_json(json, arena);
  if (!value) return value.error();
  return TargetParser::from_value(*value, 0, /*live=*/true);
}

}  // namespace kiln
