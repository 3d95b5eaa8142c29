#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "cases/case.h"
#include "cases/run.h"

namespace kiln::cases {
namespace {

namespace fs = std::filesystem;

class Cases : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kiln_cases_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<Case> read(const std::string& json) {
    std::ofstream(folder_ / "case.json") << json;
    return read_case(folder_.string());
  }
  std::string error_of(const std::string& json) {
    auto c = read(json);
    return c ? "no error" : c.error().message;
  }
  fs::path folder_;
};

constexpr const char* kHead = R"({"device_module": "device.json", "target": {"kind": "c"}, )";

TEST_F(Cases, ReadsEveryKey) {
  auto c = read(std::string(kHead) + R"(
    "dyn": {"m": 5}, "compare": false, "expect": {"error": "e1"}, "expect_or_error": "e2",
    "expect_text": {"must": ["a"], "must_not": ["b", "c"]},
    "params": [
      {"kind": "tensor", "name": "A", "dtype": "bfloat16", "shape": ["m", 4], "concrete_shape": [5, 4], "role": "in",
       "input": "../data/in.npy", "tolerance": {"rtol": 0.5, "atol": 0.25}},
      {"kind": "tensor", "name": "B", "dtype": "float32", "shape": ["m * 2"], "compare": "bits", "dont_care": "mask.npy",
       "expected_any": [{"policy": "p", "expected": "p.npy"}, {"policy": "q", "expected": "q.npy"}]},
      {"kind": "tensor", "name": "S", "dtype": "float32", "shape": [8], "input_sparse": {"fill": 2, "indices": [1, 3], "values": [4, NaN]}},
      {"kind": "scalar", "name": "alpha", "dtype": "float32", "value": -Infinity}],
    "host_allocs": [{"name": "w", "dtype": "int32", "shape": ["m"]}],
    "launches": [{"kernel": "k", "grid": ["m // 2", 1, 1], "args": [
      {"kind": "tensor", "tensor": "A", "byte_offset": "m * 8"}, {"kind": "workspace", "workspace": "w"},
      {"kind": "scalar", "dtype": "int32", "value": "m - 1", "concrete": 4}, {"kind": "tensormap"}]}]})");
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->module, (folder_ / "device.json").string());
  EXPECT_EQ(c->target, R"({"kind":"c"})");
  EXPECT_FALSE(c->compare);
  EXPECT_EQ(c->expect_error, "e1");
  EXPECT_EQ(c->expect_or_error, "e2");
  EXPECT_EQ(c->text_must, (std::vector<std::string>{"a"}));
  EXPECT_EQ(c->text_must_not, (std::vector<std::string>{"b", "c"}));
  ASSERT_EQ(c->params.size(), 4u);
  EXPECT_EQ(c->params[0].shape, (std::vector<std::string>{"5", "4"}));
  EXPECT_EQ(c->params[0].input, (folder_.parent_path() / "data/in.npy").string());
  EXPECT_EQ(c->params[0].rtol, 0.5);
  EXPECT_EQ(c->params[0].atol, 0.25);
  EXPECT_TRUE(c->params[1].compare_bits);
  ASSERT_EQ(c->params[1].expected.size(), 2u);
  EXPECT_EQ(c->params[1].expected[1].policy, "q");
  EXPECT_EQ(c->params[1].dont_care, (folder_ / "mask.npy").string());
  ASSERT_TRUE(c->params[2].sparse);
  EXPECT_EQ(c->params[2].sparse->fill, 2);
  ASSERT_EQ(c->params[2].sparse->elements.size(), 2u);
  EXPECT_EQ(c->params[2].sparse->elements[0], (std::pair<int64_t, double>(1, 4.0)));
  EXPECT_TRUE(std::isnan(c->params[2].sparse->elements[1].second));
  EXPECT_FALSE(c->params[3].is_tensor);
  EXPECT_EQ(std::get<double>(c->sizes.at("alpha")), -HUGE_VAL);
  ASSERT_EQ(c->launches.size(), 1u);
  const auto& args = c->launches[0].args;
  ASSERT_EQ(args.size(), 4u);
  EXPECT_EQ(args[0].byte_offset, "m * 8");
  EXPECT_EQ(args[1].kind, Argument::Kind::kWorkspace);
  EXPECT_EQ(args[2].value, "m - 1");
  EXPECT_EQ(args[3].kind, Argument::Kind::kTensorMap);
  EXPECT_EQ(c->workspaces[0].shape, (std::vector<std::string>{"m"}));
}

