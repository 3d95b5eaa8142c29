// The cache: what is kept, what is refused, what is pruned.
#include "cache/cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "cache/entry.h"
#include "cache/settings.h"
#include "cache/store.h"
#include "scratch.h"

namespace kiln::cache {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Key key_of(const std::string& source) { return {"cubin", "sm_90a", "compiler 13.0", "-O3", source}; }

class Cache : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    set_environment("KILN_CACHE_DIR", path("cache"));
    set_environment("KILN_CACHE_SIZE", "");
  }

  // What a fetch gives and whether it had to be made.
  struct Fetched {
    std::string bytes;
    bool made = false;
  };
  static Fetched fetch_as(const Key& key, const std::string& bytes) {
    Fetched out;
    auto r = fetch(key, [&]() -> Result<std::string> { return out.made = true, bytes; });
    EXPECT_TRUE(r.ok());
    if (r) out.bytes = *r;
    return out;
  }
  static bool hits(const Key& key, const std::string& bytes) {
    Fetched f = fetch_as(key, "made anew");
    return !f.made && f.bytes == bytes;
  }

  std::string entry_path(const Key& key) const { return path("cache/" + name_of(text_of(key))); }
  Store store() const { return std::move(*Store::open(path("cache"))); }
  static void set_age(const std::string& file, int seconds) {
    struct timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  static std::string slurp(const std::string& file) {
    std::ifstream f(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(f), {}};
  }
  static void spill(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }
};

TEST_F(Cache, KeepsWhatWasMade) {
  std::string bytes("a\0b\xff\n", 5);
  EXPECT_TRUE(fetch_as(key_of("x"), bytes).made);
  EXPECT_TRUE(hits(key_of("x"), bytes));
  EXPECT_TRUE(fetch_as(key_of("empty"), "").made);
  EXPECT_TRUE(hits(key_of("empty"), ""));
}

TEST_F(Cache, EveryFieldTellsKeysApart) {
  Key base{"a", "b", "c", "d", "e"};
  fetch_as(base, "base");
  for (std::string Key::*field : {&Key::format, &Key::architecture, &Key::toolchain, &Key::options, &Key::source}) {
    Key other = base;
    other.*field += "1";
    EXPECT_TRUE(fetch_as(other, "other").made);
  }
  EXPECT_TRUE(fetch_as({"ab", "", "c", "d", "e"}, "moved").made);  // the same letters, cut elsewhere
  EXPECT_TRUE(fetch_as({"a", "b", "c", "de", ""}, "moved").made);
  EXPECT_TRUE(hits(base, "base"));
}

TEST_F(Cache, ErrorsAreNotKept) {
  auto failed = fetch(key_of("x"), []() -> Result<std::string> { return Error{Code::kToolchain, "no compiler", "x:1", ""}; });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no compiler");
  EXPECT_EQ(failed.error().place, "x:1");
  EXPECT_TRUE(fetch_as(key_of("x"), "bytes").made);
}

TEST_F(Cache, OneThreadMakes) {
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      auto r = fetch(key_of("slow"), [&]() -> Result<std::string> {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return std::string("bytes");
      });
      EXPECT_TRUE(r.ok() && *r == "bytes");
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made, 1);
}

TEST_F(Cache, WaitingThreadsGetTheSameErrorAndTheSameException) {
  for (bool throws : {false, true}) {
    std::atomic<bool> waiting = false;
    std::atomic<int> failures = 0, made = 0;
    auto attempt = [&] {
      try {
        auto r = fetch(key_of("bad"), [&]() -> Result<std::string> {
          ++made;
          while (!waiting) std::this_thread::yield();
          if (throws) throw std::runtime_error("bad");
          return Error{Code::kToolchain, "bad", "", ""};
        });
        failures += !r && r.error().message == "bad";
      } catch (const std::runtime_error&) {
        ++failures;
      }
    };
    uint64_t shared_before = counts().shared;
    std::thread first(attempt);
    while (made == 0) std::this_thread::yield();
    std::thread second(attempt);
    while (counts().shared == shared_before) std::this_thread::yield();
    waiting = true;
    first.join();
    second.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(failures, 2);
    EXPECT_TRUE(fetch_as(key_of("bad" + std::to_string(throws)), "then").made);
  }
}

