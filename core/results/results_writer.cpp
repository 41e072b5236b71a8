#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/append_file.h"
#include "core/base/gzip.h"
#include "core/base/replace_file.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

struct ResultsWriter::State {
  std::mutex mutex;
  AppendFile results;
  std::optional<AppendFile> functions;
  FunctionLines lines;
};

ResultsWriter::ResultsWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ResultsWriter::ResultsWriter(ResultsWriter&&) noexcept = default;
ResultsWriter& ResultsWriter::operator=(ResultsWriter&&) noexcept = default;
ResultsWriter::~ResultsWriter() = default;

Expected<ResultsWriter> ResultsWriter::create(const fs::path& file, const ResultsHeader& header) {
  auto state = std::make_unique<State>();
  std::string first = to_line(to_json(header));
  std::string line = first + "\n";
  fs::path target = follow_links(file);
  std::error_code error;
  fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return tl::unexpected(write_error(file, EISDIR));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    Fd fd(open(target.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND));
    if (!fd) return tl::unexpected(write_error(file, errno));
    state->results = AppendFile(std::move(fd), file);
    if (auto written = state->results.append(line); !written) {
      return tl::unexpected(written.error());
    }
    return ResultsWriter(std::move(state));
  }
  // The old functions go first: a kill between the two leaves no results beside other functions.
  fs::remove(functions_path(target), error);
  auto results = replace_file(target, line);
  if (!results) return tl::unexpected(results.error());
  state->results = AppendFile(std::move(*results), target);
  auto functions =
      gzip_member(FunctionLines::start(first)).and_then([&target](const std::string& member) {
        return replace_file(functions_path(target), member);
      });
  if (!functions) return tl::unexpected(functions.error());
  state->functions = AppendFile(std::move(*functions), functions_path(target));
  return ResultsWriter(std::move(state));
}

Expected<void> ResultsWriter::append(const Measurement& measurement) {
  std::string line = to_line(to_json(measurement)) + "\n";
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  std::lock_guard lock(state_->mutex);
  auto written = state_->results.append(line);
  if (!state_->functions || counted == nullptr || counted->functions.empty()) return written;
  // With the mutex held: names are numbered in the order in which they are in the file.
  auto beside = gzip_member(state_->lines.next(measurement.variant.key, counted->functions))
                    .and_then([this](const std::string& member) {
                      return state_->functions->append(member);
                    });
  return written ? beside : written;
}

Expected<void> ResultsWriter::finish() {
  std::lock_guard lock(state_->mutex);
  std::size_t kept = state_->results.kept();
  if (auto written = state_->results.append(""); !written) {
    Error error = written.error();
    error.what = std::to_string(kept) + " measurements are not in the file: " + error.what;
    return tl::unexpected(error);
  }
  return state_->functions ? state_->functions->append("") : Expected<void>{};
}

}  // namespace instr
