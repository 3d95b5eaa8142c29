#include "ir/verify.h"

#include <gmock/gmock.h>

#include "import/import.h"
#include "ir/builder.h"

namespace kiln::ir {
namespace {

// One module under construction, and its faults as text.
struct Program {
  std::shared_ptr<Module> m = std::make_shared<Module>();
  Builder b{m->arena};
  const Var* i = b.var("i", kInt32);
  const IntImm *zero = b.int_imm(kInt32, 0), *four = b.int_imm(kInt32, 4);
  const Expr* yes = b.int_imm(kBool, 1);

  const Buffer* buffer(DataType t, const char* name = "A") {
    const Var* data = b.var(name, kHandle, b.pointer(t, "local"));
    return b.add(Buffer{.name = b.string(name),
                        .data = data,
                        .dtype = t,
                        .shape = b.list(std::vector<const Expr*>{four}),
                        .strides = {},
                        .elem_offset = nullptr});
  }
  const Stmt* alloc(const Buffer* a) { return b.add(AllocBuffer{{StmtKind::kAllocBuffer}, a, nullptr}); }
  List<const Expr*> at(const Expr* e) { return b.list(std::vector<const Expr*>{e}); }
  const Stmt* loop(const Var* v, const Stmt* body, const Expr* min = nullptr) {
    return b.add(For{{StmtKind::kFor}, v, min ? min : zero, four, nullptr, ForKind::kSerial, {}, nullptr, body});
  }
  void function(const Stmt* body, const std::vector<const Var*>& params = {}, const char* name = "k", const char* symbol = nullptr) {
    Value attrs;
    attrs.kind = Value::Kind::kMap;
    if (symbol) {
      Value key, value;
      key.kind = value.kind = Value::Kind::kString, key.string = "global_symbol", value.string = b.string(symbol);
      attrs.map = b.list(std::vector<KeyValue>{{key, value}});
    }
    m->functions.push_back(b.add(Function{b.string(name), b.list(params), kVoid, b.add(attrs), body}));
  }
  std::vector<std::string> faults(size_t limit = 100) {
    std::vector<std::string> out;
    for (const Error& e : verify(*m, limit)) {
      EXPECT_EQ(e.code, Code::kInvalidIr);
      out.push_back(e.to_string());
    }
    return out;
  }
};

// The one fault of a function "k" with this body, less its place.
std::string fault_of(Program& p, const Stmt* body, const std::vector<const Var*>& params = {}) {
  p.function(body, params);
  auto all = p.faults();
  if (all.size() != 1) return std::to_string(all.size()) + " faults" + (all.empty() ? "" : ": " + all[0]);
  std::string prefix = "function 'k': ";
  EXPECT_THAT(all[0], ::testing::StartsWith(prefix));
  return all[0].substr(prefix.size());
}
std::string fault_of(Program& p, const Expr* e, const std::vector<const Var*>& params = {}) { return fault_of(p, p.b.evaluate(e), params); }

TEST(Verify, AFineFunctionHasNoFaults) {
  Program p;
  const Buffer* a = p.buffer(kInt32);
  p.function(p.b.seq({p.alloc(a), p.loop(p.i, p.b.store(a, p.i, p.at(p.i)))}), {}, "k", "k");
  EXPECT_THAT(p.faults(), ::testing::IsEmpty());
}

TEST(Verify, Scopes) {
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.i), "variable 'i' is not defined");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.seq({p.loop(p.i, p.b.evaluate(p.i)), p.b.evaluate(p.i)})), "variable 'i' is used outside its scope");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.loop(p.i, p.b.evaluate(p.zero), p.i)), "variable 'i' is not defined");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.bind(p.i, p.zero), {p.i}), "variable 'i' is already defined");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.evaluate(p.zero), {p.i, p.i}), "parameter 'i' is given twice");
  }
  {
    Program p;
    const Buffer* a = p.buffer(kInt32);
    EXPECT_EQ(fault_of(p, p.b.store(a, p.zero, p.at(p.zero))), "variable 'A' is not defined");
  }
  {
    Program p;
    Buffer a = *p.buffer(kInt32);
    a.shape = p.at(p.i);
    EXPECT_EQ(fault_of(p, p.alloc(p.b.add(a))), "variable 'i' is not defined");
  }
  {
    Program p;  // reported once for each variable
    EXPECT_EQ(fault_of(p, p.b.binary(ExprKind::kAdd, p.i, p.i)), "variable 'i' is not defined");
  }
}

