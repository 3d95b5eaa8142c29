// Checks of what kernels of thread blocks have, whatever the architecture: scopes, thread indices, operators, and functions that tile
// compilers name for GPUs. A codegen may well have less.
#pragma once

#include <string>
#include <string_view>

#include "check/report.h"

namespace kiln::check {

// A buffer's storage scope, and a constant size where the scope asks for one. `dynamic` counts the allocations in scope shared.dyn of a
// kernel, which has one.
void simt_allocation(Report& report, const ir::AllocBuffer* a, int& dynamic);
// "threadIdx.x", ..., "blockIdx.z".
void simt_thread_index(Report& report, std::string_view tag, ir::SpanId span);
// The attribute threadblock_swizzle_pattern.
void simt_swizzle(Report& report, const ir::Attr* a);

// Whether the call is of an operator that is looked at here: those that intrinsics::prepare rewrites but atomics of one element and
// reductions, copies by cp.async, barriers and hints. What is wrong with it is reported.
bool simt_operator(Report& report, const ir::Call* c);

// Whether the external function is one of those that tile compilers name for GPUs: math functions, intrinsics, printf and prints of values.
// What is wrong with the call is reported.
bool simt_function(Report& report, const ir::Call* c, const std::string& name);

}  // namespace kiln::check
