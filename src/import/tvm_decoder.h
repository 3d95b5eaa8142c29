// The decoder of a module saved by TVM: from the table of nodes to the device IR.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/node_table.h"
#include "ir/builder.h"

namespace kiln::tvm_json {

using namespace ir;

// What a node became.
struct Node {
  enum class Kind : uint8_t {
    kPending,
    kBusy,
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kMap,
    kOp,
    kGlobalVar,
    kSpan,
    kType,
    kBufferType,
    kRange,
    kIterVar,
    kExpr,
    kStmt,
    kBuffer,
    kFunction,
    kModule,
    kTarget,
    kLaunchParams,
    kOther,
  };
  Kind kind = Kind::kPending;
  Op op = Op::kUnknown;
  DataType dtype;           // of a type
  std::string_view string;  // of kString, kOp, kGlobalVar
  union {
    const void* pointer = nullptr;
    int64_t integer;  // kBool, kInt, kSpan
    double floating;
  };
  template <class T>
  const T* get() const {
    return static_cast<const T*>(pointer);
  }
};

struct Cost {
  uint32_t depth = 0;        // of expressions and statements
  uint32_t value_depth = 0;  // of lists, maps, targets and types since the last of those
  uint64_t size = 0;
};

// Both dialects end up in the same nodes; what differs between them is told apart by node type and field, never by asking which dialect a
// file is. Decodes each node once, children first. The first fault stays in `error_`; after it every call returns quickly with a dummy.
class Decoder {
 public:
  Decoder(const NodeTable& table, std::string_view file)
      : t_(table), file_(file), module_(std::make_shared<Module>()), b_(module_->arena) {}

  Result<ModulePtr> run();

 private:
  using Kind = Node::Kind;

  // ---- errors -------------------------------------------------------------------------------------------------------

  std::string place(size_t index) const { return std::string(file_) + ": " + t_.name(index); }
  void fail(std::string message, std::string hint = "");
  // A node is not what its user needs; a type that the schema lacks is the likely cause, and then named.
  void expected(std::string_view what, const Node& got);
  // What a failed look-up gives, so that decoding can go on to the next check of `error_`.
  const Expr* dummy() { return b_.int_imm(kInt32, 0); }

  // ---- the whole table, before decoding -----------------------------------------------------------------------------

  // Checks that references point backwards (so there are no cycles) and bounds depth and expanded size.
  std::optional<Error> measure();

  // Apache TVM says in DeclBuffer, after the buffer variable itself, which pointer the buffer views.
  void note_declarations();

  // ---- fields -------------------------------------------------------------------------------------------------------

  const RawValue& slot(const RawNode& n, Field f) const;
  const RawValue& need(const RawNode& n, Field f);
  // The node that a field refers to; an absent field fails.
  const Node& ref(const RawNode& n, Field f);
  bool absent_or_none(const RawNode& n, Field f);
  int64_t inline_int(const RawNode& n, Field f, int64_t low, int64_t high);
  DataType parse_dtype_cached(std::string_view text);
  DataType inline_dtype(const RawNode& n, Field f);
  // Dtype of an expression node: a string in TileLang's dialect, a type node in Apache TVM's. *pointer gets a handle's element type.
  DataType dtype_of(const RawNode& n, const PointerType** pointer = nullptr);
  std::string_view string_field(const RawNode& n, Field f);
  SpanId span_of(const RawNode& n);

  // ---- nodes as what the caller needs -------------------------------------------------------------------------------

  const Node& node(size_t index);

  const Expr* as_expr(const Node& n);
  const Expr* expr(const RawNode& n, Field f) { return as_expr(ref(n, f)); }
  const Var* var(const RawNode& n, Field f);
  const Expr* optional_expr(const RawNode& n, Field f) { return absent_or_none(n, f) ? nullptr : expr(n, f); }
  const Buffer* buffer(const RawNode& n, Field f);
  const Stmt* stmt(const RawNode& n, Field f);
  // Calls f(node) for each element of the list in a field.
  template <class F>
  void each(const RawNode& n, Field field, F&& f) {
    const RawValue& v = need(n, field);
    if (v.kind != RawValue::Kind::kInt || error_) return;
    const RawNode& list = t_.nodes[static_cast<size_t>(v.integer)];
    if (list.type != NodeType::kArray) return fail("expected a list");
    if (!spend(list.count)) return;
    for (uint32_t k = 0; k < list.count && !error_; ++k) f(node(t_.elements[list.first + k]));
  }
  List<const Expr*> exprs(const RawNode& n, Field f);
  // Lists may be shared too, and each use copies one: what is copied stays within a few times the file.
  bool spend(size_t elements);

  // ---- attribute values ---------------------------------------------------------------------------------------------

  Value value(const Node& n);
  // Constants of the usual types are plain values, as they are when text says them.
  Value expr_value(const Expr* e);
  Value container(size_t index);
  // A map field as a Value, or null when it is absent or empty.
  const Value* annotations(const RawNode& n, Field f);
  const Value* empty_map();
  Node::Kind dict_attrs(const RawNode& n, Node& out);
  const Value* target(const RawNode& n);

  // ---- one node -----------------------------------------------------------------------------------------------------

  void set(Node& out, Kind kind, const void* p) { out.kind = kind, out.pointer = p; }

  void decode(size_t index);

  void leaf(const RawNode& n, Node& out);

  void other(size_t index, const RawNode& n, Node& out);

  void span(const RawNode& n, Node& out);

  void pointer_type(const RawNode& n, Node& out);

  void launch_params(const RawNode& n, Node& out);

  void immediate(const RawNode& n, Node& out);

  void unary(const RawNode& n, ExprKind kind, Node& out);

  void call(const RawNode& n, Node& out);

  // ---- buffers ------------------------------------------------------------------------------------------------------

  void tilelang_buffer(const RawNode& n, Node& out);
  void layout(const RawNode& n, Buffer& b);

  // Apache TVM: a variable of buffer type is the buffer. Its pointer is the one that a DeclBuffer names, else a variable of its own.
  void set_var(size_t index, const RawNode& n, Node& out);

  // A view; when its pointer is an expression, that is bound to the buffer's own variable first.
  const Stmt* declare(const RawNode& n);

  // ---- statements ---------------------------------------------------------------------------------------------------

  const Stmt* statement(const RawNode& n);

  const Stmt* for_loop(const RawNode& n, SpanId s);

  const Stmt* evaluate(const RawNode& n, SpanId s);

  const Stmt* attr(const RawNode& n, SpanId s);

  const Stmt* assertion(const RawNode& n, SpanId s);

  // ---- functions and modules ----------------------------------------------------------------------------------------

  void function(const RawNode& n, Node& out);

  void module(const RawNode& n, Node& out);

  const NodeTable& t_;
  std::string_view file_;
  std::shared_ptr<Module> module_;
  Builder b_;
  std::vector<Node> nodes_;
  std::unordered_map<size_t, size_t> declared_data_;  // buffer variable -> the data of its DeclBuffer
  std::unordered_map<std::string_view, DataType> dtypes_;
  std::string_view last_dtype_text_ = "void";
  DataType last_dtype_ = kVoid;
  size_t at_ = 0;  // node being decoded, for errors
  int forward_ = 0;
  size_t copied_ = 0;                 // elements of lists, see spend()
  std::vector<const Expr*> pending_;  // of exprs()
  std::optional<Error> error_;
};

}  // namespace kiln::tvm_json
