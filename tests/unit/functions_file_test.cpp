#include "core/results/functions_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/gzip.h"
#include "core/results/results_file.h"
#include "core/results/sealed_line.h"
#include "tests/golden.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::functions_file_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "FunctionsBeside.*:FunctionsFile.*");

using Costs = std::vector<FunctionCost>;

const std::string kHeader = R"({"schema":1,"program":"instr_bench","started":"then"})";
const std::string kStart = "{\"functions_schema\":3}\n" + kHeader + "\n";
const std::string kNames = R"({"first":0,"names":[["f","a.so"],["g","b.so"]]})"
                           "\n";

Expected<FunctionsOf> parsed(const std::string& bytes) {
  return parse_functions(bytes, kHeader, "file", Incomplete::kAllowed);
}

// Removes the file's name and the advice.
std::string shown(const Error& error) {
  EXPECT_EQ(error.where.file, "file");
  EXPECT_FALSE(error.advice.empty());
  return std::to_string(error.where.line) + ": " + error.what;
}

// Returns the error for a file of these texts, each a gzip member.
std::string error_of(const std::vector<std::string>& texts) {
  auto functions = parsed(packed(texts));
  return functions ? "no error" : shown(functions.error());
}

// The text of each file and its error.
std::string errors_of(const std::vector<std::vector<std::string>>& files) {
  std::string all;
  for (const std::vector<std::string>& texts : files) {
    for (const std::string& text : texts) all += text;
    all += "=> " + error_of(texts) + "\n\n";
  }
  return all;
}

// Returns the error of reading "k" from `line`.
std::string error_of_asking(const std::string& line) {
  auto functions = parsed(packed({kStart, kNames + line + "\n"}));
  if (!functions) return "not parsed: " + shown(functions.error());
  auto costs = (*functions)("k");
  return costs ? "no error" : shown(costs.error());
}

TEST(FunctionsFile, HasTheDocumentedForm) {
  SideLines lines;
  EXPECT_EQ(SideLines::start(kFunctionsFile, kHeader), kStart);
  EXPECT_EQ(next_functions(lines, "a", {{"f", "a.so", 1200.5, 2}, {"g", "b.so", 40, 0.25}}),
            kNames + "{\"key\":\"a\",\"functions\":[[0,1200.5,2],[1,40,0.25]]}\n");
  FunctionCost caller{"f", "a.so", 5, 1};
  caller.callees = {{1, 2, 40.5}};
  SideLines more;
  const std::string line = next_functions(more, "k", {caller, {"g", "b.so", 40, 2}});
  EXPECT_EQ(line,
            kNames + "{\"key\":\"k\",\"functions\":[[0,5,1],[1,40,2]],\"calls\":[[0,1,2,40.5]]}\n");
  EXPECT_EQ(value_of(value_of(parsed(packed({kStart, line})))("k")),
            (Costs{caller, {"g", "b.so", 40, 2}}));
  // Known names are not written again; a function of another library has another number.
  EXPECT_EQ(next_functions(lines, "b", {{"g", "b.so", 41, 1}}),
            "{\"key\":\"b\",\"functions\":[[1,41,1]]}\n");
  EXPECT_EQ(next_functions(lines, "c", {{"g", "a.so", 41, 1}, {"f", "a.so", -3, 0}}),
            "{\"first\":2,\"names\":[[\"g\",\"a.so\"]]}\n"
            "{\"key\":\"c\",\"functions\":[[2,41,1],[0,-3,0]]}\n");
}

TEST(FunctionsFile, RoundTrip) {
  const std::vector<std::pair<std::string, Costs>> written{
      {"matmul/mm/n=64", {{"at::mm(\"x\")", "libtorch_cpu.so", 1200.5, 3}, {"f", "b", 1.0 / 3, 0}}},
      {"odd \"key\" \\\t\n/größe/矩阵", {{"f\n\x01", "", 9007199254740993.0, 1e-9}}},
      {"last", {{"f", "b", 5, 0}, {"at::mm(\"x\")", "libtorch_cpu.so", -0.5, 1e15}}}};
  SideLines lines;
  std::vector<std::string> texts{SideLines::start(kFunctionsFile, kHeader)};
  for (const auto& [key, costs] : written) texts.push_back(next_functions(lines, key, costs));
  auto functions = value_of(parsed(packed(texts)));
  for (int round = 0; round < 2; ++round) {
    for (const auto& [key, costs] : written) EXPECT_EQ(functions(key).value(), costs) << key;
  }
  EXPECT_EQ(functions("another").value(), Costs{});
}

