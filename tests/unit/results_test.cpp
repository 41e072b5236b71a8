#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/results/results_file.h"
#include "core/results/sealed_line.h"
#include "core/results/side_file.h"
#include "tests/golden.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::results_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "Results.*:ResultsWriter.*");

ResultsHeader header() {
  auto made = make_results_header({{{"libtorch_version", "2.13.0"}}, {{"kernel", "Linux"}}},
                                  {"instr_bench", "--filter=a b"});
  made.started = "2026-01-02T03:04:05Z";
  return made;
}

Measurement counted(const std::string& key, double ir) {
  Measurement measurement;
  Variant& variant = measurement.variant;
  variant.key = key;
  variant.label = "matmul/mm";
  variant.params = {{"n", "64"}, {"kind", "a \"b\""}};
  variant.backend = Backend::kTorchScript;
  variant.autograd = Autograd::kForwardBackward;
  variant.threads = 2;
  variant.device = "cuda";
  variant.limits = {{"instructions", "0.5%"}};
  Counted outcome;
  outcome.metrics = {
      {"instructions", ir}, {"allocs", 3}, {"alloc_bytes", 192.5}, {"peak_bytes", 128}};
  outcome.iterations = 20;
  outcome.warmup = 10;
  outcome.steady = true;
  outcome.first_block_instructions = ir;
  outcome.second_block_instructions = ir;
  outcome.gated = false;
  outcome.functions = {{"at::mm(\"x\")", "libtorch_cpu.so", 1200.5, 3},
                       {"malloc", "worker", 40, 1}};
  outcome.profile = "profiles/x.out";
  measurement.outcome = outcome;
  measurement.seconds = 0.041;
  return measurement;
}

Expected<FunctionsOf> functions_beside(const fs::path& file) {
  return open_functions(file, sealed(to_line(to_json(header()))), Incomplete::kAllowed);
}

Expected<Results> results_so_far(const fs::path& file) {
  return read_results(file, Incomplete::kAllowed);
}

bool has_functions(const fs::path& file, const std::string& key) {
  auto functions = functions_beside(file);
  EXPECT_TRUE(functions) << to_string(functions.error());
  return functions && !(*functions)(key).value().empty();
}

std::string document(const std::vector<std::string>& lines) {
  std::string text = to_line(to_json(header())) + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A file that the writer finished.
std::string whole_document(const std::vector<std::string>& lines) {
  return document(lines) + end_line(lines.size()) + "\n";
}

Expected<ResultsWriter> created(const fs::path& file) {
  return ResultsTarget::open(file).and_then(
      [](ResultsTarget&& target) { return ResultsWriter::create(std::move(target), header()); });
}

std::string error_of(const std::string& bytes) {
  auto results = parse_results(bytes, "r.jsonl", Incomplete::kAllowed);
  return results ? "no error" : to_string(results.error());
}

// The text of each file and its error.
std::string errors_of(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) all += file + "=> " + error_of(file) + "\n\n";
  return all;
}

// Lets no file grow beyond `bytes`, as a full disk would.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(ResultsLine, HasTheNamesOfTheContract) {
  auto json = to_json(counted("k", 1234));
  EXPECT_EQ(
      json.dump(),
      R"({"key":"k","label":"matmul/mm","params":{"n":"64","kind":"a \"b\""},)"
      R"("language":"cpp","backend":"torchscript","autograd":"forward_backward","threads":2,"device":"cuda",)"
      R"("outcome":"counted","metrics":{"alloc_bytes":192.5,"allocs":3,"instructions":1234,)"
      R"("peak_bytes":128},"iterations":20,"warmup":10,"steady":true,)"
      R"("blocks":[1234,1234],"gated":false,"profile":"profiles/x.out",)"
      R"("seconds":0.041,"limits":{"instructions":"0.5%"}})");
}

TEST(ResultsLine, FailuresAndSkips) {
  auto json = to_json(failed("k", FailureKind::kCrashed, "signal 11"));
  EXPECT_EQ(json["outcome"], "failed");
  EXPECT_EQ(json["failure"].dump(), R"({"kind":"crashed","message":"signal 11"})");
  EXPECT_FALSE(json.contains("metrics"));
  json = to_json(failed("k", FailureKind::kUnsupported, "no CUDA"));
  EXPECT_EQ(json["outcome"], "skipped");
  EXPECT_EQ(json["reason"], "no CUDA");
}

