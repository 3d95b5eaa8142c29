#include "cache/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cache/entry.h"

namespace kiln::cache {

namespace {

constexpr std::string_view kTemporary = "tmp-";
constexpr size_t kNameSize = 32;
constexpr off_t kMaxEntry = off_t{1} << 30;   // more is no compiled kernel
constexpr time_t kStale = 3600, kTouch = 60;  // seconds

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    auto u = static_cast<unsigned char>(c);
    out += {kDigits[u >> 4], kDigits[u & 15]};
  }
  return out;
}

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == text.npos; }
bool is_entry(std::string_view name) { return name.size() == kNameSize && is_hex(name); }
bool is_temporary(std::string_view name) {
  return name.starts_with(kTemporary) && name.size() == kTemporary.size() + 16 && is_hex(name.substr(kTemporary.size()));
}

std::string temporary_name() {
  char random[8] = {};
  (void)!getrandom(random, sizeof random, 0);  // the file is made only if it is not there yet
  return std::string(kTemporary) + hex({random, sizeof random});
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// What the file holds: as many bytes as it had when it was opened, or fewer if it became shorter since.
std::optional<std::string> read_whole(int fd, off_t size) {
  std::string out(static_cast<size_t>(size), '\0');
  size_t have = 0;
  while (have < out.size()) {
    ssize_t n = read(fd, out.data() + have, out.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  out.resize(have);
  return out;
}

// The entry's bytes; nothing when there is none (errno ENOENT) or it cannot be read. Not a plain file: as if it had no bytes.
std::optional<std::string> read_entry(int folder, const std::string& name, time_t& modified, File& file) {
  file = File(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat s;
  if (!file) return errno == ELOOP ? std::optional<std::string>("") : std::nullopt;
  if (fstat(file.fd(), &s) != 0) return std::nullopt;
  modified = s.st_mtime;
  if (!S_ISREG(s.st_mode) || s.st_size > kMaxEntry) return "";
  return read_whole(file.fd(), s.st_size);
}

}  // namespace

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

std::string name_of(std::string_view key_text) { return hex(digest(key_text)); }

Error Store::failed(const char* what) const { return {Code::kIo, std::string(what) + ": " + std::strerror(errno), path_, ""}; }

Result<Store> Store::open(const std::string& folder) {
  Store store(File(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), folder);
  struct stat s;
  if (!store.folder_ || fstat(store.folder_.fd(), &s) != 0) {
    Error error = store.failed("cannot open the cache's folder");
    error.hint = "KILN_CACHE_DIR names another, or none: off";
    return error;
  }
  const char* fault = s.st_uid != geteuid() && s.st_uid != 0 ? "belongs to another user"
                      : s.st_mode & 022                      ? "can be written by others"
                                                             : "";
  if (*fault) {
    return Error{Code::kIo, std::string("the cache's folder ") + fault + ", who could put code there that runs as you", folder,
                 "take the right to write from group and others (chmod go-w), or set KILN_CACHE_DIR to a folder of your own"};
  }
  return store;
}

Result<Store> Store::make(const std::string& folder) {
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  std::error_code ignored;                              // opening says what is wrong
  std::filesystem::create_directories(path.parent_path(), ignored);
  mkdir(path.c_str(), 0700);
  return open(folder);
}

Lookup Store::find(std::string_view key_text) const {
  std::string name = name_of(key_text);
  time_t modified = 0;
  File file;
  std::optional<std::string> bytes = read_entry(folder_.fd(), name, modified, file);
  if (!bytes) return {};
  Decoded entry = decode(*bytes);
  if (entry.state == State::kDamaged) return {std::nullopt, name};
  // Another key text: two keys with one digest, which nobody has seen by chance. The last to be published stays.
  if (entry.state != State::kGood || entry.key_text != key_text) return {};
  // The time of last use is that of modification. Once a minute is enough, and keeps hits fast; it may fail where the folder is read-only.
  if (time_t now = time(nullptr); now - modified > kTouch || now < modified) (void)!futimens(file.fd(), nullptr);
  return {std::string(entry.payload), ""};
}

Status Store::publish(std::string_view key_text, std::string_view payload, uint64_t bound) const {
  std::string entry = encode(key_text, payload), name = name_of(key_text), temporary = temporary_name();
  if (entry.size() > bound || entry.size() > size_t{kMaxEntry}) return Ok{};
  // Not flushed to the disk: after a power cut the entry may be damaged, which reading finds out.
  File file(openat(folder_.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed("cannot write to the cache");
  auto put = [&] { return renameat(folder_.fd(), temporary.c_str(), folder_.fd(), name.c_str()) == 0; };
  if (!write_whole(file.fd(), entry) || !(put() || (errno == EISDIR && remove(name) && put()))) {
    Error error = failed("cannot write to the cache");
    remove(temporary);
    return error;
  }
  // One entry in so many prunes, chosen by its digest: no count has to be shared by the processes.
  uint64_t number = std::stoull(name.substr(0, 16), nullptr, 16);
  if (number % std::max<uint64_t>(bound / 16, 1) < entry.size()) (void)prune(bound);
  return Ok{};
}

struct Store::Item {
  std::string name;
  uint64_t bytes;
  struct timespec used;
};

Result<std::vector<Store::Item>> Store::list() const {
  // A descriptor of its own: the position in a folder belongs to the open file, which threads share.
  int fd = openat(folder_.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = fd < 0 ? nullptr : fdopendir(fd);
  if (!stream) {
    Error error = failed("cannot list the cache's folder");
    if (fd >= 0) close(fd);
    return error;
  }
  std::vector<Item> items;
  while (const dirent* d = readdir(stream)) {
    struct stat s;
    std::string name = d->d_name;
    if (!is_entry(name) && !is_temporary(name)) continue;
    if (fstatat(folder_.fd(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    items.push_back({std::move(name), static_cast<uint64_t>(s.st_size), s.st_mtim});
  }
  closedir(stream);
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.name < b.name; });
  return items;
}

bool Store::remove(const std::string& name) const {
  return unlinkat(folder_.fd(), name.c_str(), 0) == 0 || (errno == EISDIR && unlinkat(folder_.fd(), name.c_str(), AT_REMOVEDIR) == 0);
}

Result<Usage> Store::usage() const {
  auto items = list();
  if (!items) return items.error();
  Usage out;
  for (const Item& item : *items) {
    if (is_temporary(item.name)) {
      ++out.temporaries;
    } else {
      ++out.entries;
      out.bytes += item.bytes;
    }
  }
  return out;
}

Result<Verified> Store::verify() const {
  auto items = list();
  if (!items) return items.error();
  Verified out;
  for (const Item& item : *items) {
    if (is_temporary(item.name)) continue;
    time_t modified;
    File file;
    std::optional<std::string> bytes = read_entry(folder_.fd(), item.name, modified, file);
    if (!bytes && errno == ENOENT) continue;  // pruned meanwhile
    Decoded entry = bytes ? decode(*bytes) : Decoded{};
    if (entry.state == State::kForeign) {
      ++out.foreign;
    } else if (entry.state == State::kGood && name_of(entry.key_text) == item.name) {
      ++out.good;
    } else {
      out.damaged.push_back(item.name);
      remove(item.name);
    }
  }
  return out;
}

Result<Usage> Store::prune(uint64_t bound) const {
  auto items = list();
  if (!items) return items.error();
  Usage out;
  auto drop = [&](const Item& item) {
    if (!remove(item.name)) return false;
    ++out.removed;
    out.removed_bytes += item.bytes;
    return true;
  };
  time_t now = time(nullptr);
  std::vector<Item> entries;
  for (Item& item : *items) {
    if (!is_temporary(item.name)) {
      out.bytes += item.bytes;
      entries.push_back(std::move(item));
    } else if (now - item.used.tv_sec < kStale || !drop(item)) {
      ++out.temporaries;
    }
  }
  out.entries = entries.size();
  if (out.bytes <= bound) return out;
  std::sort(entries.begin(), entries.end(), [](const Item& a, const Item& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Item& item : entries) {
    if (out.bytes <= bound - bound / 8) break;
    drop(item);  // if it fails: another process did it
    out.bytes -= item.bytes;
    --out.entries;
  }
  return out;
}

Result<Usage> Store::clear() const {
  auto items = list();
  if (!items) return items.error();
  Usage out;
  for (const Item& item : *items) {
    if (remove(item.name)) {
      ++out.removed;
      out.removed_bytes += item.bytes;
    } else if (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {  // gone meanwhile; a folder with something in it, so not ours
      return failed("cannot remove entries of the cache");
    }
  }
  return out;
}

}  // namespace kiln::cache