TEST_F(Cache, ADifferentKeyIsMadeMeanwhile) {
  auto r = fetch(key_of("outer"), []() -> Result<std::string> {
    auto inner = fetch(key_of("inner"), []() -> Result<std::string> { return std::string("in"); });
    return inner ? *inner + "out" : inner;
  });
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(*r, "inout");
}

TEST_F(Cache, ADamagedEntryIsMadeAgainAndReported) {
  Key key = key_of("short");
  fetch_as(key, "payload");
  std::string whole = slurp(entry_path(key)), file = entry_path(key);
  auto expect_refused = [&](const std::string& bytes, const std::string& what) {
    spill(file, bytes);
    testing::internal::CaptureStderr();
    uint64_t before = counts().damaged;
    Fetched f = fetch_as(key, "payload");
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(f.made) << what;
    EXPECT_EQ(counts().damaged, before + 1) << what;
    EXPECT_THAT(said, HasSubstr(name_of(text_of(key)))) << what;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << what;
    EXPECT_EQ(slurp(file), whole) << what;  // and is whole again
  };
  for (size_t length = 0; length < whole.size(); ++length)
    expect_refused(whole.substr(0, length), "cut to " + std::to_string(length) + " bytes");
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string altered = whole;
    altered[byte] = static_cast<char>(altered[byte] ^ (1 << byte % 8));
    expect_refused(altered, "byte " + std::to_string(byte));
  }
  expect_refused(whole + "x", "longer");
}

TEST_F(Cache, AnEntryUnderAnotherNameIsNotUsed) {
  fetch_as(key_of("a"), "of a");
  fs::copy_file(entry_path(key_of("a")), entry_path(key_of("b")));
  EXPECT_EQ(fetch_as(key_of("b"), "of b").bytes, "of b");
  EXPECT_TRUE(hits(key_of("b"), "of b"));
}

TEST_F(Cache, AnEntryOfAnotherLayoutIsAMissAndStays) {
  std::string text = text_of(key_of("x")), entry = encode(text, "newer");
  entry[8] = 2;  // the layout's version
  entry.resize(entry.size() - 16);
  entry += digest(entry);
  EXPECT_EQ(decode(entry).state, State::kForeign);
  write("cache/" + name_of(text), entry);
  ASSERT_EQ(chmod(path("cache").c_str(), 0700), 0);
  auto verified = store().verify();
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->foreign, 1u);
  EXPECT_THAT(verified->damaged, testing::IsEmpty());
  testing::internal::CaptureStderr();
  EXPECT_EQ(fetch_as(key_of("x"), "ours").bytes, "ours");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Cache, WhatIsNoFileIsDamaged) {
  fs::create_directory(path("cache"));
  ASSERT_EQ(chmod(path("cache").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo(entry_path(key_of("pipe")).c_str(), 0600), 0);
  fs::create_symlink("/etc/passwd", entry_path(key_of("link")));
  testing::internal::CaptureStderr();
  EXPECT_EQ(fetch_as(key_of("pipe"), "1").bytes, "1");
  EXPECT_EQ(fetch_as(key_of("link"), "2").bytes, "2");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("damaged"));
  EXPECT_TRUE(hits(key_of("pipe"), "1"));  // replaced by files
  EXPECT_TRUE(hits(key_of("link"), "2"));
}

TEST_F(Cache, AFolderInPlaceOfAnEntryIsReportedAndStays) {
  fetch_as(key_of("other"), "1");
  std::string empty = entry_path(key_of("empty")), full = entry_path(key_of("full"));
  fs::create_directory(empty);
  fs::create_directory(full);
  std::ofstream(full + "/mine") << "precious";
  testing::internal::CaptureStderr();
  EXPECT_EQ(fetch_as(key_of("empty"), "2").bytes, "2");
  EXPECT_TRUE(hits(key_of("empty"), "2"));  // replaced by a file
  EXPECT_EQ(fetch_as(key_of("full"), "3").bytes, "3");
  EXPECT_TRUE(fetch_as(key_of("full"), "3").made);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(full));
  auto cleared = store().clear();
  ASSERT_TRUE(cleared.ok()) << cleared.error().to_string();
  EXPECT_EQ(cleared->removed, 2u);
  EXPECT_TRUE(store().prune(1).ok());
  EXPECT_TRUE(fs::exists(full + "/mine"));
}