TEST(ResultsLine, NumbersThatJsonLacksAreNull) {
  Measurement measurement = counted("k", std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(to_json(measurement)["metrics"]["instructions"].is_null());
  auto back =
      value_of(parse_results(document({to_line(to_json(measurement))}), "r", Incomplete::kAllowed));
  const auto& lost = std::get<Counted>(back.measurements[0].outcome);
  EXPECT_FALSE(lost.metrics.contains("instructions"));
  EXPECT_EQ(lost.lost.at("instructions"), "r:2: it is null");
  // And they stay so when the file is written again.
  EXPECT_EQ(to_json(back.measurements[0])["outcome"], "counted");
  EXPECT_TRUE(to_json(back.measurements[0])["metrics"]["instructions"].is_null());
}

TEST(Results, RoundTrip) {
  TemporaryFolder folder;
  std::vector<Measurement> written{counted("matmul/mm/n=64/eager", 1234567.125),
                                   counted("odd \"key\"\t\n/größe/矩阵", 5),
                                   failed("b", FailureKind::kCompileError, "line 1\nline 2")};
  written.push_back(skipped("c", "needs LibTorch >=2.0"));
  {
    auto writer = value_of(created(folder / "r.jsonl"));
    for (const Measurement& measurement : written) ASSERT_TRUE(writer.append(measurement));
    ASSERT_TRUE(writer.finish(true));
  }
  auto results = value_of(read_results(folder / "r.jsonl"));
  EXPECT_TRUE(results.is_complete);
  EXPECT_EQ(results.header.command, header().command);
  EXPECT_EQ(results.header.fingerprint, header().fingerprint);
  EXPECT_EQ(results.header.version, header().version);
  EXPECT_EQ(results.header.started, header().started);
  ASSERT_EQ(results.measurements.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(to_json(results.measurements[i]), to_json(written[i]));
  }
}

// An interrupted run writes no end, in either file.
TEST(Results, AreIncompleteUntilFinished) {
  TemporaryFolder folder;
  for (bool is_complete : {false, true}) {
    auto writer = value_of(created(folder / "r.jsonl"));
    ASSERT_TRUE(writer.append(counted("a", 1)));
    ASSERT_TRUE(writer.append(failed("b", FailureKind::kExited, "")));
    ASSERT_TRUE(writer.finish(is_complete));
    EXPECT_EQ(read_results(folder / "r.jsonl").has_value(), is_complete);
    EXPECT_EQ(open_functions(folder / "r.jsonl", sealed(to_line(to_json(header())))).has_value(),
              is_complete);
  }
}

// Both are written before either is put in its place.
TEST(Results, OldOnesStayWhereNewOnesCannotBeWritten) {
  TemporaryFolder folder;
  fs::path file = folder / "r.jsonl";
  {
    auto writer = created(file);
    ASSERT_TRUE(writer && writer->append(counted("old", 1)) && writer->finish(true));
  }
  const std::string before = text_of(file);
  const std::string functions = text_of(functions_path(file));
  SizeLimit limit(10);
  EXPECT_FALSE(created(file));
  EXPECT_EQ(text_of(file), before);
  EXPECT_EQ(text_of(functions_path(file)), functions);
}

TEST(Results, ManyThreadsWriteWholeLines) {
  TemporaryFolder folder;
  auto writer = created(folder / "r.jsonl");
  ASSERT_TRUE(writer);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 50; ++i) {
          std::string key = std::to_string(t) + "/" + std::to_string(i);
          Measurement measurement = counted(key, i);
          std::get<Counted>(measurement.outcome).functions.push_back({"of " + key, "", 1, 1});
          EXPECT_TRUE(writer->append(measurement));
        }
      });
    }
  }
  EXPECT_EQ(results_so_far(folder / "r.jsonl")->measurements.size(), 200u);
  auto functions = value_of(functions_beside(folder / "r.jsonl"));
  for (int i = 0; i < 200; ++i) {
    std::string key = std::to_string(i / 50) + "/" + std::to_string(i % 50);
    auto costs = functions(key);
    ASSERT_TRUE(costs && costs->size() == 3) << key;
    EXPECT_EQ(costs->back().function, "of " + key);
  }
}

TEST(ResultsWriter, SaysWhereItCannotWrite) {
  TemporaryFolder folder;
  EXPECT_EQ(error_text(created(folder / "no/such/r.jsonl")),
            (folder / "no/such").string() +
                ": there is no such folder: make it first, or name a file in another one");
  EXPECT_FALSE(created(folder.path()));
  auto full = created("/dev/full");
  ASSERT_FALSE(full);
  EXPECT_EQ(to_string(full.error()),
            "/dev/full: cannot write: No space left on device: free some space, or name another "
            "file");
}

