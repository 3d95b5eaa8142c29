#include "backends/c/print.h"

#include <algorithm>
#include <optional>

#include "backends/c/check.h"
#include "backends/c/features.h"
#include "emit/functions.h"
#include "host_c/dialect.h"
#include "host_c/intrinsics.h"
#include "host_c/lower.h"
#include "host_c/prelude.h"
#include "ir/rewriter.h"
#include "legalise/legalise.h"

namespace kiln::c {

using namespace host_c;

namespace {

using namespace ir;
using emit::is_kernel;
using emit::Parameter;

bool is_packed(const Function* f) {
  const Value* convention = f->attrs ? f->attrs->find("calling_conv") : nullptr;
  return convention && convention->integer == 1 && f->params.size() == 4;
}

// An int32 result that is 0 wherever the function ends is a status.
bool returns_only_zero(const Function* f) {
  bool zero = f->ret == kInt32;
  auto check = [&](const Expr* value) { zero &= value && value->as<IntImm>() && value->as<IntImm>()->value == 0; };
  visit(
      f->body,
      [&](const Stmt* s) {
        if (auto* r = s->as<Return>()) check(r->value);
        auto* e = s->as<Evaluate>();
        auto* c = e ? e->value->as<Call>() : nullptr;
        if (c && c->op == Op::tirx_ret) check(c->args.empty() ? nullptr : c->args[0]);
      },
      [](const Expr*) {});
  return zero;
}

class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module)
      : module_(module), reserved_{reserved_names(), {}, nullptr}, imported_(emit::imported_source(module)) {}

  Result<Source> print() {
    for (const Function* f : module_.functions) {
      if (emit::has_imported_body(f)) continue;  // its text is in the imported source
      functions_.push_back(lower(arena_, legalise::legalise(arena_, legalise::bind_effects(arena_, f), features())));
    }
    name_functions();
    if (std::optional<Error> lost = lost_failure()) return *lost;
    emit::Writer body;
    prototypes(body);
    for (const Function* f : functions_) function(f, body);
    Source source;
    source.format = "c";
    source.text = assemble(body.take());
    source.entry_text = entries();
    source.kernels = std::move(kernels_);
    return source;
  }

 private:
  // Not a name of C, of a header, of the compiler (two underscores, or one and a capital), or of the entries with their `args`. The packed
  // functions of tile compilers begin with two underscores, by a convention of their own.
  static bool is_free_for_function(std::string_view name) {
    bool compilers = emit::is_reserved_to_compiler(name) && !name.starts_with("__tvm_ffi_");
    return !compilers && name != "args" && !name.starts_with("kiln_") && !reserved_names().contains(name);
  }

  void name_functions() {
    auto symbols = emit::symbols(functions_, is_free_for_function);
    for (const Function* f : functions_) {
      const std::string& symbol = symbols[std::string(f->name)];
      callees_.by_name[std::string(f->name)] = {symbol, false, f->ret};
      reserved_.module.insert(symbol);
    }
    // What fails passes it on: as often as there may be calls between functions.
    for (size_t round = 0; round < functions_.size(); ++round) {
      for (const Function* f : functions_) {
        bool free_result = f->ret.is_void() || returns_only_zero(f);
        if (free_result && can_fail(f->body, callees_)) callees_.by_name[std::string(f->name)].has_status = true;
      }
    }
    for (const Function* f : functions_) emit::add_externals(f, reserved_.module);
  }

  // A call whose failure could not be told from its value.
  std::optional<Error> lost_failure() {
    std::optional<Error> error;
    std::set<std::string_view> failing;
    for (const Function* f : functions_) {
      if (can_fail(f->body, callees_)) failing.insert(f->name);
    }
    for (const Function* f : functions_) {
      std::set<const Expr*> statements;  // calls that are statements: those of functions with a status are tested
      visit(
          f->body,
          [&](const Stmt* s) {
            auto* e = s->as<Evaluate>();
            auto* c = e ? e->value->as<Call>() : nullptr;
            if (c && c->op == Op::kFunction && callees_.by_name[std::string(c->name)].has_status) statements.insert(c);
          },
          [&](const Expr* e) {
            visit(e, [&](const Expr* x) {
              auto* c = x->as<Call>();
              if (error || !c || c->op != Op::kFunction || statements.contains(c) || !failing.contains(c->name)) return;
              error = Error{Code::kUnsupported, "function '" + std::string(c->name) + "' may fail, and its caller uses its result",
                            std::string(f->name), "codegen 'c' passes on failures of functions that return nothing or 0"};
            });
          });
    }
    return error;
  }

  std::string result_type(const Function* f) { return callees_.by_name[std::string(f->name)].has_status ? "int32_t" : type_name(f->ret); }

  std::string signature(const Function* f, CPrinter* names) {
    std::string text = (is_kernel(f) ? "" : "static ") + result_type(f) + " " + callees_.by_name[std::string(f->name)].symbol + "(";
    std::vector<Parameter> params = emit::parameters(f);
    for (size_t i = 0; i < params.size(); ++i) {
      text += (i ? ", " : "") + params[i].type(type_name) + (params[i].alone && !is_packed(f) ? " restrict" : "");
      if (names) text += " " + names->names.declare(f->params[i]);
    }
    return text + (params.empty() ? "void)" : ")");
  }

