#include "core/measure/measurer.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/base/environment.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/base/phase.h"
#include "core/base/read_file.h"
#include "core/base/source_text.h"
#include "core/base/text.h"
#include "core/compile/cache.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/python/generate_python.h"
#include "core/compile/source_writer.h"
#include "core/measure/device_events.h"
#include "core/measure/failure_text.h"
#include "core/measure/import_costs.h"
#include "core/measure/loaded_files.h"
#include "core/measure/program.h"
#include "core/measure/zygote_pool.h"
#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, double left) {
  auto rank = [left](const Candidate& c) {
    const bool is_long = 2 * c.seconds >= left;
    return std::tuple(is_long ? -c.seconds : 0, c.needs_another_host, c.order);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& candidate = candidates[i];
    if (!candidate.zygote_ready) continue;
    if (!best || rank(candidate) < rank(candidates[*best])) best = i;
  }
  return best;
}

std::uint64_t default_memory_limit(std::uint64_t machine_bytes, int jobs) {
  constexpr std::uint64_t kMax = std::uint64_t{8} << 30;
  return std::min(kMax, machine_bytes / 4 * 3 / static_cast<std::uint64_t>(std::max(jobs, 1)));
}

std::uint64_t memory_limit_here(int jobs) { return default_memory_limit(machine_memory(), jobs); }

bool should_retry(FailureKind kind, int attempts, int retries) {
  return kind == FailureKind::kWorkerLost && attempts <= retries;
}

namespace {

constexpr std::size_t kMaxTextLength = 400;  // the maximum for a line of source
constexpr const char* kProfileEnding = ".callgrind.out";

// The header is in the cache, plain and beside its precompiled form.
bool is_support_header(const std::string& file) {
  static const RE2 header(R"(/(support-[0-9a-f]{32}|pch-[0-9a-f]{32}/support)\.h$)");
  return RE2::PartialMatch(file, header);
}

// Returns the file of a definition, the path of another one (below the working directory relative
// to it), or "" for generated code.
std::string local_name(const std::string& file) {
  if (const auto marked = parse_line_marker(file)) return *marked;
  if (file.empty() || file == "???" || is_support_header(file)) return "";
  std::error_code error;
  const fs::path path = fs::path(file).lexically_normal();
  const fs::path here = fs::current_path(error);
  const auto below = error || !path.is_absolute() ? std::nullopt : place_below(path, here);
  return below.value_or(path).string();
}

// Returns nothing if the file cannot be read, as where it was compiled elsewhere.
std::vector<std::string> read_lines(const std::string& file) {
  std::vector<std::string> lines;
  const auto source = SourceText::read(file);
  if (!source) return lines;
  for (const std::string& line : to_lines(source->text())) {
    lines.emplace_back(trim(line, " \t\r").substr(0, kMaxTextLength));
  }
  return lines;
}

void name_files(Profile& profile) {
  for (std::string& file : profile.files) file = local_name(file);
}

// Returns the costs of a profile's lines with their text, of the sources as they are now.
std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations) {
  auto costs = std::make_shared<LineCosts>(line_costs(profile, iterations));
  std::map<std::string, std::vector<std::string>> files;
  for (LineCost& line : costs->lines) {
    auto [entry, is_new] = files.try_emplace(line.file);
    if (is_new) entry->second = read_lines(line.file);
    const auto at = static_cast<std::size_t>(line.line) - 1;
    if (at < entry->second.size()) line.text = entry->second[at];
  }
  return costs;
}

// Sets the count of calls in progress when collection began to 1: it is written as 0, and
// callgrind_annotate takes their cost for the caller's own.
std::string count_open_calls(std::string profile) {
  const std::string mark = "\ncalls=0 ";
  for (std::size_t at = profile.find(mark); at != std::string::npos; at = profile.find(mark, at)) {
    profile[at + mark.size() - 2] = '1';
  }
  return profile;
}

// Returns the text of a file that the worker wrote, and removes the file.
std::string take_text(const fs::path& file) {
  std::string text = read_text(file).value_or("");
  std::error_code ignored;
  fs::remove(file, ignored);
  return text;
}

