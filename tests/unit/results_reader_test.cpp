#include <nlohmann/json.hpp>

#include "core/base/read_file.h"
#include "core/results/results_file.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::results_reader_test {
namespace {

using namespace testing;

ResultsHeader header() { return make_results_header({{{"libtorch_version", "2.13.0"}}, {}}, {}); }

std::string document(const std::vector<std::string>& lines) {
  std::string text = to_line(to_json(header())) + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string whole_document(const std::vector<std::string>& lines) {
  return document(lines) + end_line(lines.size()) + "\n";
}

std::string error_of(const std::string& bytes) {
  auto results = parse_results(bytes, "r.jsonl", Incomplete::kAllowed);
  return results ? "no error" : to_string(results.error());
}

// The lines of each file, and its error.
std::string errors_of(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) {
    for (const std::string& line : split_lines(file)) all += line;
    all += "\n=> " + error_of(file) + "\n";
  }
  return all;
}

TEST(ResultsReader, ATruncatedFileIsIncomplete) {
  const std::string whole =
      whole_document({to_line(to_json(counted("a", 1))), to_line(to_json(counted("b", 2)))});
  EXPECT_TRUE(parse_results(whole, "r", Incomplete::kRefused));
  const std::size_t header_size = whole.find('\n');
  // The newline at the end may be missing.
  for (std::size_t size = header_size; size + 1 < whole.size(); ++size) {
    auto results = parse_results(whole.substr(0, size), "r", Incomplete::kAllowed);
    ASSERT_TRUE(results) << size;
    EXPECT_FALSE(results->is_complete) << size;
    const std::string with_next = whole.substr(0, size + 1);
    const auto lines = std::count(with_next.begin(), with_next.end(), '\n');
    EXPECT_EQ(results->measurements.size() + 1, static_cast<std::size_t>(lines)) << size;
    EXPECT_EQ(error_text(parse_results(whole.substr(0, size), "r", Incomplete::kRefused)),
              "r: these results are incomplete: the run that wrote them did not finish: measure "
              "again, or add --allow-incomplete");
  }
}

TEST(ResultsReader, RefusesAnEditedLine) {
  const std::string whole =
      sealed(to_line(to_json(header()))) + "\n" +
      sealed(to_line(to_json(counted("a", {{kInstructions, 100}, {"allocs", 3}})))) + "\n";
  ASSERT_TRUE(parse_results(whole, "r", Incomplete::kAllowed));
  EXPECT_HAS(error_text(parse_results(replaced(whole, "\"allocs\":3", "\"allocs\":2"), "r",
                                      Incomplete::kAllowed)),
             "r:2: this line was changed since it was written");
  EXPECT_FALSE(parse_results(replaced(whole, "\"version\":\"", "\"version\":\"9"), "r",
                             Incomplete::kAllowed));
  const std::string added = to_line(to_json(counted("b", 1))) + "\n";
  EXPECT_HAS(error_text(parse_results(whole + added, "r", Incomplete::kAllowed)),
             "r:3: this line has no checksum");
  // Some editors end lines with CR and LF.
  EXPECT_TRUE(parse_results(replaced(whole, "}\n{", "}\r\n{"), "r", Incomplete::kAllowed));
}

TEST(ResultsReader, RefusesOtherFilesAndSchemas) {
  const std::string start = "{\"schema\":3}\n";
  const std::string a =
      "{\"key\":\"a\",\"outcome\":\"counted\",\"metrics\":{\"instructions\":5}}\n";
  const auto end = [](std::size_t count) { return end_line(count) + "\n"; };
  EXPECT_EQ(error_of(start + a + a + end(2)), "no error");
  std::vector<std::string> files{"",
                                 "hello\n",
                                 "{}\n",
                                 "{\"schema\":\"one\"}\n",
                                 "{\"schema\":4,\"version\":\"9.1\"}\n",
                                 "{\"schema\":1}\n",
                                 "{\"schema\":99999999999999999999}\n",
                                 "{\"schema\":-5}\n",
                                 start + a + end(2),
                                 start + a + end(0),
                                 start + a + end(1) + a,
                                 start + a + end(1) + end(1),
                                 start + a + "{\"key\":\n" + a,
                                 start + a + "[1]\n",
                                 start + "{\"key\":\"a\",\"outcome\":\"guessed\"}\n",
                                 start + "{\"outcome\":\"counted\"}\n"};
  for (const char* text : {R"({"end":{}})", R"({"end":1})", R"({"end":{"measurements":-1}})",
                           R"({"end":{"measurements":1},"more":1})"}) {
    files.push_back(start + a + text + "\n");
  }
  EXPECT_GOLDEN("results/errors_of_a_results_file.txt", errors_of(files));
  EXPECT_EQ(error_of(std::string("\x7F"
                                 "ELF\0\0",
                                 6)),
            error_of("hello\n"));
}

TEST(ResultsReader, IgnoresUnknownMembers) {
  auto results = value_of(parse_results(
      "{\"schema\":3,\"new\":{\"deep\":[1]}}\n\n"
      "{\"key\":\"a\",\"outcome\":\"counted\",\"metrics\":{\"instructions\":5,\"new\":\"x\"},"
      "\"more\":[]}\n"
      "{\"key\":\"b\",\"outcome\":\"failed\",\"failure\":{\"kind\":\"novel\",\"message\":\"m\"}}\n"
      "{\"key\":\"c\",\"outcome\":\"timed\",\"times\":[1]}\n",
      "r", Incomplete::kAllowed));
  ASSERT_EQ(results.measurements.size(), 3u);
  EXPECT_EQ(std::get<Counted>(results.measurements[0].outcome).metrics,
            (std::map<std::string, double>{{"instructions", 5}}));
  EXPECT_EQ(std::get<Failure>(results.measurements[1].outcome).message, "novel: m");
  EXPECT_FALSE(std::get<Counted>(results.measurements[2].outcome).timing);
}

TEST(ResultsReader, AnInvalidMetricIsLost) {
  auto results = value_of(parse_results(
      "{\"schema\":3}\n"
      R"({"key":"a","outcome":"counted","metrics":{"instructions":null,"allocs":"12","alloc_bytes":-4,)"
      R"("peak_bytes":1.5e18,"data_reads":[1],"branches":0}})"
      "\n"
      R"({"key":"b","outcome":"counted","metrics":{"allocs":1}})"
      "\n"
      R"({"key":"c","outcome":"counted"})"
      "\n"
      R"({"key":"d","outcome":"verified"})"
      "\n"
      R"({"end":{"measurements":4}})"
      "\n",
      "r.jsonl", Incomplete::kAllowed));
  auto of = [&](std::size_t i) { return std::get<Counted>(results.measurements[i].outcome); };
  EXPECT_EQ(of(0).metrics, (std::map<std::string, double>{{"branches", 0}}));
  EXPECT_EQ(of(0).lost,
            (std::map<std::string, std::string>{{"instructions", "r.jsonl:2: it is null"},
                                                {"allocs", "r.jsonl:2: it is not a number"},
                                                {"alloc_bytes", "r.jsonl:2: it is negative"},
                                                {"peak_bytes", "r.jsonl:2: it is beyond 1e18"},
                                                {"data_reads", "r.jsonl:2: it is not a number"}}));
  EXPECT_EQ(of(1).lost.at("instructions"), "r.jsonl:3: it is missing");
  EXPECT_EQ(of(2).lost.at("instructions"), "r.jsonl:4: it is missing");
  EXPECT_TRUE(of(3).lost.empty());
}

TEST(ResultsReader, AnInvalidTimeIsAnError) {
  const auto line = [](const std::string& wall) {
    return R"({"key":"a","outcome":"timed","times":{"iterations":9,"wall":)" + wall + "}}";
  };
  EXPECT_EQ(error_of(document({line("[5,6.5]")})), "no error");
  for (const char* wall : {"[5,null]", "[5,\"6\"]", "[5,-6]", "[[5]]", "7", "null"}) {
    EXPECT_EQ(error_of(document({line(wall)})),
              "r.jsonl:2: `a` has, under \"times\", a \"wall\" that is not a list of times: "
              "measure again")
        << wall;
  }
}

TEST(ResultsReader, RefusesACountThatContradictsItsBlocks) {
  auto with = [](const char* ir, const char* steady, const char* blocks) {
    return error_of(
        "{\"schema\":3}\n"
        R"({"key":"a/b","outcome":"counted","metrics":{"instructions":)" +
        std::string(ir) + R"(},"steady":)" + steady + R"(,"blocks":)" + blocks + "}\n" +
        end_line(1) + "\n");
  };
  EXPECT_EQ(with("1174", "true", "[1174,1174]"), "no error");
  EXPECT_EQ(with("6054241.666666667", "true", "[6054241.666666667,6054241.666666667]"), "no error");
  EXPECT_EQ(with("1180", "false", "[1174,1180]"), "no error");
  // Blocks of Python that differ by collisions only.
  EXPECT_EQ(with("274389.5", "true", "[274341,274389.5]"), "no error");
  // The last two blocks may have equal counts, but different allocations.
  EXPECT_EQ(with("1174", "false", "[1174,1174]"), "no error");
  EXPECT_EQ(with("1174", "true", "[2475,2475]"),
            "r.jsonl:2: `a/b` has 1174 instructions, steady, and its blocks have 2475 and 2475: "
            "it was edited: measure again");
  EXPECT_NE(with("1174", "false", "[1174,2475]"), "no error");
  EXPECT_NE(with("1180", "true", "[1174,1180]"), "no error");
  EXPECT_NE(with("1174", "true", "[null,1174]"), "no error");
}

// Such input would take many times its size in memory, or quadratic time.
TEST(ResultsReader, RefusesLongLinesAndManyMetrics) {
  const std::string advice = ": measure again";
  const std::string text(std::size_t{4} << 20, 'x');
  const std::string line = R"({"key":"a","outcome":"skipped","reason":")" + text + "\"}";
  EXPECT_EQ(error_of(document({line})), "r.jsonl:2: this line is longer than 4 MiB" + advice);
  EXPECT_EQ(error_of(document({}) + line), "r.jsonl:2: this line is longer than 4 MiB" + advice);
  EXPECT_EQ(error_of(document({line.substr(0, 60) + "\"}"})), "no error");
  const auto with_metrics = [](int count) {
    std::string members;
    for (int i = 0; i < count; ++i) members += (i ? ",\"" : "\"") + std::to_string(i) + "\":1";
    return R"({"key":"a","new":[{},{"b":{}}],"outcome":"counted","metrics":{)" + members + "}}";
  };
  EXPECT_EQ(error_of(document({with_metrics(128), with_metrics(128)})), "no error");
  EXPECT_EQ(error_of(document({with_metrics(129)})),
            "r.jsonl:2: `a` has more than 128 metrics" + advice);
}

