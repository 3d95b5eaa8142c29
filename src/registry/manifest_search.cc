// Where manifests are looked for.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>

#include "registry/backend.h"

namespace kiln::registry {

namespace fs = std::filesystem;

namespace {

struct Source {
  std::mutex mutex;
  ManifestSource call;
};

}  // namespace

static void leave_out(ManifestSet& found, Error error, std::vector<std::string> kinds = {}) {
  found.faults.push_back({std::move(error), std::move(kinds)});
}

// The first one of a name stands.
static void add(ManifestSet& found, Manifest manifest) {
  auto same = [&](const Manifest& m) { return m.name == manifest.name; };
  auto it = std::find_if(found.manifests.begin(), found.manifests.end(), same);
  if (it == found.manifests.end()) return found.manifests.push_back(std::move(manifest));
  leave_out(found,
            {Code::kInvalidArgument, "a backend '" + manifest.name + "' exists already", manifest.path,
             "the other one is " + (it->path.empty() ? "built in" : it->path)},
            std::move(manifest.kinds));
}

// A manifest that is not built in, from its text. `python_path` as in Manifest.
static void add_text(ManifestSet& found, const ManifestText& text, const std::string& python_path) {
  std::vector<std::string> kinds;
  Result<Manifest> manifest = parse_manifest(text.json, text.place, &kinds);
  if (!manifest) return leave_out(found, manifest.error(), std::move(kinds));
  if (manifest->library.empty() && manifest->python.empty()) {
    return leave_out(found, {Code::kParse, "a manifest outside Kiln needs a 'library' or a 'python' module", text.place, ""},
                     std::move(kinds));
  }
  manifest->source = text.source;
  manifest->path = text.place;
  manifest->python_path = python_path;
  add(found, std::move(*manifest));
}

// ---- files -----------------------------------------------------------------------------------------------------

static Error refused(const char* what, int code, const fs::path& path) {
  return {Code::kIo, std::string(what) + " cannot be read: " + std::strerror(code), path.string(), ""};
}

// The text of a regular file, cut off when it is longer than a manifest may be. Opened without waiting: a FIFO has no writer.
static Result<std::string> read_text(const fs::path& path) {
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return refused("the manifest", errno, path);
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return Error{Code::kIo, "the manifest is not a regular file", path.string(), ""};
  }
  std::string text((size_t{64} << 10) + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      Error error = refused("the manifest", errno, path);
      close(file);
      return error;
    }
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  close(file);
  text.resize(size);
  return text;
}

// A manifest where there is one. What cannot be looked at is a fault; what is not there is none.
static void add_file(ManifestSet& found, const fs::path& path, const char* source) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) leave_out(found, refused("the manifest", errno, path));
    return;
  }
  Result<std::string> text = read_text(path);
  if (!text) return leave_out(found, text.error());
  add_text(found, {std::move(*text), path.string(), source}, path.parent_path().string());
}

static void add_folder(ManifestSet& found, const fs::path& given, const char* source, bool must_exist) {
  std::error_code error;
  fs::path folder = fs::absolute(given, error).lexically_normal();  // the process may change its directory later
  std::vector<fs::path> below;
  fs::directory_iterator it(folder, fs::directory_options::none, error);
  for (fs::directory_iterator end; !error && it != end; it.increment(error)) below.push_back(it->path());
  if (error && (must_exist || (error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory))) {
    leave_out(found, refused("a folder of backends", error.value(), folder));
  }
  std::sort(below.begin(), below.end());
  add_file(found, folder / "manifest.json", source);
  for (const fs::path& path : below) add_file(found, path / "manifest.json", source);
}

// ---- the sources -----------------------------------------------------------------------------------------------

static void add_builtin(ManifestSet& found) {
  for (const Builtin* builtin : builtin_backends()) {
    Result<Manifest> manifest = parse_manifest(builtin->manifest_json, "built-in manifest");
    if (!manifest) {
      leave_out(found, manifest.error());
      continue;
    }
    manifest->source = "built in";
    manifest->builtin = builtin;
    add(found, std::move(*manifest));
  }
  std::sort(found.manifests.begin(), found.manifests.end(), [](const Manifest& a, const Manifest& b) { return a.name < b.name; });
}

std::string library_folder() {
  Dl_info info = {};
  std::error_code ec;
  if (dladdr(reinterpret_cast<const void*>(&manifests), &info) == 0 || !info.dli_fname) return {};
  return fs::absolute(info.dli_fname, ec).parent_path().string();
}

static void add_package(ManifestSet& found) {
  std::string folder = library_folder();
  if (!folder.empty()) add_folder(found, fs::path(folder) / "kiln" / "backends", "package", false);
}

static void add_environment(ManifestSet& found) {
  const char* environment = std::getenv("KILN_BACKEND_PATH");
  std::string_view rest = environment ? environment : "";
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (!folder.empty()) add_folder(found, folder, "KILN_BACKEND_PATH", true);
  }
}

static void add_user(ManifestSet& found) {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data && data[0] == '/') return add_folder(found, fs::path(data) / "kiln" / "backends", "user folder", false);
  const char* home = std::getenv("HOME");  // a relative XDG_DATA_HOME is to be ignored, says the XDG base directory specification
  if (home && home[0] == '/') add_folder(found, fs::path(home) / ".local" / "share" / "kiln" / "backends", "user folder", false);
}

static Source& manifest_source() {
  static auto* source = new Source;  // never destroyed: it may be Python's
  return *source;
}

void set_manifest_source(ManifestSource source) {
  std::lock_guard lock(manifest_source().mutex);
  manifest_source().call = std::move(source);
}

static thread_local bool in_source = false;

static void add_source(ManifestSet& found) {
  ManifestSource call;
  {
    std::lock_guard lock(manifest_source().mutex);
    call = manifest_source().call;
  }
  if (!call) return;
  if (in_source) {
    return leave_out(found, {Code::kInvalidArgument, "the manifest source used the registry, and is left out", "", ""});
  }
  in_source = true;
  try {
    for (const ManifestText& text : call()) add_text(found, text, "");
  } catch (const std::exception& e) {
    leave_out(found, {Code::kInternal, std::string("the manifest source threw: ") + e.what(), "", ""});
  } catch (...) {
    leave_out(found, {Code::kInternal, "the manifest source threw something that is not a std::exception", "", ""});
  }
  in_source = false;
}

ManifestSet find_manifests() {
  ManifestSet found;
  add_builtin(found);
  add_package(found);
  add_environment(found);
  add_user(found);
  add_source(found);
  return found;
}

// No lock is held while the sources are read, since the last one may take Python's: threads that race look twice, and one result stands.
static const ManifestSet& known_manifests() {
  static std::atomic<const ManifestSet*> known = nullptr;
  if (const ManifestSet* set = known.load(std::memory_order_acquire)) return *set;
  auto* mine = new ManifestSet(find_manifests());
  const ManifestSet* first = nullptr;
  if (known.compare_exchange_strong(first, mine, std::memory_order_acq_rel)) return *mine;
  delete mine;
  return *first;
}

const std::vector<Manifest>& manifests() { return known_manifests().manifests; }
const std::vector<ManifestFault>& manifest_faults() { return known_manifests().faults; }

std::string beside(const Manifest& manifest, const std::string& path) { return (fs::path(manifest.path).parent_path() / path).string(); }

}  // namespace kiln::registry
