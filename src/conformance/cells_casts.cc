// Cast between every two dtypes, and reinterpretation of bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/cell.h"

namespace kiln::conformance {

namespace {

using ir::DataType;

// A float that goes to an integer is in that integer's range; what is left out of it is undefined.
Domain source_domain(DataType from, DataType to) {
  if (!from.is_floating() || !to.is_integer()) return any();
  double high = std::ldexp(1.0, to.is_int() ? to.bits - 1 : to.bits) - 1;
  return range(to.is_int() ? -high - 1 : -0.9, high);
}

std::string vector_type(DataType t, int w) { return ir::to_string(t.with_lanes(static_cast<uint16_t>(w))); }

void add_reinterpret(std::vector<Cell>& cells, const Form& form) {
  auto types = integer_types() + float_types() + float8_types();
  for (DataType to : types) {
    for (DataType from : types) {
      if (from == to || from.bits != to.bits) continue;
      for (int w : kWidths) {
        Domain d = any();
        if (from.is_floating()) d = range(-100, 100);  // the bits of a NaN are open
        std::string call = fmt::format("T.reinterpret(\"{}\", {{A}})", vector_type(to, w));
        Row row{"bits", "tirx.reinterpret to " + ir::to_string(to), ir::Op::tirx_reinterpret};
        cells.push_back(elementwise(form, row, from, w, to, {{"A", from, {kElements}, d}}, call));
      }
    }
  }
}

// Bytes to words and back: the number of lanes changes.
void add_regroup(std::vector<Cell>& cells, const Form& form) {
  for (DataType t : integer_types() + float_types()) {
    int ratio = t.bits / 8;
    if (ratio == 1) continue;
    auto cell = [&](const char* row, DataType in, DataType out, int in_lanes, int out_lanes) {
      Cell c;
      c.group = "bits", c.row = row, c.dtype = t, c.width = ratio, c.op = ir::Op::tirx_reinterpret;
      name_cell(c);
      c.tensors = {{"A", in, {16 * in_lanes}, in.is_floating() ? range(-100, 100) : any()}, {"C", out, {16 * out_lanes}, output()}};
      std::string value = fmt::format("T.reinterpret(\"{}\", {})", vector_type(out, out_lanes), item("A", "i", in_lanes));
      c.text = function_text(c, element_loop(form, 16, {item("C", "i", out_lanes) + " = " + value}));
      cells.push_back(std::move(c));
    };
    cell("tirx.reinterpret from bytes", ir::kUInt8, t, ratio, 1);
    cell("tirx.reinterpret to bytes", t, ir::kUInt8, 1, ratio);
  }
}

}  // namespace

void add_casts(std::vector<Cell>& cells, const Form& form) {
  auto types = value_types() + storage_types();
  for (DataType to : types) {
    for (DataType from : types) {
      if (from == to) continue;
      for (int w : kWidths) {
        std::string cast = fmt::format("T.Cast(\"{}\", {{A}})", vector_type(to, w));
        cells.push_back(elementwise(form, {"casts", "Cast to " + ir::to_string(to)}, from, w, to,
                                    {{"A", from, {kElements}, source_domain(from, to)}}, cast));
      }
    }
  }
  add_reinterpret(cells, form);
  add_regroup(cells, form);
}

}  // namespace kiln::conformance
