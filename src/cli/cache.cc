#include <fmt/format.h>
#include <sys/stat.h>

#include "cache/settings.h"
#include "cache/store.h"
#include "cli/cli.h"

namespace kiln::cli {

namespace {

using cache::Settings;
using cache::Store;

std::string size_text(uint64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return unit == std::string_view("B") ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, unit);
}

int stat(const Settings& where, const Store* store, bool json) {
  cache::Usage usage;
  if (store) {
    auto found = store->usage();
    if (!found) return report(found.error(), json);
    usage = *found;
  }
  if (json) {
    fmt::print("{{\"folder\": {}, \"entries\": {}, \"bytes\": {}, \"bound\": {}, \"temporaries\": {}}}\n", quote(where.folder),
               usage.entries, usage.bytes, where.bound, usage.temporaries);
    return 0;
  }
  fmt::print("{}\n{} entries, {} of at most {}\n", printable(where.folder), usage.entries, size_text(usage.bytes), size_text(where.bound));
  if (usage.temporaries) fmt::print("{} files that are being written or were left by killed processes\n", usage.temporaries);
  return 0;
}

int verify(const Store* store, bool json) {
  cache::Verified verified;
  if (store) {
    auto done = store->verify();
    if (!done) return report(done.error(), json);
    verified = std::move(*done);
  }
  if (json) {
    std::string names;
    for (const std::string& name : verified.damaged) names += (names.empty() ? "" : ", ") + quote(name);
    fmt::print("{{\"good\": {}, \"foreign\": {}, \"damaged\": [{}]}}\n", verified.good, verified.foreign, names);
  } else {
    for (const std::string& name : verified.damaged) fmt::print("damaged: {}\n", name);
    fmt::print("{} good, {} damaged", verified.good, verified.damaged.size());
    fmt::print("{}\n", verified.foreign ? fmt::format(", {} of another version of Kiln", verified.foreign) : "");
  }
  return verified.damaged.empty() ? 0 : 1;
}

int print_removed(const Result<cache::Usage>& done, bool json) {
  if (!done) return report(done.error(), json);
  if (json)
    fmt::print("{{\"removed\": {}, \"removed_bytes\": {}, \"entries\": {}, \"bytes\": {}}}\n", done->removed, done->removed_bytes,
               done->entries, done->bytes);
  else
    fmt::print("removed {} files, {}; {} entries remain, {}\n", done->removed, size_text(done->removed_bytes), done->entries,
               size_text(done->bytes));
  return 0;
}

}  // namespace

int cache_verb(const std::string& action, bool json) {
  auto where = cache::settings();
  if (!where) return report(where.error(), json);
  if (where->folder.empty()) {
    Error off{Code::kInvalidArgument, "the cache is off: KILN_CACHE_DIR is empty or 'off'", "",
              "unset KILN_CACHE_DIR, or set it to a folder"};
    return report(off, json);
  }
  // A folder that is not there yet is an empty cache; one that cannot be used is an error.
  struct ::stat s;
  std::optional<Store> store;
  if (::stat(where->folder.c_str(), &s) == 0 || errno != ENOENT) {
    auto opened = Store::open(where->folder);
    if (!opened) return report(opened.error(), json);
    store = std::move(*opened);
  }
  const Store* found = store ? &*store : nullptr;
  if (action == "stat") return stat(*where, found, json);
  if (action == "verify") return verify(found, json);
  if (!found) return print_removed(cache::Usage{}, json);
  return print_removed(action == "prune" ? found->prune(where->bound) : found->clear(), json);
}

}  // namespace kiln::cli
