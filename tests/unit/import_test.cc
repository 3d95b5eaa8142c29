#include "import/import.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "ir/equal.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "saved_json.h"

namespace kiln {
namespace {

using ir::ExprKind;
using kiln::testing::apache_tvm;
using kiln::testing::container;
using kiln::testing::node;
using kiln::testing::tilelang;
namespace fs = std::filesystem;

ir::ModulePtr must(std::string_view text) {
  auto m = parse_module(text, "m.json");
  if (!m) ADD_FAILURE() << m.error().to_string();
  return m ? *m : std::make_shared<ir::Module>();
}
const ir::Stmt* body_of(const ir::ModulePtr& m) { return m->functions.at(0)->body; }
const ir::Expr* value_of(const ir::ModulePtr& m) {
  auto* e = body_of(m)->as<ir::Evaluate>();
  if (!e) ADD_FAILURE() << "the body is no Evaluate";
  return e ? e->value : nullptr;
}
std::string error_of(std::string_view text) {
  auto m = parse_module(text, "m.json");
  return m ? "(a module)" : m.error().to_string();
}
std::string evaluate(int value) { return node("tirx.Evaluate", "{\"span\":0,\"value\":" + std::to_string(value) + "}"); }
std::string int_imm(const char* dtype, const char* value) {
  return node("ir.IntImm", std::string("{\"span\":0,\"dtype\":\"") + dtype + "\",\"value\":" + value + "}");
}
std::string float_imm(const char* value) {
  return node("ir.FloatImm", std::string("{\"span\":0,\"dtype\":\"float32\",\"value\":") + value + "}");
}
std::string tl_call(const char* dtype, int op, const char* args_node, const char* annotations = "5") {
  return node("tirx.Call", std::string("{\"span\":0,\"dtype\":\"") + dtype + "\",\"op\":" + std::to_string(op) + ",\"args\":" + args_node +
                               ",\"annotations\":" + annotations + "}");
}

// ---- one error each, exact text ---------------------------------------------------------------------------------------

struct Bad {
  const char* name;
  std::string text, error;
};

std::vector<Bad> bad_json() {
  std::string good = tilelang({evaluate(7)});
  auto top = [](const std::string& nodes, const std::string& root = "0") {
    return "{\"root_index\":" + root + ",\"nodes\":[" + nodes + "]}";
  };
  const std::string incomplete = " (is the file complete?)";
  return {
      {"empty", "", "m.json: expected a module, got an empty file (a module is JSON saved by TVM, or TVMScript text)"},
      {"white space", " \n\t", "m.json: expected a module, got an empty file (a module is JSON saved by TVM, or TVMScript text)"},
      {"cut", good.substr(0, 12), "m.json: byte 12: not valid JSON: missing a closing quotation mark in string" + incomplete},
      {"garbage behind", good + "x",
       "m.json: byte " + std::to_string(good.size()) + ": not valid JSON: the document root must not be followed by other values" +
           incomplete},
      {"zero byte behind", good + std::string(1, '\0') + "x",
       "m.json: byte " + std::to_string(good.size()) + ": not valid JSON: a zero byte"},
      {"no keys", "{}", "m.json: expected the keys root_index and nodes of a module saved by TVM"},
      {"no root", "{\"nodes\":[]}", "m.json: expected the keys root_index and nodes of a module saved by TVM"},
      {"other key", "{\"color\":1}", "m.json: unexpected key 'color' (expected root_index, nodes and metadata)"},
      {"key twice", "{\"root_index\":1,\"root_index\":1}", "m.json: key 'root_index' is given twice"},
      {"root is a list", "{\"root_index\":[]}", "m.json: did not expect a list here"},
      {"nodes is a number", "{\"nodes\":1}", "m.json: expected a list or an object"},
      {"node is a number", top("1"), "m.json: did not expect a plain value here"},
      {"node is a list", top("[]"), "m.json: did not expect a list here"},
      {"node without type", top("{}"), "m.json: a node without a type"},
      {"node without data", top("{\"type\":\"tirx.For\"}"), "m.json: node 0 (tirx.For): a node without data"},
      {"data first", top("{\"data\":1,\"type\":\"int\"}"), "m.json: unexpected key 'data' in a node (expected type, then data)"},
      {"data twice", top("{\"type\":\"int\",\"data\":1,\"data\":2}"),
       "m.json: node 0 (int): unexpected key 'data' in a node (expected type, then data)"},
      {"list of lists", top("{\"type\":\"ffi.Array\",\"data\":[[]]}"), "m.json: node 0 (ffi.Array): did not expect a list here"},
      {"number too big", top("{\"type\":\"float\",\"data\":1e400}"),
       "m.json: byte 48: not valid JSON: number too big to be stored in double" + incomplete},
      {"root out of range", top("{\"type\":\"None\"}", "7"), "m.json: node 0 (None): root_index does not name a node"},
      {"root negative", top("{\"type\":\"None\"}", "-1"), "m.json: node 0 (None): root_index does not name a node"},
      {"root no module", top("{\"type\":\"None\"}"), "m.json: node 0 (None): expected an ir.IRModule as root"},
      {"other version", container({"{\"type\":\"None\"}"}, 0, "0.31.0"),
       "m.json: the module was saved by TVM 0.31.0, whose schema is not known (expected TileLang 0.1.15 (TVM 0.25) or Apache TVM 0.27)"},
  };
}

std::vector<Bad> bad_nodes() {
  auto in = [](std::vector<std::string> body) { return tilelang(body); };
  std::vector<std::string> deep, bomb = {int_imm("int32", "1")};
  for (int i = 0; i < 2001; ++i) deep.push_back(node("tirx.Not", "{\"span\":0,\"dtype\":\"bool\",\"a\":" + std::to_string(7 + i) + "}"));
  deep.push_back(evaluate(2008));
  for (int i = 0; i < 30; ++i) {
    std::string last = std::to_string(8 + i);
    bomb.push_back(node("tirx.Add", "{\"span\":0,\"dtype\":\"int32\",\"a\":" + last + ",\"b\":" + last + "}"));
  }
  bomb.push_back(evaluate(38));
  std::vector<std::string> nested = {node("ffi.Array", "[]")};
  for (int i = 0; i < 64; ++i) nested.push_back(node("ffi.Array", "[" + std::to_string(8 + i) + "]"));
  nested.push_back(evaluate(7));
  return {
      {"forward reference", in({evaluate(9), evaluate(7)}),
       "m.json: node 8 (tirx.Evaluate): field 'value' must be the index of an earlier node"},
      {"reference to itself", in({evaluate(8)}), "m.json: node 8 (tirx.Evaluate): field 'value' must be the index of an earlier node"},
      {"negative reference", in({evaluate(-1)}), "m.json: node 8 (tirx.Evaluate): field 'value' must be the index of an earlier node"},
      {"reference is text", in({node("tirx.Evaluate", R"({"span":0,"value":"x"})")}),
       "m.json: node 8 (tirx.Evaluate): field 'value' must be the index of an earlier node"},
      {"element is text", in({node("ffi.Array", "[\"x\"]"), evaluate(7)}),
       "m.json: node 8 (ffi.Array): element 0 must be the index of an earlier node"},
      {"unknown field", in({node("tirx.Evaluate", R"({"span":0,"colour":7})")}),
       "m.json: node 8 (tirx.Evaluate): field 'colour' is not known"},
      {"field twice", in({node("tirx.Evaluate", R"({"value":7,"value":7})")}),
       "m.json: node 8 (tirx.Evaluate): field 'value' is given twice"},
      {"field missing", in({node("tirx.Evaluate", R"({"span":0})")}), "m.json: node 8 (tirx.Evaluate): field 'value' is missing"},
      {"data no object", in({node("tirx.Evaluate", "7")}), "m.json: node 8 (tirx.Evaluate): expected an object as data"},
      {"map without value", in({node("ffi.Map", "[1]"), evaluate(7)}), "m.json: node 8 (ffi.Map): a map with a key that has no value"},
      {"unknown node type", in({node("tirx.Warp", R"({"span":0,"lanes":[1,{"a":2}]})")}),
       "m.json: node 10 (tirx.PrimFunc): expected a statement, got node 8 (tirx.Warp), whose type is not known (known are the types of "
       "TileLang 0.1.15 (TVM 0.25) and of Apache TVM 0.27)"},
      {"unknown expression", in({node("tirx.Reduce", "{}"), evaluate(8)}),
       "m.json: node 9 (tirx.Evaluate): expected an expression, got node 8 (tirx.Reduce), whose type is not known (known are the types of "
       "TileLang 0.1.15 (TVM 0.25) and of Apache TVM 0.27)"},
      {"statement as expression", in({evaluate(7), evaluate(8)}), "m.json: node 9 (tirx.Evaluate): expected an expression"},
      {"expression as statement", in({int_imm("int32", "1")}), "m.json: node 10 (tirx.PrimFunc): expected a statement"},
      {"integer too large", in({int_imm("int64", "99999999999999999999"), evaluate(8)}),
       "m.json: node 8 (ir.IntImm): expected an integer in field 'value'"},
      {"integer is text", in({int_imm("int64", "\"1\""), evaluate(8)}), "m.json: node 8 (ir.IntImm): expected an integer in field 'value'"},
      {"bad dtype", in({int_imm("int7x", "1"), evaluate(8)}),
       "m.json: node 8 (ir.IntImm): 'int7x' is not a dtype (expected one such as int32, float16x4, bfloat16)"},
      {"scalable vector", in({int_imm("int32xvscalex4", "1"), evaluate(8)}),
       "m.json: node 8 (ir.IntImm): scalable vector dtype 'int32xvscalex4' is not supported (lower with a fixed vector width)"},
      {"operator without name", in({node("ir.Op", "\"\""), tl_call("int32", 8, "3"), evaluate(9)}),
       "m.json: node 8 (ir.Op): an operator without a name"},
      {"call of a number", in({tl_call("int32", 7, "3"), evaluate(8)}),
       "m.json: node 8 (tirx.Call): expected an operator or a function in field 'op'"},
      {"loop variable is a number",
       in({evaluate(7),
           node("tirx.For",
                R"({"span":0,"loop_var":7,"min":7,"extent":7,"kind":0,"body":8,"thread_binding":0,"annotations":5,"step":0})")}),
       "m.json: node 9 (tirx.For): expected a variable"},
      {"kind of loop",
       in({node("tirx.Var", R"({"span":0,"dtype":"int32","name":1,"type_annotation":0})"), evaluate(7),
           node("tirx.For",
                R"({"span":0,"loop_var":8,"min":7,"extent":7,"kind":9,"body":9,"thread_binding":0,"annotations":5,"step":0})")}),
       "m.json: node 10 (tirx.For): the number 9 is out of range"},
      {"too deep", in(deep), "m.json: node 1007 (tirx.Not): nested more than 1000 levels deep"},
      {"lists too deep", in(nested), "m.json: node 72 (ffi.Array): nested more than 64 levels deep"},
      {"expands without end", in(bomb),
       "m.json: node 33 (tirx.Add): expands to more than 50000000 nodes (expressions are shared too often; bind them to variables)"},
      {"attribute's name is a number", in({node("ffi.Map", "[7,1]"), node("ir.DictAttrs", R"({"__dict__":8})"), evaluate(7)}),
       "m.json: node 9 (ir.DictAttrs): expected a string as an attribute's name"},
      {"number is text", in({node("float", "\"x\""), evaluate(7)}), "m.json: node 8 (float): expected a number as data"},
      {"integer of pointer type",
       in({node("ir.PrimType", R"({"span":0,"dtype":"int32"})"), node("ir.PointerType", R"({"span":0,"element_type":8,"storage_scope":1})"),
           node("tirx.Var", R"({"span":0,"dtype":"int32","name":1,"type_annotation":9})"), evaluate(7)}),
       "m.json: node 10 (tirx.Var): a variable of dtype int32 has a pointer type"},
      {"parameter is a number", tilelang({evaluate(7)}, "[7]"), "m.json: node 10 (tirx.PrimFunc): expected a variable as parameter"},
      {"relax function",
       [] {
         std::vector<std::string> nodes = {
             "{\"type\":\"None\"}",        node("ffi.String", "\"k\""), node("ir.GlobalVar", R"({"name_hint":1})"),
             node("relax.Function", "{}"), node("ffi.Map", "[2,3]"),    node("ir.IRModule", R"({"functions":4,"attrs":0})")};
         return container(nodes, 5, "0.27.0");
       }(),
       "m.json: node 3 (relax.Function): expected a tirx.PrimFunc (only lowered tile programs are read)"},
  };
}

TEST(ImportErrors, Json) {
  for (const Bad& b : bad_json()) EXPECT_EQ(error_of(b.text), b.error) << b.name;
}
TEST(ImportErrors, Nodes) {
  for (const Bad& b : bad_nodes()) EXPECT_EQ(error_of(b.text), b.error) << b.name;
}

TEST(ImportErrors, NotLoweredFunction) {
  std::string text = tilelang({evaluate(7)});
  size_t at = text.find("\"buffer_map\":5");
  ASSERT_NE(at, text.npos);
  text.replace(at, 14, "\"buffer_map\":9");  // the list of parameters stands there; make it a map with an entry
  at = text.find("{\"type\":\"ffi.Array\",\"data\":[]},{\"type\":\"tirx.PrimFunc\"");
  ASSERT_NE(at, text.npos);
  text.replace(at, 30, node("ffi.Map", "[1,7]"));
  EXPECT_EQ(error_of(text),
            "m.json: node 10 (tirx.PrimFunc): a function with a buffer_map is not lowered (run the compiler's lowering passes first)");
}

// ---- hostile files ----------------------------------------------------------------------------------------------------

TEST(ImportHostile, EveryPrefixIsAnError) {
  std::string text = apache_tvm({evaluate(9)});
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(import_tvm_json(std::string_view(text).substr(0, n), "m.json")) << n;
  EXPECT_TRUE(import_tvm_json(text, "m.json"));
}

TEST(ImportHostile, AnyOneByteChangedGivesAModuleOrAnError) {
  std::string text = tilelang({evaluate(7)});
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'0', '9', '"', '{', ']', ',', '\0', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      auto m = import_tvm_json(changed, "m.json");
      if (!m) {
        EXPECT_THAT(m.error().to_string(), ::testing::StartsWith("m.json: "));
      }
    }
  }
}

