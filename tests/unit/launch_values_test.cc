#include "runtime/launch_values.h"

#include <gmock/gmock.h>

namespace kiln::runtime {
namespace {

KernelInfo kernel(std::vector<std::string> params) {
  KernelInfo k;
  k.name = "gemm", k.launch_params = std::move(params);
  return k;
}

TEST(LaunchValues, GoWhereTheirParametersSay) {
  auto places =
      launch_places(kernel({"blockIdx.x", "threadIdx.y", "tir.cluster_dim_z", "tirx.cluster_dim_x", "tirx.use_dyn_shared_memory"}));
  ASSERT_TRUE(places.ok()) << places.error().to_string();
  Slot values[5];
  for (int i = 0; i < 5; ++i) values[i].integer = 10 + i;
  auto v = launch_values<int64_t>(*places, values);
  EXPECT_THAT(v, testing::ElementsAre(13, 1, 12, 10, 1, 1, 1, 11, 1, 14));  // cluster, grid, block, bytes
  EXPECT_THAT(launch_values<uint32_t>({}, values), testing::ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 0));
}

TEST(LaunchValues, OthersAreRefused) {
  for (const char* name : {"", "blockIdx.w", "blockIdx", "threadIdx.xy", "cluster_dim_x", "x"}) {
    auto places = launch_places(kernel({"blockIdx.x", name}));
    ASSERT_FALSE(places.ok()) << name;
    EXPECT_EQ(places.error().message, std::string("launch parameter '") + name + "' is not known");
    EXPECT_EQ(places.error().place, "kernel gemm");
  }
}

}  // namespace
}  // namespace kiln::runtime
