// Statements, functions and modules.
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/printer.h"
#include "ir/rewriter.h"
#include "ir/text.h"

namespace kiln::ir {

namespace script {

std::string Printer::module(const Module& m) {
  out_.reserve(1 << 14);
  out_ = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n";
  for (const Function* f : m.functions) returns_.emplace(f->name, f->ret);
  depth_ = 1;
  if (m.attrs && !m.attrs->map.empty()) {
    indent();
    out_ += "I.module_attrs(";
    value(*m.attrs);
    out_ += ")\n";
  }
  if (m.functions.empty()) out_ += "    pass\n";
  if (m.functions.size() > 1) declare_shared(m);
  for (size_t i = 0; i < m.functions.size(); ++i) {
    if (i) out_ += "\n";
    function(*m.functions[i]);
  }
  return std::move(out_);
}

std::string Printer::expression(const Expr* e) {
  expr(e, kLowest);
  return std::move(out_);
}

std::string Printer::statement(const Stmt* s) {
  block_item(s, true);
  if (!out_.empty() && out_.back() == '\n') out_.pop_back();
  return std::move(out_);
}

// ---- statements ----------------------------------------------------------------------------------------------------

void Printer::block_item(const Stmt* s, bool last) {
  if (auto* seq = s->as<Seq>()) {
    for (size_t i = 0; i < seq->stmts.size(); ++i) block_item(seq->stmts[i], last && i + 1 == seq->stmts.size());
    if (seq->stmts.empty()) line("pass");
    return;
  }
  size_t start = out_.size();
  indent();
  head(s, last);
  out_ += '\n';
  // Declarations that the head turned out to need go before it.
  if (!hoisted_.empty()) {
    std::string mine = out_.substr(start);
    out_.resize(start);
    for (const std::string& text : std::exchange(hoisted_, {})) line(text);
    out_ += mine;
  }
  bodies(s, last);
}

void Printer::line(std::string_view text) {
  indent();
  out_ += text;
  out_ += '\n';
}

void Printer::block(const Stmt* s) {
  ++depth_;
  block_item(s, true);
  --depth_;
}

void Printer::rest(const Stmt* body, bool last) {
  if (!last) return block(body);
  auto* seq = body->as<Seq>();
  if (!seq || !seq->stmts.empty()) block_item(body, true);
}

void Printer::bodies(const Stmt* s, bool last) {
  if (auto* f = s->as<For>()) return block(f->body);
  if (auto* w = s->as<While>()) return block(w->body);
  if (auto* a = s->as<Attr>()) return rest(a->body, last);
  if (auto* t = s->as<ThreadExtent>()) return rest(t->body, last);
  if (auto* i = s->as<If>()) {
    block(i->then_case);
    if (i->else_case) {
      line("else:");
      block(i->else_case);
    }
  }
}

void Printer::head(const Stmt* s, bool last) {
  switch (s->kind) {
    case StmtKind::kSeq: return;
    case StmtKind::kFor: return loop(s->as<For>());
    case StmtKind::kWhile: out_ += "while ", expr(s->as<While>()->condition, kLowest), out_ += ":"; return;
    case StmtKind::kIf: out_ += "if ", expr(s->as<If>()->condition, kLowest), out_ += ":"; return;
    case StmtKind::kBind: {
      auto* b = s->as<Bind>();
      std::string value;
      std::swap(out_, value);
      operand(b->value, b->var->dtype);
      std::swap(out_, value);
      out_ += plain_ ? std::string(b->var->name) : define(b->var);
      out_ += ": ", type(b->var->dtype, b->var->pointer), out_ += " = ", out_ += value;
      return;
    }
    case StmtKind::kAllocBuffer: return alloc(s->as<AllocBuffer>());
    case StmtKind::kDeclBuffer: {
      const Buffer* b = s->as<DeclBuffer>()->buffer;
      std::string args;
      std::swap(out_, args);
      layout(b, true);
      std::swap(out_, args);
      out_ += declare(b), out_ += " = T.decl_buffer(", out_ += args, out_ += ")";
      return;
    }
    case StmtKind::kStore: return store(s->as<Store>());
    case StmtKind::kEvaluate: {
      const Expr* v = s->as<Evaluate>()->value;
      auto* c = v->as<Call>();
      // Alone on a line these are statements of their own.
      bool control = c && (c->op == Op::tirx_ret || c->op == Op::tirx_break_loop || c->op == Op::tirx_continue_loop);
      if (c && !control) return expr(v, kLowest);
      out_ += "T.evaluate(", expr(v, kLowest), out_ += ")";
      return;
    }
    case StmtKind::kAttr: {
      auto* a = s->as<Attr>();
      if (!last) out_ += "with ";
      out_ += "T.attr(", value(a->node), out_ += ", ", text(a->key), out_ += ", ", expr(a->value, kLowest), out_ += last ? ")" : "):";
      return;
    }
    case StmtKind::kThreadExtent: return thread(s->as<ThreadExtent>(), last);
    case StmtKind::kAssert: {
      auto* a = s->as<Assert>();
      out_ += "assert ", expr(a->condition, kLowest), out_ += ", (", text(a->error_kind), out_ += ", [";
      for (size_t i = 0; i < a->message_parts.size(); ++i) {
        if (i) out_ += ", ";
        text(a->message_parts[i]);
      }
      out_ += "])";
      return;
    }
    case StmtKind::kReturn:
      out_ += "return";
      if (s->as<Return>()->value) out_ += " ", expr(s->as<Return>()->value, kLowest);
      return;
    case StmtKind::kBreak: out_ += "break"; return;
    case StmtKind::kContinue: out_ += "continue"; return;
  }
}

std::string Printer::declare(const Buffer* b) {
  if (plain_) return std::string(b->name);
  auto it = buffers_.find(b);
  if (it == buffers_.end()) it = buffers_.emplace(b, fresh(b->name)).first;
  return it->second;
}

void Printer::alloc(const AllocBuffer* a) {
  const Buffer* b = a->buffer;
  std::string args;
  std::swap(out_, args);
  std::string notes;
  std::swap(out_, notes);
  if (a->annotations && !a->annotations->map.empty()) out_ += ", annotations=", value(*a->annotations);
  std::swap(out_, notes);
  bool shared = !plain_ && vars_.contains(b->data);
  layout(b, shared);
  std::swap(out_, args);
  std::string name = declare(b);
  if (!shared && !plain_) vars_[b->data].text = name + ".data";
  out_ += name, out_ += " = T.alloc_buffer(", out_ += args;
  bool usual = b->data->pointer && b->data->pointer->element == b->dtype && b->data->dtype == kHandle;
  if (!usual && !shared) out_ += ", type=", type(b->data->dtype, b->data->pointer);
  out_ += notes, out_ += ")";
}

void Printer::store(const Store* s) {
  if (s->value->dtype == access_dtype(s->buffer, s->indices) && !s->predicate) {
    buffer(s->buffer);
    subscript(s->indices);
    out_ += " = ";
    return expr(s->value, kLowest);
  }
  out_ += "T.BufferStore(", buffer(s->buffer), out_ += ", ", expr(s->value, kLowest), out_ += ", [", list(s->indices), out_ += "]";
  if (s->predicate) out_ += ", predicate=", expr(s->predicate, kLowest);
  out_ += ")";
}

void Printer::loop(const For* f) {
  std::string args;
  std::swap(out_, args);
  auto *min = f->min->as<IntImm>(), *extent = f->extent->as<IntImm>();
  bool from_zero = min && min->value == 0 && min->dtype == f->extent->dtype;
  bool both = min && extent && min->dtype == kInt32 && extent->dtype == kInt32 && min->value + extent->value <= INT32_MAX &&
              min->value + extent->value >= INT32_MIN;
  if (from_zero)
    expr(f->extent, kLowest);
  else if (both)
    number(min->value), out_ += ", ", number(min->value + extent->value);
  else
    expr(f->min, kLowest), out_ += ", extent=", expr(f->extent, kLowest);
  if (f->for_kind == ForKind::kThreadBinding) out_ += ", thread=", text(f->thread_tag);
  if (f->step) out_ += ", step=", expr(f->step, kLowest);
  if (f->annotations && !f->annotations->map.empty()) out_ += ", annotations=", value(*f->annotations);
  if (f->var->dtype != f->extent->dtype) out_ += ", dtype=", dtype_text(f->var->dtype);
  std::swap(out_, args);
  bool simple = f->for_kind == ForKind::kSerial && (from_zero || both) && !f->step && !(f->annotations && !f->annotations->map.empty()) &&
                f->var->dtype == f->extent->dtype;
  static constexpr std::string_view kKinds[] = {"T.serial(", "T.parallel(", "T.vectorized(", "T.unroll(", "T.thread_binding("};
  out_ += "for ", out_ += plain_ ? std::string(f->var->name) : define(f->var), out_ += " in ";
  out_ += simple ? "range(" : kKinds[static_cast<size_t>(f->for_kind)], out_ += args, out_ += "):";
}

void Printer::thread(const ThreadExtent* t, bool last) {
  std::string extent;
  std::swap(out_, extent);
  expr(t->extent, kLowest);
  std::swap(out_, extent);
  std::string name = plain_ ? std::string(t->var->name) : define(t->var);
  std::string call = "T.launch_thread(";
  std::swap(out_, call);
  text(t->tag), out_ += ", ", out_ += extent;
  if (t->var->dtype != kInt32) out_ += ", dtype=", dtype_text(t->var->dtype);
  out_ += ")";
  std::swap(out_, call);
  if (last)
    out_ += name, out_ += " = ", out_ += call;
  else
    out_ += "with ", out_ += call, out_ += " as ", out_ += name, out_ += ":";
}

// ---- functions -----------------------------------------------------------------------------------------------------

void Printer::declare_shared(const Module& m) {
  std::unordered_map<const void*, const Function*> first;
  std::vector<const Var*> vars;
  std::vector<const Buffer*> buffers;
  for (const Function* f : m.functions) {
    script::for_each_name(
        *f,
        [&](const Var* v) {
          auto [it, is_new] = first.try_emplace(v, f);
          if (!is_new && it->second && it->second != f) vars.push_back(v), it->second = nullptr;
        },
        [&](const Buffer* b) {
          auto [it, is_new] = first.try_emplace(b, f);
          bool elsewhere = !is_new && it->second && it->second != f;
          if (elsewhere) buffers.push_back(b), it->second = nullptr;
          return is_new || elsewhere;  // what a shared buffer mentions is shared
        });
  }
  for (const Var* v : vars) line(declaration(v, define(v)));
  for (const Buffer* b : buffers) {
    std::string ignored;
    std::swap(out_, ignored);
    buffer(b);
    std::swap(out_, ignored);
    for (const std::string& text : std::exchange(hoisted_, {})) line(text);
  }
  for (auto& [v, n] : vars_) n.up_front = true;  // the class says it already
  shared_vars_ = vars_, shared_buffers_ = buffers_, shared_taken_ = taken_;
}

void Printer::function(const Function& f) {
  vars_ = shared_vars_, buffers_ = shared_buffers_, taken_ = shared_taken_;
  suffix_.clear(), hoisted_.clear(), up_front_.clear();
  const Value* symbol = f.attrs ? f.attrs->find("global_symbol") : nullptr;
  bool same_symbol = symbol && symbol->kind == Value::Kind::kString && symbol->string == f.name;
  bool named = is_identifier(f.name);
  std::string args;
  if (!symbol) args = "private=True";
  if (!named) {
    std::swap(out_, args);
    out_ += out_.empty() ? "name=" : ", name=", text(f.name);
    std::swap(out_, args);
  }
  line(args.empty() ? "@T.prim_func" : "@T.prim_func(" + args + ")");
  indent();
  out_ += "def ", out_ += named ? std::string(f.name) : "f", out_ += "(";
  for (size_t i = 0; i < f.params.size(); ++i) {
    if (i) out_ += ", ";
    out_ += define(f.params[i]), out_ += ": ", type(f.params[i]->dtype, f.params[i]->pointer);
  }
  out_ += ")";
  if (!f.ret.is_void()) out_ += " -> ", type(f.ret, nullptr);
  out_ += ":\n";
  ++depth_;
  // The attributes may name variables of the body, so the body gives the names first.
  std::string before;
  std::swap(out_, before);
  block_item(f.body, true);
  std::swap(out_, before);
  std::string attrs;
  std::swap(out_, attrs);
  attributes(f, same_symbol ? "global_symbol" : "");
  std::swap(out_, attrs);
  for (const Var* v : up_front_) line(declaration(v, vars_[v].text));
  out_ += attrs, out_ += before;
  --depth_;
}

void Printer::attributes(const Function& f, std::string_view skip) {
  if (!f.attrs || f.attrs->map.size() == (skip.empty() ? 0u : 1u)) return;
  std::string text;
  std::swap(out_, text);
  map(f.attrs->map, skip);
  std::swap(out_, text);
  for (const std::string& declaration : std::exchange(hoisted_, {})) line(declaration);
  line("T.func_attr(" + text + ")");
}

}  // namespace script

std::string print(const Module& module) { return script::Printer().module(module); }
std::string print(const Expr* e) { return script::Printer(true).expression(e); }
std::string print(const Stmt* s) { return script::Printer(true).statement(s); }

}  // namespace kiln::ir
