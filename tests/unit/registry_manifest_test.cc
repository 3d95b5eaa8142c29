// Manifests: their text, where they are looked for, and what a backend needs.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

#include "registry/loader.h"
#include "registry/needs.h"
#include "registry/registry.h"
#include "tests/unit/scratch.h"

namespace kiln {
namespace {

using registry::Manifest;
using registry::ManifestSet;
using registry::Probe;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

// ---- text ------------------------------------------------------------------------------------------------------

TEST(Manifest, Reads) {
  Result<Manifest> m = registry::parse_manifest(
      R"({"name": "npu", "kinds": ["npu", "npu2", "npu"], "description": "d", "library": "l.so", "more": 1,
          "needs": {"commands": ["clang"], "python": ["numpy.linalg"], "files": ["x.bc"], "libraries": ["libfoo.so.1"]}})",
      "here");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->name, "npu");
  EXPECT_EQ(m->description, "d");
  EXPECT_EQ(m->library, "l.so");
  EXPECT_EQ(m->python, "");
  EXPECT_THAT(m->kinds, ElementsAre("npu", "npu2"));
  EXPECT_THAT(m->needs.commands, ElementsAre("clang"));
  EXPECT_THAT(m->needs.python, ElementsAre("numpy.linalg"));
  EXPECT_THAT(m->needs.files, ElementsAre("x.bc"));
  EXPECT_THAT(m->needs.libraries, ElementsAre("libfoo.so.1"));
  EXPECT_EQ(registry::parse_manifest(R"({"name": "x", "kinds": ["x"], "python": "a.b"})", "here")->python, "a.b");
  EXPECT_EQ(registry::parse_manifest(R"({"name": "x", "kinds": ["x"], "key": "model", "library": "x.so"})", "here")->key, "model");
}

TEST(Manifest, FaultsAreNamed) {
  auto fault = [](std::string_view json) { return registry::parse_manifest(json, "here").error().to_string(); };
  auto with = [&](const std::string& field) { return fault(R"({"name": "x", "kinds": ["c"], )" + field + "}"); };
  EXPECT_THAT(fault("{"), StartsWith("here: manifest is not valid JSON: "));
  EXPECT_THAT(fault(""), StartsWith("here: manifest is not valid JSON: "));
  EXPECT_THAT(fault("{\"name\": \"\xff\"}"), StartsWith("here: manifest is not valid JSON: "));
  EXPECT_EQ(fault("[]"), "here: a manifest must be a JSON object");
  EXPECT_EQ(fault(R"({"kinds": ["c"]})"), "here: a manifest needs a 'name' of letters, digits and _ - .");
  EXPECT_EQ(fault(R"({"name": "../x", "kinds": ["c"]})"), "here: a manifest needs a 'name' of letters, digits and _ - .");
  EXPECT_EQ(fault(R"({"name": 3, "kinds": ["c"]})"), "here: 'name' of a manifest must be a string");
  EXPECT_EQ(fault(R"({"name": "x"})"), "here: a manifest needs 'kinds', a list of target kinds");
  EXPECT_EQ(fault(R"({"name": "x", "kinds": []})"), "here: a manifest needs 'kinds', a list of target kinds");
  EXPECT_EQ(with(R"("key": "a b")"), "here: 'key' of a manifest must be of letters, digits and _ - .");
  EXPECT_EQ(fault(R"({"name": "x", "kinds": ["a b"]})"), "here: a target kind in a manifest must be a string of letters, digits and _ - .");
  EXPECT_EQ(fault(R"({"name": "x", "kinds": [1]})"), "here: a target kind in a manifest must be a string of letters, digits and _ - .");
  EXPECT_EQ(with(R"("library": ["l.so"])"), "here: 'library' of a manifest must be a string");
  EXPECT_EQ(with(R"("library": "a\u0000b")"), "here: 'library' of a manifest holds a NUL byte");
  EXPECT_EQ(with("\"library\": \"" + std::string(5000, 'x') + "\""), "here: 'library' of a manifest has more than 4096 bytes");
  EXPECT_EQ(with(R"("python": "os; x")"), "here: 'python' of a manifest must be a module path, as 'package.module'");
  EXPECT_EQ(with(R"("python": "..up")"), "here: 'python' of a manifest must be a module path, as 'package.module'");
  EXPECT_EQ(with(R"("python": "a", "library": "l.so")"), "here: a manifest has both a 'library' and a 'python' module");
  EXPECT_EQ(with(R"("needs": ["clang"])"), "here: 'needs' of a manifest must be an object");
  EXPECT_EQ(with(R"("needs": {"commands": "clang"})"), "here: 'needs.commands' of a manifest must be a list of strings that are not empty");
  EXPECT_EQ(with(R"("needs": {"files": [""]})"), "here: 'needs.files' of a manifest must be a list of strings that are not empty");
  EXPECT_EQ(with(R"("needs": {"python": ["a b"]})"),
            "here: 'needs.python' of a manifest must be a list of module paths, as 'package.module'");
  EXPECT_EQ(fault(std::string(70000, ' ')), "here: a manifest has more than 65536 bytes");
  EXPECT_THAT(fault(std::string(60000, '[')), StartsWith("here: manifest is not valid JSON: "));
}

