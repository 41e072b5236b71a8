// Snippets whose counts are known by construction.
#include <algorithm>
#include <cmath>
#include <regex>

#include "core/profile/function_names.h"
#include "core/results/results_file.h"
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::known_figures_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "KnownFigures.*:Doctor.*",
                                "KnownFigures.AFreshValgrind*");

class KnownFigures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    result_ = run({"--definitions=" + fixture("known.toml").string(),
                   "--backend=eager,torchscript,frozen,optimized",
                   "--output=" + (folder_->path() / "first.jsonl").string(),
                   "--keep-profiles=" + (folder_->path() / "profiles").string()});
    records_ = read_results(folder_->path() / "first.jsonl");
  }
  static void TearDownTestSuite() { delete folder_; }

  static FunctionsOf functions_beside() {
    return value_of(read_result_set(folder_->path() / "first.jsonl", "first")).functions;
  }

  static double metric(const std::string& key, const std::string& name) {
    auto record = records_.find(key);
    if (record == records_.end()) {
      ADD_FAILURE() << "no record of " << key << "\n" << result_.errors;
      return -1;
    }
    if (record->second.at("outcome") != "counted") {
      ADD_FAILURE() << record->second.dump(2);
      return -1;
    }
    return record->second.at("metrics").at(name).get<double>();
  }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline CommandResult result_;
  static inline Records records_;
};

TEST_F(KnownFigures, ExitsWithZeroAndCountsEveryBenchmark) {
  EXPECT_EQ(result_.exit_code, 0) << result_.errors;
  EXPECT_EQ(records_.size(), 22U);
  for (const auto& [key, record] : records_) {
    EXPECT_EQ(record.at("outcome"), "counted") << record.dump(2);
    EXPECT_EQ(record.at("steady"), true) << record.dump(2);
  }
}

TEST_F(KnownFigures, NopsAreCountedExactly) {
  EXPECT_EQ(metric("known/nops/n=100/eager/forward/t1/cpu", "instructions"), 100);
  EXPECT_EQ(metric("known/nops/n=200/eager/forward/t1/cpu", "instructions"), 200);
}

TEST_F(KnownFigures, TheFirstCallIsCountedAlone) {
  const double first = metric("known/first_call/eager/forward/t1/cpu", "instructions");
  const double later = metric("known/later_call/eager/forward/t1/cpu", "instructions");
  // The nops of the first call, and a jump around them in later ones.
  EXPECT_NEAR(first - later, 1000, 2);
  EXPECT_LT(later, 10);
}

TEST_F(KnownFigures, AllocationsAreCountedExactly) {
  for (int k : {1, 7}) {
    std::string key = "known/allocations/k=" + std::to_string(k) + "/eager/forward/t1/cpu";
    EXPECT_EQ(metric(key, "allocs"), k);
    EXPECT_EQ(metric(key, "alloc_bytes"), 100 * k);
    EXPECT_EQ(metric(key, "peak_bytes"), 100);
  }
  EXPECT_EQ(metric("known/peak/eager/forward/t1/cpu", "allocs"), 2);
  EXPECT_EQ(metric("known/peak/eager/forward/t1/cpu", "peak_bytes"), 1500);
  EXPECT_EQ(metric("known/nops/n=100/eager/forward/t1/cpu", "allocs"), 0);
}

TEST_F(KnownFigures, WorkGrowsLinearly) {
  double one = metric("known/linear/n=100/eager/forward/t1/cpu", "instructions");
  double two = metric("known/linear/n=200/eager/forward/t1/cpu", "instructions");
  double three = metric("known/linear/n=300/eager/forward/t1/cpu", "instructions");
  EXPECT_GE(two - one, 100);  // a nop for each iteration
  EXPECT_EQ(two - one, three - two);
}

TEST_F(KnownFigures, BackwardCostsMoreThanForwardAndScriptIsThere) {
  for (const std::string backend : {"eager", "torchscript"}) {
    std::string base = "known/product/n=8/" + backend;
    EXPECT_GT(metric(base + "/forward_backward/t1/cpu", "instructions"),
              metric(base + "/forward/t1/cpu", "instructions"));
  }
}

TEST_F(KnownFigures, ABackendAloneCountsTheSame) {
  const std::string key = "known/product/n=8/frozen/forward/t1/cpu";
  auto alone = expect_status(0, run({"--definitions=" + fixture("known.toml").string(),
                                     "--backend=frozen", "--filter=" + key, "--format=json"}));
  const auto counted = nlohmann::json::parse(alone.output).at("measurements");
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted[0].at("key"), key);
  EXPECT_EQ(counted[0].at("metrics").at("instructions").get<double>(), metric(key, "instructions"));
}

