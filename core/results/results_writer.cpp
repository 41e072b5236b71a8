#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/append_file.h"
#include "core/base/gzip.h"
#include "core/base/json_line.h"
#include "core/base/output_file.h"
#include "core/base/replace_file.h"
#include "core/results/end_line.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

struct ResultsWriter::State {
  std::mutex mutex;
  AppendFile results;
  std::optional<AppendFile> functions;
  FunctionLines lines;
  std::size_t measurements = 0;
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
constexpr FileKind kFunctionsKind{"functions of instr_bench", [](std::string_view start) {
                                    return start.starts_with("\x1f\x8b");
                                  }};

}  // namespace

Expected<ResultsTarget> ResultsTarget::open(const fs::path& file) {
  auto target = OutputFile::open(file, kResultsKind);
  if (!target) return tl::unexpected(target.error());
  if (target->is_regular()) {
    auto beside = OutputFile::open(functions_path(target->path()), kFunctionsKind);
    if (!beside) return tl::unexpected(beside.error());
  }
  return ResultsTarget(std::move(*target));
}

Expected<ResultsWriter> ResultsWriter::create(ResultsTarget target, const ResultsHeader& header) {
  auto state = std::make_unique<State>();
  const fs::path& file = target.file_.path();
  const std::string first = to_line(to_json(header));
  if (!target.is_file()) {
    state->results = AppendFile(target.file_.take_stream(), file);
    return state->results.append(first + "\n").map([&state] {
      return ResultsWriter(std::move(state));
    });
  }
  // Both are written before either is put in its place: on a full disk the old ones stay. The
  // functions first: after a kill between the two, the functions show that they do not belong to
  // the results.
  auto member = gzip_member(FunctionLines::start(first));
  if (!member) return tl::unexpected(member.error());
  auto functions = Replacement::write(functions_path(file), *member);
  if (!functions) return tl::unexpected(functions.error());
  auto results = Replacement::write(file, first + "\n");
  if (!results) return tl::unexpected(results.error());
  auto functions_fd = functions->put();
  if (!functions_fd) return tl::unexpected(functions_fd.error());
  auto results_fd = results->put();
  if (!results_fd) return tl::unexpected(results_fd.error());
  state->functions = AppendFile(std::move(*functions_fd), functions_path(file));
  state->results = AppendFile(std::move(*results_fd), file);
  return ResultsWriter(std::move(state));
}

Expected<void> ResultsWriter::append(const Measurement& measurement) {
  std::string line = to_line(to_json(measurement)) + "\n";
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  std::lock_guard lock(state_->mutex);
  ++state_->measurements;
  auto written = state_->results.append(line);
  if (!state_->functions || counted == nullptr || counted->functions.empty()) return written;
  // With the mutex held: names are numbered in the order in which they are in the file.
  auto beside = gzip_member(state_->lines.next(measurement.variant.key, counted->functions))
                    .and_then([this](const std::string& member) {
                      return state_->functions->append(member);
                    });
  return written ? beside : written;
}

Expected<void> ResultsWriter::finish(bool is_complete) {
  std::lock_guard lock(state_->mutex);
  std::size_t kept = state_->results.kept();
  if (auto written = state_->results.append(""); !written) {
    Error error = written.error();
    error.what = std::to_string(kept) + " measurements are not in the file: " + error.what;
    return tl::unexpected(error);
  }
  if (state_->functions) {
    auto end = is_complete ? gzip_member(state_->lines.end()) : Expected<std::string>("");
    auto written = end.and_then(
        [this](const std::string& member) { return state_->functions->append(member); });
    if (!written) return written;
  }
  if (!is_complete) return {};
  return state_->results.append(end_line(state_->measurements) + "\n");
}

}  // namespace instr
