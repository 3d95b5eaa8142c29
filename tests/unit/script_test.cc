// The text form: each construct, written by hand, reads and prints back byte for byte; what the compilers print reads as what it means.
#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace kiln::ir {
namespace {

std::string indented(std::string_view lines, int spaces) {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    size_t end = std::min(lines.find('\n', at), lines.size());
    out.append(static_cast<size_t>(spaces), ' ').append(lines.substr(at, end - at)).append("\n");
    at = end + 1;
  }
  return out;
}

constexpr std::string_view kHead =
    "# from tvm.script import ir as I\n"
    "# from tvm.script import tirx as T\n"
    "\n"
    "@I.ir_module\n"
    "class Module:\n";

std::string module_of(std::string_view functions) { return std::string(kHead) + indented(functions, 4); }

// A kernel with buffers A (float32), B (int32), H (float16) and a number n around `body`.
std::string kernel_of(std::string_view body) {
  return module_of(
      "@T.prim_func\n"
      "def f(a: T.handle(\"float32\", \"global\"), b: T.handle(\"int32\", \"global\"), h: T.handle(\"float16\", \"global\"), n: "
      "T.int32):\n" +
      indented("A = T.decl_buffer((64,), \"float32\", data=a)\n"
               "B = T.decl_buffer((64,), \"int32\", data=b)\n"
               "H = T.decl_buffer((64,), \"float16\", data=h)\n" +
                   std::string(body),
               4));
}

ModulePtr read(const std::string& text) {
  auto m = parse(text, "k.py");
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().to_string()) << "\n" << text;
  return m.ok() ? *m : std::make_shared<Module>();
}

const Stmt* body_of(const ModulePtr& m, size_t function = 0) { return m->functions.at(function)->body; }

struct Construct {
  const char* name;
  const char* body;
};
class ScriptConstruct : public testing::TestWithParam<Construct> {};

