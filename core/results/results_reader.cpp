#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/format.h"
#include "core/base/json_line.h"
#include "core/base/read_file.h"
#include "core/base/trim.h"
#include "core/results/end_line.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMeasureAgain = "measure again";

// Bytes, far beyond any real line: parsed JSON takes many times its text's size.
constexpr std::size_t kLongestLine = std::size_t{4} << 20;

// The error has no place or advice.
Expected<Json> parse_object(std::string_view line) {
  if (line.size() > kLongestLine) return fail("this line is longer than 4 MiB");
  return parse_json(line).and_then([](Json&& json) -> Expected<Json> {
    if (!json.is_object()) return fail("this line is not a JSON object");
    return std::move(json);
  });
}

const Json* member(const Json& json, const char* name) {
  auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

std::string text_or(const Json& json, const char* name, const std::string& otherwise = "") {
  const Json* value = member(json, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : otherwise;
}

double number_or(const Json* value, double otherwise) {
  return value != nullptr && value->is_number() ? value->get<double>() : otherwise;
}

bool bool_or(const Json& json, const char* name, bool otherwise) {
  const Json* value = member(json, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

// Whole numbers within T's range; for anything else `otherwise`.
template <class T>
T whole_value(const Json& value, T otherwise) {
  if (!value.is_number_integer()) return otherwise;
  if (value.is_number_unsigned()) {
    auto number = value.get<std::uint64_t>();
    return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
  }
  auto number = value.get<std::int64_t>();
  return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
}

template <class T>
T whole_or(const Json& json, const char* name, T otherwise) {
  const Json* value = member(json, name);
  return value == nullptr ? otherwise : whole_value(*value, otherwise);
}

// Far beyond what is ever written, and below what a line may hold: a lost one is written too.
constexpr std::size_t kMostMetrics = 128;

// Beyond any real count: a day of a fast core is some 1e15 instructions.
constexpr double kMostCount = 1e18;

// Why a metric's value is not a count; nothing if it is one.
std::optional<std::string> fault_of(const Json& value) {
  if (value.is_null()) return "it is null";
  if (!value.is_number()) return "it is not a number";
  auto number = value.get<double>();
  if (number < 0) return "it is negative";
  if (!(number <= kMostCount)) return "it is beyond 1e18";
  return std::nullopt;
}

bool are_times(const Json& values) {
  return values.is_array() && std::all_of(values.begin(), values.end(), [](const Json& value) {
           return value.is_number() && value.get<double>() >= 0;
         });
}

Expected<void> check_metrics(const std::string& key, const Json& json) {
  const Json* metrics = member(json, "metrics");
  if (metrics == nullptr || metrics->size() <= kMostMetrics) return {};
  return fail(fmt::format("`{}` has more than {} metrics", printable(key), kMostMetrics));
}

// Leaving out a repetition would change the median.
Expected<void> check_times(const std::string& key, const Json& json) {
  const Json* times = member(json, "times");
  if (times == nullptr || !times->is_object()) return {};
  for (const Metric& metric : kMetrics) {
    if (metric.statistic == Statistic::kNone) continue;
    const Json* numbers = member(*times, metric.name);
    if (numbers == nullptr || are_times(*numbers)) continue;
    return fail(fmt::format("`{}` has, under \"times\", a \"{}\" that is not a list of times",
                            printable(key), metric.name));
  }
  return {};
}

// The timings, checked; the peak is also a metric.
std::optional<Timing> timing_from(const Json& json, const std::map<std::string, double>& metrics) {
  const Json* times = member(json, "times");
  if (times == nullptr || !times->is_object()) return std::nullopt;
  Timing timing;
  for (const Metric& metric : kMetrics) {
    if (metric.statistic == Statistic::kNone) continue;
    if (const Json* numbers = member(*times, metric.name)) {
      timing.values[metric.name] = numbers->get<std::vector<double>>();
    }
  }
  timing.iterations = whole_or<std::uint64_t>(*times, "iterations", 0);
  if (const Json* others = member(*times, "others"); others != nullptr && others->is_number()) {
    timing.others = others->get<double>();
  }
  if (auto peak = metrics.find(kDevicePeakBytes); peak != metrics.end() && peak->second >= 0) {
    timing.device_peak_bytes = static_cast<std::uint64_t>(std::min(peak->second, 1e18));
  }
  return timing;
}

// `where`: the file and its line.
Counted counted_from(const Json& json, const std::string& where) {
  Counted counted;
  if (const Json* metrics = member(json, "metrics"); metrics != nullptr && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      if (auto fault = fault_of(value)) {
        counted.lost[name] = where + ": " + *fault;
      } else {
        counted.metrics[name] = value.get<double>();
      }
    }
  }
  if (text_or(json, "outcome") == "counted" && !counted.has_count()) {
    counted.lost[kInstructions] = where + ": it is missing";
  }
  counted.iterations = whole_or<std::uint64_t>(json, "iterations", 0);
  counted.warmup = whole_or<std::uint64_t>(json, "warmup", 0);
  counted.steady = bool_or(json, "steady", false);
  counted.gated = bool_or(json, "gated", true);
  const Json* blocks = member(json, "blocks");
  if (blocks != nullptr && blocks->is_array() && blocks->size() == 2) {
    counted.first_block_ir = number_or(&(*blocks)[0], 0);
    counted.second_block_ir = number_or(&(*blocks)[1], 0);
  } else if (auto ir = counted.metrics.find(kInstructions);
             blocks == nullptr && ir != counted.metrics.end()) {
    // A line without blocks cannot contradict them.
    counted.first_block_ir = counted.second_block_ir = ir->second;
  }
  if (std::string profile = text_or(json, "profile"); !profile.empty()) counted.profile = profile;
  counted.timing = timing_from(json, counted.metrics);
  return counted;
}

Failure failure_from(const Json& json) {
  const Json* failure = member(json, "failure");
  if (failure == nullptr || !failure->is_object()) return {};
  std::string kind = text_or(*failure, "kind");
  std::string message = text_or(*failure, "message");
  if (auto known = failure_kind_from(kind)) return {*known, message};
  return {FailureKind::kWorkerLost, kind + ": " + message};
}

// A code of a later version is not a verdict that this version knows.
std::optional<Verification> verification_from(const Json& json) {
  const Json* verification = member(json, "verification");
  if (verification == nullptr || !verification->is_object()) return std::nullopt;
  std::string name = text_or(*verification, "code");
  std::string reason = text_or(*verification, "reason");
  if (auto code = verification_code_from(name)) return Verification{*code, reason};
  return Verification{VerificationCode::kVerifierDidntRun, name + ": " + reason};
}

// The count is that of the last block, and the blocks of a steady one are equal, unless the file
// was edited.
Expected<void> check_blocks(const std::string& key, const Counted& counted) {
  auto ir = counted.metrics.find(kInstructions);
  if (ir == counted.metrics.end()) return {};
  double first = counted.first_block_ir;
  double second = counted.second_block_ir;
  if (ir->second == second && (first == second || !counted.steady)) return {};
  return fail(fmt::format(
      "`{}` has {} instructions, {}, and its blocks have {} and {}: it was edited", printable(key),
      ir->second, counted.steady ? "steady" : "not steady", first, second));
}

// `where`: the file and its line. The error, for a line without identity, with an unknown outcome,
// a contradictory count or invalid times, has no place or advice.
Expected<Measurement> measurement_from(const Json& json, const std::string& where) {
  const Error unknown{{}, "a measurement without a key or a known outcome", ""};
  Measurement measurement;
  Variant& variant = measurement.variant;
  variant.key = text_or(json, "key");
  if (variant.key.empty()) return tl::unexpected(unknown);
  variant.label = text_or(json, "label", variant.key);
  if (const Json* params = member(json, "params"); params != nullptr && params->is_object()) {
    for (const auto& [name, value] : params->items()) {
      variant.params.emplace_back(name,
                                  value.is_string() ? value.get<std::string>() : to_line(value));
    }
  }
  variant.language = language_from(text_or(json, "language")).value_or(Language::kCpp);
  variant.runtime = runtime_from(text_or(json, "runtime")).value_or(Runtime::kEager);
  if (text_or(json, "autograd") == to_string(Autograd::kForwardBackward)) {
    variant.autograd = Autograd::kForwardBackward;
  }
  variant.threads = whole_or<int>(json, "threads", 1);
  variant.device = text_or(json, "device", "cpu");
  if (const Json* limits = member(json, "limits"); limits != nullptr && limits->is_object()) {
    for (const auto& [name, value] : limits->items()) {
      if (value.is_string()) variant.limits[name] = value.get<std::string>();
    }
  }
  if (const Json* tags = member(json, "tags"); tags != nullptr && tags->is_array()) {
    for (const Json& tag : *tags) {
      if (tag.is_string()) variant.tags.push_back(tag.get<std::string>());
    }
  }
  measurement.seconds = number_or(member(json, "seconds"), 0);
  std::string outcome = text_or(json, "outcome");
  measurement.verification = verification_from(json);
  if (outcome == "counted" || outcome == "timed" || outcome == "verified") {
    const auto valid =
        check_metrics(variant.key, json).and_then([&] { return check_times(variant.key, json); });
    if (!valid) return tl::unexpected(valid.error());
    Counted counted = counted_from(json, where);
    if (outcome != "counted") counted.steady = true;
    if (auto checked = check_blocks(variant.key, counted); !checked) {
      return tl::unexpected(checked.error());
    }
    measurement.outcome = std::move(counted);
  } else if (outcome == "skipped") {
    measurement.outcome = Skipped{text_or(json, "reason")};
  } else if (outcome == "failed") {
    measurement.outcome = failure_from(json);
  } else {
    return tl::unexpected(unknown);
  }
  return measurement;
}

Error error_at(const std::string& name, int line, std::string what, std::string advice) {
  return {{name, line, 0}, std::move(what), std::move(advice)};
}

// [1, 4]: the first of four.
std::optional<Shard> shard_from(const Json* json) {
  if (json == nullptr || !json->is_array() || json->size() != 2) return std::nullopt;
  Shard shard{whole_value((*json)[0], 0), whole_value((*json)[1], 0)};
  if (shard.index < 1 || shard.index > shard.count) return std::nullopt;
  return shard;
}

Expected<ResultsHeader> header_from(std::string_view line, const std::string& name) {
  auto json = parse_object(line);
  const Json* schema = json ? member(*json, "schema") : nullptr;
  if (schema == nullptr || !schema->is_number_integer()) {
    return tl::unexpected(error_at(name, 1, "this is not a results file of instr_bench",
                                   "name a file that instr_bench --output=FILE wrote"));
  }
  ResultsHeader header;
  header.schema = whole_or<int>(*json, "schema", std::numeric_limits<int>::max());
  header.version = text_or(*json, "version");
  if (header.schema != kResultsSchema) {
    std::string by = header.version.empty() ? "" : ", written by instr_bench " + header.version;
    return tl::unexpected(error_at(name, 1,
                                   "results of schema " + schema->dump() + by +
                                       "; this one reads schema " + std::to_string(kResultsSchema),
                                   "measure again with this one"));
  }
  header.started = text_or(*json, "started");
  header.commit = text_or(*json, "commit");
  if (const Json* command = member(*json, "command"); command != nullptr && command->is_array()) {
    for (const Json& word : *command) {
      if (word.is_string()) header.command.push_back(word.get<std::string>());
    }
  }
  header.shard = shard_from(member(*json, "shard"));
  if (header.shard) header.shard->dealt_by = text_or(*json, "dealt_by");
  if (const Json* fingerprint = member(*json, "fingerprint")) {
    auto read = fingerprint_from_json(*fingerprint);
    if (!read) return tl::unexpected(error_at(name, 1, read.error().what, kMeasureAgain));
    header.fingerprint = std::move(*read);
  }
  return header;
}

// Takes the first line off `bytes`, without its newline; the last may have none.
std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return line;
}

std::string count_mismatch(std::size_t said, std::size_t found) {
  return "the end line says " + std::to_string(said) + " measurements, and there are " +
         std::to_string(found);
}

}  // namespace

Expected<Results> parse_results(std::string_view bytes, const std::string& name,
                                Incomplete incomplete) {
  if (bytes.empty()) {
    return tl::unexpected(error_at(name, 1, "the results file is empty", kMeasureAgain));
  }
  const bool is_cut = bytes.back() != '\n';
  Results results;
  results.is_complete = false;
  results.header_line = take_line(bytes);
  auto header = header_from(results.header_line, name);
  if (!header) return tl::unexpected(header.error());
  results.header = std::move(*header);
  MeasurementList measurements;
  std::size_t count = 0;
  for (int number = 2; !bytes.empty(); ++number) {
    const auto malformed = [&](std::string what) {
      return tl::unexpected(error_at(name, number, std::move(what), kMeasureAgain));
    };
    const std::string_view line = take_line(bytes);
    if (is_blank(line)) continue;
    if (results.is_complete) return malformed("a line after the end of the results");
    auto json = parse_object(line);
    if (!json && is_cut && bytes.empty() && line.size() <= kLongestLine) break;
    if (!json) return malformed(json.error().what);
    if (const auto counted = measurements_at_end(*json)) {
      results.is_complete = true;
      if (*counted == count) continue;
      return malformed(count_mismatch(*counted, count));
    }
    auto measurement = measurement_from(*json, fmt::format("{}:{}", name, number));
    if (!measurement) return malformed(measurement.error().what);
    measurements.add(std::move(*measurement));
    ++count;
  }
  if (!results.is_complete && incomplete == Incomplete::kRefused) {
    return tl::unexpected(
        Error{{name},
              "these results are incomplete: the run that wrote them did not finish",
              "measure again, or add --allow-incomplete"});
  }
  results.measurements = measurements.take();
  return results;
}

Expected<Results> read_results(const fs::path& file, Incomplete incomplete) {
  return read_file(file, kMostResults, ReadFrom::kFilesAndPipes)
      .and_then([&](const std::string& bytes) {
        return parse_results(bytes, file.string(), incomplete);
      });
}

}  // namespace instr
