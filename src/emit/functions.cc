#include "emit/functions.h"

#include <algorithm>

#include "ir/rewriter.h"

namespace kiln::emit {

using namespace ir;

namespace {

const Value* attr(const Function* f, std::string_view key) { return f->attrs ? f->attrs->find(key) : nullptr; }

// Pointers through which the body writes, or that it hands on as values.
std::set<const Var*> written_or_escaping(const Function* f) {
  std::set<const Var*> out;
  visit(
      f->body,
      [&](const Stmt* s) {
        if (auto* st = s->as<Store>()) out.insert(st->buffer->data);
      },
      [&](const Expr* e) {
        visit(e, [&](const Expr* x) {
          if (auto* v = x->as<Var>()) out.insert(v);
          auto* c = x->as<Call>();
          auto* l = c && !c->args.empty() ? c->args[0]->as<Load>() : nullptr;
          if (l && (c->op == Op::tirx_address_of || c->op == Op::tl_access_ptr)) out.insert(l->buffer->data);
        });
      });
  return out;
}

// The declared shape, where every view of the pointer agrees on one without strides.
std::vector<int64_t> declared_shape(const Function* f, const Var* data, DataType element) {
  std::vector<int64_t> shape;
  bool first = true, same = true;
  visit(
      f->body,
      [&](const Stmt* s) {
        auto* d = s->as<DeclBuffer>();
        if (!d || d->buffer->data != data) return;
        std::vector<int64_t> here;
        for (const Expr* e : d->buffer->shape) here.push_back(e->as<IntImm>() ? e->as<IntImm>()->value : -1);
        same &= (first || here == shape) && d->buffer->dtype == element && d->buffer->strides.empty() && !d->buffer->elem_offset;
        shape = here, first = false;
      },
      [](const Expr*) {});
  return same ? shape : std::vector<int64_t>{};
}

}  // namespace

bool attr_set(const Function* f, std::string_view key) {
  const Value* v = attr(f, key);
  return v && (v->boolean || v->integer);
}

bool attr_has(const Function* f, std::string_view key, int64_t value) {
  const Value* list = attr(f, key);
  return list && std::any_of(list->array.begin(), list->array.end(), [&](const Value& v) { return v.integer == value; });
}

bool is_kernel(const Function* f) { return !f->symbol().empty() || attr_set(f, "tirx.is_global_func"); }

std::string_view name_of(const Function* f) { return f->symbol().empty() ? f->name : f->symbol(); }

std::string Parameter::type(std::string (*type_name)(DataType)) const {
  return info.is_pointer ? (info.is_read_only ? "const " : "") + type_name(info.dtype) + "*" : type_name(info.dtype);
}

std::vector<Parameter> parameters(const Function* f) {
  std::set<const Var*> written = written_or_escaping(f);
  std::vector<Parameter> out;
  for (size_t i = 0; i < f->params.size(); ++i) {
    const Var* v = f->params[i];
    auto index = static_cast<int64_t>(i);
    Parameter p;
    p.info.name = v->name;
    p.info.dtype = v->dtype;
    p.info.is_pointer = v->dtype.is_handle() && !(v->pointer && v->pointer->scope == "grid_constant");
    if (p.info.is_pointer) {
      p.info.dtype = v->pointer ? v->pointer->element.element() : kVoid;
      p.info.is_read_only = attr_has(f, "tl.readonly_param_indices", index) && !written.contains(v);
      p.info.shape = declared_shape(f, v, p.info.dtype);
      p.alone = v->pointer && attr_set(f, "tirx.noalias") && !attr_has(f, "tl.non_restrict_params", index);
    }
    out.push_back(std::move(p));
  }
  return out;
}

std::string imported_source(const Module& module) {
  std::string out;
  for (const Function* f : module.functions) {
    const Value* v = attr(f, "code_block_source");
    if (v && v->kind == Value::Kind::kString) out += std::string(v->string) + "\n";
    visit(
        f->body,
        [&](const Stmt* s) {
          auto* a = s->as<Attr>();
          if (a && a->key == "pragma_import_c" && a->value->as<StringImm>()) out += std::string(a->value->as<StringImm>()->value) + "\n";
        },
        [](const Expr*) {});
  }
  return out;
}

bool has_imported_body(const Function* f) { return attr(f, "code_block_source"); }

std::map<std::string, std::string, std::less<>> symbols(const std::vector<const Function*>& functions,
                                                        const std::function<bool(std::string_view)>& is_free) {
  std::map<std::string, std::string, std::less<>> out;
  Names taken;
  for (const Function* f : functions) {
    std::string_view name = name_of(f);
    std::string base = is_identifier(name) ? std::string(name) : identifier(name);
    if (!is_free(base)) base = is_free(base + "_kernel") ? base + "_kernel" : "kernel_" + base;
    std::string symbol = base;
    for (int i = 1; taken.contains(symbol) || !is_free(symbol); ++i) {
      symbol.assign(base).append("_").append(std::to_string(i));
    }
    taken.insert(symbol);
    out[std::string(f->name)] = symbol;
  }
  return out;
}

bool is_reserved_to_compiler(std::string_view name) {
  return name.starts_with("__") || (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
}

void add_externals(const Function* f, Names& out) {
  visit(
      f->body, [](const Stmt*) {},
      [&](const Expr* e) {
        visit(e, [&](const Expr* x) {
          auto* c = x->as<Call>();
          bool external = c && (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern);
          if (external) out.emplace(c->args[0]->as<StringImm>()->value);
        });
      });
}

void add_words(std::string_view text, Names& out) {
  each_word(text, [&](std::string_view word) {
    if (!out.contains(word)) out.emplace(word);  // most are there: no node is made for them
  });
}

int64_t constant_elements(const Buffer* b) {
  int64_t n = std::max<int>(b->dtype.lanes, 1);
  for (const Expr* d : b->shape) {
    auto* i = d->as<IntImm>();
    if (!i || i->value < 0 || __builtin_mul_overflow(n, i->value, &n)) return -1;
  }
  return n;
}

}  // namespace kiln::emit
