// Matrix instructions, tensor copies and tensor memory: each form that an architecture has becomes the instruction that the PTX ISA names
// and assembles; what it has not is refused by name. Many forms share a kernel, to be quick.
#include <gmock/gmock.h>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "import/import.h"
#include "ir/rewriter.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;

// Registers F, I, U, G, H, shared memory S, descriptors D and E, tensor memory's address t, barriers m, a tensor map M.
std::string kernel(const std::vector<std::string>& lines) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(M: T.handle(\"uint8x128\", \"grid_constant\"), A: T.handle(\"float16\", "
      "\"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
      "        A_1 = T.decl_buffer((4096,), \"float16\", data=A)\n";
  struct Array {
    const char *name, *dtype, *scope;
    int elements;
  };
  for (const Array& a : {Array{"F", "float32", "local", 256}, Array{"I", "int32", "local", 256}, Array{"U", "uint32", "local", 256},
                         Array{"G", "float64", "local", 32}, Array{"H", "float16", "local", 64}, Array{"S", "float16", "shared", 4096},
                         Array{"D", "uint64", "local.descriptor.wgmma", 1}, Array{"E", "uint64", "local.descriptor.tcgen05_smem", 1},
                         Array{"t", "uint32", "shared", 4}, Array{"m", "uint64", "shared.barrier", 2}}) {
    text += "        " + std::string(a.name) + " = T.alloc_buffer((" + std::to_string(a.elements) + ",), \"" + a.dtype + "\", scope=\"" +
            a.scope + "\")\n";
  }
  text += "        tx = T.launch_thread(\"threadIdx.x\", 128)\n";
  for (const std::string& line : lines) text += "        " + line + "\n";
  return text;
}

Arch arch_named(const std::string& arch) { return *arch_of(*Target::parse("cuda -arch=" + arch)); }

Result<Source> print(const std::vector<std::string>& lines, const std::string& arch) {
  auto module = parse_module(kernel(lines), "k.py");
  if (!module) return module.error();
  return print_source(**module, arch_named(arch));
}

struct Form {
  std::string call, instruction;
};

void expect_compiled(const std::string& arch, const std::vector<Form>& forms) {
  std::vector<std::string> lines;
  for (const Form& f : forms) lines.push_back(f.call);
  auto source = print(lines, arch);
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  auto artifacts = artifacts_of(*source, arch_named(arch));
  auto ptx = artifacts.at("ptx")();
  ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
  for (const Form& f : forms) {
    bool found = ptx->find(f.instruction + " ") != ptx->npos || ptx->find(f.instruction + ";") != ptx->npos;
    EXPECT_TRUE(found) << f.call << "\nhas no " << f.instruction;
  }
  auto cubin = artifacts.at("cubin")();
  EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
}

std::string refusal(const std::string& line, const std::string& arch) {
  auto source = print({line}, arch);
  return source ? "printed" : source.error().to_string();
}

std::string quoted(const std::string& s) { return "\"" + s + "\""; }
std::string registers_of(const std::string& format) {
  return format == "fp32" ? "F.data" : format == "fp64" ? "G.data" : format == "int32" ? "I.data" : "U.data";
}
std::string mma(const std::string& shape, const std::string& a, const std::string& b, const std::string& d,
                const std::string& layout_a = "row", const std::string& layout_b = "col", const std::string& rest = "T.bool(False)") {
  return "T.ptx_mma(\"float32\", " + quoted(shape) + ", " + quoted(layout_a) + ", " + quoted(layout_b) + ", " + quoted(a) + ", " +
         quoted(b) + ", " + quoted(d) + ", " + registers_of(a == "fp64" ? a : "") + ", 0, " + registers_of(a == "fp64" ? a : "") + ", 8, " +
         registers_of(d) + ", 0, " + rest + ")";
}
std::string mma_sp(const std::string& shape, const std::string& a, const std::string& d, int selector) {
  return "T.call_intrin(\"float32\", \"tirx.ptx_mma_sp\", " + quoted(shape) + ", \"row\", \"col\", " + quoted(a) + ", " + quoted(a) + ", " +
         quoted(d) + ", U.data, 0, U.data, 8, " + registers_of(d) + ", 0, U.data, 16, " + std::to_string(selector) + ", T.bool(False))";
}
std::string intrinsic(const std::string& name, const std::string& args) {
  return "T.call_intrin(\"handle\", \"tl." + name + "\", " + args + ")";
}

TEST(CudaInstruction, MmaOfEveryArchitecture) {
  std::vector<Form> turing = {
      {mma("m16n8k8", "fp16", "fp16", "fp16"), "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"},
      {mma("m16n8k8", "fp16", "fp16", "fp32"), "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
      {mma("m8n8k4", "fp16", "fp16", "fp32", "col", "row"), "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"},
      {mma("m8n8k4", "fp16", "fp16", "fp16", "row", "row"), "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16"},
      {mma("m8n8k16", "int8", "uint8", "int32"), "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32"},
      {mma("m8n8k16", "int8", "int8", "int32", "row", "col", "T.bool(True)"), "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32"},
      {mma("m8n8k32", "uint4", "int4", "int32"), "mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32"},
      {mma("m8n8k128", "int1", "int1", "int32", "row", "col", "T.bool(False), \"xor\""),
       "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc"},
      {"T.call_intrin(\"handle\", \"tl.ptx_mma_sm70\", \"m16n16k4\", \"row\", \"col\", \"fp16\", \"fp16\", \"fp32\", U.data, 0, U.data, 8, "
       "F.data, 0)",
       "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"},
  };
  std::vector<Form> ampere = {
      {mma("m16n8k16", "fp16", "fp16", "fp16"), "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"},
      {mma("m16n8k16", "fp16", "fp16", "fp32"), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
      {mma("m16n8k8", "bf16", "bf16", "fp32"), "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"},
      {mma("m16n8k16", "bf16", "bf16", "fp32"), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
      {mma("m16n8k4", "tf32", "tf32", "fp32"), "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"},
      {mma("m16n8k8", "tf32", "tf32", "fp32"), "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
      {mma("m8n8k4", "fp64", "fp64", "fp64"), "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"},
      {mma("m16n8k16", "uint8", "uint8", "int32"), "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32"},
      {mma("m16n8k32", "int8", "int8", "int32"), "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
      {mma("m16n8k32", "int4", "int4", "int32"), "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32"},
      {mma("m16n8k64", "uint4", "uint4", "int32"), "mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32"},
      {mma("m16n8k128", "int1", "int1", "int32", "row", "col", "T.bool(False), \"and\""),
       "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc"},
      {mma("m16n8k256", "int1", "int1", "int32", "row", "col", "T.bool(False), \"xor\""),
       "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"},
      {mma_sp("m16n8k16", "fp16", "fp32", 3), "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
      {mma_sp("m16n8k32", "fp16", "fp16", 1), "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"},
      {mma_sp("m16n8k32", "bf16", "fp32", 1), "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32"},
      {mma_sp("m16n8k8", "tf32", "fp32", 3), "mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
      {mma_sp("m16n8k16", "tf32", "fp32", 0), "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"},
      {mma_sp("m16n8k32", "int8", "int32", 1), "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
      {mma_sp("m16n8k64", "uint8", "int32", 0), "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.u8.u8.s32"},
      {mma_sp("m16n8k64", "int4", "int32", 1), "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"},
      {mma_sp("m16n8k128", "uint4", "int32", 0), "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.u4.u4.s32"},
  };
  std::vector<Form> ada = {
      {mma("m16n8k16", "e4m3", "e5m2", "fp32"), "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32"},
      {mma("m16n8k32", "e5m2", "e4m3", "fp32"), "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32"},
      {mma("m16n8k32", "e4m3", "e4m3", "fp16"), "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16"},
      {mma_sp("m16n8k64", "e4m3", "fp32", 0), "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"},
  };
  std::vector<Form> hopper = {
      {mma("m16n8k4", "fp64", "fp64", "fp64"), "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64"},
      {mma("m16n8k8", "fp64", "fp64", "fp64"), "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"},
      {mma("m16n8k16", "fp64", "fp64", "fp64"), "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64"},
  };
  expect_compiled("sm_75", turing);
  expect_compiled("sm_80", ampere);
  expect_compiled("sm_89", ada);
  expect_compiled("sm_90", hopper);
  // Later architectures have all of them.
  std::vector<Form> all = turing;
  for (const auto* more : {&ampere, &ada, &hopper}) all.insert(all.end(), more->begin(), more->end());
  expect_compiled("sm_100a", all);
}

TEST(CudaInstruction, MmaOfNarrowFormatsOnSm120a) {
  auto scaled = [](const char* shape, const char* kind, int scales, const char* format, const char* scale) {
    return intrinsic("ptx_mma_block_scale", "\"float32\", " + quoted(shape) + ", \"row\", \"col\", " + quoted(kind) + ", " +
                                                std::to_string(scales) + ", " + quoted(format) + ", " + quoted(format) + ", " +
                                                quoted(scale) +
                                                ", U.data, 0, U.data, 8, F.data, 0, T.address_of(U[20]), T.address_of(U[21]), 0, 1, 2, 1");
  };
  expect_compiled("sm_120a", {{mma("m16n8k32", "e2m1", "e3m2", "fp32"), "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32"},
                              {mma("m16n8k32", "e2m3", "e4m3", "fp16"), "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e4m3.f16"},
                              {scaled("m16n8k32", "mxf8f6f4", 1, "e5m2", "ue8m0"),
                               "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0"},
                              {scaled("m16n8k64", "mxf4", 2, "e2m1", "ue8m0"),
                               "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"},
                              {scaled("m16n8k64", "mxf4nvf4", 4, "e2m1", "ue4m3"),
                               "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"}});
}

std::string wgmma(const std::string& shape, const std::string& a, const std::string& d,
                  const std::string& orders = "T.bool(True), T.bool(True)", const std::string& signs = "1, 1") {
  return intrinsic("ptx_wgmma_ss", quoted(shape) + ", " + orders + ", " + quoted(a) + ", " + quoted(a) + ", " + quoted(d) +
                                       ", D.data, 0, D.data, 2, " + registers_of(d) + ", 0, 1, " + signs);
}

TEST(CudaInstruction, WgmmaTakesEveryFormatAndWidth) {
  std::vector<Form> forms = {
      {wgmma("m64n8k16", "fp16", "fp16"), "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"},
      {wgmma("m64n256k16", "bf16", "fp32", "T.bool(True), T.bool(False)"), "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"},
      {wgmma("m64n40k8", "tf32", "fp32"), "wgmma.mma_async.sync.aligned.m64n40k8.f32.tf32.tf32"},
      {wgmma("m64n248k32", "e4m3", "fp32"), "wgmma.mma_async.sync.aligned.m64n248k32.f32.e4m3.e4m3"},
      {wgmma("m64n16k32", "e5m2", "fp16"), "wgmma.mma_async.sync.aligned.m64n16k32.f16.e5m2.e5m2"},
      {wgmma("m64n24k32", "int8", "int32"), "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8"},
      {wgmma("m64n224k32", "uint8", "int32"), "wgmma.mma_async.sync.aligned.m64n224k32.s32.u8.u8"},
      {wgmma("m64n32k256", "int1", "int32"), "wgmma.mma_async.sync.aligned.m64n32k256.s32.b1.b1.and.popc"},
      {intrinsic("ptx_wgmma_rs", "\"m64n64k16\", T.bool(False), \"fp16\", \"fp16\", \"fp32\", U.data, 0, D.data, 0, F.data, 0, 1, 1, 1"),
       "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"},
      {intrinsic("ptx_wgmma_sp_ss",
                 "\"m64n64k32\", T.bool(True), T.bool(True), \"fp16\", \"fp16\", \"fp32\", D.data, 0, U.data, 0, 1, D.data, 0, "
                 "F.data, 0, 1, T.bool(True), T.bool(False)"),
       "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16"},
      {intrinsic("ptx_wgmma_sp_rs",
                 "\"m64n8k64\", T.bool(True), \"int8\", \"int8\", \"int32\", U.data, 0, U.data, 4, 0, D.data, 0, I.data, 0, 1, "
                 "T.bool(True), T.bool(True)"),
       "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8"},
  };
  expect_compiled("sm_90a", forms);
}

TEST(CudaInstruction, WgmmaSaysOrdersAndSigns) {
  auto text = [](const std::string& line) {
    auto source = print({line}, "sm_90a");
    return source ? source->text : source.error().to_string();
  };
  // d, a, b, scale of d, signs of a and b, transpose a and b.
  EXPECT_THAT(text(wgmma("m64n8k16", "fp16", "fp32", "T.bool(True), T.bool(False)")), HasSubstr("%4, %5, keep, 1, 1, 0, 1;"));
  EXPECT_THAT(text(wgmma("m64n8k16", "fp16", "fp32", "T.bool(False), T.bool(True)", "-1, 1")), HasSubstr("%4, %5, keep, -1, 1, 1, 0;"));
  EXPECT_THAT(text(wgmma("m64n8k16", "fp16", "fp32", "T.bool(True), T.bool(True)", "T.bool(True), T.bool(False)")),
              HasSubstr("%4, %5, keep, 1, -1, 0, 0;"));
  EXPECT_THAT(text(wgmma("m64n8k8", "tf32", "fp32")), HasSubstr("%4, %5, keep, 1, 1;"));
  EXPECT_THAT(text(wgmma("m64n8k32", "int8", "int32")), HasSubstr("%4, %5, keep;"));
}

TEST(CudaInstruction, CopiesOfMatrices) {
  expect_compiled(
      "sm_90",
      {{intrinsic("ptx_ldmatrix", "T.bool(False), 1, T.address_of(S[tx * 8]), T.address_of(U[0])"),
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16"},
       {intrinsic("ptx_ldmatrix", "T.bool(True), 4, T.address_of(S[tx * 8]), T.address_of(U[0])"),
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
       {"T.call_intrin(\"float16\", \"tirx.ptx_ldmatrix\", T.bool(False), 2, \".b16\", H.data, 2, S.data, tx * 8)",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16"},
       {intrinsic("ptx_stmatrix", "0, 2, T.address_of(S[tx * 8]), I[0], I[1]"), "stmatrix.sync.aligned.m8n8.x2.shared.b16"},
       {intrinsic("ptx_stmatrix", "1, 1, T.address_of(S[tx * 8]), I[0], \"m8n8\""), "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16"}});
  expect_compiled("sm_100a", {{intrinsic("ptx_stmatrix", "1, 2, T.address_of(S[tx * 8]), I[0], I[1], \"m16n8\""),
                               "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8"}});
}

TEST(CudaInstruction, AsynchronousCopiesByThreads) {
  auto tvm = [](const std::string& args) { return "T.call_intrin(\"void\", \"tirx.ptx_cp_async\", " + args + ")"; };
  std::string places = "T.address_of(S[tx * 8]), T.address_of(A_1[tx * 8]), ";
  expect_compiled("sm_90", {{intrinsic("ptx_cp_async", places + "8"), "cp.async.cg.shared.global"},
                            {intrinsic("ptx_cp_async", places + "4, tx < 7"), "cp.async.ca.shared.global"},
                            {tvm(places + "16"), "cp.async.cg.shared.global"},
                            {tvm(places + "4, tx < 7"), "cp.async.ca.shared.global"},
                            {tvm("S.data, tx * 4, A, tx * 4, 8, tx < 7"), "cp.async.ca.shared.global"},
                            {"T.call_intrin(\"void\", \"tirx.ptx_cp_async_barrier\", m[0])", "cp.async.mbarrier.arrive.shared::cta.b64"},
                            {intrinsic("ptx_cp_async_barrier_noinc", "m[0]"), "cp.async.mbarrier.arrive.noinc.shared::cta.b64"}});
  EXPECT_THAT(refusal(intrinsic("ptx_cp_async", places + "3"), "sm_80"), HasSubstr("a copy is of 4, 8 or 16 bytes"));
  EXPECT_THAT(refusal(tvm(places + "8"), "sm_75"), HasSubstr("it needs sm_80 or newer"));
}

TEST(CudaInstruction, TensorCopies) {
  std::string to = "M, m[0], T.address_of(S[0]), ";
  std::vector<Form> hopper = {
      {intrinsic("tma_load", to + "0, 0"), "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"},
      {intrinsic("tma_load", to + "0, 1, 2, 3, 4, 1"),
       "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"},
      {intrinsic("tma_load_im2col", to + "0, 1, 2, 3, 4, 5, 2"),
       "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint"},
      {intrinsic("tma_load_multicast", to + "3, 0, 1, 0"),
       "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"},
      {intrinsic("tma_load_multicast", to + "3, 0, 1, 2, 1"),
       "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"},
      {intrinsic("tma_load", "T.address_of(S[0]), T.address_of(A_1[0]), m[0], 128, 1"),
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"},
      {intrinsic("tma_store", "M, T.address_of(S[0]), 0, 1, 0, 0"), "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"},
      {intrinsic("tma_store", "M, T.address_of(S[0]), 0, 1, 2, 1, 2"),
       "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group.L2::cache_hint"},
      {intrinsic("tma_store", "T.address_of(A_1[0]), T.address_of(S[0]), 128, 0, 0"), "cp.async.bulk.global.shared::cta.bulk_group"},
      {intrinsic("tma_store", "T.address_of(A_1[0]), T.address_of(S[0]), 128, 0, 2"),
       "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint"},
      {intrinsic("tma_store_cluster", "T.address_of(S[0]), T.address_of(S[64]), 1, 128, m[0]"),
       "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"},
      {intrinsic("ptx_cluster_store", "t.data, T.uint32(7), 1, tx % 4"), "mapa.u64"},
  };
  expect_compiled("sm_90", hopper);
  std::vector<Form> blackwell = {
      {intrinsic("tma_load_gather4", to + "0, 1, 2, 3, 4, 0"),
       "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"},
      {intrinsic("tma_store_scatter4", "M, T.address_of(S[0]), 0, 1, 2, 3, 4, 0"),
       "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"},
      {intrinsic("ptx_st_bulk_shared", "T.address_of(S[0]), 128, 0"), "st.bulk.weak.shared::cta"},
      {intrinsic("clc_try_cancel", "T.address_of(S[0]), m[0]"),
       "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"},
      {intrinsic("clc_try_cancel_multicast", "T.address_of(S[0]), m[0]"),
       "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"},
      {"I[0] = T.call_intrin(\"int32\", \"tl.clc_is_canceled\", T.address_of(S[0]))",
       "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128"},
  };
  blackwell.insert(blackwell.end(), hopper.begin(), hopper.end());
  expect_compiled("sm_100a", blackwell);
}

TEST(CudaInstruction, TensorMemory) {
  std::vector<Form> forms = {
      {intrinsic("ptx_init_tensor_memory", "T.address_of(t[0]), 128"), "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"},
      {intrinsic("ptx_deallocate_tensor_memory", "T.address_of(t[0]), 128"), "tcgen05.dealloc.cta_group::1.sync.aligned.b32"},
      {intrinsic("tcgen05_mma_arrive", "T.address_of(m[0])"), "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"},
      {intrinsic("ptx_tcgen05_cp_warpx4", "T.address_of(S[0]), t.data, 4"), "tcgen05.cp.cta_group::1.32x128b.warpx4"},
      {"T.call_intrin(\"void\", \"tl.tcgen05_before_thread_sync\")", "tcgen05.fence::before_thread_sync"},
      {"T.call_intrin(\"void\", \"tl.tcgen05_after_thread_sync\")", "tcgen05.fence::after_thread_sync"},
  };
  struct Move {
    int bits, lanes, count;
    const char* shape;
  };
  for (const Move& s : {Move{32, 32, 1, "32x32b.x1"}, Move{32, 32, 128, "32x32b.x128"}, Move{64, 32, 4, "16x64b.x4"},
                        Move{64, 16, 128, "16x64b.x128"}, Move{128, 16, 64, "16x128b.x64"}, Move{256, 32, 2, "16x256b.x2"}}) {
    std::string head = std::to_string(s.bits) + ", " + std::to_string(s.count) + ", T.bool(",
                tail = "), t[0], 16, " + std::to_string(s.lanes) + ", T.address_of(U[0])";
    std::string ld = "tcgen05.ld.sync.aligned." + std::string(s.shape), st = "tcgen05.st.sync.aligned." + std::string(s.shape);
    forms.push_back({intrinsic("tcgen05_ld", head + "False" + tail), ld + ".b32"});
    forms.push_back({intrinsic("tcgen05_ld", head + "True" + tail), ld + ".pack::16b.b32"});
    forms.push_back({intrinsic("tcgen05_st", head + "False" + tail), st + ".b32"});
    forms.push_back({intrinsic("tcgen05_st", head + "True" + tail), st + ".unpack::16b.b32"});
  }
  expect_compiled("sm_100a", forms);
  expect_compiled("sm_103a", forms);
}

TEST(CudaInstruction, Tcgen05Products) {
  auto ss = [](const char* format, const char* masks, const char* ws, const char* pair) {
    return intrinsic("ptx_tcgen05_mma_ss", quoted(format) + ", E.data, 32, E.data, tx, t.data, 8, 136316048, 1, " + masks + ", T.bool(" +
                                               ws + "), T.bool(" + pair + ")");
  };
  auto ts = [](const char* format, const char* pair) {
    return intrinsic("ptx_tcgen05_mma_ts",
                     quoted(format) + ", t.data, 0, E.data, 0, t.data, 8, 136316048, 1, 0, 0, 0, 0, T.bool(" + pair + ")");
  };
  auto scaled = [](const char* format, const char* pair) {
    return intrinsic(
        "ptx_tcgen05_mma_blockscaled_ss",
        quoted(format) + ", E.data, 0, E.data, 0, t.data, 0, 136316048, 1, t.data, 64, t.data, 68, 0, 0, T.bool(" + pair + ")");
  };
  const char *no = "False", *yes = "True", *none = "0, 0, 0, 0";
  std::vector<Form> forms = {
      {intrinsic("initialize_tcgen05_descriptor", "E[0], T.address_of(S[0]), 1, 64, 0, 0, 2"), ""},
      {ss("bf16", none, no, no), "tcgen05.mma.cta_group::1.kind::f16"},
      {ss("fp16", none, no, yes), "tcgen05.mma.cta_group::2.kind::f16"},
      {ss("tf32", "0, 15, 0, 0", no, no), "tcgen05.mma.cta_group::1.kind::tf32"},
      {ss("e4m3", none, no, no), "tcgen05.mma.cta_group::1.kind::f8f6f4"},
      {ss("float4_e2m1fn", none, no, yes), "tcgen05.mma.cta_group::2.kind::f8f6f4"},
      {ss("int8", none, no, no), "tcgen05.mma.cta_group::1.kind::i8"},
      {ss("fp16", none, yes, no), "tcgen05.mma.ws.cta_group::1.kind::f16"},
      {ts("bf16", no), "tcgen05.mma.cta_group::1.kind::f16"},
      {ts("e3m2", yes), "tcgen05.mma.cta_group::2.kind::f8f6f4"},
      {scaled("e4m3", no), "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale"},
      {scaled("e2m3", yes), "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale"},
  };
  // A kernel is for one block or for a pair.
  std::vector<Form> pairs;
  for (const Form& f : forms) {
    if (f.instruction.find("::2") != f.instruction.npos) pairs.push_back(f);
  }
  std::erase_if(forms, [](const Form& f) { return f.instruction.find("::2") != f.instruction.npos; });
  expect_compiled("sm_100a", forms);
  expect_compiled("sm_100a", pairs);
  expect_compiled("sm_103a", pairs);
  EXPECT_THAT(refusal(ss("int8", none, no, no), "sm_103a"), HasSubstr("there is no tcgen05.mma of int8 on sm_103a"));
}

// A product of fragments of one shape: fills, loads, multiplies and stores.
struct Wmma {
  const char *dtype, *accumulator, *layout_a, *layout_b;
  int m, n, k;
  std::vector<std::string> instructions;
};
std::vector<std::string> wmma(const Wmma& w) {
  std::string shape = std::to_string(w.m) + ", " + std::to_string(w.n) + ", " + std::to_string(w.k) + ", ";
  auto fragment = [](const char* name, const std::string& dtype, int elements, const char* scope) {
    return std::string(name) + " = T.alloc_buffer((" + std::to_string(2 * elements) + ",), \"" + dtype + "\", scope=\"wmma." + scope +
           "\")";
  };
  auto call = [](const char* name, const std::string& args) {
    return "T.call_intrin(\"void\", \"tirx.tvm_" + std::string(name) + "\", " + args + ")";
  };
  auto layout = [](const char* name) { return ", \"" + std::string(name) + "_major\""; };
  std::string memory = "T.address_of(S[0]), 64",
              value = std::string(w.accumulator) == "int32" ? "0" : "T." + std::string(w.accumulator) + "(0.0)";
  return {fragment("a", w.dtype, w.m * w.k, "matrix_a"),
          fragment("b", w.dtype, w.k * w.n, "matrix_b"),
          fragment("c", w.accumulator, w.m * w.n, "accumulator"),
          call("fill_fragment", "c.data, " + shape + "1, " + value),
          call("load_matrix_sync", "c.data, " + shape + "0, " + memory + layout("row")),
          call("load_matrix_sync", "a.data, " + shape + "1, " + memory + layout(w.layout_a)),
          call("load_matrix_sync", "b.data, " + shape + "0, " + memory + layout(w.layout_b)),
          call(std::string(w.dtype) == "int1" ? "bmma_sync" : "mma_sync", "c.data, 1, a.data, 1, b.data, 0, c.data, 0"),
          call("store_matrix_sync", "c.data, " + shape + "1, " + memory + layout("col"))};
}

// An annotation of the call says that two blocks work together.
TEST(CudaInstruction, PairsOfBlocks) {
  auto module = parse_module(
      kernel({intrinsic("ptx_init_tensor_memory", "T.address_of(t[0]), 128"),
              intrinsic("ptx_deallocate_tensor_memory", "T.address_of(t[0]), 128"), intrinsic("tcgen05_mma_arrive", "T.address_of(m[0])"),
              intrinsic("ptx_tcgen05_cp_warpx4", "T.address_of(S[0]), t.data, 4"),
              intrinsic("tma_load", "M, m[0], T.address_of(S[0]), 0, 1, 0")}),
      "k.py");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  Arena arena;
  struct Annotated : ir::Rewriter {
    using Rewriter::Rewriter;
    const ir::Expr* expr(const ir::Expr* e) override {
      auto* c = e->as<ir::Call>();
      if (!c || c->op == ir::Op::tirx_address_of) return e;
      ir::Value yes, map;
      yes.kind = ir::Value::Kind::kBool, yes.boolean = true;
      ir::Value key;
      key.kind = ir::Value::Kind::kString, key.string = "use_2cta";
      map.kind = ir::Value::Kind::kMap;
      map.map = build.list<ir::KeyValue>({{key, yes}});
      ir::Call n = *c;
      n.annotations = build.add(map);
      return build.add(n);
    }
  } annotate(arena);
  ir::Function f = *(*module)->functions[0];
  f.body = annotate.stmt(f.body);
  ir::Module pairs;
  pairs.functions = {&f};
  auto source = print_source(pairs, arch_named("sm_100a"));
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  for (const char* instruction :
       {"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32", "tcgen05.dealloc.cta_group::2.sync.aligned.b32",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
        "tcgen05.cp.cta_group::2.32x128b.warpx4",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"}) {
    EXPECT_THAT(source->text, HasSubstr(instruction));
  }
  auto cubin = artifacts_of(*source, arch_named("sm_100a")).at("cubin")();
  EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
}

TEST(CudaInstruction, WmmaOfEveryShapeAndFormat) {
  std::vector<Wmma> all = {
      {"float16",
       "float32",
       "row",
       "col",
       16,
       16,
       16,
       {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "wmma.load.b.sync.aligned.col.m16n16k16.f16",
        "wmma.load.c.sync.aligned.row.m16n16k16.f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
        "wmma.store.d.sync.aligned.col.m16n16k16.f32"}},
      {"float16", "float16", "col", "row", 8, 32, 16, {"wmma.mma.sync.aligned.col.row.m8n32k16.f16.f16"}},
      {"float16", "float32", "row", "row", 32, 8, 16, {"wmma.mma.sync.aligned.row.row.m32n8k16.f32.f32"}},
      {"int8", "int32", "row", "col", 16, 16, 16, {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"}},
      {"uint8", "int32", "col", "col", 8, 32, 16, {"wmma.mma.sync.aligned.col.col.m8n32k16.s32.u8.u8.s32"}},
      {"int8", "int32", "row", "row", 32, 8, 16, {"wmma.mma.sync.aligned.row.row.m32n8k16.s32.s8.s8.s32"}},
      {"int4", "int32", "row", "col", 8, 8, 32, {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32"}},
      {"int1", "int32", "row", "col", 8, 8, 128, {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"}},
      {"bfloat16", "float32", "row", "col", 16, 16, 16, {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32"}},
      {"bfloat16", "float32", "row", "col", 8, 32, 16, {"wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32"}},
      {"bfloat16", "float32", "col", "col", 32, 8, 16, {"wmma.mma.sync.aligned.col.col.m32n8k16.f32.bf16.bf16.f32"}},
      {"float32", "float32", "row", "col", 16, 16, 8, {"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"}},
      {"float64", "float64", "row", "col", 8, 8, 4, {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"}},
  };
  for (const Wmma& w : all) {
    bool turing = std::string(w.dtype) == "float16" || std::string(w.dtype).find("int") != std::string::npos;
    for (const char* arch : {turing ? "sm_75" : "sm_80", "sm_90a", "sm_100a"}) {
      SCOPED_TRACE(std::string(w.dtype) + " on " + arch);
      auto source = print(wmma(w), arch);
      ASSERT_TRUE(source.ok()) << source.error().to_string();
      auto artifacts = artifacts_of(*source, arch_named(arch));
      auto ptx = artifacts.at("ptx")();
      ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
      for (const std::string& instruction : w.instructions) EXPECT_THAT(*ptx, HasSubstr(instruction + " "));
      auto cubin = artifacts.at("cubin")();
      EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
    }
  }
}

TEST(CudaInstruction, WmmaRefusesWhatItCannotKnow) {
  auto refused = [](std::vector<std::string> lines, const std::string& arch) {
    auto source = print(lines, arch);
    return source ? "printed" : source.error().to_string();
  };
  EXPECT_THAT(refused(wmma({"bfloat16", "float32", "row", "col", 16, 16, 16, {}}), "sm_75"),
              HasSubstr("wmma fragment m16n16k16 of bf16 on sm_75"));
  EXPECT_THAT(refused(wmma({"float16", "float32", "row", "col", 16, 8, 16, {}}), "sm_80"), HasSubstr("there is no wmma fragment m16n8k16"));
  EXPECT_THAT(refused(wmma({"int4", "int32", "col", "col", 8, 8, 32, {}}), "sm_80"), HasSubstr("of s4 in layout 'col_major'"));
  std::vector<std::string> lines = wmma({"float16", "float32", "row", "col", 16, 16, 16, {}});
  lines[5] = "T.evaluate(0)";  // no load says the shape of a
  EXPECT_THAT(refused(lines, "sm_80"), HasSubstr("no storage scope 'wmma.matrix_a' for buffer 'a'"));
  EXPECT_THAT(refused(wmma({"float16", "float32", "row", "col", 1000, 1000, 1000, {}}), "sm_80"), HasSubstr("no storage scope 'wmma."));
  std::string loose = "T.call_intrin(\"void\", \"tirx.tvm_load_matrix_sync\", 0, 1, 2, 3, 4, 5, 6, 7, \"\", \"\", \"\")";
  EXPECT_THAT(refused({loose}, "sm_80"), HasSubstr("'tirx.tvm_load_matrix_sync' does not take these arguments"));
}

TEST(CudaInstruction, WhatAnArchitectureLacksIsRefusedByName) {
  EXPECT_THAT(refusal(mma("m16n8k16", "fp16", "fp16", "fp32"), "sm_75"),
              HasSubstr("there is no mma.sync m16n8k16 of fp16 and fp16 to fp32 on sm_75 (it needs sm_80 or newer)"));
  EXPECT_THAT(refusal(mma("m16n8k32", "e4m3", "e4m3", "fp32"), "sm_80"), HasSubstr("it needs sm_89 or newer"));
  EXPECT_THAT(refusal(mma("m16n8k32", "e2m1", "e2m1", "fp32"), "sm_100a"), HasSubstr("(it needs sm_120a)"));
  EXPECT_THAT(refusal(mma("m16n8k32", "e2m1", "e2m1", "fp32"), "sm_121"), HasSubstr("(it needs sm_121a)"));
  EXPECT_THAT(refusal(mma("m16n8k16", "fp16", "bf16", "fp32"), "sm_80"),
              HasSubstr("there is no mma.sync m16n8k16 of fp16 and bf16 to fp32"));
  EXPECT_THAT(refusal(mma("m16n8k12", "fp16", "fp16", "fp32"), "sm_80"), HasSubstr("there is no mma.sync m16n8k12"));
  EXPECT_THAT(refusal(mma("m16n8k16", "fp16", "fp16", "fp32", "col", "col"), "sm_80"), HasSubstr("layouts other than row and col"));
  EXPECT_THAT(refusal(mma_sp("m16n8k64", "uint8", "int32", 1), "sm_80"), HasSubstr("with sparsity selector 1"));
  EXPECT_THAT(refusal(wgmma("m64n12k16", "fp16", "fp32"), "sm_90a"), HasSubstr("there is no wgmma m64n12k16"));
  EXPECT_THAT(refusal(wgmma("m64n40k32", "int8", "int32"), "sm_90a"), HasSubstr("there is no wgmma m64n40k32"));
  EXPECT_THAT(refusal(wgmma("m64n8k32", "e4m3", "fp32", "T.bool(True), T.bool(False)"), "sm_90a"), HasSubstr("whose K is not innermost"));
  EXPECT_THAT(refusal(wgmma("m64n8k16", "fp16", "fp32"), "sm_100a"), HasSubstr("it needs sm_90a"));
  EXPECT_THAT(refusal(intrinsic("ptx_init_tensor_memory", "T.address_of(t[0]), 128"), "sm_120a"), HasSubstr("there is no tensor memory"));
  EXPECT_THAT(refusal(intrinsic("ptx_init_tensor_memory", "T.address_of(t[0]), 128"), "sm_100"), HasSubstr("it needs sm_100a"));
  EXPECT_THAT(refusal(intrinsic("tma_load_gather4", "M, m[0], T.address_of(S[0]), 0, 1, 2, 3, 4, 0"), "sm_90a"),
              HasSubstr("sm_100 or newer"));
  EXPECT_THAT(refusal(intrinsic("tma_load", "M, m[0], T.address_of(S[0]), 0, 1, 2, 3, 4, 5, 0"), "sm_90"), HasSubstr("'tl.tma_load'"));
  EXPECT_THAT(refusal(intrinsic("tcgen05_ld", "64, 3, T.bool(False), t[0], 0, 32, T.address_of(U[0])"), "sm_100a"),
              HasSubstr("'tl.tcgen05_ld'"));
}

}  // namespace
}  // namespace kiln::cuda
