#include "backends/cuda/intrinsics.h"

#include "backends/cuda_device.h"

namespace kiln::cuda {

using ir::Op;

namespace {

constexpr HelperCall kCalls[] = {
    {Op::tirx_ptx_commit_group, "cp_async_commit", "", 80},
    {Op::tirx_ptx_wait_group, "cp_async_wait", "v", 80},
    {Op::tirx_ptx_cp_async_barrier, "cp_async_mbarrier_arrive", "&", 80},
    {Op::tl_ptx_cp_async_barrier_noinc, "cp_async_mbarrier_arrive_noinc", "&", 80},
    {Op::tirx_ptx_init_barrier_thread_count, "mbarrier_init", "&v", 90},
    {Op::tirx_ptx_arrive_barrier, "mbarrier_arrive", "&", 90},
    {Op::tl_ptx_arrive_cluster_barrier, "mbarrier_arrive_cluster", "&v", 90},
    {Op::tirx_ptx_arrive_barrier_expect_tx, "mbarrier_arrive_expect_tx", "&v", 90},
    {Op::tl_mbarrier_expect_tx, "mbarrier_expect_tx", "&v", 90},
    {Op::tl_mbarrier_wait_parity, "mbarrier_wait_parity", "&v", 90},
    {Op::tl_ptx_fence_barrier_init, "fence_barrier_init", "", 90},
    {Op::tl_fence_proxy_async, "fence_proxy_async", "", 90},
    {Op::tl_tl_shuffle_elect, "elect_thread", "t"},
    {Op::tl_prefetch_tma_descriptor, "prefetch_tensor_map", "p", 90},
    {Op::tl_tma_store_arrive, "bulk_commit", "", 90},
    {Op::tl_tma_store_wait, "bulk_wait", "tt", 90},
    {Op::tl_clc_try_cancel, "clc_try_cancel", "p&", 100},
    {Op::tl_clc_try_cancel_multicast, "clc_try_cancel_multicast", "p&", 100},
    {Op::tl_clc_is_canceled, "clc_is_canceled", "p", 100},
    {Op::tl_clc_get_first_ctaid_x, "clc_first_block_x", "p", 100},
    {Op::tl_clc_get_first_ctaid_y, "clc_first_block_y", "p", 100},
    {Op::tl_clc_get_first_ctaid_z, "clc_first_block_z", "p", 100},
    {Op::tl_cluster_arrive, "cluster_arrive", "", 90},
    {Op::tl_cluster_arrive_relaxed, "cluster_arrive_relaxed", "", 90},
    {Op::tl_cluster_wait, "cluster_wait", "", 90},
    {Op::tl_cluster_sync, "cluster_sync", "", 90},
    {Op::tirx_cuda__cluster_sync, "cluster_sync", "", 90},
    {Op::tl_block_rank_in_cluster, "cluster_block_rank", "", 90},
    {Op::tl_pdl_trigger, "launch_dependents", "", 90},
    {Op::tl_pdl_sync, "wait_for_dependencies", "", 90},
    {Op::tl_named_barrier_arrive, "named_barrier_arrive", "vv"},
    {Op::tl_warpgroup_arrive, "wgmma_fence", "", 90},
    {Op::tl_warpgroup_commit_batch, "wgmma_commit", "", 90},
    {Op::tl_warpgroup_wait, "wgmma_wait", "t", 90},
    {Op::tl_wait_wgmma, "wgmma_wait", "t", 90},
    {Op::tl_increase_descriptor_offset, "advance_descriptor", "vv", 90},
    {Op::tl_any_sync, "__any_sync", "vv"},
    {Op::tl_all_sync, "__all_sync", "vv"},
    {Op::tl_ballot_sync, "__ballot_sync", "vv"},
    {Op::tirx_cuda__any_sync, "__any_sync", "vv"},
    {Op::tirx_cuda__ballot_sync, "__ballot_sync", "vv"},
    {Op::tl_activemask, "__activemask", ""},
    {Op::tirx_cuda____activemask, "__activemask", ""},
    {Op::tirx_tvm_warp_activemask, "__activemask", ""},
    {Op::tl_match_any_sync, "__match_any_sync", "vv"},
    {Op::tl_match_all_sync, "match_all", "vv"},
    {Op::tl_syncthreads_and, "__syncthreads_and", "v"},
    {Op::tl_syncthreads_or, "__syncthreads_or", "v"},
    {Op::tl_syncthreads_count, "__syncthreads_count", "v"},
    {Op::tl_shfl_sync, "__shfl_sync", "vvvv"},
    {Op::tl_shfl_xor_sync, "__shfl_xor_sync", "vvvv"},
    {Op::tl_shfl_up_sync, "__shfl_up_sync", "vvvv"},
    {Op::tl_shfl_down_sync, "__shfl_down_sync", "vvvv"},
    {Op::tirx_cuda____shfl_sync, "__shfl_sync", "vvvv"},
    {Op::tirx_cuda____shfl_xor_sync, "__shfl_xor_sync", "vvvv"},
    {Op::tirx_cuda____shfl_up_sync, "__shfl_up_sync", "vvvv"},
    {Op::tirx_cuda____shfl_down_sync, "__shfl_down_sync", "vvvv"},
    {Op::tl_sync_grid, "grid_sync", ""},
    {Op::tirx_cuda__grid_sync, "grid_sync", ""},
    {Op::tl_get_lane_idx, "lane_index", "o"},
    {Op::tl_get_warp_idx, "warp_index", "o"},
    {Op::tl_get_warp_idx_sync, "warp_index_sync", "o"},
    {Op::tl_get_warp_group_idx, "warp_group_index", "oo"},
    {Op::tl_pow_of_int, "pow_of_int", "vt"},
    {Op::tl___fns, "__fns", "vvv"},
    {Op::tirx_cuda__thread_rank, "thread_rank", ""},
    {Op::tirx_cuda__clock64, "clock64", ""},
    {Op::tirx_cuda__cta_sync, "__syncthreads", ""},
    {Op::tirx_cuda__warp_sync, "__syncwarp", ""},
    {Op::tirx_cuda__thread_fence, "__threadfence", ""},
    {Op::tirx_cuda__syncthreads_and, "__syncthreads_and", "v"},
    {Op::tirx_cuda__syncthreads_or, "__syncthreads_or", "v"},
    {Op::tirx_cuda__nano_sleep, "__nanosleep", "v"},
    {Op::tirx_cuda__ffs_u32, "__ffs", "v"},
    {Op::tirx_cuda__float_as_uint, "__float_as_uint", "v"},
    {Op::tirx_cuda__uint_as_float, "__uint_as_float", "v"},
    {Op::tirx_cuda__fdividef, "__fdividef", "vv"},
    {Op::tirx_cuda__reduce_add_sync_u32, "__reduce_add_sync", "vv", 80},
    {Op::tirx_cuda__reduce_min_sync_u32, "__reduce_min_sync", "vv", 80},
    {Op::tirx_tvm_warp_shuffle, "__shfl_sync", "vvvv-"},
    {Op::tirx_tvm_warp_shuffle_xor, "__shfl_xor_sync", "vvvv-"},
    {Op::tirx_tvm_warp_shuffle_up, "__shfl_up_sync", "vvvv-"},
    {Op::tirx_tvm_warp_shuffle_down, "__shfl_down_sync", "vvvv-"},
};

}  // namespace

std::string spelling(const MathFunction& f, ir::DataType t) {
  if (f.is_fast && t.bits != 64) return "__" + std::string(f.name) + "f";
  return emit::common_spelling(f, t);
}

const HelperCall* helper_call(Op op) {
  for (const HelperCall& c : kCalls) {
    if (c.op == op) return &c;
  }
  return nullptr;
}

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> all = {
      {"int_limits", device::int_limits, {"INT32_MIN", "INT64_MIN"}},
      {"f16", device::f16, {"f16", "f16_to_f32", "f32_to_f16"}},
      {"int_to_f16", device::int_to_f16, {"i32_to_f16", "u32_to_f16"}},
      {"f16_arithmetic", device::f16_arithmetic, {"f16_add", "f16_sub", "f16_mul"}},
      {"bf16", device::bf16, {"bf16", "bf16_to_f32", "f32_to_bf16"}, 75, 79},
      {"bf16_sm80", device::bf16_sm80, {"bf16", "bf16_to_f32", "f32_to_bf16"}, 80},
      {"bf16_arithmetic", device::bf16_arithmetic, {"bf16_add", "bf16_sub", "bf16_mul"}, 75, 89},
      {"bf16_arithmetic_sm90", device::bf16_arithmetic_sm90, {"bf16_add", "bf16_sub", "bf16_mul"}, 90},
      {"halves", device::halves, {"pair_of_halves", "first_half", "second_half"}},
      {"f16x2", device::f16x2, {"f16x2_add", "f16x2_sub", "f16x2_mul", "f16x2_fma", "f16x2_abs"}},
      {"f16x2_extrema", device::f16x2_extrema, {"f16x2_max", "f16x2_min", "f16x2_max_nan", "f16x2_min_nan"}, 80},
      {"bf16x2", device::bf16x2, {"bf16x2_fma", "bf16x2_abs", "bf16x2_max", "bf16x2_min", "bf16x2_max_nan", "bf16x2_min_nan"}, 80},
      {"bf16x2_sums", device::bf16x2_sums, {"bf16x2_add", "bf16x2_sub", "bf16x2_mul"}, 80, 89},
      {"bf16x2_sums_sm90", device::bf16x2_sums_sm90, {"bf16x2_add", "bf16x2_sub", "bf16x2_mul"}, 90},
      {"f32x2", device::f32x2, {"f32x2_add", "f32x2_sub", "f32x2_mul", "f32x2_fma", "pair_of_floats", "first_float", "second_float"}, 100},
      {"f8_e4m3", device::f8_e4m3, {"f8_e4m3", "f8_e4m3_to_f32", "f32_to_f8_e4m3", "f8_e4m3_to_f16"}, 75, 88},
      {"f8_e4m3_sm89", device::f8_e4m3_sm89, {"f8_e4m3", "f8_e4m3_to_f32", "f32_to_f8_e4m3", "f8_e4m3_to_f16"}, 89},
      {"f8_e5m2", device::f8_e5m2, {"f8_e5m2", "f8_e5m2_to_f32", "f32_to_f8_e5m2", "f8_e5m2_to_f16"}, 75, 88},
      {"f8_e5m2_sm89", device::f8_e5m2_sm89, {"f8_e5m2", "f8_e5m2_to_f32", "f32_to_f8_e5m2", "f8_e5m2_to_f16"}, 89},
      {"f8_e4m3x2", device::f8_e4m3x2, {"f32x2_to_f8_e4m3x2", "f8_e4m3x2_to_f16x2"}, 89},
      {"f8_e5m2x2", device::f8_e5m2x2, {"f32x2_to_f8_e5m2x2"}, 89},
      {"small_float", device::small_float, {"decode_magnitude", "encode_magnitude"}},
      {"f8_e3m4", device::f8_e3m4, {"f8_e3m4", "f8_e3m4_to_f32", "f32_to_f8_e3m4"}},
      {"f8_e4m3b11fnuz", device::f8_e4m3b11fnuz, {"f8_e4m3b11fnuz", "f8_e4m3b11fnuz_to_f32", "f32_to_f8_e4m3b11fnuz"}},
      {"f8_e4m3fnuz", device::f8_e4m3fnuz, {"f8_e4m3fnuz", "f8_e4m3fnuz_to_f32", "f32_to_f8_e4m3fnuz"}},
      {"f8_e5m2fnuz", device::f8_e5m2fnuz, {"f8_e5m2fnuz", "f8_e5m2fnuz_to_f32", "f32_to_f8_e5m2fnuz"}},
      {"f8_e8m0fnu", device::f8_e8m0fnu, {"f8_e8m0fnu", "f8_e8m0fnu_to_f32", "f32_to_f8_e8m0fnu"}},
      {"f6_e2m3", device::f6_e2m3, {"f6_e2m3", "f6_e2m3_to_f32", "f32_to_f6_e2m3"}},
      {"f6_e3m2", device::f6_e3m2, {"f6_e3m2", "f6_e3m2_to_f32", "f32_to_f6_e3m2"}},
      {"f4_e2m1", device::f4_e2m1, {"f4_e2m1", "f4_e2m1_to_f32", "f32_to_f4_e2m1"}},
      {"round_to_odd", device::round_to_odd, {"f64_to_f32_odd", "i32_to_f32_odd", "u32_to_f32_odd", "i64_to_f32_odd", "u64_to_f32_odd"}},
      {"floor_div", device::floor_div, {"floor_div_i32", "floor_mod_i32", "floor_div_i64", "floor_mod_i64"}},
      {"minmax_nan", device::minmax_nan, {"min_nan_f32", "max_nan_f32", "min_nan_f64", "max_nan_f64"}},
      {"math", device::math, {"sigmoid_f32", "sigmoid_f64", "rcp_f32", "rcp_f64"}},
      {"fail", device::assert, {"fail"}},
      {"debug_print", device::debug_print, {"debug_print_f64", "debug_print_i64", "debug_print_element_f64", "debug_print_element_i64"}},
      {"shared_address", device::shared_address, {"shared_address"}},
      {"int4", device::int4, {"to_i4", "to_u4"}},
      {"four_bits", device::four_bits, {"set_four_bits", "set_four_bits_atomic"}},
      {"named_barrier", device::named_barrier, {"named_barrier_sync"}},
      {"named_barrier_arrive", device::named_barrier_arrive, {"named_barrier_arrive"}},
      {"cp_async", device::cp_async, {"cp_async"}},
      {"cp_async_commit", device::cp_async_commit, {"cp_async_commit"}},
      {"cp_async_wait", device::cp_async_wait, {"cp_async_wait"}},
      {"cp_async_barrier", device::cp_async_barrier, {"cp_async_mbarrier_arrive", "cp_async_mbarrier_arrive_noinc"}},
      {"mbarrier",
       device::mbarrier,
       {"mbarrier_init", "mbarrier_arrive", "mbarrier_expect_tx", "mbarrier_arrive_expect_tx", "mbarrier_wait_parity"}},
      {"mbarrier_cluster", device::mbarrier_cluster, {"mbarrier_arrive_cluster"}},
      {"fence_barrier_init", device::fence_barrier_init, {"fence_barrier_init"}},
      {"fence_proxy_async", device::fence_proxy_async, {"fence_proxy_async"}},
      {"elect_sm75", device::elect_sm75, {"elect_thread"}, 75, 89},
      {"elect", device::elect, {"elect_thread"}, 90},
      {"tensor_map", device::tensor_map, {"tensor_map"}},
      {"prefetch_tensor_map", device::prefetch_tensor_map, {"prefetch_tensor_map"}},
      {"bulk_store", device::bulk_store, {"bulk_store"}},
      {"bulk_store_cluster", device::bulk_store_cluster, {"bulk_store_cluster"}},
      {"bulk_clear", device::bulk_clear, {"bulk_clear"}, 100},
      {"cluster_store", device::cluster_store, {"cluster_store"}, 90},
      {"clc", device::clc, {"clc_try_cancel", "clc_is_canceled", "clc_first_block_x", "clc_first_block_y", "clc_first_block_z"}, 100},
      {"clc_multicast", device::clc_multicast, {"clc_try_cancel_multicast"}, 100},
      {"bulk_commit", device::bulk_commit, {"bulk_commit"}},
      {"bulk_wait", device::bulk_wait, {"bulk_wait"}},
      {"cluster", device::cluster, {"cluster_arrive", "cluster_arrive_relaxed", "cluster_wait", "cluster_sync", "cluster_block_rank"}},
      {"grid_dependency", device::grid_dependency, {"launch_dependents", "wait_for_dependencies"}},
      {"setmaxnreg", device::setmaxnreg, {"raise_register_limit", "lower_register_limit"}},
      {"wgmma_sync", device::wgmma_sync, {"wgmma_fence", "wgmma_commit", "wgmma_wait"}},
      {"wgmma_operands", device::wgmma_operands, {"fence_registers"}},
      {"wgmma_descriptor", device::wgmma_descriptor, {"wgmma_descriptor"}},
      {"tcgen05_descriptor", device::tcgen05_descriptor, {"tcgen05_descriptor"}, 100},
      {"tcgen05_fence", device::tcgen05_fence, {"tcgen05_fence_before", "tcgen05_fence_after"}, 100},
      {"transpose_scales", device::transpose_scales, {"transpose_scales"}, 100},
      {"advance_descriptor", device::advance_descriptor, {"advance_descriptor"}},
      {"dp4a", device::dp4a, {"dp4a"}},
      {"match_all", device::match_all, {"match_all"}},
      {"thread_index", device::thread_index, {"thread_rank", "lane_index", "warp_index", "warp_index_sync", "warp_group_index"}},
      {"grid_sync", device::grid_sync, {"grid_sync"}},
      {"pow_of_int", device::pow_of_int, {"pow_of_int"}},
      {"any_of", device::any_of, {"any_of", "all_of"}},
      {"philox",
       device::philox,
       {"philox", "philox_block", "random_init", "random_u32", "random_bits", "random_uniform_f32", "random_uniform_f64",
        "random_uniform_pair_f64", "random_normal_f32", "random_normal_f64"}},
      {"swizzled_block", device::swizzled_block, {"swizzled_block_rows", "swizzled_block_columns"}},
      {"scan", device::scan, {"scan_line", "scan_1d", "scan_2d", "scan_as_is", "scan_by"}},
  };
  return all;
}

