#include "registry/needs.h"

#include <cstdlib>
#include <exception>
#include <filesystem>

#include "base/process.h"
#include "registry/loader.h"

namespace kiln::registry {

namespace fs = std::filesystem;

static bool is_path(std::string_view text) { return text.find('/') != text.npos; }

static bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && !error;
}

static Probe command(const Manifest& manifest, const std::string& name) {
  std::string path = find_program(is_path(name) ? beside(manifest, name) : name);
  if (!path.empty()) return {"command " + name, true, path, ""};
  return {"command " + name, false, is_path(name) ? "no such program" : "not in PATH", "install it"};
}

static Probe file(const Manifest& manifest, const std::string& name) {
  std::string path = beside(manifest, name);
  std::error_code error;
  bool found = fs::exists(path, error) && !error;
  return {"file " + name, found, path, found ? "" : "install what brings it"};
}

// The folders where the loader looks, as far as files tell: LD_LIBRARY_PATH, then the system's. (ld.so(8); its cache is not read.)
static std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const char* environment = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest = environment ? environment : "";
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find_first_of(":;"));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (!folder.empty()) folders.emplace_back(folder);
  }
#if defined(__x86_64__)
  const std::string triple = "x86_64-linux-gnu";
#elif defined(__aarch64__)
  const std::string triple = "aarch64-linux-gnu";
#else
  const std::string triple = "";
#endif
  for (const char* root : {"/lib", "/usr/lib", "/usr/local/lib"}) {
    if (!triple.empty()) folders.push_back(root + ("/" + triple));
    folders.emplace_back(root);
    folders.push_back(std::string(root) + "64");
  }
  return folders;
}

static Probe library(const Manifest& manifest, const std::string& name) {
  std::string what = "library " + name;
  if (is_path(name)) {
    std::string path = beside(manifest, name);
    return is_file(path) ? Probe{what, true, path, ""} : Probe{what, false, "no such file: " + path, ""};
  }
  std::vector<std::string> folders = library_folders();
  if (!manifest.path.empty()) folders.insert(folders.begin(), fs::path(manifest.path).parent_path().string());
  for (const std::string& folder : folders) {
    std::string path = (fs::path(folder) / name).string();
    if (is_file(path)) return {what, true, path, ""};
  }
  return {what, false, "not in the manifest's folder, LD_LIBRARY_PATH or the system's folders", "install what brings it"};
}

static Probe python(const Manifest& manifest, const std::string& module) {
  std::string what = "Python module " + module;
  PythonFinder find = python_finder();
  if (!find) return {what, false, "only a process with Python can tell", "python -m kiln list"};
  try {
    if (find(module, manifest.python_path)) return {what, true, "can be imported", ""};
    return {what, false, "Python does not find it", "install it where this Python looks"};
  } catch (const std::exception& e) {
    return {what, false, std::string("looking for it threw: ") + e.what(), ""};
  } catch (...) {
    return {what, false, "looking for it threw something that is not a std::exception", ""};
  }
}

// The library that a manifest names is a path, also without '/'.
static Probe own_library(const Manifest& manifest) {
  std::string path = beside(manifest, manifest.library);
  return {"library " + manifest.library, is_file(path), is_file(path) ? path : "no such file: " + path, ""};
}

std::vector<Probe> probe(const Manifest& manifest) {
  std::vector<Probe> out;
  if (manifest.builtin && manifest.builtin->probe) out = manifest.builtin->probe();
  if (!manifest.library.empty()) out.push_back(own_library(manifest));
  if (!manifest.python.empty()) out.push_back(python(manifest, manifest.python));
  for (const std::string& name : manifest.needs.commands) out.push_back(command(manifest, name));
  for (const std::string& name : manifest.needs.python) out.push_back(python(manifest, name));
  for (const std::string& name : manifest.needs.files) out.push_back(file(manifest, name));
  for (const std::string& name : manifest.needs.libraries) out.push_back(library(manifest, name));
  return out;
}

}  // namespace kiln::registry
