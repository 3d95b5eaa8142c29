// The cache of compiled code: what a toolchain made from the same text, once for all processes of a user.
//
// Lies in $KILN_CACHE_DIR (empty or "off": no cache), else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln, and is bounded by $KILN_CACHE_SIZE
// (default 4G). docs/cache.md says what is where and why it is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kiln/error.h"

namespace kiln::cache {

// All that the made bytes depend on, beside Kiln's version, which is part of every key. No path, clock or name of a machine: a folder that
// is moved keeps its hits.
struct Key {
  std::string format;        // of the bytes: "cubin", "so"
  std::string architecture;  // what they run on: "sm_90a", a processor's name
  std::string toolchain;     // name and version of what makes them: "NVRTC 13.0"
  std::string options;       // flags, as the toolchain gets them
  std::string source;        // the text that is compiled
};

// The bytes of `key` from the cache, else of `make`, which are then published. Within a process one thread makes the bytes of a key and the
// others wait for it; other processes may make the same at the same time. No lock is held meanwhile, save that `make` must not fetch the
// same key. Errors of `make` go to all who wait and are not kept. The cache itself never fails: an entry that is damaged is made again and
// reported on stderr, a folder that cannot be used is reported once a process. Safe from any thread.
Result<std::string> fetch(const Key& key, const std::function<Result<std::string>()>& make);

// A folder that cannot be used is reported once by this process and those that it forks from now on, all together. Call it before the
// process starts a thread.
void warn_once_with_children();

// What this process' calls of `fetch` came to.
struct Counts {
  uint64_t hits = 0;     // read from the cache
  uint64_t misses = 0;   // made (or failed to be)
  uint64_t shared = 0;   // waited for another thread
  uint64_t damaged = 0;  // of the misses: an entry was there but could not be used
};
Counts counts();

}  // namespace kiln::cache
