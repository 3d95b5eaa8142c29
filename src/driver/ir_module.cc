#include "kiln/ir_module.h"

#include "import/import.h"
#include "ir/text.h"

namespace kiln {

Result<IRModule> IRModule::load(const std::string& path) {
  auto m = load_module(path);
  if (!m) return m.error();
  return IRModule(*m);
}
Result<IRModule> IRModule::parse(std::string_view text, std::string_view file) {
  auto m = parse_module(text, file);
  if (!m) return m.error();
  return IRModule(*m);
}

std::string IRModule::script() const { return ir::print(ir()); }

}  // namespace kiln