TEST(Doctor, FindsNoProblemAndCountsTheCanary) {
  auto result = expect_status(0, run({"doctor", "--color=never"}));
  for (const char* name : {"Valgrind", "LibTorch", "compiler", "worker", "zygote", "canary"}) {
    EXPECT_HAS(result.output, std::string("ok    ") + name + ' ');
  }
}

TEST_F(KnownFigures, ASecondRunFromTheCacheGivesTheSame) {
  expect_status(0, run({"--definitions=" + fixture("known.toml").string(), "--jobs=1",
                        "--backend=eager,torchscript,frozen,optimized",
                        "--output=" + (folder_->path() / "second.jsonl").string()}));
  auto second = read_results(folder_->path() / "second.jsonl");
  ASSERT_EQ(second.size(), records_.size());
  for (const auto& [key, record] : records_) {
    EXPECT_EQ(second.at(key).at("metrics"), record.at("metrics")) << key;
  }
}

TEST_F(KnownFigures, AFreshValgrindForEachVariantGivesTheSame) {
  expect_status(0, run({"--definitions=" + fixture("known.toml").string(), "--backend=eager,frozen",
                        "--filter=allocations/k=7|product/n=8/frozen/forward/",
                        "--output=" + (folder_->path() / "process.jsonl").string()},
                       {"INSTR_TEST_ISOLATION=process"}));
  auto isolated = read_results(folder_->path() / "process.jsonl");
  ASSERT_EQ(isolated.size(), 2u);
  for (const auto& [key, record] : isolated) {
    EXPECT_EQ(record.at("metrics"), records_.at(key).at("metrics")) << key;
  }
}

TEST_F(KnownFigures, KeptProfilesAreReadByCallgrindAnnotate) {
  int profiles = 0;
  for (const auto& entry : fs::directory_iterator(folder_->path() / "profiles")) {
    if (entry.path().filename().string().find("known.nops.n=100") == std::string::npos) continue;
    ++profiles;
    const std::string annotated = program_output({"callgrind_annotate", entry.path().string()});
    EXPECT_HAS(annotated, "PROGRAM TOTALS");
    EXPECT_HAS(annotated, "instr_snippet_");
  }
  EXPECT_EQ(profiles, 1);
}

constexpr const char* kRecursive = R"(schema = 1
[[benchmark]]
label = "recursive"
global_setup = """
#define PART __attribute__((noinline)) long
long hidden(long n) { asm volatile("" : "+r"(n)); return n; }
PART leaf(long n) { return hidden(n); }
PART fib(long n) { return hidden(n) < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
PART even(long n);
PART odd(long n) { return 1 + (hidden(n) == 0 ? 0 : even(n - 1)); }
PART even(long n) { return 1 + (hidden(n) == 0 ? leaf(1) : odd(n - 1)); }
"""
stmt = "long volatile sum = fib(9) + even(20); (void)sum;"
)";

// The inclusive costs of callgrind_annotate, without recursions and lines of inlined code.
std::multimap<std::string, double> annotated(const fs::path& profile) {
  std::multimap<std::string, double> costs;
  const std::regex row(R"( *([0-9,]+)(?: \([ 0-9.]+%\))?  [^:]*:(.*) \[.*\])");
  std::istringstream lines(program_output(
      {"callgrind_annotate", "--inclusive=yes", "--show=Ir", "--threshold=100", profile.string()}));
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    std::string digits = found[1];
    std::erase(digits, ',');
    costs.emplace(without_hashes(found[2].str()), std::stod(digits));
  }
  return costs;
}

class InclusiveCosts : public ::testing::Test {
 protected:
  // The functions of a benchmark that were compared.
  static std::map<std::string, nlohmann::json> compare(const std::string& key,
                                                       const fs::path& definitions) {
    TemporaryFolder folder;
    auto explained =
        expect_status(0, run({"explain", key, "--definitions=" + definitions.string(),
                              "--format=json", "--keep-profiles=" + folder.path().string()}));
    const auto json = nlohmann::json::parse(explained.output);
    const auto costs = annotated(fs::directory_iterator(folder.path())->path());
    std::map<std::string, nlohmann::json> compared;
    for (const auto& one : json["functions"]) {
      const std::string name = one["function"];
      const auto [begin, end] = costs.equal_range(name);
      if (begin == end || one["inclusive"].is_null()) continue;
      compared[name] = one;
      EXPECT_LE(one["inclusive"], json["instructions"]) << name;
      const double block = one["inclusive"].get<double>() * json["iterations"].get<double>();
      EXPECT_TRUE(std::any_of(
          begin, end, [block](const auto& known) { return std::abs(known.second - block) < 0.5; }))
          << name << " " << block;
    }
    return compared;
  }
};

