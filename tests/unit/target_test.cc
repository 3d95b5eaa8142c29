#include "kiln/target.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/arena.h"
#include "ir/ir.h"
#include "kiln/device_codegen.h"
#include "target/from_ir.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << text << ": " << target.error().to_string();
  return *target;
}

Error error_of(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (target) {
    ADD_FAILURE() << "parsed: " << target->to_json();
    return {};
  }
  return target.error();
}

TEST(Target, KindNameGetsTheKeysOfItsKind) {
  EXPECT_EQ(must_parse("cuda").to_json(), R"({"kind":"cuda","tag":"","keys":["cuda","gpu"]})");
  EXPECT_EQ(must_parse(" hip\n").to_json(), R"({"kind":"hip","tag":"","keys":["hip","gpu"]})");
  EXPECT_THAT(must_parse("nvptx").keys(), ElementsAre("cuda", "gpu"));
  EXPECT_THAT(must_parse("ext_dev").keys(), ElementsAre());
}

TEST(Target, OptionsOfAllTypes) {
  Target t = must_parse("cuda -arch=sm_90a -keys=cuda,gpu,sim --libs=cublas,cudnn -max_num_threads 1024");
  EXPECT_EQ(t.kind(), "cuda");
  EXPECT_THAT(t.keys(), ElementsAre("cuda", "gpu", "sim"));
  EXPECT_TRUE(t.has_key("sim"));
  EXPECT_FALSE(t.has_key("si"));
  EXPECT_EQ(t.attr("arch"), "sm_90a");
  EXPECT_EQ(t.attrs().at("max_num_threads"), AttrValue(int64_t{1024}));
  EXPECT_EQ(t.attrs().at("libs"), AttrValue(std::vector<std::string>{"cublas", "cudnn"}));
  EXPECT_EQ(t.attr("mcpu", "none"), "none");
  EXPECT_EQ(must_parse("llvm -fast-math -opt-level=3").to_json(),
            R"({"kind":"llvm","tag":"","keys":["cpu"],"fast-math":true,"opt-level":3})");
  EXPECT_EQ(must_parse("vulkan -supports_int8=0 -supports_int16=true").to_json(),
            R"({"kind":"vulkan","tag":"","keys":["vulkan","gpu"],"supports_int16":true,"supports_int8":false})");
}

TEST(Target, QuotesAndBackslashesInOptions) {
  Target t = must_parse(R"(llvm -mattr='+a,b',+c -mcpu="my cpu" -model=a\ b -host='c -mcpu=\'x y\'')");
  EXPECT_EQ(t.attrs().at("mattr"), AttrValue(std::vector<std::string>{"+a,b", "+c"}));
  EXPECT_EQ(t.attr("mcpu"), "my cpu");
  EXPECT_EQ(t.attr("model"), "a b");
  ASSERT_NE(t.host(), nullptr);
  EXPECT_EQ(t.host()->attr("mcpu"), "x y");
  EXPECT_EQ(must_parse(t.to_string()), t) << t.to_string();
}

TEST(Target, JsonWithHostTagAndLists) {
  Target t = must_parse(R"({"kind": "cuda", "tag": "nvidia/nvidia-h100", "keys": ["cuda", "gpu"], "arch": "sm_90a", "code": ["a", "b"],
                            "feature.x": 1.5, "host": {"kind": "llvm", "mcpu": "x86-64-v3"}})");
  EXPECT_EQ(t.tag(), "nvidia/nvidia-h100");
  EXPECT_EQ(t.host()->kind(), "llvm");
  EXPECT_EQ(t.to_json(),
            R"({"kind":"cuda","tag":"nvidia/nvidia-h100","keys":["cuda","gpu"],"arch":"sm_90a","code":["a","b"],"feature.x":1.5,)"
            R"("host":{"kind":"llvm","tag":"","keys":["cpu"],"mcpu":"x86-64-v3"}})");
  EXPECT_EQ(must_parse(t.to_json()), t);
  EXPECT_EQ(must_parse(t.to_string()), t);
  EXPECT_EQ(must_parse(R"({"kind": "c", "host": "llvm -mcpu=x"})").host()->attr("mcpu"), "x");
}

TEST(Target, DeviceComesBeforeTheKeysOfTheKindAndAfterGivenOnes) {
  EXPECT_THAT(must_parse("opencl -device=adreno").keys(), ElementsAre("adreno", "opencl", "gpu"));
  EXPECT_THAT(must_parse("opencl -device=adreno -keys=gpu,gpu").keys(), ElementsAre("gpu", "adreno"));
}

TEST(Target, CompositeKeepsItsDevices) {
  Target t = must_parse(R"({"kind": "composite", "devices": [{"kind": "cuda"}, "llvm -mcpu=x"]})");
  EXPECT_EQ(t.attrs().at("devices"), AttrValue(std::vector<std::string>{R"({"kind":"cuda","tag":"","keys":["cuda","gpu"]})",
                                                                        R"({"kind":"llvm","tag":"","keys":["cpu"],"mcpu":"x"})"}));
  EXPECT_EQ(must_parse(t.to_json()), t);
  EXPECT_EQ(must_parse(t.to_string()), t);
}