TEST(ImportHostile, DeepJsonIsRefused) {
  std::string many(100'000, '[');
  EXPECT_EQ(error_of("{\"root_index\":0,\"nodes\":[{\"type\":\"x\",\"data\":" + many), "m.json: node 0 (x): nested too deeply");
  EXPECT_EQ(error_of("{\"root_index\":" + many), "m.json: did not expect a list here");
}

TEST(ImportHostile, SharedListsDoNotMultiply) {
  // One list of 100 000 elements as the arguments of 1000 calls.
  std::string list = "[7";
  for (int i = 1; i < 100'000; ++i) list += ",7";
  std::vector<std::string> body = {node("ir.Op", "\"tirx.call_extern\""), node("ffi.Array", list + "]")};
  for (int i = 0; i < 1000; ++i) body.push_back(tl_call("int32", 8, "9"));
  body.push_back(evaluate(10));
  EXPECT_THAT(error_of(tilelang(body)), ::testing::EndsWith("(tirx.Call): lists are shared too often"));
}

TEST(ImportHostile, BuffersInTheShapesOfBuffersAreBounded) {
  std::vector<std::string> body = {node("tirx.Var", R"({"span":0,"dtype":"handle","name":1,"type_annotation":0})"),
                                   node("ffi.Array", "[7]")};
  int shape = 9;
  for (int i = 0; i < 3000; ++i) {
    int at = static_cast<int>(body.size()) + 8;
    body.push_back(node("tirx.Buffer", "{\"data\":8,\"dtype\":\"int32\",\"shape\":" + std::to_string(shape) +
                                           ",\"strides\":3,\"axis_separators\":3,\"elem_offset\":7,\"name\":1,\"data_alignment\":64,"
                                           "\"offset_factor\":1,\"buffer_type\":1,\"span\":0}"));
    body.push_back(
        node("tirx.BufferLoad", "{\"span\":0,\"dtype\":\"int32\",\"buffer\":" + std::to_string(at) + ",\"indices\":9,\"predicate\":0}"));
    body.push_back(node("ffi.Array", "[" + std::to_string(at + 1) + "]"));
    shape = at + 2;
  }
  body.push_back(evaluate(7));
  EXPECT_THAT(error_of(tilelang(body)), ::testing::EndsWith("nested more than 1000 levels deep"));
}

// ---- numbers ----------------------------------------------------------------------------------------------------------

TEST(Import, IntegersAreExact) {
  for (auto [text, value] : {std::pair{"9223372036854775807", INT64_MAX}, std::pair{"-9223372036854775808", INT64_MIN},
                             std::pair{"9007199254740993", int64_t{9007199254740993}}, std::pair{"-1", int64_t{-1}}}) {
    auto m = must(tilelang({int_imm("int64", text), evaluate(8)}));
    EXPECT_EQ(value_of(m)->as<ir::IntImm>()->value, value) << text;
  }
}

TEST(Import, UnsignedAboveTheSignedRangeKeepsItsBits) {
  auto m = must(tilelang({int_imm("uint64", "18446744073709551615"), evaluate(8)}));
  EXPECT_EQ(value_of(m)->as<ir::IntImm>()->value, -1);
  // TileLang writes such constants as two halves, low first.
  auto halves = must(tilelang({node("ir.Op", "\"tirx.large_uint_imm\""), int_imm("uint32", "4294967295"), int_imm("uint32", "2147483648"),
                               node("ffi.Array", "[9,10]"), tl_call("uint64", 8, "11"), evaluate(12)}));
  auto* imm = value_of(halves)->as<ir::IntImm>();
  ASSERT_TRUE(imm);
  EXPECT_EQ(imm->dtype, ir::kUInt64);
  EXPECT_EQ(static_cast<uint64_t>(imm->value), 0x80000000ffffffffu);
}

TEST(Import, FloatsMayBeBareWords) {
  auto value = [](const char* text) {
    auto m = must(tilelang({float_imm(text), evaluate(8)}));
    return value_of(m)->as<ir::FloatImm>()->value;
  };
  EXPECT_TRUE(std::isnan(value("NaN")));
  EXPECT_EQ(value("Infinity"), HUGE_VAL);
  EXPECT_EQ(value("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(value("1"), 1.0);
  EXPECT_EQ(value("5e-324"), 5e-324);
  EXPECT_EQ(value("0.1"), 0.1);
  EXPECT_TRUE(std::signbit(value("-0.0")));
}

// ---- the two dialects -------------------------------------------------------------------------------------------------

TEST(Import, BitOperatorsAreTheSameInBothDialects) {
  struct Row {
    const char *call, *node;
    ExprKind kind;
  };
  for (Row r : {Row{"tirx.bitwise_and", "prim.BitwiseAnd", ExprKind::kBitAnd}, Row{"tirx.bitwise_or", "prim.BitwiseOr", ExprKind::kBitOr},
                Row{"tirx.bitwise_xor", "prim.BitwiseXor", ExprKind::kBitXor}, Row{"tirx.shift_left", "prim.LShift", ExprKind::kShiftLeft},
                Row{"tirx.shift_right", "prim.RShift", ExprKind::kShiftRight}}) {
    auto a = must(
        tilelang({node("ir.Op", '"' + std::string(r.call) + '"'), node("ffi.Array", "[7,7]"), tl_call("int32", 8, "9"), evaluate(10)}));
    auto b = must(apache_tvm({node(r.node, R"({"span":0,"ty":7,"a":9,"b":9})"), evaluate(10)}));
    EXPECT_EQ(value_of(a)->kind, r.kind) << r.call;
    std::string why;
    EXPECT_TRUE(ir::equal(*a, *b, &why)) << r.call << ": " << why;
  }
  auto a = must(tilelang({node("ir.Op", "\"tirx.bitwise_not\""), node("ffi.Array", "[7]"), tl_call("int32", 8, "9"), evaluate(10)}));
  auto b = must(apache_tvm({node("prim.BitwiseNot", R"({"span":0,"ty":7,"a":9})"), evaluate(10)}));
  EXPECT_EQ(value_of(a)->kind, ExprKind::kBitNot);
  EXPECT_TRUE(ir::equal(*a, *b));
}

TEST(Import, ReturnBreakAndContinueAreStatements) {
  auto tl = [](const char* op, const char* args) {
    return must(tilelang({node("ir.Op", '"' + std::string(op) + '"'), node("ffi.Array", args), tl_call("int32", 8, "9"), evaluate(10)}));
  };
  ASSERT_TRUE(body_of(tl("tirx.ret", "[7]"))->as<ir::Return>());
  EXPECT_TRUE(body_of(tl("tirx.ret", "[7]"))->as<ir::Return>()->value->as<ir::IntImm>());
  EXPECT_FALSE(body_of(tl("tirx.ret", "[]"))->as<ir::Return>()->value);
  EXPECT_TRUE(body_of(tl("tirx.break_loop", "[]"))->as<ir::Break>());
  EXPECT_TRUE(body_of(tl("tirx.continue_loop", "[]"))->as<ir::Continue>());
  auto tvm = must(apache_tvm({node("tirx.Return", R"({"span":0,"value":9})")}));
  EXPECT_TRUE(ir::equal(*tl("tirx.ret", "[7]"), *tvm));
  EXPECT_TRUE(body_of(must(apache_tvm({node("tirx.Break", R"({"span":0})")})))->as<ir::Break>());
}

TEST(Import, OperatorsHaveOneName) {
  std::vector<ir::ModulePtr> alive;
  auto call = [&](const std::string& text) {
    alive.push_back(must(text));
    return value_of(alive.back())->as<ir::Call>();
  };
  std::string args = node("ffi.Array", "[9,9,9]"),
              tvm_call = node("ir.Call", R"({"span":0,"ty":7,"op":10,"args":11,"attrs":0,"ty_args":3})");
  auto* moved = call(apache_tvm({node("ir.Op", "\"prim.if_then_else\""), args, tvm_call, evaluate(12)}));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->op, ir::Op::tirx_if_then_else);
  EXPECT_EQ(moved->name, "tirx.if_then_else");
  auto* unknown = call(apache_tvm({node("ir.Op", "\"tirx.not_yet_invented\""), args, tvm_call, evaluate(12)}));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->op, ir::Op::kUnknown);
  EXPECT_EQ(unknown->name, "tirx.not_yet_invented");
  auto* function = call(apache_tvm(
      {"{\"type\":\"None\"}", args, node("ir.Call", R"({"span":0,"ty":7,"op":2,"args":11,"attrs":0,"ty_args":3})"), evaluate(12)}));
  ASSERT_TRUE(function);
  EXPECT_EQ(function->op, ir::Op::kFunction);
  EXPECT_EQ(function->name, "k");
}

TEST(Import, ThreadExtentNamesItsAxis) {
  auto m = must(tilelang({node("tirx.Var", R"({"span":0,"dtype":"int32","name":1,"type_annotation":0})"),
                          node("ffi.String", "\"threadIdx.x\""), node("tirx.IterVar", R"({"dom":0,"var":8,"iter_type":1,"thread_tag":9})"),
                          node("ffi.String", "\"thread_extent\""), int_imm("int32", "128"), evaluate(8),
                          node("tirx.AttrStmt", R"({"span":0,"node":10,"attr_key":11,"value":12,"body":13})")}));
  auto* t = body_of(m)->as<ir::ThreadExtent>();
  ASSERT_TRUE(t);
  EXPECT_EQ(t->tag, "threadIdx.x");
  EXPECT_EQ(t->extent->as<ir::IntImm>()->value, 128);
  EXPECT_EQ(t->body->as<ir::Evaluate>()->value, t->var);
}

TEST(Import, SequencesAreFlatAndSpansAreKept) {
  auto m = must(tilelang(
      {node("ir.SourceName", "\"gemm.py\""), node("ir.Span", R"({"source_name":8,"line":12,"column":3,"end_line":12,"end_column":9})"),
       node("tirx.Evaluate", R"({"span":9,"value":7})"), node("ffi.Array", "[10,10]"), node("tirx.SeqStmt", R"({"span":0,"seq":11})"),
       node("ffi.Array", "[12,10]"), node("tirx.SeqStmt", R"({"span":0,"seq":13})")}));
  auto* seq = body_of(m)->as<ir::Seq>();
  ASSERT_TRUE(seq);
  ASSERT_EQ(seq->stmts.size(), 3u);
  EXPECT_EQ(m->place(seq->stmts[2]->span), "gemm.py:12:3");
}

// Apache TVM: a variable of buffer type is a buffer. Nodes 10 to 19 are the type of a 4-element float32 buffer.
std::vector<std::string> tvm_buffer(std::vector<std::string> more) {
  std::vector<std::string> out = {
      node("ir.PrimType", R"({"span":0,"dtype":"float32"})"),
      node("int", "4"),
      node("ir.IntImm", R"({"span":0,"ty":7,"value":11})"),
      node("ffi.Array", "[12]"),
      node("ffi.String", "\"shared\""),
      node(
          "tirx.BufferType",
          R"({"span":0,"dtype":10,"storage_scope":14,"shape":13,"strides":3,"elem_offset":9,"data_alignment":64,"offset_factor":1,"layout":0,"allocated_addr":3})"),
      node("ffi.String", "\"A\""),
      node("ir.Var", R"({"span":0,"ty":15,"name":16})"),
      node("ffi.Array", "[9]"),
      node("ir.TensorLoad", R"({"span":0,"ty":10,"source":17,"indices":18})")};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(Import, ABufferVariableIsABuffer) {
  auto m = must(apache_tvm(tvm_buffer({node("tirx.AllocBuffer", R"({"span":0,"buffer":17,"annotations":5})"),
                                       node("tirx.BufferStore", R"({"span":0,"buffer":17,"value":19,"indices":18})"),
                                       node("ffi.Array", "[20,21]"), node("tirx.SeqStmt", R"({"span":0,"seq":22})")})));
  auto* seq = body_of(m)->as<ir::Seq>();
  ASSERT_TRUE(seq);
  auto* alloc = seq->stmts[0]->as<ir::AllocBuffer>();
  auto* store = seq->stmts[1]->as<ir::Store>();
  ASSERT_TRUE(alloc && store);
  EXPECT_EQ(alloc->buffer, store->buffer);
  EXPECT_EQ(store->value->as<ir::Load>()->buffer, store->buffer);
  EXPECT_EQ(store->buffer->name, "A");
  EXPECT_EQ(store->buffer->dtype, ir::kFloat32);
  EXPECT_EQ(store->buffer->scope(), "shared");
  EXPECT_EQ(store->buffer->elem_offset, nullptr);
  EXPECT_TRUE(ir::verify(*m).empty());

  auto tl = must(tilelang(
      {node("ffi.String", "\"A\""), node("ffi.String", "\"shared\""), node("ir.PrimType", R"({"span":0,"dtype":"float32"})"),
       node("ir.PointerType", R"({"span":0,"element_type":10,"storage_scope":9})"),
       node("tirx.Var", R"({"span":0,"dtype":"handle","name":8,"type_annotation":11})"), int_imm("int32", "4"), node("ffi.Array", "[13]"),
       node(
           "tirx.Buffer",
           R"({"data":12,"dtype":"float32","shape":14,"strides":3,"axis_separators":3,"elem_offset":7,"name":8,"data_alignment":64,"offset_factor":1,"buffer_type":1,"span":0})"),
       node("ffi.Array", "[7]"), node("tirx.BufferLoad", R"({"span":0,"dtype":"float32","buffer":15,"indices":16,"predicate":0})"),
       node("tirx.AllocBuffer", R"({"span":0,"buffer":15,"annotations":5})"),
       node("tirx.BufferStore", R"({"span":0,"buffer":15,"value":17,"indices":16,"predicate":0})"), node("ffi.Array", "[18,19]"),
       node("tirx.SeqStmt", R"({"span":0,"seq":20})")}));
  std::string why;
  EXPECT_TRUE(ir::equal(*tl, *m, &why)) << why;
}

TEST(Import, AViewOverAnExpressionBindsItsPointer) {
  std::vector<std::string> nodes =
      tvm_buffer({node("ir.Op", "\"tirx.call_extern\""), node("ir.PointerType", R"({"span":0,"element_type":10,"storage_scope":14})"),
                  node("ir.Call", R"({"span":0,"ty":21,"op":20,"args":3,"attrs":0,"ty_args":3})"),
                  node("tirx.DeclBuffer", R"({"span":0,"buffer":17,"data":22})")});
  auto m = must(apache_tvm(nodes));
  auto* seq = body_of(m)->as<ir::Seq>();
  ASSERT_TRUE(seq);
  auto* bind = seq->stmts[0]->as<ir::Bind>();
  auto* decl = seq->stmts[1]->as<ir::DeclBuffer>();
  ASSERT_TRUE(bind && decl);
  EXPECT_EQ(bind->var, decl->buffer->data);
  EXPECT_EQ(bind->value->as<ir::Call>()->pointer->scope, "shared");
}

TEST(Import, AttributesKeepTheirValuesAndTheOrderOfTheFile) {
  std::string text = tilelang({node("ffi.String", "\"zeta\""), node("ffi.String", "\"alpha\""), node("ffi.Array", "[7,8]"),
                               node("bool", "true"), node("float", "0.5"), node("ffi.String", "\"beta\""),
                               node("ffi.Map", "[8,10,9,11,13,12]"), node("ir.DictAttrs", R"({"__dict__":14})"), evaluate(7)});
  size_t at = text.find("\"attrs\":6,\"params\"");
  ASSERT_NE(at, text.npos);
  auto m = must(text.replace(at, 9, "\"attrs\":15"));
  const ir::Value* attrs = m->functions[0]->attrs;
  ASSERT_EQ(attrs->map.size(), 3u);
  EXPECT_EQ(attrs->map[0].key.string, "zeta");
  ASSERT_EQ(attrs->map[0].value.array.size(), 2u);
  EXPECT_EQ(attrs->map[0].value.array[0].kind, ir::Value::Kind::kInt);
  EXPECT_EQ(attrs->find("alpha")->boolean, true);
  EXPECT_EQ(attrs->find("beta")->floating, 0.5);
}

// ---- real modules -----------------------------------------------------------------------------------------------------

TEST(ImportCorpus, RealModulesLoadTwiceTheSameAndVerify) {
  std::vector<fs::path> files;
  for (const auto& e : fs::recursive_directory_iterator(fs::path(KILN_SOURCE_DIR) / "tests/corpus")) {
    if (e.path().filename().string().starts_with("device.json")) files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 100u);
  for (size_t i = 0; i < files.size(); i += 8) {
    auto a = load_module(files[i].string()), b = load_module(files[i].string());
    ASSERT_TRUE(a && b) << files[i] << ": " << a.error().to_string();
    std::string why;
    EXPECT_TRUE(ir::equal(**a, **b, &why)) << files[i] << ": " << why;
    std::string name = files[i].parent_path().filename().string();
    if (name != "bad_free_variable" && name != "bad_loop_var_escapes") {
      for (const Error& e : ir::verify(**a, 3)) ADD_FAILURE() << files[i] << ": " << e.to_string();
    }
  }
}

// ---- files ------------------------------------------------------------------------------------------------------------

class ModuleFiles : public ::testing::Test {
 protected:
  ModuleFiles() : folder_(fs::temp_directory_path() / ("kiln files ü " + std::to_string(::getpid()))) { fs::create_directories(folder_); }
  ~ModuleFiles() override { fs::remove_all(folder_); }
  std::string write(const char* name, std::string_view bytes) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string read_error(const std::string& path) {
    auto text = read_file(path);
    return text ? "(text)" : text.error().to_string();
  }
  std::string gzip(std::string_view text) {
    z_stream z{};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(text.size() + 100, '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
  }
  std::string zstd(std::string_view text) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
  }
  fs::path folder_;
};

TEST_F(ModuleFiles, PackingIsToldByContent) {
  std::string text = tilelang({evaluate(7)});
  for (const std::string& bytes : {text, gzip(text), zstd(text), gzip(text.substr(0, 50)) + gzip(text.substr(50))}) {
    std::string path = write("a name.json", bytes);
    auto read = read_file(path);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, text);
    EXPECT_TRUE(load_module(path));
  }
}

TEST_F(ModuleFiles, TextIsToldFromJsonByContent) {
  auto m = must(tilelang({evaluate(7)}));
  auto again = load_module(write("m.json", "\n " + ir::print(*m)));
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_TRUE(ir::equal(*m, **again));
}

TEST_F(ModuleFiles, DamageIsNamed) {
  std::string text = tilelang({evaluate(7)});
  std::string cut = write("cut", gzip(text).substr(0, 60)), zcut = write("zcut", zstd(text).substr(0, 60));
  EXPECT_EQ(read_error(cut), cut + ": the gzip data is damaged or cut short");
  EXPECT_EQ(read_error(zcut), zcut + ": the zstd data is cut short");
  std::string missing = (folder_ / "missing").string();
  EXPECT_EQ(read_error(missing), missing + ": cannot open the file: No such file or directory");
  EXPECT_EQ(read_error(folder_.string()), folder_.string() + ": cannot read the file: Is a directory");
}

}  // namespace
}  // namespace kiln
