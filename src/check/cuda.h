// Checks of what modules that are written for CUDA have, whatever the architecture. The codegen may well have less.
#pragma once

#include <string>
#include <string_view>

#include "check/report.h"

namespace kiln::check {

// A buffer's storage scope, and a constant size where the scope asks for one. `dynamic` counts the allocations in scope shared.dyn of a
// kernel, which has one.
void cuda_allocation(Report& report, const ir::AllocBuffer* a, int& dynamic);
// "threadIdx.x", ..., "blockIdx.z".
void cuda_thread_index(Report& report, std::string_view tag, ir::SpanId span);
// The attribute threadblock_swizzle_pattern.
void cuda_swizzle(Report& report, const ir::Attr* a);

// Whether the call is of an operator that is looked at here: those that intrinsics::prepare rewrites but atomics of one element and
// reductions, copies by cp.async, barriers and hints. What is wrong with it is reported.
bool cuda_operator(Report& report, const ir::Call* c);

// Whether the external function is one that CUDA or its tile compilers have: math functions, intrinsics, printf and prints of values.
// What is wrong with the call is reported.
bool cuda_function(Report& report, const ir::Call* c, const std::string& name);

}  // namespace kiln::check
