// Any bytes are a module or one error: reading, verifying and printing never crash, and what is printed reads back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/import.h"
#include "ir/equal.h"
#include "ir/text.h"
#include "ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = kiln::parse_module(text, "fuzz");
  if (!module || !kiln::ir::verify(**module).empty()) return 0;
  std::string printed = kiln::ir::print(**module), why;
  auto again = kiln::ir::parse(printed, "printed");
  if (!again || !kiln::ir::equal(**module, **again, &why)) std::abort();
  return 0;
}