std::string small_float_name(ir::DataType t) {
  if (t.element() == ir::kFloat16) return "f16";
  if (t.element() == ir::kBFloat16) return "bf16";
  if (t.code == ir::TypeCode::kFloat8E4M3FN) return "f8_e4m3";  // one format under two names
  std::string name = to_string(t.element());                    // "float8_e5m2", "float6_e2m3fn"
  bool has_suffix = t.bits < 8 && name.ends_with("fn");
  return "f" + name.substr(5, name.size() - 5 - (has_suffix ? 2 : 0));
}

std::string type_name(ir::DataType t) {
  if (t.is_void()) return "void";
  if (t.is_handle()) return "void*";
  if (t.is_bool()) return "bool";
  if (t.is_integer()) {
    std::string prefix = t.is_uint() ? "unsigned" : "";
    auto named = [&](std::string_view name) { return prefix + (prefix.empty() ? "" : " ") + std::string(name); };
    switch (t.bits) {
      case 4:  // sign or zero extended
      case 8: return t.is_uint() ? "unsigned char" : "signed char";
      case 16: return named("short");
      case 32: return t.is_uint() ? "unsigned" : "int";
      default: return named("long long");
    }
  }
  if (t.code == ir::TypeCode::kFloat && t.bits == 32) return "float";
  if (t.code == ir::TypeCode::kFloat && t.bits == 64) return "double";
  return small_float_name(t);
}

