#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "registry/backend.h"
#include "registry/names.h"

namespace kiln::registry {

namespace fs = std::filesystem;

static constexpr size_t kMaxManifest = size_t{64} << 10;

// The text under `key`; absent gives "".
static Result<std::string> text_of(const rapidjson::Value& json, const char* key, const std::string& place) {
  auto it = json.FindMember(key);
  if (it == json.MemberEnd()) return std::string();
  if (!it->value.IsString()) return Error{Code::kParse, std::string("'") + key + "' of a manifest must be a string", place, ""};
  return std::string(it->value.GetString(), it->value.GetStringLength());
}

Result<Manifest> parse_manifest(std::string_view json, std::string_view place) {
  std::string at(place);
  if (json.size() > kMaxManifest) return Error{Code::kParse, "a manifest has more than 65536 bytes", at, ""};
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError()) {
    return Error{Code::kParse, std::string("manifest is not valid JSON: ") + rapidjson::GetParseError_En(document.GetParseError()), at, ""};
  }
  if (!document.IsObject()) return Error{Code::kParse, "a manifest must be a JSON object", at, ""};

  Manifest manifest;
  Result<std::string> name = text_of(document, "name", at);
  if (!name) return name.error();
  Result<std::string> description = text_of(document, "description", at);
  if (!description) return description.error();
  Result<std::string> library = text_of(document, "library", at);
  if (!library) return library.error();
  if (!is_name(*name)) return Error{Code::kParse, "a manifest needs a 'name' of letters, digits and _ - .", at, ""};
  if (library->find('\0') != library->npos) return Error{Code::kParse, "'library' of a manifest holds a NUL byte", at, ""};
  manifest.name = *name, manifest.description = *description, manifest.library = *library;

  auto kinds = document.FindMember("kinds");
  if (kinds == document.MemberEnd() || !kinds->value.IsArray() || kinds->value.Empty()) {
    return Error{Code::kParse, "a manifest needs 'kinds', a list of target kinds", at, ""};
  }
  for (const rapidjson::Value& kind : kinds->value.GetArray()) {
    std::string_view text = kind.IsString() ? std::string_view(kind.GetString(), kind.GetStringLength()) : std::string_view();
    if (!is_name(text)) return Error{Code::kParse, "a target kind in a manifest must be a string of letters, digits and _ - .", at, ""};
    manifest.kinds.emplace_back(text);
  }
  return manifest;
}

namespace {
struct Found {
  std::vector<Manifest> manifests;
  std::vector<Error> errors;
};
}  // namespace

static Result<Manifest> read_manifest(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxManifest + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.gcount() == 0 && !in.eof())) return Error{Code::kIo, "the manifest cannot be read", path.string(), ""};
  text.resize(static_cast<size_t>(in.gcount()));
  Result<Manifest> manifest = parse_manifest(text, path.string());
  if (!manifest) return manifest;
  if (manifest->library.empty()) return Error{Code::kParse, "a manifest outside Kiln needs a 'library'", path.string(), ""};
  manifest->path = path.string();
  return manifest;
}

static void add(Found& found, Result<Manifest> manifest) {
  if (!manifest) return found.errors.push_back(manifest.error());
  auto same = [&](const Manifest& m) { return m.name == manifest->name; };
  auto it = std::find_if(found.manifests.begin(), found.manifests.end(), same);
  if (it == found.manifests.end()) return found.manifests.push_back(std::move(*manifest));
  found.errors.push_back(Error{Code::kInvalidArgument, "a backend '" + manifest->name + "' exists already",
                               manifest->path.empty() ? "built-in manifest" : manifest->path,
                               "the other one is " + (it->path.empty() ? "built in" : it->path)});
}

static std::vector<fs::path> manifest_files(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> files;
  if (fs::exists(folder / "manifest.json", ignored)) files.push_back(folder / "manifest.json");
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    if (fs::exists(it->path() / "manifest.json", ignored)) files.push_back(it->path() / "manifest.json");
  }
  std::sort(files.begin(), files.end());
  return files;
}

static Found find_manifests() {
  Found found;
  auto by_name = [](const Manifest& a, const Manifest& b) { return a.name < b.name; };
  for (const Builtin* builtin : builtin_backends()) {
    Result<Manifest> manifest = parse_manifest(builtin->manifest_json, "built-in manifest");
    if (manifest) manifest->builtin = builtin;
    add(found, std::move(manifest));
  }
  size_t built_in = found.manifests.size();
  const char* environment = std::getenv("KILN_BACKEND_PATH");
  std::string_view rest = environment ? environment : "";
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (folder.empty()) continue;
    for (const fs::path& file : manifest_files(folder)) add(found, read_manifest(file));
  }
  std::sort(found.manifests.begin(), found.manifests.begin() + static_cast<ptrdiff_t>(built_in), by_name);
  std::sort(found.manifests.begin() + static_cast<ptrdiff_t>(built_in), found.manifests.end(), by_name);
  return found;
}

static const Found& found() {
  static const auto* result = new Found(find_manifests());
  return *result;
}

const std::vector<Manifest>& manifests() { return found().manifests; }
const std::vector<Error>& manifest_errors() { return found().errors; }

}  // namespace kiln::registry
