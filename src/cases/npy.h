// NumPy's array files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln::cases {

// Elements in C order. `kind` is NumPy's letter: 'f', 'i', 'u' or 'b'.
struct Array {
  char kind = 'f';
  int item_bytes = 4;
  std::vector<int64_t> shape;
  std::vector<char> data;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

// Reads a .npy file (format 1, 2 or 3; little-endian numbers; Fortran order is turned into C order). Any other content is one error.
Result<Array> read_npy(const std::string& path);

}  // namespace kiln::cases
