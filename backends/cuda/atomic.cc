// Atomic accesses and updates: PTX ISA, "atom", "red", "ld", "st", "fence"; orders are those of C++.
#include <algorithm>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"

namespace kiln::cuda {

using namespace ir;

namespace {

bool is_small_float(DataType t) { return t.is_floating() && t.bits <= 16; }

// External functions of CUDA; with "_block" or "_system" behind the name for threads of one block, or of the host and other devices too.
struct Extern {
  std::string_view name, op;
};
constexpr Extern kExterns[] = {{"atomicAdd", "sum"}, {"atomicSub", "sub"}, {"atomicExch", "exch"}, {"atomicMin", "min"},
                               {"atomicMax", "max"}, {"atomicInc", "inc"}, {"atomicDec", "dec"},   {"atomicCAS", "cas"},
                               {"atomicAnd", "and"}, {"atomicOr", "or"},   {"atomicXor", "xor"}};

Atomic external(std::string_view name) {
  std::string_view scope = "gpu";
  if (name.ends_with("_block")) scope = "cta", name.remove_suffix(6);
  if (name.ends_with("_system")) scope = "sys", name.remove_suffix(7);
  for (const Extern& e : kExterns) {
    if (e.name == name) return {e.op, scope, 1, e.op == "cas" ? 2u : 1u};
  }
  return {};
}

// CUDA's own function for a relaxed update.
std::string_view builtin(std::string_view op, DataType t) {
  bool word = t.is_integer() && (t.bits == 32 || t.bits == 64), cuda = t == kInt32 || (t.is_uint() && word);
  if (op == "sum" && ((t.is_floating() && t.bits >= 32) || cuda)) return "atomicAdd";
  if (op == "max" && word) return "atomicMax";
  if (op == "min" && word) return "atomicMin";
  if (op == "sub" && t.bits == 32 && cuda) return "atomicSub";
  if (op == "exch" && (cuda || t == kFloat32)) return "atomicExch";
  if (op == "cas" && cuda) return "atomicCAS";
  if (op == "and" && cuda) return "atomicAnd";
  if (op == "or" && cuda) return "atomicOr";
  if (op == "xor" && cuda) return "atomicXor";
  if (op == "inc" && t == kUInt32) return "atomicInc";
  return op == "dec" && t == kUInt32 ? "atomicDec" : "";
}

// "add.u32": the update as atom names it; empty where it is a loop of compare and swap.
std::string instruction(const Arch& arch, std::string_view op, DataType t) {
  std::string bits = std::to_string(t.bits);
  bool word = t.bits == 32 || t.bits == 64, integer = t.is_integer() && word;
  if (op == "sum" || op == "sub") {
    if (integer) return "add.u" + bits;
    if (t.element() == kFloat16) return "add.noftz.f16";
    if (t.element() == kBFloat16) return arch.number >= 90 ? "add.noftz.bf16" : "";
    return t.is_floating() && word ? "add.f" + bits : "";
  }
  if (op == "max" || op == "min") return integer ? std::string(op) + (t.is_uint() ? ".u" : ".s") + bits : "";
  if (op == "and" || op == "or" || op == "xor") return integer ? std::string(op) + ".b" + bits : "";
  if (op == "exch") return word ? "exch.b" + bits : "";
  if (op == "cas") return word || t.bits == 16 ? "cas.b" + bits : "";
  return t == kUInt32 && (op == "inc" || op == "dec") ? std::string(op) + ".u32" : "";
}

// The letter of an asm operand; a byte travels in 32 bits.
std::string constraint(DataType t) {
  if (t.is_floating() && t.bits == 32) return "f";
  if (t.is_floating() && t.bits == 64) return "d";
  return t.bits == 64 ? "l" : t.bits == 16 ? "h" : "r";
}

constexpr const char* kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

// How an access with an order is written: the qualifier, and whether a fence of seq_cst comes before it (PTX ISA, memory consistency
// model).
struct Order {
  std::string_view qualifier;  // empty: the access has no such order
  bool fence = false;
  bool relaxed() const { return qualifier == "relaxed"; }
};
Order order_of(std::string_view op, int64_t order) {
  bool load = op == "load", store = op == "store";
  switch (order) {
    case 0: return {"relaxed"};
    case 1:
    case 2: return {store ? "" : "acquire"};
    case 3: return {load ? "" : "release"};
    case 4: return {load || store ? "" : "acq_rel"};
    case 5: return {load ? "acquire" : store ? "relaxed" : "acq_rel", true};
    default: return {""};
  }
}

struct Access {
  const Arch& arch;
  std::string_view op, scope;
  DataType t;
  Order order;
  std::string type, name;  // of the element in the text; of the helper