// Reads the calls that the worker followed, if it did.
void read_followed(const wire::Message& reply, const Variant& variant, const fs::path& work_dir,
                   Counted& counted) {
  const std::string name = reply.get("followed");
  if (name.empty()) return;
  const std::string text = take_text(work_dir / name);
  const PythonSnippet snippet = variant.program ? PythonSnippet{} : make_python_snippet(variant);
  const auto place = [&snippet](const std::string& in, int line) {
    if (in.empty()) return std::string();  // an imported module
    const auto own = in == kPythonFile ? find_place_in_python(snippet, line) : std::nullopt;
    return own ? to_string(*own) : in + ":" + std::to_string(line);
  };
  counted.followed =
      followed_calls(text, std::strtoull(reply.get("followed_iterations").c_str(), nullptr, 10),
                     std::strtod(reply.get("loop_ir").c_str(), nullptr), place);
  if (is_import(variant)) {
    counted.call_tree = std::make_shared<const CallTree>(read_import_tree(text));
  }
}

std::vector<DeviceEvent> read_device_events(const wire::Message& reply, const fs::path& work_dir) {
  if (reply.get("device_events").empty()) return {};
  return parse_device_events(take_text(work_dir / reply.get("device_events")),
                             take_text(work_dir / reply.get("device_callers")));
}

// Returns "torch/fx/graph.py" for "torch/fx/graph.py:130", and "d.toml" for "d.toml:6:1": lines
// move with every change of a file.
std::string file_of(std::string place) {
  static const RE2 kLines("(:[0-9]+)+$");
  RE2::Replace(&place, kLines, "");
  return place;
}

// Returns the functions and their calls as results files keep them. `instructions`: the count.
std::vector<FunctionCost> function_costs(const std::vector<FollowedFunction>& followed,
                                         double instructions) {
  std::vector<FunctionCost> costs;
  double sum = 0;
  std::map<CodeName, std::size_t> numbers;
  for (const FollowedFunction& function : followed) {
    numbers.emplace(function.code, costs.size());
    sum += function.self;
    costs.push_back({.function = function.code.function,
                     .object = file_of(function.code.object),
                     .ir = function.self,
                     .calls = function.calls});
  }
  for (const FollowedFunction& function : followed) {
    for (const Caller& caller : function.cost.callers) {
      costs[numbers.at(caller.code)].callees.push_back(
          {numbers.at(function.code), caller.calls, caller.ir});
    }
  }
  if (!costs.empty() && sum != instructions) {
    costs.push_back({kFollowingCalls, "", instructions - sum});
  }
  return costs;
}

// Reads the list of files that was written beside the counts.
Outcome with_loaded(Outcome outcome, const wire::Message& reply, const fs::path& work_dir) {
  const std::string name = reply.get("loaded");
  if (name.empty()) return outcome;
  const std::string list = read_file(work_dir / name, kMaxTextBytes).value_or("");
  std::error_code ignored;
  fs::remove(work_dir / name, ignored);
  return with_files(std::move(outcome), loaded_files_in(list));
}

// A worker reports a skipped test as an exception of this type.
Outcome with_skipped(Outcome outcome, const Variant& variant) {
  constexpr std::string_view kSkipped = "TestSkipped: ";
  const auto* failure = std::get_if<Failure>(&outcome);
  const bool is_skipped = variant.tests && failure != nullptr &&
                          failure->kind == FailureKind::kException &&
                          failure->message.starts_with(kSkipped);
  return is_skipped ? Skipped{failure->message.substr(kSkipped.size())} : std::move(outcome);
}

// Names the disk as the cause of a missing count or profile if it is full: Valgrind could not write
// its output.
Outcome with_cause(Outcome outcome, const fs::path& work_dir) {
  auto* failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr || failure->kind != FailureKind::kNoProfile) return outcome;
  // Larger than a count, smaller than a profile.
  const std::string probe(std::size_t{64} << 10, ' ');
  auto written = Replacement::write(work_dir / "probe", probe);
  if (written) return outcome;
  failure->message = "Valgrind could not write its counts: " + work_dir.string() + ": " +
                     written.error().what + ": free some space, or set TMPDIR";
  return outcome;
}

}  // namespace