TEST(Verify, ADefinitionInOneBranchIsNotSeenInTheOther) {
  Program p;
  const Stmt* branch = p.b.add(If{{StmtKind::kIf}, p.yes, p.b.bind(p.i, p.zero), p.b.evaluate(p.i)});
  EXPECT_EQ(fault_of(p, branch), "variable 'i' is used outside its scope");
}

TEST(Verify, ASharedExpressionIsCheckedInEachScope) {
  Program p;
  const Expr* sum = p.b.binary(ExprKind::kAdd, p.i, p.zero);
  EXPECT_EQ(fault_of(p, p.b.seq({p.loop(p.i, p.b.evaluate(sum)), p.b.evaluate(sum)})), "variable 'i' is used outside its scope");
}

TEST(Verify, DtypesOfExpressions) {
  struct Row {
    const char* fault;
    const Expr* (*make)(Program&);
  };
  static const IntImm i64{{ExprKind::kIntImm, kInt64}, 0};
  const Row rows[] = {
      {"operands differ in dtype: int32 and int64", [](Program& p) { return p.b.binary(ExprKind::kAdd, p.zero, &i64); }},
      {"result of an operator: expected int32, got int64",
       [](Program& p) -> const Expr* {
         return p.b.add(Binary{{ExprKind::kAdd, kInt64}, p.zero, p.zero});
       }},
      {"result of a comparison: expected bool, got int32",
       [](Program& p) -> const Expr* {
         return p.b.add(Binary{{ExprKind::kLT, kInt32}, p.zero, p.zero});
       }},
      {"operand of a logical operator: expected bool, got int32", [](Program& p) { return p.b.binary(ExprKind::kAnd, p.zero, p.zero); }},
      {"operand of not: expected bool, got int32",
       [](Program& p) -> const Expr* {
         return p.b.add(Unary{{ExprKind::kNot, kBool}, p.zero});
       }},
      {"cast from int32 to float32x4 changes the number of lanes", [](Program& p) { return p.b.cast(kFloat32.with_lanes(4), p.zero); }},
      {"condition of select: expected bool, got int32", [](Program& p) { return p.b.select(p.zero, p.zero, p.zero); }},
      {"values of select: expected int32, got int64", [](Program& p) { return p.b.select(p.yes, p.zero, &i64); }},
      {"stride of ramp: expected int32, got int64", [](Program& p) { return p.b.ramp(p.zero, &i64, 4); }},
      {"value of broadcast: expected float32, got int32",
       [](Program& p) -> const Expr* {
         return p.b.add(Broadcast{{ExprKind::kBroadcast, kFloat32.with_lanes(4)}, p.zero});
       }},
      {"integer constant of dtype float32", [](Program& p) -> const Expr* { return p.b.int_imm(kFloat32, 1); }},
      {"floating constant of dtype int32", [](Program& p) -> const Expr* { return p.b.float_imm(kInt32, 1); }},
      {"constant of vector dtype int32x4", [](Program& p) -> const Expr* { return p.b.int_imm(kInt32.with_lanes(4), 1); }},
      {"operator 'tirx.exp' takes 1 argument, got 2",
       [](Program& p) -> const Expr* {
         return p.b.call(kInt32, Op::tirx_exp, {p.zero, p.zero});
       }},
      {"operator 'tirx.call_extern' needs the name of a function as its first argument",
       [](Program& p) -> const Expr* { return p.b.call(kInt32, Op::tirx_call_extern, {p.zero}); }},
      {"condition of if_then_else: expected bool, got int32",
       [](Program& p) -> const Expr* {
         return p.b.call(kInt32, Op::tirx_if_then_else, {p.zero, p.zero, p.zero});
       }},
      {"a call without a name", [](Program& p) -> const Expr* { return p.b.call(kInt32, Op::kUnknown, {}); }},
  };
  for (const Row& r : rows) {
    Program p;
    EXPECT_EQ(fault_of(p, r.make(p)), r.fault);
  }
}

