// A corpus case: a module with its launches, inputs and expected outputs (tests/corpus/README.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases/expression.h"
#include "cases/npy.h"
#include "ir/dtype.h"

namespace kiln::cases {

struct Alternative {
  std::string policy;    // empty: the only expected value
  std::string expected;  // path of the array
};

// True content of a buffer whose file is a placeholder: elements that differ from `fill`.
struct Sparse {
  double fill = 0;
  std::vector<std::pair<int64_t, double>> elements;
};

struct Param {
  std::string name;
  bool is_tensor = true;
  ir::DataType dtype;
  std::string input;                  // path; empty for a pure output
  std::vector<Alternative> expected;  // one of them must match; empty: not compared
  std::string dont_care;              // path of a mask; may be empty
  bool compare_bits = false;
  double rtol = 0, atol = 0;
  std::vector<std::string> shape;  // expressions
  Number value = int64_t{0};       // of a scalar
  std::optional<Sparse> sparse;
};

// Of runtime::TensorMap, by the same names; numbers and expressions.
struct TensorMapFields {
  bool im2col = false;
  std::string dtype, pixels, channels, interleave, swizzle, l2_promotion, oob_fill;
  std::vector<std::string> dims, strides, box, element_strides, lower, upper;
};

struct Argument {
  enum class Kind : uint8_t { kTensor, kScalar, kWorkspace, kTensorMap };
  Kind kind = Kind::kTensor;
  std::string name;               // of the parameter or the workspace; of a tensor map, of what it describes
  std::string value;              // expression of a scalar
  ir::DataType dtype;             // of a scalar
  std::string byte_offset = "0";  // expression
  TensorMapFields map;
};

struct Launch {
  std::string kernel;
  // Expressions: extents, innermost first (a missing one is 1), and bytes of dynamic shared memory.
  std::vector<std::string> grid, block, cluster;
  std::string shared_bytes = "0";
  std::string flops = "0";  // expression: operations, for rates; 0: not known
  std::vector<Argument> args;
};

struct Workspace {
  std::string name;
  ir::DataType dtype;
  std::vector<std::string> shape;
};

struct Case {
  std::string folder, module;  // paths
  std::string target;          // JSON of the target
  std::vector<Param> params;
  std::vector<Launch> launches;
  std::vector<Workspace> workspaces;
  Names sizes;  // dynamic sizes and scalar parameters
  bool compare = true;
  std::string expect_error, expect_or_error;          // patterns; may be empty
  std::vector<std::string> text_must, text_must_not;  // patterns of the printed source
};

// Reads FOLDER/case.json. A missing key or one of the wrong type is an error that names it.
Result<Case> read_case(const std::string& folder);

// The case folders that a path stands for: itself, or all below it, sorted.
Result<std::vector<std::string>> find_cases(const std::string& path);

}  // namespace kiln::cases
