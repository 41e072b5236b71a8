#include "core/experiments/experiment_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/base/replace_file.h"
#include "core/results/baselines.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr const char* kAdvice = "name another file with --output, or remove this one";

constexpr std::string_view kLineStart = "{\"model\":";

// The first line may be truncated anywhere.
constexpr FileKind kExperimentsKind{
    "results of experiments", [](std::string_view start) {
      return kLineStart.starts_with(start.substr(0, kLineStart.size()));
    }};

// Cuts off a truncated last line.
std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

struct Line {
  ExperimentRecord record;
  std::string text;  // with its end
};

Expected<std::vector<Line>> parse_lines(std::string_view text, const std::string& name) {
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto record = parse_experiment(text.substr(0, end));
    if (!record) return fail(fmt::format("{}:{}: {}", name, number, record.error().what), kAdvice);
    lines.push_back({*std::move(record), std::string(text.substr(0, end)) + "\n"});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<ExperimentRecord> take_records(std::vector<Line> lines) {
  std::vector<ExperimentRecord> records;
  for (Line& line : lines) records.push_back(std::move(line.record));
  return records;
}

// Opens the file for appending, locked against other runs.
Expected<Fd> open_alone(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd) return fail(write_error(file, errno));
  struct stat opened {};
  struct stat there {};
  bool is_taken = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // The previous holder may have replaced it since it was opened.
  bool is_same = ::fstat(fd.get(), &opened) == 0 && ::stat(file.c_str(), &there) == 0 &&
                 opened.st_ino == there.st_ino;
  if (is_taken || !is_same) {
    return fail(fmt::format("{}: another run writes to this file", file.string()),
                "wait until it has ended, or name another file with --output");
  }
  return fd;
}

// Returns the final lines.
Expected<std::vector<Line>> final_lines(std::string_view text, const std::string& name) {
  auto lines = parse_lines(text, name);
  if (lines) std::erase_if(*lines, [](const Line& line) { return !is_final(line.record); });
  return lines;
}

std::set<std::string> keys_of(const std::vector<Variant>& variants) {
  std::set<std::string> keys;
  for (const Variant& variant : variants) keys.insert(variant.key);
  return keys;
}

// Keeps the last record of each key.
std::vector<ExperimentRecord> take_latest(std::vector<ExperimentRecord> records) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) places[records[i].variant.key] = i;
  std::vector<ExperimentRecord> latest;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (places.at(records[i].variant.key) == i) latest.push_back(std::move(records[i]));
  }
  return latest;
}

}  // namespace

Expected<std::vector<ExperimentRecord>> parse_experiments(std::string_view text,
                                                          const std::string& name) {
  return parse_lines(whole_lines(text), name).map(take_records).map(take_latest);
}

bool are_experiments(std::string_view text) { return text.starts_with(kLineStart); }

Expected<std::vector<ExperimentRecord>> whole_experiments(std::string_view text,
                                                          const std::string& name,
                                                          Incomplete incomplete) {
  TRY_ASSIGN(auto records, parse_lines(whole_lines(text), name).map(take_records));
  if (records.empty()) return fail_at({name}, "there are no experiments");
  const std::size_t lines = records.size();
  const std::size_t experiments = records.back().experiments;
  if (lines >= experiments || incomplete == Incomplete::kAllowed) {
    return take_latest(std::move(records));
  }
  return fail_at({name},
                 fmt::format("these results are incomplete: {} of {}", lines,
                             format_plural(experiments, "experiment")),
                 "run the same `instr_bench experiment` again, which goes on, or add "
                 "--allow-incomplete");
}

Expected<void> ExperimentLog::check(const fs::path& file) {
  TRY_ASSIGN(auto output, OutputFile::open(file, kExperimentsKind));
  if (output.is_regular()) return {};
  return fail(fmt::format("{}: experiments cannot be kept in a pipe or terminal", file.string()),
              "name a file with --output");
}

Expected<ExperimentLog> ExperimentLog::open(const fs::path& path,
                                            const std::vector<Variant>& variants,
                                            const FindChange& find_change) {
  TRY(check(path));
  const fs::path file = follow_links(path);
  TRY_ASSIGN(auto fd, open_alone(file));
  TRY_ASSIGN(auto all, read_file(file, kMaxResultsBytes));
  const std::string_view text = whole_lines(all);
  TRY_ASSIGN(auto lines, final_lines(text, path.string()));
  std::string kept;
  for (const Line& line : lines) kept += line.text;
  if (kept != text) {
    TRY_ASSIGN(fd, replace_file(file, kept));
    ::flock(fd.get(), LOCK_EX | LOCK_NB);
  } else if (ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0) {
    return fail(write_error(file, errno));
  }
  ExperimentLog log(AppendFile(std::move(fd), path));
  log.lines_ = lines.size();
  log.take(take_records(std::move(lines)), keys_of(variants), find_change);
  return log;
}

