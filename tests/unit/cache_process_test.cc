// Many processes with one cache, some of which are killed at any moment.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "cache/cache.h"
#include "cache/store.h"
#include "scratch.h"

namespace kiln::cache {
namespace {

constexpr int kKeys = 24;

Key key_of(int i) { return {"cubin", "sm_90a", "compiler 13.0", "", "source " + std::to_string(i)}; }

std::string bytes_of(int i) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::string out(static_cast<size_t>(1000 << i % 9), '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Fetches keys in an order of its own, until it is killed or done. Exit status 0: all bytes were right.
[[noreturn]] void work(unsigned seed, const std::vector<std::string>& expected, int rounds) {
  uint64_t before = counts().damaged;  // the parent's
  std::mt19937 random(seed);
  for (int n = 0; n < rounds; ++n) {
    int i = static_cast<int>(random() % kKeys);
    auto r = fetch(key_of(i), [&]() -> Result<std::string> { return expected[i]; });
    if (!r || *r != expected[i]) _exit(1);
  }
  _exit(counts().damaged > before ? 2 : 0);
}

class CacheProcess : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    set_environment("KILN_CACHE_DIR", path("cache"));
    for (int i = 0; i < kKeys; ++i) expected_.push_back(bytes_of(i));
  }

  std::vector<pid_t> start(int count, int rounds) {
    std::vector<pid_t> children;
    for (int c = 0; c < count; ++c) {
      pid_t child = fork();
      if (child == 0) work(seed_, expected_, rounds);
      ++seed_;
      children.push_back(child);
    }
    return children;
  }

  static void expect_fine(const std::vector<pid_t>& children) {
    for (pid_t child : children) {
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  }

  void expect_usable() {
    auto store = Store::open(path("cache"));
    ASSERT_TRUE(store.ok());
    auto verified = store->verify();
    ASSERT_TRUE(verified.ok());
    EXPECT_THAT(verified->damaged, testing::IsEmpty());
    for (int i = 0; i < kKeys; ++i) {
      auto r = fetch(key_of(i), [&]() -> Result<std::string> { return expected_[i]; });
      EXPECT_TRUE(r.ok() && *r == expected_[i]) << i;
    }
  }

  std::vector<std::string> expected_;
  unsigned seed_ = 1;
};

TEST_F(CacheProcess, RaceForTheSameKeys) {
  expect_fine(start(8, 200));
  expect_usable();
  EXPECT_EQ(Store::open(path("cache"))->usage()->temporaries, 0u);
}

TEST_F(CacheProcess, RaceWithPruning) {
  set_environment("KILN_CACHE_SIZE", "600K");  // a third of all bytes
  expect_fine(start(6, 200));
  expect_usable();
}

TEST_F(CacheProcess, KilledAtAnyMoment) {
  set_environment("KILN_CACHE_SIZE", "600K");
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    std::vector<pid_t> victims = start(4, 1000000);
    for (pid_t victim : victims) {
      usleep(random() % 8000);
      kill(victim, SIGKILL);
      int status = 0;
      ASSERT_EQ(waitpid(victim, &status, 0), victim);
      EXPECT_TRUE(WIFSIGNALED(status)) << status;  // it found nothing wrong until then
    }
  }
  expect_fine(start(2, 100));
  expect_usable();
}

}  // namespace
}  // namespace kiln::cache