  std::string fence() const { return order.fence ? "  asm volatile(\"fence.sc." + std::string(scope) + ";\" ::: \"memory\");\n" : ""; }
  std::string qualified(std::string_view instruction) const {
    return std::string(instruction) + "." + std::string(order.qualifier) + "." + std::string(scope);
  }
  std::string head(std::string_view result, std::string_view params) const {
    return "__device__ __forceinline__ " + std::string(result) + " " + name + "(" + std::string(params) + ") {\n" + fence();
  }
};

Generated load(const Access& a) {
  std::string held = a.t.bits == 8 ? "unsigned" : a.type;
  std::string text = a.head(a.type, "const " + a.type + "* p") + "  " + held + " value;\n  asm volatile(\"" + a.qualified("ld") + ".b" +
                     std::to_string(a.t.bits) + " %0, [%1];\" : \"=" + constraint(a.t) + "\"(value) : \"l\"(p) : \"memory\");\n";
  return {a.name, text + "  return value;\n}\n"};
}

Generated store(const Access& a) {
  std::string value = a.t.bits == 8 ? "(unsigned)value" : "value";
  std::string text = a.head("void", a.type + "* p, " + a.type + " value") + "  asm volatile(\"" + a.qualified("st") + ".b" +
                     std::to_string(a.t.bits) + " [%0], %1;\" ::\"l\"(p), \"" + constraint(a.t) + "\"(" + value + ") : \"memory\");\n";
  return {a.name, text + "}\n"};
}

std::string params_of(const Access& a) { return a.type + "* p, " + (a.op == "cas" ? a.type + " expected, " : "") + a.type + " value"; }

Generated by_instruction(const Access& a, const std::string& instruction) {
  std::string letter = constraint(a.t), value = a.op != "sub" ? "value" : is_small_float(a.t) ? "value ^ 0x8000" : "-value";
  bool cas = a.op == "cas";
  std::string value_operand =
      "\"" + letter + "\"(" + (is_small_float(a.t) && a.op == "sub" ? "(" + a.type + ")(" + value + ")" : value) + ")";
  std::string inputs = "\"l\"(p), " + (cas ? "\"" + letter + "\"(expected), " : "") + value_operand;
  std::string text = a.head(a.type, params_of(a)) + "  " + a.type + " old;\n  asm volatile(\"" + a.qualified("atom") + "." + instruction +
                     " %0, [%1], %2" + (cas ? ", %3" : "") + ";\" : \"=" + letter + "\"(old) : " + inputs + " : \"memory\");\n";
  return {a.name, text + "  return old;\n}\n"};
}

// The element among the bits of the word that holds it, and back.
struct Bits {
  std::string element, of_element;  // around "seen" and around the next value
};
Bits bits_of(DataType t, const std::string& type) {
  if (t.is_floating() && t.bits == 32) return {"__uint_as_float", "__float_as_uint"};
  if (t.is_floating() && t.bits == 64) return {"__longlong_as_double", "__double_as_longlong"};
  return {"(" + type + ")", t.is_bool() || t.bits < 32 ? "(unsigned)" : ""};
}

// The loop of compare and swap over the 16, 32 or 64 bits of the element; over the aligned word around a byte.
Generated by_loop(const Access& a, const std::string& next) {
  bool byte = a.t.bits == 8;
  std::string word = a.t.bits == 16 ? "unsigned short" : a.t.bits == 64 ? "unsigned long long" : "unsigned";
  std::string width = std::to_string(byte ? 32 : a.t.bits), letter = a.t.bits == 16 ? "h" : a.t.bits == 64 ? "l" : "r";
  Bits bits = bits_of(a.t, a.type);
  std::string seen = bits.element + (byte ? "(old >> shift)" : a.t.is_floating() && a.t.bits >= 32 ? "(old)" : "old");
  std::string text = "// By compare and swap; gives the value before.\n" + a.head(a.type, params_of(a));
  if (byte) {
    text += "  unsigned shift = ((unsigned long long)p & 3) * 8;\n";
    text += "  unsigned *word = (unsigned*)((unsigned long long)p & ~3ull), old = *(volatile unsigned*)word, before;\n";
  } else {
    text += "  " + word + " *word = (" + word + "*)p, old = *(volatile " + word + "*)p, before;\n";
  }
  text += "  do {\n    before = old;\n";
  if (a.op != "exch") text += "    " + a.type + " seen = " + seen + ";\n";
  if (a.op == "cas") text += "    if (seen != expected) return seen;\n";
  std::string to = bits.of_element + "(" + next + ")";
  text += "    " + word + " next = " +
          (byte                ? "(old & ~(0xFFu << shift)) | ((" + to + " & 0xFF) << shift)"
           : a.t.bits == 16    ? "(unsigned short)(" + next + ")"
           : a.t.is_floating() ? to
                               : next) +
          ";\n";
  // A relaxed write that changes nothing is left out.
  if ((a.op == "max" || a.op == "min") && a.order.relaxed()) text += "    if (next == before) break;\n";
  if (a.order.relaxed() && a.scope == "gpu") {
    text += "    old = atomicCAS(word, before, next);\n";
  } else {
    text += "    asm volatile(\"" + a.qualified("atom") + ".cas.b" + width + " %0, [%1], %2, %3;\" : \"=" + letter +
            "\"(old) : \"l\"(word), \"" + letter + "\"(before), \"" + letter + "\"(next) : \"memory\");\n";
  }
  return {a.name, text + "  } while (old != before);\n  return " + seen + ";\n}\n"};
}

std::string next_value(std::string_view op, DataType t) {
  if (op == "exch" || op == "cas") return "value";
  if (op == "sub" && t.is_floating() && t.bits < 16) return "";
  if (op == "sub") return combine("sum", t, "seen", is_small_float(t) ? "(value ^ 0x8000)" : "-value");
  return op == "inc" || op == "dec" ? "" : combine(op, t, "seen", "value");
}

// An update of several floats at once, where one instruction has it; nothing is returned.
Result<Generated> vector_add(const Arch& arch, const Call* c, DataType t, Order order) {
  size_t lanes = c->op == Op::tl_atomic_addx2_elem_op ? 2 : 4;
  bool words = t == kFloat32;
  std::string type = type_name(t), n = std::to_string(lanes);
  std::string name = "red_add_" + dtype_name(t) + "x" + n + (order.relaxed() ? "" : "_" + std::string(order.qualifier)), params, inputs,
              list;
  for (size_t i = 0; i < lanes; ++i) {
    std::string number = std::to_string(i);
    params += ", " + type + " x" + number;
    inputs += std::string(", \"") + (words ? "f" : "h") + "\"(x" + number + ")";
    list += (i ? ", %" : "%") + std::to_string(i + 1);
  }
  std::string text = "__device__ __forceinline__ void " + name + "(" + type + "* p" + params + ") {\n";
  if (arch.number >= 90) {
    text += "  asm volatile(\"red." + std::string(order.qualifier) + ".gpu.global.add" + (words ? "" : ".noftz") + ".v" + n + "." +
            (words ? "f32" : std::string(ptx_type(to_string(t)))) + " [%0], {" + list + "};\" ::\"l\"(__cvta_generic_to_global(p))" +
            inputs + " : \"memory\");\n";
  } else {
    text += "  asm volatile(\"red." + std::string(order.qualifier) +
            ".gpu.add.noftz.f16x2 [%0], %1;\" ::\"l\"(p), \"r\"((unsigned)x1 << 16 | x0) " + ": \"memory\");\n";
  }
  return Generated{name, text + "}\n"};
}

const Load* place_of(const Call* c, size_t first) {
  auto* address = c->args.size() > first ? c->args[first]->as<Call>() : nullptr;
  bool is_address = address && (address->op == Op::tirx_address_of || address->op == Op::tl_access_ptr) && !address->args.empty();
  return is_address ? address->args[0]->as<Load>() : nullptr;
}

}  // namespace

Atomic atomic_of(const Call* c) {
  switch (c->op) {
    case Op::tl_atomic_add_elem_op:
    case Op::tl_atomic_add_ret_elem_op:
    case Op::tirx_atomic_add:
    case Op::tirx_cuda__atomic_add: return {"sum"};
    case Op::tl_atomic_addx2_elem_op: return {"sum", "gpu", 0, 2};
    case Op::tl_atomic_addx4_elem_op: return {"sum", "gpu", 0, 4};
    case Op::tl_atomic_max_elem_op:
    case Op::tl_atomic_max_ret_elem_op: return {"max"};
    case Op::tl_atomic_min_elem_op:
    case Op::tl_atomic_min_ret_elem_op: return {"min"};
    case Op::tl_atomic_or_elem_op: return {"or"};
    case Op::tl_atomic_load_elem_op: return {"load", "gpu", 0, 0};
    case Op::tl_atomic_store_elem_op: return {"store"};
    case Op::tirx_cuda__atomic_cas: return {"cas", "gpu", 0, 2};
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: return external(text_arg(c, 0));
    default: return {};
  }
}

const Load* atomic_place(const Call* c) {
  Atomic a = atomic_of(c);
  return a ? place_of(c, a.first) : nullptr;
}

bool has_vector_add(const Arch& arch, const Buffer* b, int lanes, int64_t order) {
  if (order != 0 && order != 3) return false;  // red is relaxed or releases
  bool global = b->scope() == "global" || b->scope().empty();
  DataType t = b->dtype.element();
  if (t == kFloat16 && lanes == 2 && arch.number < 90) return true;
  return arch.number >= 90 && global && (t == kFloat32 || t == kFloat16 || t == kBFloat16);
}

Result<Generated> generate_atomic(const Arch& arch, const Call* c) {
  Atomic kind = atomic_of(c);
  std::string called = "'" + std::string(kind.first ? text_arg(c, 0) : c->name) + "'";
  const Load* place = place_of(c, kind.first);
  size_t order_at = kind.first + 1 + kind.values;
  if (!place || c->args.size() < order_at) return unsupported(arch, called + " has no address or no value");
  DataType t = place->buffer->dtype;
  std::string what = "there is no " + called + " on " + to_string(t);
  int64_t number = c->args.size() > order_at ? int_arg(c, order_at) : 0;
  Order order = order_of(kind.op, number);
  if (number < 0 || number > 5) return unsupported(arch, what + " in an order that is none of C++'s", "relaxed is 0, seq_cst is 5");
  if (order.qualifier.empty()) return unsupported(arch, what + " in order " + kOrders[number]);
  bool fits = t.lanes == 1 && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64) && !t.is_handle() && has_type(t);
  if (!fits) return unsupported(arch, what);
  if (c->op == Op::tl_atomic_addx2_elem_op || c->op == Op::tl_atomic_addx4_elem_op) return vector_add(arch, c, t, order);
  std::string_view own = builtin(kind.op, t);
  if (order.relaxed() && kind.scope == "gpu" && !own.empty()) return Generated{std::string(own), ""};
  std::string name = "atomic_" + std::string(kind.op) + "_" + dtype_name(t);
  if (!order.relaxed()) name += std::string("_") + (order.fence ? "seq_cst" : std::string(order.qualifier));
  if (kind.scope != "gpu") name += "_" + std::string(kind.scope);
  Access access{arch, kind.op, kind.scope, t, order, type_name(t), name};
  if (kind.op == "load") return load(access);
  if (kind.op == "store") return store(access);
  if (std::string by = instruction(arch, kind.op, t); !by.empty()) return by_instruction(access, by);
  std::string next = next_value(kind.op, t);
  return next.empty() ? Result<Generated>(unsupported(arch, what)) : by_loop(access, next);
}

}  // namespace kiln::cuda
