// parse(print(m)) equals m, also for modules that no compiler makes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "import/import.h"
#include "ir/builder.h"
#include "ir/equal.h"
#include "ir/text.h"

namespace kiln::ir {
namespace {

// A module with the arena to build it in.
struct Made {
  std::shared_ptr<Module> module = std::make_shared<Module>();
  Builder b{module->arena};

  const Value* attrs(std::vector<KeyValue> items = {}) {
    Value v;
    v.kind = Value::Kind::kMap, v.map = b.list(items);
    return b.add(v);
  }
  void function(std::string_view name, std::vector<const Var*> params, std::vector<const Stmt*> body, std::vector<KeyValue> items = {}) {
    module->functions.push_back(b.add(Function{b.string(name), b.list(params), kVoid, attrs(std::move(items)), b.seq(body)}));
  }
  const Var* pointer(std::string_view name, DataType t = kFloat32, std::string_view scope = "global") {
    return b.var(name, kHandle, b.pointer(t, scope));
  }
  const Buffer* buffer(std::string_view name, const Var* data, std::vector<const Expr*> shape, DataType t = kFloat32) {
    Buffer made{b.string(name), data, t, b.list(shape), {}, nullptr};
    made.data_alignment = 64;
    return b.add(made);
  }
  const Expr* i32(int64_t v) { return b.int_imm(kInt32, v); }
  const Expr* f32(double v) { return b.float_imm(kFloat32, v); }
  const Expr* load(const Buffer* of, const Expr* at) { return b.load(of->dtype, of, b.list(std::vector{at})); }
  const Stmt* store(const Buffer* to, const Expr* at, const Expr* v) { return b.store(to, v, b.list(std::vector{at})); }
  const Stmt* loop(const Var* v, const Expr* extent, const Stmt* body) {
    return b.add(For{{StmtKind::kFor}, v, b.int_imm(extent->dtype, 0), extent, nullptr, ForKind::kSerial, {}, nullptr, body});
  }
};

Value text_value(std::string_view s) {
  Value v;
  v.kind = Value::Kind::kString, v.string = s;
  return v;
}

void expect_round_trip(const Module& m) {
  std::string text = print(m);
  auto back = parse(text, "m.py");
  ASSERT_TRUE(back.ok()) << back.error().to_string() << "\n" << text;
  std::string why;
  EXPECT_TRUE(equal(m, **back, &why)) << why << "\n" << text;
  EXPECT_EQ(print(**back), text) << "printing is stable";
}

TEST(ScriptRoundTrip, VariableWithTwoDefinitions) {
  Made m;
  const Var *a = m.pointer("a", kInt32), *i = m.b.var("i", kInt32);
  const Buffer* A = m.buffer("A", a, {m.i32(8)}, kInt32);
  m.function(
      "f", {a},
      {m.b.add(DeclBuffer{{StmtKind::kDeclBuffer}, A}), m.loop(i, m.i32(4), m.store(A, i, i)), m.loop(i, m.i32(8), m.store(A, i, i))});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, VariableUsedOutsideItsScope) {
  Made m;
  const Var *a = m.pointer("a", kInt32), *i = m.b.var("i", kInt32), *j = m.b.var("i", kInt32);
  const Buffer* A = m.buffer("A", a, {m.i32(8)}, kInt32);
  m.function("f", {a}, {m.store(A, i, j), m.loop(i, m.i32(4), m.loop(j, m.i32(2), m.store(A, i, j))), m.store(A, j, i)});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, NamesSharedByFunctions) {
  Made m;
  const Var *a = m.pointer("A"), *n = m.b.var("n", kInt32);
  const Buffer* A = m.buffer("A", a, {n});
  for (const char* name : {"first", "second"}) m.function(name, {a, n}, {m.store(A, n, m.f32(1)), m.b.evaluate(n)});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, NamesThatClashOrAreNoIdentifiers) {
  Made m;
  std::vector<const Var*> params;
  std::vector<const Stmt*> body;
  for (const char* name : {"x", "x", "x_1", "", "1st", "for", "T", "a.b", "a b", "\xc3\xa9", "x\ny", "range", "Module", "None", "data"}) {
    params.push_back(m.b.var(name, kInt32));
    body.push_back(m.b.evaluate(params.back()));
  }
  m.function("f(x):\n  evil", params, body);
  m.function("f", {}, {});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, ConstantsOfEveryKind) {
  Made m;
  std::vector<const Stmt*> body;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (double d : {0.0, -0.0, 1.0, 0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 4.9406564584124654e-324, kInf, -kInf, std::nan("")}) {
    for (DataType t : {kFloat16, kBFloat16, kFloat32, kFloat64, DataType{TypeCode::kFloat8E5M2, 8, 1}, kFloat32.with_lanes(2), kInt32})
      body.push_back(m.b.evaluate(m.b.float_imm(t, d)));
  }
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{300}, int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    for (DataType t :
         {kInt8, kUInt8, kInt32, kInt64, kUInt64, kBool, kHandle, kFloat32, kInt32.with_lanes(4), DataType{TypeCode::kInt, 4, 1}})
      body.push_back(m.b.evaluate(m.b.int_imm(t, v)));
  }
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  body.push_back(m.b.evaluate(m.b.string_imm(all)));
  m.function("f", {}, body);
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, AttributesOfEveryKind) {
  Made m;
  const Var *a = m.pointer("a"), *smem = m.pointer("smem", kUInt8, "shared.dyn");
  const Buffer* A = m.buffer("A", a, {m.i32(4)});
  std::vector<Value> items(14);
  items[1].kind = Value::Kind::kBool, items[1].boolean = true;
  items[2].kind = Value::Kind::kInt, items[2].integer = INT64_MIN;
  items[3].kind = Value::Kind::kFloat, items[3].floating = -0.0;
  items[4].kind = Value::Kind::kFloat, items[4].floating = -std::numeric_limits<double>::infinity();
  items[5] = text_value("\"\n");
  items[6].kind = Value::Kind::kArray;
  items[7].kind = Value::Kind::kMap;
  items[8].kind = Value::Kind::kExpr, items[8].expr = m.i32(5);
  items[9].kind = Value::Kind::kExpr, items[9].expr = m.b.int_imm(kBool, 1);
  items[10].kind = Value::Kind::kExpr, items[10].expr = m.b.string_imm("s");
  items[11].kind = Value::Kind::kExpr, items[11].expr = m.b.int_imm(kInt64, 5);
  items[12].kind = Value::Kind::kExpr, items[12].expr = smem;
  items[13].kind = Value::Kind::kBuffer, items[13].buffer = A;
  Value list, map, target;
  list.kind = Value::Kind::kArray, list.array = m.b.list(items);
  map.kind = Value::Kind::kMap, map.map = m.b.list(std::vector<KeyValue>{{items[12], items[2]}, {items[13], items[1]}});
  target.kind = Value::Kind::kTarget;
  target.map = m.b.list(std::vector<KeyValue>{{text_value("kind"), text_value("cuda")}, {text_value("host"), text_value("c")}});
  const Stmt* alloc =
      m.b.add(AllocBuffer{{StmtKind::kAllocBuffer}, m.buffer("smem", smem, {m.i32(64)}, kUInt8), m.attrs({{text_value("list"), list}})});
  const Stmt* attr = m.b.add(Attr{{StmtKind::kAttr}, map, "key", m.f32(1), m.b.evaluate(m.i32(1))});
  m.function("f", {a}, {m.b.add(DeclBuffer{{StmtKind::kDeclBuffer}, A}), alloc, attr},
             {{text_value("all"), list}, {text_value("tl.smem_alignment_map"), map}, {text_value("target"), target}});
  m.module->attrs = m.attrs({{text_value("list"), items[6]}, {text_value("map"), items[7]}});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, TwoAllocationsOfOnePointer) {
  Made m;
  const Var* s = m.pointer("s", kFloat32, "shared");
  const Buffer *A = m.buffer("A", s, {m.i32(8)}), *B = m.buffer("B", s, {m.i32(4)});
  auto alloc = [&](const Buffer* b) { return m.b.add(AllocBuffer{{StmtKind::kAllocBuffer}, b, nullptr}); };
  m.function("f", {}, {alloc(A), alloc(B), alloc(A), m.store(A, m.i32(0), m.load(B, m.i32(1)))});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, UndeclaredBuffersOverOneAnother) {
  Made m;
  const Var *a = m.pointer("a"), *p = m.pointer("p", kInt32), *x = m.b.var("x", kInt32);
  const Buffer* index = m.buffer("index", p, {m.i32(8)}, kInt32);
  const Buffer* inner = m.buffer("inner", a, {m.load(index, x)});
  const Expr* let = m.b.add(Let{{ExprKind::kLet, kFloat32}, x, m.load(index, m.i32(2)), m.load(inner, x)});
  const Expr* slice = m.b.load(
      kFloat32.with_lanes(2), inner,
      m.b.list(std::vector{m.b.ramp(m.b.add(Let{{ExprKind::kLet, kInt32}, m.b.var("y", kInt32), m.i32(1), m.i32(3)}), m.i32(1), 2)}));
  m.function("f", {a, p}, {m.store(inner, m.i32(0), let), m.b.evaluate(slice), m.b.evaluate(m.b.binary(ExprKind::kAdd, let, let))});
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, CallsThatNothingImplies) {
  Made m;
  const PointerType* pointer = m.b.pointer(kFloat16, "shared");
  std::vector<const Stmt*> body;
  auto call = [&](DataType t, Op op, std::string_view name, std::vector<const Expr*> args, const PointerType* p = nullptr) {
    body.push_back(m.b.evaluate(m.b.add(Call{{ExprKind::kCall, t}, op, m.b.string(name), m.b.list(args), p, nullptr})));
  };
  call(kHandle, Op::kUnknown, "x.\"new\" op\n", {m.i32(1)}, pointer);
  call(kVoid, Op::kFunction, "not here", {});
  call(kFloat32, Op::tirx_exp, "tirx.exp", {});
  call(kFloat16, Op::tirx_exp, "tirx.exp", {m.f32(1)});
  call(kHandle, Op::tirx_call_extern, "tirx.call_extern", {}, pointer);
  call(kHandle, Op::tirx_call_extern, "tirx.call_extern", {m.b.string_imm("int32"), m.b.string_imm("float32")});
  call(kVoid, Op::tirx_tvm_struct_get, "tirx.tvm_struct_get", {});
  call(kHandle, Op::tirx_tvm_struct_get, "tirx.tvm_struct_get", {m.b.string_imm("int32")}, pointer);
  call(kInt32, Op::tirx_bitwise_and, "tirx.bitwise_and", {m.i32(1), m.i32(2)});
  call(kVoid, Op::tirx_ret, "tirx.ret", {m.i32(1)});
  call(kHandle, Op::tirx_break_loop, "tirx.break_loop", {});
  m.function("f", {}, body);
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, ExpressionsOfOddDtypes) {
  Made m;
  const Var *a = m.pointer("a"), *x = m.b.var("x", kInt32);
  const Buffer *A = m.buffer("A", a, {m.i32(8)}), *V = m.buffer("V", a, {m.i32(2)}, kFloat32.with_lanes(4));
  const Expr *wide = m.b.int_imm(kInt64, 1), *pair = m.b.ramp(m.i32(0), m.i32(1), 2);
  std::vector<const Expr*> all = {
      m.b.add(Binary{{ExprKind::kAdd, kFloat32}, m.i32(1), wide}),
      m.b.add(Binary{{ExprKind::kLT, kInt32}, m.i32(1), m.i32(2)}),
      m.b.add(Binary{{ExprKind::kFloorMod, kInt64}, m.i32(1), m.i32(2)}),
      m.b.add(Binary{{ExprKind::kShiftLeft, kInt32}, m.i32(1), wide}),
      m.b.add(Unary{{ExprKind::kNot, kInt32}, m.i32(1)}),
      m.b.add(Unary{{ExprKind::kBitNot, kInt64}, m.i32(1)}),
      m.b.add(Select{{ExprKind::kSelect, kInt64}, m.i32(1), m.i32(2), m.i32(3)}),
      m.b.add(Ramp{{ExprKind::kRamp, kInt64.with_lanes(3)}, m.i32(0), wide}),
      m.b.add(Broadcast{{ExprKind::kBroadcast, kInt64.with_lanes(4)}, pair}),
      m.b.add(Broadcast{{ExprKind::kBroadcast, kInt32.with_lanes(4)}, pair}),
      m.b.add(Shuffle{{ExprKind::kShuffle, kInt64}, m.b.list(std::vector{pair}), m.b.list(std::vector{m.i32(1)})}),
      m.b.add(Let{{ExprKind::kLet, kInt64}, x, wide, x}),
      m.b.load(kFloat32.with_lanes(4), A, m.b.list(std::vector{m.i32(0)})),
      m.b.load(kFloat32.with_lanes(8), V, m.b.list(std::vector{pair})),
      m.b.load(kFloat32, V, {}),
      m.b.cast(kHandle, m.b.unary(ExprKind::kNot, m.b.binary(ExprKind::kEQ, m.i32(1), m.b.binary(ExprKind::kAnd, m.i32(1), m.i32(0))))),
  };
  std::vector<const Stmt*> body;
  for (const Expr* e : all) body.push_back(m.b.evaluate(e));
  body.push_back(m.store(A, m.i32(0), wide));
  m.function("f", {a}, body);
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, LoopsOfOddBounds) {
  Made m;
  std::vector<const Stmt*> body;
  const Expr* bounds[][2] = {{m.i32(INT32_MAX), m.i32(1)},
                             {m.b.int_imm(kInt64, 0), m.i32(4)},
                             {m.i32(-3), m.i32(2)},
                             {m.b.int_imm(kInt64, INT64_MAX), m.b.int_imm(kInt64, 1)}};
  for (auto& [min, extent] : bounds) {
    const Var* i = m.b.var("i", kInt64);
    body.push_back(m.b.add(For{{StmtKind::kFor}, i, min, extent, m.i32(2), ForKind::kUnrolled, {}, nullptr, m.b.evaluate(i)}));
  }
  const Var* t = m.b.var("t", kInt64);
  body.push_back(m.b.add(ThreadExtent{{StmtKind::kThreadExtent}, t, "threadIdx.x", m.i32(4), m.b.evaluate(t)}));
  body.push_back(m.b.evaluate(m.i32(0)));
  m.function("f", {}, body);
  expect_round_trip(*m.module);
}

TEST(ScriptRoundTrip, DeepNesting) {
  Made m;
  const Var* x = m.b.var("x", kInt32);
  const Expr *left = x, *right = x;
  for (int i = 0; i < kMaxDepth - 50; ++i) {
    left = m.b.binary(ExprKind::kSub, left, x);
    right = m.b.binary(ExprKind::kSub, x, right);
  }
  const Stmt* s = m.b.evaluate(x);
  for (int i = 0; i < kMaxDepth - 50; ++i) s = m.b.add(While{{StmtKind::kWhile}, x, s});
  m.function("f", {x}, {m.b.evaluate(left), m.b.evaluate(right), s});
  expect_round_trip(*m.module);
}

// ---- real modules -------------------------------------------------------------------------------------------------------

TEST(ScriptRoundTrip, ModulesOfTheCorpus) {
  namespace fs = std::filesystem;
  fs::path corpus = fs::path(KILN_SOURCE_DIR) / "tests/corpus";
  size_t modules = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with("device.json") && !name.starts_with("host.json")) continue;
    auto m = load_module(entry.path().string());
    ASSERT_TRUE(m.ok()) << m.error().to_string();
    SCOPED_TRACE(entry.path().string());
    expect_round_trip(**m);
    ++modules;
    if (HasFailure()) return;
  }
  EXPECT_GT(modules, 0u);
}

}  // namespace
}  // namespace kiln::ir