TEST_F(Cases, AFaultNamesTheKey) {
  std::string head = kHead;
  EXPECT_EQ(error_of("[]"), "expected a JSON object");
  EXPECT_EQ(error_of("{\"target\": "), "expected a JSON object");
  EXPECT_EQ(error_of(R"({"target": "c"})"), "expected a string under key 'device_module'");
  EXPECT_EQ(error_of(R"({"device_module": 3, "target": "c"})"), "expected a string under key 'device_module'");
  EXPECT_EQ(error_of(R"({"device_module": "d"})"), "expected a target under key 'target'");
  EXPECT_EQ(error_of(head + R"("dyn": [1]})"), "expected an object under key 'dyn'");
  EXPECT_EQ(error_of(head + R"("params": {}})"), "expected a list under key 'params'");
  EXPECT_EQ(error_of(head + R"("params": [3]})"), "expected an object with key 'name'");
  EXPECT_EQ(error_of(head + R"("params": [{"name": "a", "kind": "scalar", "dtype": "int32"}]})"), "scalar parameter 'a' has no value");
  EXPECT_EQ(error_of(head + R"("params": [{"name": "a", "kind": "tensor", "dtype": "float32", "tolerance": {"rtol": "x"}}]})"),
            "expected a number under key 'rtol'");
  EXPECT_EQ(error_of(head + R"("launches": [{"kernel": "k", "args": [{"kind": "texture"}]}]})"), "argument kind 'texture' is not known");
  EXPECT_EQ(error_of(head + R"("launches": [{"kernel": "k", "args": [{"kind": "scalar", "dtype": "int32"}]}]})"),
            "a scalar argument has no value");
  EXPECT_EQ(error_of(head + R"("params": [{"name": "a", "kind": "tensor", "dtype": "float32",
                               "input_sparse": {"indices": [1, 2], "values": [1]}}]})"),
            "expected as many values as indices under key 'input_sparse'");
}

TEST_F(Cases, DeepNestingIsRefused) {
  std::string open(100000, '['), close(100000, ']');
  EXPECT_EQ(error_of(R"({"device_module": "d", "target": {"kind": "c", "x": )" + open + close + "}}"), "nested more than 64 levels deep");
}

TEST_F(Cases, PatternsMayTakeLongTexts) {
  std::ofstream(folder_ / "m.ir")
      << "@T.prim_func\ndef k(n: T.int32) -> T.int32:\n    T.func_attr({\"target\": T.target({\"kind\": \"c\"})})\n"
      << "    assert n > 0, (\"ValueError\", [\"<" << std::string(100000, 'x') << ">\"])\n    return 0\n";
  std::ofstream(folder_ / "case.json") << R"({"device_module": "m.ir", "target": "c", "expect_text": ["<x[\\s\\S]*x>"]})";
  Outcome o = run_case(folder_.string(), {});
  EXPECT_EQ(o.state, Outcome::State::kPassed) << o.reason;
}

TEST_F(Cases, ADtypeWithoutBytesIsNotSparse) {
  std::ofstream(folder_ / "case.json") << R"({"device_module": ")" KILN_SOURCE_DIR
                                          R"(/tests/corpus/corpus/c/gemm_cpu_256/device.json.gz", "target": "c",
    "params": [{"kind": "tensor", "name": "A", "dtype": "void", "shape": [8], "input_sparse": {"fill": 1}}]})";
  Outcome o = run_case(folder_.string(), {});
  EXPECT_EQ(o.state, Outcome::State::kFailed);
  EXPECT_NE(o.reason.find("parameter 'A' of dtype void cannot be sparse"), std::string::npos) << o.reason;
}

TEST_F(Cases, FindsFoldersSorted) {
  for (const char* name : {"b/two", "b/one", "a"}) {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "case.json") << "{}";
  }
  auto found = find_cases(folder_.string());
  ASSERT_TRUE(found);
  std::vector<std::string> expected;
  for (const char* name : {"a", "b/one", "b/two"}) expected.push_back((folder_ / name).string());
  EXPECT_EQ(*found, expected);
  auto one = find_cases((folder_ / "a").string());
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1u);
  fs::create_directories(folder_ / "empty");
  auto none = find_cases((folder_ / "empty").string());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no case.json is below this folder");
  EXPECT_FALSE(find_cases((folder_ / "missing").string()));
}

TEST_F(Cases, ACaseOfARealModulePasses) {
  Outcome o = run_case(KILN_SOURCE_DIR "/tests/corpus/corpus/c/gemm_cpu_256", {});
  EXPECT_EQ(o.state, Outcome::State::kPassed) << o.reason;
  EXPECT_EQ(o.codegen, "c");
}

TEST_F(Cases, ATargetThatNothingServesIsSkipped) {
  auto found = find_cases(KILN_SOURCE_DIR "/tests/corpus/corpus/webgpu");
  ASSERT_TRUE(found);
  RunOptions options;
  options.target = "ext_dev";  // a kind of TVM that no backend of ours has
  Outcome o = run_case((*found)[0], options);
  EXPECT_EQ(o.state, Outcome::State::kSkipped);
  EXPECT_EQ(o.reason, "no device codegen here serves target kind 'ext_dev'");
}

}  // namespace
}  // namespace kiln::cases
