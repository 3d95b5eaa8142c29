// The device IR: what every importer produces and every backend consumes.
//
// Nodes are plain immutable structs that live in their module's Arena; identity of a Var or Buffer is its address. Expressions may be
// shared (the IR is a DAG of expressions under a tree of statements). Both TVM dialects map onto this one IR; docs/ir.md says how.
//
// Statements are flat: AllocBuffer, DeclBuffer and Bind have no body and scope over the rest of the enclosing Seq.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "ir/dtype.h"
#include "ir/op.h"

namespace kiln::ir {

template <class T>
using List = std::span<const T>;

// Index into Module::spans; 0 means that the place is not known.
using SpanId = uint32_t;

struct Span {
  std::string_view file;
  int line = 0, column = 0, end_line = 0, end_column = 0;
};

// Element type and memory space of a pointer ("global", "shared", "shared.dyn", "local", ...).
struct PointerType {
  DataType element;
  std::string_view scope;
};

// ---- expressions ------------------------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  kIntImm,
  kFloatImm,
  kStringImm,
  kVar,
  // Binary; comparisons, kAnd and kOr have a bool dtype. kDiv and kMod truncate, kFloorDiv and kFloorMod floor.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEQ,
  kNE,
  kLT,
  kLE,
  kGT,
  kGE,
  kAnd,
  kOr,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // Unary.
  kNot,
  kBitNot,
  kCast,
  kSelect,
  kRamp,
  kBroadcast,
  kShuffle,
  kLet,
  kLoad,
  kCall,
};

constexpr bool is_binary(ExprKind k) { return k >= ExprKind::kAdd && k <= ExprKind::kShiftRight; }
constexpr bool is_comparison(ExprKind k) { return k >= ExprKind::kEQ && k <= ExprKind::kGE; }
constexpr bool is_unary(ExprKind k) { return k == ExprKind::kNot || k == ExprKind::kBitNot; }

struct Expr {
  ExprKind kind;
  DataType dtype;
  SpanId span = 0;

  // The node as T, or null when it is of another kind.
  template <class T>
  const T* as() const {
    return T::is(kind) ? static_cast<const T*>(this) : nullptr;
  }
};

struct Buffer;
struct Value;

struct IntImm : Expr {
  int64_t value;  // a uint64 above INT64_MAX is kept as its two's complement
  static constexpr bool is(ExprKind k) { return k == ExprKind::kIntImm; }
};
struct FloatImm : Expr {
  double value;  // exact: the literal before rounding to dtype
  static constexpr bool is(ExprKind k) { return k == ExprKind::kFloatImm; }
};
struct StringImm : Expr {  // dtype is kHandle
  std::string_view value;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kStringImm; }
};
struct Var : Expr {
  std::string_view name;       // as the user wrote it: any bytes, not unique
  const PointerType* pointer;  // null unless dtype is a handle with a known element type
  static constexpr bool is(ExprKind k) { return k == ExprKind::kVar; }
};
struct Binary : Expr {
  const Expr *a, *b;
  static constexpr bool is(ExprKind k) { return is_binary(k); }
};
struct Unary : Expr {
  const Expr* a;
  static constexpr bool is(ExprKind k) { return is_unary(k); }
};
struct Cast : Expr {
  const Expr* value;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kCast; }
};
struct Select : Expr {  // may evaluate both sides; Op::tirx_if_then_else is the lazy form
  const Expr *condition, *true_value, *false_value;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kSelect; }
};
struct Ramp : Expr {  // base, base + stride, ...; dtype.lanes of them
  const Expr *base, *stride;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kRamp; }
};
struct Broadcast : Expr {
  const Expr* value;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kBroadcast; }
};
struct Shuffle : Expr {  // lanes of the concatenated vectors, picked by index
  List<const Expr*> vectors, indices;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kShuffle; }
};
struct Let : Expr {
  const Var* var;
  const Expr *value, *body;
  static constexpr bool is(ExprKind k) { return k == ExprKind::kLet; }
};
struct Load : Expr {
  const Buffer* buffer;
  List<const Expr*> indices;
  const Expr* predicate;  // may be null
  static constexpr bool is(ExprKind k) { return k == ExprKind::kLoad; }
};
struct Call : Expr {
  Op op;                  // Op::kUnknown: an operator that ops.def lacks; Op::kFunction: a function of this module
  std::string_view name;  // the operator's name as the compiler wrote it, or the function's name; never empty
  List<const Expr*> args;
  const PointerType* pointer;  // the result's, when dtype is a handle with a known element type
  const Value* annotations;    // a kMap, or null
  static constexpr bool is(ExprKind k) { return k == ExprKind::kCall; }
};

// A region of memory with a shape. Only data, dtype and scope() are sure to mean something: lowered modules load through buffers that
// nothing declared, with shapes that mean nothing, and index past the shape of a shared allocation.
struct Buffer {
  std::string_view name;
  const Var* data;  // its pointer; pointer->scope is the storage scope
  DataType dtype;
  List<const Expr*> shape, strides;  // strides: empty means compact
  const Expr* elem_offset;           // in elements; null means 0
  int data_alignment = 0;            // bytes; 0 means the default of TVM (64)
  int offset_factor = 1;
  SpanId span = 0;

