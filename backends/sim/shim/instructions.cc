#include "backends/sim/shim/instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kiln::sim {

namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"b8", "unsigned char"},       {"u8", "unsigned char"},    {"s8", "signed char"},
    {"b16", "unsigned short"},     {"u16", "unsigned short"},  {"s16", "short"},
    {"b32", "unsigned"},           {"u32", "unsigned"},        {"s32", "int"},
    {"b64", "unsigned long long"}, {"s64", "long long"},       {"u64", "unsigned long long"},
    {"f16", "unsigned short"},     {"bf16", "unsigned short"}, {"f16x2", "unsigned"},
    {"bf16x2", "unsigned"},        {"f32", "float"},           {"f64", "double"},
};

// Instructions of one thread that are a function of registers: {opcode, function, types of the operands}.
struct Function {
  std::string_view opcode, call;
  std::string_view types[4];
};
constexpr Function kFunctions[] = {
    {"cvt.f32.f16", "f32_of_f16", {"b16"}},
    {"cvt.f32.bf16", "f32_of_bf16", {"b16"}},
    {"cvt.rn.f16.f32", "f16_of_f32", {"f32"}},
    {"cvt.rn.bf16.f32", "bf16_of_f32", {"f32"}},
    {"cvt.rn.f16.s32", "f16_of_s32", {"s32"}},
    {"cvt.rn.f16.u32", "f16_of_u32", {"u32"}},
    {"cvt.rn.f16x2.f32", "f16x2_of_f32", {"f32", "f32"}},
    {"cvt.rn.bf16x2.f32", "bf16x2_of_f32", {"f32", "f32"}},
    {"cvt.rn.f16x2.e4m3x2", "f16x2_of_e4m3x2", {"b16"}},
    {"cvt.rn.f16x2.e5m2x2", "f16x2_of_e5m2x2", {"b16"}},
    {"cvt.rn.satfinite.e4m3x2.f32", "e4m3x2_of_f32", {"f32", "f32"}},
    {"cvt.rn.satfinite.e5m2x2.f32", "e5m2x2_of_f32", {"f32", "f32"}},
    {"cvt.rna.tf32.f32", "tf32_of_f32", {"f32"}},
    {"add.rn.f16", "add_f16", {"b16", "b16"}},
    {"sub.rn.f16", "sub_f16", {"b16", "b16"}},
    {"mul.rn.f16", "mul_f16", {"b16", "b16"}},
    {"add.rn.bf16", "add_bf16", {"b16", "b16"}},
    {"sub.rn.bf16", "sub_bf16", {"b16", "b16"}},
    {"mul.rn.bf16", "mul_bf16", {"b16", "b16"}},
    {"lop3.b32", "lop3", {"b32", "b32", "b32", "b32"}},
    {"prmt.b32", "byte_perm", {"b32", "b32", "b32"}},
};

// Special registers: {name, C++}.
constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {
    {"tid.x", "threadIdx.x"},
    {"tid.y", "threadIdx.y"},
    {"tid.z", "threadIdx.z"},
    {"ntid.x", "blockDim.x"},
    {"ntid.y", "blockDim.y"},
    {"ntid.z", "blockDim.z"},
    {"ctaid.x", "blockIdx.x"},
    {"ctaid.y", "blockIdx.y"},
    {"ctaid.z", "blockIdx.z"},
    {"nctaid.x", "gridDim.x"},
    {"nctaid.y", "gridDim.y"},
    {"nctaid.z", "gridDim.z"},
    {"laneid", "(unsigned)kiln_text::lane()->lane"},
    {"warpid", "(unsigned)kiln_text::lane()->warp"},
    {"cluster_ctarank", "kiln_text::lane()->cluster_rank"},
    {"cluster_nctaid.x", "kiln_text::lane()->cluster_dim.x"},
    {"cluster_nctaid.y", "kiln_text::lane()->cluster_dim.y"},
    {"cluster_nctaid.z", "kiln_text::lane()->cluster_dim.z"},
    {"clock", "(unsigned)clock64()"},
    {"clock64", "(unsigned long long)clock64()"},
    {"globaltimer", "(unsigned long long)clock64()"},
    {"envreg1", "(unsigned)(kiln_text::lane()->grid_workspace >> 32)"},
    {"envreg2", "(unsigned)kiln_text::lane()->grid_workspace"},
    {"total_smem_size", "kiln_text::lane()->shared_bytes"},
};

