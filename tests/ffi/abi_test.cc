// What Kiln uses of tvm-ffi, across the boundary to the libtvm_ffi that is loaded: calls that go through its tables and allocators, where
// a difference between the headers built with and the library loaded would show.
#include <gtest/gtest.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

namespace kiln {
namespace {

namespace ffi = tvm::ffi;

class CountedObj : public ffi::Object {
 public:
  CountedObj(int64_t value, int* alive) : value(value), alive(alive) { ++*alive; }
  ~CountedObj() { --*alive; }
  int64_t value;
  int* alive;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kiln_test.Counted", CountedObj, ffi::Object);
};

class AnswerModule : public ffi::ModuleObj {
 public:
  const char* kind() const final { return "answer"; }
  int GetPropertyMask() const final { return ffi::Module::kRunnable; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (name != "answer") return std::nullopt;
    return ffi::Function::FromTyped([] { return 42; });
  }
  ffi::String InspectSource(const ffi::String& format) const final { return "source in '" + format + "'"; }
};

ffi::Function global(const char* name) { return ffi::Function::GetGlobalRequired(name); }

TEST(FfiAbi, ValuesOfEveryKindPassThroughAFunction) {
  ffi::Function same = ffi::Function::FromTyped([](const ffi::Any& value) { return value; });
  EXPECT_EQ(same(int64_t{-3}).cast<int64_t>(), -3);
  EXPECT_TRUE(same(true).cast<bool>());
  EXPECT_EQ(same(0.25).cast<double>(), 0.25);
  EXPECT_EQ(same(nullptr).type_index(), kTVMFFINone);
  EXPECT_EQ(same("short").cast<std::string>(), "short");
  EXPECT_EQ(same(std::string(100, 'x')).cast<std::string>(), std::string(100, 'x'));
  EXPECT_EQ(same(ffi::Bytes(std::string("\0a", 2))).cast<ffi::Bytes>().size(), 2u);
  DLDataType dtype = same(DLDataType{kDLFloat, 16, 4}).cast<DLDataType>();
  EXPECT_EQ(dtype.bits * 1000 + dtype.lanes, 16004);
}

TEST(FfiAbi, ContainersMadeHereAreReadThereAndTheReverse) {
  ffi::Array<ffi::Any> array = {ffi::Any(1), ffi::Any(ffi::String("two")), ffi::Any(3.0)};
  EXPECT_EQ(global("ffi.ArraySize")(array).cast<int64_t>(), 3);
  EXPECT_EQ(global("ffi.ArrayGetItem")(array, 1).cast<std::string>(), "two");
  ffi::Map<ffi::String, ffi::Any> map;
  for (int i = 0; i < 100; ++i) map.Set("key" + std::to_string(i), i);
  EXPECT_EQ(global("ffi.MapSize")(map).cast<int64_t>(), 100);
  EXPECT_EQ(global("ffi.MapGetItem")(map, "key77").cast<int64_t>(), 77);
  auto made = global("ffi.Map")("a", 1, "b", 2).cast<ffi::Map<ffi::String, ffi::Any>>();
  EXPECT_EQ(made["b"].cast<int64_t>(), 2);
  EXPECT_EQ(global("ffi.Array")("a", "b").cast<ffi::Array<ffi::String>>()[1], "b");
}

TEST(FfiAbi, ErrorsKeepKindAndMessage) {
  ffi::Function fails = ffi::Function::FromTyped([]() -> int { throw ffi::Error("KeyError", "no such key", ""); });
  ffi::Function outer = ffi::Function::FromTyped([&] { return fails(); });
  try {
    outer();
    FAIL() << "nothing was thrown";
  } catch (const ffi::Error& e) {
    EXPECT_EQ(std::string(e.kind()) + ": " + std::string(e.message()), "KeyError: no such key");
  }
}

TEST(FfiAbi, ObjectsAreFreedOnce) {
  int alive = 0;
  {
    ffi::Function same = ffi::Function::FromTyped([](const ffi::ObjectRef& object) { return object; });
    ffi::Array<ffi::ObjectRef> objects;
    for (int i = 0; i < 1000; ++i) objects.push_back(same(ffi::ObjectRef(ffi::make_object<CountedObj>(i, &alive))).cast<ffi::ObjectRef>());
    EXPECT_EQ(alive, 1000);
    EXPECT_EQ(objects[7].as<CountedObj>()->value, 7);
    EXPECT_EQ(objects[7].GetTypeKey(), "kiln_test.Counted");
  }
  EXPECT_EQ(alive, 0);
}

TEST(FfiAbi, ModulesAreAskedThroughTheirTable) {
  ffi::Module module(ffi::make_object<AnswerModule>());
  EXPECT_EQ(global("ffi.ModuleGetKind")(module).cast<std::string>(), "answer");
  EXPECT_EQ(global("ffi.ModuleGetPropertyMask")(module).cast<int>(), 0b010);
  EXPECT_EQ(global("ffi.ModuleInspectSource")(module, "cu").cast<std::string>(), "source in 'cu'");
  EXPECT_TRUE(global("ffi.ModuleImplementsFunction")(module, "answer", false).cast<bool>());
  EXPECT_FALSE(global("ffi.ModuleImplementsFunction")(module, "question", false).cast<bool>());
  EXPECT_EQ(global("ffi.ModuleGetFunction")(module, "answer", false).cast<ffi::Function>()().cast<int>(), 42);
  ffi::Module importer(ffi::make_object<AnswerModule>());
  global("ffi.ModuleImportModule")(importer, module);
  EXPECT_EQ(importer->imports().size(), 1u);
}

}  // namespace
}  // namespace kiln
