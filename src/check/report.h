// What a backend's check keeps while it looks at a module: the first fault, and where it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/ir.h"
#include "ir/rewriter.h"
#include "kiln/error.h"

namespace kiln::check {

class Report {
 public:
  // `codegen` is the name that messages say, `arch` the architecture, if there is one.
  Report(const ir::Module& module, std::string codegen, std::string arch = "")
      : module(module), codegen("codegen '" + std::move(codegen) + "'"), arch_(std::move(arch)) {}

  // Calls `on_stmt` and `on_expr` for all statements and expressions of the function, parents first, until there is a fault.
  template <class S, class E>
  void walk(const ir::Function* f, S&& on_stmt, E&& on_expr) {
    function_ = f;
    auto each = [&](const ir::Expr* e) {
      if (!error_) on_expr(e);
    };
    visit(
        f->body,
        [&](const ir::Stmt* s) {
          if (s->span) stmt_span_ = s->span;
          if (!error_) on_stmt(s);
        },
        [&](const ir::Expr* e) { visit(e, each); });
  }
  // The function that faults outside its body are in.
  void in(const ir::Function* f) { function_ = f; }

  // Keeps an error of code kUnsupported, if it is the first. Its place is that of `span`, else of the statement, else the function's name.
  // Names in the message may be any bytes: what would break its line is escaped.
  void fault(ir::SpanId span, const std::string& message, const std::string& hint = "");
  // The codegen has no such operator on these arguments.
  void unsupported(const ir::Call* c, const std::string& hint = "");
  bool failed() const { return error_.has_value(); }
  Status status() const {
    if (error_) return *error_;
    return Ok{};
  }

  const ir::Module& module;
  const std::string codegen;  // "codegen 'c'"
  // " on sm_90a", or "" where there is no architecture.
  std::string on_arch() const { return arch_.empty() ? "" : " on " + arch_; }

 private:
  const std::string arch_;
  const ir::Function* function_ = nullptr;
  ir::SpanId stmt_span_ = 0;
  std::optional<Error> error_;
};

}  // namespace kiln::check
