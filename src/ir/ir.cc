#include "ir/ir.h"

#include <string>

#include "ir/builder.h"

namespace kiln::ir {

const Value* Value::find(std::string_view key) const {
  for (const KeyValue& kv : map) {
    if (kv.key.kind == Kind::kString && kv.key.string == key) return &kv.value;
  }
  return nullptr;
}

std::string_view Function::symbol() const {
  const Value* v = attrs ? attrs->find("global_symbol") : nullptr;
  return v && v->kind == Value::Kind::kString ? v->string : std::string_view();
}

std::string Module::place(SpanId id) const {
  if (id == 0 || id >= spans.size()) return {};
  const Span& s = spans[id];
  return std::string(s.file) + ":" + std::to_string(s.line) + ":" + std::to_string(s.column);
}

const Stmt* Builder::seq(const std::vector<const Stmt*>& stmts, SpanId span) {
  std::vector<const Stmt*> flat;
  flat.reserve(stmts.size());
  for (const Stmt* s : stmts) {
    if (auto* inner = s->as<Seq>()) {
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    } else {
      flat.push_back(s);
    }
  }
  if (flat.size() == 1) return flat[0];
  return add(Seq{{StmtKind::kSeq, span}, list(flat)});
}

}  // namespace kiln::ir
