#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/results/profiles_file.h"
#include "core/results/result_set.h"
#include "core/results/results_file.h"
#include "core/run/merge_shards.h"
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

Expected<Results> results_so_far(const fs::path& file) {
  return read_results(file, Incomplete::kAllowed);
}

// Without the counts, of which these functions are not the sum.
Expected<ProfileReaders> profiles_beside(const fs::path& file,
                                         Incomplete incomplete = Incomplete::kAllowed) {
  Results results;
  results.header_line = value_of(results_so_far(file)).header_line;
  return read_profiles(file, results, incomplete);
}

bool has_functions(const fs::path& file, const std::string& key) {
  return !value_of(profiles_beside(file)).functions(key).value().empty();
}

Expected<ResultsWriter> created(const fs::path& file) {
  return ResultsTarget::open(file).and_then(
      [](ResultsTarget&& target) { return ResultsWriter::create(std::move(target), header()); });
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

TEST(ResultsWriter, SaysThatAnotherProgramChangedTheFile) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "r.jsonl";
  const auto after = [&](const std::function<void()>& change) {
    fs::remove(file);
    auto writer = created(file);
    EXPECT_TRUE(writer && writer->append(counted("a", 1)));
    change();
    const auto finished = writer->finish(/*is_complete=*/true);
    return finished ? std::string() : finished.error().what;
  };
  EXPECT_EQ(after([] {}), "");
  EXPECT_HAS(after([&] { fs::resize_file(file, 10); }), "instead of");
  EXPECT_HAS(after([&] { std::ofstream(file, std::ios::app) << "{}\n"; }), "instead of");
  EXPECT_HAS(after([&] { fs::remove(file); }), "was removed or replaced");
  EXPECT_HAS(after([&] {
               fs::remove(file);
               std::ofstream(file) << "another";
             }),
             "was removed or replaced");
  EXPECT_HAS(after([&] { fs::resize_file(profiles_path(file), 10); }), "profiles");
}