TEST(Manifest, AnyBytesAreAManifestOrAFault) {
  const std::string good =
      R"({"name": "npu", "kinds": ["npu"], "library": "l.so", "needs": {"commands": ["clang"], "python": ["numpy"], "files": ["x"]}})";
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 256);
    Result<Manifest> m = registry::parse_manifest(text.substr(0, i % 4 == 0 ? random() % text.size() : text.npos), "here");
    if (!m) {
      ++refused;
      EXPECT_FALSE(m.error().message.empty());
    } else {
      EXPECT_FALSE(m->name.empty());
    }
  }
  EXPECT_GT(refused, 2500);
}

// ---- sources ---------------------------------------------------------------------------------------------------

std::string manifest(const std::string& name, const std::string& more = R"("library": "l.so")") {
  return R"({"name": ")" + name + R"(", "kinds": [")" + name + R"(_kind"], )" + more + "}";
}

class ManifestSearch : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    set_environment("KILN_BACKEND_PATH", "");
    set_environment("XDG_DATA_HOME", path("data"));
  }
  void TearDown() override {
    registry::set_manifest_source({});
    Scratch::TearDown();
  }
  // Those that are not built in, as "name source".
  static std::vector<std::string> outside(const ManifestSet& set) {
    std::vector<std::string> out;
    for (const Manifest& m : set.manifests) {
      if (!m.builtin) out.push_back(m.name + " " + m.source);
    }
    return out;
  }
  static std::vector<std::string> faults(const ManifestSet& set) {
    std::vector<std::string> out;
    for (const registry::ManifestFault& f : set.faults) out.push_back(f.error.to_string());
    return out;
  }
};

TEST_F(ManifestSearch, SourcesInTheirOrder) {
  write("b/zz/manifest.json", manifest("zz"));
  write("b/aa/manifest.json", manifest("aa", R"("python": "aa_backend")"));
  write("b/manifest.json", manifest("mm"));
  write("b/no_manifest/x", "");
  write("a/only/manifest.json", manifest("only"));
  write("data/kiln/backends/mine/manifest.json", manifest("mine"));
  set_environment("KILN_BACKEND_PATH", path("b") + "::" + path("a/only") + "/");
  registry::set_manifest_source([&] {
    return std::vector<registry::ManifestText>{
        {manifest("pip", R"("python": "pip_backend")"), path("site/manifest.json"), "entry point pip"}};
  });
  ManifestSet set = registry::find_manifests();
  EXPECT_THAT(faults(set), IsEmpty());
  EXPECT_THAT(outside(set), ElementsAre("mm KILN_BACKEND_PATH", "aa KILN_BACKEND_PATH", "zz KILN_BACKEND_PATH", "only KILN_BACKEND_PATH",
                                        "mine user folder", "pip entry point pip"));
  EXPECT_EQ(set.manifests[0].source, "built in");
  for (const Manifest& m : set.manifests) {
    if (m.name == "aa") {
      EXPECT_EQ(m.path, path("b/aa/manifest.json"));
      EXPECT_EQ(m.python_path, path("b/aa"));
      EXPECT_EQ(registry::beside(m, "x/y"), path("b/aa/x/y"));
      EXPECT_EQ(registry::beside(m, "/x/y"), "/x/y");
    }
    if (m.name == "pip") {
      EXPECT_EQ(m.python_path, "");  // its package is on sys.path already
    }
  }
}

TEST_F(ManifestSearch, UserFolderIsInTheHomeWithoutXdg) {
  write("home/.local/share/kiln/backends/mine/manifest.json", manifest("mine"));
  set_environment("HOME", path("home"));
  set_environment("XDG_DATA_HOME", "");
  EXPECT_THAT(outside(registry::find_manifests()), ElementsAre("mine user folder"));
  set_environment("XDG_DATA_HOME", "relative");  // to be ignored, says the specification
  EXPECT_THAT(outside(registry::find_manifests()), ElementsAre("mine user folder"));
}