TEST_F(Cache, AMovedFolderKeepsItsHits) {
  fetch_as(key_of("x"), "bytes");
  fs::rename(path("cache"), path("elsewhere"));
  set_environment("KILN_CACHE_DIR", path("elsewhere"));
  EXPECT_TRUE(hits(key_of("x"), "bytes"));
}

TEST_F(Cache, TheFolderIsForItsOwner) {
  set_environment("KILN_CACHE_DIR", path("deep/er/cache/"));
  fetch_as(key_of("x"), "bytes");
  EXPECT_TRUE(hits(key_of("x"), "bytes"));
  EXPECT_EQ(fs::status(path("deep/er/cache")).permissions(), fs::perms::owner_all);
}

// ---- bounds ----------------------------------------------------------------------------------------------------

TEST_F(Cache, TheLeastRecentlyUsedGoFirst) {
  for (int i = 0; i < 8; ++i) {
    fetch_as(key_of(std::to_string(i)), std::string(10000, 'x'));
    set_age(entry_path(key_of(std::to_string(i))), 1000 - i);
  }
  EXPECT_TRUE(hits(key_of("0"), std::string(10000, 'x')));  // used just now
  auto pruned = store().prune(40000);
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(pruned->entries, 3u);  // 7/8 of the bound
  EXPECT_EQ(pruned->removed, 5u);
  for (int i : {0, 6, 7}) EXPECT_TRUE(fs::exists(entry_path(key_of(std::to_string(i))))) << i;
}

TEST_F(Cache, StaysWithinItsBound) {
  set_environment("KILN_CACHE_SIZE", "100K");
  for (int i = 0; i < 100; ++i) {
    fetch_as(key_of(std::to_string(i)), std::string(10000, 'x'));
    ASSERT_LE(store().usage()->bytes, 102400u);
  }
  EXPECT_GE(store().usage()->entries, 7u);
  EXPECT_TRUE(hits(key_of("99"), std::string(10000, 'x')));
  fetch_as(key_of("huge"), std::string(102400, 'x'));
  EXPECT_TRUE(fetch_as(key_of("huge"), "").made);  // larger than the bound: not kept
}

TEST_F(Cache, SmallEntriesAreBoundedToo) {
  set_environment("KILN_CACHE_SIZE", "64K");  // one store in about 16 prunes
  for (int i = 0; i < 1000; ++i) fetch_as(key_of(std::to_string(i)), "bytes");
  EXPECT_LE(store().usage()->bytes, 65536u + 65536u / 4);
}

TEST_F(Cache, WhatAKilledProcessLeftGoes) {
  fetch_as(key_of("x"), "bytes");
  std::string old = write("cache/tmp-0123456789abcdef", "half"), young = write("cache/tmp-fedcba9876543210", "half");
  set_age(old, 3601);
  EXPECT_EQ(store().usage()->temporaries, 2u);
  auto pruned = store().prune(uint64_t{1} << 32);
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(pruned->removed, 1u);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));  // may be at work
  EXPECT_TRUE(hits(key_of("x"), "bytes"));
}

TEST_F(Cache, ClearRemovesNothingElse) {
  fetch_as(key_of("x"), "bytes");
  std::string mine = write("cache/notes.txt", "mine"), temporary = write("cache/tmp-0123456789abcdef", "half");
  auto cleared = store().clear();
  ASSERT_TRUE(cleared.ok());
  EXPECT_EQ(cleared->removed, 2u);
  EXPECT_TRUE(fs::exists(mine));
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_TRUE(fetch_as(key_of("x"), "bytes").made);
}

TEST_F(Cache, VerifyRemovesWhatIsDamaged) {
  fetch_as(key_of("good"), "bytes");
  fetch_as(key_of("bad"), "bytes");
  spill(entry_path(key_of("bad")), "nonsense");
  fs::copy_file(entry_path(key_of("good")), path("cache/0123456789abcdef0123456789abcdef"));
  auto verified = store().verify();
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->good, 1u);
  EXPECT_THAT(verified->damaged, testing::UnorderedElementsAre("0123456789abcdef0123456789abcdef", name_of(text_of(key_of("bad")))));
  EXPECT_EQ(store().usage()->entries, 1u);
}

// ---- folders that cannot be used -------------------------------------------------------------------------------