TEST(Target, DeviceTypes) {  // DLPack: kDLCPU 1, kDLCUDA 2, kDLMetal 8, kDLROCM 10, kDLWebGPU 15
  EXPECT_EQ(must_parse("c").device_type(), 1);
  EXPECT_EQ(must_parse("cuda").device_type(), 2);
  EXPECT_EQ(must_parse("metal").device_type(), 8);
  EXPECT_EQ(must_parse("hip").device_type(), 10);
  EXPECT_EQ(must_parse("webgpu").device_type(), 15);
  EXPECT_EQ(must_parse("c -target_device_type=2").device_type(), 2);
}

TEST(Target, UnknownKindSuggestsAndLists) {
  Error e = error_of("metl");
  EXPECT_EQ(e.code, Code::kUnknownTarget);
  EXPECT_EQ(e.message, "target 'metl' is not known");
  EXPECT_THAT(e.to_string(), StartsWith("target 'metl' is not known (did you mean 'metal'? known: c, composite, cuda, "));
  EXPECT_THAT(error_of("qqqqqqqq").hint, StartsWith("known: c, "));
}

TEST(Target, UnknownAttributeSuggestsAndLists) {
  Error e = error_of("cuda -archh=sm_80");
  EXPECT_EQ(e.code, Code::kUnknownTarget);
  EXPECT_EQ(e.message, "target 'cuda' has no attribute 'archh'");
  EXPECT_THAT(e.hint, StartsWith("did you mean 'arch'? known: arch, code, "));
  EXPECT_EQ(error_of(R"({"kind": "c", "arch": "x"})").message, "target 'c' has no attribute 'arch'");
}

TEST(Target, TagAloneIsRefusedWithAHint) {
  Error e = error_of("nvidia/nvidia-h100");
  EXPECT_EQ(e.message, "target tag 'nvidia/nvidia-h100' is not known");
  EXPECT_EQ(e.hint, R"(write the kind and its attributes, such as {"kind": "cuda", "arch": "sm_90a"})");
  EXPECT_EQ(error_of(R"({"tag": "nvidia/nvidia-h100"})").message, "a target needs a kind");
}

TEST(Target, WrongTypesNameTheAttribute) {
  EXPECT_EQ(error_of("cuda -max_num_threads=many").message,
            "attribute 'max_num_threads' of target 'cuda' must be an integer, got a string");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "arch": 90})").message, "attribute 'arch' of target 'cuda' must be a string, got an integer");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "keys": "gpu"})").message,
            "attribute 'keys' of target 'cuda' must be a list of strings, got a string");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "libs": ["a", 1]})").message,
            "attribute 'libs' of target 'cuda' must be a list of strings, got an integer");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "arch": null})").message, "attribute 'arch' of target 'cuda' must be a string, got null");
  EXPECT_EQ(error_of(R"({"kind": 3})").message, "the kind of a target must be a string, got an integer");
  EXPECT_EQ(error_of("[1]").message, "a target must be a string or a map, got a list");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "max_num_threads": 18446744073709551615})").message,
            "the integer 18446744073709551615 in a target does not fit in 64 bits");
}

TEST(Target, MalformedTextIsOneError) {
  EXPECT_EQ(error_of("").message, "a target is empty");
  EXPECT_EQ(error_of("cuda arch=sm_90a").message, "expected an option such as -arch=sm_90a after target 'cuda', got 'arch=sm_90a'");
  EXPECT_THAT(error_of("cuda -arch='sm_90a").message, HasSubstr("a quote (') that does not end"));
  EXPECT_THAT(error_of(R"({"kind": "cuda")").to_string(), StartsWith("target: byte 15: target is not valid JSON: "));
  EXPECT_EQ(error_of(R"({"kind": "cuda", "arch": "a", "arch": "b"})").message, "attribute 'arch' is given twice");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "kind": "c"})").message, "attribute 'kind' is given twice");
  EXPECT_EQ(error_of("cuda -keys=a -keys=b").message, "attribute 'keys' is given twice");
}

TEST(Target, HostileTextIsOneError) {
  EXPECT_EQ(error_of(std::string(size_t{1} << 20, 'x')).message, "a target has 1048576 bytes, at most 65536 are read");
  EXPECT_EQ(error_of(std::string("cu\0da", 5)).message, "a target must be UTF-8 text without control characters");
  EXPECT_EQ(error_of("cuda -arch=\xff\xfe").message, "a target must be UTF-8 text without control characters");
  EXPECT_EQ(error_of("cuda -arch=\xe2\x82").message, "a target must be UTF-8 text without control characters");
  EXPECT_EQ(error_of(R"({"kind": "cuda", "arch": "a\u0000b"})").message, "attribute 'arch' of a target is not plain text");
  EXPECT_THAT(error_of(std::string(60000, '[')).message, HasSubstr("not valid JSON"));
  EXPECT_EQ(error_of(std::string(20000, '[') + std::string(20000, ']')).message, "a target is nested more than 8 deep");
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += R"({"kind":"c","host":)";
  EXPECT_EQ(error_of(deep + "\"c\"" + std::string(2000, '}')).message, "a target is nested more than 8 deep");
  EXPECT_EQ(error_of(std::string(300, 'k')).message, "target '" + std::string(80, 'k') + "…' is not known");
}

