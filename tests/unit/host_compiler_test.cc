#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/fork_worker.h"
#include "base/write_all.h"
#include "host_c/compiler.h"

namespace kiln::host_c {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Sets a variable for the time of a test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// An empty folder as TMPDIR, to see what is left in it.
class Toolchain : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::path(testing::TempDir()) / "toolchain test ü XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder_ = pattern;
    temporary_.emplace("TMPDIR", pattern.c_str());
  }
  void TearDown() override {
    temporary_.reset();
    fs::remove_all(folder_);
  }
  fs::path script(const std::string& name, const std::string& text) {
    fs::path p = folder_ / "bin" / name;
    fs::create_directories(p.parent_path());
    std::ofstream(p) << "#!/bin/sh\n" << text;
    chmod(p.c_str(), 0755);
    return p;
  }
  size_t left_behind() {
    size_t n = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) n += entry.path().filename() != "bin";
    return n;
  }

  fs::path folder_;

 private:
  std::optional<Environment> temporary_;
};

Source source(std::string text, std::string entries = "") { return {"c", std::move(text), std::move(entries), {}}; }

TEST_F(Toolchain, CompilesAndLoadsAndLeavesNothingBehind) {
  auto library = compile_and_load(source("int three(void) { return 3; }\n", "int four(void) { return three() + 1; }\n"));
  ASSERT_TRUE(library.ok()) << library.error().to_string();
  EXPECT_EQ(reinterpret_cast<int (*)()>((*library)->find("four"))(), 4);
  EXPECT_EQ((*library)->find("five"), nullptr);
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, IntegersWrapAroundAndSumsAreNotFused) {
  auto library =
      compile_and_load(source("int grows(int x) { return x + 1 > x; }\n"
                              "double left_over(double a, double b, double c) { return a * b + c; }\n"));
  ASSERT_TRUE(library.ok()) << library.error().to_string();
  EXPECT_EQ(reinterpret_cast<int (*)(int)>((*library)->find("grows"))(2147483647), 0);
  // (1 + 2^-30)^2 rounds to 1 + 2^-29; a fused product would leave 2^-60.
  auto f = reinterpret_cast<double (*)(double, double, double)>((*library)->find("left_over"));
  EXPECT_EQ(f(1 + 0x1p-30, 1 + 0x1p-30, -(1 + 0x1p-29)), 0.0);
}

