// What the passes share.
#pragma once

#include "ir/rewriter.h"

namespace kiln::legalise {

// `f` with its body rewritten by `rewriter`.
inline const ir::Function* rewrite_body(Arena& arena, const ir::Function* f, ir::Rewriter& rewriter) {
  const ir::Stmt* body = rewriter.stmt(f->body);
  if (body == f->body) return f;
  ir::Function out = *f;
  out.body = body;
  return arena.make(out);
}

// A fresh array of `size` elements in scope "local" and its data pointer.
inline const ir::Buffer* local_array(ir::Builder& build, std::string_view name, ir::DataType element, int64_t size) {
  auto* data = build.var(name, ir::kHandle, build.pointer(element, "local"));
  std::vector<const ir::Expr*> shape{build.int_imm(ir::kInt32, size)};
  ir::Buffer buffer{};
  buffer.name = data->name, buffer.data = data, buffer.dtype = element, buffer.shape = build.list(shape);
  return build.add(buffer);
}

inline const ir::Stmt* alloc(ir::Builder& build, const ir::Buffer* buffer) {
  return build.add(ir::AllocBuffer{{ir::StmtKind::kAllocBuffer, 0}, buffer, nullptr});
}

inline ir::List<const ir::Expr*> one(ir::Builder& build, const ir::Expr* e) { return build.list(std::vector<const ir::Expr*>{e}); }

}  // namespace kiln::legalise
