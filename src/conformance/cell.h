// A cell of the conformance matrix: one operator or statement, one dtype, one vector width, as a small function with its inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/reference.h"
#include "ir/ir.h"

namespace kiln::conformance {

// Which values a tensor starts with.
struct Domain {
  enum class Kind : uint8_t {
    kOutput,       // a fixed pattern: the function writes it, or leaves it alone
    kAny,          // every kind of value: limits, subnormals, infinities, NaN, both zeros
    kRange,        // low to high, the ends included, with special values in between
    kPowersOfTwo,  // +-2^low to +-2^high
  };
  Kind kind = Kind::kOutput;
  double low = 0, high = 0;
  bool whole = false;      // integral values only
  bool nonzero = false;    // no zero of either sign
  bool one_zero = false;   // no negative zero
  bool no_lowest = false;  // not the lowest integer, which has no negative
};

struct Tensor {
  std::string name;  // of the buffer in the text
  ir::DataType dtype;
  std::vector<int64_t> shape;
  Domain domain;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

struct Cell {
  std::string group, row;  // "arithmetic", "Add"
  ir::DataType dtype;      // the column
  int width = 1;           // lanes
  std::string name;        // "add_float32_x4": the function, and how a person names the cell
  std::string text;        // TVMScript of its functions, as they stand inside the class; empty: `skip` says why
  std::vector<Tensor> tensors;
  uint64_t ulps = 0;             // how far a result may be from the reference, in steps of its format
  bool fails = false;            // an assertion of the function does not hold: the launch must report it
  ir::Op op = ir::Op::kUnknown;  // the operator that the row is about, if it is one
  std::string skip;
};

// Module text with these cells' functions.
std::string module_text(const std::vector<const Cell*>& cells);

// Initial content of tensor number `index` of the cell: the same for the same seed, name and index.
Memory initial(const Cell& cell, size_t index, uint64_t seed);

struct Form {
  bool thread_blocks = false;  // element loops are thread axes
};

// The whole matrix, in the order in which it is shown.
std::vector<Cell> all_cells(const Form& form);

// The parts of it, one file each.
void add_arithmetic(std::vector<Cell>& cells, const Form& form);
void add_functions(std::vector<Cell>& cells, const Form& form);
void add_casts(std::vector<Cell>& cells, const Form& form);
void add_vectors(std::vector<Cell>& cells, const Form& form);
void add_statements(std::vector<Cell>& cells, const Form& form);
// One skipped cell for each operator of the table that no cell before is about.
void add_rest(std::vector<Cell>& cells, const Form& form);

// ---- what the parts share -----------------------------------------------------------------------------------------

constexpr int64_t kElements = 64;  // of every input and output, unless the cell says otherwise
constexpr int kWidths[] = {1, 2, 4, 8, 16};

std::vector<ir::DataType> integer_types();
std::vector<ir::DataType> float_types();  // float16, bfloat16, float32, float64
std::vector<ir::DataType> float8_types();
std::vector<ir::DataType> storage_types();  // fewer than 8 bits
std::vector<ir::DataType> value_types();    // bool and all the above but the storage types
std::vector<ir::DataType> operator+(std::vector<ir::DataType> a, const std::vector<ir::DataType>& b);

Domain any();
Domain range(double low, double high);
Domain output();

// Element or vector number `i` (an expression) of a buffer: "A[i]", "A[i * 4:i * 4 + 4]".
std::string item(const std::string& buffer, const std::string& i, int width);

// The text of a function: its parameters are the tensors, `body` are its lines, each with its own indentation from 0.
std::string function_text(const Cell& cell, const std::vector<std::string>& body);
// Lines that run `lines` for i = 0 ... count - 1: a loop, or thread axes.
std::vector<std::string> element_loop(const Form& form, int64_t count, const std::vector<std::string>& lines);

struct Row {
  std::string group, row;
  ir::Op op = ir::Op::kUnknown;
  uint64_t ulps = 0;
};
// A cell that computes C from A, B, ... element by element. `expression` names the operands {A}, {B}, {D}.
Cell elementwise(const Form& form, const Row& row, ir::DataType column, int width, ir::DataType result, const std::vector<Tensor>& operands,
                 const std::string& expression);
// Sets the name, from row, column and width.
void name_cell(Cell& cell);

}  // namespace kiln::conformance
