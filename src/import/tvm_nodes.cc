// The decoder's nodes, one kind after the other.
#include <limits>

#include "import/tvm_decoder.h"

namespace kiln::tvm_json {

namespace {

std::optional<ExprKind> binary_kind(NodeType t) {
  using enum NodeType;
  using enum ExprKind;
  switch (t) {
    case tirx_Add:
    case prim_Add: return kAdd;
    case tirx_Sub:
    case prim_Sub: return kSub;
    case tirx_Mul:
    case prim_Mul: return kMul;
    case tirx_Div:
    case prim_Div: return kDiv;
    case tirx_Mod:
    case prim_Mod: return kMod;
    case tirx_FloorDiv:
    case prim_FloorDiv: return kFloorDiv;
    case tirx_FloorMod:
    case prim_FloorMod: return kFloorMod;
    case tirx_Min:
    case prim_Min: return kMin;
    case tirx_Max:
    case prim_Max: return kMax;
    case tirx_EQ:
    case prim_EQ: return kEQ;
    case tirx_NE:
    case prim_NE: return kNE;
    case tirx_LT:
    case prim_LT: return kLT;
    case tirx_LE:
    case prim_LE: return kLE;
    case tirx_GT:
    case prim_GT: return kGT;
    case tirx_GE:
    case prim_GE: return kGE;
    case tirx_And:
    case prim_And: return kAnd;
    case tirx_Or:
    case prim_Or: return kOr;
    case prim_BitwiseAnd: return kBitAnd;
    case prim_BitwiseOr: return kBitOr;
    case prim_BitwiseXor: return kBitXor;
    case prim_LShift: return kShiftLeft;
    case prim_RShift: return kShiftRight;
    default: return std::nullopt;
  }
}

// TileLang's dialect writes the bit operators as calls.
std::optional<ExprKind> bit_kind(Op op) {
  switch (op) {
    case Op::tirx_bitwise_and: return ExprKind::kBitAnd;
    case Op::tirx_bitwise_or: return ExprKind::kBitOr;
    case Op::tirx_bitwise_xor: return ExprKind::kBitXor;
    case Op::tirx_shift_left: return ExprKind::kShiftLeft;
    case Op::tirx_shift_right: return ExprKind::kShiftRight;
    default: return std::nullopt;
  }
}

}  // namespace

// ---- attribute values ----------------------------------------------------------------------------------------------

Value Decoder::value(const Node& n) {
  Value v;
  switch (n.kind) {
    case Kind::kBool: v.kind = Value::Kind::kBool, v.boolean = n.integer != 0; return v;
    case Kind::kInt: v.kind = Value::Kind::kInt, v.integer = n.integer; return v;
    case Kind::kFloat: v.kind = Value::Kind::kFloat, v.floating = n.floating; return v;
    case Kind::kString: v.kind = Value::Kind::kString, v.string = n.string; return v;
    case Kind::kOp:
    case Kind::kGlobalVar: v.kind = Value::Kind::kString, v.string = b_.string(n.string); return v;
    case Kind::kList:
    case Kind::kMap: return container(static_cast<size_t>(n.integer));
    case Kind::kBuffer: v.kind = Value::Kind::kBuffer, v.buffer = n.get<Buffer>(); return v;
    case Kind::kTarget:
    case Kind::kLaunchParams: return *n.get<Value>();
    case Kind::kType: v.kind = Value::Kind::kString, v.string = b_.string(to_string(n.dtype)); return v;
    case Kind::kExpr: return expr_value(n.get<Expr>());
    case Kind::kPending:
    case Kind::kBusy:
    case Kind::kNone:
    case Kind::kSpan:
    case Kind::kBufferType:
    case Kind::kRange:
    case Kind::kIterVar:
    case Kind::kStmt:
    case Kind::kFunction:
    case Kind::kModule:
    case Kind::kOther: break;
  }
  return v;
}

Value Decoder::expr_value(const Expr* e) {
  Value v;
  if (auto* i = e->as<IntImm>(); i && e->dtype == kBool) {
    v.kind = Value::Kind::kBool, v.boolean = i->value != 0;
  } else if (i && e->dtype == kInt32) {
    v.kind = Value::Kind::kInt, v.integer = i->value;
  } else if (auto* s = e->as<StringImm>()) {
    v.kind = Value::Kind::kString, v.string = s->value;
  } else {
    v.kind = Value::Kind::kExpr, v.expr = e;
  }
  return v;
}

Value Decoder::container(size_t index) {
  const RawNode& n = t_.nodes[index];
  Value v;
  if (!spend(n.count)) return v;
  auto element = [&](uint32_t k) { return error_ ? Value{} : value(node(t_.elements[n.first + k])); };
  if (n.type == NodeType::kArray) {
    std::vector<Value> items;
    for (uint32_t k = 0; k < n.count && !error_; ++k) items.push_back(element(k));
    v.kind = Value::Kind::kArray, v.array = b_.list(items);
  } else {
    std::vector<KeyValue> items;
    for (uint32_t k = 0; k + 1 < n.count && !error_; k += 2) items.push_back({element(k), element(k + 1)});
    v.kind = Value::Kind::kMap, v.map = b_.list(items);
  }
  return v;
}

const Value* Decoder::annotations(const RawNode& n, Field f) {
  if (absent_or_none(n, f)) return nullptr;
  const RawNode& map = t_.nodes[static_cast<size_t>(slot(n, f).integer)];
  if (map.type == NodeType::kMap && map.count == 0) return nullptr;
  Value v = value(ref(n, f));
  if (v.kind != Value::Kind::kMap) fail("expected a map");
  return b_.add(v);
}

const Value* Decoder::empty_map() {
  Value v;
  v.kind = Value::Kind::kMap;
  return b_.add(v);
}

Node::Kind Decoder::dict_attrs(const RawNode& n, Node& out) {
  const Value* v = annotations(n, Field::__dict__);
  for (const KeyValue& kv : v ? v->map : List<KeyValue>()) {
    if (kv.key.kind != Value::Kind::kString) fail("expected a string as an attribute's name");
  }
  out.pointer = v ? v : empty_map();
  return Kind::kTarget;  // a ready Value, as a target is
}

const Value* Decoder::target(const RawNode& n) {
  std::vector<KeyValue> items;
  auto put = [&](std::string_view key, Value v) {
    Value k;
    k.kind = Value::Kind::kString, k.string = b_.string(key);
    items.push_back({k, v});
  };
  put("kind", value(ref(n, Field::kind)));
  Value tag = value(ref(n, Field::tag));
  if (!tag.string.empty()) put("tag", tag);
  put("keys", value(ref(n, Field::keys)));
  Value attrs = value(ref(n, Field::attrs));
  items.insert(items.end(), attrs.map.begin(), attrs.map.end());
  if (!absent_or_none(n, Field::host)) put("host", value(ref(n, Field::host)));
  Value v;
  v.kind = Value::Kind::kTarget, v.map = b_.list(items);
  return b_.add(v);
}

// ---- one node ------------------------------------------------------------------------------------------------------

void Decoder::decode(size_t index) {
  at_ = index;
  const RawNode& n = t_.nodes[index];
  nodes_[index].kind = Kind::kBusy;
  Node out;
  if (auto kind = binary_kind(n.type)) {
    DataType dtype = dtype_of(n);
    const Expr *a = expr(n, Field::a), *b = expr(n, Field::b);
    set(out, Kind::kExpr, b_.add(Binary{{*kind, dtype, span_of(n)}, a, b}));
  } else {
    other(index, n, out);
  }
  nodes_[index] = out;
}

void Decoder::leaf(const RawNode& n, Node& out) {
  using enum NodeType;
  static const RawValue kNothing{};
  const RawValue& v = n.count == 1 ? t_.values[n.first] : kNothing;
  auto text = [&] {
    if (v.kind != RawValue::Kind::kString) fail("expected a string as data");
    return v.kind == RawValue::Kind::kString ? b_.string(v.string()) : std::string_view();
  };
  switch (n.type) {
    case kBool:
    case kInt:
      if (v.kind != RawValue::Kind::kInt && v.kind != RawValue::Kind::kBool && v.kind != RawValue::Kind::kUInt)
        fail("expected an integer as data");
      out.kind = n.type == kBool ? Kind::kBool : Kind::kInt, out.integer = v.integer;
      return;
    case kFloat:
      if (v.kind != RawValue::Kind::kFloat && v.kind != RawValue::Kind::kInt) fail("expected a number as data");
      out.kind = Kind::kFloat;
      out.floating = v.kind == RawValue::Kind::kFloat ? v.floating : static_cast<double>(v.integer);
      return;
    case kString:
    case kTargetKind:
    case kSourceName: out.kind = Kind::kString, out.string = text(); return;
    case kOp:
      out.kind = Kind::kOp, out.string = text(), out.op = find_op(out.string);
      if (out.string.empty()) fail("an operator without a name");
      if (out.op != Op::kUnknown) out.string = op_info(out.op).name;
      return;
    default: out.kind = Kind::kNone; return;
  }
}

void Decoder::other(size_t index, const RawNode& n, Node& out) {
  using enum NodeType;
  switch (n.type) {
    case kNone:
    case kBool:
    case kInt:
    case kFloat:
    case kString:
    case kTargetKind:
    case kSourceName:
    case kOp: return leaf(n, out);
    case kArray:
    case kMap: out.kind = n.type == kArray ? Kind::kList : Kind::kMap, out.integer = static_cast<int64_t>(index); return;
    case ir_IRModule: return module(n, out);
    case ir_DictAttrs: out.kind = dict_attrs(n, out); return;
    case ir_GlobalVar: out.kind = Kind::kGlobalVar, out.string = string_field(n, Field::name_hint); return;
    case ir_Span: return span(n, out);
    case ir_PrimType: out.kind = Kind::kType, out.dtype = inline_dtype(n, Field::dtype); return;
    case ir_PointerType: return pointer_type(n, out);
    case ir_TupleType: out.kind = Kind::kType, out.dtype = kVoid; return;
    case ir_StringType: out.kind = Kind::kType, out.dtype = kHandle; return;
    case tirx_BufferType: out.kind = Kind::kBufferType, out.integer = static_cast<int64_t>(index); return;
    case ir_Range: out.kind = Kind::kRange; return;
    case tirx_IterVar: out.kind = Kind::kIterVar, out.integer = static_cast<int64_t>(index); return;
    case tirx_CallFFIKernelAttr: return launch_params(n, out);
    case target_Target: set(out, Kind::kTarget, target(n)); return;
    case ir_Var: return set_var(index, n, out);
    case tirx_Var:
    case tirx_SizeVar: {
      const Node& type = ref(n, Field::type_annotation);
      const PointerType* pointer = type.kind == Kind::kType ? type.get<PointerType>() : nullptr;
      DataType dtype = inline_dtype(n, Field::dtype);
      if (pointer && !dtype.is_handle()) fail("a variable of dtype " + to_string(dtype) + " has a pointer type");
      set(out, Kind::kExpr, b_.add(Var{{ExprKind::kVar, dtype, span_of(n)}, string_field(n, Field::name), pointer}));
      return;
    }
    case tirx_Buffer: return tilelang_buffer(n, out);
    case ir_IntImm:
    case ir_FloatImm:
    case ir_StringImm:
    case tirx_StringImm: return immediate(n, out);
    case tirx_Not:
    case prim_Not: return unary(n, ExprKind::kNot, out);
    case prim_BitwiseNot: return unary(n, ExprKind::kBitNot, out);
    case tirx_Cast:
    case prim_Cast: set(out, Kind::kExpr, b_.add(Cast{{ExprKind::kCast, dtype_of(n), span_of(n)}, expr(n, Field::value)})); return;
    case tirx_Select:
    case prim_Select:
      set(out, Kind::kExpr,
          b_.add(Select{{ExprKind::kSelect, dtype_of(n), span_of(n)},
                        expr(n, Field::condition),
                        expr(n, Field::true_value),
                        expr(n, Field::false_value)}));
      return;
    case tirx_Ramp:
    case prim_Ramp:
      set(out, Kind::kExpr, b_.add(Ramp{{ExprKind::kRamp, dtype_of(n), span_of(n)}, expr(n, Field::base), expr(n, Field::stride)}));
      return;
    case tirx_Broadcast:
    case prim_Broadcast:
      set(out, Kind::kExpr, b_.add(Broadcast{{ExprKind::kBroadcast, dtype_of(n), span_of(n)}, expr(n, Field::value)}));
      return;
    case tirx_Shuffle:
    case prim_Shuffle:
      set(out, Kind::kExpr,
          b_.add(Shuffle{{ExprKind::kShuffle, dtype_of(n), span_of(n)}, exprs(n, Field::vectors), exprs(n, Field::indices)}));
      return;
    case tirx_Let:
    case prim_Let:
      set(out, Kind::kExpr,
          b_.add(Let{{ExprKind::kLet, dtype_of(n), span_of(n)}, var(n, Field::var), expr(n, Field::value), expr(n, Field::body)}));
      return;
    case tirx_BufferLoad:
      set(out, Kind::kExpr,
          b_.add(Load{{ExprKind::kLoad, dtype_of(n), span_of(n)},
                      buffer(n, Field::buffer),
                      exprs(n, Field::indices),
                      optional_expr(n, Field::predicate)}));
      return;
    case ir_TensorLoad:
      set(out, Kind::kExpr,
          b_.add(Load{{ExprKind::kLoad, dtype_of(n), span_of(n)}, buffer(n, Field::source), exprs(n, Field::indices), nullptr}));
      return;
    case tirx_Call:
    case ir_Call: return call(n, out);
    case tirx_PrimFunc: return function(n, out);
    case tirx_SeqStmt:
    case tirx_For:
    case tirx_While:
    case tirx_IfThenElse:
    case tirx_Bind:
    case tirx_AllocBuffer:
    case tirx_DeclBuffer:
    case tirx_BufferStore:
    case tirx_Evaluate:
    case tirx_AttrStmt:
    case tirx_AssertStmt:
    case tirx_Return:
    case tirx_Break:
    case tirx_Continue: set(out, Kind::kStmt, statement(n)); return;
    default: out.kind = Kind::kOther; return;
  }
}

void Decoder::span(const RawNode& n, Node& out) {
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  Span s;
  s.file = string_field(n, Field::source_name);
  s.line = static_cast<int>(inline_int(n, Field::line, -1, kMax));
  s.column = static_cast<int>(inline_int(n, Field::column, -1, kMax));
  s.end_line = static_cast<int>(inline_int(n, Field::end_line, -1, kMax));
  s.end_column = static_cast<int>(inline_int(n, Field::end_column, -1, kMax));
  out.kind = Kind::kSpan, out.integer = static_cast<int64_t>(module_->spans.size());
  module_->spans.push_back(s);
}

void Decoder::pointer_type(const RawNode& n, Node& out) {
  const Node& element = ref(n, Field::element_type);
  if (element.kind != Kind::kType) return fail("expected a type in field 'element_type'");
  std::string_view scope = string_field(n, Field::storage_scope);
  if (scope.empty()) scope = "global";
  bool opaque = element.dtype.is_void() && scope == "global";  // says no more than "a pointer"
  set(out, Kind::kType, opaque ? nullptr : b_.add(PointerType{element.dtype, scope}));
  out.dtype = kHandle;
}

void Decoder::launch_params(const RawNode& n, Node& out) {
  Value key, list = value(ref(n, Field::launch_params)), map;
  key.kind = Value::Kind::kString, key.string = "launch_params";
  map.kind = Value::Kind::kMap, map.map = b_.list(std::vector<KeyValue>{{key, list}});
  set(out, Kind::kLaunchParams, b_.add(map));
}

void Decoder::immediate(const RawNode& n, Node& out) {
  DataType dtype = dtype_of(n);
  if (n.type == NodeType::ir_StringImm || n.type == NodeType::tirx_StringImm) {
    return set(out, Kind::kExpr, b_.add(StringImm{{ExprKind::kStringImm, kHandle, span_of(n)}, string_field(n, Field::value)}));
  }
  const RawValue& v = need(n, Field::value);
  if (n.type == NodeType::ir_FloatImm) {
    if (v.kind != RawValue::Kind::kFloat && v.kind != RawValue::Kind::kInt && v.kind != RawValue::Kind::kUInt)
      fail("expected a number in field 'value'");
    double d = v.kind == RawValue::Kind::kFloat  ? v.floating
               : v.kind == RawValue::Kind::kUInt ? static_cast<double>(static_cast<uint64_t>(v.integer))
                                                 : static_cast<double>(v.integer);
    return set(out, Kind::kExpr, b_.add(FloatImm{{ExprKind::kFloatImm, dtype, span_of(n)}, d}));
  }
  int64_t number = v.integer;
  if (slot(n, Field::ty).kind == RawValue::Kind::kInt) {  // Apache TVM's: the value is a node of its own
    if (v.kind != RawValue::Kind::kInt || v.integer < 0 || v.integer >= static_cast<int64_t>(at_))
      return fail("field 'value' must be the index of an earlier node");
    const Node& value = node(static_cast<size_t>(v.integer));
    if (value.kind != Kind::kInt && value.kind != Kind::kBool) fail("expected an integer in field 'value'");
    number = value.integer;
  } else if (v.kind != RawValue::Kind::kInt && v.kind != RawValue::Kind::kUInt && v.kind != RawValue::Kind::kBool) {
    fail("expected an integer in field 'value'");
  }
  set(out, Kind::kExpr, b_.add(IntImm{{ExprKind::kIntImm, dtype, span_of(n)}, number}));
}

void Decoder::unary(const RawNode& n, ExprKind kind, Node& out) {
  set(out, Kind::kExpr, b_.add(Unary{{kind, dtype_of(n), span_of(n)}, expr(n, Field::a)}));
}

void Decoder::call(const RawNode& n, Node& out) {
  const PointerType* pointer = nullptr;
  DataType dtype = dtype_of(n, &pointer);
  const Node& op = ref(n, Field::op);
  List<const Expr*> args = exprs(n, Field::args);
  if (error_) return set(out, Kind::kExpr, dummy());
  SpanId s = span_of(n);
  if (op.kind == Kind::kGlobalVar) {
    if (op.string.empty()) fail("a call of a function without a name");
    return set(out, Kind::kExpr, b_.add(Call{{ExprKind::kCall, dtype, s}, Op::kFunction, op.string, args, pointer, nullptr}));
  }
  if (op.kind != Kind::kOp) fail("expected an operator or a function in field 'op'");
  if (auto kind = bit_kind(op.op); kind && args.size() == 2)
    return set(out, Kind::kExpr, b_.add(Binary{{*kind, dtype, s}, args[0], args[1]}));
  if (op.op == Op::tirx_bitwise_not && args.size() == 1)
    return set(out, Kind::kExpr, b_.add(Unary{{ExprKind::kBitNot, dtype, s}, args[0]}));
  if (op.op == Op::tirx_buffer_data && args.size() == 1) return set(out, Kind::kExpr, args[0]);  // a buffer variable became its pointer
  if (op.op == Op::tirx_large_uint_imm && args.size() == 2 && args[0]->as<IntImm>() && args[1]->as<IntImm>()) {
    uint64_t low = static_cast<uint64_t>(args[0]->as<IntImm>()->value) & 0xffffffffu,
             high = static_cast<uint64_t>(args[1]->as<IntImm>()->value);
    return set(out, Kind::kExpr, b_.add(IntImm{{ExprKind::kIntImm, dtype, s}, static_cast<int64_t>(high << 32 | low)}));
  }
  const Value* notes = annotations(n, Field::annotations);
  if (!absent_or_none(n, Field::attrs)) {
    Value v = value(ref(n, Field::attrs));
    if (v.kind == Value::Kind::kMap && !v.map.empty()) notes = b_.add(v);
  }
  set(out, Kind::kExpr, b_.add(Call{{ExprKind::kCall, dtype, s}, op.op, op.string, args, pointer, notes}));
}

// ---- buffers -------------------------------------------------------------------------------------------------------

void Decoder::tilelang_buffer(const RawNode& n, Node& out) {
  Buffer b{};
  b.name = string_field(n, Field::name);
  b.data = var(n, Field::data);
  b.dtype = inline_dtype(n, Field::dtype);
  layout(n, b);
  b.span = span_of(n);
  set(out, Kind::kBuffer, b_.add(b));
}

void Decoder::layout(const RawNode& n, Buffer& b) {
  b.shape = exprs(n, Field::shape);
  b.strides = exprs(n, Field::strides);
  const Expr* offset = optional_expr(n, Field::elem_offset);
  auto* constant = offset ? offset->as<IntImm>() : nullptr;
  b.elem_offset = constant && constant->value == 0 ? nullptr : offset;
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  b.data_alignment = static_cast<int>(inline_int(n, Field::data_alignment, -1, kMax));
  b.offset_factor = static_cast<int>(inline_int(n, Field::offset_factor, -1, kMax));
}

void Decoder::set_var(size_t index, const RawNode& n, Node& out) {
  const Node& type = ref(n, Field::ty);
  std::string_view name = string_field(n, Field::name);
  if (type.kind == Kind::kType) {
    return set(out, Kind::kExpr, b_.add(Var{{ExprKind::kVar, type.dtype, span_of(n)}, name, type.get<PointerType>()}));
  }
  if (type.kind != Kind::kBufferType) return fail("expected a type in field 'ty'"), set(out, Kind::kExpr, dummy());
  const RawNode& t = t_.nodes[static_cast<size_t>(type.integer)];
  const Node& element = ref(t, Field::dtype);
  Buffer b{};
  b.name = name;
  b.dtype = element.dtype;
  std::string_view scope = string_field(t, Field::storage_scope);
  layout(t, b);
  b.span = span_of(n);
  const PointerType* pointer = b_.add(PointerType{b.dtype, scope.empty() ? std::string_view("global") : scope});
  auto declared = declared_data_.find(index);
  const Node* data = declared == declared_data_.end() ? nullptr : &node(declared->second);
  if (data && data->kind == Kind::kExpr && data->get<Expr>()->as<Var>())
    b.data = data->get<Expr>()->as<Var>();
  else
    b.data = b_.add(Var{{ExprKind::kVar, kHandle, b.span}, name, pointer});
  set(out, Kind::kBuffer, b_.add(b));
}

const Stmt* Decoder::declare(const RawNode& n) {
  const Buffer* b = buffer(n, Field::buffer);
  const Stmt* decl = b_.add(DeclBuffer{{StmtKind::kDeclBuffer, span_of(n)}, b});
  if (absent_or_none(n, Field::data)) return decl;
  const Expr* data = expr(n, Field::data);
  if (data == b->data) return decl;
  return b_.seq({b_.bind(b->data, data, span_of(n)), decl});
}

// ---- statements ----------------------------------------------------------------------------------------------------

const Stmt* Decoder::statement(const RawNode& n) {
  using enum NodeType;
  SpanId s = span_of(n);
  switch (n.type) {
    case tirx_SeqStmt: {
      std::vector<const Stmt*> stmts;
      each(n, Field::seq, [&](const Node& v) {
        if (v.kind == Kind::kStmt)
          stmts.push_back(v.get<Stmt>());
        else
          expected("a statement", v);
      });
      const Stmt* seq = b_.seq(stmts, s);
      if (seq->kind == StmtKind::kSeq) (void)spend(seq->as<Seq>()->stmts.size());
      return seq;
    }
    case tirx_For: return for_loop(n, s);
    case tirx_While: return b_.add(While{{StmtKind::kWhile, s}, expr(n, Field::condition), stmt(n, Field::body)});
    case tirx_IfThenElse: {
      const Expr* condition = expr(n, Field::condition);
      const Stmt* then_case = stmt(n, Field::then_case);
      return b_.add(
          If{{StmtKind::kIf, s}, condition, then_case, absent_or_none(n, Field::else_case) ? nullptr : stmt(n, Field::else_case)});
    }
    case tirx_Bind: return b_.bind(var(n, Field::var), expr(n, Field::value), s);
    case tirx_AllocBuffer:
      return b_.add(AllocBuffer{{StmtKind::kAllocBuffer, s}, buffer(n, Field::buffer), annotations(n, Field::annotations)});
    case tirx_DeclBuffer: return declare(n);
    case tirx_BufferStore: {
      const Buffer* b = buffer(n, Field::buffer);
      const Expr* v = expr(n, Field::value);
      return b_.store(b, v, exprs(n, Field::indices), optional_expr(n, Field::predicate), s);
    }
    case tirx_Evaluate: return evaluate(n, s);
    case tirx_AttrStmt: return attr(n, s);
    case tirx_AssertStmt: return assertion(n, s);
    case tirx_Return: return b_.add(Return{{StmtKind::kReturn, s}, optional_expr(n, Field::value)});
    case tirx_Break: return b_.add(Break{{StmtKind::kBreak, s}});
    case tirx_Continue: return b_.add(Continue{{StmtKind::kContinue, s}});
    default: return b_.seq({});
  }
}

const Stmt* Decoder::for_loop(const RawNode& n, SpanId s) {
  const Var* v = var(n, Field::loop_var);
  const Expr *min = expr(n, Field::min), *extent = expr(n, Field::extent), *step = optional_expr(n, Field::step);
  auto kind = static_cast<ForKind>(inline_int(n, Field::kind, 0, static_cast<int>(ForKind::kThreadBinding)));
  std::string_view tag;
  if (!absent_or_none(n, Field::thread_binding)) {
    const Node& iter = ref(n, Field::thread_binding);
    if (iter.kind == Kind::kIterVar) tag = string_field(t_.nodes[static_cast<size_t>(iter.integer)], Field::thread_tag);
  }
  return b_.add(For{{StmtKind::kFor, s}, v, min, extent, step, kind, tag, annotations(n, Field::annotations), stmt(n, Field::body)});
}

const Stmt* Decoder::evaluate(const RawNode& n, SpanId s) {
  const Expr* v = expr(n, Field::value);
  if (auto* call = v->as<Call>()) {
    if (call->op == Op::tirx_ret && call->args.size() <= 1)
      return b_.add(Return{{StmtKind::kReturn, s}, call->args.empty() ? nullptr : call->args[0]});
    if (call->op == Op::tirx_break_loop) return b_.add(Break{{StmtKind::kBreak, s}});
    if (call->op == Op::tirx_continue_loop) return b_.add(Continue{{StmtKind::kContinue, s}});
  }
  return b_.evaluate(v, s);
}

const Stmt* Decoder::attr(const RawNode& n, SpanId s) {
  std::string_view key = string_field(n, Field::attr_key);
  const Expr* v = expr(n, Field::value);
  const Node& about = ref(n, Field::node);
  if (about.kind == Kind::kIterVar && (key == "thread_extent" || key == "virtual_thread")) {
    const RawNode& iter = t_.nodes[static_cast<size_t>(about.integer)];
    const Var* thread = var(iter, Field::var);
    std::string_view tag = string_field(iter, Field::thread_tag);
    return b_.add(ThreadExtent{{StmtKind::kThreadExtent, s}, thread, tag, v, stmt(n, Field::body)});
  }
  return b_.add(Attr{{StmtKind::kAttr, s}, value(about), key, v, stmt(n, Field::body)});
}

const Stmt* Decoder::assertion(const RawNode& n, SpanId s) {
  auto text = [&](const Node& v) {
    auto* imm = v.kind == Kind::kExpr ? v.get<Expr>()->as<StringImm>() : nullptr;
    if (!imm) fail("expected a string constant");
    return imm ? imm->value : std::string_view();
  };
  const Expr* condition = expr(n, Field::condition);
  std::string_view kind = text(ref(n, Field::error_kind));
  std::vector<std::string_view> parts;
  each(n, Field::message_parts, [&](const Node& v) { parts.push_back(text(v)); });
  return b_.add(Assert{{StmtKind::kAssert, s}, condition, kind, b_.list(parts)});
}

}  // namespace kiln::tvm_json