TEST_P(ScriptConstruct, PrintsAsItWasWritten) {
  std::string text = kernel_of(GetParam().body);
  EXPECT_EQ(print(*read(text)), text);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ScriptConstruct,
    testing::Values(
        Construct{"Store", "A[0] = T.float32(1.0)"}, Construct{"StoreOfNoDimension", "A[()] = T.float32(1.0)"},
        Construct{"StoreOfTwoDimensions", "A[n, n + 1] = T.float32(1.0)"},
        Construct{"VectorStore", "A[n * 4:n * 4 + 4] = T.Broadcast(T.float32(0.0), 4)"},
        Construct{"VectorStoreAtConstant", "A[4:8] = A[8:12]"},
        Construct{"VectorStoreOfLooseBase", "A[(n >> 1) + 0:(n >> 1) + 0 + 2] = A[n:n + 2]"},
        Construct{"StridedLoad", "A[n:n + 4] = A[n:n + 8:2]"},
        Construct{"PredicatedStore", "T.BufferStore(A, T.float32(1.0), [n], predicate=n < 4)"},
        Construct{"PredicatedLoad", "A[0] = T.BufferLoad(A, [n], predicate=n < 4)"}, Construct{"Bind", "x: T.int32 = n + 1\nB[x] = x"},
        Construct{"BindOfVector", "x: T.float32x4 = A[0:4]\nA[4:8] = x"},
        Construct{"BindOfPointer", "p: T.handle(\"float16\", \"shared\") = T.handle_add_byte_offset(h, 16)"},
        Construct{"If", "if n < 4:\n    B[0] = 1"}, Construct{"IfElse", "if n < 4:\n    B[0] = 1\nelse:\n    B[0] = 2"},
        Construct{"IfWithEmptyBranch", "if n < 4:\n    pass\nelse:\n    B[0] = 2"},
        Construct{"While", "while B[0] < 8:\n    B[0] = B[0] + 1\n    break"}, Construct{"Loop", "for i in range(8):\n    B[i] = i"},
        Construct{"LoopOfMinimum", "for i in range(2, 7):\n    B[i] = i"},
        Construct{"LoopOfVariableMinimum", "for i in T.serial(n, extent=n * 2):\n    B[i] = i"},
        Construct{"LoopOfStep", "for i in T.serial(8, step=2):\n    B[i] = i"},
        Construct{"LoopOfInt64", "for i in range(T.int64(8)):\n    A[i] = T.float32(0.0)"},
        Construct{"Unroll", "for i in T.unroll(4, annotations={\"pragma_unroll_factor\": 2}):\n    B[i] = i"},
        Construct{"Parallel", "for i in T.parallel(4):\n    B[i] = i"}, Construct{"Vectorized", "for i in T.vectorized(4):\n    continue"},
        Construct{"ThreadBinding", "for i in T.thread_binding(4, thread=\"threadIdx.x\"):\n    B[i] = i"},
        Construct{"Launch", "bx = T.launch_thread(\"blockIdx.x\", 8)\ntx = T.launch_thread(\"threadIdx.x\", 32)\nB[bx] = tx"},
        Construct{"LaunchInBlock", "with T.launch_thread(\"blockIdx.x\", 8) as bx:\n    B[bx] = 1\nB[0] = 2"},
        Construct{"VirtualThread", "with T.launch_thread(\"vthread.x\", 2) as vx:\n    B[vx] = 1\nB[0] = 2"},
        Construct{"Attr", "T.attr(0, \"lexical_alloc_scope\", 1)\nB[0] = 1"},
        Construct{"AttrInBlock", "with T.attr([128, 128], \"kWarpSpecializationScope\", 0):\n    B[0] = 1\nB[0] = 2"},
        Construct{"AttrOfBuffer", "T.attr(A, \"storage_alignment\", 64)\nB[0] = 1"},
        Construct{"AttrOfNothing", "T.attr(None, \"swizzle\", T.tvm_tuple(\"row\", 4))\nB[0] = 1"},
        Construct{"AttrOfMap", "T.attr({\"x\": 1}, \"key\", 0)\nB[0] = 1"},
        Construct{"Assert", "assert n == 4, (\"ValueError\", [\"expected \", \"4\"])"}, Construct{"Return", "return"},
        Construct{"ReturnOfValue", "return n + 1"}, Construct{"EvaluateOfConstant", "T.evaluate(0)"},
        Construct{"EvaluateOfReturnCall", "T.evaluate(T.call_intrin(\"int32\", \"tirx.ret\", 0))"},
        Construct{"Alloc", "s = T.alloc_buffer((32,), \"float16\", scope=\"shared.dyn\")\ns[0] = T.float16(0.0)"},
        Construct{"AllocWithAnnotations",
                  "s = T.alloc_buffer((1,), \"int32\", scope=\"shared\", annotations={\"tirx.volatile\": True})\ns[0] = 1"},
        Construct{"AllocWithLayout",
                  "s = T.alloc_buffer((4, n), \"float32\", strides=(n * 2, 1), elem_offset=n, align=16, offset_factor=4)"},
        Construct{"AllocOfOtherPointer", "s = T.alloc_buffer((4,), \"bool\", scope=\"local\", type=T.handle(\"int8\", \"local\"))"},
        Construct{"DataOfAlloc",
                  "s = T.alloc_buffer((4,), \"float32\", scope=\"local\")\nv = T.decl_buffer((2, 2), \"float32\", data=s.data)\nv[0, 0] = "
                  "T.float32(1.0)"},
        Construct{"UndeclaredBuffer", "b_1 = T.Buffer((n + 1,), \"int32\", data=b)\nb_1[0] = 1"},
        Construct{"FreeVariable", "stray = T.int32()\nB[0] = stray"},
        Construct{"FreePointer", "p = T.handle(\"float32\", \"shared\")\nT.evaluate(p)"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Expressions, ScriptConstruct,
    testing::Values(
        Construct{"Precedence", "B[0] = (n + 1) * 2 - (n - (1 - n))"}, Construct{"Shifts", "B[0] = (n << 2) + (n >> 1) & 7 ^ n | ~n"},
        Construct{"Logic", "B[0] = T.Select(n < 4 and not n == 2 or (n > 5 or n != 6) and n >= 7, 1, 0)"},
        Construct{"ComparisonOfComparison", "B[0] = T.Select((n < 4) == (n < 5), 1, 0)"},
        Construct{"TruncatingDivision", "B[0] = T.Div(n, 3) + T.truncmod(n, 3)"}, Construct{"FlooringDivision", "B[0] = n // 3 + n % 3"},
        Construct{"RealDivision", "A[0] = A[1] / A[2] / (A[3] / A[4])"}, Construct{"MinMax", "B[0] = T.min(n, T.max(1, 2))"},
        Construct{"TruthOfLanes", "A[0:4] = T.Cast(\"float32x4\", T.isnan(A[0:4]))"},
        Construct{"NegativeConstants", "B[0] = n * -1 - -2147483648"},
        Construct{"Int64", "x: T.int64 = T.int64(-9223372036854775808) + T.int64(9223372036854775807)"},
        Construct{"UInt64", "x: T.uint64 = T.uint64(18446744073709551615)"},
        Construct{"SmallIntegers", "x: T.int8 = T.int8(-128)\ny: T.uint16 = T.uint16(65535)\nz: T.bool = T.bool(True)"},
        Construct{"OddIntegers", "x: T.handle = T.IntImm(\"handle\", 0)"},
        Construct{"Float32", "A[0] = T.float32(1.5) + T.float32(0.1) + T.float32(1e-45) + T.float32(-0.0) + T.float32(1e+30)"},
        Construct{"NonFinite", "A[0] = T.float32(\"inf\") + T.float32(\"-inf\") + T.float32(\"nan\")"},
        Construct{"Float64", "x: T.float64 = T.float64(5e-324) + T.float64(1.7976931348623157e+308)"},
        Construct{"SmallFloats", "x: T.bfloat16 = T.bfloat16(1.0)\ny: T.float8_e4m3fn = T.float8_e4m3fn(448.0)"},
        Construct{"Casts", "A[0:4] = T.Cast(\"float32x4\", H[0:4])"}, Construct{"RampValue", "B[0:4] = T.Ramp(n, 2, 4)"},
        Construct{"Shuffle", "A[0] = T.Shuffle([A[0:2], A[2:4]], [3])"}, Construct{"Let", "B[0] = T.Let(x + x, where={x: n * 2})"},
        Construct{"NestedLets", "B[0] = T.Let(T.Let(x + y, where={y: x * 3}), where={x: n * 2})"},
        Construct{"Gather", "A[0:4] = A[T.Ramp(n, 2, 4) + T.Broadcast(1, 4)]"},
        Construct{"IfThenElse", "A[0] = T.if_then_else(n < 4, A[n], T.float32(0.0))"},
        Construct{"AddressOf", "T.call_extern(\"void\", \"f\", T.address_of(A[n]))"},
        Construct{"DtypeBeforeArguments", "A[0] = T.call_extern(\"float32\", \"expf\", A[0])"},
        Construct{"PointerResult", "p: T.handle(\"float32\", \"global\") = T.reinterpret(T.handle(\"float32\", \"global\"), a)"},
        Construct{"DtypeAfterArguments", "B[0] = T.tvm_struct_get(a, 0, 5, \"int32\")"},
        Construct{"OperatorOfAnotherDtype", "B[0] = T.call_intrin(\"int32\", \"tirx.exp\", A[0])"},
        Construct{"UnknownOperator", "T.call_intrin(\"void\", \"tl.of_tomorrow<1>\", n, \"x\")"},
        Construct{"OperatorOfBothCompilers", "A[0] = T.call_intrin(\"float32\", \"tl.fma\", A[0], A[1], A[2])"},
        Construct{"Annotations", "T.tvm_storage_sync(\"shared\", annotations={\"a\": [1, 2.5, None, True, \"s\"], \"n\": n})"},
        Construct{"StringOfAnyBytes", "T.call_extern(\"void\", \"f\", \"a\\\"b\\\\c\\n\\t\\r\\x00\\x7f\")"},
        Construct{"BinaryOfMixedDtypes", "x: T.float32 = T.Add(A[0], n)"},
        Construct{"BinaryOfOtherDtype", "x: T.int64 = T.Add(n, n, dtype=\"int64\")"}),
    [](const auto& info) { return info.param.name; });

TEST(Script, PrintsAnEmptyModule) {
  std::string text = std::string(kHead) + "    pass\n";
  EXPECT_EQ(print(*read(text)), text);
}

TEST(Script, PrintsFunctionsThatAreNotTheUsualKernel) {
  std::string text = module_of(
      "@T.prim_func(private=True)\n"
      "def helper(x: T.float32) -> T.float32:\n"
      "    return x * x\n"
      "\n"
      "@T.prim_func(name=\"a-b\")\n"
      "def f():\n"
      "    pass\n"
      "\n"
      "@T.prim_func\n"
      "def main(A: T.handle(\"float32\", \"global\")) -> T.int32:\n"
      "    T.func_attr({\"global_symbol\": \"main_entry\", \"target\": T.target({\"kind\": \"cuda\", \"arch\": \"sm_90a\"})})\n"
      "    B = T.decl_buffer((4,), \"float32\", data=A)\n"
      "    B[0] = Module.helper(B[0])\n"
      "    return T.call_function(\"int32\", \"elsewhere\", 1)\n");
  // Blank lines carry no indentation.
  for (size_t at; (at = text.find("\n    \n")) != text.npos;) text.erase(at + 1, 4);
  ModulePtr m = read(text);
  EXPECT_EQ(print(*m), text);
  ASSERT_EQ(m->functions.size(), 3u);
  EXPECT_EQ(m->functions[0]->symbol(), "");
  EXPECT_EQ(m->functions[1]->name, "a-b");
  EXPECT_EQ(m->functions[1]->symbol(), "a-b");
  EXPECT_EQ(m->functions[2]->symbol(), "main_entry");
}

TEST(Script, KeepsSpansOfTheText) {
  ModulePtr m = read(kernel_of("B[0] = 1\nB[1] = 2"));
  auto* seq = body_of(m)->as<Seq>();
  ASSERT_TRUE(seq);
  EXPECT_EQ(m->place(seq->stmts.back()->span), "k.py:12:9");
}

// ---- what the compilers print -------------------------------------------------------------------------------------------

TEST(Script, ReadsTileLang) {
  ModulePtr m = read(
      "# from tvm.script import ir as I\n"
      "# from tvm.script import tirx as T\n"
      "\n"
      "@I.ir_module\n"
      "class Module:\n"
      "    @T.prim_func\n"
      "    def k_kernel(A: T.handle(\"float32\", \"global\"), C: T.handle(\"float32\", \"global\")):\n"
      "        T.func_attr({\"target\": T.target({\"kind\": \"cuda\", \"tag\": \"\"}), \"tirx.is_global_func\": T.bool(True)})\n"
      "        C_1 = T.decl_buffer((64,), data=C)\n"
      "        A_1 = T.decl_buffer((64,), data=A)\n"
      "        tx = T.launch_thread(\"threadIdx.x\", 32)\n"
      "        1st = T.alloc_buffer((4,), scope=\"local\")\n"
      "        for i in T.unroll(2):\n"
      "            1st[i] = A_1[T.bitwise_and(tx, 7) + T.shift_right(tx, 3)]\n"
      "        for i in T.unroll(2):\n"
      "            C_1[tx * 2:tx * 2 + 2] = T.Broadcast(T.fma(1st[i], 1st[0], T.float32(\"-inf\")), 2)\n"
      "        for i, j in T.grid(2, 3):\n"
      "            T.call_extern(\"handle\", \"f\", i, T.Cast(\"int64\", j), 1st.data)\n");
  ASSERT_EQ(m->functions.size(), 1u);
  EXPECT_TRUE(verify(*m).empty());
  const Value* attrs = m->functions[0]->attrs;
  EXPECT_EQ(attrs->find("tirx.is_global_func")->kind, Value::Kind::kBool);
  EXPECT_EQ(attrs->find("target")->map.size(), 1u) << "an empty tag is none";
  auto* top = body_of(m)->as<Seq>();
  ASSERT_TRUE(top && top->stmts.size() == 3);
  auto* threads = top->stmts[2]->as<ThreadExtent>();
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads->tag, "threadIdx.x");
  auto* seq = threads->body->as<Seq>();
  ASSERT_TRUE(seq && seq->stmts.size() == 4);
  auto *first = seq->stmts[1]->as<For>(), *second = seq->stmts[2]->as<For>();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->var, second->var) << "two loops have two variables";
  EXPECT_EQ(first->for_kind, ForKind::kUnrolled);
  auto* index = first->body->as<Store>()->value->as<Load>()->indices[0]->as<Binary>();
  EXPECT_EQ(index->a->kind, ExprKind::kBitAnd);
  EXPECT_EQ(index->b->kind, ExprKind::kShiftRight);
  auto* broadcast = second->body->as<Store>()->value->as<Broadcast>();
  ASSERT_TRUE(broadcast);
  EXPECT_EQ(broadcast->value->as<Call>()->name, "tl.fma");
  EXPECT_EQ(seq->stmts[3]->as<For>()->body->as<For>()->extent->as<IntImm>()->value, 3);
}