TEST(FunctionsFile, HoldsSimulatedEvents) {
  const Costs costs{{"f", "a.so", 1200.5, 2, {{"D1mr", 0.5}, {"Dr", 310}}},
                    {"g", "b.so", 40, 1},
                    {"h", "b.so", 4, 1, {{"Dr", -1.5}}},
                    {"i", "b.so", 3, 1, {{"D1mr", 2}}}};
  SideLines lines;
  std::string text = next_functions(lines, "k", costs);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "{\"key\":\"k\",\"events\":[\"D1mr\",\"Dr\"],\"functions\":[[0,1200.5,2,0.5,310],"
            "[1,40,1],[2,4,1,0,-1.5],[3,3,1,2]]}\n");
  auto functions = parsed(packed({kStart, text}));
  ASSERT_TRUE(functions) << to_string(functions.error());
  EXPECT_EQ((*functions)("k").value(), costs);
  for (const char* line : {R"({"key":"k","events":["Dr"],"functions":[[0,1,2,"3"]]})",
                           R"({"key":"k","events":[7],"functions":[[0,1,2,3]]})"}) {
    EXPECT_EQ(error_of_asking(line), "4: these functions cannot be read") << line;
  }
}

TEST(FunctionsFile, ChecksThatACountIsTheSumOfItsFunctions) {
  FunctionsSum sum;
  EXPECT_TRUE(sum.is_empty());
  for (double ir : {1000.1, 0.2, -0.3}) sum.add(ir);
  EXPECT_FALSE(sum.is_empty());
  EXPECT_TRUE(sum.is(1000));
  EXPECT_FALSE(sum.is(1000.5));
  // An instruction in a billion.
  FunctionsSum billion;
  billion.add(1e9);
  EXPECT_FALSE(billion.is(1e9 + 1));
}

TEST(FunctionsFile, InvalidUtf8IsReplaced) {
  SideLines lines;
  auto functions =
      value_of(parsed(packed({kStart, next_functions(lines, "k\xff", {{"f\xff", "\xfe", 1, 1}})})));
  EXPECT_EQ(functions("k\uFFFD").value(), (Costs{{"f\uFFFD", "\uFFFD", 1, 1}}));
}

// As after a kill.
TEST(FunctionsFile, ATruncatedFileHasTheCompleteMembers) {
  SideLines lines;
  std::string start = gzip_member(kStart).value();
  std::string first =
      start + gzip_member(next_functions(lines, "a", {{"f", "a.so", 1, 1}})).value();
  std::string whole =
      first +
      gzip_member(next_functions(lines, "b", {{"f", "a.so", 2, 1}, {"g", "a.so", 3, 1}})).value();
  // The bytes at a member's end that its text does not need: a mark and a checksum.
  constexpr std::size_t kEnd = 12;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto functions = parsed(whole.substr(0, size));
    if (size + kEnd < start.size()) {
      ASSERT_FALSE(functions) << size;
      EXPECT_EQ(functions.error().what, "truncated before its first measurement");
    }
    if (size < start.size()) continue;
    ASSERT_TRUE(functions) << size << to_string(functions.error());
    auto a = (*functions)("a");
    auto b = (*functions)("b");
    ASSERT_TRUE(a && b) << size;
    const Costs costs{{"f", "a.so", 1, 1}};
    bool may_be_whole = size + kEnd >= first.size();
    EXPECT_TRUE(size >= first.size() ? *a == costs : a->empty() || may_be_whole) << size;
    EXPECT_TRUE(b->empty() || size + kEnd >= whole.size()) << size;
  }
}

TEST(FunctionsFile, ATruncatedFileIsIncomplete) {
  SideLines lines;
  const std::string whole =
      packed({kStart, next_functions(lines, "a", {{"f", "a.so", 1, 1}}), lines.end()});
  EXPECT_TRUE(parse_functions(whole, kHeader, "file"));
  // The text of a member precedes its checksum.
  constexpr std::size_t kEnd = 12;
  for (std::size_t size = 0; size + kEnd < whole.size(); ++size) {
    auto functions = parse_functions(whole.substr(0, size), kHeader, "file");
    ASSERT_FALSE(functions) << size;
    EXPECT_HAS(functions.error().what, "truncated");
  }
}

