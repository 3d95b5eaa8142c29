// TVM's matrix fragments: storage scopes wmma.matrix_a, wmma.matrix_b and wmma.accumulator, and the operators on them.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"

namespace kiln::intrinsics {

// What a fragment is: 'a', 'b' or 'c' (an accumulator), its shape and layout, as its loads say, and its format.
struct Fragment {
  char role = 0;
  std::string shape, layout, type;
  bool known = true;  // its loads and fills agree

  int elements() const;
  // Of one lane, of 32 bits, or of 64 for f64. An element is in one lane, those of f16 operands in two (PTX ISA, "Warp-level matrix
  // fragments for WMMA").
  int registers() const;
  ir::DataType register_type() const;
};

// PTX's name of a layout ("row_major": "row"), or empty.
std::string fragment_layout(std::string_view name);
// Whether the operator is tirx.tvm_mma_sync or tirx.tvm_bmma_sync.
bool is_fragment_product(const ir::Call* c);

// Fragments become arrays of registers, and operators on them name their shape, layouts and formats in further arguments: a fill, load or
// store its role (as in Fragment), shape and format; a product the shape, the layouts of its two factors, and the formats of both and of
// the accumulator. A fragment of which its loads do not tell these stays as it is.
const ir::Function* lower_fragments(Arena& arena, const ir::Function* f);

}  // namespace kiln::intrinsics
