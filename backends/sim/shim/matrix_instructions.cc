// mma, ldmatrix, stmatrix, wmma and wgmma: PTX ISA 9.0, 9.7.14 and 9.7.15.
#include <fmt/format.h>

#include "backends/sim/shim/instructions.h"

namespace kiln::sim {

namespace {

size_t count_of(const PtxOperand& o) { return o.kind == PtxOperand::Kind::kVector ? o.items.size() : 1; }

// The form that the opcode names, kept in the context; its index.
template <class Form>
Result<size_t> keep(InstructionContext& context, const PtxStatement& s, Result<Form> form) {
  if (!form)
    return Error{Code::kUnsupported, "the text shim does not know the instruction '" + s.opcode + "': " + form.error().message, "", ""};
  context.forms.emplace_back(std::move(*form));
  return context.forms.size() - 1;
}

// An array of the values of an operand's registers: "const unsigned ka[] = {...}; ".
Result<std::string> array(std::string_view name, const PtxOperand& o, std::string_view type) {
  auto v = values(o, type);
  if (!v) return v.error();
  return fmt::format("const {} {}[] = {{{}}}; ", type, name, *v);
}
std::string results(std::string_view name, const PtxOperand& o, std::string_view type) {
  return fmt::format("{} {}[{}]; ", type, name, count_of(o));
}
// Back from the array to the registers.
std::string scatter(std::string_view name, const PtxOperand& o) {
  std::string out;
  for (size_t i = 0; i < count_of(o); ++i) {
    const PtxOperand& item = o.kind == PtxOperand::Kind::kVector ? o.items[i] : o;
    if (item.kind != PtxOperand::Kind::kSink) out += fmt::format("kiln_text::put({}, {}[{}]); ", name_of_register(item.text), name, i);
  }
  return out;
}
// The operands must have as many registers as the form says.
Status check(const PtxStatement& s, size_t operand, int registers) {
  if (operand < s.operands.size() && count_of(s.operands[operand]) == static_cast<size_t>(registers)) return Ok{};
  return Error{Code::kUnsupported,
               fmt::format("the operand {} of '{}' has {} registers, expected {}", operand, s.opcode,
                           operand < s.operands.size() ? count_of(s.operands[operand]) : 0, registers),
               "", ""};
}
std::string_view word_of(Format f) { return f == Format::kF64 ? "unsigned long long" : "unsigned"; }

// mma.sync d, a, b, c; mma.sp d, a, b, c, metadata, selector
Result<std::string> mma(InstructionContext& context, const PtxStatement& s) {
  auto form = parse_mma(s.opcode);
  auto kept = keep(context, s, form);
  if (!kept) return kept.error();
  if (form->scales) return no_such_use(s);
  int registers[] = {form->registers_d(), form->registers_a(), form->registers_b(), form->registers_d()};
  for (size_t i = 0; i < 4; ++i) {
    if (i != 3 || form->c == form->d) {
      if (auto ok = check(s, i, registers[i]); !ok) return ok.error();
    }
  }
  std::string_view word = word_of(form->d);
  auto a = array("ka", s.operands[1], word), b = array("kb", s.operands[2], word), c = array("kc", s.operands[3], word);
  for (auto* v : {&a, &b, &c}) {
    if (!*v) return v->error();
  }
  std::string more;
  if (form->sparse) {
    auto metadata = value(s, 4, "unsigned"), selector = value(s, 5, "int");
    if (!metadata || !selector) return no_such_use(s);
    more = ", " + *metadata + ", " + *selector;
  }
  return *a + *b + *c + results("kd", s.operands[0], word) +
         fmt::format("kiln_text::api().{}(kiln_text::lane(), {}, kd, ka, kb, kc{}); ", form->sparse ? "mma_sparse" : "mma", *kept, more) +
         scatter("kd", s.operands[0]);
}

// ldmatrix d, [row]
Result<std::string> load_matrix(InstructionContext& context, const PtxStatement& s) {
  auto form = parse_ldmatrix(s.opcode);
  auto kept = keep(context, s, form);
  if (!kept) return kept.error();
  if (auto ok = check(s, 0, form->registers()); !ok) return ok.error();
  auto row = shared_address(s, 1);
  if (!row) return row.error();
  return results("kd", s.operands[0], "unsigned") + fmt::format("kiln_text::api().ldmatrix(kiln_text::lane(), {}, kd, {}); ", *kept, *row) +
         scatter("kd", s.operands[0]);
}

// stmatrix [row], s
Result<std::string> store_matrix(InstructionContext& context, const PtxStatement& s) {
  auto form = parse_stmatrix(s.opcode);
  auto kept = keep(context, s, form);
  if (!kept) return kept.error();
  if (auto ok = check(s, 1, form->registers()); !ok) return ok.error();
  auto row = shared_address(s, 0), source = array("ka", s.operands[1], "unsigned");
  if (!row || !source) return no_such_use(s);
  return *source + fmt::format("kiln_text::api().stmatrix(kiln_text::lane(), {}, {}, ka); ", *kept, *row);
}

// wmma.load d, [from], stride; wmma.store [to], d, stride; wmma.mma d, a, b, c
Result<std::string> wmma(InstructionContext& context, const PtxStatement& s) {
  auto form = parse_wmma(s.opcode);
  auto kept = keep(context, s, form);
  if (!kept) return kept.error();
  if (form->op == Wmma::Op::kMma) {
    if (s.operands.size() < 4) return no_such_use(s);
    std::string_view word = word_of(form->d);
    auto a = array("ka", s.operands[1], word), b = array("kb", s.operands[2], word), c = array("kc", s.operands[3], word);
    for (auto* v : {&a, &b, &c}) {
      if (!*v) return v->error();
    }
    return *a + *b + *c + results("kd", s.operands[0], word) +
           fmt::format("kiln_text::api().wmma_mma(kiln_text::lane(), {}, kd, ka, kb, kc); ", *kept) + scatter("kd", s.operands[0]);
  }
  bool load = form->op == Wmma::Op::kLoad;
  Format f = form->role == 'a' ? form->a : form->role == 'b' ? form->b : form->role == 'c' ? form->c : form->d;
  if (auto ok = check(s, load ? 0 : 1, form->registers(form->role)); !ok) return ok.error();
  auto place = address(s, load ? 1 : 0), stride = value(s, 2, "int");
  if (!place || !stride) return no_such_use(s);
  if (load) {
    return results("kd", s.operands[0], word_of(f)) +
           fmt::format("kiln_text::api().wmma_load(kiln_text::lane(), {}, kd, {}, {}); ", *kept, *place, *stride) +
           scatter("kd", s.operands[0]);
  }
  auto source = array("ka", s.operands[1], word_of(f));
  if (!source) return source.error();
  return *source + fmt::format("kiln_text::api().wmma_store(kiln_text::lane(), {}, {}, ka, {}); ", *kept, *place, *stride);
}

bool is_minus_one(const PtxOperand& o) { return o.kind == PtxOperand::Kind::kNumber && o.text == "-1"; }
bool is_one(const PtxOperand& o) { return o.kind == PtxOperand::Kind::kNumber && o.text == "1"; }

// wgmma.mma_async d, a, b {, metadata, selector}, keep {, sign of a, sign of b} {, transposes of a (in shared memory) and b}
Result<std::string> wgmma(InstructionContext& context, const PtxStatement& s) {
  auto form = parse_wgmma(s.opcode);
  if (!form) return keep(context, s, std::move(form)).error();
  bool registers = s.operands[1].kind == PtxOperand::Kind::kVector;
  size_t keep_at = form->sparse ? 5 : 3, next = keep_at + 1;
  if (s.operands.size() < next) return no_such_use(s);
  if (s.operands.size() >= next + 2) {
    form->negate_a = is_minus_one(s.operands[next]), form->negate_b = is_minus_one(s.operands[next + 1]);
    next += 2;
  }
  if (next < s.operands.size() && !registers) form->transpose_a = is_one(s.operands[next++]);
  if (next < s.operands.size()) form->transpose_b = is_one(s.operands[next++]);
  if (form->sparse) {
    if (s.operands[4].kind != PtxOperand::Kind::kNumber) return no_such_use(s);
    form->selector = s.operands[4].text == "1";
  }
  if (auto ok = check(s, 0, form->registers_d()); !ok) return ok.error();
  auto kept = keep(context, s, form);
  auto c = array("kc", s.operands[0], "unsigned");
  auto a = registers ? array("ka", s.operands[1], "unsigned") : value(s, 1, "unsigned long long");
  auto b = value(s, 2, "unsigned long long"), keeps = value(s, keep_at),
       metadata = form->sparse ? value(s, 3, "unsigned") : Result<std::string>("0");
  for (auto* v : {&c, &a, &b, &keeps, &metadata}) {
    if (!*v) return v->error();
  }
  c->replace(0, 6, "");  // not const: d is read and written
  return *c + (registers ? *a : "") +
         fmt::format("kiln_text::api().wgmma(kiln_text::lane(), {}, kc, {}, {}, {}, {}, {}); ", *kept, registers ? "ka" : "nullptr",
                     registers ? "0" : *a, *b, *keeps, *metadata) +
         scatter("kc", s.operands[0]);
}

Result<std::string> nothing(InstructionContext&, const PtxStatement&) { return std::string(); }

}  // namespace

const std::vector<HandlerRow> kMatrixInstructions = {
    {"mma.sync", mma, 4},
    {"mma.sp", mma, 6},
    {"mma.sp::ordered_metadata", mma, 6},
    {"ldmatrix", load_matrix, 2},
    {"stmatrix", store_matrix, 2},
    {"wmma", wmma, 3},
    {"wgmma.mma_async", wgmma, 4},
    // Products are computed when they are begun, so there is nothing to wait for.
    {"wgmma.fence", nothing, 0},
    {"wgmma.commit_group", nothing, 0},
    {"wgmma.wait_group", nothing, 0},
};

}  // namespace kiln::sim