// The costs of all paths that end in the same function, by its name.
std::map<std::string, double> folded(const fs::path& file) {
  std::map<std::string, double> costs;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.rfind(' ');
    const std::size_t begin = line.rfind(';', end);
    const std::string name =
        line.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
    costs[begin == std::string::npos ? line.substr(0, end) : name] += std::stod(line.substr(end));
  }
  return costs;
}

class FlameGraph : public ::testing::TestWithParam<const char*> {};

// Measured with merged paths, and with instrumentation from the warm-up of the zygote on.
TEST_P(FlameGraph, HasTheCountAndTheSelfCostsOfThePlainProfile) {
  TemporaryFolder folder;
  std::vector<std::string> command{"explain", std::string("known/product/n=8/") + GetParam(),
                                   "--definitions=" + fixture("known.toml").string(),
                                   "--format=json"};
  const auto plain = nlohmann::json::parse(run(command).output);
  command.push_back("--flame=" + folder.path().string());
  auto explained = expect_status(0, run(command));
  EXPECT_EQ(nlohmann::json::parse(explained.output)["instructions"], plain["instructions"]);
  std::string file_name = command[1] + ".folded";
  std::replace(file_name.begin(), file_name.end(), '/', '.');
  const auto costs = folded(folder.path() / file_name);
  double sum = 0;
  for (const auto& [name, cost] : costs) sum += cost;
  EXPECT_NEAR(sum, plain["instructions"].get<double>(), 1e-6);
  std::map<std::string, double> self;
  for (const auto& one : plain["functions"]) self[one["function"]] += one["self"].get<double>();
  std::size_t compared = 0;
  for (const auto& [name, cost] : costs) {
    const auto known = self.find(name);
    if (known == self.end()) continue;
    EXPECT_NEAR(cost, known->second, 1e-6) << name;
    ++compared;
  }
  EXPECT_GE(compared, 50U);
}

INSTANTIATE_TEST_SUITE_P(Zygotes, FlameGraph,
                         ::testing::Values("eager/forward_backward/t1/cpu",
                                           "torchscript/forward/t1/cpu"));

TEST_F(InclusiveCosts, AreThoseOfCallgrindAnnotate) {
  EXPECT_GE(
      compare("known/product/n=8/eager/forward_backward/t1/cpu", fixture("known.toml")).size(),
      100U);
}

TEST_F(InclusiveCosts, CountRecursionOnce) {
  TemporaryFolder folder;
  write(folder.path() / "recursive.toml", kRecursive);
  auto compared = compare("recursive/eager/forward/t1/cpu", folder.path() / "recursive.toml");
  ASSERT_TRUE(compared.contains("leaf(long)"));
  EXPECT_FALSE(compared.at("leaf(long)").at("recursive"));
  for (const char* name : {"fib(long)", "even(long)", "odd(long)"}) {
    ASSERT_TRUE(compared.contains(name)) << name;
    EXPECT_TRUE(compared.at(name).at("recursive")) << name;
    for (const auto& caller : compared.at(name).at("callers")) EXPECT_NE(caller["function"], name);
  }
}

TEST_F(KnownFigures, FunctionsAddUpToTheCount) {
  const FunctionsOf functions = functions_beside();
  for (const auto& [key, record] : records_) {
    auto costs = value_of(functions(key));
    double sum = 0;
    for (const FunctionCost& cost : costs) sum += cost.ir;
    EXPECT_NEAR(sum, metric(key, "instructions"), 1e-6) << key;
  }
}

// Callgrind and the allocator count the same calls.
TEST_F(KnownFigures, AllocationsEqualCallsOfTheAllocator) {
  const FunctionsOf functions = functions_beside();
  for (const auto& [key, record] : records_) {
    std::map<std::string, double> calls;
    auto costs = value_of(functions(key));
    for (const FunctionCost& cost : costs) {
      if (cost.object == "worker") calls[cost.function] += cost.calls;
    }
    EXPECT_EQ(calls["malloc"] + calls["calloc"] + calls["posix_memalign"], metric(key, "allocs"))
        << key;
    if (key.starts_with("known/allocations/k=7/")) {
      EXPECT_EQ(calls["malloc"], 7);
      EXPECT_EQ(calls["free"], 7);
    }
  }
}

}  // namespace
}  // namespace instr::e2e::known_figures_test