Attempt lost(std::string message, const std::string& log) {
  if (!log.empty()) message += "\n" + log;
  return {Failure{FailureKind::kWorkerLost, std::move(message)}};
}

Measurer::Measurer(const ScheduleOptions& options)
    : config_(options.config),
      is_fresh_(options.needs_fresh_process()),
      memory_limit_(memory_limit_here(options.jobs)) {}

bool Measurer::follows_calls(const Variant& variant) const {
  return is_import(variant) || (config_.follows_calls && variant.language == Language::kPython);
}

bool Measurer::wants_profile(const Variant& variant) const {
  // Without the profile, the stand-ins' instructions would be part of the count.
  if (is_on_cuda(variant)) return true;
  return config_.keep_profiles || (config_.wants_functions && !follows_calls(variant));
}

wire::Message Measurer::make_request(const CompiledVariant& compiled) const {
  const Variant& variant = compiled.variant;
  wire::Message request{"measure",
                        {{"symbol", compiled.symbol},
                         {"threads", std::to_string(variant.threads)},
                         {"device", variant.device},
                         {"timeout_ms", std::to_string(timeout(variant).count())},
                         {"memory_limit", std::to_string(memory_limit_)},
                         {"want_profile", wants_profile(variant) ? "1" : "0"},
                         {"follow_calls", follows_calls(variant) ? "1" : "0"},
                         {"cache_sim", config_.simulation.cache ? "1" : "0"},
                         {"branch_sim", config_.simulation.branch ? "1" : "0"},
                         {"judged", is_gated(variant) ? "1" : "0"},
                         {"fork", is_fresh_ ? "0" : "1"}}};
  // The worker chooses a number that is absent by the statement's cost.
  if (variant.warmup) request.fields["warmup"] = std::to_string(*variant.warmup);
  if (variant.iterations) request.fields["iterations"] = std::to_string(*variant.iterations);
  if (is_counted_once(variant)) request.fields["once"] = "1";
  if (variant.compiles && !variant.warmup) request.fields["warmup"] = "1";
  if (config_.call_paths || instruments_late(choose_zygote(variant))) {
    request.fields["instrument_late"] = "1";
  }
  return request;
}

std::optional<Failure> Measurer::check_iterations(const Variant& variant) const {
  const auto iterations = static_cast<std::uint64_t>(variant.iterations.value_or(1));
  if (!config_.call_paths || iterations <= kMaxTreeIterations) return std::nullopt;
  return Failure{FailureKind::kDefinitionError,
                 fmt::format("call paths are recorded for at most {} iterations, not for {}",
                             kMaxTreeIterations, iterations)};
}

std::chrono::milliseconds Measurer::timeout(const Variant& variant) const {
  return timeout_of(time_limit(variant, config_));
}

std::chrono::milliseconds Measurer::load_patience(const Variant& variant) const {
  return with_margin(timeout(variant));
}

Attempt Measurer::measure(const CompiledVariant& compiled, WorkerProcess& where) const {
  if (auto failure = check_iterations(compiled.variant)) return {*std::move(failure)};
  const auto log_begin = where.log_size();
  const Stopwatch watch;
  // Without a fork there is no host to enforce the timeout.
  const auto limit = is_fresh_ ? timeout(compiled.variant) : with_margin(timeout(compiled.variant));
  const auto reply = request_count(compiled, where, limit);
  Attempt attempt;
  if (const auto late = reply ? "" : late_text(reply.error(), limit); !late.empty()) {
    attempt.outcome =
        Failure{FailureKind::kTimedOut, is_fresh_ ? late : "the worker itself was " + late};
  } else if (!reply) {
    attempt = lost(std::string("the worker was lost: ") + to_string(reply.error()),
                   where.log_since(log_begin));
  }
  attempt.seconds = watch.seconds();
  if (reply) {
    attempt.outcome =
        with_skipped(settle(*reply, compiled.variant, where.work_dir()), compiled.variant);
  }
  attempt.outcome = with_timeout_advice_for_count(std::move(attempt.outcome), compiled.variant);
  return attempt;
}