TEST(ResultsReader, TreatsValuesOfWrongTypesAsMissing) {
  auto results = value_of(parse_results(
      "{\"schema\":3,\"command\":5,\"started\":[],\"fingerprint\":{\"a\":null}}\n"
      "{\"key\":\"a\",\"label\":3,\"params\":[1],\"backend\":{},\"threads\":1e300,\"device\":null,"
      "\"outcome\":\"counted\",\"metrics\":[],\"iterations\":-4,\"steady\":\"yes\","
      "\"blocks\":[\"x\"],\"gated\":0,\"seconds\":\"long\",\"limits\":7}\n"
      "{\"key\":\"b\",\"threads\":99999999999,\"outcome\":\"failed\",\"failure\":[]}\n",
      "r", Incomplete::kAllowed));
  const Measurement& first = results.measurements[0];
  EXPECT_EQ(first.variant.threads, 1);
  EXPECT_EQ(first.variant.device, "cpu");
  EXPECT_EQ(std::get<Counted>(first.outcome).iterations, 0u);
  EXPECT_EQ(first.seconds, 0);
  EXPECT_EQ(results.measurements[1].variant.threads, 1);
}

// --- Checksums of lines ---

TEST(SealedLine, DetectsEachChangedCharacter) {
  const std::string line = sealed(R"({"key":"a","metrics":{"allocs":3,"instructions":100}})");
  // The CRC-32 from Python's zlib.crc32().
  EXPECT_TRUE(line.ends_with(R"(,"check":"6650b6e2"})")) << line;
  EXPECT_TRUE(is_as_sealed(line));
  for (std::size_t i = 0; i + 22 < line.size(); ++i) {
    std::string changed = line;
    changed[i] ^= 1;
    EXPECT_FALSE(is_as_sealed(changed)) << changed;
  }
}

