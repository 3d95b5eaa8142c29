// The walker that prints functions of a C-like language: declarations, scopes, precedence. What differs between languages is in a Dialect.
#pragma once

#include <map>
#include <string>

#include "emit/names.h"
#include "emit/writer.h"
#include "ir/ir.h"

namespace kiln::emit {

class CFamily;

// Binding strength of an expression's outermost operator.
enum class Prec { kTernary = 3, kOr, kAnd, kBitOr, kBitXor, kBitAnd, kEqual, kRelational, kShift, kAdd, kMul, kUnary, kPostfix };

struct Text {
  std::string text;
  Prec prec = Prec::kPostfix;
};

// One C-like language. Plain data: a backend has one const object.
struct Dialect {
  std::string (*type)(ir::DataType element);  // of a scalar or of a pointer's element
  std::string (*float_literal)(ir::DataType, double);
  Text (*call)(CFamily&, const ir::Call&);  // an operator that is not printed as name(args)
  void (*alloc)(CFamily&, const ir::AllocBuffer&);
  void (*assertion)(CFamily&, const ir::Assert&);
  void (*before_loop)(CFamily&, const ir::For&);                          // pragmas
  void (*attr)(CFamily&, const ir::Attr&);                                // prints the body too
  std::string (*evaluate)(CFamily&, const ir::Evaluate&);                 // the statement, or "" for name(args);
  std::string (*thread_index)(CFamily&, std::string_view tag) = nullptr;  // value of "threadIdx.x", ...; null: there is one thread, 0
  Text (*load)(CFamily&, const ir::Load&) = nullptr;                      // null: buffer[index]
  void (*store)(CFamily&, const ir::Store&) = nullptr;                    // null: buffer[index] = value
};

class CFamily {
 public:
  CFamily(const Dialect& dialect, Writer& out, const Reserved& reserved) : dialect_(dialect), out(out), names(reserved) {}

  void stmt(const ir::Stmt* s);
  // The statements of `s` in braces, after `head`.
  void block(std::string_view head, const ir::Stmt* s);
  Text expr(const ir::Expr* e);
  // As text for a place that takes any expression.
  std::string str(const ir::Expr* e) { return expr(e).text; }
  // In parentheses when it binds less than `least`.
  std::string str(const ir::Expr* e, Prec least);
  // A value for a place that takes its type from it, such as a variadic argument: literals say theirs.
  std::string typed_str(const ir::Expr* e);
  // The opposite of a condition.
  std::string negated(const ir::Expr* e);
  std::string args(ir::List<const ir::Expr*> list, size_t first = 0);
  std::string typed_args(ir::List<const ir::Expr*> list, size_t first);
  std::string element(const ir::Buffer* buffer, const ir::Expr* index);  // buffer[index]
  std::string first_element(const ir::Buffer* buffer);                   // a pointer to the buffer's elements
  std::string type(ir::DataType t) const { return dialect_.type(t); }
  // "float*" for a handle Var, with its element type as its pointer says; "void*" for none.
  std::string pointer_type(const ir::Var* v) const;
  // Counts the uses of variables in `body`, so that those without one are not declared.
  void count_uses(const ir::Stmt* body);

  const ir::Function* function = nullptr;           // being printed
  std::string_view bare_return = "return;";         // for a Return without a value, or whose value the function does not give
  std::map<const ir::Var*, ir::DataType> pointees;  // element types of pointers as they are declared
  std::set<const ir::Var*> read_only;               // pointers declared to const elements

 private:
  Text binary(const ir::Binary* b);
  std::string operand(const ir::Expr* e, ir::ExprKind parent, bool right, bool typed);
  Text int_literal(ir::DataType t, int64_t v, bool typed) const;
  void loop(const ir::For* f);
  void bind(const ir::Bind* b);
  std::string thread_index(std::string_view tag) { return dialect_.thread_index ? dialect_.thread_index(*this, tag) : "0"; }
  void branch(const ir::If* i);
  void store(const ir::Store* s);

  const Dialect& dialect_;

 public:
  Writer& out;
  NameScope names;

 private:
  std::map<const ir::Var*, int> uses_;
};

// Shortest text that reads as the finite value: "1.0", "1e-05".
std::string decimal(float value);
std::string decimal(double value);
// "0x00FF": the lowest bits in so many digits.
std::string hex(uint64_t bits, int digits);
// `text` as a C string literal; bytes outside printable ASCII are octal escapes.
std::string quoted(std::string_view text);
// `text` fit for the rest of a // comment: printable ASCII only, no backslash.
std::string comment(std::string_view text);

}  // namespace kiln::emit