TEST_F(Cache, TheEnvironmentSaysWhere) {
  set_environment("KILN_CACHE_DIR", "off");
  EXPECT_EQ(settings()->folder, "");
  set_environment("KILN_CACHE_DIR", "");
  EXPECT_EQ(settings()->folder, "");
  EXPECT_TRUE(fetch_as(key_of("x"), "bytes").made);
  EXPECT_TRUE(fetch_as(key_of("x"), "bytes").made);
  unsetenv("KILN_CACHE_DIR");
  set_environment("XDG_CACHE_HOME", "/some/where");
  EXPECT_EQ(settings()->folder, "/some/where/kiln");
  set_environment("XDG_CACHE_HOME", "relative");
  set_environment("HOME", "/home/me");
  EXPECT_EQ(settings()->folder, "/home/me/.cache/kiln");
  set_environment("HOME", "");
  EXPECT_FALSE(settings().ok());
}

TEST_F(Cache, SizesHaveSuffixes) {
  for (auto [text, bytes] : std::vector<std::pair<std::string, uint64_t>>{
           {"0", 0}, {"77", 77}, {"2K", 2048}, {"3M", 3u << 20}, {"1G", 1u << 30}, {"2T", uint64_t{2} << 40}, {"", uint64_t{4} << 30}}) {
    set_environment("KILN_CACHE_SIZE", text);
    ASSERT_TRUE(settings().ok()) << text;
    EXPECT_EQ(settings()->bound, bytes) << text;
  }
  for (const char* text : {"-1", "1.5G", "G", "4GB", "4 G", "99999999999999999999", "18014398509481984K", "4g"}) {
    set_environment("KILN_CACHE_SIZE", text);
    EXPECT_FALSE(settings().ok()) << text;
  }
}

// Each runs in a process of its own, since a process warns once.
class CacheDeathTest : public Cache {
 protected:
  void SetUp() override {
    Cache::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  // Two keys are made, twice each; exits with the number of the makes that it took.
  [[noreturn]] static void fetch_two() {
    int made = 0;
    for (const char* source : {"a", "b", "a", "b"}) {
      auto r = fetch(key_of(source), [&]() -> Result<std::string> { return ++made, std::string(40000, 'x'); });
      if (!r || *r != std::string(40000, 'x')) _exit(99);
    }
    _exit(made);
  }
  [[noreturn]] static void fetch_two_on_a_full_disk() {
    struct rlimit limit {
      1000, 1000
    };  // the first bytes of an entry can be written, the rest cannot
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    fetch_two();
  }
  static void expect_one_warning(const std::string& words, void (*run)() = fetch_two) {
    EXPECT_EXIT(run(), testing::ExitedWithCode(4), "^kiln: warning: [^\n]*" + words + "[^\n]*\n$");
  }
};

TEST_F(CacheDeathTest, AFileInPlaceOfTheFolder) {
  write("cache", "a file");
  expect_one_warning("Not a directory");
}

TEST_F(CacheDeathTest, AFolderThatCannotBeMade) {
  set_environment("KILN_CACHE_DIR", "/proc/kiln/cache");
  expect_one_warning("cannot open the cache's folder");
}

TEST_F(CacheDeathTest, AFolderThatOthersWriteTo) {
  fs::create_directory(path("cache"));
  ASSERT_EQ(chmod(path("cache").c_str(), 01777), 0);
  expect_one_warning("can be written by others");
}

TEST_F(CacheDeathTest, NoHome) {
  unsetenv("KILN_CACHE_DIR");
  set_environment("XDG_CACHE_HOME", "");
  set_environment("HOME", "");
  expect_one_warning("HOME is not set");
}

TEST_F(CacheDeathTest, ASizeThatIsNone) {
  set_environment("KILN_CACHE_SIZE", "lots");
  expect_one_warning("got 'lots'");
}

TEST_F(CacheDeathTest, AFullDisk) {
  fs::create_directory(path("cache"));
  ASSERT_EQ(chmod(path("cache").c_str(), 0700), 0);
  expect_one_warning("cannot write to the cache: File too large", fetch_two_on_a_full_disk);
  EXPECT_TRUE(fs::is_empty(path("cache")));
}

TEST_F(CacheDeathTest, AUsableFolderWarnsOfNothing) { EXPECT_EXIT(fetch_two(), testing::ExitedWithCode(2), "^$"); }

}  // namespace
}  // namespace kiln::cache