TEST(FunctionsFile, AnErrorNamesTheDamagedLine) {
  const std::string key = R"({"key":"k","functions":[[0,1,1]]})"
                          "\n";
  const auto end = [](int count) {
    return "{\"end\":{\"measurements\":" + std::to_string(count) + "}}\n";
  };
  const std::string other = R"({"schema":1,"program":"instr_bench","started":"now"})";
  EXPECT_EQ(error_of({kStart, kNames, key, end(1)}), "no error");
  std::vector<std::vector<std::string>> files{{},
                                              {"hello\n"},
                                              {"[2]\n"},
                                              {kHeader + "\n{\"key\":\"a\",\"functions\":[]}\n"},
                                              {"{\"functions_schema\":4}\n" + kHeader + "\n"},
                                              {"{\"functions_schema\":\"\\u001b[2J\"}\n"},
                                              {SideLines::start(kFunctionsFile, other), kNames},
                                              {kStart, kNames, key, end(2)},
                                              {kStart, kNames, key, end(1), key},
                                              {kStart, "{\"end\":1}\n"},
                                              {kStart, kNames, key, "{\"key\":1}\n"},
                                              {kStart, kNames, "{\"key\":\"k\n"},
                                              {kStart, "{\"key\":\"k\\\n"},
                                              {kStart, kNames, key + key},
                                              {kStart, kNames, kNames},
                                              {kStart, "{\"first\":\"x\",\"names\":[]}\n"},
                                              {kStart, "{\"first\":0}\n"}};
  for (const char* names :
       {"7", "[7]", "[[\"f\"]]", "[[\"f\",1]]", "[[\"f\",\"a\",\"b\"]]", "[", "{\"a\":1}"}) {
    files.push_back({kStart, std::string("{\"first\":0,\"names\":") + names + "}\n"});
  }
  EXPECT_GOLDEN("results/errors_of_a_functions_file.txt", errors_of(files));
}

TEST(FunctionsFile, MeasurementsAreParsedOnDemand) {
  EXPECT_EQ(error_of_asking(R"({"key":"k","functions":[[1,2,3]]})"), "no error");
  EXPECT_EQ(error_of_asking(R"({"key":"k","functions":[[1,2,3,"later"]],"more":1})"), "no error");
  EXPECT_EQ(error_of_asking(R"({"key":"k","functions":[[2,2,3]]})"),
            "4: function number 2 has no name");
  for (const char* functions :
       {"7", "[7]", "[[]]", "[[0,1]]", "[[\"f\",1,1]]", "[[-1,1,1]]", "[[0.5,1,1]]", "[[1e99,1,1]]",
        "[[0,null,1]]", "[[0,1,\"x\"]]", "[[0,1e999,1]]", "[", "{}"}) {
    EXPECT_EQ(error_of_asking(std::string(R"({"key":"k","functions":)") + functions + "}"),
              "4: these functions cannot be read")
        << functions;
  }
  EXPECT_EQ(error_of_asking("{\"key\":\"k\"}"), "4: these functions cannot be read");
  const auto calls = [](const std::string& text) {
    return error_of_asking(R"({"key":"k","functions":[[0,2,3]],"calls":)" + text + "}");
  };
  EXPECT_EQ(calls("[[0,0,1,2,\"later\"]]"), "no error");
  EXPECT_EQ(calls("[[0,1,1,2]]"), "4: a call names function 1");
  EXPECT_EQ(calls("[[\"f\",0,1,2]]"), "4: a call names function -1");
  for (const char* text : {"[[0,0,1]]", "[7]", "[[]]"}) {
    EXPECT_EQ(calls(text), "4: these functions cannot be read") << text;
  }
}

TEST(FunctionsFile, RefusesMoreThanTheLimits) {
  const SideLimits limits{.member = 200, .text = 1000, .line = 150, .names = 10};
  const auto refused = [&limits](const std::vector<std::string>& texts) {
    auto functions = parse_functions(packed(texts), kHeader, "file", Incomplete::kAllowed, limits);
    return functions ? "no error" : shown(functions.error());
  };
  EXPECT_EQ(refused({kStart, std::string(200, '\n')}), "no error");
  EXPECT_EQ(refused({kStart, std::string(201, '\n')}), "3: the gzip data is unreasonably large");
  const auto line_of = [](std::size_t size) {
    const std::string start = "{\"key\":\"";
    return start + std::string(size - start.size() - 2, 'k') + "\"}\n";
  };
  EXPECT_EQ(refused({kStart, line_of(150)}), "no error");
  EXPECT_EQ(refused({kStart, line_of(151)}), "3: this line is unreasonably long");
  // Each member is within its limit.
  std::vector<std::string> blank(1 + (1000 - kStart.size()) / 100, std::string(100, '\n'));
  blank.front() = kStart;
  EXPECT_EQ(refused(blank), "no error");
  blank.emplace_back(100, '\n');
  EXPECT_HAS(refused(blank), "more text than instr_bench ever writes");
  std::string names = R"({"first":0,"names":[["",""])";
  for (int i = 1; i < 10; ++i) names += ",[\"\",\"\"]";
  EXPECT_EQ(refused({kStart, names + "]}\n"}), "no error");
  EXPECT_EQ(refused({kStart, names + ",[\"\",\"\"]]}\n"}),
            "3: unreasonably many names of functions");
}

