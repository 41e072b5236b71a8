#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/gzip.h"
#include "core/process.h"
#include "core/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr mode_t kMode = 0666;  // less the umask

Error write_error(const fs::path& file, int number) {
  std::string advice;
  if (number == ENOSPC || number == EDQUOT) advice = "free some space, or name another --output";
  if (number == EACCES || number == EROFS || number == ENOENT || number == EISDIR) {
    advice = "name a file in a folder that exists and that you may write to";
  }
  return {{file.string()}, "cannot write: " + std::string(std::strerror(number)), advice};
}

// An append-only file of whole pieces.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(Fd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {
    struct stat status {};
    is_regular_ = fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode);
  }

  bool is_regular() const { return is_regular_; }
  std::size_t kept() const { return kept_count_; }

  // Writes what was kept and then `piece`; what is not written is kept for the next call.
  Expected<void> append(const std::string& piece) {
    kept_ += piece;
    if (!piece.empty()) ++kept_count_;
    off_t start = is_regular_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
    std::size_t written = 0;
    while (written < kept_.size()) {
      ssize_t count = write(fd_.get(), kept_.data() + written, kept_.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return withdraw(start, written, count < 0 ? errno : EIO);
      written += static_cast<std::size_t>(count);
    }
    kept_.clear();
    kept_count_ = 0;
    return {};
  }

 private:
  // Takes a piece written in part back out, so that what the file holds stays whole lines.
  Expected<void> withdraw(off_t start, std::size_t written, int number) {
    bool taken_back = start >= 0 && ftruncate(fd_.get(), start) == 0;
    if (!taken_back) kept_.erase(0, written);
    return tl::unexpected(write_error(path_, number));
  }

  Fd fd_;
  fs::path path_;
  bool is_regular_ = false;
  std::string kept_;
  std::size_t kept_count_ = 0;
};

Fd open_file(const fs::path& path, int flags) {
  return Fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, kMode));
}

// Writes `text` to a new file beside `path` and renames it over `path`, so that at each moment there
// is either the old file or the new one.
Expected<AppendFile> replace_file(const fs::path& path, const std::string& text) {
  fs::path temporary = path;
  temporary += ".new" + std::to_string(getpid());
  Fd fd = open_file(temporary, O_CREAT | O_EXCL | O_APPEND);
  // A file that one may write in a folder that one may not: emptied and written in place.
  if (!fd && (errno == EACCES || errno == EROFS)) {
    fd = open_file(path, O_TRUNC | O_APPEND);
    temporary.clear();
  }
  if (!fd) return tl::unexpected(write_error(path, errno));
  AppendFile file(std::move(fd), path);
  auto written = file.append(text);
  std::error_code error;
  if (written && !temporary.empty()) fs::rename(temporary, path, error);
  if (!written || error) {
    std::error_code ignored;
    if (!temporary.empty()) fs::remove(temporary, ignored);
    if (!written) return tl::unexpected(written.error());
    return tl::unexpected(write_error(path, error.value()));
  }
  return file;
}

// The file that a symbolic link leads to, so that the link stays one.
fs::path follow_links(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

}  // namespace

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
    Fd fd = open_file(target, O_APPEND);
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
  state->results = std::move(*results);
  auto functions = gzip_member(FunctionLines::start(first)).and_then([&target](const std::string& member) {
    return replace_file(functions_path(target), member);
  });
  if (!functions) return tl::unexpected(functions.error());
  state->functions = std::move(*functions);
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
