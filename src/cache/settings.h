// Where the cache is and how large it may become, by the environment.
#pragma once

#include <cstdint>
#include <string>

#include "kiln/error.h"

namespace kiln::cache {

struct Settings {
  std::string folder;  // empty: no cache is wanted
  uint64_t bound = uint64_t{4} << 30;
};

// From KILN_CACHE_DIR, KILN_CACHE_SIZE, XDG_CACHE_HOME and HOME. Error kInvalidArgument when the size is none, or no folder is known.
Result<Settings> settings();

}  // namespace kiln::cache