Result<std::string> function(const PtxStatement& s, const Function& f) {
  if (s.operands.size() < 2) return no_such_use(s);
  std::string args;
  for (size_t i = 0; i < 4 && !f.types[i].empty(); ++i) {
    auto v = value(s, i + 1, cpp_type(f.types[i]));
    if (!v) return v.error();
    args += (i ? ", " : "") + *v;
  }
  auto d = value(s, 0);
  if (!d) return d.error();
  return fmt::format("kiln_text::put({}, kiln_text::{}({}));", *d, f.call, args);
}

// mov.u32 d, a
Result<std::string> mov(InstructionContext&, const PtxStatement& s) {
  auto d = value(s, 0), a = value(s, 1, cpp_type(parts_of(s.opcode).back()));
  if (!d || !a) return d ? a.error() : d.error();
  return fmt::format("kiln_text::put({}, {});", *d, *a);
}

// selp.u32 d, a, b, p
Result<std::string> selp(InstructionContext&, const PtxStatement& s) {
  std::string_view type = cpp_type(parts_of(s.opcode).back());
  auto d = value(s, 0), a = value(s, 1, type), b = value(s, 2, type), p = value(s, 3);
  for (auto* v : {&d, &a, &b, &p}) {
    if (!*v) return v->error();
  }
  return fmt::format("kiln_text::put({}, {} ? {} : {});", *d, *p, *a, *b);
}

// setp.ne.b32 p, a, b
Result<std::string> setp(InstructionContext&, const PtxStatement& s) {
  auto parts = parts_of(s.opcode);
  constexpr std::pair<std::string_view, std::string_view> kCompare[] = {{"eq", "=="}, {"ne", "!="}, {"lt", "<"},
                                                                        {"le", "<="}, {"gt", ">"},  {"ge", ">="}};
  auto* found = std::find_if(std::begin(kCompare), std::end(kCompare), [&](auto& c) { return parts.size() == 3 && c.first == parts[1]; });
  std::string_view type = cpp_type(parts.back());
  if (found == std::end(kCompare) || type.empty()) return no_such_use(s);
  auto p = value(s, 0), a = value(s, 1, type), b = value(s, 2, type);
  for (auto* v : {&p, &a, &b}) {
    if (!*v) return v->error();
  }
  return fmt::format("{} = {} {} {};", *p, *a, found->second, *b);
}

std::string_view order_of(const PtxStatement& s) {
  for (auto [part, order] : {std::pair{"acquire", "__ATOMIC_ACQUIRE"}, {"release", "__ATOMIC_RELEASE"}, {"acq_rel", "__ATOMIC_ACQ_REL"}}) {
    if (has_part(s, part)) return order;
  }
  return "__ATOMIC_RELAXED";
}

// ld.acquire.gpu.b32 d, [a]
Result<std::string> load(InstructionContext&, const PtxStatement& s) {
  auto d = value(s, 0), p = address(s, 1);
  std::string_view type = cpp_type(parts_of(s.opcode).back());
  if (!d || !p || type.empty() || has_part(s, "v2") || has_part(s, "v4")) return no_such_use(s);
  if (type == "float") type = "unsigned";
  if (type == "double") type = "unsigned long long";
  return fmt::format("kiln_text::put({}, kiln_text::load<{}>({}, {}));", *d, type, *p, order_of(s));
}

// st.release.gpu.b32 [a], v
Result<std::string> store(InstructionContext&, const PtxStatement& s) {
  std::string_view type = cpp_type(parts_of(s.opcode).back());
  if (type == "float") type = "unsigned";
  if (type == "double") type = "unsigned long long";
  auto p = address(s, 0), v = value(s, 1, type);
  if (!p || !v || type.empty() || has_part(s, "v2") || has_part(s, "v4")) return no_such_use(s);
  return fmt::format("kiln_text::store<{}>({}, {}, {});", type, *p, *v, order_of(s));
}

