// Real modules, one of each family of instructions, compile for their architecture.
#include <gmock/gmock.h>

#include <filesystem>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "import/import.h"

namespace kiln::cuda {
namespace {

namespace fs = std::filesystem;

class CudaCorpus : public testing::TestWithParam<const char*> {};

TEST_P(CudaCorpus, CompilesToACubin) {
  fs::path folder = fs::path(KILN_SOURCE_DIR) / "tests/corpus/corpus" / GetParam();
  std::string file = (folder / "device.json").string();
  if (!fs::exists(file)) file += ".gz";
  auto module = load_module(file);
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  std::string key = folder.parent_path().filename().string();  // "cuda_sm90a"
  auto arch = arch_of(*Target::parse("cuda -arch=sm_" + key.substr(7)));
  ASSERT_TRUE(arch.ok());
  auto source = print_source(**module, *arch);
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  auto cubin = artifacts_of(*source, *arch).at("cubin")();
  ASSERT_TRUE(cubin.ok()) << cubin.error().to_string();
  EXPECT_THAT(*cubin, testing::HasSubstr(source->kernels.at(0).symbol));
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaCorpus,
                         testing::Values("cuda_sm75/gemm_f16_f32", "cuda_sm80/flash_attn_fwd", "cuda_sm80/gemm_tf32",
                                         "cuda_sm80/cumsum_rows", "cuda_sm89/gemm_fp8_e4m3", "cuda_sm90a/gemm_f16_f32",
                                         "cuda_sm90a/conv2d_im2col_tma", "cuda_sm90a/cluster_rank", "cuda_sm100a/tma_copy_store",
                                         "cuda_sm100a/gemm_tcgen05_bf16", "../corpus_tvm/cuda_sm80/wmma_f16"));

}  // namespace
}  // namespace kiln::cuda
