// The TVMScript parser's state and its expression half; statements are in parse.cc.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/lexer.h"
#include "ir/script.h"
#include "ir/text.h"

namespace kiln::ir::script {

// An expression as it was read. A bare literal takes the dtype of the other operand, as in TVM's own parser.
struct Parsed {
  const Expr* expr = nullptr;
  bool bare = false;
  int depth = 1;  // of the tree, to bound it
};

struct Type {
  DataType dtype;
  const PointerType* pointer = nullptr;
};

// What a name means. A definition lives to the end of its block; after that its name still finds it, as in Python, until another takes the
// name over.
struct Symbol {
  const Var* var = nullptr;
  const Buffer* buffer = nullptr;
  bool forward = false;  // declared by `i = T.int32()`: the definitions that follow are of this variable
  bool ended = false;    // its block is over
};

// Reads expressions, types and attribute values off a token list. After the first error every call returns quickly with dummies; the caller
// looks at `error`.
class ExpressionParser {
 public:
  ExpressionParser(const std::vector<Token>& tokens, std::string_view file, Module& module)
      : tokens_(tokens), file_(file), module_(module), b_(module.arena) {}

  std::optional<Error> error;

 protected:
  // ---- tokens
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool at(std::string_view s) const { return !error && peek().is(s); }
  bool accept(std::string_view s) { return at(s) ? (++at_, true) : false; }
  void expect(std::string_view s);
  bool at_end() const { return error || peek().kind == Token::Kind::kEnd; }
  void fail(std::string message, std::string hint = "");
  void fail_at(const Token& t, std::string message, std::string hint = "");
  std::string got() const;
  SpanId span_here();
  std::string_view identifier(std::string_view what);
  std::string string_literal();
  int64_t integer_literal();

  // ---- types
  Type type();
  DataType dtype_text(std::string_view text, const Token& where);

  // ---- expressions
  Parsed expression(int precedence = 0);
  const Expr* expr() { return expression().expr; }
  Parsed dummy() { return {b_.int_imm(kInt32, 0)}; }
  std::vector<const Expr*> expressions(std::string_view close);
  const Expr* constant_like(const Expr* literal, DataType want);
  std::vector<const Expr*> indices(int& depth);  // after '[', through ']'
  DataType access_dtype(const Buffer* b, const std::vector<const Expr*>& indices) const;
  Parsed t_call(std::string_view name, const Token& where);  // T.<name> at '('
  DataType dtype_keyword(DataType implied);                  // [, dtype="..."] ')'
  Value value();
  const Value* map_value();
  Value plain(const Expr* e);
  // Runs `body` in a scope of its own.
  template <class F>
  auto scope(F&& body) {
    size_t mark = undo_.size();
    auto result = body();
    end_scope(mark);
    return result;
  }
  void end_scope(size_t mark);
  void define(std::string_view name, Symbol s);
  const Var* define_var(std::string_view name, Type t, SpanId span);
  void declare_var(std::string_view name, Type t, SpanId span);
  const Buffer* define_buffer(std::string_view name, const Buffer& b);
  const Buffer* find_buffer(std::string_view name);
  void skip_balanced();

  const std::vector<Token>& tokens_;
  std::string_view file_;
  Module& module_;
  Builder b_;
  size_t at_ = 0;
  int depth_ = 0;  // blocks and brackets that are open
  std::unordered_map<std::string_view, Symbol> names_;
  std::vector<std::pair<std::string_view, Symbol>> undo_;   // what the names meant before the definitions of the open scopes
  bool tilelang_ = true;                                    // whose text it is, for the few operators that both compilers have
  std::unordered_map<std::string_view, DataType> returns_;  // of the module's functions

 private:
  Parsed primary();
  Parsed unary(int precedence);
  Parsed name();
  Parsed postfix(const Symbol& s, std::string_view name, const Token& where);
  Parsed number(bool negative);
  Parsed make_binary(ExprKind kind, Parsed a, Parsed b, const Token& where);
  Parsed binary_call(ExprKind kind);
  Parsed let();
  Parsed ramp_or_broadcast(bool ramp);
  Parsed typed_literal(DataType t, const Token& where);
  Parsed op_call(std::string_view name, const Token& where);
  Parsed finish_call(Type t, Op op, std::string_view name, std::vector<const Expr*> args, int depth);
  Parsed limit(Parsed p, const Token& where);
  void arguments(std::vector<const Expr*>& args, int& depth, const Value*& annotations, std::optional<Type>& last_type);
  bool at_type() const;
};

}  // namespace kiln::ir::script