TEST(Target, KindOfARegisteredCodegenIsKnownWhileItIsRegistered) {
  EXPECT_EQ(error_of("kindtest_npu -cores=4").code, Code::kUnknownTarget);
  {
    Result<ScopedDeviceCodegen> entry = register_scoped_device_codegen("kindtest_npu", {"npu", {}, {}, {}});
    ASSERT_TRUE(entry.ok());
    Target t = must_parse("kindtest_npu -cores=4 -name=x -fast -ratio=0.5");
    EXPECT_EQ(t.to_json(), R"({"kind":"kindtest_npu","tag":"","keys":["kindtest_npu"],"cores":4,"fast":true,"name":"x","ratio":0.5})");
    EXPECT_EQ(must_parse(t.to_json()), t);
    EXPECT_EQ(t.device_type(), 12);  // kDLExtDev
  }
  EXPECT_EQ(error_of("kindtest_npu").code, Code::kUnknownTarget);
}

// ---- from attribute values -------------------------------------------------------------------------------------

ir::Value text(std::string_view s) {
  ir::Value v;
  v.kind = ir::Value::Kind::kString, v.string = s;
  return v;
}

ir::Value integer(int64_t i) {
  ir::Value v;
  v.kind = ir::Value::Kind::kInt, v.integer = i;
  return v;
}

ir::Value map_of(ir::Value::Kind kind, ir::List<ir::KeyValue> items) {
  ir::Value v;
  v.kind = kind, v.map = items;
  return v;
}

TEST(TargetFromValue, NestedAndFlatAttributesAreTheSameTarget) {
  std::vector<ir::Value> key_list = {text("cuda"), text("gpu")};
  ir::Value keys;
  keys.kind = ir::Value::Kind::kArray, keys.array = key_list;
  std::vector<ir::KeyValue> attrs = {{text("arch"), text("sm_80")}, {text("max_num_threads"), integer(1024)}};
  std::vector<ir::KeyValue> nested = {{text("kind"), text("cuda")},
                                      {text("tag"), text("")},
                                      {text("keys"), keys},
                                      {text("attrs"), map_of(ir::Value::Kind::kMap, attrs)},
                                      {text("host"), ir::Value{}}};
  std::vector<ir::KeyValue> flat = {{text("kind"), text("cuda")}, {text("keys"), keys}, attrs[0], attrs[1]};
  Result<Target> a = target_from_value(map_of(ir::Value::Kind::kTarget, nested));
  Result<Target> b = target_from_value(map_of(ir::Value::Kind::kMap, flat));
  ASSERT_TRUE(a.ok()) << a.error().to_string();
  ASSERT_TRUE(b.ok()) << b.error().to_string();
  EXPECT_EQ(a->to_json(), R"({"kind":"cuda","tag":"","keys":["cuda","gpu"],"arch":"sm_80","max_num_threads":1024})");
  EXPECT_EQ(*a, *b);
}

TEST(TargetFromValue, TextIsParsedAndOtherValuesAreRefused) {
  Result<Target> t = target_from_value(text("hip -mcpu=gfx942"));
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->attr("mcpu"), "gfx942");
  EXPECT_EQ(target_from_value(integer(3)).error().message, "a target must be a string or a map, got an integer");
}

// ---- the corpus ------------------------------------------------------------------------------------------------

// The balanced {...} after each "target": of a case file.
std::vector<std::string> targets_in(const std::string& file) {
  std::vector<std::string> out;
  const std::string mark = "\"target\":";
  for (size_t at = file.find(mark); at != std::string::npos; at = file.find(mark, at + 1)) {
    size_t start = file.find_first_not_of(" \n", at + mark.size());
    if (start == std::string::npos || file[start] != '{') continue;
    size_t end = start;
    int depth = 0;
    do {
      depth += (file[end] == '{') - (file[end] == '}');
      ++end;
    } while (depth > 0 && end < file.size());
    out.push_back(file.substr(start, end - start));
  }
  return out;
}

TEST(Target, EveryTargetOfTheCorpusRoundTrips) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const auto& item : fs::recursive_directory_iterator(fs::path(KILN_SOURCE_DIR) / "tests/corpus")) {
    if (item.path().filename() != "case.json") continue;
    std::stringstream file;
    file << std::ifstream(item.path()).rdbuf();
    for (const std::string& json : targets_in(file.str())) {
      ++count;
      Target target = must_parse(json);
      EXPECT_EQ(must_parse(target.to_json()), target) << json;
      EXPECT_EQ(must_parse(target.to_string()), target) << target.to_string();
    }
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace kiln