TEST(Script, ReadsApacheTvm) {
  ModulePtr m = read(
      "# from tvm.tirx.layout import Axis\n"
      "@I.ir_module\n"
      "class Module:\n"
      "    @T.prim_func(s_tir=True)\n"
      "    def main(args: T.handle, C_ptr: T.handle(\"float32\", \"global\"), n: T.int32) -> T.int32:\n"
      "        assert n == 3, (\"TypeError\", [\"Expected \", metadata[\"ir.StringImm\"][0], \"3\"])\n"
      "        h: T.let[T.handle] = T.tvm_struct_get(args, 0, 15, T.handle().ty)\n"
      "        A = T.Buffer((64,))\n"
      "        with T.attr(A, \"storage_alignment\", 64):\n"
      "            A = T.decl_buffer((64,), data=T.reinterpret(T.handle(\"float32\", \"global\").ty, h))\n"
      "            C = T.decl_buffer((8, 8), data=C_ptr)\n"
      "            S = T.alloc_shared((16,), \"float16\")\n"
      "            A_1 = A.view(8, 8)\n"
      "            with T.attr({\"async_wait_queue_scope\": 0, \"async_wait_inflight_count\": 2}):\n"
      "                C[0, 0] = A_1[n & 7, n >> 3] + T.Cast(\"float32\", S[0])\n"
      "            if n < 0:\n"
      "                T.break_loop()\n"
      "            return 0\n"
      "\n"
      "# Metadata omitted. Use show_meta=True in script() method to show it.");
  ASSERT_EQ(m->functions.size(), 1u);
  auto* body = body_of(m)->as<Seq>();
  ASSERT_TRUE(body && body->stmts.size() == 3);
  EXPECT_EQ(body->stmts[0]->as<Assert>()->error_kind, "TypeError");
  EXPECT_EQ(body->stmts[0]->as<Assert>()->message_parts.size(), 3u);
  EXPECT_EQ(body->stmts[1]->as<Bind>()->value->dtype, kHandle);
  auto* attr = body->stmts[2]->as<Attr>();
  ASSERT_TRUE(attr && attr->node.kind == Value::Kind::kBuffer);
  auto* inner = attr->body->as<Seq>();
  ASSERT_TRUE(inner && inner->stmts.size() == 8);
  auto* pointer = inner->stmts[0]->as<Bind>();
  auto* declared = inner->stmts[1]->as<DeclBuffer>();
  ASSERT_TRUE(pointer && declared);
  EXPECT_EQ(declared->buffer->data, pointer->var) << "a pointer that is computed gets a variable";
  EXPECT_EQ(attr->node.buffer, declared->buffer) << "the attribute is about the buffer that is declared below it";
  EXPECT_EQ(inner->stmts[3]->as<AllocBuffer>()->buffer->scope(), "shared");
  auto* view = inner->stmts[4]->as<DeclBuffer>();
  EXPECT_EQ(view->buffer->data, pointer->var);
  EXPECT_EQ(view->buffer->shape.size(), 2u);
  auto* wait = inner->stmts[5]->as<Attr>();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->key, "async_wait_queue_scope");
  EXPECT_EQ(wait->body->as<Attr>()->key, "async_wait_inflight_count");
  EXPECT_EQ(inner->stmts[6]->as<If>()->then_case->kind, StmtKind::kBreak);
  EXPECT_EQ(inner->stmts[7]->as<Return>()->value->as<IntImm>()->value, 0);
}

TEST(Script, ReadsAFunctionWithoutAModule) {
  ModulePtr m = read("@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n");
  ASSERT_EQ(m->functions.size(), 1u);
  EXPECT_EQ(m->functions[0]->symbol(), "f");
}

TEST(Script, PrintsPartsForMessages) {
  ModulePtr m = read(kernel_of("if n < 4:\n    A[n + 1] = A[n] * T.float32(2.0)"));
  auto* s = body_of(m)->as<Seq>()->stmts.back();
  EXPECT_EQ(print(s), "if n < 4:\n    A[n + 1] = A[n] * T.float32(2.0)");
  EXPECT_EQ(print(s->as<If>()->condition), "n < 4");
}

}  // namespace
}  // namespace kiln::ir
