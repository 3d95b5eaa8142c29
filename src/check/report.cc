#include "check/report.h"

#include "base/one_line.h"

namespace kiln::check {

using namespace ir;

void Report::fault(SpanId span, const std::string& message, const std::string& hint) {
  if (error_) return;
  std::string place = module.place(span ? span : stmt_span_);
  if (place.empty() && function_) place = std::string(function_->name);
  error_ = Error{Code::kUnsupported, one_line(message), one_line(place), one_line(hint)};
}

void Report::unsupported(const Call* c, const std::string& hint) {
  std::string on;
  for (const Expr* a : c->args) {
    if (a->kind == ExprKind::kStringImm) continue;
    on = " on " + to_string(a->dtype);
    break;
  }
  fault(c->span, codegen + " has no operator '" + std::string(c->name) + "'" + on + (arch_.empty() ? "" : " for " + arch_), hint);
}

}  // namespace kiln::check