// The function of an update: "add<float>", "add_f16".
std::string update_of(const PtxStatement& s) {
  std::string_view type = parts_of(s.opcode).back();
  for (std::string_view op : {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"}) {
    if (!has_part(s, op)) continue;
    bool half = type == "f16" || type == "bf16" || type == "f16x2" || type == "bf16x2";
    if (half) return op == "add" ? "add_" + std::string(type) : "";
    std::string_view cpp = cpp_type(type);
    return cpp.empty() ? "" : fmt::format("{}<{}>", op, cpp);
  }
  return "";
}

// atom.relaxed.gpu.add.u32 d, [a], v
Result<std::string> atom(InstructionContext&, const PtxStatement& s) {
  std::string update = update_of(s);
  std::string_view type = cpp_type(parts_of(s.opcode).back());
  auto d = value(s, 0), p = address(s, 1), v = value(s, 2, type);
  if (!d || !p || !v || update.empty()) return no_such_use(s);
  std::string args = *v;
  if (s.operands.size() > 3) {
    auto second = value(s, 3, type);
    if (!second) return second.error();
    args += ", " + *second;
  }
  return fmt::format("kiln_text::put({}, kiln_text::update_{}({}, {}));", *d, update, *p, args);
}

// red.relaxed.gpu.global.add.v2.f32 [a], {x, y}
Result<std::string> red(InstructionContext&, const PtxStatement& s) {
  std::string update = update_of(s), out;
  std::string_view type = cpp_type(parts_of(s.opcode).back());
  auto p = address(s, 0);
  if (!p || update.empty()) return no_such_use(s);
  bool vector = s.operands[1].kind == PtxOperand::Kind::kVector;
  size_t count = vector ? s.operands[1].items.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    auto v = value(vector ? s.operands[1].items[i] : s.operands[1], type);
    if (!v) return v.error();
    out += fmt::format("kiln_text::update_{}(({}*){} + {}, {}); ", update, type, *p, i, *v);
  }
  return out;
}

// mapa.shared::cluster.u32 d, a, rank: addresses of shared memory; mapa.u64: pointers.
Result<std::string> mapa(InstructionContext&, const PtxStatement& s) {
  auto d = value(s, 0), a = value(s, 1), rank = value(s, 2, "unsigned");
  for (auto* v : {&d, &a, &rank}) {
    if (!*v) return v->error();
  }
  bool shared = has_part(s, "shared::cluster");
  return fmt::format("kiln_text::put({}, kiln_text::{}({}, {}));", *d, shared ? "map_address" : "map_pointer", *a, *rank);
}

// cvta.to.shared.u64 d, a; cvta.shared.u64 d, a
Result<std::string> cvta(InstructionContext&, const PtxStatement& s) {
  auto d = value(s, 0), a = value(s, 1);
  if (!d || !a) return d ? a.error() : d.error();
  std::string expression = !has_part(s, "shared") ? *a
                           : has_part(s, "to")    ? fmt::format("(unsigned long long)kiln_text::shared_address((void*)({}))", *a)
                                                  : fmt::format("(unsigned long long)kiln_text::shared_pointer({})", *a);
  return fmt::format("kiln_text::put({}, {});", *d, expression);
}

Result<std::string> nothing(InstructionContext&, const PtxStatement&) { return std::string(); }
Result<std::string> fence(InstructionContext&, const PtxStatement&) { return std::string("__threadfence();"); }
Result<std::string> trap(InstructionContext&, const PtxStatement&) { return std::string("__trap();"); }
Result<std::string> nanosleep(InstructionContext&, const PtxStatement&) { return std::string("__nanosleep(0);"); }
Result<std::string> createpolicy(InstructionContext&, const PtxStatement& s) {
  auto d = value(s, 0);
  if (!d) return d.error();
  return *d + " = 0;";
}

const std::vector<HandlerRow> kThreadInstructions = {
    {"mov", mov, 2},
    {"selp", selp, 4},
    {"setp", setp, 3},
    {"ld", load, 2},
    {"st", store, 2},
    {"atom", atom, 3},
    {"red", red, 2},
    {"mapa", mapa, 3},
    {"cvta", cvta, 2},
    {"fence", fence, 0},
    {"membar", fence, 0},
    {"trap", trap, 0},
    {"nanosleep", nanosleep, 1},
    {"prefetch", nothing, 0},
    {"prefetchu", nothing, 0},
    {"griddepcontrol", nothing, 0},
    {"createpolicy", createpolicy, 1},
};

}  // namespace

std::string name_of_register(std::string_view text) {
  return text.starts_with('%') ? "kt" + std::string(text.substr(1)) : "kp_" + std::string(text);
}