TEST(SealedLine, AcceptsALineWithoutAChecksum) {
  EXPECT_TRUE(is_as_sealed(R"({"key":"a"})"));
  EXPECT_TRUE(is_as_sealed(""));
  EXPECT_FALSE(is_sealed(R"({"key":"a"})"));
  EXPECT_TRUE(is_sealed(sealed(R"({"key":"a"})")));
}

// --- Lines of JSON ---

TEST(ParseJson, KeepsTheOrderOfMembers) {
  const auto json = value_of(parse_json(R"({"b":[1,"x"],"a":{"c":null}})"));
  EXPECT_EQ(json.dump(), R"({"b":[1,"x"],"a":{"c":null}})");
  EXPECT_EQ(parse_json("\"größe\"")->get<std::string>(), "größe");
}

TEST(ParseJson, RefusesOtherText) {
  for (const char* text : {"", "{", "{\"a\":1", "x", "{\"a\":\"\xFF\"}", "[1,]", "1 2"}) {
    EXPECT_EQ(parse_json(text).error().what, "this line is not JSON") << text;
  }
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(100)));
  for (const std::string& text :
       {nested(102), nested(1'000'000), "{\"a\":" + nested(1'000'000) + "}"}) {
    EXPECT_EQ(parse_json(text).error().what, "a value in this line is nested more than 100 deep");
  }
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().what,
            "a value in this line is nested more than 100 deep");
}

}  // namespace
}  // namespace instr::results_reader_test
