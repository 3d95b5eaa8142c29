// The decoder's frame: limits of the whole table, access to fields, functions and modules.
#include <limits>

#include "import/import.h"
#include "import/tvm_decoder.h"
#include "ir/text.h"

namespace kiln::tvm_json {

namespace {

// An expression DAG is walked once for each use by what follows; a file may describe one whose expansion never ends.
constexpr uint64_t kMaxExpandedNodes = 50'000'000;
// Lists, maps, targets and types inside each other.
constexpr uint32_t kMaxValueDepth = 64;
// References that point forward (see note_declarations) and are followed at once.
constexpr int kMaxForward = 100;

bool is_tree_node(NodeType t) {
  using enum NodeType;
  switch (t) {
    case kOther:
    case kNone:
    case kBool:
    case kInt:
    case kFloat:
    case kString:
    case kArray:
    case kMap:
    case kOp:
    case kTargetKind:
    case kSourceName:
    case ir_IRModule:
    case ir_DictAttrs:
    case ir_GlobalVar:
    case ir_Span:
    case ir_PrimType:
    case ir_PointerType:
    case ir_TupleType:
    case ir_StringType:
    case tirx_BufferType:
    case target_Target:
    case tirx_CallFFIKernelAttr: return false;
    default: return true;
  }
}

bool known_version(std::string_view v) { return v.empty() || v.starts_with("0.25.") || v.starts_with("0.26.") || v.starts_with("0.27."); }

}  // namespace

Result<ModulePtr> Decoder::run() {
  if (auto e = measure()) return std::move(*e);
  note_declarations();
  // Children first: what a node refers to is ready, so that decoding goes no deeper than the few references that point forward.
  for (size_t i = 0; i < t_.nodes.size() && !error_; ++i) (void)node(i);
  if (error_) return std::move(*error_);
  const RawValue& root = t_.root;
  if (root.kind != RawValue::Kind::kInt || root.integer < 0 || static_cast<size_t>(root.integer) >= t_.nodes.size()) {
    fail("root_index does not name a node");
  } else if (t_.nodes[static_cast<size_t>(root.integer)].type != NodeType::ir_IRModule) {
    at_ = static_cast<size_t>(root.integer);
    fail("expected an ir.IRModule as root");
  } else {
    (void)node(static_cast<size_t>(root.integer));
  }
  if (error_) return std::move(*error_);
  return ModulePtr(std::move(module_));
}

// ---- errors --------------------------------------------------------------------------------------------------------

void Decoder::fail(std::string message, std::string hint) {
  if (!error_) error_ = Error{Code::kParse, std::move(message), place(at_), std::move(hint)};
}

void Decoder::expected(std::string_view what, const Node& got) {
  size_t index = &got >= nodes_.data() && &got < nodes_.data() + nodes_.size() ? static_cast<size_t>(&got - nodes_.data()) : 0;
  if (got.kind != Kind::kOther) return fail("expected " + std::string(what));
  fail("expected " + std::string(what) + ", got " + t_.name(index) + ", whose type is not known",
       "known are the types of TileLang 0.1.15 (TVM 0.25) and of Apache TVM 0.27");
}

// ---- the whole table, before decoding ------------------------------------------------------------------------------

std::optional<Error> Decoder::measure() {
  nodes_.resize(t_.nodes.size());
  std::vector<Cost> cost(t_.nodes.size());
  for (size_t i = 0; i < t_.nodes.size(); ++i) {
    const RawNode& n = t_.nodes[i];
    const auto& row = tvm_json::type_row(n.type);
    bool list = n.type == NodeType::kArray || n.type == NodeType::kMap;
    if (!list && row.size == 0) continue;
    if (n.type == NodeType::kMap && n.count % 2 != 0) return Error{Code::kParse, "a map with a key that has no value", place(i), ""};
    Cost& c = cost[i];
    auto add = [&](size_t index) {
      const Cost& child = cost[index];
      c.depth = std::max(c.depth, child.depth);
      c.value_depth = std::max(c.value_depth, child.value_depth);
      c.size += child.size;
    };
    for (uint32_t k = 0; k < n.count; ++k) {
      if (list) {
        add(t_.elements[n.first + k]);  // the reader has seen to it that they point backwards
        continue;
      }
      const RawValue& v = t_.values[n.first + k];
      const auto& field = row.fields[k];
      bool reference = field.tilelang == How::kNode || (field.tilelang == How::kAbsent && field.tvm == How::kNode);
      if (v.kind == RawValue::Kind::kAbsent || !reference) continue;
      if (v.kind != RawValue::Kind::kInt || v.integer < 0 || v.integer >= static_cast<int64_t>(i)) {
        return Error{Code::kParse, "field '" + std::string(field.name) + "' must be the index of an earlier node", place(i), ""};
      }
      add(static_cast<size_t>(v.integer));
    }
    ++c.size;
    if (is_tree_node(n.type))
      ++c.depth, c.value_depth = 0;
    else
      ++c.value_depth;
    if (n.type == NodeType::tirx_Buffer || n.type == NodeType::ir_Var) c.size = 1;
    if (c.depth > kMaxDepth || c.value_depth > kMaxValueDepth) {
      int limit = c.depth > kMaxDepth ? kMaxDepth : kMaxValueDepth;
      return Error{Code::kParse, "nested more than " + std::to_string(limit) + " levels deep", place(i), ""};
    }
    if (c.size > kMaxExpandedNodes) {
      return Error{Code::kParse, "expands to more than " + std::to_string(kMaxExpandedNodes) + " nodes", place(i),
                   "expressions are shared too often; bind them to variables"};
    }
  }
  return std::nullopt;
}

void Decoder::note_declarations() {
  for (size_t i = 0; i < t_.nodes.size(); ++i) {
    if (t_.nodes[i].type != NodeType::tirx_DeclBuffer) continue;
    const RawValue& data = slot(t_.nodes[i], Field::data);
    const RawValue& buffer = slot(t_.nodes[i], Field::buffer);
    if (data.kind == RawValue::Kind::kInt && buffer.kind == RawValue::Kind::kInt) {
      declared_data_.emplace(static_cast<size_t>(buffer.integer), static_cast<size_t>(data.integer));
    }
  }
}

// ---- fields --------------------------------------------------------------------------------------------------------

const RawValue& Decoder::slot(const RawNode& n, Field f) const {
  static const RawValue kAbsent{};
  uint8_t s = tvm_json::slot_of(n.type, f);
  return s == 0xff ? kAbsent : t_.values[n.first + s];
}

const RawValue& Decoder::need(const RawNode& n, Field f) {
  const RawValue& v = slot(n, f);
  if (v.kind == RawValue::Kind::kAbsent) {
    uint8_t s = tvm_json::slot_of(n.type, f);
    fail("field '" + std::string(s == 0xff ? "?" : tvm_json::type_row(n.type).fields[s].name) + "' is missing");
  }
  return v;
}

const Node& Decoder::ref(const RawNode& n, Field f) {
  const RawValue& v = need(n, f);
  static const Node kNothing = [] {
    Node none;
    none.kind = Kind::kNone;
    return none;
  }();
  return v.kind == RawValue::Kind::kInt && !error_ ? node(static_cast<size_t>(v.integer)) : kNothing;
}

bool Decoder::absent_or_none(const RawNode& n, Field f) {
  const RawValue& v = slot(n, f);
  if (v.kind != RawValue::Kind::kInt) return true;
  return t_.nodes[static_cast<size_t>(v.integer)].type == NodeType::kNone;
}

int64_t Decoder::inline_int(const RawNode& n, Field f, int64_t low, int64_t high) {
  const RawValue& v = need(n, f);
  if (v.kind != RawValue::Kind::kInt && v.kind != RawValue::Kind::kBool) return fail("expected an integer"), low;
  if (v.integer < low || v.integer > high) return fail("the number " + std::to_string(v.integer) + " is out of range"), low;
  return v.integer;
}

DataType Decoder::parse_dtype_cached(std::string_view text) {
  if (text == last_dtype_text_) return last_dtype_;
  auto it = dtypes_.find(text);
  if (it == dtypes_.end()) {
    auto parsed = parse_dtype(text);
    if (!parsed) {
      if (!error_) error_ = Error{parsed.error().code, parsed.error().message, place(at_), parsed.error().hint};
      return kVoid;
    }
    it = dtypes_.emplace(text, *parsed).first;
  }
  last_dtype_text_ = it->first;
  return last_dtype_ = it->second;
}

DataType Decoder::inline_dtype(const RawNode& n, Field f) {
  const RawValue& v = need(n, f);
  if (v.kind != RawValue::Kind::kString) return fail("expected a dtype"), kVoid;
  return parse_dtype_cached(v.string());
}

DataType Decoder::dtype_of(const RawNode& n, const PointerType** pointer) {
  if (slot(n, Field::dtype).kind == RawValue::Kind::kString) return inline_dtype(n, Field::dtype);
  const Node& type = ref(n, Field::ty);
  if (type.kind != Kind::kType) return fail("expected a type in field 'ty'"), kVoid;
  if (pointer) *pointer = type.get<PointerType>();
  return type.dtype;
}

std::string_view Decoder::string_field(const RawNode& n, Field f) {
  const Node& s = ref(n, f);
  if (s.kind != Kind::kString) fail("expected a string");
  return s.string;
}

SpanId Decoder::span_of(const RawNode& n) {
  const RawValue& v = slot(n, Field::span);
  if (v.kind != RawValue::Kind::kInt) return 0;
  const Node& s = node(static_cast<size_t>(v.integer));
  return s.kind == Kind::kSpan ? static_cast<SpanId>(s.integer) : 0;
}

// ---- nodes as what the caller needs --------------------------------------------------------------------------------

const Node& Decoder::node(size_t index) {
  Node& n = nodes_[index];
  if (n.kind == Kind::kPending) {
    size_t outer = at_;
    if (++forward_ > kMaxForward) {
      fail("buffers are declared over each other more than " + std::to_string(kMaxForward) + " deep");
    } else {
      decode(index);
    }
    --forward_;
    at_ = outer;
  } else if (n.kind == Kind::kBusy) {
    fail("a buffer is declared over itself");
  }
  return nodes_[index];
}

const Expr* Decoder::as_expr(const Node& n) {
  if (n.kind == Kind::kExpr) return n.get<Expr>();
  if (n.kind == Kind::kBuffer) return n.get<Buffer>()->data;
  expected("an expression", n);
  return dummy();
}

const Var* Decoder::var(const RawNode& n, Field f) {
  const Expr* e = expr(n, f);
  if (auto* v = e->as<Var>()) return v;
  fail("expected a variable");
  return b_.var("", kInt32);
}

const Buffer* Decoder::buffer(const RawNode& n, Field f) {
  const Node& v = ref(n, f);
  if (v.kind == Kind::kBuffer) return v.get<Buffer>();
  expected("a buffer", v);
  return b_.add(Buffer{.name = {}, .data = b_.var("", kHandle), .dtype = kInt32, .shape = {}, .strides = {}, .elem_offset = nullptr});
}

const Stmt* Decoder::stmt(const RawNode& n, Field f) {
  const Node& v = ref(n, f);
  if (v.kind == Kind::kStmt) return v.get<Stmt>();
  expected("a statement", v);
  return b_.seq({});
}

List<const Expr*> Decoder::exprs(const RawNode& n, Field f) {
  size_t first = pending_.size();  // of this list: a reference that points forward may start another meanwhile
  each(n, f, [&](const Node& e) { pending_.push_back(as_expr(e)); });
  auto out = b_.arena().list(std::span<const Expr* const>(pending_).subspan(first));
  pending_.resize(first);
  return out;
}

bool Decoder::spend(size_t elements) {
  copied_ += elements;
  if (copied_ > 4 * t_.values.size() + 1'000'000) fail("lists are shared too often");
  return !error_;
}

// ---- functions and modules -----------------------------------------------------------------------------------------

void Decoder::function(const RawNode& n, Node& out) {
  if (!absent_or_none(n, Field::buffer_map)) {
    const RawNode& map = t_.nodes[static_cast<size_t>(slot(n, Field::buffer_map).integer)];
    if (map.type == NodeType::kMap && map.count != 0)
      fail("a function with a buffer_map is not lowered", "run the compiler's lowering passes first");
  }
  std::vector<const Var*> params;
  each(n, Field::params, [&](const Node& v) {
    const Expr* e = as_expr(v);
    if (!e->as<Var>()) fail("expected a variable as parameter");
    params.push_back(e->as<Var>());
  });
  const Node& ret = ref(n, Field::ret_type);
  const Node& attrs = ref(n, Field::attrs);
  const Stmt* body = stmt(n, Field::body);
  if (error_) return;
  const Value* dict = attrs.kind == Kind::kTarget ? attrs.get<Value>() : empty_map();
  set(out, Kind::kFunction, b_.add(Function{{}, b_.list(params), ret.kind == Kind::kType ? ret.dtype : kVoid, dict, body, span_of(n)}));
}

void Decoder::module(const RawNode& n, Node& out) {
  const RawValue& functions = need(n, Field::functions);
  if (error_) return;
  const RawNode& map = t_.nodes[static_cast<size_t>(functions.integer)];
  if (map.type != NodeType::kMap || map.count % 2 != 0) return fail("expected a map in field 'functions'");
  for (uint32_t k = 0; k < map.count && !error_; k += 2) {
    const Node& name = node(t_.elements[map.first + k]);
    size_t index = t_.elements[map.first + k + 1];
    const Node& f = node(index);
    if (error_) return;
    if (name.kind != Kind::kGlobalVar) return fail("expected an ir.GlobalVar as a function's name");
    if (f.kind != Kind::kFunction) return at_ = index, fail("expected a tirx.PrimFunc", "only lowered tile programs are read");
    Function named = *f.get<Function>();
    named.name = name.string;
    module_->functions.push_back(b_.add(named));
  }
  const Node& attrs = ref(n, Field::attrs);
  if (attrs.kind == Kind::kTarget && !attrs.get<Value>()->map.empty()) module_->attrs = attrs.get<Value>();
  out.kind = Kind::kModule;
}

}  // namespace kiln::tvm_json

namespace kiln {

Result<ir::ModulePtr> import_tvm_json(std::string_view text, std::string_view file) {
  auto table = tvm_json::read_node_table(text);
  if (!table) {
    Error e = table.error();
    e.place = e.place.empty() ? std::string(file) : std::string(file) + ": " + e.place;
    return e;
  }
  if (!tvm_json::known_version(table->version)) {
    return Error{Code::kParse, "the module was saved by TVM " + std::string(table->version.substr(0, 40)) + ", whose schema is not known",
                 std::string(file), "expected TileLang 0.1.15 (TVM 0.25) or Apache TVM 0.27"};
  }
  return tvm_json::Decoder(*table, file).run();
}

}  // namespace kiln