TEST_F(ManifestSearch, FirstOfANameStands) {
  std::string first = write("a/one/manifest.json", manifest("same"));
  std::string second = write("b/two/manifest.json", manifest("same"));
  std::string builtin = write("c/c/manifest.json", R"({"name": "c", "kinds": ["c", "other"], "library": "l.so"})");
  set_environment("KILN_BACKEND_PATH", path("a") + ":" + path("b") + ":" + path("c"));
  ManifestSet set = registry::find_manifests();
  EXPECT_THAT(outside(set), ElementsAre("same KILN_BACKEND_PATH"));
  EXPECT_THAT(faults(set), ElementsAre(second + ": a backend 'same' exists already (the other one is " + first + ")",
                                       builtin + ": a backend 'c' exists already (the other one is built in)"));
  EXPECT_THAT(set.faults[1].kinds, ElementsAre("c", "other"));
}

TEST_F(ManifestSearch, WhatCannotBeReadIsAFaultEach) {
  std::filesystem::create_directories(path("b/a_folder/manifest.json"));
  std::filesystem::create_directories(path("b/b_fifo"));
  ASSERT_EQ(mkfifo(path("b/b_fifo/manifest.json").c_str(), 0600), 0);
  std::filesystem::create_directories(path("b/c_loop"));
  std::filesystem::create_symlink("manifest.json", path("b/c_loop/manifest.json"));
  std::filesystem::create_directories(path("b/d_dangling"));
  std::filesystem::create_symlink("nowhere", path("b/d_dangling/manifest.json"));
  std::filesystem::create_symlink("e_loop", path("b/e_loop"));
  std::filesystem::create_directories(path("b/f_device"));
  std::filesystem::create_symlink("/dev/zero", path("b/f_device/manifest.json"));
  write("b/g_large/manifest.json", std::string(1 << 20, ' '));
  write("b/h_bare/manifest.json", manifest("bare", R"("description": "no library")"));
  write("b/i_needs/manifest.json", manifest("needs", R"("library": "l.so", "needs": 1)"));
  write("b/j_empty/manifest.json", "");
  write("b/k_good/manifest.json", manifest("good"));
  set_environment("KILN_BACKEND_PATH", path("missing") + ":" + path("b") + ":" + path("b/k_good/manifest.json"));
  ManifestSet set = registry::find_manifests();
  EXPECT_THAT(outside(set), ElementsAre("good KILN_BACKEND_PATH"));
  EXPECT_THAT(faults(set), ElementsAre(path("missing") + ": a folder of backends cannot be read: No such file or directory",
                                       path("b/a_folder/manifest.json") + ": the manifest is not a regular file",
                                       path("b/b_fifo/manifest.json") + ": the manifest is not a regular file",
                                       path("b/c_loop/manifest.json") + ": the manifest cannot be read: Too many levels of symbolic links",
                                       path("b/d_dangling/manifest.json") + ": the manifest cannot be read: No such file or directory",
                                       path("b/e_loop/manifest.json") + ": the manifest cannot be read: Too many levels of symbolic links",
                                       path("b/f_device/manifest.json") + ": the manifest is not a regular file",
                                       path("b/g_large/manifest.json") + ": a manifest has more than 65536 bytes",
                                       path("b/h_bare/manifest.json") + ": a manifest outside Kiln needs a 'library' or a 'python' module",
                                       path("b/i_needs/manifest.json") + ": 'needs' of a manifest must be an object",
                                       StartsWith(path("b/j_empty/manifest.json") + ": manifest is not valid JSON: "),
                                       path("b/k_good/manifest.json") + ": a folder of backends cannot be read: Not a directory"));
  EXPECT_THAT(set.faults[9].kinds, ElementsAre("needs_kind"));
}

TEST_F(ManifestSearch, SocketIsAFault) {
  std::filesystem::create_directories(path("b/s"));
  std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(path("b/s"));  // a socket's path is short
  sockaddr_un address = {AF_UNIX, "manifest.json"};
  int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket_file, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  std::filesystem::current_path(before);
  set_environment("KILN_BACKEND_PATH", path("b"));
  EXPECT_THAT(faults(registry::find_manifests()), ElementsAre(StartsWith(path("b/s/manifest.json") + ": the manifest cannot be read: ")));
  close(socket_file);
}

TEST_F(ManifestSearch, RelativeFoldersBecomeAbsolute) {
  write("b/x/manifest.json", manifest("x"));
  std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  set_environment("KILN_BACKEND_PATH", "./b");
  ManifestSet set = registry::find_manifests();
  std::filesystem::current_path(before);
  ASSERT_THAT(outside(set), ElementsAre("x KILN_BACKEND_PATH"));
  EXPECT_THAT(set.manifests.back().path, EndsWith("/b/x/manifest.json"));
  EXPECT_EQ(set.manifests.back().path[0], '/');
}