Attempt Measurer::count(const Variant& program, const Valgrind& valgrind, const fs::path& work_dir,
                        std::stop_token stop) const {
  const Stopwatch watch;
  const wire::Message reply =
      count_program(program, {valgrind, config_, work_dir}, std::move(stop));
  Attempt attempt{settle(reply, program, work_dir), watch.seconds()};
  attempt.outcome = with_timeout_advice(std::move(attempt.outcome), program);
  return attempt;
}

Reply Measurer::request_count(const CompiledVariant& compiled, WorkerProcess& where,
                              std::chrono::milliseconds limit) const {
  const Variant& variant = compiled.variant;
  wire::Message request = make_request(compiled);
  const bool is_kept = variant.language == Language::kPython && variant.threads == 1 && !is_fresh_;
  const WarmUp zygote = choose_zygote(variant);
  wire::Message known;
  {
    std::lock_guard lock(loops_mutex_);
    if (const auto loop = loops_.find(zygote); is_kept && loop != loops_.end())
      known = loop->second;
  }
  if (!known.fields.empty()) request.fields["knows_loop"] = "1";
  Reply reply = where.request(request, limit);
  if (!reply || reply->verb != "measured" || !is_kept) return reply;
  std::lock_guard lock(loops_mutex_);
  for (const auto& [name, value] : reply->fields) {
    if (name.starts_with("loop_")) loops_[zygote].fields.emplace(name, value);
  }
  reply->fields.merge(known.fields);
  return reply;
}

Outcome Measurer::settle(const wire::Message& reply, const Variant& variant,
                         const fs::path& work_dir) const {
  const std::string name = reply.get("profile");
  const bool has_profile = reply.verb == "measured" && !name.empty();
  Outcome outcome =
      has_profile ? read_measured(reply, variant, work_dir / name) : parse_reply(reply, variant);
  std::error_code ignored;
  if (has_profile) fs::remove(work_dir / name, ignored);
  outcome = with_loaded(with_cause(std::move(outcome), work_dir), reply, work_dir);
  if (auto* counted = std::get_if<Counted>(&outcome)) {
    read_followed(reply, variant, work_dir, *counted);
    counted->device_events = read_device_events(reply, work_dir);
    counted->reads_device = std::ranges::any_of(counted->device_events, reads_back);
    if (config_.wants_functions && counted->followed) {
      counted->functions = function_costs(*counted->followed, counted->second_block_instructions);
    }
  }
  return outcome;
}

Outcome Measurer::read_measured(const wire::Message& reply, const Variant& variant,
                                const fs::path& profile) const {
  std::optional<Profile> read;
  const auto paths = config_.call_paths ? ProfilePaths::kSeparate : ProfilePaths::kMerged;
  if ((config_.wants_functions && !follows_calls(variant)) || is_on_cuda(variant)) {
    const bool has_places = config_.wants_lines || config_.call_paths;
    const auto lines = has_places ? ProfileLines::kRead : ProfileLines::kIgnored;
    auto parsed = read_profile(profile, paths, lines);
    if (!parsed) return Failure{FailureKind::kNoProfile, to_string(parsed.error())};
    read = *std::move(parsed);
    name_files(*read);
  }
  Outcome outcome = parse_reply(reply, variant, read ? &*read : nullptr, paths);
  auto* counted = std::get_if<Counted>(&outcome);
  if (counted == nullptr) return outcome;
  if (read && config_.wants_lines) counted->lines = source_lines(*read, counted->iterations);
  return config_.keep_profiles ? keep(profile, variant, std::move(*counted)) : outcome;
}

Outcome Measurer::keep(const fs::path& profile, const Variant& variant, Counted counted) const {
  auto kept = *config_.keep_profiles / (make_file_name(variant.key) + kProfileEnding);
  auto text = read_text(profile);
  if (!text) return Failure{FailureKind::kNoProfile, "cannot read " + profile.string()};
  if (auto done = write_text(kept, count_open_calls(*std::move(text))); !done) {
    return Failure{FailureKind::kNoProfile, "cannot keep the profile: " + to_string(done.error())};
  }
  counted.profile = std::move(kept);
  return counted;
}

}  // namespace instr
