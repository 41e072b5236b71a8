// Differential flame graphs of a change planted in a library.
#include "core/results/profiles_file.h"
#include "tests/e2e/quick_library.h"

namespace instr::e2e::flames_test {
namespace {

class Flames : public QuickLibraryTest {
 protected:
  void SetUp() override {
    // A second benchmark that the same change makes slower.
    write(
        file("quick.toml"),
        std::string(kDefinitions) +
            "\n[[benchmark]]\nlabel = \"short\"\nsetup = \"std::vector<float> numbers(3, 1.5f);\"\n"
            "stmt = \"auto result = quick::squares(numbers);\"\n");
  }

  // The data of a page.
  nlohmann::json data_of(const fs::path& page) {
    const std::string text = text_of(page);
    const std::string mark = "id=\"data\"";
    const std::size_t begin = text.find('>', text.find(mark)) + 1;
    return nlohmann::json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }
};

TEST_F(Flames, HaveTheExactChangeOfEachPath) {
  auto plain = expect_status(0, run({"--definitions=quick.toml", "--output=plain.jsonl"}));
  auto before = expect_status(0, run({"--definitions=quick.toml", "--call-paths", "--save=main"}));
  auto same = expect_status(
      0, run({"compare", "plain.jsonl", "main", "--limit=instructions=+0"}));  // counted alike
  EXPECT_HAS(same.output, "3 same");

  write_slower_code();
  auto gate = expect_status(
      3, run({"--definitions=quick.toml", "--baseline=main", "--flame=gate", "--output=b.jsonl"}));
  EXPECT_HAS(gate.errors, "what changed in 2 benchmarks: gate/index.html");
  auto compared =
      expect_status(3, run({"compare", "main", "b.jsonl", "--flame=compared", "--format=json"}));
  std::map<std::string, double> changes;
  const auto comparison = nlohmann::json::parse(compared.output);
  for (const auto& row : comparison["rows"]) {
    const double change = row["metrics"]["instructions"]["change"];
    if (change != 0) changes[row["key"]] = change;
  }
  ASSERT_EQ(changes.size(), 2U) << compared.output;

  const auto index = data_of(file("compared/index.html"));
  ASSERT_EQ(index["pages"].size(), 2U);
  for (const auto& page : index["pages"]) {
    const std::string name = page["file"];
    EXPECT_EQ(text_of(file("gate/" + name)), text_of(file("compared/" + name)));
    const auto data = data_of(file("compared/" + name));
    double change = 0;
    for (const auto& node : data["nodes"]) change += node[2].get<double>() - node[5].get<double>();
    EXPECT_NEAR(change, changes.at(page["key"]), 1e-6) << name;
    EXPECT_NEAR(data["nodes"][0][3].get<double>() - data["before"].get<double>(), change, 1e-6);
  }

  expect_status(0, run({"explain", "short/eager/forward/t1/cpu", "main", "--flame=one"}));
  EXPECT_HAS(text_of(file("one/short.eager.forward.t1.cpu.folded")), ";malloc ");

  auto without = expect_status(2, run({"compare", "plain.jsonl", "b.jsonl", "--flame=none"}));
  EXPECT_HAS(without.errors, "plain.jsonl: these results have no call paths");
  EXPECT_HAS(without.errors, "--call-paths");
  EXPECT_FALSE(fs::exists(file("none")));
}

TEST_F(Flames, AreWrittenByAbAndOfMergedShards) {
  write_slower_code("slow.cpp");
  for (const char* one : {"quick", "slow"}) {
    write(file(std::string(one) + "_build.toml"),
          "schema = 1\n[build]\ninclude_dirs = [\".\"]\nsources = [\"" + std::string(one) +
              ".cpp\"]\n");
  }
  auto both = expect_status(3, run({"ab", "--definitions=quick.toml", "--build=quick_build.toml",
                                    "--build=slow_build.toml", "--flame=pages", "--filter=short"}));
  EXPECT_EQ(data_of(file("pages/index.html"))["pages"].size(), 1U) << both.errors;

  for (const char* shard : {"1", "2"}) {
    expect_status(
        0, run({"--definitions=quick.toml", "--call-paths", std::string("--shard=") + shard + "/2",
                std::string("--output=") + shard + ".jsonl"}));
  }
  expect_status(0, run({"merge", "1.jsonl", "2.jsonl", "--output=all.jsonl"}));
  expect_status(0, run({"compare", "all.jsonl", "all.jsonl", "--flame=equal"}));
  EXPECT_TRUE(data_of(file("equal/index.html"))["pages"].empty());
  for (const char* key : {"squares", "scaled", "short"}) {
    expect_status(0, run({"explain", std::string(key) + "/eager/forward/t1/cpu", "all.jsonl",
                          "--flame=graphs"}));
  }
}

}  // namespace
}  // namespace instr::e2e::flames_test