  std::string_view scope() const { return data->pointer ? data->pointer->scope : std::string_view("global"); }
};

// ---- attribute values -------------------------------------------------------------------------------------------

struct KeyValue;

struct Value {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kString, kArray, kMap, kTarget, kExpr, kBuffer };
  Kind kind = Kind::kNone;
  bool boolean = false;
  int64_t integer = 0;
  double floating = 0;
  std::string_view string;
  List<Value> array;
  List<KeyValue> map;  // kMap and kTarget, in the order of the file
  const Expr* expr = nullptr;
  const Buffer* buffer = nullptr;

  // The value under `key` of a kMap or kTarget, or null.
  const Value* find(std::string_view key) const;
};

// Keys are text in almost every map; a map keyed by Vars (tl.smem_alignment_map) has kExpr keys.
struct KeyValue {
  Value key, value;
};

// ---- statements -------------------------------------------------------------------------------------------------

enum class StmtKind : uint8_t {
  kSeq,
  kFor,
  kWhile,
  kIf,
  kBind,
  kAllocBuffer,
  kDeclBuffer,
  kStore,
  kEvaluate,
  kAttr,
  kThreadExtent,
  kAssert,
  kReturn,
  kBreak,
  kContinue,
};

enum class ForKind : uint8_t { kSerial = 0, kParallel = 1, kVectorized = 2, kUnrolled = 3, kThreadBinding = 4 };

struct Stmt {
  StmtKind kind;
  SpanId span = 0;

  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};

struct Seq : Stmt {  // never nested directly in a Seq, never of length 1; empty means nothing to do
  static constexpr StmtKind kKind = StmtKind::kSeq;
  List<const Stmt*> stmts;
};
struct For : Stmt {  // var runs from min to min + extent (exclusive) in steps of `step` (null: 1)
  static constexpr StmtKind kKind = StmtKind::kFor;
  const Var* var;
  const Expr *min, *extent, *step;
  ForKind for_kind;
  std::string_view thread_tag;  // for kThreadBinding
  const Value* annotations;     // a kMap, or null
  const Stmt* body;
};
struct While : Stmt {
  static constexpr StmtKind kKind = StmtKind::kWhile;
  const Expr* condition;
  const Stmt* body;
};
struct If : Stmt {
  static constexpr StmtKind kKind = StmtKind::kIf;
  const Expr* condition;
  const Stmt *then_case, *else_case;  // else_case may be null
};
struct Bind : Stmt {
  static constexpr StmtKind kKind = StmtKind::kBind;
  const Var* var;
  const Expr* value;
};
struct AllocBuffer : Stmt {  // defines buffer->data
  static constexpr StmtKind kKind = StmtKind::kAllocBuffer;
  const Buffer* buffer;
  const Value* annotations;  // a kMap, or null
};
struct DeclBuffer : Stmt {  // a view: buffer->data is defined elsewhere
  static constexpr StmtKind kKind = StmtKind::kDeclBuffer;
  const Buffer* buffer;
};
struct Store : Stmt {
  static constexpr StmtKind kKind = StmtKind::kStore;
  const Buffer* buffer;
  const Expr* value;
  List<const Expr*> indices;
  const Expr* predicate;  // may be null
};
struct Evaluate : Stmt {
  static constexpr StmtKind kKind = StmtKind::kEvaluate;
  const Expr* value;
};
struct Attr : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAttr;
  Value node;
  std::string_view key;
  const Expr* value;
  const Stmt* body;
};
struct ThreadExtent : Stmt {  // TVM's AttrStmt "thread_extent" and "virtual_thread" over an IterVar
  static constexpr StmtKind kKind = StmtKind::kThreadExtent;
  const Var* var;
  std::string_view tag;  // "blockIdx.x", "threadIdx.x", ...
  const Expr* extent;
  const Stmt* body;
};
struct Assert : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAssert;
  const Expr* condition;
  std::string_view error_kind;  // "RuntimeError", "TypeError", ...
  List<std::string_view> message_parts;
};
struct Return : Stmt {
  static constexpr StmtKind kKind = StmtKind::kReturn;
  const Expr* value;  // may be null
};
struct Break : Stmt {
  static constexpr StmtKind kKind = StmtKind::kBreak;
};
struct Continue : Stmt {
  static constexpr StmtKind kKind = StmtKind::kContinue;
};

// ---- functions and modules --------------------------------------------------------------------------------------

struct Function {
  std::string_view name;  // the name inside the module (TVM's GlobalVar)
  List<const Var*> params;
  DataType ret;        // kVoid for none
  const Value* attrs;  // a kMap
  const Stmt* body;
  SpanId span = 0;

  // The name it is launched by: attribute "global_symbol", or empty for a private function.
  std::string_view symbol() const;
};

// Owns everything that its functions point to. Immutable once built; safe to read from any thread.
struct Module {
  Arena arena;
  std::vector<const Function*> functions;  // in the order of the file
  std::vector<Span> spans{Span{}};         // [0] is "not known"
  const Value* attrs = nullptr;            // a kMap, or null

  // "file.py:12:3" for a span, or "" when it is not known.
  std::string place(SpanId span) const;
};
using ModulePtr = std::shared_ptr<const Module>;

}  // namespace kiln::ir
