// kiln bench and kiln conformance on a driver that runs nothing and whose every launch takes 500 us.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/process.h"
#include "tests/unit/scratch.h"

namespace kiln::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModule = R"(
@T.prim_func
def scale(A: T.handle("float32", "global"), B: T.handle("float32", "global")):
    T.func_attr({"global_symbol": "scale", "target": T.target({"kind": "cuda", "keys": ["cuda", "gpu"], "arch": "sm_80"}), "tirx.is_global_func": True, "tirx.kernel_launch_params": ["blockIdx.x", "threadIdx.x"]})
    A_1 = T.decl_buffer((1000,), "float32", data=A)
    B_1 = T.decl_buffer((1000,), "float32", data=B)
    bx = T.launch_thread("blockIdx.x", 8)
    tx = T.launch_thread("threadIdx.x", 125)
    B_1[bx * 125 + tx] = A_1[bx * 125 + tx] * T.float32(2)
)";
// The driver runs nothing, so nothing is compared.
constexpr const char* kCase = R"({"device_module": "scale.py", "target": {"kind": "cuda", "keys": ["cuda", "gpu"], "arch": "sm_80"},
  "compare": false, "dyn": {"n": 1000}, "params": [
    {"kind": "tensor", "name": "A", "dtype": "float32", "shape": ["n"]}, {"kind": "tensor", "name": "B", "dtype": "float32", "shape": ["n"]}],
  "launches": [{"kernel": "scale", "grid": [8], "block": [125], "flops": "1000 * n", "args": [
    {"kind": "tensor", "tensor": "A"}, {"kind": "tensor", "tensor": "B"}]}]})";

class CudaCommand : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    set_environment("KILN_CUDA_DRIVER", KILN_TEST_PLUGINS "/libkiln_cuda_fake_driver.so");
    write("case/scale.py", kModule), write("case/case.json", kCase);
  }
  static std::string kiln(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), KILN_TEST_CLI);
    auto result = run_process(arguments, 60);
    return result ? result->output : result.error().to_string();
  }
  std::string bench(std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", path("case")});
    return kiln(more);
  }
  static std::string conformance(const std::string& cells, const std::string& device) {
    return kiln({"conformance", "cuda", "--target", "cuda -arch=sm_80", "--device", device, "--filter", cells, "--json"});
  }
};

TEST_F(CudaCommand, BenchCountsTheDevicesTime) {
  EXPECT_EQ(
      bench({"--json", "--repeat", "4"}),
      "{\"case\": \"" + path("case") +
          "\", \"passed\": true, \"skipped\": false, \"reason\": \"\", \"codegen\": \"cuda\", \"repeat\": 4, \"kernels\": [{\"kernel\": "
          "\"scale\", \"median_us\": 500.000, \"min_us\": 500.000, \"mean_us\": 500.000, \"bytes\": 8000, \"gb_per_s\": 0.016, \"flops\": "
          "1000000, \"tflop_per_s\": 0.002}]}\n1 passed, 0 failed\n");
}

TEST_F(CudaCommand, BenchRunsOnTheDeviceThatIsAskedFor) {
  EXPECT_THAT(bench({"--device", "cuda:1"}), HasSubstr("      500.00      500.00      500.00      0.02     0.002  scale ("));
  EXPECT_THAT(bench({"--device", "cuda:2"}), HasSubstr("device 'cuda:2' is not available"));
}

TEST_F(CudaCommand, ConformanceComparesWhatTheDeviceLeft) {
  EXPECT_THAT(
      conformance("add_int32_x4", "cuda:0"),
      AllOf(HasSubstr("\"cell\": \"add_int32_x4\""), HasSubstr("\"result\": \"failed\", \"reason\": \"64 of 64 elements of C differ")));
}

TEST_F(CudaCommand, ConformanceGoesOnInAnotherProcessAfterAFaultOfTheDevice) {
  set_environment("KILN_FAKE_SYNCHRONIZE", "700");
  std::string text = conformance("add_int32", "cuda:0");
  size_t reports = 0;
  for (size_t at = text.find("CUDA_ERROR_ILLEGAL_ADDRESS"); at != text.npos; at = text.find("CUDA_ERROR_ILLEGAL_ADDRESS", at + 1))
    ++reports;
  EXPECT_THAT(text, HasSubstr(fmt::format("0 passed, {} failed, 0 skipped", reports)));
  EXPECT_GE(reports, 5u);  // the widths of Add
}

TEST_F(CudaCommand, ConformanceNeedsADeviceForTheCode) {
  EXPECT_THAT(conformance("add_int32_x1", "cuda:7"), HasSubstr("device 'cuda:7' is not available"));
  EXPECT_THAT(kiln({"conformance", "c", "--device", "cuda:0"}),
              HasSubstr("code for 'c' by device codegen 'c' does not run on device cuda:0"));
}

}  // namespace
}  // namespace kiln::cuda
