#include "base/process.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kiln {
namespace {

ProcessResult shell(const std::string& script, double timeout = 30) {
  auto r = run_process({"/bin/sh", "-c", script}, timeout);
  EXPECT_TRUE(r.ok()) << r.error().to_string();
  return r ? *r : ProcessResult{};
}

TEST(Process, BothStreamsAndTheStatusComeBack) {
  ProcessResult r = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(r.output, "out\nerr\n");
  EXPECT_EQ(r.status, 3);
  EXPECT_FALSE(r.timed_out);
}

TEST(Process, ASignalIsAStatusPast128) { EXPECT_EQ(shell("kill -SEGV $$").status, 128 + 11); }

TEST(Process, StandardInputIsEmpty) { EXPECT_EQ(shell("cat; echo end").output, "end\n"); }

TEST(Process, ArgumentsReachTheProgramAsTheyAre) {
  auto r = run_process({"printf", "%s|", "a b", "$HOME", "`id`", "'\"", ""}, 30);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->output, "a b|$HOME|`id`|'\"||");
}

TEST(Process, RunsInTheFolderAskedFor) {
  auto r = run_process({"/bin/pwd"}, 30, "/usr");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->output, "/usr\n");
}

TEST(Process, AProgramThatIsNotThereIsAnErrorThatNamesIt) {
  auto r = run_process({"no-such-program-here"}, 30);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Code::kToolchain);
  EXPECT_EQ(r.error().message, "cannot start 'no-such-program-here': No such file or directory");
  EXPECT_EQ(run_process({}, 30).error().code, Code::kInvalidArgument);
}

TEST(Process, OneThatHangsIsKilledWithItsChildren) {
  ProcessResult r = shell("echo started; sleep 1000 & sleep 1000", 0.2);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.output, "started\n");
}

TEST(Process, OneThatHangsWithItsOutputClosedIsKilledToo) { EXPECT_TRUE(shell("exec >&- 2>&-; sleep 1000", 0.2).timed_out); }

TEST(Process, AChildLeftBehindDoesNotKeepUsWaiting) {
  ProcessResult r = shell("sleep 1000 & echo done");
  EXPECT_FALSE(r.timed_out);
  EXPECT_EQ(r.output, "done\n");
  EXPECT_EQ(r.status, 0);
}

TEST(Process, OutputIsCutAtTheLimitAndTheProgramStillEnds) {
  ProcessResult r = shell("head -c 3000000 /dev/zero; exit 7");
  EXPECT_EQ(r.output.size(), kMaxOutput);
  EXPECT_EQ(r.status, 7);
}

TEST(Process, EndlessOutputIsStoppedByTheTimeOut) {
  ProcessResult r = shell("cat /dev/zero", 0.2);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.output.size(), kMaxOutput);
}

TEST(FindProgram, LooksInPathAndTakesNoFolderForAProgram) {
  EXPECT_THAT(find_program("sh"), testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("/usr"), "");
  EXPECT_EQ(find_program("no-such-program-here"), "");
  EXPECT_EQ(find_program("/no/such/program"), "");
  EXPECT_EQ(find_program(""), "");
}

}  // namespace
}  // namespace kiln