void ExperimentLog::take(std::vector<ExperimentRecord> records, const std::set<std::string>& keys,
                         const FindChange& find_change) {
  for (ExperimentRecord& record : take_latest(std::move(records))) {
    const std::string& key = record.variant.key;
    if (!keys.contains(key)) continue;
    if (std::string change = find_change(record); !change.empty()) {
      changes_[key] = std::move(change);
    } else {
      records_.push_back(std::move(record));
    }
  }
}

Expected<void> ExperimentLog::take_in(const fs::path& part, const std::vector<Variant>& variants,
                                      const FindChange& find_change) {
  TRY_ASSIGN(auto all, read_file(part, kMaxResultsBytes));
  TRY_ASSIGN(auto lines, final_lines(whole_lines(all), part.string()));
  std::map<std::string, std::string> texts;  // the last line of each key
  for (const Line& line : lines) texts[line.record.variant.key] = line.text;
  const std::size_t before = records_.size();
  take(take_records(std::move(lines)), keys_of(missing(variants)), find_change);
  for (std::size_t i = before; i < records_.size(); ++i) {
    const std::string& key = records_[i].variant.key;
    changes_.erase(key);
    ++lines_;
    TRY(file_.append(texts.at(key)));
  }
  return {};
}

std::vector<Variant> ExperimentLog::missing(const std::vector<Variant>& variants) const {
  std::set<std::string> done;
  for (const ExperimentRecord& record : records_) done.insert(record.variant.key);
  std::vector<Variant> rest;
  for (const Variant& variant : variants) {
    if (!done.contains(variant.key)) rest.push_back(variant);
  }
  return rest;
}

Expected<void> ExperimentLog::append(ExperimentRecord record) {
  const std::string line = to_line(to_json(record)) + "\n";
  changes_.erase(record.variant.key);
  records_.push_back(std::move(record));
  ++lines_;
  return file_.append(line);
}

Expected<void> ExperimentLog::finish() {
  TRY(file_.append(""));
  return file_.check();
}

namespace {

// `experiments` is not empty.
ResultSet make_result_set(std::string name, const std::vector<ExperimentRecord>& experiments) {
  ResultSet set{std::move(name), {}, {}};
  const ExperimentRecord& first = experiments.front();
  set.results.header.started = first.timestamp;
  std::map<std::string, std::string> models;  // by their field of the fingerprint
  for (const ExperimentRecord& record : experiments) {
    models.emplace(is_on_cuda(record.variant) ? kTimedGpu : "timed_cpu_model",
                   record.setting.device_model);
  }
  set.results.header.fingerprint.entries = {{"libtorch_version", first.setting.libtorch}};
  std::ranges::copy(models, std::back_inserter(set.results.header.fingerprint.entries));
  for (const ExperimentRecord& record : experiments) {
    set.results.measurements.push_back(measurement_of(record));
    auto* counted = std::get_if<Counted>(&set.results.measurements.back().outcome);
    if (counted != nullptr) counted->gated = false;
  }
  return set;
}

}  // namespace

Expected<AnyResults> read_any_results(const fs::path& file, std::string name,
                                      Incomplete incomplete) {
  const auto held = hold_baselines(file);
  TRY_ASSIGN(const auto bytes, read_file(file, kMaxResultsBytes, ReadFrom::kFilesAndPipes));
  if (!are_experiments(bytes)) {
    return parse_result_set(bytes, file, std::move(name), incomplete).map([](ResultSet set) {
      return AnyResults{std::move(set), {}};
    });
  }
  TRY_ASSIGN(auto experiments, whole_experiments(bytes, name, incomplete));
  ResultSet set = make_result_set(std::move(name), experiments);
  return AnyResults{std::move(set), std::move(experiments)};
}

Expected<ResultSet> read_any_result_set(const fs::path& file, std::string name,
                                        Incomplete incomplete) {
  TRY_ASSIGN(auto results, read_any_results(file, std::move(name), incomplete));
  return std::move(results.set);
}

}  // namespace instr
