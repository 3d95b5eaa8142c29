#include "ir/text.h"
#include "kiln/ir_module.h"

namespace kiln {

std::string IRModule::script() const { return ir::print(ir()); }

}  // namespace kiln
