// The text of a manifest.
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>

#include "registry/backend.h"
#include "registry/names.h"

namespace kiln::registry {

static constexpr size_t kMaxManifest = size_t{64} << 10;
static constexpr size_t kMaxPath = 4096;

namespace {

// One JSON object of a manifest, with the first fault found in it.
struct Reader {
  const rapidjson::Value& json;
  std::string place;
  std::string prefix;  // "needs." within needs
  std::optional<Error> fault;

  void fail(std::string message) {
    if (!fault) fault = Error{Code::kParse, std::move(message), place, ""};
  }

  const rapidjson::Value* find(const char* key) const {
    auto it = json.FindMember(key);
    return it == json.MemberEnd() ? nullptr : &it->value;
  }

  // The text under `key`; absent gives "".
  std::string text(const char* key, size_t limit) {
    const rapidjson::Value* value = find(key);
    if (!value) return {};
    if (!value->IsString()) return fail("'" + prefix + key + "' of a manifest must be a string"), std::string();
    return checked(key, *value, limit);
  }

  // The texts under `key`; absent gives none.
  std::vector<std::string> list(const char* key) {
    std::vector<std::string> out;
    const rapidjson::Value* value = find(key);
    if (!value) return out;
    auto is_text = [](const rapidjson::Value& item) { return item.IsString() && item.GetStringLength() > 0; };
    if (!value->IsArray() || !std::all_of(value->Begin(), value->End(), is_text)) {
      return fail("'" + prefix + key + "' of a manifest must be a list of strings that are not empty"), out;
    }
    for (const rapidjson::Value& item : value->GetArray()) out.push_back(checked(key, item, kMaxPath));
    return out;
  }

  std::string checked(const char* key, const rapidjson::Value& value, size_t limit) {
    std::string text(value.GetString(), value.GetStringLength());
    if (text.find('\0') != text.npos) fail("'" + prefix + key + "' of a manifest holds a NUL byte");
    if (text.size() > limit) fail("'" + prefix + key + "' of a manifest has more than " + std::to_string(limit) + " bytes");
    return text;
  }
};

}  // namespace

// Whether the text is a dotted module path; which letters Python allows in one, the import says.
static bool is_module(std::string_view text) {
  auto allowed = [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.front() != '.' && text.back() != '.' && text.find("..") == text.npos &&
         std::all_of(text.begin(), text.end(), allowed);
}

static void read_needs(Reader& reader, Needs& needs) {
  const rapidjson::Value* json = reader.find("needs");
  if (!json) return;
  if (!json->IsObject()) return reader.fail("'needs' of a manifest must be an object");
  Reader inner{*json, reader.place, "needs.", reader.fault};
  needs.commands = inner.list("commands");
  needs.python = inner.list("python");
  needs.files = inner.list("files");
  needs.libraries = inner.list("libraries");
  if (!std::all_of(needs.python.begin(), needs.python.end(), is_module)) {
    inner.fail("'needs.python' of a manifest must be a list of module paths, as 'package.module'");
  }
  reader.fault = std::move(inner.fault);
}

static void read_kinds(Reader& reader, std::vector<std::string>& kinds) {
  const rapidjson::Value* json = reader.find("kinds");
  if (!json || !json->IsArray() || json->Empty()) return reader.fail("a manifest needs 'kinds', a list of target kinds");
  for (const rapidjson::Value& kind : json->GetArray()) {
    std::string_view text = kind.IsString() ? std::string_view(kind.GetString(), kind.GetStringLength()) : std::string_view();
    if (!is_name(text)) return reader.fail("a target kind in a manifest must be a string of letters, digits and _ - .");
    if (std::find(kinds.begin(), kinds.end(), text) == kinds.end()) kinds.emplace_back(text);
  }
}

Result<Manifest> parse_manifest(std::string_view json, std::string_view place, std::vector<std::string>* claimed) {
  std::string at(place);
  if (json.size() > kMaxManifest) return Error{Code::kParse, "a manifest has more than 65536 bytes", at, ""};
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(json.data(), json.size());
  if (document.HasParseError()) {
    return Error{Code::kParse, std::string("manifest is not valid JSON: ") + rapidjson::GetParseError_En(document.GetParseError()), at,
                 "byte " + std::to_string(document.GetErrorOffset())};
  }
  if (!document.IsObject()) return Error{Code::kParse, "a manifest must be a JSON object", at, ""};

  Manifest manifest;
  Reader reader{document, at, "", {}};
  manifest.name = reader.text("name", kMaxPath);
  if (!is_name(manifest.name)) reader.fail("a manifest needs a 'name' of letters, digits and _ - .");
  manifest.description = reader.text("description", kMaxPath);
  manifest.library = reader.text("library", kMaxPath);
  manifest.python = reader.text("python", kMaxPath);
  if (!manifest.python.empty() && !is_module(manifest.python)) {
    reader.fail("'python' of a manifest must be a module path, as 'package.module'");
  }
  if (!manifest.python.empty() && !manifest.library.empty()) reader.fail("a manifest has both a 'library' and a 'python' module");
  read_kinds(reader, manifest.kinds);
  manifest.key = reader.text("key", kMaxPath);
  if (!manifest.key.empty() && !is_name(manifest.key)) reader.fail("'key' of a manifest must be of letters, digits and _ - .");
  read_needs(reader, manifest.needs);
  if (claimed) *claimed = manifest.kinds;
  if (reader.fault) return *reader.fault;
  return manifest;
}

}  // namespace kiln::registry
