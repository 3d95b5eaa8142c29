// Writing to a file descriptor.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace kiln {

// Writes every byte, however many calls that takes; false, with errno, when one of them fails.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace kiln