TEST(ResultsLine, HasTheDocumentedNames) {
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
  const std::string line = to_line(to_json(measurement));
  auto back = value_of(parse_results("{\"schema\":3}\n" + line + "\n", "r", Incomplete::kAllowed));
  const auto& lost = std::get<Counted>(back.measurements[0].outcome);
  EXPECT_FALSE(lost.metrics.contains("instructions"));
  EXPECT_EQ(lost.lost.at("instructions"), "r:2: it is null");
  // Writing the file again keeps them.
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

// An interrupted run writes no end line in either file.
TEST(Results, AreIncompleteUntilFinished) {
  TemporaryFolder folder;
  for (bool is_complete : {false, true}) {
    auto writer = value_of(created(folder / "r.jsonl"));
    ASSERT_TRUE(writer.append(counted("a", 1)));
    ASSERT_TRUE(writer.append(failed("b", FailureKind::kExited, "")));
    ASSERT_TRUE(writer.finish(is_complete));
    EXPECT_EQ(read_results(folder / "r.jsonl").has_value(), is_complete);
    EXPECT_EQ(profiles_beside(folder / "r.jsonl", Incomplete::kRefused).has_value(), is_complete);
  }
}

TEST(Results, AFailureToWriteKeepsTheOldFiles) {
  TemporaryFolder folder;
  fs::path file = folder / "r.jsonl";
  {
    auto writer = created(file);
    ASSERT_TRUE(writer && writer->append(counted("old", 1)) && writer->finish(true));
  }
  const std::string before = text_of(file);
  const std::string profiles = text_of(profiles_path(file));
  SizeLimit limit(10);
  EXPECT_FALSE(created(file));
  EXPECT_EQ(text_of(file), before);
  EXPECT_EQ(text_of(profiles_path(file)), profiles);
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
  const FunctionsOf functions = value_of(profiles_beside(folder / "r.jsonl")).functions;
  for (int i = 0; i < 200; ++i) {
    std::string key = std::to_string(i / 50) + "/" + std::to_string(i % 50);
    auto costs = functions(key);
    ASSERT_TRUE(costs && costs->size() == 3) << key;
    EXPECT_EQ(costs->back().function, "of " + key);
  }
}

TEST(ResultsWriter, ReportsThePlaceOfAnError) {
  TemporaryFolder folder;
  EXPECT_EQ(error_text(created(folder / "no/such/r.jsonl")),
            (folder / "no/such").string() +
                ": there is no such folder: make it first, or name a file in another one");
  EXPECT_FALSE(created(folder.path()));
  EXPECT_EQ(error_text(created("/dev/full")),
            "/dev/full: cannot write: No space left on device: free some space, or name another "
            "file");
}

TEST(ResultsWriter, KeepsMeasurementsWhileTheDiskIsFull) {
  TemporaryFolder folder;
  fs::path file = folder / "r.jsonl";
  auto writer = value_of(created(file));
  ASSERT_TRUE(writer.append(counted("a", 1)));
  std::string before = text_of(file);
  {
    SizeLimit limit(before.size() + 25);
    EXPECT_FALSE(writer.append(counted("b", 2)));
    // A partial line would corrupt the next.
    EXPECT_EQ(text_of(file), before);
    EXPECT_FALSE(writer.append(counted("c", 3)));
    EXPECT_HAS(error_text(writer.finish(true)), "2 measurements are not in the file");
  }
  ASSERT_TRUE(writer.append(counted("d", 4)));
  EXPECT_TRUE(writer.finish(true));
  auto results = value_of(read_results(file));
  EXPECT_TRUE(results.is_complete);
  ASSERT_EQ(results.measurements.size(), 4u);
  EXPECT_EQ(results.measurements[2].variant.key, "c");
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_TRUE(has_functions(file, key)) << key;
}

TEST(ResultsWriter, KeepsProfilesWhileTheirFileCannotBeStarted) {
  TemporaryFolder folder;
  fs::path file = folder / "r.jsonl";
  auto writer = value_of(created(file));
  {
    SizeLimit limit(10);
    EXPECT_FALSE(writer.append(counted("a", 1)));
    EXPECT_FALSE(fs::exists(profiles_path(file)));
  }
  ASSERT_TRUE(writer.append(counted("b", 2)));
  EXPECT_TRUE(writer.finish(true));
  for (const char* key : {"a", "b"}) EXPECT_TRUE(has_functions(file, key)) << key;
}

// --- Merged shards ---

ResultSet part(const std::string& name, std::optional<Shard> shard,
               std::vector<Measurement> measurements, const std::string& compiler = "clang 14") {
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (const Measurement& measurement : measurements) {
    functions[measurement.variant.key] = {{"in " + name, "lib.so", 1}};
  }
  ResultSet set = results(name, std::move(measurements));
  set.results.header.shard = shard;
  if (!set.results.measurements.empty()) {
    set.results.header.fingerprint.entries = {{"compiler", compiler}};
  }
  set.functions = functions_from(std::move(functions));
  return set;
}

std::string error_of(std::vector<ResultSet> parts) {
  return error_text(merge(std::move(parts), {}));
}

TEST(Merge, HasTheMeasurementsAndFunctionsOfAllShards) {
  ResultSet third = part("c", Shard{3, 3}, {counted("y", 2), counted("z", 3)});
  const std::vector<DeviceEvent> events{{"sync stream=0 cudaStreamSynchronize", "at::_ops::item"}};
  third.device_events = by_key<std::vector<DeviceEvent>>({{"z", events}});
  auto merged = value_of(merge(
      {part("a", Shard{1, 3}, {counted("x", 1)}), part("b", Shard{2, 3}, {}), std::move(third)},
      {}));
  std::vector<std::string> keys;
  for (const Measurement& measurement : merged.results.measurements)
    keys.push_back(measurement.variant.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_FALSE(merged.results.header.shard);
  EXPECT_EQ(merged.results.header.fingerprint.get("compiler"), "clang 14");
  auto functions = value_of(merged.functions("z"));
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions.front().function, "in c");
  EXPECT_TRUE(merged.functions("nowhere")->empty());
  EXPECT_EQ(value_of(merged.device_events("z")), events);
}

TEST(Merge, AnEmptyFirstShardDoesNotHideTheOthersFingerprint) {
  auto merged =
      value_of(merge({part("a", Shard{1, 2}, {}), part("b", Shard{2, 2}, {counted("y", 2)})}, {}));
  EXPECT_EQ(merged.results.header.fingerprint.get("compiler"), "clang 14");
}

TEST(Merge, RefusesIncompleteOrMixedRuns) {
  std::string errors;
  const auto add = [&errors](std::vector<ResultSet> parts) {
    errors += error_of(std::move(parts)) + "\n";
  };
  add({part("a", Shard{1, 3}, {}), part("c", Shard{3, 3}, {})});
  add({part("a", Shard{1, 2}, {}), part("b", Shard{1, 2}, {})});
  add({part("a", Shard{1, 2}, {}), part("b", Shard{2, 3}, {})});
  add({part("a", {}, {counted("x", 1)}), part("b", {}, {counted("x", 1)})});
  add({part("a", {}, {counted("x", 1)}), part("b", {}, {counted("y", 1)}, "g++")});
  EXPECT_GOLDEN("merge/errors.txt", errors);
}

}  // namespace
}  // namespace instr::results_test
