// kiln new-backend: the C++ example of examples/, under another name.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend_template.h"
#include "cli/cli.h"
#include "registry/backend.h"
#include "target/target_kinds.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

Status check_name(const std::string& name) {
  auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || name.size() > 40 || !letter(name[0]) || !std::all_of(name.begin(), name.end(), allowed)) {
    return Error{Code::kInvalidArgument, "a backend's name must be up to 40 of a-z, 0-9 and _ that begin with a letter, got '" + name + "'",
                 "", "it becomes a target kind, and part of identifiers and file names"};
  }
  auto named = [&](const registry::Manifest& m) { return m.name == name; };
  const std::vector<registry::Manifest>& known = registry::manifests();
  if (target::find_kind(name) || std::any_of(known.begin(), known.end(), named)) {
    return Error{Code::kInvalidArgument, "there is a backend or a target kind '" + name + "' already", "", "choose another name"};
  }
  return Ok{};
}

std::string renamed(std::string_view text, std::string_view name) {
  std::string out;
  for (size_t at = 0;;) {
    size_t found = text.find(kTemplateName, at);
    out += text.substr(at, found - at);
    if (found == text.npos) return out;
    out += name;
    at = found + kTemplateName.size();
  }
}

// The folder appears whole or not at all.
Status write_backend(const std::string& name, const fs::path& folder) {
  std::error_code ec;
  if (fs::exists(fs::symlink_status(folder, ec))) {
    return Error{Code::kIo, "the folder exists already", folder.string(), "choose another with --output"};
  }
  std::string pattern = (fs::absolute(folder, ec).parent_path() / (".kiln-" + name + "-XXXXXX")).string();
  if (!mkdtemp(pattern.data())) return Error{Code::kIo, std::string("cannot make a folder: ") + std::strerror(errno), folder.string(), ""};
  bool written = true;
  for (const TemplateFile& file : kTemplateFiles) {
    std::ofstream out(fs::path(pattern) / file.name, std::ios::binary);
    out << renamed(file.text, name);
    out.close();
    written &= !out.fail();
  }
  if (written) {
    fs::permissions(pattern,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec,
                    ec);
    fs::rename(pattern, folder, ec);
    if (!ec) return Ok{};
  }
  std::string why = written ? ec.message() : "is the disk full?";
  fs::remove_all(pattern, ec);
  return Error{Code::kIo, "cannot write the backend: " + why, folder.string(), ""};
}

}  // namespace

int new_backend(const std::string& name, const std::string& output, bool json) {
  if (Status s = check_name(name); !s) return report(s.error(), json);
  std::string folder = output.empty() ? name : output;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (Status s = write_backend(name, folder); !s) return report(s.error(), json);
  if (json) {
    fmt::print("{{\"name\": {}, \"folder\": {}}}\n", quote(name), quote(folder));
    return 0;
  }
  std::string shown = printable(folder);
  fmt::print("{}: {} files; build it, and check it:\n", shown, std::size(kTemplateFiles));
  fmt::print("  cmake -S {0} -B {0}/build && cmake --build {0}/build\n", shown);
  fmt::print("  KILN_BACKEND_PATH={0}/build/{1} kiln conformance {1}\n", shown, name);
  return 0;
}

int print_cmake_folder() {
  fs::path folder = fs::path(registry::library_folder()) / "cmake" / "kiln";
  std::error_code ec;
  if (!fs::exists(folder / "kiln-config.cmake", ec)) {
    return report({Code::kIo, "this Kiln is not installed, so it has no CMake package", folder.string(), "cmake --install, or pip install"},
                  false);
  }
  fmt::print("{}\n", folder.string());
  return 0;
}

}  // namespace kiln::cli