TEST(ResultsWriter, AFullDiskLosesNothingThatWasMeasured) {
  TemporaryFolder folder;
  fs::path file = folder / "r.jsonl";
  auto writer = value_of(created(file));
  ASSERT_TRUE(writer.append(counted("a", 1)));
  std::string before = text_of(file);
  {
    SizeLimit limit(before.size() + 25);
    EXPECT_FALSE(writer.append(counted("b", 2)));
    // No partial line stays, which would corrupt the next one.
    EXPECT_EQ(text_of(file), before);
    EXPECT_FALSE(writer.append(counted("c", 3)));
    auto finished = writer.finish(true);
    ASSERT_FALSE(finished);
    EXPECT_HAS(finished.error().what, "2 measurements are not in the file");
  }
  ASSERT_TRUE(writer.append(counted("d", 4)));
  EXPECT_TRUE(writer.finish(true));
  auto results = value_of(read_results(file));
  EXPECT_TRUE(results.is_complete);
  ASSERT_EQ(results.measurements.size(), 4u);
  EXPECT_EQ(results.measurements[2].variant.key, "c");
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_TRUE(has_functions(file, key)) << key;
}

// Cut anywhere, at a line's end or within one: the file is never complete, but its measurements
// are.
TEST(ResultsReader, ATruncatedFileIsIncomplete) {
  const std::string whole =
      whole_document({to_line(to_json(counted("a", 1))), to_line(to_json(counted("b", 2)))});
  EXPECT_TRUE(parse_results(whole, "r", Incomplete::kRefused));
  const std::size_t header_size = whole.find('\n');
  // The last byte is a newline, which says nothing more.
  for (std::size_t size = header_size; size + 1 < whole.size(); ++size) {
    auto results = parse_results(whole.substr(0, size), "r", Incomplete::kAllowed);
    ASSERT_TRUE(results) << size;
    EXPECT_FALSE(results->is_complete) << size;
    const std::string with_next = whole.substr(0, size + 1);
    const auto lines = std::count(with_next.begin(), with_next.end(), '\n');
    EXPECT_EQ(results->measurements.size() + 1, static_cast<std::size_t>(lines)) << size;
    auto refused = parse_results(whole.substr(0, size), "r", Incomplete::kRefused);
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(to_string(refused.error()),
              "r: these results are incomplete: the run that wrote them did not finish: measure "
              "again, or add --allow-incomplete");
  }
}

TEST(ResultsReader, RefusesALineThatWasChanged) {
  const std::string whole = sealed(to_line(to_json(header()))) + "\n" +
                            sealed(to_line(to_json(counted("a", 100)))) + "\n";
  ASSERT_TRUE(parse_results(whole, "r", Incomplete::kAllowed));
  const auto changed =
      parse_results(replaced(whole, "\"allocs\":3", "\"allocs\":2"), "r", Incomplete::kAllowed);
  ASSERT_FALSE(changed);
  EXPECT_HAS(to_string(changed.error()), "r:2: this line was changed since it was written");
  EXPECT_FALSE(parse_results(replaced(whole, "\"version\":\"", "\"version\":\"9"), "r",
                             Incomplete::kAllowed));
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

// Without a repetition, the median of the others would be different.
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

TEST(ResultsReader, ACountThatContradictsItsBlocksWasEdited) {
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
  // The last two blocks may have equal counts, but different allocations.
  EXPECT_EQ(with("1174", "false", "[1174,1174]"), "no error");
  EXPECT_EQ(with("1174", "true", "[2475,2475]"),
            "r.jsonl:2: `a/b` has 1174 instructions, steady, and its blocks have 2475 and 2475: "
            "it was edited: measure again");
  EXPECT_NE(with("1174", "false", "[1174,2475]"), "no error");
  EXPECT_NE(with("1180", "true", "[1174,1180]"), "no error");
  EXPECT_NE(with("1174", "true", "[null,1174]"), "no error");
}

// Input that would take many times its size in memory, or quadratic time.
TEST(ResultsReader, RefusesUnknownLines) {
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

// Values of other types than ours, and numbers beyond any range.
TEST(ResultsReader, TakesWrongTypesAsMissing) {
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

}  // namespace
}  // namespace instr::results_test