TEST_F(ManifestSearch, SourceThatIsBroken) {
  registry::set_manifest_source([] { return std::vector<registry::ManifestText>{{"[", "p", "entry point p"}, {manifest("q"), "", "q"}}; });
  ManifestSet set = registry::find_manifests();
  EXPECT_THAT(faults(set), ElementsAre(StartsWith("p: manifest is not valid JSON")));
  EXPECT_THAT(outside(set), ElementsAre("q q"));
  registry::set_manifest_source([]() -> std::vector<registry::ManifestText> { throw std::runtime_error("boom"); });
  EXPECT_THAT(faults(registry::find_manifests()), ElementsAre("the manifest source threw: boom"));
  registry::set_manifest_source([]() -> std::vector<registry::ManifestText> { throw 1; });
  EXPECT_THAT(faults(registry::find_manifests()), ElementsAre("the manifest source threw something that is not a std::exception"));
  std::vector<std::string> inner;
  registry::set_manifest_source([&] {
    inner = faults(registry::find_manifests());
    EXPECT_TRUE(registry::slot_for("c"));
    return std::vector<registry::ManifestText>();
  });
  EXPECT_THAT(faults(registry::find_manifests()), IsEmpty());
  EXPECT_THAT(inner, ElementsAre("the manifest source used the registry, and is left out"));
}

// ---- needs -----------------------------------------------------------------------------------------------------

class Needs : public Scratch {
 protected:
  void TearDown() override {
    registry::set_python_finder({});
    Scratch::TearDown();
  }
  std::vector<std::string> probes(Manifest m) const {
    m.path = path("backend/manifest.json");
    std::vector<std::string> out;
    for (const Probe& p : registry::probe(m)) out.push_back(p.what + (p.found ? " yes " : " no ") + p.detail);
    return out;
  }
};

TEST_F(Needs, CommandsInPathWithoutAShell) {
  std::string tool = write("bin/my tool", "#!/bin/sh\n");
  write("bin/plain", "no program\n");
  std::string own = write("backend/own", "#!/bin/sh\n");
  for (const std::string& file : {tool, own}) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  set_environment("PATH", path("nowhere") + ":" + path("bin"));
  Manifest m;
  m.needs.commands = {"my tool", "plain", "./own", "$(touch " + path("shell") + ")x", "; touch x"};
  EXPECT_THAT(probes(m),
              ElementsAre("command my tool yes " + tool, "command plain no not in PATH", "command ./own yes " + path("backend/./own"),
                          "command $(touch " + path("shell") + ")x no no such program", "command ; touch x no not in PATH"));
  EXPECT_FALSE(std::filesystem::exists(path("shell")));
}

TEST_F(Needs, FilesAndLibraries) {
  write("backend/x.bc", "");
  write("backend/own.so", "");
  write("backend/libown.so.2", "");
  write("lib/libfoo.so.1", "");
  set_environment("LD_LIBRARY_PATH", path("nowhere") + "::" + path("lib"));
  Manifest m;
  m.library = "own.so";
  m.needs.files = {"x.bc", "y.bc"};
  m.needs.libraries = {"libfoo.so.1", "libown.so.2", "libc.so.6", "libno.so.1", "./own.so"};
  std::vector<std::string> found = probes(m);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0], "library own.so yes " + path("backend/own.so"));
  EXPECT_EQ(found[1], "file x.bc yes " + path("backend/x.bc"));
  EXPECT_EQ(found[2], "file y.bc no " + path("backend/y.bc"));
  EXPECT_EQ(found[3], "library libfoo.so.1 yes " + path("lib/libfoo.so.1"));
  EXPECT_EQ(found[4], "library libown.so.2 yes " + path("backend/libown.so.2"));
  EXPECT_THAT(found[5], StartsWith("library libc.so.6 yes /"));
  EXPECT_EQ(found[6], "library libno.so.1 no not in the manifest's folder, LD_LIBRARY_PATH or the system's folders");
  EXPECT_EQ(found[7], "library ./own.so yes " + path("backend/./own.so"));
}

TEST_F(Needs, PythonModulesByTheFinder) {
  Manifest m;
  m.python = "mine";
  m.python_path = "/p";
  m.needs.python = {"numpy", "odd"};
  EXPECT_THAT(probes(m)[0], "Python module mine no only a process with Python can tell");
  registry::set_python_finder([](std::string_view module, std::string_view folder) {
    if (module == "odd") throw std::runtime_error("boom");
    return module == "mine" && folder == "/p";
  });
  EXPECT_THAT(probes(m), ElementsAre("Python module mine yes can be imported", "Python module numpy no Python does not find it",
                                     "Python module odd no looking for it threw: boom"));
}

TEST_F(Needs, BuiltInBackendsProbeThemselves) {
  for (const Manifest& m : registry::manifests()) {
    if (m.name != "c") continue;
    EXPECT_EQ(registry::probe(m)[0].what, "C compiler");
  }
}

}  // namespace
}  // namespace kiln
