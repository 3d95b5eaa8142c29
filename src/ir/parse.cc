#include "ir/parse.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::ir {

namespace {

using namespace script;

class Parser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  std::optional<Error> run() {
    find_functions();
    while (!at_end()) {
      if (accept("from") || accept("import")) {  // the usual first lines
        skip_line();
      } else if (at("@") && peek(1).is("I")) {
        skip_line();
      } else if (accept("class")) {
        (void)identifier("a class name");
        if (accept("(")) expect(")");
        expect(":");
        module_body();
      } else if (at("@")) {
        function();
      } else if (peek().kind == Token::Kind::kNewline) {
        ++at_;
      } else {
        fail("expected a module or a function, got " + got(), "a module is TVMScript text or JSON saved by TVM");
      }
    }
    if (!error && module_.functions.empty() && !saw_class_) fail("expected a module, got " + got());
    return error;
  }

 private:
  // Return types of all functions, so that calls may come before definitions.
  void find_functions() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].is("s_tir")) tilelang_ = false;  // only Apache TVM writes it
      if (!tokens_[i].is("def") || tokens_[i + 1].kind != Token::Kind::kName) continue;
      size_t j = i + 2;
      while (j < tokens_.size() && tokens_[j].kind != Token::Kind::kNewline && !tokens_[j].is("->")) ++j;
      DataType ret = kVoid;
      if (j + 3 < tokens_.size() && tokens_[j].is("->") && tokens_[j + 1].is("T")) {
        if (auto t = parse_dtype(tokens_[j + 3].text)) ret = *t;
      }
      returns_[tokens_[i + 1].text] = ret;
    }
  }
  void skip_line() {
    while (!at_end() && peek().kind != Token::Kind::kNewline) ++at_;
    if (!at_end()) ++at_;
  }
  void end_of_line() {
    if (error) return;
    if (peek().kind == Token::Kind::kNewline)
      ++at_;
    else if (!at_end())
      fail("expected the end of the line, got " + got());
  }
  bool accept_kind(Token::Kind k) {
    if (error || peek().kind != k) return false;
    ++at_;
    return true;
  }

  void module_body() {
    saw_class_ = true;
    end_of_line();
    if (!accept_kind(Token::Kind::kIndent)) return fail("expected an indented block");
    while (!at_end() && peek().kind != Token::Kind::kDedent) {
      if (accept("pass")) {
        end_of_line();
      } else if (at("I") && peek(2).is("module_attrs")) {
        at_ += 3;
        expect("(");
        module_.attrs = map_value();
        expect(")");
        end_of_line();
      } else if (at("I") || peek().kind == Token::Kind::kString) {
        skip_line();
      } else if (peek().kind == Token::Kind::kName && peek(1).is("=")) {
        shared_declaration();
      } else {
        function();
      }
    }
    accept_kind(Token::Kind::kDedent);
  }

  // A variable or buffer that several functions use.
  void shared_declaration() {
    names_ = module_names_;
    undo_.clear();
    SpanId s = span_here();
    std::string_view name = tokens_[at_].text;
    at_ += 2;
    if (!error && assignment(name, s)) fail("expected a declaration, got a statement", "statements belong into functions");
    module_names_ = names_;
  }

  void function() {
    names_ = module_names_;
    undo_.clear();
    func_attrs_.reset();
    flags_.clear();
    Function f{};
    bool is_private = false;
    std::string name;
    while (!error && at("@")) {
      ++at_;
      expect("T");
      expect(".");
      std::string_view decorator = identifier("prim_func");
      if (decorator != "prim_func") fail("expected @T.prim_func, got @T." + std::string(decorator.substr(0, 60)));
      if (accept("(")) {
        while (!error && !at(")")) {
          std::string_view key = identifier("a keyword");
          expect("=");
          if (key == "name")
            name = string_literal();
          else if (!accept("True"))
            expect("False");
          else if (key == "private")
            is_private = true;
          else
            flags_.push_back(key);  // Apache TVM writes the attribute s_tir this way
          if (!accept(",")) break;
        }
        expect(")");
      }
      end_of_line();
    }
    f.span = span_here();
    expect("def");
    std::string_view id = identifier("a function name");
    f.name = b_.string(name.empty() ? id : name);
    expect("(");
    std::vector<const Var*> params;
    std::unordered_set<std::string_view> seen;
    while (!error && !at(")")) {
      SpanId s = span_here();
      std::string_view param = identifier("a parameter");
      expect(":");
      Type t = type();
      const Var* v = define_var(param, t, s);
      if (!seen.insert(param).second) fail("parameter '" + std::string(param.substr(0, 60)) + "' is given twice");
      params.push_back(v);
      if (!accept(",")) break;
    }
    expect(")");
    if (accept("->")) f.ret = type().dtype;
    f.params = b_.list(params);
    expect(":");
    f.body = block();
    if (error) return;
    f.attrs = attributes(f.name, is_private);
    if (!error) module_.functions.push_back(b_.add(f));
  }

  // The attributes may name variables that the body defines, so they are read after it.
  const Value* attributes(std::string_view name, bool is_private) {
    Value v;
    v.kind = Value::Kind::kMap;
    if (func_attrs_) {
      size_t after = at_;
      at_ = *func_attrs_;
      v = value();
      if (v.kind != Value::Kind::kMap) fail("expected a dictionary of attributes");
      expect(")");
      at_ = after;
    }
    std::vector<KeyValue> items(v.map.begin(), v.map.end());
    for (std::string_view flag : flags_) {
      KeyValue on;
      on.key.kind = Value::Kind::kString, on.key.string = b_.string(flag);
      on.value.kind = Value::Kind::kBool, on.value.boolean = true;
      items.push_back(on);
    }
    if (!is_private && !v.find("global_symbol")) {
      KeyValue symbol;
      symbol.key.kind = symbol.value.kind = Value::Kind::kString;
      symbol.key.string = "global_symbol", symbol.value.string = name;
      items.push_back(symbol);
    }
    v.map = b_.list(items);
    return b_.add(v);
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  const Stmt* block() {
    end_of_line();
    if (!error && !accept_kind(Token::Kind::kIndent)) fail("expected an indented block, got " + got());
    const Stmt* s = scope([&] { return rest(); });
    accept_kind(Token::Kind::kDedent);
    return s;
  }
  // Statements up to the end of the block; an annotation written as a line takes the rest as its body.
  const Stmt* rest() {
    if (++depth_ > kMaxDepth) fail("nested more than " + std::to_string(kMaxDepth) + " levels deep");
    std::vector<const Stmt*> list;
    while (!at_end() && peek().kind != Token::Kind::kDedent) {
      if (const Stmt* s = statement()) list.push_back(s);
    }
    --depth_;
    return b_.seq(list);
  }

  // Null for a line that is no statement (pass, a declaration).
  const Stmt* statement() {
    SpanId s = span_here();
    if (accept("pass")) return end_of_line(), nullptr;
    if (accept("for")) return loop(s);
    if (accept("while")) {
      const Expr* c = expr();
      expect(":");
      return b_.add(While{{StmtKind::kWhile, s}, c, block()});
    }
    if (accept("if")) return branch(s);
    if (accept("with")) return with(s);
    if (accept("assert")) return assertion(s);
    if (accept("return")) {
      const Expr* v = peek().kind == Token::Kind::kNewline || at("None") ? nullptr : expr();
      accept("None");
      end_of_line();
      return b_.add(Return{{StmtKind::kReturn, s}, v});
    }
    if (accept("break")) return end_of_line(), b_.add(Break{{StmtKind::kBreak, s}});
    if (accept("continue")) return end_of_line(), b_.add(Continue{{StmtKind::kContinue, s}});
    if (peek().kind == Token::Kind::kName && !at("T") && !at("Module")) return named(s);
    if (at("T") && peek(1).is(".")) {
      if (peek(2).is("func_attr")) return function_attributes(), nullptr;
      if (peek(2).is("attr")) return flat_attr(s);
      if (peek(2).is("BufferStore")) return explicit_store(s);
      if (peek(2).is("evaluate")) {
        at_ += 3;
        expect("(");
        const Expr* v = expr();
        expect(")");
        end_of_line();
        return b_.evaluate(v, s);
      }
    }
    const Expr* v = expr();
    end_of_line();
    if (error) return nullptr;
    if (auto* c = v->as<Call>()) {
      if (c->op == Op::tirx_ret && c->args.size() <= 1)
        return b_.add(Return{{StmtKind::kReturn, s}, c->args.empty() ? nullptr : c->args[0]});
      if (c->op == Op::tirx_break_loop) return b_.add(Break{{StmtKind::kBreak, s}});
      if (c->op == Op::tirx_continue_loop) return b_.add(Continue{{StmtKind::kContinue, s}});
    }
    return b_.evaluate(v, s);
  }

  void function_attributes() {
    at_ += 3;
    if (func_attrs_) fail("T.func_attr is given twice");
    func_attrs_ = at_ + 1;
    if (!at("(")) return fail("expected '(', got " + got());
    skip_balanced();
    end_of_line();
  }

  // Lines that begin with a name: a definition, a store.
  const Stmt* named(SpanId s) {
    const Token& where = peek();
    std::string_view name = tokens_[at_++].text;
    if (accept(":")) {
      Type t = type();
      expect("=");
      Parsed v = expression();
      end_of_line();
      if (error) return nullptr;
      if (v.bare && v.expr->dtype != t.dtype) v.expr = constant_like(v.expr, t.dtype);
      return b_.bind(define_var(name, t, s), v.expr, s);
    }
    if (accept("[")) {
      const Buffer* b = find_buffer(name);
      int depth = 0;
      auto list = indices(depth);
      expect("=");
      Parsed v = expression();
      end_of_line();
      if (error) return nullptr;
      DataType want = access_dtype(b, list);
      if (v.bare && v.expr->dtype != want) v.expr = constant_like(v.expr, want);
      return b_.store(b, v.expr, b_.list(list), nullptr, s);
    }
    if (accept("=")) return assignment(name, s);
    fail_at(where, "expected a statement, got '" + std::string(name.substr(0, 60)) + "'");
    return nullptr;
  }

  const Stmt* assignment(std::string_view name, SpanId s) {
    if (peek().kind == Token::Kind::kName && peek(1).is(".") && peek(2).is("view")) return view(name, s);
    if (!(at("T") && peek(1).is(".")))
      return fail("expected T.alloc_buffer or the like, got " + got(), "a variable is bound by `name: T.int32 = value`"), nullptr;
    std::string_view what = peek(2).text;
    if (what == "launch_thread") {
      std::string_view ignored;
      auto [var, tag, extent] = launch_thread(name, ignored);
      end_of_line();
      const Stmt* body = rest();
      return b_.add(ThreadExtent{{StmtKind::kThreadExtent, s}, var, tag, extent, body});
    }
    if (what == "env_thread") {
      at_ += 3;
      expect("(");
      env_threads_[name] = b_.string(string_literal());
      expect(")");
      return end_of_line(), nullptr;
    }
    if (what == "alloc_buffer" || what == "alloc_local" || what == "alloc_shared" || what == "sblock_alloc_buffer")
      return alloc(name, what, s);
    if (what == "decl_buffer" || what == "Buffer") {
      at_ += 3;
      const Stmt* bind = nullptr;
      const Buffer* b = view_of(name, s, what == "decl_buffer", bind);
      end_of_line();
      if (error || what == "Buffer") return nullptr;
      const Stmt* decl = b_.add(DeclBuffer{{StmtKind::kDeclBuffer, s}, b});
      return bind ? b_.seq({bind, decl}) : decl;
    }
    // x = T.int32(): a variable that nothing defines.
    Type t = type();
    end_of_line();
    if (!error) declare_var(name, t, s);
    return nullptr;
  }

  struct Layout {
    Buffer buffer{};
    const Expr* data = nullptr;
    std::string scope = "global";
    std::optional<Type> type;
    const Value* annotations = nullptr;
  };
  // ((shape), dtype, data=, strides=, elem_offset=, scope=, align=, offset_factor=, type=, annotations=)
  Layout layout() {
    Layout l;
    l.buffer.dtype = kFloat32;
    l.buffer.data_alignment = 64;
    expect("(");
    l.buffer.shape = shape();
    bool positional = true;
    while (!error && accept(",")) {
      if (at(")")) break;
      bool keyword = peek().kind == Token::Kind::kName && peek(1).is("=");
      if (!keyword && positional) {
        l.buffer.dtype = type().dtype;
        positional = false;
        continue;
      }
      std::string_view key = identifier("a keyword");
      expect("=");
      if (key == "dtype")
        l.buffer.dtype = type().dtype;
      else if (key == "data")
        l.data = expr();
      else if (key == "strides")
        l.buffer.strides = shape();
      else if (key == "elem_offset")
        l.buffer.elem_offset = expr();
      else if (key == "scope")
        l.scope = string_literal();
      else if (key == "align")
        l.buffer.data_alignment = static_cast<int>(integer_literal());
      else if (key == "offset_factor")
        l.buffer.offset_factor = static_cast<int>(integer_literal());
      else if (key == "type")
        l.type = type();
      else if (key == "annotations")
        l.annotations = map_value();
      else if (key == "buffer_type" || key == "axis_separators" || key == "layout")
        (void)value();
      else
        fail("'" + std::string(key.substr(0, 60)) + "' is not a property of a buffer");
    }
    expect(")");
    if (auto* c = l.buffer.elem_offset ? l.buffer.elem_offset->as<IntImm>() : nullptr; c && c->value == 0) l.buffer.elem_offset = nullptr;
    return l;
  }
  List<const Expr*> shape() {
    if (accept("(")) return b_.list(expressions(")"));
    if (accept("[")) return b_.list(expressions("]"));
    return b_.list(std::vector<const Expr*>{expr()});
  }

  const Stmt* alloc(std::string_view name, std::string_view what, SpanId s) {
    at_ += 3;
    Layout l = layout();
    end_of_line();
    if (error) return nullptr;
    if (what == "alloc_local") l.scope = "local";
    if (what == "alloc_shared") l.scope = "shared";
    Type t = l.type.value_or(Type{kHandle, b_.pointer(l.buffer.dtype, l.scope)});
    bool again = announced(name, l.buffer) && names_[name].buffer->scope() == l.scope;
    l.buffer.name = b_.string(name);
    l.buffer.span = s;
    const Var* data = l.data ? l.data->as<Var>() : nullptr;
    l.buffer.data = data ? data : again ? names_[name].buffer->data : b_.var(name, t.dtype, t.pointer, s);
    return b_.add(AllocBuffer{{StmtKind::kAllocBuffer, s}, define_buffer(name, l.buffer), l.annotations});
  }
  // Whether `name` is a T.Buffer without a pointer: text that speaks of a buffer above its declaration.
  bool announced(std::string_view name, const Buffer& b) {
    const Symbol& old = names_[name];
    return old.buffer && old.forward && !old.ended && old.buffer->dtype == b.dtype &&
           std::equal(old.buffer->shape.begin(), old.buffer->shape.end(), b.shape.begin(), b.shape.end(), same);
  }
  // A buffer over a pointer; `bind` is set when the pointer is an expression and gets a variable of its own.
  const Buffer* view_of(std::string_view name, SpanId s, bool declares, const Stmt*& bind) {
    Layout l = layout();
    if (error) return nullptr;
    l.buffer.name = b_.string(name);
    l.buffer.span = s;
    const Buffer* known = declares && announced(name, l.buffer) ? names_[name].buffer : nullptr;
    if (auto* data = l.data ? l.data->as<Var>() : nullptr) {
      l.buffer.data = data;
      // Not published yet, and only now is it known which pointer it has.
      if (known) const_cast<Buffer*>(known)->data = data;
    } else {
      l.buffer.data = known ? known->data : b_.var(name, kHandle, b_.pointer(l.buffer.dtype, l.scope), s);
      if (l.data) bind = b_.bind(l.buffer.data, l.data, s);
    }
    if (known) return known;
    const Buffer* made = define_buffer(name, l.buffer);
    if (!declares && !l.data) names_[name].forward = true;
    return made;
  }
  // B = A.view(n): the same memory with another shape.
  const Stmt* view(std::string_view name, SpanId s) {
    const Buffer* source = find_buffer(identifier("a buffer"));
    at_ += 2;
    expect("(");
    std::vector<const Expr*> sizes = expressions(")");
    end_of_line();
    if (error) return nullptr;
    Buffer b = *source;
    b.name = b_.string(name), b.shape = b_.list(sizes), b.strides = {}, b.span = s;
    return b_.add(DeclBuffer{{StmtKind::kDeclBuffer, s}, define_buffer(name, b)});
  }

  const Stmt* explicit_store(SpanId s) {
    at_ += 3;
    expect("(");
    const Buffer* b = find_buffer(identifier("a buffer"));
    expect(",");
    const Expr* v = expr();
    expect(",");
    expect("[");
    auto list = expressions("]");
    const Expr* predicate = nullptr;
    if (accept(",")) expect("predicate"), expect("="), predicate = expr();
    expect(")");
    end_of_line();
    return error ? nullptr : b_.store(b, v, b_.list(list), predicate, s);
  }

  // ---- annotations and threads --------------------------------------------------------------------------------------

  struct Annotation {
    Value node;
    std::string key;
    const Expr* value;
  };
  // T.attr(node, "key", value), or TVM's T.attr({"key": value, ...}).
  std::vector<Annotation> attr_arguments() {
    at_ += 3;
    expect("(");
    std::vector<Annotation> out;
    Value v = value();
    if (v.kind == Value::Kind::kMap && at(")")) {
      for (const KeyValue& kv : v.map) {
        const Value& x = kv.value;
        const Expr* e = x.kind == Value::Kind::kExpr     ? x.expr
                        : x.kind == Value::Kind::kString ? static_cast<const Expr*>(b_.string_imm(x.string))
                        : x.kind == Value::Kind::kBool   ? b_.int_imm(kBool, x.boolean)
                                                         : b_.int_imm(kInt32, x.integer);
        Value zero;
        zero.kind = Value::Kind::kInt;
        out.push_back({zero, std::string(kv.key.string), e});
      }
    } else {
      expect(",");
      std::string key = string_literal();
      expect(",");
      out.push_back({v, key, expr()});
    }
    expect(")");
    return out;
  }
  const Stmt* wrap(const std::vector<Annotation>& list, const Stmt* body, SpanId s) {
    for (auto it = list.rbegin(); it != list.rend(); ++it)
      body = b_.add(Attr{{StmtKind::kAttr, s}, it->node, b_.string(it->key), it->value, body});
    return body;
  }
  const Stmt* flat_attr(SpanId s) {
    auto list = attr_arguments();
    end_of_line();
    return error ? nullptr : wrap(list, rest(), s);
  }

  struct Launch {
    const Var* var;
    std::string_view tag;
    const Expr* extent;
  };
  // T.launch_thread("threadIdx.x", 128) or T.launch_thread(thread, 128) of an env_thread.
  Launch launch_thread(std::string_view name, std::string_view& env_name) {
    at_ += 3;
    expect("(");
    std::string_view tag;
    if (peek().kind == Token::Kind::kString) {
      tag = b_.string(string_literal());
    } else {
      env_name = identifier("a thread");
      auto it = env_threads_.find(env_name);
      if (it == env_threads_.end())
        fail("'" + std::string(env_name.substr(0, 60)) + "' is not a thread");
      else
        tag = it->second;
    }
    expect(",");
    const Expr* extent = expr();
    DataType t = dtype_keyword(kInt32);
    if (name.empty()) name = env_name;
    return {name.empty() ? nullptr : define_var(name, {t}, 0), tag, extent};
  }

  const Stmt* with(SpanId s) {
    if (at("T") && peek(2).is("attr")) {
      auto list = attr_arguments();
      expect(":");
      return error ? nullptr : wrap(list, block(), s);
    }
    if (at("T") && peek(2).is("launch_thread")) {
      // The name comes after the call; it is looked for first.
      std::string_view name;
      for (size_t i = at_; i < tokens_.size() && tokens_[i].kind != Token::Kind::kNewline; ++i) {
        if (tokens_[i].is("as") && i + 1 < tokens_.size()) name = tokens_[i + 1].text;
      }
      std::string_view env_name;
      size_t mark = undo_.size();
      Launch l = launch_thread(name, env_name);
      if (accept("as")) identifier("a thread variable");
      expect(":");
      const Stmt* body = block();
      end_scope(mark);
      return error ? nullptr : b_.add(ThreadExtent{{StmtKind::kThreadExtent, s}, l.var, l.tag, l.extent, body});
    }
    fail("expected T.attr or T.launch_thread, got " + got(), "blocks (T.sblock) are lowered before a module gets here");
    return nullptr;
  }

  // ---- control flow -------------------------------------------------------------------------------------------------

  const Stmt* branch(SpanId s) {
    const Expr* c = expr();
    expect(":");
    const Stmt* then_case = block();
    const Stmt* else_case = nullptr;
    if (at("elif")) {
      SpanId inner = span_here();
      ++at_;
      if (++depth_ > kMaxDepth) fail("nested more than " + std::to_string(kMaxDepth) + " levels deep");
      else_case = error ? nullptr : branch(inner);
      --depth_;
    } else if (accept("else")) {
      expect(":");
      else_case = block();
    }
    return error ? nullptr : b_.add(If{{StmtKind::kIf, s}, c, then_case, else_case});
  }

  const Stmt* assertion(SpanId s) {
    const Expr* c = expr();
    std::string kind = "RuntimeError";
    std::vector<std::string_view> parts;
    if (accept(",")) {
      if (accept("(")) {
        kind = string_literal();
        expect(",");
        expect("[");
        while (!error && !at("]")) {
          parts.push_back(b_.string(string_literal()));
          if (!accept(",")) break;
        }
        expect("]");
        expect(")");
      } else {
        parts.push_back(b_.string(string_literal()));
      }
    }
    end_of_line();
    return error ? nullptr : b_.add(Assert{{StmtKind::kAssert, s}, c, b_.string(kind), b_.list(parts)});
  }

  const Stmt* loop(SpanId s) {
    std::vector<std::string_view> names{identifier("a loop variable")};
    while (accept(",")) names.push_back(identifier("a loop variable"));
    expect("in");
    if (at("T") && peek(2).is("grid")) return grid(names, s);
    if (names.size() != 1) fail("expected one loop variable, got " + std::to_string(names.size()));
    For f{{StmtKind::kFor, s}, nullptr, nullptr, nullptr, nullptr, ForKind::kSerial, {}, nullptr, nullptr};
    if (!accept("range")) f.for_kind = loop_kind();
    expect("(");
    std::optional<DataType> dtype;
    loop_arguments(f, dtype);
    expect(")");
    expect(":");
    if (error) return nullptr;
    f.body = scope([&] {
      f.var = define_var(names[0], {dtype.value_or(f.extent->dtype)}, s);
      return block();
    });
    return error ? nullptr : b_.add(f);
  }
  ForKind loop_kind() {
    expect("T");
    expect(".");
    std::string_view kind = identifier("a kind of loop");
    static constexpr std::string_view kKinds[] = {"serial", "parallel", "vectorized", "unroll", "thread_binding"};
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      if (kKinds[i] == kind) return static_cast<ForKind>(i);
    }
    fail("'T." + std::string(kind.substr(0, 60)) + "' is not a kind of loop",
         "expected serial, parallel, vectorized, unroll or thread_binding");
    return ForKind::kSerial;
  }
  // (extent), (min, end), (min, extent=extent), with thread=, step=, annotations=, dtype=.
  void loop_arguments(For& f, std::optional<DataType>& dtype) {
    Parsed first = expression(), second;
    const Expr* extent = nullptr;
    while (!error && accept(",")) {
      bool keyword = peek().kind == Token::Kind::kName && peek(1).is("=");
      if (!keyword) {
        if (second.expr) return fail("expected a keyword, got " + got());
        second = expression();
        continue;
      }
      std::string_view key = identifier("a keyword");
      expect("=");
      if (key == "thread")
        f.thread_tag = b_.string(string_literal());
      else if (key == "extent")
        extent = expr();
      else if (key == "step")
        f.step = expr();
      else if (key == "annotations")
        f.annotations = map_value();
      else if (key == "dtype")
        dtype = type().dtype;
      else
        fail("'" + std::string(key.substr(0, 60)) + "' is not a property of a loop");
    }
    if (error) return;
    if (extent) {
      f.min = first.expr, f.extent = extent;
    } else if (!second.expr) {
      f.min = b_.int_imm(first.expr->dtype, 0), f.extent = first.expr;
    } else {
      if (first.bare)
        first.expr = constant_like(first.expr, second.expr->dtype);
      else if (second.bare)
        second.expr = constant_like(second.expr, first.expr->dtype);
      f.min = first.expr;
      f.extent = difference(second.expr, first.expr);
    }
  }
  const Expr* difference(const Expr* end, const Expr* begin) {
    auto *a = end->as<IntImm>(), *b = begin->as<IntImm>();
    if (a && b) return b_.int_imm(end->dtype, a->value - b->value);
    if (b && b->value == 0) return end;
    if (end->kind == ExprKind::kAdd && same(end->as<Binary>()->a, begin)) return end->as<Binary>()->b;
    return b_.binary(ExprKind::kSub, end, begin);
  }
  // for i, j in T.grid(2, 3): nested serial loops.
  const Stmt* grid(const std::vector<std::string_view>& names, SpanId s) {
    at_ += 3;
    expect("(");
    std::vector<const Expr*> extents = expressions(")");
    expect(":");
    if (extents.size() != names.size())
      fail("expected " + std::to_string(extents.size()) + " loop variables, got " + std::to_string(names.size()));
    if (error) return nullptr;
    if ((depth_ += static_cast<int>(names.size())) > kMaxDepth) fail("nested more than " + std::to_string(kMaxDepth) + " levels deep");
    std::vector<const Var*> vars;
    const Stmt* body = scope([&] {
      for (size_t i = 0; i < names.size(); ++i) vars.push_back(define_var(names[i], {extents[i]->dtype}, s));
      return error ? nullptr : block();
    });
    depth_ -= static_cast<int>(names.size());
    if (error) return nullptr;
    for (size_t i = names.size(); i-- > 0;) {
      body = b_.add(
          For{{StmtKind::kFor, s}, vars[i], b_.int_imm(extents[i]->dtype, 0), extents[i], nullptr, ForKind::kSerial, {}, nullptr, body});
    }
    return body;
  }

  bool saw_class_ = false;
  std::vector<std::string_view> flags_;
  std::unordered_map<std::string_view, Symbol> module_names_;
  std::optional<size_t> func_attrs_;  // token after the '(' of T.func_attr
  std::unordered_map<std::string_view, std::string_view> env_threads_;
};

}  // namespace

Result<ModulePtr> parse(std::string_view text, std::string_view file) {
  auto tokens = tokenize(text, file);
  if (!tokens) return tokens.error();
  auto module = std::make_shared<Module>();
  // Names of files and variables outlive the caller's text.
  Builder builder(module->arena);
  std::string_view name = builder.string(file);
  if (auto e = Parser(*tokens, name, *module).run()) return std::move(*e);
  return ModulePtr(std::move(module));
}

}  // namespace kiln::ir
