// kiln list and kiln resolve --explain, as processes: each has a registry of its own.
#include <gmock/gmock.h>
#include <rapidjson/document.h>

#include "base/process.h"
#include "tests/unit/scratch.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RegistryCli : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    set_environment("KILN_BACKEND_PATH", path("backends"));
    set_environment("XDG_DATA_HOME", path("data"));
    set_environment("KILN_TEST_LOUD_FILE", path("opened"));
  }
  // stdout and stderr together.
  static std::string kiln(std::vector<std::string> arguments, int status = 0) {
    arguments.insert(arguments.begin(), KILN_TEST_CLI);
    Result<ProcessResult> result = run_process(arguments, 60);
    if (!result) return result.error().to_string();
    EXPECT_EQ(result->status, status) << result->output;
    return result->output;
  }
  std::string backend(const std::string& name, const std::string& fields) {
    return write("backends/" + name + "/manifest.json", R"({"name": ")" + name + R"(", "kinds": ["clitest"], )" + fields + "}");
  }
};

// The JSON objects of a text, one a line; other lines are skipped.
std::vector<rapidjson::Document> objects(const std::string& text) {
  std::vector<rapidjson::Document> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] == '{') {
      rapidjson::Document& document = out.emplace_back();
      document.Parse(text.data() + at, end - at);
      EXPECT_FALSE(document.HasParseError()) << text.substr(at, end - at);
    }
    at = end + 1;
  }
  return out;
}

TEST_F(RegistryCli, ListOpensNothing) {
  std::string place = backend("loud", R"("description": "shouts", "library": ")" KILN_TEST_LOUD "\"");
  std::string text = kiln({"list"});
  EXPECT_THAT(text, HasSubstr("loud  target kinds: clitest  (KILN_BACKEND_PATH: " + place + ")\n  shouts\n  library " KILN_TEST_LOUD ": "));
  EXPECT_FALSE(std::filesystem::exists(path("opened")));
  EXPECT_THAT(kiln({"resolve", "clitest"}, 1), HasSubstr("backend 'loud' for target 'clitest' did not load: "));
  EXPECT_TRUE(std::filesystem::exists(path("opened")));  // so it would have been seen
}

TEST_F(RegistryCli, ListShowsNeedsAndFaults) {
  backend("needy", R"("library": "l.so", "needs": {"commands": ["sh", "no-such-command"], "python": ["numpy"], "files": ["x.bc"]})");
  std::string bad = write("backends/bad/manifest.json", "{");
  std::string text = kiln({"list"});
  EXPECT_THAT(text, AllOf(HasSubstr("\n  library l.so: not found (no such file: "), HasSubstr("\n  command sh: /"),
                          HasSubstr("\n  command no-such-command: not found (not in PATH); install it\n"),
                          HasSubstr("\n  Python module numpy: not found (only a process with Python can tell); python -m kiln list\n"),
                          HasSubstr("\n  file x.bc: not found (" + path("backends/needy/x.bc") + "); install what brings it\n"),
                          HasSubstr("kiln: warning: " + bad + ": manifest is not valid JSON: ")));
  bool listed = false, warned = false;
  for (const rapidjson::Document& line : objects(kiln({"list", "--json"}))) {
    if (line.HasMember("error")) {
      warned = true;
      EXPECT_EQ(line["error"]["place"].GetString(), bad);
    } else if (line["name"] == "needy") {
      listed = true;
      EXPECT_EQ(line["source"], "KILN_BACKEND_PATH");
      EXPECT_EQ(line["path"].GetString(), path("backends/needy/manifest.json"));
      ASSERT_EQ(line["needs"].Size(), 5u);
      EXPECT_EQ(line["needs"][1]["what"], "command sh");
      EXPECT_TRUE(line["needs"][1]["found"].GetBool());
      EXPECT_FALSE(line["needs"][2]["found"].GetBool());
    }
  }
  EXPECT_TRUE(listed && warned);
}

