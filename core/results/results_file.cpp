#include "core/results/results_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <zlib.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/environment.h"
#include "core/base/gzip.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/results/profile_json.h"
#include "core/results/profiles_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

struct OutcomeWriter {
  Json& json;

  void operator()(const Counted& counted) const {
    const bool is_counted = counted.has_count();
    json["outcome"] = is_counted ? "counted" : counted.timing ? "timed" : "verified";
    Json metrics = Json::object();
    for (const auto& [name, value] : counted.metrics) metrics[name] = json_number(value);
    for (const auto& [name, why] : counted.lost) metrics[name] = nullptr;
    json["metrics"] = metrics;
    if (counted.timing) add_timing(*counted.timing);
    if (counted.compiler) json["compiler"] = to_json(*counted.compiler);
    for (const OperatorTime& one : counted.operators) json["operators"].push_back(to_json(one));
    if (!is_counted) return;
    json["iterations"] = counted.iterations;
    json["warmup"] = counted.warmup;
    json["steady"] = counted.steady;
    if (counted.changes_state) json["changes_state"] = true;
    if (counted.reads_device) json["reads_device"] = true;
    json["blocks"] = {json_number(counted.first_block_instructions),
                      json_number(counted.second_block_instructions)};
    json["gated"] = counted.gated;
    if (counted.profile) json["profile"] = counted.profile->string();
  }

  void add_timing(const Timing& timing) const {
    Json times = Json::object();
    for (const Metric& metric : kMetrics) {
      const std::vector<double>& values = timing.of(metric.name);
      if (!values.empty()) times[metric.name] = json_numbers(values);
    }
    if (!timing.eager.empty()) times["eager"] = json_numbers(timing.eager);
    times["iterations"] = timing.iterations;
    if (timing.others) times["others"] = json_number(*timing.others);
    json["times"] = std::move(times);
  }

  void operator()(const Skipped& skipped) const {
    json["outcome"] = "skipped";
    json["reason"] = skipped.reason;
  }

  void operator()(const Failure& failure) const {
    if (failure.kind == FailureKind::kUnsupported) return (*this)(Skipped{failure.message});
    json["outcome"] = "failed";
    json["failure"] = {{"kind", to_string(failure.kind)}, {"message", failure.message}};
  }
};

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

ResultsHeader make_results_header(Fingerprint fingerprint, std::vector<std::string> command) {
  ResultsHeader header;
  header.version = kProgramVersion;
  header.fingerprint = std::move(fingerprint);
  header.command = std::move(command);
  header.started = utc_now();
  return header;
}

Json to_json(const ResultsHeader& header) {
  Json json;
  json["schema"] = header.schema;
  json["program"] = "instr_bench";
  json["version"] = header.version;
  json["started"] = header.started;
  json["command"] = header.command;
  if (!header.commit.empty()) json["commit"] = header.commit;
  if (header.shard) json["shard"] = {header.shard->index, header.shard->count};
  json["fingerprint"] = to_json(header.fingerprint);
  return json;
}

Json to_json(const Measurement& measurement) {
  const Variant& variant = measurement.variant;
  Json json;
  json["key"] = variant.key;
  if (!variant.where.file.empty()) json["suite"] = suite_of(variant);
  json["label"] = variant.label;
  json["params"] = Json::object();
  for (const auto& [name, value] : variant.params) json["params"][name] = value;
  json["language"] = to_string(variant.language);
  json["backend"] = to_string(variant.backend);
  json["autograd"] = to_string(variant.autograd);
  json["threads"] = variant.threads;
  json["device"] = variant.device;
  std::visit(OutcomeWriter{json}, measurement.outcome);
  if (const auto& verification = measurement.verification) {
    json["verification"] = {{"code", to_string(verification->code)},
                            {"reason", verification->reason}};
  }
  json["seconds"] = json_number(measurement.seconds);
  // Used by comparisons with this file as the baseline.
  if (!variant.limits.empty()) json["limits"] = variant.limits;
  if (!variant.tags.empty()) json["tags"] = variant.tags;
  for (const auto& [name, value] : measurement.depends_on.entries) json["depends_on"][name] = value;
  return json;
}

Json json_number(double value) {
  constexpr double kMaxExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::trunc(value) && std::fabs(value) <= kMaxExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json json_numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (double value : values) json.push_back(json_number(value));
  return json;
}

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string end_line(std::size_t measurements, const std::vector<std::string>& strangers) {
  Json end{{"measurements", measurements}};
  if (!strangers.empty()) end["not_of_commit"] = strangers;
  return to_line({{"end", std::move(end)}});
}

namespace {

// Writes the profiles of results. The file is started with the first of them.
class ProfilesWriter {
 public:
  // `header`: the first line of the results.
  ProfilesWriter(fs::path path, const std::string& header)
      : path_(std::move(path)), start_(ProfilesFormatter::start(header)) {}

  Expected<void> append(const std::string& key, const Counted& counted) {
    const std::string text = formatter_.next(key, counted);
    return text.empty() ? Expected<void>() : write(text);
  }

  Expected<void> finish(bool is_complete) {
    if (formatter_.is_empty()) return {};
    TRY(write(is_complete ? formatter_.end() : ""));
    return file_->check();
  }

 private:
  // On an error, the text is kept for the next call.
  Expected<void> write(const std::string& text) {
    if (!file_) {
      start_ += text;
      TRY_ASSIGN(const auto member, gzip_member(start_));
      TRY_ASSIGN(auto fd, replace_file(path_, member));
      file_.emplace(std::move(fd), path_);
      return {};
    }
    if (text.empty()) return file_->append("");
    TRY_ASSIGN(const auto member, gzip_member(text));
    return file_->append(member);
  }

