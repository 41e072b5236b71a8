#include "core/results/experiment_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/base/replace_file.h"
#include "core/results/results.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAdvice = "name another file with --output, or remove this one";

// The text up to the end of its last whole line.
std::string whole_lines(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  std::string all = text.str();
  all.resize(all.rfind('\n') + 1);
  return all;
}

struct Line {
  ExperimentRecord record;
  std::string text;  // with its end
};

using OnRecord = std::function<std::string(const ExperimentRecord&)>;

// Each line's record; `refuse` says why it cannot stand here (empty: it can).
Expected<std::vector<Line>> parse_lines(const std::string& text, const fs::path& file,
                                        const OnRecord& refuse) {
  std::vector<Line> records;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto record = parse_experiment(line);
    std::string wrong = record ? refuse(*record) : record.error().what;
    if (!wrong.empty()) {
      return fail(fmt::format("{}:{}: {}", file.string(), number, wrong), kAdvice);
    }
    records.push_back({*std::move(record), line + "\n"});
  }
  return records;
}

std::vector<ExperimentRecord> records_of(std::vector<Line> lines) {
  std::vector<ExperimentRecord> records;
  for (Line& line : lines) records.push_back(std::move(line.record));
  return records;
}

// The file open for appending, which no other run writes to meanwhile.
Expected<Fd> open_alone(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd) return tl::unexpected(write_error(file, errno));
  struct stat opened {};
  struct stat there {};
  bool is_taken = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // One that had it may have replaced it since it was opened.
  bool is_same = ::fstat(fd.get(), &opened) == 0 && ::stat(file.c_str(), &there) == 0 &&
                 opened.st_ino == there.st_ino;
  if (is_taken || !is_same) {
    return fail(fmt::format("{}: another run writes to this file", file.string()),
                "wait until it has ended, or name another file with --output");
  }
  return fd;
}

// Why a record cannot stand in the same file as those of now; empty: it can.
std::string mismatch(const ExperimentRecord& record, const std::set<std::string>& keys,
                     const ExperimentSetting& setting) {
  const ExperimentSetting& its = record.setting;
  if (!keys.contains(record.variant.key)) {
    return fmt::format("the file is of other experiments: `{}` is none of these", record.variant.key);
  }
  if (its.libtorch != setting.libtorch) {
    return fmt::format("this was measured with LibTorch {}, and now it is {}", its.libtorch,
                       setting.libtorch);
  }
  if (its.repeat != setting.repeat || its.iterations_per_run != setting.iterations_per_run) {
    return "this was measured with another number of runs or of iterations";
  }
  if (its.accelerator_model != setting.accelerator_model) {
    return fmt::format("this was measured on another machine ({})", its.accelerator_model);
  }
  return "";
}

}  // namespace

Expected<std::vector<ExperimentRecord>> read_experiments(const fs::path& file) {
  return parse_lines(whole_lines(file), file, [](const ExperimentRecord&) { return ""; })
      .map(records_of);
}

Expected<ExperimentLog> ExperimentLog::open(const fs::path& path,
                                            const std::vector<Variant>& variants,
                                            const ExperimentSetting& setting) {
  std::error_code ignored;
  const fs::path file = follow_links(path);
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) {
    return fail(fmt::format("{}: this is no file that experiments can be kept in", file.string()),
                "name a regular file with --output");
  }
  auto fd = open_alone(file);
  if (!fd) return tl::unexpected(fd.error());
  std::set<std::string> keys;
  for (const Variant& variant : variants) keys.insert(variant.key);
  const std::string text = whole_lines(file);
  auto lines = parse_lines(text, path, [&](const ExperimentRecord& record) {
    return mismatch(record, keys, setting);
  });
  if (!lines) return tl::unexpected(lines.error());
  std::erase_if(*lines, [](const Line& line) { return !is_final(line.record); });
  std::string kept;
  for (const Line& line : *lines) kept += line.text;
  if (kept != text) {
    fd = replace_file(file, kept);
    if (!fd) return tl::unexpected(fd.error());
    ::flock(fd->get(), LOCK_EX | LOCK_NB);
  } else if (ftruncate(fd->get(), static_cast<off_t>(text.size())) != 0) {
    return tl::unexpected(write_error(file, errno));
  }
  ExperimentLog log(AppendFile(*std::move(fd), path));
  log.records_ = records_of(*std::move(lines));
  return log;
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
  records_.push_back(std::move(record));
  return file_.append(line);
}

Expected<void> ExperimentLog::finish() { return file_.append(""); }

}  // namespace instr