TEST_F(RegistryCli, TextOfManifestsCannotForgeLines) {
  backend("odd", R"("library": "l\n\u001b[2Jx.so", "description": "one\nc  target kinds: c  (built in)\u001b[31m")");
  std::string text = kiln({"list"});
  EXPECT_THAT(text, AllOf(HasSubstr("\n  one c  target kinds: c  (built in)\\x1b[31m\n"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(kiln({"resolve", "clitest"}, 1), Not(HasSubstr("\x1b")));
}

TEST_F(RegistryCli, PackageFolderIsBesideTheLibrary) {
  std::filesystem::create_symlink(KILN_TEST_LIBRARY, path("libkiln.so.0"));
  std::string place = write("kiln/backends/packed/manifest.json", R"({"name": "packed", "kinds": ["clitest"], "library": "l.so"})");
  set_environment("LD_LIBRARY_PATH", folder_.string());
  EXPECT_THAT(kiln({"list"}), HasSubstr("packed  target kinds: clitest  (package: " + place + ")\n"));
}

TEST_F(RegistryCli, ExplainTellsOfBackendsThatDoNotLoad) {
  std::string place = backend("absent", R"("library": "absent.so")");
  backend("python", R"("python": "no_such_module")");
  write("backends/zz/manifest.json", R"({"name": "absent", "kinds": ["clitest"], "library": "l.so"})");
  std::string text = kiln({"resolve", "clitest", "--explain"}, 1);
  EXPECT_THAT(text,
              HasSubstr("target clitest -keys=clitest (kind clitest)\n"
                        "backend: manifest absent  (KILN_BACKEND_PATH: " +
                        place + ")\nbackend 'absent' for target 'clitest' did not load: " + path("backends/absent/absent.so") + ": "));
  EXPECT_THAT(text,
              HasSubstr("\nbackend 'python' for target 'clitest' did not load: the Python module 'no_such_module' needs a process with "
                        "Python (run it through the Python package: python -m kiln)\n"));
  EXPECT_THAT(text, HasSubstr("\nleft out: " + path("backends/zz/manifest.json") + ": a backend 'absent' exists already"));
  EXPECT_THAT(text, HasSubstr("\nno codegen is registered for this kind\n"));

  std::vector<rapidjson::Document> lines = objects(kiln({"resolve", "clitest", "--explain", "--json"}, 1));
  ASSERT_EQ(lines.size(), 1u);
  const rapidjson::Document& e = lines[0];
  EXPECT_TRUE(e["codegen"].IsNull());
  ASSERT_EQ(e["backends"].Size(), 2u);
  EXPECT_EQ(e["backends"][0]["path"], "absent");
  EXPECT_EQ(e["backends"][0]["state"], "did not load");
  EXPECT_EQ(e["backends"][0]["source"].GetString(), "KILN_BACKEND_PATH: " + place);
  EXPECT_EQ(e["left_out"][0]["place"].GetString(), path("backends/zz/manifest.json"));
  EXPECT_THAT(e["error"]["message"].GetString(), HasSubstr("did not load: "));
}

TEST_F(RegistryCli, ExplainOfABuiltInBackend) {
  std::string text = kiln({"resolve", "c", "--explain"});
  EXPECT_EQ(text,
            "target c -keys=cpu (kind c)\nbackend: manifest c  (built in)\nloaded now: c\nmatches c  from manifest c\n"
            "chosen: c, the first that matches\n");
  EXPECT_THAT(kiln({"resolve", "ext_dev", "--explain"}, 1),
              AllOf(HasSubstr("no backend is known for this kind\n"), HasSubstr("no codegen is registered for this kind\n"),
                    HasSubstr("available: <none> (no backend serves this kind)")));
}

TEST_F(RegistryCli, KindOfAManifestThatIsLeftOut) {
  backend("bad", R"("library": "l.so", "python": "both")");
  EXPECT_THAT(kiln({"resolve", "clitest"}, 1), HasSubstr("manifests left out: 1, shown by kiln list)"));
}

}  // namespace
}  // namespace kiln
