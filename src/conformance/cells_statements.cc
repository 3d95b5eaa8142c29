// Statements, atomics and calls of functions of the module.
#include <fmt/format.h>

#include <set>

#include "conformance/cell.h"

namespace kiln::conformance {

namespace {

using ir::DataType;
using ir::Op;
using Lines = std::vector<std::string>;

struct Statement {
  const char* row;
  Lines lines;  // {t} is the dtype
  bool fails = false;
};

const std::vector<Statement>& statements() {
  static const std::vector<Statement> all = {
      {"For, serial", {"for i in range(64):", "    C[i] = A[i]"}},
      {"For, from 3 in steps of 5", {"for i in T.serial(3, 64, step=5):", "    C[i] = A[i]"}},
      {"For, int64 variable", {"for i in T.serial(T.int64(64)):", "    C[i] = A[i]"}},
      {"For, nested", {"for i in range(8):", "    for j in range(8):", "        C[i * 8 + j] = A[j * 8 + i]"}},
      {"For, no iteration", {"for i in range(N[0] - N[0]):", "    C[i] = A[i]"}},
      {"For, unrolled", {"for i in T.unroll(8):", "    C[i] = A[i]"}},
      {"For, vectorized", {"for i in range(8):", "    for j in T.vectorized(8):", "        C[i * 8 + j] = A[i * 8 + j]"}},
      {"For, parallel", {"for i in T.parallel(64):", "    C[i] = A[i]"}},
      {"While",
       {"k = T.alloc_buffer((1,), \"int32\", scope=\"local\")", "k[0] = 0", "while k[0] < 40:", "    C[k[0]] = A[k[0]]",
        "    k[0] = k[0] + 3"}},
      {"If", {"for i in range(64):", "    if i % 3 == 1:", "        C[i] = A[i]"}},
      {"If, with else", {"for i in range(64):", "    if N[i] > 0:", "        C[i] = A[i]", "    else:", "        C[i] = A[0]"}},
      {"Break", {"for i in range(64):", "    if i == 20:", "        break", "    C[i] = A[i]"}},
      {"Continue", {"for i in range(64):", "    if i % 4 == 2:", "        continue", "    C[i] = A[i]"}},
      {"Bind", {"for i in range(64):", "    v: T.{t} = A[63 - i]", "    C[i] = v"}},
      {"Let", {"v = T.{t}()", "for i in range(64):", "    C[i] = T.Let(v, where={v: A[63 - i]})"}},
      {"AllocBuffer",
       {"L = T.alloc_buffer((8,), \"{t}\", scope=\"local\")", "for i in range(8):", "    for j in range(8):",
        "        L[7 - j] = A[i * 8 + j]", "    for j in range(8):", "        C[i * 8 + j] = L[j]"}},
      {"AllocBuffer, two dimensions",
       {"L = T.alloc_buffer((8, 8), \"{t}\", scope=\"local\")", "for i in range(8):", "    for j in range(8):",
        "        L[j, i] = A[i * 8 + j]", "for i in range(64):", "    C[i] = L[i // 8, i % 8]"}},
      {"DeclBuffer of another shape",
       {"D = T.decl_buffer((8, 8), \"{t}\", data=A_data)", "for i in range(64):", "    C[i] = D[i % 8, i // 8]"}},
      {"DeclBuffer with strides",
       {"D = T.decl_buffer((8, 8), \"{t}\", data=A_data, strides=(1, 8))", "for i in range(64):", "    C[i] = D[i // 8, i % 8]"}},
      {"Seq: overlapping stores", {"for i in range(63):", "    C[i] = A[i]", "    C[i + 1] = A[63 - i]"}},
      {"Return", {"for i in range(64):", "    C[i] = A[i]", "    if i == 10:", "        return 0"}},
      {"Assert that holds", {"for i in range(64):", "    assert N[0] == N[0], (\"ValueError\", [\"not equal\"])", "    C[i] = A[i]"}},
      {"Assert that fails", {"for i in range(64):", "    assert N[0] != N[0], (\"ValueError\", [\"equal\"])", "    C[i] = A[i]"}, true},
      {"Attr", {"with T.attr(0, \"pragma_conformance\", 1):", "    for i in range(64):", "        C[i] = A[i]"}},
  };
  return all;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
}

void add_statement(std::vector<Cell>& cells, const Statement& s, DataType t) {
  Cell c;
  c.group = "statements", c.row = s.row, c.dtype = t, c.fails = s.fails;
  name_cell(c);
  c.tensors = {{"A", t, {kElements}, any()}, {"N", ir::kInt32, {kElements}, range(-5, 5)}, {"C", t, {kElements}, output()}};
  Lines lines = s.lines;
  for (std::string& line : lines) replace_all(line, "{t}", ir::to_string(t));
  c.text = function_text(c, lines);
  if (std::string_view(s.row) == "Return") replace_all(c.text, "\"global\")):", "\"global\")) -> T.int32:");
  cells.push_back(std::move(c));
}

// A function that only this module knows, with pointers and a scalar.
void add_function_call(std::vector<Cell>& cells, DataType t) {
  Cell c;
  c.group = "statements", c.row = "call of a function of the module", c.dtype = t, c.op = Op::kFunction;
  name_cell(c);
  std::string dtype = ir::to_string(t);
  std::string callee = fmt::format(
      "    @T.prim_func(private=True)\n"
      "    def {0}_callee(from_data: T.handle(\"{1}\", \"global\"), to_data: T.handle(\"{1}\", \"global\"), k: T.int32):\n"
      "        F = T.decl_buffer(({2},), \"{1}\", data=from_data)\n"
      "        G = T.decl_buffer(({2},), \"{1}\", data=to_data)\n"
      "        G[k] = F[{2} - 1 - k]\n",
      c.name, dtype, kElements);
  c.tensors = {{"A", t, {kElements}, any()}, {"C", t, {kElements}, output()}};
  c.text = callee + function_text(
                        c, {fmt::format("for i in range({}):", kElements), fmt::format("    Module.{}_callee(A_data, C_data, i)", c.name)});
  cells.push_back(std::move(c));
}

struct Atomic {
  Op op;
  bool integers_only = false;
  bool returns = false;
};

void add_atomic(std::vector<Cell>& cells, const Form& form, const Atomic& a, DataType t) {
  Cell c;
  c.group = "atomics", c.row = ir::op_info(a.op).name, c.dtype = t, c.op = a.op;
  name_cell(c);
  Domain d = range(-20, 20);  // sums of few small numbers are exact in every format, in any order
  d.whole = true, d.one_zero = true;
  if (t.is_uint()) d.low = 0;
  c.tensors = {{"A", t, {kElements}, d}, {"B", t, {kElements}, d}, {"C", t, {kElements}, output()}};
  std::string type = ir::to_string(t);
  std::string value = a.op == Op::tl_atomic_load_elem_op ? "" : ", A[i]";
  std::string call = fmt::format("T.call_intrin(\"{}\", \"{}\", T.address_of(B[i]){})", a.returns ? type : "handle", c.row, value);
  c.text = function_text(c, element_loop(form, kElements, {a.returns ? "C[i] = " + call : "T.evaluate(" + call + ")"}));
  cells.push_back(std::move(c));
}

const std::vector<Atomic>& atomics() {
  static const std::vector<Atomic> all = {
      {Op::tl_atomic_add_elem_op},      {Op::tl_atomic_add_ret_elem_op, false, true},
      {Op::tl_atomic_max_elem_op},      {Op::tl_atomic_max_ret_elem_op, false, true},
      {Op::tl_atomic_min_elem_op},      {Op::tl_atomic_min_ret_elem_op, false, true},
      {Op::tl_atomic_or_elem_op, true}, {Op::tl_atomic_load_elem_op, false, true},
      {Op::tl_atomic_store_elem_op},    {Op::tirx_atomic_add, false, true},
  };
  return all;
}

void add_threads(std::vector<Cell>& cells, const Form& form) {
  for (DataType t : value_types()) {
    Cell c;
    c.group = "statements", c.row = "ThreadExtent", c.dtype = t;
    name_cell(c);
    c.tensors = {{"A", t, {kElements}, any()}, {"C", t, {kElements}, output()}};
    if (form.thread_blocks) {
      c.text = function_text(c, element_loop(form, kElements, {"C[i] = A[i]"}));
    } else {
      c.skip = "needs thread blocks";
    }
    cells.push_back(std::move(c));
  }
}

// Why an operator has no generator, by the family that its name tells.
std::string reason_of(std::string_view name) {
  struct Family {
    std::string_view prefix;
    const char* reason;
  };
  static constexpr const char* kDevice = "no generator: an instruction of one family of devices, or of a thread block";
  static constexpr const char* kHost = "no generator: host code, or memory that another library owns";
  static constexpr const char* kTile = "no generator: lowered before a codegen sees it";
  static constexpr Family kFamilies[] = {
      {"tirx.ptx", kDevice},        {"tirx.cuda", kDevice},        {"tirx.hip", kDevice},      {"tirx.metal", kDevice},
      {"tirx.nvshmem", kDevice},    {"tirx.nki", kDevice},         {"tirx.webgpu", kDevice},   {"tirx.tile.", kTile},
      {"tl.tileop.", kTile},        {"tl.ascend", kDevice},        {"tl.simd.", kDevice},      {"tl.ptx", kDevice},
      {"tl.tma", kDevice},          {"tl.tcgen05", kDevice},       {"tl.warp", kDevice},       {"tl.cluster", kDevice},
      {"tl.clc", kDevice},          {"tl.shfl", kDevice},          {"tl.sync", kDevice},       {"tl.ld", kDevice},
      {"tl.st", kDevice},           {"tl.tvm_", kDevice},          {"tirx.tvm_warp", kDevice}, {"tirx.tvm_storage_sync", kDevice},
      {"tirx.tvm_thread", kDevice}, {"tirx.tvm_mma", kDevice},     {"tirx.tvm_bmma", kDevice}, {"tirx.tvm_fill", kDevice},
      {"tirx.tvm_load_m", kDevice}, {"tirx.tvm_store_m", kDevice}, {"tirx.mma", kDevice},      {"tirx.simdgroup", kDevice},
      {"tirx.dma", kDevice},        {"tirx.tvm_", kHost},          {"tirx.TVMBackend", kHost}, {"tirx.anylist", kHost},
      {"tirx.call_", kHost},        {"tl.tvm_ffi", kHost},
  };
  for (const Family& f : kFamilies) {
    if (name.starts_with(f.prefix)) return f.reason;
  }
  return "no generator";
}

}  // namespace

void add_statements(std::vector<Cell>& cells, const Form& form) {
  for (const Statement& s : statements()) {
    for (DataType t : value_types()) add_statement(cells, s, t);
  }
  for (DataType t : value_types()) add_function_call(cells, t);
  add_threads(cells, form);
  for (const Atomic& a : atomics()) {
    for (DataType t : a.integers_only ? integer_types() : integer_types() + float_types()) add_atomic(cells, form, a, t);
  }
}

void add_rest(std::vector<Cell>& cells, const Form&) {
  std::set<Op> covered = {Op::tirx_address_of, Op::tirx_break_loop, Op::tirx_continue_loop, Op::tirx_ret};  // parts of other rows
  for (const Cell& c : cells) covered.insert(c.op);
  static constexpr Op kAll[] = {
#define KILN_OP(id, name, args, rule, effect) Op::id,
#include "ir/ops.def"
#undef KILN_OP
  };
  for (Op op : kAll) {
    if (covered.contains(op)) continue;
    Cell c;
    c.group = "operators without a generator", c.row = ir::op_info(op).name, c.op = op;
    c.name = c.row;
    c.skip = reason_of(c.row);
    cells.push_back(std::move(c));
  }
}

}  // namespace kiln::conformance
