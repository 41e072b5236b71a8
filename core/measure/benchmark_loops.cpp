#include "core/measure/benchmark_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/base/text.h"

namespace instr {

namespace {

constexpr const char* kLoopBegin = "--dump-after=benchmark::State::StartKeepRunning()";
constexpr const char* kLoopEnd = "--dump-before=benchmark::State::FinishKeepRunning()";
constexpr const char* kPause = "--dump-before=benchmark::State::PauseTiming()";
constexpr const char* kResume = "--dump-after=benchmark::State::ResumeTiming()";

// The library multiplies the iterations by 10 while it has run for less than a tenth of the
// requested time, whatever the clock says. With this time its loops have 1, 10, 100, ...
constexpr const char* kEndless = "--benchmark_min_time=1000000000";
constexpr std::uint64_t kFactor = 10;

constexpr std::size_t kEnoughLoops = 4;
// A loop of more instructions than this is the last.
constexpr std::uint64_t kLongLoop = 200'000'000;

// Returns a part of a profile; nothing while Callgrind writes it.
std::optional<ProfilePart> read_part(const fs::path& file) {
  constexpr std::string_view kTrigger = "desc: Trigger: ";
  const std::string text = read_file(file, kMaxResultsBytes).value_or("");
  const std::size_t trigger = text.find(kTrigger);
  const std::size_t total = text.rfind("\ntotals: ");
  if (trigger == std::string::npos || total == std::string::npos || !text.ends_with('\n')) {
    return std::nullopt;
  }
  const std::size_t begin = trigger + kTrigger.size();
  return ProfilePart{text.substr(begin, text.find('\n', begin) - begin),
                     std::strtoull(text.c_str() + total + 9, nullptr, 10), file};
}

// The parts that a process has written so far.
class PartReader {
 public:
  explicit PartReader(fs::path folder) : folder_(std::move(folder)) {}

  const std::vector<ProfilePart>& read(pid_t pid) {
    for (;;) {
      const fs::path file =
          folder_ / fmt::format("{}{}.{}", wire::kProfilePrefix, pid, parts_.size() + 1);
      std::error_code ignored;
      if (!fs::exists(file, ignored)) return parts_;
      auto part = read_part(file);
      if (!part) return parts_;
      parts_.push_back(*std::move(part));
    }
  }