TEST(FunctionsFile, SurvivesGarbage) {
  std::string text = kNames + R"({"key":"k\n","functions":[[0,1.5,1],[1,2,3]]})"
                              "\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (char c : {'\0', '"', '9', '[', '\\', '\n'}) {
      std::string changed = text;
      changed[i] = c;
      auto functions = parsed(packed({kStart, changed}));
      if (functions) (*functions)("k\n");
    }
  }
  std::string deep(100'000, '[');
  EXPECT_NE(error_of({kStart, "{\"first\":0,\"names\":" + deep + "\n"}), "no error");
  EXPECT_NE(error_of_asking("{\"key\":\"k\",\"functions\":" + deep), "no error");
}

class FunctionsBeside : public ::testing::Test {
 protected:
  // Writes results of two keys that call one function.
  void write() {
    Counted counted;
    counted.functions = {{"f", "a.so", 1, 2}};
    write_results(file_, header_, {measured("k", counted), measured("l", counted)});
  }

  Expected<FunctionsOf> opened(const fs::path& file) const {
    return open_functions(file, sealed(to_line(to_json(header_))));
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "r.jsonl";
  ResultsHeader header_ = make_results_header({}, {"instr_bench"});
};

TEST_F(FunctionsBeside, AreThoseThatWereWritten) {
  write();
  auto functions = opened(file_);
  ASSERT_TRUE(functions) << to_string(functions.error());
  EXPECT_EQ((*functions)("l").value(), (Costs{{"f", "a.so", 1, 2}}));
  fs::create_symlink(file_, folder_.path() / "link.jsonl");
  functions = opened(folder_.path() / "link.jsonl");
  ASSERT_TRUE(functions) << to_string(functions.error());
  EXPECT_EQ((*functions)("k")->size(), 1U);
}

TEST_F(FunctionsBeside, AreRefusedIfTheResultsWereReplaced) {
  write();
  auto functions = open_functions(file_, "{\"schema\":3}");
  ASSERT_FALSE(functions);
  EXPECT_EQ(to_string(functions.error()),
            functions_path(file_).string() +
                ":2: these functions do not belong to the results beside them: "
                "measure again, or remove the file to go without functions");
}

TEST_F(FunctionsBeside, HaveTheSumsOfTheirCosts) {
  write();
  std::vector<std::string> keys;
  const auto opened_with = [&](const OnSum& on_sum) {
    return open_functions(file_, sealed(to_line(to_json(header_))), Incomplete::kRefused, on_sum);
  };
  EXPECT_TRUE(opened_with([&](const std::string& key, const FunctionsSum& sum) {
    EXPECT_EQ(sum.total(), 1);
    keys.push_back(key);
    return Expected<void>();
  }));
  EXPECT_EQ(keys, (std::vector<std::string>{"k", "l"}));
  auto functions = opened_with([](const std::string& key, const FunctionsSum&) -> Expected<void> {
    return fail("at " + key);
  });
  ASSERT_FALSE(functions);
  EXPECT_EQ(functions.error().what, "at k");
}

TEST_F(FunctionsBeside, AreEmptyWithoutAFile) {
  auto functions = value_of(opened(file_));
  EXPECT_EQ(functions("k").value(), Costs{});
  fs::create_directory(functions_path(file_));
  EXPECT_FALSE(opened(file_));
}

TEST_F(FunctionsBeside, ZcatReadsThem) {
  write();
  std::string command = "zcat '" + functions_path(file_).string() + "'";
  std::FILE* zcat = popen(command.c_str(), "r");
  ASSERT_NE(zcat, nullptr);
  std::string text(10000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), zcat));
  ASSERT_EQ(pclose(zcat), 0);
  EXPECT_EQ(text, "{\"functions_schema\":3}\n" + sealed(to_line(to_json(header_))) +
                      "\n{\"first\":0,\"names\":[[\"f\",\"a.so\"]]}\n"
                      "{\"key\":\"k\",\"functions\":[[0,1,2]]}\n"
                      "{\"key\":\"l\",\"functions\":[[0,1,2]]}\n"
                      "{\"end\":{\"measurements\":2}}\n");
}

}  // namespace
}  // namespace instr::functions_file_test
