#include "ir/op.h"

#include <string>
#include <unordered_map>

namespace kiln::ir {

static constexpr OpInfo kOps[] = {
    {"", -1, ResultRule::kHandle, Effect::kUpdate},
    {"", -1, ResultRule::kHandle, Effect::kUpdate},
#define KILN_OP(id, name, args, rule, effect) {name, args, ResultRule::rule, Effect::effect},
#include "ir/ops.def"
#undef KILN_OP
};

const OpInfo& op_info(Op op) { return kOps[static_cast<size_t>(op)]; }

Op find_op(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (size_t i = 2; i < std::size(kOps); ++i) map->emplace(kOps[i].name, static_cast<Op>(i));
    return map;
  }();
  auto it = table->find(name);
  if (it != table->end()) return it->second;
  if (name.starts_with("prim.")) return find_op("tirx." + std::string(name.substr(5)));  // Apache TVM 0.27 moved some
  return Op::kUnknown;
}

}  // namespace kiln::ir
