// From a lowered module to C: everything that the language cannot say is refused first, then the text is printed.
#include "print.h"

#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "emit/c_family.h"
#include "emit/functions.h"
#include "ir/rewriter.h"
#include "legalise/legalise.h"

using namespace kiln;
using namespace kiln::ir;
using emit::CFamily;

namespace {

// ---- what the language can say, as rows ------------------------------------------------------------------------

constexpr std::pair<DataType, const char*> kTypes[] = {{kBool, "bool"},       {kInt32, "int32_t"},   {kInt64, "int64_t"},
                                                       {kUInt32, "uint32_t"}, {kUInt64, "uint64_t"}, {kFloat32, "float"},
                                                       {kFloat64, "double"}};

// C functions by operator, as they are called on float64; on float32 they have the suffix f.
constexpr std::pair<Op, const char*> kFunctions[] = {
    {Op::tirx_exp, "exp"}, {Op::tirx_log, "log"}, {Op::tirx_sqrt, "sqrt"}, {Op::tirx_tanh, "tanh"}, {Op::tirx_fabs, "fabs"}};

// What no variable may be called: C's keywords, and names that the text uses itself.
emit::Names reserved_names() {
  std::istringstream words(R"(args auto bool break case char const continue default do double else enum extern false float for goto if
      inline int long main register return restrict short signed sizeof static struct switch true typedef union unsigned void volatile while
      NAN INFINITY)");
  std::set<std::string, std::less<>> names{std::istream_iterator<std::string>(words), {}};
  for (const auto& [op, name] : kFunctions) names.insert({name, std::string(name) + "f"});
  return names;
}

const char* function_of(Op op) {
  for (const auto& [row, name] : kFunctions) {
    if (row == op) return name;
  }
  return nullptr;
}

const char* type_name(DataType t) {
  for (const auto& [dtype, name] : kTypes) {
    if (dtype == t) return name;
  }
  return nullptr;
}
// ---- check: everything that the language cannot say, before anything is printed --------------------------------

class Checker {
 public:
  explicit Checker(const ir::Module& module) : module_(module) {}
  std::optional<Error> run(const Function* f) {
    for (const Var* p : f->params) {
      bool pointer = p->dtype.is_handle() && p->pointer;
      dtype(pointer ? p->pointer->element.element() : p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
    }
    if (!f->ret.is_void() && f->ret != kInt32) fault(0, "has no function that returns " + to_string(f->ret));
    visit(
        f->body, [&](const Stmt* s) { stmt(s); }, [&](const Expr* e) { visit(e, [&](const Expr* x) { expr(x); }); });
    if (error_ && error_->place.empty()) error_->place = std::string(f->name);
    return error_;
  }

 private:
  void fault(SpanId span, const std::string& message) {
    if (!error_) error_ = Error{Code::kUnsupported, "codegen 'mylang' " + message, module_.place(span), ""};
  }
  void dtype(DataType t, SpanId span, const std::string& where) {
    if (!type_name(t)) fault(span, "has no type for dtype '" + to_string(t) + "' of " + where);
  }
  void stmt(const Stmt* s) {
    auto* alloc = s->as<AllocBuffer>();
    auto* store = s->as<Store>();
    const Buffer* buffer = alloc ? alloc->buffer : store ? store->buffer : nullptr;
    if (buffer) dtype(buffer->dtype.element(), s->span, "buffer '" + std::string(buffer->name) + "'");
    for (const Expr* d : alloc ? buffer->shape : List<const Expr*>()) {
      if (!d->as<IntImm>()) fault(s->span, "has no buffers of a size that is not constant");
    }
    auto* t = s->as<ThreadExtent>();
    if (t && !(t->extent->as<IntImm>() && t->extent->as<IntImm>()->value == 1)) fault(s->span, "has no thread blocks");
    if (s->kind == StmtKind::kAssert) fault(s->span, "has no assertions");
  }
  void expr(const Expr* e) {
    if (!e->dtype.is_handle() && !e->dtype.is_void()) dtype(e->dtype, e->span, "an expression");
    if (e->kind == ExprKind::kMin || e->kind == ExprKind::kMax) fault(e->span, "has no minimum or maximum");
    if (e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kFloorMod) fault(e->span, "has no floor division of a dividend below 0");
    if (e->kind == ExprKind::kMod && e->dtype.is_floating()) fault(e->span, "has no remainder of floats");
    auto* c = e->as<Call>();
    if (!c || c->op == Op::tirx_ret || c->op == Op::tirx_if_then_else) return;
    bool scalar_float = c->dtype == kFloat32 || c->dtype == kFloat64;
    if (!function_of(c->op) || !scalar_float) fault(c->span, "has no operator '" + std::string(c->name) + "' on " + to_string(c->dtype));
  }

  const ir::Module& module_;
  std::optional<Error> error_;
};

// ---- print -----------------------------------------------------------------------------------------------------

std::string float_literal(DataType t, double v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  return t.bits == 64 ? emit::decimal(v) : emit::decimal(static_cast<float>(v)) + "f";
}

emit::Text call(CFamily& p, const Call& c) {
  if (c.op == Op::tirx_if_then_else) {
    Select lazy{{ExprKind::kSelect, c.dtype, c.span}, c.args[0], c.args[1], c.args[2]};
    return p.expr(&lazy);
  }
  return {function_of(c.op) + std::string(c.dtype == kFloat64 ? "(" : "f(") + p.args(c.args) + ")"};
}

void alloc(CFamily& p, const AllocBuffer& a) {
  int64_t n = emit::constant_elements(a.buffer);
  DataType element = a.buffer->dtype.element();
  p.pointees[a.buffer->data] = element;
  p.out.line(p.type(element) + " " + p.names.declare(a.buffer->data) + "[" + std::to_string(std::max<int64_t>(n, 1)) + "];");
}

std::string evaluate(CFamily& p, const Evaluate& e) {
  auto* c = e.value->as<Call>();
  if (!c || c->op != Op::tirx_ret) return "";
  return p.function->ret.is_void() ? "return;" : "return " + p.str(c->args[0]) + ";";
}

const emit::Dialect kDialect = {[](DataType t) { return std::string(type_name(t)); },
                                float_literal,
                                call,
                                alloc,
                                /*assertion=*/[](CFamily&, const Assert&) {},
                                /*before_loop=*/[](CFamily&, const For&) {},
                                /*attr=*/[](CFamily& p, const Attr& a) { p.stmt(a.body); },
                                evaluate};

void print_function(const Function* f, Source& source) {
  emit::Writer out, entry;
  static const emit::Names words = reserved_names();
  static const emit::Reserved reserved{words, {}, nullptr};
  CFamily p(kDialect, out, reserved);
  p.function = f;
  p.bare_return = f->ret.is_void() ? "return;" : "return 0;";
  p.count_uses(f->body);
  size_t index = source.kernels.size();
  KernelInfo kernel;
  kernel.name = emit::name_of(f);
  kernel.symbol = "kernel_" + std::to_string(index) + "_" + emit::identifier(kernel.name);  // unique, and no word of C
  std::string params, args;
  std::vector<emit::Parameter> list = emit::parameters(f);
  for (size_t i = 0; i < list.size(); ++i) {
    KernelParam& param = list[i].info;
    if (param.is_pointer && !param.dtype.is_void()) p.pointees[f->params[i]] = param.dtype;
    std::string type = list[i].type(kDialect.type);
    params += (i ? ", " : "") + type + " " + p.names.declare(f->params[i]);
    args += (i ? ", *(" : "*(") + type + "*)args[" + std::to_string(i) + "]";
    kernel.params.push_back(std::move(param));
  }
  std::string type = f->ret.is_void() ? "void " : "int32_t ";
  p.block(type + kernel.symbol + "(" + (params.empty() ? "void" : params) + ")", f->body);
  entry.open("int32_t kiln_entry_" + std::to_string(index) + "(void* const* args)");
  entry.line((f->ret.is_void() ? "" : "return ") + kernel.symbol + "(" + args + ");");
  if (f->ret.is_void()) entry.line("return 0;");
  entry.close();
  source.text += "\n" + out.take();
  source.entry_text += "\n" + entry.take();
  source.kernels.push_back(std::move(kernel));
}

}  // namespace

Result<Source> mylang_backend::print(const IRModule& module) {
  Arena arena;
  Source source;
  source.format = "c";
  source.text = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n";
  for (const Function* f : module.ir().functions) {
    f = legalise::legalise(arena, f, Features{});
    if (std::optional<Error> error = Checker(module.ir()).run(f)) return *error;
    print_function(f, source);
  }
  return source;
}
