#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/results/fingerprint.h"
#include "core/results/json_reader.h"
#include "core/results/profile_json.h"
#include "core/results/results_file.h"
#include "worker/wire.h"

namespace instr {

namespace {

constexpr const char* kMeasureAgain = "measure again";

// Bytes, far beyond any real line: parsed JSON takes many times the size of its text.
constexpr std::size_t kMaxLineLength = std::size_t{4} << 20;

constexpr std::size_t kMinLineLength = 256;  // the minimum of most lines, to estimate their number

// Parses a line; the error has no place or advice.
Expected<JsonValue> parse_object(JsonReader& reader, std::string_view line) {
  if (line.size() > kMaxLineLength) return fail("this line is longer than 4 MiB");
  return reader.read(line).and_then([](JsonValue json) -> Expected<JsonValue> {
    if (!json.is_object()) return fail("this line is not a JSON object");
    return json;
  });
}

std::string text_or(JsonValue json, std::string_view name, std::string_view otherwise = "") {
  return std::string(member_as<std::string_view>(json, name).value_or(otherwise));
}

// Returns a text as it is, and any other value as JSON.
std::string shown(JsonValue value) {
  const auto text = value_as<std::string_view>(value);
  return text ? std::string(*text) : json_text(value);
}

// Far beyond the metrics of a real line.
constexpr std::size_t kMaxMetrics = 128;

// Beyond any real count: a day of a fast core is some 1e15 instructions.
constexpr double kMaxCount = 1e18;

// Reads the files that are not of the commit from the end line.
std::vector<std::string> strangers_from(JsonValue line) {
  std::vector<std::string> strangers;
  const auto list = member(*member(line, "end"), "not_of_commit");
  if (!list || !list->is_array()) return strangers;
  for (const JsonValue item : list->get_array()) {
    if (const auto text = value_as<std::string_view>(item)) strangers.emplace_back(*text);
  }
  return strangers;
}

// Explains why a metric's value is not a count; nothing if it is valid.
std::optional<std::string> find_fault(JsonValue value) {
  if (value.is_null()) return "it is null";
  const auto number = value_as<double>(value);
  if (!number) return "it is not a number";
  if (*number < 0) return "it is negative";
  if (!(*number <= kMaxCount)) return "it is beyond 1e18";
  return std::nullopt;
}

// Reads a list of times; returns nothing if `json` is not one.
std::optional<std::vector<double>> times_from(JsonValue json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<double> times;
  for (const JsonValue value : items_of(json)) {
    const auto time = value_as<double>(value);
    if (!time || *time < 0) return std::nullopt;
    times.push_back(*time);
  }
  return times;
}

// Reads the timings, if there are any; the peak is also a metric. An invalid repetition is an
// error, since the median would differ without it.
Expected<std::optional<Timing>> timing_from(const std::string& key, JsonValue json,
                                            const std::map<std::string, double>& metrics) {
  const auto times = member(json, "times");
  if (!times || !times->is_object()) return std::nullopt;
  Timing timing;
  for (const Metric& metric : kMetrics) {
    if (metric.statistic == Statistic::kNone) continue;
    const auto list = member(*times, metric.name);
    if (!list) continue;
    auto values = times_from(*list);
    if (!values) {
      return fail(fmt::format("`{}` has, under \"times\", a \"{}\" that is not a list of times",
                              printable(key), metric.name));
    }
    timing.values[metric.name] = *std::move(values);
  }
  if (const auto eager = member(*times, "eager")) {
    timing.eager = times_from(*eager).value_or(std::vector<double>());
  }
  timing.iterations = member_as<std::uint64_t>(*times, "iterations").value_or(0);
  timing.others = member_as<double>(*times, "others");
  if (auto peak = metrics.find(kDevicePeakBytes); peak != metrics.end() && peak->second >= 0) {
    timing.device_peak_bytes = static_cast<std::uint64_t>(std::min(peak->second, 1e18));
  }
  return timing;
}

// Reads the instructions of the last two blocks.
void set_blocks(Counted& counted, JsonValue json) {
  const auto blocks = items_of(json, "blocks");
  const auto ir = counted.metrics.find(kInstructions);
  if (blocks.size() == 2) {
    counted.first_block_instructions = value_as<double>(blocks[0]).value_or(0);
    counted.second_block_instructions = value_as<double>(blocks[1]).value_or(0);
  } else if (!member(json, "blocks") && ir != counted.metrics.end()) {
    // Without blocks there is nothing to contradict.
    counted.first_block_instructions = counted.second_block_instructions = ir->second;
  }
}

// `where`: the file and its line.
Expected<Counted> counted_from(const std::string& key, JsonValue json, const std::string& where) {
  const auto metrics = members_of(json, "metrics");
  if (metrics.size() > kMaxMetrics) {
    return fail(fmt::format("`{}` has more than {} metrics", printable(key), kMaxMetrics));
  }
  Counted counted;
  for (const auto& [name, value] : metrics) {
    if (auto fault = find_fault(value)) {
      counted.lost[std::string(name)] = where + ": " + *fault;
    } else {
      counted.metrics[std::string(name)] = *value_as<double>(value);
    }
  }
  if (text_or(json, "outcome") == "counted" && !counted.has_count()) {
    counted.lost[kInstructions] = where + ": it is missing";
  }
  counted.iterations = member_as<std::uint64_t>(json, "iterations").value_or(0);
  counted.warmup = member_as<std::uint64_t>(json, "warmup").value_or(0);
  counted.steady = member_as<bool>(json, "steady").value_or(false);
  counted.changes_state = member_as<bool>(json, "changes_state").value_or(false);
  counted.reads_device = member_as<bool>(json, "reads_device").value_or(false);
  counted.gated = member_as<bool>(json, "gated").value_or(true);
  set_blocks(counted, json);
  if (std::string profile = text_or(json, "profile"); !profile.empty()) counted.profile = profile;
  TRY_ASSIGN(counted.timing, timing_from(key, json, counted.metrics));
  if (const auto report = member(json, "compiler")) counted.compiler = compiler_from(*report);
  counted.operators = operators_from(items_of(json, "operators"));
  return counted;
}

Failure failure_from(JsonValue json) {
  const auto failure = member(json, "failure");
  if (!failure || !failure->is_object()) return {};
  std::string kind = text_or(*failure, "kind");
  std::string message = text_or(*failure, "message");
  if (auto known = failure_kind_from(kind)) return {*known, message};
  return {FailureKind::kWorkerLost, kind + ": " + message};
}

// Reads the verification; an unknown code, of a later version, is not a verdict.
std::optional<Verification> verification_from(JsonValue json) {
  const auto verification = member(json, "verification");
  if (!verification || !verification->is_object()) return std::nullopt;
  std::string name = text_or(*verification, "code");
  std::string reason = text_or(*verification, "reason");
  if (auto code = verification_code_from(name)) return Verification{*code, reason};
  return Verification{VerificationCode::kVerifierDidntRun, name + ": " + reason};
}

// Checks that the count is that of the last block, and that the blocks of a steady count are equal
// but for collisions.
Expected<void> check_blocks(const std::string& key, const Counted& counted) {
  auto ir = counted.metrics.find(kInstructions);
  if (ir == counted.metrics.end()) return {};
  double first = counted.first_block_instructions;
  double second = counted.second_block_instructions;
  const bool are_near = std::fabs(first - second) <= std::fabs(second) / wire::kCollisions;
  if (ir->second == second && (are_near || !counted.steady)) return {};
  return fail(fmt::format(
      "`{}` has {} instructions, {}, and its blocks have {} and {}: it was edited", printable(key),
      ir->second, counted.steady ? "steady" : "not steady", first, second));
}

Variant variant_from(JsonValue json) {
  Variant variant;
  variant.key = text_or(json, "key");
  variant.where.file = text_or(json, "suite");
  variant.label = text_or(json, "label", variant.key);
  for (const auto& [name, value] : members_of(json, "params")) {
    variant.params.emplace_back(name, shown(value));
  }
  variant.language = find_language(text_or(json, "language")).value_or(Language::kCpp);
  variant.backend = find_backend(text_or(json, "backend")).value_or(Backend::kEager);
  variant.autograd = parse_autograd(text_or(json, "autograd"));
  variant.threads = member_as<int>(json, "threads").value_or(1);
  variant.device = text_or(json, "device", "cpu");
  for (const auto& [name, value] : members_of(json, "limits")) {
    if (value.is_string()) variant.limits[std::string(name)] = shown(value);
  }
  for (const JsonValue tag : items_of(json, "tags")) {
    if (tag.is_string()) variant.tags.push_back(shown(tag));
  }
  return variant;
}

// `where`: the file and its line. The error, for a line without identity, with an unknown outcome,
// a contradictory count or invalid times, has no place or advice.
Expected<Measurement> measurement_from(JsonValue json, const std::string& where) {
  const auto unknown = fail("a measurement without a key or a known outcome");
  Measurement measurement;
  measurement.variant = variant_from(json);
  const std::string& key = measurement.variant.key;
  if (key.empty()) return unknown;
  measurement.seconds = member_as<double>(json, "seconds").value_or(0);
  measurement.verification = verification_from(json);
  for (const auto& [name, value] : members_of(json, "depends_on")) {
    measurement.depends_on.entries.emplace_back(name, shown(value));
  }
  std::string outcome = text_or(json, "outcome");
  if (outcome == "counted" || outcome == "timed" || outcome == "verified") {
    TRY_ASSIGN(auto counted, counted_from(key, json, where));
    if (outcome != "counted") counted.steady = true;
    TRY(check_blocks(key, counted));
    measurement.outcome = std::move(counted);
  } else if (outcome == "skipped") {
    measurement.outcome = Skipped{text_or(json, "reason")};
  } else if (outcome == "failed") {
    measurement.outcome = failure_from(json);
  } else {
    return unknown;
  }
  return measurement;
}

// [1, 4]: the first of four.
std::optional<Shard> shard_from(JsonValue json) {
  const auto numbers = items_of(json, "shard");
  if (numbers.size() != 2) return std::nullopt;
  Shard shard{value_as<int>(numbers[0]).value_or(0), value_as<int>(numbers[1]).value_or(0)};
  if (shard.index < 1 || shard.index > shard.count) return std::nullopt;
  return shard;
}

// Adds the entries of libraries, which are pairs of a name and a value.
void add_libraries(Fingerprint::Entries& entries, JsonValue libraries) {
  for (const JsonValue library : items_of(libraries)) {
    const auto pair = items_of(library);
    if (pair.size() != 2 || !pair[0].is_string()) continue;
    entries.emplace_back(shown(pair[0]), shown(pair[1]));
  }
}

// Reads a fingerprint. Unknown names are entries like the others; a value that is not text is kept
// as JSON.
Expected<Fingerprint> fingerprint_from(JsonValue json) {
  if (!json.is_object()) return fail("the fingerprint is not a JSON object");
  Fingerprint fingerprint;
  for (const auto& [name, value] : members_of(json)) {
    if (name == kLibraries && value.is_array()) {
      add_libraries(fingerprint.entries, value);
    } else if (name != "machine") {
      fingerprint.entries.emplace_back(name, shown(value));
    } else {
      for (const auto& [item, text] : members_of(value)) {
        fingerprint.machine.emplace_back(item, shown(text));
      }
    }
  }
  return fingerprint;
}

Expected<ResultsHeader> header_from(JsonReader& reader, std::string_view line,
                                    const std::string& name) {
  auto json = parse_object(reader, line);
  const auto schema = json ? member(*json, "schema") : std::nullopt;
  if (!schema || !(schema->is_int64() || schema->is_uint64())) {
    return fail_at({name, 1}, "this is not a results file of instr_bench",
                   "name a file that instr_bench --output=FILE wrote");
  }
  ResultsHeader header;
  header.schema = value_as<int>(*schema).value_or(std::numeric_limits<int>::max());
  header.version = text_or(*json, "version");
  if (header.schema != kResultsSchema) {
    std::string by = header.version.empty() ? "" : ", written by instr_bench " + header.version;
    return fail_at({name, 1},
                   fmt::format("results of schema {}{}; this one reads schema {}",
                               json_text(*schema), by, kResultsSchema),
                   "measure again with this one");
  }
  header.started = text_or(*json, "started");
  header.commit = text_or(*json, "commit");
  for (const JsonValue word : items_of(*json, "command")) {
    if (word.is_string()) header.command.push_back(shown(word));
  }
  header.shard = shard_from(*json);
  if (const auto fingerprint = member(*json, "fingerprint")) {
    auto read = fingerprint_from(*fingerprint);
    if (!read) return fail_at({name, 1}, read.error().what, kMeasureAgain);
    header.fingerprint = std::move(*read);
  }
  return header;
}

constexpr const char* kChanged = "this line was changed since it was written: its checksum differs";

constexpr const char* kUnsealed = "this line has no checksum, so it was added or changed";

// Removes the first line of `bytes` and returns it without its newline, which the last may lack.
std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return line;
}

}  // namespace

