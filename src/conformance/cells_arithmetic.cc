// Nodes that compute: binary, comparison, logical, bitwise, selection.
#include <fmt/format.h>

#include "conformance/cell.h"

namespace kiln::conformance {

namespace {

using ir::DataType;

Tensor operand(const char* name, DataType t, Domain d) { return {name, t, {kElements}, d}; }

void add_binary(std::vector<Cell>& cells, const Form& form, const Row& row, const std::vector<DataType>& types, Domain a, Domain b,
                const std::string& expression, bool gives_bool = false) {
  for (DataType t : types) {
    for (int w : kWidths) {
      DataType result = gives_bool ? ir::kBool : t;
      cells.push_back(elementwise(form, row, t, w, result, {operand("A", t, a), operand("B", t, b)}, expression));
    }
  }
}

// float8 as an operand of arithmetic; e8m0 has neither zero nor sign.
std::vector<DataType> float8_arithmetic() {
  std::vector<DataType> all = float8_types();
  all.pop_back();
  return all;
}

void add_division(std::vector<Cell>& cells, const Form& form) {
  Domain dividend = any(), divisor = any();
  dividend.no_lowest = true, divisor.nonzero = true;
  // Quotients that are exact, so that rounding before flooring makes no difference.
  Domain whole = range(-16, 16), power{Domain::Kind::kPowersOfTwo, -2, 2};
  whole.whole = true;
  for (auto [name, text] : {std::pair{"Div", "T.Div({A}, {B})"}, {"Mod", "T.truncmod({A}, {B})"}}) {
    Row row{"arithmetic", name};
    add_binary(cells, form, row, integer_types(), dividend, divisor, text);
    add_binary(cells, form, row, float_types(), any(), any(), text);
  }
  for (auto [name, text] : {std::pair{"FloorDiv", "{A} // {B}"}, {"FloorMod", "{A} % {B}"}}) {
    Row row{"arithmetic", name};
    add_binary(cells, form, row, integer_types(), dividend, divisor, text);
    add_binary(cells, form, row, float_types(), whole, power, text);
  }
}

// A divisor that is a constant, which passes treat apart.
void add_constant_division(std::vector<Cell>& cells, const Form& form) {
  for (auto [name, text] : {std::pair{"FloorDiv by 8", "{{A}} // {}"},
                            {"FloorMod by 8", "{{A}} % {}"},
                            {"Div by 8", "T.Div({{A}}, {})"},
                            {"Mod by 8", "T.truncmod({{A}}, {})"}}) {
    for (DataType t : integer_types()) {
      for (int w : kWidths) {
        std::string eight = fmt::format("T.{}(8)", ir::to_string(t));
        if (w > 1) eight = fmt::format("T.Broadcast({}, {})", eight, w);
        std::string expression = fmt::format(fmt::runtime(text), eight);
        cells.push_back(elementwise(form, {"arithmetic", name}, t, w, t, {operand("A", t, any())}, expression));
      }
    }
  }
}

void add_choices(std::vector<Cell>& cells, const Form& form) {
  for (auto [name, text, op] : {std::tuple{"Select", "T.Select({P}, {A}, {B})", ir::Op::kUnknown},
                                {"tirx.if_then_else", "T.if_then_else({P}, {A}, {B})", ir::Op::tirx_if_then_else}}) {
    for (DataType t : value_types()) {
      for (int w : kWidths) {
        if (op != ir::Op::kUnknown && w > 1) continue;  // lazy: one condition
        cells.push_back(elementwise(form, {"choices", name, op}, t, w, t,
                                    {operand("P", ir::kBool, any()), operand("A", t, any()), operand("B", t, any())}, text));
      }
    }
  }
  // The condition guards an access that would be out of bounds.
  for (DataType t : value_types()) {
    Cell c = elementwise(form, {"choices", "if_then_else guards a load", ir::Op::tirx_if_then_else}, t, 1, t, {operand("A", t, any())},
                         "T.if_then_else(i < 63, A[i + 1], A[0])");
    cells.push_back(std::move(c));
  }
}

}  // namespace

void add_arithmetic(std::vector<Cell>& cells, const Form& form) {
  auto numbers = integer_types() + float_types() + float8_arithmetic();
  for (auto [name, text] : {std::pair{"Add", "{A} + {B}"}, {"Sub", "{A} - {B}"}, {"Mul", "{A} * {B}"}}) {
    add_binary(cells, form, {"arithmetic", name}, numbers, any(), any(), text);
  }
  add_division(cells, form);
  add_constant_division(cells, form);
  Domain one_zero = any();  // which zero is the smaller one is open (IEEE 754-2019, 9.6)
  one_zero.one_zero = true;
  for (auto [name, text] : {std::pair{"Min", "T.min({A}, {B})"}, {"Max", "T.max({A}, {B})"}}) {
    add_binary(cells, form, {"arithmetic", name}, numbers, one_zero, one_zero, text);
  }
  for (auto [name, text] : {std::pair{"EQ", "{A} == {B}"},
                            {"NE", "{A} != {B}"},
                            {"LT", "{A} < {B}"},
                            {"LE", "{A} <= {B}"},
                            {"GT", "{A} > {B}"},
                            {"GE", "{A} >= {B}"}}) {
    std::vector<DataType> types = numbers;
    bool equality = name[0] == 'E' || name[0] == 'N';
    if (equality) types.insert(types.begin(), ir::kBool);
    add_binary(cells, form, {"comparisons", name}, types, any(), any(), text, true);
  }
  for (auto [name, text] : {std::pair{"And", "T.And({A}, {B})"}, {"Or", "T.Or({A}, {B})"}}) {
    add_binary(cells, form, {"logic", name}, {ir::kBool}, any(), any(), text);
  }
  for (int w : kWidths)
    cells.push_back(elementwise(form, {"logic", "Not"}, ir::kBool, w, ir::kBool, {operand("A", ir::kBool, any())}, "T.Not({A})"));
  struct Bitwise {
    const char *name, *text;
    ir::Op op;
  };
  for (auto [name, text, op] : {Bitwise{"BitAnd", "T.bitwise_and({A}, {B})", ir::Op::tirx_bitwise_and},
                                {"BitOr", "T.bitwise_or({A}, {B})", ir::Op::tirx_bitwise_or},
                                {"BitXor", "T.bitwise_xor({A}, {B})", ir::Op::tirx_bitwise_xor}}) {
    add_binary(cells, form, {"bits", name, op}, integer_types(), any(), any(), text);
  }
  for (auto [name, text, op] : {Bitwise{"ShiftLeft", "T.shift_left({A}, {B})", ir::Op::tirx_shift_left},
                                {"ShiftRight", "T.shift_right({A}, {B})", ir::Op::tirx_shift_right}}) {
    for (DataType t : integer_types()) add_binary(cells, form, {"bits", name, op}, {t}, any(), range(0, t.bits - 1), text);
  }
  for (DataType t : integer_types()) {
    for (int w : kWidths)
      cells.push_back(
          elementwise(form, {"bits", "BitNot", ir::Op::tirx_bitwise_not}, t, w, t, {operand("A", t, any())}, "T.bitwise_not({A})"));
  }
  add_choices(cells, form);
}

}  // namespace kiln::conformance
