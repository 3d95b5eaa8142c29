#include "cache/cache.h"

#include <sys/mman.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <new>

#include "cache/entry.h"
#include "cache/settings.h"
#include "cache/store.h"

namespace kiln::cache {

namespace {

void warn(const Error& error) { std::fprintf(stderr, "kiln: warning: %s\n", error.to_string().c_str()); }

std::atomic<bool> warned_here = false;
std::atomic<bool>* warned = &warned_here;

void warn_once(const Error& error) {
  if (!warned->exchange(true)) warn(error);
}

std::atomic<uint64_t> hits, misses, shared, damaged;

// A size in bytes: digits, then perhaps K, M, G or T.
std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  size_t power = suffix.empty() ? 0 : std::string_view("KMGT").find(suffix[0]) + 1;
  if (error != std::errc() || suffix.size() > 1 || power > 4 || (suffix.size() == 1 && power == 0)) return std::nullopt;
  uint64_t factor = uint64_t{1} << (10 * power);
  if (value > UINT64_MAX / factor) return std::nullopt;
  return value * factor;
}

std::optional<std::string> look_up(const Store& store, const Settings& where, std::string_view key_text) {
  Lookup found = store.find(key_text);
  if (!found.damaged.empty()) {
    ++damaged;
    warn({Code::kIo, "an entry of the cache is damaged and is made again", where.folder + "/" + found.damaged, ""});
  }
  if (found.payload) ++hits;
  return std::move(found.payload);
}

Result<std::string> look_up_or_make(std::string_view key_text, const std::function<Result<std::string>()>& make) {
  auto where = settings();
  if (!where) warn_once(where.error());
  if (!where || where->folder.empty() || where->bound == 0) {
    ++misses;
    return make();
  }
  auto store = Store::open(where->folder);
  if (store) {
    if (auto payload = look_up(*store, *where, key_text)) return std::move(*payload);
  }
  ++misses;
  Result<std::string> made = make();
  if (!made) return made;
  if (!store) store = Store::make(where->folder);  // perhaps it is only not there yet
  Status published = store ? store->publish(key_text, *made, where->bound) : Status(store.error());
  if (!published) warn_once(published.error());
  return made;
}

}  // namespace

Result<Settings> settings() {
  Settings out;
  if (const char* size = std::getenv("KILN_CACHE_SIZE"); size && *size) {
    auto bound = parse_size(size);
    if (!bound) {
      return Error{Code::kInvalidArgument, "expected a size as KILN_CACHE_SIZE, got '" + std::string(size) + "'; nothing is cached", "",
                   "digits, then perhaps K, M, G or T: 512M"};
    }
    out.bound = *bound;
  }
  if (const char* folder = std::getenv("KILN_CACHE_DIR")) {
    if (std::string_view(folder) != "off") out.folder = folder;
    return out;
  }
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base && *base == '/') {  // relative ones are to be ignored, says the XDG base directory specification
    out.folder = std::string(base) + "/kiln";
    return out;
  }
  const char* home = std::getenv("HOME");
  if (!home || !*home) {
    return Error{Code::kInvalidArgument, "no folder is known for the cache, nothing is cached: HOME is not set", "",
                 "set KILN_CACHE_DIR to a folder, or to off"};
  }
  out.folder = std::string(home) + "/.cache/kiln";
  return out;
}

Result<std::string> fetch(const Key& key, const std::function<Result<std::string>()>& make) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_future<Result<std::string>>, std::less<>> in_flight;
  std::string key_text = text_of(key);
  std::promise<Result<std::string>> promise;
  {
    std::unique_lock lock(mutex);
    if (auto it = in_flight.find(key_text); it != in_flight.end()) {
      std::shared_future<Result<std::string>> other = it->second;
      lock.unlock();
      ++shared;
      return other.get();
    }
    in_flight.emplace(key_text, promise.get_future().share());
  }
  auto land = [&] {
    std::lock_guard lock(mutex);
    in_flight.erase(in_flight.find(key_text));
  };
  try {  // `make` may be a user's
    Result<std::string> out = look_up_or_make(key_text, make);
    promise.set_value(out);
    land();
    return out;
  } catch (...) {
    promise.set_exception(std::current_exception());
    land();
    throw;
  }
}

void warn_once_with_children() {
  if (warned != &warned_here) return;
  void* shared_page = mmap(nullptr, sizeof *warned, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared_page != MAP_FAILED) warned = new (shared_page) std::atomic<bool>(warned_here.load());
}

Counts counts() { return {hits, misses, shared, damaged}; }

}  // namespace kiln::cache
