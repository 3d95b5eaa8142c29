#include "legalise/legalise.h"

namespace kiln::legalise {

const ir::Function* legalise(Arena& arena, const ir::Function* f, const Features& features) {
  f = expand_operators(arena, f);  // first: the others know only the plain operators
  f = inline_literals(arena, f);
  f = flatten_indices(arena, f);
  if (features.vector_access_bytes > 0) f = vector_accesses(arena, f, features);  // while a vector is still one expression
  if (features.max_vector_lanes == 1) f = split_vectors(arena, f);  // before hoisting: a Let of lanes must end inside the lane loop
  f = hoist_effects(arena, f, features);
  if (!features.floor_division) f = lower_floor_division(arena, f);  // before widening: a power of two is seen without casts around it
  f = widen_floats(arena, f, features);
  return widen_integers(arena, f, features);
}

}  // namespace kiln::legalise
