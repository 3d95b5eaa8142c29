#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli.h"
#include "import/import.h"
#include "ir/equal.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

// Folders stand for the device modules below them.
Result<std::vector<std::string>> module_files(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code ec;
    if (!fs::is_directory(path, ec)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, ec), end; !ec && it != end;
         it.increment(ec)) {
      std::string name = it->path().filename().string();
      if (name == "device.json" || name == "device.json.gz" || name.ends_with(".ir")) found.push_back(it->path().string());
    }
    if (found.empty()) return Error{Code::kIo, "no module is below this folder", path, "modules are device.json, device.json.gz or *.ir"};
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::vector<Error> faults_of(const std::string& path, bool round_trip) {
  auto m = load_module(path);
  if (!m) return {m.error()};
  std::vector<Error> faults = ir::verify(**m);
  if (!round_trip) return faults;
  std::string text = ir::print(**m), why;
  auto again = ir::parse(text, "printed text");
  if (!again)
    faults.push_back({Code::kInternal, "the printed text does not read back: " + again.error().to_string(), path, ""});
  else if (!ir::equal(**m, **again, &why))
    faults.push_back({Code::kInternal, "the printed text reads back to another module: " + why, path, ""});
  return faults;
}

}  // namespace

int print(const std::string& module, bool json) {
  auto m = load_module(module);
  if (!m) return report(m.error(), json);
  std::string text = ir::print(**m);
  if (json)
    fmt::print("{{\"text\": {}}}\n", quote(text));
  else
    fmt::print("{}", text);
  return 0;
}

int verify(const std::vector<std::string>& modules, bool round_trip, bool json) {
  auto files = module_files(modules);
  if (!files) return report(files.error(), json);
  size_t failed = 0;
  for (const std::string& file : *files) {
    std::vector<Error> faults = faults_of(file, round_trip);
    failed += !faults.empty();
    if (!json) {
      for (const Error& e : faults) fmt::print("{}\n", printable((e.place.starts_with(file) ? "" : file + ": ") + e.to_string()));
      continue;
    }
    std::string list;
    for (const Error& e : faults) {
      list += fmt::format("{}{{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}", list.empty() ? "" : ", ",
                          quote(code_name(e.code)), quote(e.message), quote(e.place), quote(e.hint));
    }
    fmt::print("{{\"module\": {}, \"faults\": [{}]}}\n", quote(file), list);
  }
  fmt::print(json ? stderr : stdout, "{} verified, {} failed\n", files->size() - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace kiln::cli