std::optional<std::size_t> parse_end_line(JsonValue line) {
  const auto end = member(line, "end");
  if (!end || members_of(line).size() != 1) return std::nullopt;
  return member_as<std::uint64_t>(*end, "measurements");
}

Expected<Results> parse_results(std::string_view bytes, const std::string& name,
                                Incomplete incomplete) {
  if (bytes.empty()) {
    return fail_at({name, 1}, "the results file is empty", kMeasureAgain);
  }
  const bool is_cut = bytes.back() != '\n';
  Results results;
  results.is_complete = false;
  results.header_line = take_line(bytes);
  JsonReader reader;
  TRY_ASSIGN(results.header, header_from(reader, results.header_line, name));
  if (!is_as_sealed(results.header_line)) {
    return fail_at({name, 1}, kChanged, kMeasureAgain);
  }
  // The results that --report=jsonl prints have no checksums.
  const bool is_checked = is_sealed(results.header_line);
  MeasurementList measurements;
  measurements.reserve(bytes.size() / kMinLineLength);
  std::size_t count = 0;
  for (int number = 2; !bytes.empty(); ++number) {
    const auto malformed = [&](std::string what) {
      return fail_at({name, number}, std::move(what), kMeasureAgain);
    };
    const std::string_view line = take_line(bytes);
    if (is_blank(line)) continue;
    if (results.is_complete) return malformed("a line after the end of the results");
    auto json = parse_object(reader, line);
    if (!json && is_cut && bytes.empty() && line.size() <= kMaxLineLength) break;
    if (!json) return malformed(json.error().what);
    if (!is_as_sealed(line)) return malformed(kChanged);
    if (const auto counted = parse_end_line(*json)) {
      results.is_complete = true;
      results.header.strangers = strangers_from(*json);
      if (*counted == count) continue;
      return malformed(
          fmt::format("the end line says {} measurements, and there are {}", *counted, count));
    }
    if (is_checked && !is_sealed(line)) return malformed(kUnsealed);
    auto measurement = measurement_from(*json, fmt::format("{}:{}", name, number));
    if (!measurement) return malformed(measurement.error().what);
    measurements.add(std::move(*measurement));
    ++count;
  }
  if (!results.is_complete && incomplete == Incomplete::kRefused) {
    return fail_at(name, "these results are incomplete: the run that wrote them did not finish",
                   "measure again, or add --allow-incomplete");
  }
  results.measurements = measurements.take();
  return results;
}

Expected<Results> read_results(const fs::path& file, Incomplete incomplete) {
  TRY_ASSIGN(const auto bytes, read_file(file, kMaxResultsBytes, ReadFrom::kFilesAndPipes));
  return parse_results(bytes, file.string(), incomplete);
}

}  // namespace instr