TEST_F(Toolchain, AnErrorNamesTheLineAndQuotesIt) {
  auto library = compile_and_load(source("int a;\nint f(void) { return nothing; }\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::kToolchain);
  EXPECT_THAT(library.error().place, StartsWith("source.c:2:"));
  EXPECT_THAT(library.error().message, HasSubstr("failed with status 1: error: "));
  EXPECT_THAT(library.error().message, HasSubstr("int f(void) { return nothing; }"));
  EXPECT_THAT(library.error().message, Not(HasSubstr(folder_.string())));
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, AMissingSymbolIsAnErrorAtLoad) {
  auto library = compile_and_load(source("int missing_symbol(void); int f(void) { return missing_symbol(); }\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message, HasSubstr("missing_symbol"));
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, KeepsTheSourceOfAFailureWhenAsked) {
  Environment keep("KILN_KEEP_TEMPS", "1");
  auto library = compile_and_load(source("int f(void) { return nothing; }\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().hint, StartsWith("the source is kept in " + folder_.string()));
  EXPECT_EQ(left_behind(), 1u);
}

TEST_F(Toolchain, ACompilerThatHangsIsStopped) {
  Environment limit("KILN_COMPILE_TIMEOUT", "0.2");
  script("hangs", "sleep 1000 & sleep 1000");  // its path holds spaces, which separate flags in CC
  Environment named("CC", "hangs");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  auto library = compile_and_load(source("int x;\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().message, "the C compiler 'hangs' did not end within 0.2 s");
  EXPECT_THAT(library.error().hint, HasSubstr("KILN_COMPILE_TIMEOUT"));
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, ACompilerThatPrintsMegabytesIsQuotedInShort) {
  script("noisy", "head -c 5000000 /dev/zero | tr '\\0' x; exit 1");
  Environment cc("CC", "noisy");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  auto library = compile_and_load(source("int x;\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_LT(library.error().message.size(), 1000u);
}

TEST_F(Toolchain, FlagsThatTheCompilerLacksAreLeftOut) {
  script(
      "old",
      "for a in \"$@\"; do case \"$a\" in -march=*|-fopenmp) echo \"error: unknown option $a\" >&2; exit 1;; esac; done; exec cc \"$@\"");
  Environment cc("CC", "old");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  auto library = compile_and_load(source("void f(int* a) {\n#pragma omp parallel for\n  for (int i = 0; i < 4; ++i) a[i] = i;\n}\n"));
  ASSERT_TRUE(library.ok()) << library.error().to_string();
  int a[4] = {};
  reinterpret_cast<void (*)(int*)>((*library)->find("f"))(a);
  EXPECT_EQ(a[3], 3);
}

TEST_F(Toolchain, ASecondCompileIsReadFromTheCache) {
  Environment cache("KILN_CACHE_DIR", (folder_ / "bin/cache").c_str());
  script("counting", "echo run >> '" + (folder_ / "bin/runs").string() + "'; exec cc \"$@\"");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  auto runs_after = [&](const char* text, const char* cc) {
    Environment named("CC", cc);
    auto library = compile_and_load(source(text));
    EXPECT_TRUE(library.ok() && (*library)->find("f"));
    return fs::file_size(folder_ / "bin/runs") / 4;
  };
  EXPECT_EQ(runs_after("int f(void) { return 1; }\n", "counting"), 1u);
  EXPECT_EQ(runs_after("int f(void) { return 1; }\n", "counting"), 1u);
  EXPECT_EQ(runs_after("int f(void) { return 2; }\n", "counting"), 2u);      // another text
  EXPECT_EQ(runs_after("int f(void) { return 1; }\n", "counting -DX"), 3u);  // other flags
  script("counting", "echo run >> '" + (folder_ / "bin/runs").string() + "'; exec cc -DY \"$@\"");
  EXPECT_EQ(runs_after("int f(void) { return 1; }\n", "counting"), 4u);  // another compiler
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, ParallelLoopsSurviveTheirLibrary) {
  const char* text = "void f(int* a) {\n#pragma omp parallel for num_threads(2)\n  for (int i = 0; i < 64; ++i) a[i] = i * i;\n}\n";
  for (int round = 0; round < 3; ++round) {
    auto library = compile_and_load(source(text));
    ASSERT_TRUE(library.ok()) << library.error().to_string();
    int a[64] = {};
    reinterpret_cast<void (*)(int*)>((*library)->find("f"))(a);
    EXPECT_EQ(a[63], 63 * 63);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // idle threads must still have code to run
}

// Once a worker waited for the threads of its parent's pool, which a fork does not copy.
TEST_F(Toolchain, ParallelLoopsRunInAForkedWorkerToo) {
  auto library =
      compile_and_load(source("void f(int* a) {\n#pragma omp parallel for num_threads(2)\n  for (int i = 0; i < 64; ++i) a[i] = i;\n}\n"));
  ASSERT_TRUE(library.ok()) << library.error().to_string();
  auto f = reinterpret_cast<void (*)(int*)>((*library)->find("f"));
  int a[64] = {};
  f(a);
  ForkedWorker worker = fork_worker([&](int fd) {
    alarm(20);
    std::fill(std::begin(a), std::end(a), 0);
    f(a);
    (void)write_all(fd, std::string(reinterpret_cast<const char*>(a), sizeof a));
  });
  ASSERT_GT(worker.pid, 0);
  int got[64] = {};
  EXPECT_EQ(read(worker.fd, got, sizeof got), static_cast<ssize_t>(sizeof got));
  EXPECT_EQ(got[63], 63);
  close(worker.fd);
  int status = -1;
  waitpid(worker.pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Toolchain, ArtifactsAreWhatTheyAreCalled) {
  runtime::Artifacts made = artifacts_of(source("int f(int x) { return x + 1; }\n", "this is not C"));
  auto so = made.at("so")(), object = made.at("obj")(), assembly = made.at("asm")();
  ASSERT_TRUE(so.ok() && object.ok() && assembly.ok());
  // ELF header: magic, and e_type at offset 16, 3 for shared objects and 1 for relocatable ones.
  EXPECT_EQ(so->substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ((*so)[16], 3);
  EXPECT_EQ((*object)[16], 1);
  EXPECT_THAT(*assembly, HasSubstr("f:\n"));
  EXPECT_EQ(*made.at("so")(), *so) << "same text, same bytes";
  EXPECT_EQ(left_behind(), 0u);
}

TEST_F(Toolchain, LlvmIrNeedsACompilerThatMakesIt) {
  script("plain", "echo \"error: unrecognized command-line option '-emit-llvm'\" >&2; exit 1");
  Environment cc("CC", "plain");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  auto ll = artifacts_of(source("int x;\n")).at("ll")();
  ASSERT_FALSE(ll.ok());
  EXPECT_EQ(ll.error().to_string(), "the C compiler 'plain' does not make LLVM IR (set CC=clang)");
}

TEST_F(Toolchain, NoCompilerAtAllSaysWhatToInstall) {
  Environment cc("CC", nullptr);
  Environment path("PATH", folder_.c_str());
  auto found = find_compiler();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::kToolchain);
  EXPECT_EQ(found.error().message, "no C compiler is found (looked for $CC, cc, gcc and clang in PATH)");
  EXPECT_THAT(found.error().hint, HasSubstr("apt install gcc"));
  EXPECT_EQ(compile_and_load(source("int x;\n")).error().message, found.error().message);
}

TEST_F(Toolchain, CcMayHoldFlagsAndNeverReachesAShell) {
  script("mycc", "exit 0");
  Environment path("PATH", ((folder_ / "bin").string() + ":" + std::getenv("PATH")).c_str());
  Environment cc("CC", "  mycc -m64  -DX=$(touch${IFS}pwned) ");
  auto found = find_compiler();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, testing::ElementsAre("mycc", "-m64", "-DX=$(touch${IFS}pwned)"));
  Environment missing("CC", "no-such-cc -m64");
  EXPECT_EQ(find_compiler().error().message, "the C compiler 'no-such-cc' that CC names is not found");
}

TEST_F(Toolchain, ACompilerThatWritesNothingIsNamed) {
  Environment cc("CC", "true");
  auto library = compile_and_load(source("int x;\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().to_string(), "the C compiler 'true' succeeded but wrote no output (is it a C compiler?)");
}

TEST_F(Toolchain, AnEmptyTmpdirIsNone) {
  Environment t("TMPDIR", "");
  EXPECT_TRUE(compile_and_load(source("int x;\n")).ok());
}

TEST_F(Toolchain, AFolderThatCannotBeWrittenIsNamed) {
  Environment t("TMPDIR", "/no/such/folder");
  auto library = compile_and_load(source("int x;\n"));
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::kIo);
  EXPECT_EQ(library.error().place, "/no/such/folder");
  EXPECT_THAT(library.error().hint, HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace kiln::host_c