  void prototypes(emit::Writer& out) {
    bool any = false;
    for (const Function* f : functions_) {
      if (is_kernel(f)) continue;
      out.line(signature(f, nullptr) + ";");
      any = true;
    }
    if (any) out.line("");
  }

  void function(const Function* f, emit::Writer& out) {
    CPrinter p(out, reserved_, callees_);
    p.function = f;
    p.has_status = callees_.by_name[std::string(f->name)].has_status;
    if (!f->ret.is_void() || p.has_status) p.bare_return = "return 0;";
    p.count_uses(f->body);
    std::vector<Parameter> params = emit::parameters(f);
    header(f, params, out);
    std::string head = signature(f, &p);
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].info.is_pointer && !params[i].info.dtype.is_void()) p.pointees[f->params[i]] = params[i].info.dtype;
    }
    out.open(head);
    p.names.push();
    p.stmt(f->body);
    if (f->ret.is_void() ? p.has_status : !ends_in_return(f->body)) out.line("return 0;");
    p.names.pop();
    out.close();
    out.line("");
    if (is_kernel(f)) record(f, std::move(params));
  }

  // Where the kernel is from and what it takes.
  void header(const Function* f, const std::vector<Parameter>& params, emit::Writer& out) {
    std::string text = "// " + emit::comment(emit::name_of(f)) + "(";
    for (size_t i = 0; i < params.size(); ++i) {
      const KernelParam& k = params[i].info;
      text += (i ? ", " : "") + emit::comment(k.name) + ": " + (k.dtype.is_void() ? "handle" : to_string(k.dtype));
      if (!k.is_pointer || k.shape.empty()) continue;
      text += "[";
      for (size_t d = 0; d < k.shape.size(); ++d)
        text += (d ? ", " : "") + (k.shape[d] < 0 ? std::string("?") : std::to_string(k.shape[d]));
      text += "]";
    }
    out.line(text + ")");
  }

  static bool ends_in_return(const Stmt* s) {
    if (auto* q = s->as<Seq>()) return !q->stmts.empty() && ends_in_return(q->stmts.back());
    if (auto* a = s->as<Attr>()) return ends_in_return(a->body);
    if (auto* t = s->as<ThreadExtent>()) return ends_in_return(t->body);
    auto* e = s->as<Evaluate>();
    auto* c = e ? e->value->as<Call>() : nullptr;
    return s->kind == StmtKind::kReturn || (c && c->op == Op::tirx_ret);
  }

  void record(const Function* f, std::vector<Parameter> params) {
    KernelInfo k;
    k.name = emit::name_of(f);
    k.symbol = callees_.by_name[std::string(f->name)].symbol;
    k.convention = is_packed(f) ? CallConvention::kTvmFfiPacked : CallConvention::kPlain;
    returns_.push_back(result_type(f));
    types_.emplace_back();
    for (Parameter& p : params) {
      types_.back().push_back(p.type(type_name));
      k.params.push_back(std::move(p.info));
    }
    kernels_.push_back(std::move(k));
  }

  std::string entries() {
    emit::Writer out;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const KernelInfo& k = kernels_[i];
      if (k.convention != CallConvention::kPlain) continue;
      std::string call = k.symbol + "(";
      for (size_t a = 0; a < k.params.size(); ++a) {
        call += (a ? ", " : "") + std::string("*(") + types_[i][a] + " const*)args[" + std::to_string(a) + "]";
      }
      call += ")";
      out.open("int32_t kiln_entry_" + std::to_string(i) + "(void* const* args)");
      if (k.params.empty()) out.line("(void)args;");
      if (returns_[i] == "int32_t") {
        out.line("return " + call + ";");
      } else {
        out.line(call + ";");
        out.line("return 0;");
      }
      out.close();
    }
    return out.take();
  }

  // The helpers that the text uses and those they need, and their headers.
  std::string assemble(const std::string& body) {
    emit::Names used;
    emit::add_words(body, used);
    Prelude before = prelude(used);
    std::string text = before.includes + "\n#ifdef __cplusplus\n#define restrict __restrict__\n#endif\n\n";
    if (!imported_.empty()) text += imported_ + "\n";
    text += before.helpers;
    return text + "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + body + "#ifdef __cplusplus\n}\n#endif\n";
  }

  const Module& module_;
  Arena arena_;
  std::vector<const Function*> functions_;
  emit::Reserved reserved_;
  std::string imported_;
  Callees callees_;
  std::vector<KernelInfo> kernels_;
  std::vector<std::string> returns_;             // C result type of each kernel
  std::vector<std::vector<std::string>> types_;  // C types of its parameters
};

}  // namespace

Result<Source> print_source(const Module& module, const Target&) {
  Status checked = check(module);
  if (!checked) return checked.error();
  return ModulePrinter(module).print();
}

}  // namespace kiln::c
