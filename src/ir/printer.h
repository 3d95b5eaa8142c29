// The TVMScript printer: one object prints one module, or one piece of it for a message.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/script.h"

namespace kiln::ir::script {

// Python's precedences, low to high.
enum Precedence : int {
  kLowest,
  kPrecOr,
  kPrecAnd,
  kPrecNot,
  kPrecCompare,
  kPrecBitOr,
  kPrecBitXor,
  kPrecBitAnd,
  kPrecShift,
  kPrecSum,
  kPrecProduct,
  kPrecUnary,
  kPrecPrimary
};

class Printer {
 public:
  explicit Printer(bool names_as_they_are = false) : plain_(names_as_they_are) {}

  std::string module(const Module& m);
  std::string expression(const Expr* e);
  std::string statement(const Stmt* s);

 private:
  struct VarName {
    std::string text;
    bool up_front = false, open_let = false;
  };

  // ---- output -------------------------------------------------------------------------------------------------------

  void indent() { out_.append(static_cast<size_t>(depth_) * 4, ' '); }
  void number(int64_t v);
  void unsigned_number(uint64_t v);
  // the shortest text that reads back to the same double
  void real(double v);
  void text(std::string_view s);
  void dtype_text(DataType t);
  // As an annotation and as a type argument: T.int32, T.handle("float32", "global").
  void type(DataType t, const PointerType* p);
  // A call's result type where text must say it: "int32", T.handle("float32", "global").
  void result_type(DataType t, const PointerType* p);

  // ---- names --------------------------------------------------------------------------------------------------------

  // A fresh name: the wanted one made an identifier, with a suffix when it is taken.
  std::string fresh(std::string_view wanted);
  const std::string& define(const Var* v);
  // A variable with several definitions is declared at the top of the function; each definition then is of that variable.
  void up_front(const Var* v, VarName& n);
  void var(const Var* v);
  // A variable that nothing has defined yet is declared on a line of its own, before the statement that uses it.
  const std::string& free_variable(const Var* v);
  // `i = T.int32()`
  std::string declaration(const Var* v, std::string_view name);
  void buffer(const Buffer* b);
  // Shape and the rest of a buffer, as arguments.
  void layout(const Buffer* b, bool with_data);
  void tuple(List<const Expr*> items);
  void list(List<const Expr*> items);

  // ---- expressions --------------------------------------------------------------------------------------------------

  void expr(const Expr* e, int outer);
  // Closes a call; a dtype other than the implied one is said.
  void end_call(DataType dtype, DataType implied);
  // Lanes of a Ramp or Broadcast, as a multiple of its operand's.
  void lanes(DataType dtype, DataType operand);

  void integer(const IntImm* i);
  void floating(const FloatImm* f);

  void binary(const Binary* e, int outer);

  // A bare constant would take the dtype of what it stands beside.
  void operand(const Expr* e, DataType beside);

  void unary(const Unary* e, int outer);

  void let(const Let* e);

  // A[i]; a Ramp as a slice: A[i:i + 4], A[i:i + 8:2].
  void subscript(List<const Expr*> indices);
  static DataType access_dtype(const Buffer* b, List<const Expr*> indices);
  void load(const Load* l);

  void call(const Call* c);

  // ---- attribute values ---------------------------------------------------------------------------------------------

  void value(const Value& v);
  // A bare constant would read as a plain value.
  void expression_value(const Expr* e);
  void map(List<KeyValue> items, std::string_view skip = {});

  // ---- statements ---------------------------------------------------------------------------------------------------

  // Prints one statement at the current depth; `last` says that nothing follows it in its block.
  void block_item(const Stmt* s, bool last);
  void line(std::string_view text);
  void block(const Stmt* s);
  // An annotation that covers the rest of its block is a plain line, as in TVM's own text.
  void rest(const Stmt* body, bool last);
  void bodies(const Stmt* s, bool last);

  void head(const Stmt* s, bool last);
  std::string declare(const Buffer* b);

  void alloc(const AllocBuffer* a);

  void store(const Store* s);

  void loop(const For* f);

  void thread(const ThreadExtent* t, bool last);

  // ---- functions ----------------------------------------------------------------------------------------------------

  // Variables and buffers that several functions use are declared in the class.
  void declare_shared(const Module& m);

  void function(const Function& f);
  void attributes(const Function& f, std::string_view skip);

  bool plain_;  // names as they are, nothing declared: for messages
  std::string out_;
  int depth_ = 0;
  bool in_slice_ = false;
  std::vector<std::string> hoisted_;
  std::unordered_map<const Var*, VarName> vars_, shared_vars_;
  std::unordered_map<const Buffer*, std::string> buffers_, shared_buffers_;
  std::unordered_set<std::string> taken_, shared_taken_;
  std::vector<const Var*> up_front_;
  bool in_declaration_ = false;
  std::unordered_map<std::string, int> suffix_;
  std::unordered_map<std::string_view, DataType> returns_;
};

}  // namespace kiln::ir::script