 private:
  const fs::path folder_;
  std::vector<ProfilePart> parts_;
};

bool is_enough(const std::vector<BenchmarkLoop>& loops) {
  return loops.size() >= kEnoughLoops ||
         (loops.size() >= 2 && loops.back().instructions > kLongLoop);
}

// The text of a member of Google Benchmark's JSON; empty if it is absent.
std::string json_member(const std::string& json, const std::string& name) {
  const std::string start = "\"" + name + "\": ";
  const std::size_t at = json.find(start);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + start.size();
  std::string text(trim(json.substr(begin, json.find('\n', begin) - begin), " ,\r"));
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

// Returns why a benchmark that ended by itself has no count, if it has none.
std::optional<ProgramFailure> find_skip(const ProgramEnd& ended) {
  if (!ended.status) return std::nullopt;
  for (const char* name : {"error_message", "skip_message"}) {
    const std::string message = json_member(ended.output, name);
    const bool is_error = json_member(ended.output, "error_occurred") == "true";
    if (!message.empty()) {
      return program_failure(is_error ? FailureKind::kException : FailureKind::kUnsupported,
                             printable(message));
    }
  }
  return find_failure(ended, 0);
}

// Returns the number after "/threads:" and the like in a benchmark's name, if it has one.
std::optional<std::uint64_t> setting_of(const std::string& name, std::string_view setting) {
  const std::size_t at = name.find(setting);
  if (at == std::string::npos) return std::nullopt;
  return std::max(std::strtoull(name.c_str() + at + setting.size(), nullptr, 10), 1ULL);
}

constexpr std::string_view kFixed = "/iterations:";

std::uint64_t threads_of(const std::string& name) {
  return setting_of(name, "/threads:").value_or(1);
}

// The iterations of a loop in all threads: those that the benchmark sets, or a power of ten.
std::uint64_t iterations_of(const std::string& name, std::size_t loop) {
  std::uint64_t count = threads_of(name);
  if (const auto fixed = setting_of(name, kFixed)) return count * *fixed;
  for (std::size_t i = 0; i < loop; ++i) count *= kFactor;
  return count;
}

// The cost of an iteration, by two loops: entering one costs the same whatever its length.
struct LoopCost {
  double first = 0;  // the cost by the two loops before the last
  double last = 0;   // the cost by the last two loops
  bool is_known_twice = false;
};

LoopCost cost_of(const std::vector<BenchmarkLoop>& loops, const std::string& name) {
  const auto between = [&](std::size_t before, std::size_t after) {
    const auto more = static_cast<double>(loops[after].instructions) -
                      static_cast<double>(loops[before].instructions);
    return more / static_cast<double>(iterations_of(name, after) - iterations_of(name, before));
  };
  const std::size_t count = loops.size();
  const auto alone = [&](std::size_t loop) {
    return static_cast<double>(loops[loop].instructions) /
           static_cast<double>(iterations_of(name, loop));
  };
  // The first loop also loads what is loaded on first use.
  if (setting_of(name, kFixed) && count >= 3) return {alone(count - 2), alone(count - 1), true};
  if (count < 3) return {alone(count - 1), alone(count - 1)};
  if (count == 3) return {between(1, 2), between(1, 2)};
  return {between(count - 3, count - 2), between(count - 2, count - 1), true};
}

// Joins the parts of a loop in a file.
fs::path join(const BenchmarkLoop& loop, const fs::path& file) {
  std::ofstream whole(file, std::ios::binary);
  for (const fs::path& part : loop.files) {
    whole << read_file(part, kMaxResultsBytes).value_or("") << "\n";
  }
  return file;
}

struct BenchmarkRun {
  LoopCost cost;
  std::uint64_t iterations = 1;
  fs::path profile;  // the last loop's
};

tl::expected<BenchmarkRun, wire::Message> run_benchmark(const Variant& variant,
                                                        const ProgramOptions& options,
                                                        const fs::path& folder,
                                                        const std::stop_token& stop) {
  const Program& program = *variant.program;
  TRY_ASSIGN(ProgramStart start, make_start(program, {kLoopBegin, kLoopEnd, kPause, kResume}));
  auto& command = start.command;
  command.insert(command.end(), {"--benchmark_filter=" + match_benchmark(program.benchmark),
                                 kEndless, "--benchmark_format=json"});
  // A fixed number of iterations runs once, unless it is repeated.
  if (setting_of(program.benchmark, kFixed)) command.push_back("--benchmark_repetitions=3");
  const std::size_t threads = threads_of(program.benchmark);
  PartReader parts(folder);
  TRY_ASSIGN(const ProgramEnd ended,
             run_program(start, variant, options, folder, stop, [&](pid_t pid) {
               return is_enough(find_loops(parts.read(pid), threads));
             }));
  if (auto skipped = find_skip(ended)) return *std::move(skipped);
  const std::vector<BenchmarkLoop> loops = find_loops(parts.read(ended.pid), threads);
  if (loops.empty()) {
    return program_failure(
        FailureKind::kNoProfile,
        "Callgrind saw no loop of the benchmark: is the program stripped and linked "
        "statically with Google Benchmark, or compiled with -flto?");
  }
  return BenchmarkRun{cost_of(loops, program.benchmark),
                      iterations_of(program.benchmark, loops.size() - 1),
                      join(loops.back(), folder / "loop")};
}

}  // namespace

tl::expected<wire::Message, wire::Message> count_benchmark(const Variant& variant,
                                                           const ProgramOptions& options,
                                                           const fs::path& folder,
                                                           const std::stop_token& stop) {
  for (const char* timed : {"/min_time:", "/min_warmup_time:"}) {
    if (variant.program->benchmark.find(timed) == std::string::npos) continue;
    return program_failure(
        FailureKind::kUnsupported,
        "its code calls MinTime() or MinWarmUpTime(), so that the clock determines its "
        "iterations: use Iterations() instead");
  }
  std::optional<BenchmarkRun> first;
  for (const int number : {1, 2}) {
    TRY_ASSIGN(auto run, run_benchmark(variant, options, make_run_folder(folder, number), stop));
    if (!run.cost.is_known_twice && !first) {
      first = std::move(run);
      continue;
    }
    if (first) run.cost.first = first->cost.last;
    TRY_ASSIGN(const auto read, read_run(run.profile));
    const auto count = static_cast<double>(run.iterations);
    const auto entry = static_cast<std::int64_t>(static_cast<double>(read.instructions) -
                                                 std::llround(run.cost.last * count));
    wire::Message reply =
        make_program_reply(read, options.work_dir, run.iterations,
                           static_cast<std::uint64_t>(std::max<std::int64_t>(entry, 0)));
    reply.fields["ir_1"] = std::to_string(std::llround(run.cost.first * count) + entry);
    reply.fields["steady"] = run.cost.first == run.cost.last ? "1" : "0";
    return reply;
  }
  return program_failure(FailureKind::kNoProfile, "the benchmark was not counted");
}

std::vector<BenchmarkLoop> find_loops(const std::vector<ProfilePart>& parts, std::size_t threads) {
  std::vector<BenchmarkLoop> loops;
  BenchmarkLoop current;
  std::size_t running = 0;  // threads in their loops
  std::size_t finished = 0;
  for (const ProfilePart& part : parts) {
    if (running > 0 && part.trigger != kResume) {
      current.instructions += part.instructions;
      current.files.push_back(part.file);
    }
    if (part.trigger == kLoopBegin) ++running;
    if (part.trigger != kLoopEnd || running == 0) continue;
    --running;
    if (++finished % threads == 0) loops.push_back(std::exchange(current, {}));
  }
  return loops;
}

std::string match_benchmark(std::string_view name) {
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view(".[]{}()\\*+?^$|").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

}  // namespace instr
