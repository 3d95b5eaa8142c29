// Backends outside this program: shared libraries and manifests.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kiln/device_codegen.h"
#include "registry/backend.h"
#include "registry/loader.h"

namespace kiln {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

// The registry reads the variable once, at its first use; a static initialiser is before that.
const int kEnvironment = setenv("KILN_BACKEND_PATH", "/nonexistent:" KILN_SOURCE_DIR "/tests/plugins/backends::" KILN_TEST_BACKENDS, 1);

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

auto fault(const char* message) { return Field(&registry::ManifestFault::error, Field(&Error::message, message)); }

TEST(RegistryBackend, LibraryLoadsByPathAfterAFailureToo) {
  ASSERT_TRUE(register_lazy_device_codegen("plugintest_path", KILN_TEST_BACKEND).ok());
  Target target = must_parse("plugintest_path");
  setenv("KILN_TEST_BACKEND_FAIL", "1", 1);
  EXPECT_EQ(resolve_device_codegen(target).error().message,
            "backend '" KILN_TEST_BACKEND "' for target 'plugintest_path' did not load: the test backend was told to fail");
  unsetenv("KILN_TEST_BACKEND_FAIL");
  EXPECT_EQ((*resolve_device_codegen(target))->name, "plugin");
  EXPECT_EQ(explain_device_codegen(target).candidates[0].origin, "library " KILN_TEST_BACKEND);
  EXPECT_TRUE(remove_device_codegen("plugintest_path", "plugin"));
  EXPECT_TRUE(remove_device_codegen("plugintest_manifest", "plugin"));
}

TEST(RegistryBackend, LibraryThatIsMissingOrNoBackend) {
  ASSERT_TRUE(register_lazy_device_codegen("plugintest_missing", "/nonexistent/libx.so").ok());
  EXPECT_THAT(resolve_device_codegen(must_parse("plugintest_missing")).error().message,
              StartsWith("backend '/nonexistent/libx.so' for target 'plugintest_missing' did not load: /nonexistent/libx.so: "));
  ASSERT_TRUE(register_lazy_device_codegen("plugintest_libm", "libm.so.6/../libm.so").ok());
  EXPECT_FALSE(resolve_device_codegen(must_parse("plugintest_libm")).ok());
}

TEST(RegistryBackend, ManifestsOfTheSearchPathAreListedWithoutLoading) {
  ASSERT_EQ(kEnvironment, 0);
  std::vector<std::string> names;
  for (const registry::Manifest& m : registry::manifests()) names.push_back(m.name);
  EXPECT_THAT(names, Contains("c"));
  EXPECT_THAT(names, Contains("absent"));
  EXPECT_THAT(names, Contains("good"));
  EXPECT_THAT(registry::manifest_faults(), Contains(fault("a manifest needs 'kinds', a list of target kinds")));
  EXPECT_THAT(registry::manifest_faults(), Contains(fault("a backend 'c' exists already")));
}

TEST(RegistryBackend, ManifestKindLoadsItsLibrary) {
  Target target = must_parse("plugintest_manifest");
  ASSERT_TRUE(resolve_device_codegen(target).ok()) << resolve_device_codegen(target).error().to_string();
  EXPECT_EQ((*resolve_device_codegen(target))->name, "plugin");
  EXPECT_EQ(explain_device_codegen(target).candidates[0].origin, "manifest good");
  EXPECT_TRUE(remove_device_codegen("plugintest_path", "plugin"));
  EXPECT_TRUE(remove_device_codegen("plugintest_manifest", "plugin"));
}

TEST(RegistryBackend, ManifestWhoseLibraryIsMissing) {
  Explanation e = explain_device_codegen(must_parse("manifesttest_absent"));
  ASSERT_EQ(e.load_failures.size(), 1u);
  EXPECT_THAT(e.load_failures[0].message, StartsWith("backend 'absent' for target 'manifesttest_absent' did not load: "));
  EXPECT_THAT(e.load_failures[0].message, HasSubstr("absent/libabsent.so"));
}

TEST(RegistryBackend, ManifestOfAPythonModuleIsImportedWithItsFolder) {
  std::vector<std::string> imported;
  registry::set_python_importer([&](std::string_view module, std::string_view folder) -> Status {
    imported = {std::string(module), std::string(folder)};
    Result<const DeviceCodegen*> entry = register_device_codegen("manifesttest_python", {"from_python", {}, {}, {}});
    return entry ? Status(Ok{}) : Status(entry.error());
  });
  Target target = must_parse("manifesttest_python");
  Result<const DeviceCodegen*> entry = resolve_device_codegen(target);
  registry::set_python_importer({});
  ASSERT_TRUE(entry.ok()) << entry.error().to_string();
  EXPECT_EQ((*entry)->name, "from_python");
  EXPECT_THAT(imported, ElementsAre("pythonic.backend", KILN_SOURCE_DIR "/tests/plugins/backends/pythonic"));
  Explanation e = explain_device_codegen(target);
  EXPECT_EQ(e.candidates[0].origin, "manifest pythonic");
  EXPECT_EQ(e.backends[0].source, "KILN_BACKEND_PATH: " KILN_SOURCE_DIR "/tests/plugins/backends/pythonic/manifest.json");
}

TEST(RegistryBackend, ABackendWithAKeyGoesBeforeTheOthersOfItsKind) {
  auto codegen = [](std::string_view target) {
    Result<const DeviceCodegen*> entry = resolve_device_codegen(must_parse(target));
    return entry.ok() ? (*entry)->name : entry.error().to_string();
  };
  EXPECT_EQ(codegen("cuda"), "cuda");
  EXPECT_EQ(codegen("cuda -keys=sim,cuda,gpu"), "sim");
  EXPECT_EQ(must_parse("cuda").with_key("sim"), must_parse("cuda -keys=sim,cuda,gpu"));
}

TEST(RegistryBackend, BuiltInBackendLoadsThroughItsManifest) {
  Target target = must_parse("c");
  Result<const DeviceCodegen*> entry = resolve_device_codegen(target);
  ASSERT_TRUE(entry.ok()) << entry.error().to_string();
  EXPECT_EQ((*entry)->name, "c");
  EXPECT_EQ(explain_device_codegen(target).candidates[0].origin, "manifest c");
}

}  // namespace
}  // namespace kiln