  fs::path path_;
  ProfilesFormatter formatter_;
  std::string start_;  // the text until the file is started
  std::optional<AppendFile> file_;
};

}  // namespace

struct ResultsWriter::State {
  std::mutex mutex;
  AppendFile results;
  std::optional<ProfilesWriter> profiles;  // nothing if the results are not a file
  std::size_t measurements = 0;

  Expected<void> append_profile(const Measurement& measurement);
};

ResultsWriter::ResultsWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ResultsWriter::ResultsWriter(ResultsWriter&&) noexcept = default;
ResultsWriter& ResultsWriter::operator=(ResultsWriter&&) noexcept = default;
ResultsWriter::~ResultsWriter() = default;

namespace {

constexpr FileKind kResultsKind{"results of instr_bench", [](std::string_view start) {
                                  auto header = parse_json(start.substr(0, start.find('\n')));
                                  return header && header->is_object() &&
                                         (*header)["program"] == "instr_bench" &&
                                         header->contains("schema");
                                }};
bool is_gzip(std::string_view start) { return start.starts_with("\x1f\x8b"); }
// Locks a file against other runs; an error if one of them writes to it.
Expected<Fd> lock(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  const bool is_taken = fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!is_taken) return fd;
  return fail(fmt::format("{}: another run writes to this file", file.string()),
              "wait until it has ended, or name another file with --output");
}

constexpr FileKind kProfilesKind{"profiles of instr_bench", is_gzip};

}  // namespace

Expected<ResultsTarget> ResultsTarget::open(const fs::path& file) {
  TRY_ASSIGN(auto target, OutputFile::open(file, kResultsKind));
  Fd held;
  if (target.is_regular()) {
    TRY(OutputFile::open(profiles_path(target.path()), kProfilesKind));
    TRY_ASSIGN(held, lock(target.path()));
  }
  return ResultsTarget(std::move(target), std::move(held));
}

namespace {

std::string line_of(const Measurement& measurement) {
  return sealed(to_line(to_json(measurement))) + "\n";
}

}  // namespace

Expected<ResultsWriter> ResultsWriter::create(ResultsTarget target, const ResultsHeader& header,
                                              const std::vector<Measurement>& first) {
  auto state = std::make_unique<State>();
  const fs::path& file = target.file_.path();
  const std::string first_line = sealed(to_line(to_json(header)));
  std::string text = first_line + "\n";
  for (const Measurement& measurement : first) text += line_of(measurement);
  state->measurements = first.size();
  if (!target.is_file()) {
    state->results = AppendFile(target.file_.take_stream(), file);
    TRY(state->results.append(text));
    return ResultsWriter(std::move(state));
  }
  TRY_ASSIGN(auto fd, replace_file(file, text));
  ::flock(fd.get(), LOCK_EX | LOCK_NB);
  state->results = AppendFile(std::move(fd), file);
  // The old profiles stay if the results cannot be replaced. After a kill before this line, their
  // header shows that they belong to other results.
  std::error_code ignored;
  fs::remove(profiles_path(file), ignored);
  state->profiles.emplace(profiles_path(file), first_line);
  for (const Measurement& measurement : first) TRY(state->append_profile(measurement));
  return ResultsWriter(std::move(state));
}

Expected<void> ResultsWriter::append(const Measurement& measurement) {
  const std::string line = line_of(measurement);
  std::lock_guard lock(state_->mutex);
  ++state_->measurements;
  // A failure to write one file does not stop the other.
  auto written = state_->results.append(line);
  auto beside = state_->append_profile(measurement);
  return written ? beside : written;
}

// To be called with the mutex held: names are numbered in their order in the file.
Expected<void> ResultsWriter::State::append_profile(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (!profiles || counted == nullptr) return {};
  return profiles->append(measurement.variant.key, *counted);
}

Expected<void> ResultsWriter::finish(bool is_complete, const std::vector<std::string>& strangers) {
  std::lock_guard lock(state_->mutex);
  std::size_t kept = state_->results.kept();
  TRY(state_->results.append("").map_error([kept](Error error) {
    error.what = fmt::format("{} measurements are not in the file: {}", kept, error.what);
    return error;
  }));
  if (state_->profiles) TRY(state_->profiles->finish(is_complete));
  if (is_complete) TRY(state_->results.append(end_line(state_->measurements, strangers) + "\n"));
  return state_->results.check();
}

namespace {

constexpr std::string_view kMember = ",\"check\":\"";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kSealLength = kMember.size() + kDigits + 2;

// The checksum of an object; `open` is its text without the closing brace.
std::string checksum(std::string_view open) {
  const auto add = [](uLong sum, std::string_view text) {
    return crc32(sum, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  };
  return fmt::format("{:0{}x}", add(add(0, open), "}"), kDigits);
}

}  // namespace

std::string sealed(std::string line) {
  line.pop_back();  // the brace
  const std::string check = checksum(line);
  return line.append(kMember).append(check).append("\"}");
}

bool is_sealed(std::string_view line) {
  if (line.size() <= kSealLength) return false;
  const std::string_view seal = line.substr(line.size() - kSealLength);
  return seal.starts_with(kMember) && seal.ends_with("\"}");
}

bool is_as_sealed(std::string_view line) {
  if (!is_sealed(line)) return true;
  const std::string_view seal = line.substr(line.size() - kSealLength);
  return seal.substr(kMember.size(), kDigits) ==
         checksum(line.substr(0, line.size() - kSealLength));
}

}  // namespace instr