std::string_view cpp_type(std::string_view ptx_type) {
  for (auto [name, type] : kTypes) {
    if (name == ptx_type) return type;
  }
  return {};
}

Error no_such_use(const PtxStatement& s) {
  return {Code::kUnsupported, "the text shim does not know this use of the instruction '" + s.opcode + "'", "", ""};
}

bool has_part(const PtxStatement& s, std::string_view part) {
  auto parts = parts_of(s.opcode);
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

Result<std::string> value(const PtxOperand& o, std::string_view type) {
  std::string text;
  switch (o.kind) {
    case PtxOperand::Kind::kRegister: text = name_of_register(o.text); break;
    case PtxOperand::Kind::kNumber:
      text = o.text.starts_with("0f")   ? "kiln_text::bits<float>(0x" + o.text.substr(2) + "u)"
             : o.text.starts_with("0d") ? "kiln_text::bits<double>(0x" + o.text.substr(2) + "ull)"
                                        : o.text;
      if (!o.text.starts_with("0f") && !o.text.starts_with("0d")) return type.empty() ? text : fmt::format("({})({})", type, text);
      break;
    case PtxOperand::Kind::kSpecial:
      for (auto [name, expression] : kSpecial) {
        if (name == o.text) text = expression;
      }
      if (text.empty()) return Error{Code::kUnsupported, "the text shim does not know the special register '%" + o.text + "'", "", ""};
      break;
    default: return Error{Code::kUnsupported, "the text shim expects a register or a number here", "", ""};
  }
  return type.empty() ? text : fmt::format("kiln_text::as<{}>({})", type, text);
}

Result<std::string> value(const PtxStatement& s, size_t operand, std::string_view type) {
  if (operand >= s.operands.size()) return no_such_use(s);
  auto v = value(s.operands[operand], type);
  return v || v.error().message.find("special") != std::string::npos ? v : Result<std::string>(no_such_use(s));
}

Result<std::string> values(const PtxOperand& o, std::string_view type) {
  if (o.kind != PtxOperand::Kind::kVector) return value(o, type);
  std::string out;
  for (const PtxOperand& item : o.items) {
    auto v = value(item, type);
    if (!v) return v.error();
    out += (out.empty() ? "" : ", ") + *v;
  }
  return out;
}

Result<std::string> shared_address(const PtxStatement& s, size_t operand) {
  if (operand >= s.operands.size() || s.operands[operand].kind != PtxOperand::Kind::kAddress) return no_such_use(s);
  const PtxOperand& base = s.operands[operand].items[0];
  auto v = value(base);
  if (!v) return v.error();
  return fmt::format("(unsigned)({}{}{})", *v, base.offset.empty() ? "" : " + ", base.offset);
}

Result<std::string> address(const PtxStatement& s, size_t operand) {
  auto parts = parts_of(s.opcode);
  bool shared = std::any_of(parts.begin(), parts.end(), [](std::string_view p) { return p == "shared" || p.starts_with("shared::"); });
  if (shared) {
    auto a = shared_address(s, operand);
    if (!a) return a.error();
    return "kiln_text::shared_pointer(" + *a + ")";
  }
  if (operand >= s.operands.size() || s.operands[operand].kind != PtxOperand::Kind::kAddress) return no_such_use(s);
  const PtxOperand& base = s.operands[operand].items[0];
  auto v = value(base);
  if (!v) return v.error();
  return fmt::format("kiln_text::pointer({}{}{})", *v, base.offset.empty() ? "" : " + ", base.offset);
}

Result<std::string> instruction(InstructionContext& context, const PtxStatement& s) {
  for (const Function& f : kFunctions) {
    if (f.opcode == s.opcode) return function(s, f);
  }
  const HandlerRow* best = nullptr;
  for (const auto* table : {&kThreadInstructions, &kAsyncInstructions, &kMatrixInstructions}) {
    for (const HandlerRow& row : *table) {
      bool matches = s.opcode == row.opcode || s.opcode.starts_with(std::string(row.opcode) + ".");
      if (matches && (!best || row.opcode.size() > best->opcode.size())) best = &row;
    }
  }
  if (!best) return Error{Code::kUnsupported, "the text shim does not know the instruction '" + s.opcode + "'", "", ""};
  if (s.operands.size() < static_cast<size_t>(best->operands)) return no_such_use(s);
  return best->handler(context, s);
}

}  // namespace kiln::sim
