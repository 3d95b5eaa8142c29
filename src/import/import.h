// Modules from files.
#pragma once

#include <string>

#include "ir/ir.h"

namespace kiln {

// Reads the JSON that TVM's save_json writes, of TileLang's dialect and of Apache TVM 0.27's. `file` names the text in errors.
// Memory stays within a few times the size of the text; any input gives a module or one error.
Result<ir::ModulePtr> import_tvm_json(std::string_view text, std::string_view file);

// Reads a module file of any kind: JSON or TVMScript, plain or gzip or zstd, told apart by content. "-" is standard input.
Result<ir::ModulePtr> load_module(const std::string& path);
// The same for text in memory.
Result<ir::ModulePtr> parse_module(std::string_view text, std::string_view file);

// A whole file, decompressed when it is gzip or zstd. An unpacked size over 1 GiB is an error.
Result<std::string> read_file(const std::string& path);

}  // namespace kiln
