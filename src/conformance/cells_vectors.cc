// Vectors and memory: how lanes are made, picked, loaded and stored.
#include <fmt/format.h>

#include "conformance/cell.h"

namespace kiln::conformance {

namespace {

using ir::DataType;

struct Shape {
  const char* row;
  int min_width;
  std::vector<Tensor> tensors;     // inputs, then outputs
  std::vector<std::string> lines;  // of the loop over i; {w} is the width
  int64_t count;                   // of the loop
};

void add_shape(std::vector<Cell>& cells, const Form& form, const char* group, DataType t, int w, const Shape& s,
               ir::Op op = ir::Op::kUnknown) {
  if (w < s.min_width) return;
  Cell c;
  c.group = group, c.row = s.row, c.dtype = t, c.width = w, c.tensors = s.tensors, c.op = op;
  name_cell(c);
  c.text = function_text(c, element_loop(form, s.count, s.lines));
  cells.push_back(std::move(c));
}

std::string slice(const char* buffer, const std::string& start, int w, int step = 1) {
  if (w == 1) return fmt::format("{}[{}]", buffer, start);
  if (step == 1) return fmt::format("{0}[{1}:{1} + {2}]", buffer, start, w);
  return fmt::format("{0}[{1}:{1} + {2}:{3}]", buffer, start, w * step, step);
}
std::string numbers(int first, int by, int count) {
  std::string out;
  for (int k = 0; k < count; ++k) out += fmt::format("{}{}", k ? ", " : "", first + by * k);
  return out;
}
std::string vector_type(DataType t, int w) { return ir::to_string(t.with_lanes(static_cast<uint16_t>(w))); }

void add_memory(std::vector<Cell>& cells, const Form& form, DataType t, int w) {
  const char* group = "memory";
  int64_t n = kElements, count = n / w;
  Tensor a{"A", t, {n}, any()}, c{"C", t, {n}, output()};
  std::string at = fmt::format("i * {}", w);
  auto copy = [](const std::string& to, const std::string& from) { return std::vector<std::string>{to + " = " + from}; };
  add_shape(cells, form, group, t, w, {"load and store", 1, {a, c}, copy(slice("C", at, w), slice("A", at, w)), count});
  if (t.bits < 8) return;
  Tensor twice_a{"A", t, {2 * n}, any()}, twice_c{"C", t, {2 * n}, output()}, more{"A", t, {n + 1}, any()};
  std::string twice = fmt::format("i * {}", 2 * w);
  add_shape(cells, form, group, t, w, {"load, strided", 1, {twice_a, c}, copy(slice("C", at, w), slice("A", twice, w, 2)), count});
  add_shape(cells, form, group, t, w, {"store, strided", 1, {a, twice_c}, copy(slice("C", twice, w, 2), slice("A", at, w)), count});
  add_shape(cells, form, group, t, w, {"load, not aligned", 1, {more, c}, copy(slice("C", at, w), slice("A", at + " + 1", w)), count});
  std::string reversed = w == 1 ? fmt::format("A[{} - i]", n - 1) : fmt::format("A[T.Ramp({} - i * {}, -1, {})]", n - 1, w, w);
  add_shape(cells, form, group, t, w, {"load, reversed", 1, {a, c}, copy(slice("C", at, w), reversed), count});
  Tensor index{"I", ir::kInt32, {n}, range(0, static_cast<double>(n - 1))};
  std::string gather = "A[" + slice("I", at, w) + "]";
  add_shape(cells, form, group, t, w, {"load, gathered", 1, {a, index, c}, copy(slice("C", at, w), gather), count});
  Tensor mask{"P", ir::kBool, {n}, any()};
  std::string places = w == 1 ? at : fmt::format("T.Ramp({}, 1, {})", at, w);
  std::string predicate = "predicate=" + slice("P", at, w);
  add_shape(
      cells, form, group, t, w,
      {"load, predicated", 1, {a, mask, c}, copy(slice("C", at, w), fmt::format("T.BufferLoad(A, [{}], {})", places, predicate)), count});
  add_shape(
      cells, form, group, t, w,
      {"store, predicated", 1, {a, mask, c}, {fmt::format("T.BufferStore(C, {}, [{}], {})", slice("A", at, w), places, predicate)}, count});
  Tensor a2{"A", t, {4, 16}, any()}, c2{"C", t, {4, 16}, output()};
  std::string row = fmt::format("i // {}", 16 / w), column = fmt::format("i % {} * {}", 16 / w, w);
  auto item2 = [&](const char* b) {
    return w == 1 ? fmt::format("{}[{}, {}]", b, row, column) : fmt::format("{0}[{1}, {2}:{2} + {3}]", b, row, column, w);
  };
  add_shape(cells, form, group, t, w, {"two dimensions", 1, {a2, c2}, copy(item2("C"), item2("A")), count});
}

void add_lanes(std::vector<Cell>& cells, const Form& form, DataType t, int w) {
  const char* group = "vectors";
  int64_t n = kElements, count = n / w;
  Tensor a{"A", t, {n}, any()}, b{"B", t, {n}, any()}, c{"C", t, {n}, output()}, one{"C", t, {count}, output()};
  std::string at = fmt::format("i * {}", w), va = slice("A", at, w), vb = slice("B", at, w), to = slice("C", at, w) + " = ";
  int half = w / 2;
  add_shape(cells, form, group, t, w, {"Broadcast", 2, {a, c}, {to + fmt::format("T.Broadcast(A[i], {})", w)}, count});
  add_shape(cells, form, group, t, w,
            {"Shuffle, reversed", 2, {a, c}, {to + fmt::format("T.Shuffle([{}], [{}])", va, numbers(w - 1, -1, w))}, count});
  add_shape(cells, form, group, t, w,
            {"Shuffle of two vectors", 2, {a, b, c}, {to + fmt::format("T.Shuffle([{}, {}], [{}])", va, vb, numbers(half, 1, w))}, count});
  add_shape(cells, form, group, t, w,
            {"Shuffle of scalars",
             2,
             {a, c},
             {to + fmt::format(
                       "T.Shuffle([{}], [{}])",
                       [&] {
                         std::string all;
                         for (int k = 0; k < w; ++k) all += fmt::format("{}A[{} + {}]", k ? ", " : "", at, w - 1 - k);
                         return all;
                       }(),
                       numbers(0, 1, w))},
             count});
  add_shape(cells, form, group, t, w, {"Shuffle, one lane", 2, {a, one}, {fmt::format("C[i] = T.Shuffle([{}], [{}])", va, w - 1)}, count});
  add_shape(cells, form, group, t, w,
            {"Bind of a vector", 2, {a, c}, {fmt::format("v: T.{} = {}", vector_type(t, w), va), to + "v"}, count});
  add_shape(cells, form, group, t, w,
            {"Let of a vector",
             2,
             {a, c},
             {fmt::format("v = T.{}()", vector_type(t, w)), to + fmt::format("T.Let(v, where={{v: {}}})", va)},
             count});
  Tensor halves{"C", t, {n / 2}, output()}, wide{"C", t, {2 * n}, output()};
  std::string half_at = fmt::format("i * {}", half);
  for (auto [name, op] : {std::pair{"tirx.vectorlow", ir::Op::tirx_vectorlow}, {"tirx.vectorhigh", ir::Op::tirx_vectorhigh}}) {
    std::string call = fmt::format("T.call_intrin(\"{}\", \"{}\", {})", vector_type(t, half), name, va);
    if (w > 1) add_shape(cells, form, group, t, w, {name, 2, {a, halves}, {slice("C", half_at, half) + " = " + call}, count}, op);
  }
  std::string combine = fmt::format("T.call_intrin(\"{}\", \"tirx.vectorcombine\", {}, {})", vector_type(t, 2 * w), va, vb);
  if (w <= 8) {
    add_shape(cells, form, group, t, w,
              {"tirx.vectorcombine", 1, {a, b, wide}, {slice("C", fmt::format("i * {}", 2 * w), 2 * w) + " = " + combine}, count},
              ir::Op::tirx_vectorcombine);
  }
  if (t.is_integer()) {
    Tensor start{"A", t, {n}, range(0, 40)};
    std::string ramp = fmt::format("T.Ramp(A[i], T.{}(3), {})", ir::to_string(t), w);
    add_shape(cells, form, group, t, w, {"Ramp", 2, {start, c}, {to + ramp}, count});
  }
}

}  // namespace

void add_vectors(std::vector<Cell>& cells, const Form& form) {
  for (DataType t : value_types() + storage_types()) {
    for (int w : kWidths) add_memory(cells, form, t, w);
  }
  for (DataType t : value_types()) {
    for (int w : kWidths) add_lanes(cells, form, t, w);
  }
}

}  // namespace kiln::conformance
