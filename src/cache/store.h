// One folder of cached entries, and the housekeeping of it. Everything here is safe beside other processes that use the same folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln::cache {

// A closed file descriptor is -1.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  File& operator=(File&& other) noexcept;
  ~File();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct Usage {
  uint64_t entries = 0, bytes = 0;  // whole entries and their sizes
  uint64_t temporaries = 0;         // files that are being written, or that a killed process left
  uint64_t removed = 0, removed_bytes = 0;
};

struct Verified {
  uint64_t good = 0, foreign = 0;    // foreign: of another layout's version, left alone
  std::vector<std::string> damaged;  // names of the entries, which are gone now
};

struct Lookup {
  std::optional<std::string> payload;
  std::string damaged;  // name of the entry that is there and cannot be used
};

class Store {
 public:
  // The folder, which exists. Error kIo when it is none, cannot be read, or others could have written to it: compiled code is run, so only
  // the user and root may own it, and nobody else may write.
  static Result<Store> open(const std::string& folder);
  // The same, made if it is missing (with the folders above), for its owner only.
  static Result<Store> make(const std::string& folder);

  // The payload of a key's entry, which becomes the most recently used. Files that cannot be read are misses.
  Lookup find(std::string_view key_text) const;
  // Writes the entry aside and renames it: at any moment it is there whole or not at all, and the last of several writers wins. Prunes by
  // itself as often as 1/16 of `bound` bytes come in. Larger than `bound`: not kept.
  Status publish(std::string_view key_text, std::string_view payload, uint64_t bound) const;

  Result<Usage> usage() const;
  // Reads every entry and removes what is damaged.
  Result<Verified> verify() const;
  // When the entries have more than `bound` bytes together: removes the least recently used until they have 7/8 of it. Also what killed
  // processes left an hour ago or more.
  Result<Usage> prune(uint64_t bound) const;
  // Removes all entries, and nothing that is not ours.
  Result<Usage> clear() const;

 private:
  struct Item;
  Store(File folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  Result<std::vector<Item>> list() const;
  bool remove(const std::string& name) const;
  Error failed(const char* what) const;

  File folder_;
  std::string path_;
};

// Name of the entry's file: 32 hexadecimal digits of the key text's digest.
std::string name_of(std::string_view key_text);

}  // namespace kiln::cache
