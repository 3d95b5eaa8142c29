// A device IRModule as the public API sees it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/error.h"

namespace kiln {

namespace ir {
struct Module;
}

// Shared handle of an immutable module; cheap to copy, safe to read from any thread. SDK users reach the nodes through `ir()`.
class IRModule {
 public:
  explicit IRModule(std::shared_ptr<const ir::Module> module) : module_(std::move(module)) {}

  // Reads a module file: TVM's JSON or TVMScript, plain, gzip or zstd; "-" is standard input.
  static Result<IRModule> load(const std::string& path);
  // The same from memory; `file` names the text in errors.
  static Result<IRModule> parse(std::string_view text, std::string_view file);

  // The module as TVMScript.
  std::string script() const;
  const ir::Module& ir() const { return *module_; }

 private:
  std::shared_ptr<const ir::Module> module_;
};

}  // namespace kiln