bool has_type(ir::DataType t) {
  if (t.is_integer()) return t.bits == 4 || t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  return t.is_floating() || t.is_bool() || t.code == ir::TypeCode::kHandle;
}

bool is_macro_of_cuda(std::string_view name) {
  bool api = name.size() > 4 && name.starts_with("cuda") && name[4] >= 'A' && name[4] <= 'Z';  // cudaStreamDefault, cudaHostAllocMapped
  return api || name.starts_with("CUDA") || name.starts_with("CU_") || name.starts_with("NV_");
}

bool is_reserved_to_cuda(std::string_view name) { return is_macro_of_cuda(name) || name.starts_with("CU"); }

const emit::Names& reserved_names() {
  static const emit::Names all = [] {
    emit::Names names;
    std::string_view words =
        // C++20
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const "
        "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else "
        "enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr "
        "operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static static_assert "
        "static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void "
        "volatile wchar_t while xor xor_eq final override import module restrict typeof "
        // CUDA's variables, types and functions
        "threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 cudaError_t cudaStream_t size_t ptrdiff_t clock_t ushort uint ulong uchar "
        "half half2 __half nv_bfloat16 min max abs labs llabs umin umax ullmin ullmax llmin llmax printf assert malloc free memcpy memset "
        "memmove memcmp strlen strcpy strcat strcmp clock clock64 main std fma signbit isnan isinf isfinite isnormal isgreater isless "
        "isunordered frexp frexpf modf modff logb logbf ilogb ilogbf scalbn scalbnf scalbln scalblnf nan nanf norm normf rnorm rhypot "
        "sincos sincosf sincospi sinpi sinpif cospi cospif tanpi cyl_bessel_i0 cyl_bessel_i1 j0 j1 jn y0 y1 yn j0f j1f y0f y1f erfinv "
        "erfcinv erfcx normcdf normcdfinv rcbrt nearbyintf lrint lrintf llrint llrintf lround lroundf llround llroundf remquo remquof "
        "atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr atomicXor exit abort "
        "cyl_bessel_i0f cyl_bessel_i1f erfcinvf erfcxf erfinvf fdivide fdividef jnf ynf norm3d norm3df norm4d norm4df normcdff normcdfinvf "
        "rcbrtf rhypotf rnormf rnorm3d rnorm3df rnorm4d rnorm4df sincospif libraryPropertyType MAJOR_VERSION MINOR_VERSION PATCH_LEVEL "
        "va_list va_start va_end va_arg va_copy saturate dynamic_shared block "
        // macros that headers define
        "NULL INFINITY NAN HUGE_VAL HUGE_VALF EOF BUFSIZ RAND_MAX EXIT_SUCCESS EXIT_FAILURE CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN "
        "UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX FLT_MAX "
        "FLT_MIN DBL_MAX DBL_MIN INT32_MAX INT64_MAX UINT32_MAX UINT64_MAX linux unix i386 errno stdin stdout stderr";
    for (size_t at = 0; at < words.size();) {
      size_t end = words.find(' ', at);
      if (end == std::string_view::npos) end = words.size();
      if (end > at) names.emplace(words.substr(at, end - at));
      at = end + 1;
    }
    for (const char* vector :
         {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float", "double"}) {
      for (const char* lanes : {"1", "2", "3", "4"})
        names.insert(std::string(vector) + lanes), names.insert("make_" + std::string(vector) + lanes);
    }
    for (const MathFunction& f : emit::math_functions()) {
      for (const char* suffix : {"", "f", "l"}) names.insert(std::string(f.name) + suffix);
    }
    for (std::string_view name : intrinsics::function_names()) names.emplace(name);
    for (const Helper& h : helpers()) names.insert(h.names.begin(), h.names.end());
    return names;
  }();
  return all;
}

}  // namespace kiln::cuda
