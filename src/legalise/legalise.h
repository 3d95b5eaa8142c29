// Shared passes that bring a function into the subset which a target's language can say. Each is a free function over one function; none
// can fail: what a target cannot express is found before, by its check. Nodes are made in `arena`, which must outlive the result, as must
// the input.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "target/features.h"

namespace kiln::legalise {

// Operators that are others under a second name (tl.add2, tl.ieee_add rounding to nearest, tl.clamp, tirx.likely, ...) become those.
const ir::Function* expand_operators(Arena& arena, const ir::Function* f);

// A name for a floating literal is that literal: what a compiler makes of one value for all lanes of a vector.
const ir::Function* inline_literals(Arena& arena, const ir::Function* f);

// Loads and stores get one index: several are flattened by the buffer's strides, or by its shape when it has none.
const ir::Function* flatten_indices(Arena& arena, const ir::Function* f);

// Contiguous vector loads and stores of memory outside the registers, where they are aligned for it, become accesses of up to
// Features::vector_access_bytes: an Attr "kiln.vector_access" (its value: bytes of one access) around a Store of a Load, one of which is an
// array in scope "local". Parameters are taken to be aligned to the widest access.
const ir::Function* vector_accesses(Arena& arena, const ir::Function* f, const Features& features);

// No expression has lanes any more, but in an Attr "kiln.vector_access": a vector statement becomes a loop over its lanes, of kind
// kVectorized, a vector variable an array in scope "local".
const ir::Function* split_vectors(Arena& arena, const ir::Function* f);

// Calls that do more than give a value (updates, shuffles, external functions) become a Bind before the statement, where a later pass or
// the printed text may evaluate them more than once: in bounds of loops, indices of stores, vectors, floor divisions and tests for NaN.
// Comes before any pass that copies an expression; each backend calls it first.
const ir::Function* bind_effects(Arena& arena, const ir::Function* f);

// Let expressions, atomic updates (tl.atomic_*, tirx.atomic_add) and lazy expressions that contain one become statements before the
// statement that uses them. Atomic updates become plain ones, inside an Attr "kiln.atomic" when they are in a parallel loop; where the
// target has atomics they stay as they are.
// Calls for which `is_statement` says so, but those that are a statement or bound to a variable already, become a Bind before it too.
const ir::Function* hoist_effects(Arena& arena, const ir::Function* f, const Features& features,
                                  bool (*is_statement)(const ir::Call*) = nullptr);

// Arithmetic and math on formats that the target only stores (Features::float16_arithmetic, bfloat16_arithmetic; float8 never has
// arithmetic) is done in float32 and rounded after each operation. Casts from such a format go through float32, which is exact; casts to it
// stay.
const ir::Function* widen_floats(Arena& arena, const ir::Function* f, const Features& features);

// Arithmetic on 8- and 16-bit integers is done in int32 and wrapped after each operation that can leave the range.
const ir::Function* widen_integers(Arena& arena, const ir::Function* f, const Features& features);

// Floor division of unsigned values truncates; by a positive power of two it is a shift, the modulo a mask; of floats it is floor(a / b).
// What stays a kFloorDiv or kFloorMod has signed integer operands.
const ir::Function* lower_floor_division(Arena& arena, const ir::Function* f);

// What an index adds up from terms that no loop around it changes is added to the pointer before that loop, once: to "A_thread" where it
// differs between threads, to "A_block" where it does not. Wants one index everywhere, and no vector but in an Attr "kiln.vector_access".
// For targets whose compiler unrolls loops; legalise() leaves it to them.
const ir::Function* hoist_addresses(Arena& arena, const ir::Function* f);

// Thread and block indices that have no name in the user's program are tx, bx, ...; what an expression takes of threadIdx.x, a warp, a
// warpgroup or the lane in a warp, has that name. For targets whose warps are 32 threads; wants no vector but in an Attr
// "kiln.vector_access", and comes after hoist_addresses, which looks for threadIdx.x.
const ir::Function* name_threads(Arena& arena, const ir::Function* f);

// Runs the passes that `features` asks for.
const ir::Function* legalise(Arena& arena, const ir::Function* f, const Features& features);

}  // namespace kiln::legalise
