#include "backends/cuda/toolkit.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/process.h"

namespace kiln::cuda {

namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Folders of `folder` whose names start with `prefix`, newest version first, each with every one of `below`.
void add_children(const fs::path& folder, std::string_view prefix, const std::vector<std::string>& below, std::vector<std::string>& out) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
  for (const std::string& f : found) {
    for (const std::string& b : below) out.push_back(f + b);
  }
}

std::vector<std::string> given_roots() {
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    std::string root = environment(variable);
    if (!root.empty()) roots.push_back(root);
  }
  return roots;
}

std::vector<std::string> usual_roots() {
  std::vector<std::string> roots = {"/usr/local/cuda"};
  add_children("/usr/local", "cuda-", {""}, roots);
  roots.emplace_back("/opt/cuda");
  return roots;
}

// The PyPI wheels in the virtual environment, and beside this library.
std::vector<std::string> wheel_roots() {
  std::vector<std::string> sites, roots;
  std::string root = environment("VIRTUAL_ENV");
  if (!root.empty()) add_children(fs::path(root) / "lib", "python3", {"/site-packages"}, sites);
  Dl_info info;
  static const int here = 0;
  if (dladdr(&here, &info) && info.dli_fname) {
    for (fs::path p = fs::path(info.dli_fname).parent_path(); p.has_relative_path(); p = p.parent_path()) {
      if (p.filename() == "site-packages") sites.push_back(p.string());
    }
  }
  for (const std::string& site : sites) add_children(fs::path(site) / "nvidia", "cu", {""}, roots);
  return roots;
}

std::vector<std::string> library_folders() {
  std::vector<std::string> out;
  for (const std::string& r : given_roots()) out.insert(out.end(), {r + "/lib64", r + "/lib", r + "/targets/x86_64-linux/lib"});
  for (const std::string& r : wheel_roots()) out.push_back(r + "/lib");
  for (const std::string& r : usual_roots()) out.insert(out.end(), {r + "/lib64", r + "/lib"});
  auto seen_before = [&](auto it) { return std::find(out.begin(), it, *it) != it; };
  for (auto it = out.begin(); it != out.end();) it = seen_before(it) ? out.erase(it) : it + 1;
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

// The file that a loaded library is mapped from, where the loader found it by name alone.
std::string mapped_path(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name ? map->l_name : asked;
}

}  // namespace

void* find_symbol(const LoadedLibrary& library, const char* symbol) { return dlsym(library.handle, symbol); }

Result<LoadedLibrary> load_library(const LibraryName& name) {
  std::vector<std::string> candidates, folders;
  std::string given = environment(name.variable);
  if (!given.empty()) {
    candidates.push_back(given);
  } else {
    folders = library_folders();
    for (const std::string& folder : folders) {
      for (const char* file : name.files) candidates.push_back(folder + "/" + file);
    }
    candidates.insert(candidates.end(), name.files.begin(), name.files.end());
  }
  std::string unfit;  // the first file that is there and does not do
  for (const std::string& path : candidates) {
    std::error_code ignored;
    bool is_path = path.find('/') != std::string::npos;
    if (is_path && !fs::exists(path, ignored)) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle && dlsym(handle, name.function)) {
      LoadedLibrary out{handle, is_path ? path : mapped_path(handle, path), 0};
      auto size = fs::file_size(out.path, ignored);
      if (!ignored) out.bytes = size;
      return out;
    }
    const char* reason = handle ? nullptr : dlerror();
    if (!is_path || !unfit.empty()) continue;
    unfit = handle ? path + " lacks " + name.function + ", it is too old or another library" : std::string(reason ? reason : path);
  }
  std::string hint = std::string("install the CUDA toolkit or the wheel ") + name.package +
                     " (and activate its environment), or set CUDA_HOME or " + name.variable;
  std::string looked = given.empty() ? joined(folders) + " and the loader's folders" : std::string(name.variable) + " (" + given + ")";
  std::string what = std::string(name.name) + (unfit.empty() ? " is not found" : " cannot be used: " + unfit);
  return Error{Code::kToolchain, what + "; looked in " + looked, "", std::move(hint)};
}

std::string include_folder(const std::string& path) {
  std::vector<std::string> roots = {fs::path(path).parent_path().parent_path().string()};
  for (const auto& more : {given_roots(), wheel_roots(), usual_roots()}) roots.insert(roots.end(), more.begin(), more.end());
  for (const std::string& root : roots) {
    std::error_code ignored;
    if (fs::exists(root + "/include/cuda_fp16.h", ignored)) return root + "/include";
  }
  return {};
}

Result<std::string> find_nvcc() {
  std::vector<std::string> candidates;
  if (std::string given = environment("KILN_NVCC"); !given.empty()) {
    candidates = {given};
  } else {
    for (const std::string& r : given_roots()) candidates.push_back(r + "/bin/nvcc");
    candidates.emplace_back("nvcc");
    for (const std::string& r : usual_roots()) candidates.push_back(r + "/bin/nvcc");
  }
  for (const std::string& c : candidates) {
    std::string path = find_program(c);
    if (!path.empty()) return path;
  }
  return Error{Code::kToolchain, "nvcc is not found; looked for " + joined(candidates), "",
               "install the CUDA toolkit, or set CUDA_HOME or KILN_NVCC"};
}

}  // namespace kiln::cuda
