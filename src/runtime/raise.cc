#include "runtime/raise.h"

#include <tvm/ffi/c_api.h>

namespace kiln::runtime {

int raise(std::string_view kind, const std::string& message) {
  TVMFFIByteArray k{kind.data(), kind.size()}, m{message.data(), message.size()}, no_backtrace{"", 0};
  TVMFFIObjectHandle error = nullptr;
  if (TVMFFIErrorCreate(&k, &m, &no_backtrace, &error) == 0) {
    TVMFFIErrorSetRaised(error);
    TVMFFIObjectDecRef(error);
  }
  return -1;
}

}  // namespace kiln::runtime