TEST(Verify, Accesses) {
  auto fault = [](auto&& make) {
    Program p;
    const Buffer* a = p.buffer(kInt32);
    return fault_of(p, p.b.seq({p.alloc(a), make(p, a)}));
  };
  EXPECT_EQ(fault([](Program& p, const Buffer* a) { return p.b.store(a, p.zero, {}); }), "store to buffer 'A': 0 indices for 1 dimension");
  EXPECT_EQ(fault([](Program& p, const Buffer* a) { return p.b.store(a, p.b.float_imm(kFloat32, 1), p.at(p.zero)); }),
            "store to buffer 'A': expected int32, got float32");
  EXPECT_EQ(fault([](Program& p, const Buffer* a) { return p.b.store(a, p.zero, p.at(p.b.ramp(p.zero, p.four, 4))); }),
            "store to buffer 'A': expected int32x4, got int32");
  EXPECT_EQ(fault([](Program& p, const Buffer* a) { return p.b.store(a, p.zero, p.at(p.b.float_imm(kFloat32, 0))); }),
            "store to buffer 'A': expected an integer index, got float32");
  EXPECT_EQ(fault([](Program& p, const Buffer* a) { return p.b.evaluate(p.b.load(kFloat32, a, p.at(p.zero))); }),
            "load from buffer 'A': expected int32, got float32");
}

TEST(Verify, Statements) {
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.add(If{{StmtKind::kIf}, p.zero, p.b.seq({}), nullptr})), "condition of if: expected bool, got int32");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.add(Break{{StmtKind::kBreak}})), "break outside a loop");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.add(Continue{{StmtKind::kContinue}})), "continue outside a loop");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.loop(p.i, p.b.seq({}), p.b.int_imm(kInt64, 0))), "range of loop variable 'i': expected int32, got int64");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.bind(p.i, p.b.int_imm(kInt64, 0))), "value of variable 'i': expected int32, got int64");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.add(ThreadExtent{{StmtKind::kThreadExtent}, p.i, {}, p.four, p.b.seq({})})), "a thread axis without a name");
  }
  {
    Program p;
    const Var* v = p.b.var("v", kHandle);
    EXPECT_EQ(fault_of(p, p.b.add(ThreadExtent{{StmtKind::kThreadExtent}, v, "threadIdx.x", p.four, p.b.seq({})})),
              "thread variable 'v': expected an integer, got handle");
  }
  {
    Program p;
    EXPECT_EQ(fault_of(p, p.b.add(ThreadExtent{{StmtKind::kThreadExtent}, p.i, "threadIdx.x", p.four, p.b.seq({})}), {p.i}),
              "thread variable 'i' is already defined");
  }
}

TEST(Verify, KernelsAndFunctions) {
  Program p;
  p.function(p.b.seq({}), {}, "a", "main");
  p.function(p.b.seq({}), {}, "b", "main");
  p.function(p.b.seq({}), {}, "b");
  p.function(p.b.seq({}), {}, "");
  EXPECT_THAT(p.faults(), ::testing::ElementsAre("function 'b': kernel 'main' is defined twice",
                                                 "function 'b': function 'b' is defined twice", "function '': a function without a name"));
  EXPECT_EQ(p.faults(1).size(), 1u);
}

TEST(Verify, ReportedModules) {
  std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/corpus/cases/c/";
  auto faults = [&](const std::string& name) {
    auto m = load_module(folder + name + "/device.json.gz");
    return m ? verify(**m) : std::vector<Error>{m.error()};
  };
  auto loop = faults("bad_loop_var_escapes"), stray = faults("bad_free_variable");
  ASSERT_EQ(loop.size(), 1u);
  ASSERT_EQ(stray.size(), 1u);
  EXPECT_EQ(loop[0].message, "variable 'k' is used outside its scope");
  EXPECT_EQ(stray[0].message, "variable 'stray' is not defined");
}

}  // namespace
}  // namespace kiln::ir
