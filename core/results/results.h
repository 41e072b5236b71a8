// Results files: JSON Lines, one header line, then one line for each measurement, written as each
// ends, so that a kill loses nothing that was finished. The functions are in a file beside it
// (core/results/functions_file.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/select.h"
#include "core/results/fingerprint.h"
#include "core/results/functions_file.h"
#include "core/values/measurement.h"

namespace instr {

inline constexpr int kResultsSchema = 1;

struct ResultsHeader {
  int schema = kResultsSchema;
  std::string version;               // of the program that wrote it
  Fingerprint fingerprint;
  std::vector<std::string> command;  // argv
  std::string started;               // UTC, "2024-05-01T12:00:00Z"
  std::optional<Shard> shard;        // of which this is the part
};

// A header of this program, started now.
ResultsHeader make_results_header(Fingerprint fingerprint, std::vector<std::string> command);

nlohmann::ordered_json to_json(const ResultsHeader& header);
nlohmann::ordered_json to_json(const Measurement& measurement);

// A whole number without a decimal point, up to 2^53; null where not finite, as JSON has nothing
// else.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json json_numbers(const std::vector<double>& values);

// "2026-01-02T03:04:05Z"
std::string utc_now();

// One line of a results file, without its newline. Text that is not UTF-8 is replaced by U+FFFD.
std::string to_line(const nlohmann::ordered_json& json);

// Writes a results file. Its functions may be called from any thread.
class ResultsWriter {
 public:
  // Starts `file` with the header: an existing one is replaced in one step, and its functions go.
  // What is not a regular file (/dev/stdout, a pipe) is written to, and has no functions beside it.
  static Expected<ResultsWriter> create(const std::filesystem::path& file,
                                        const ResultsHeader& header);

  ResultsWriter(ResultsWriter&&) noexcept;
  ResultsWriter& operator=(ResultsWriter&&) noexcept;
  ~ResultsWriter();

  // Appends whole lines. On an error (a full disk) what could not be written is kept, and the next
  // call writes it first.
  Expected<void> append(const Measurement& measurement);

  // Writes what is still kept; an error says how many measurements are not in the file.
  Expected<void> finish();

 private:
  struct State;
  explicit ResultsWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Results {
  ResultsHeader header;
  std::vector<Measurement> measurements;  // identity and outcome; `functions` are empty
  bool torn = false;                      // the last line was incomplete and was left out
};

// Reads a results file. Unknown fields are ignored; an error names the line that cannot be read; a
// newer schema is refused.
Expected<Results> read_results(const std::filesystem::path& file);

// The same on the file's bytes; `name` is for messages.
Expected<Results> parse_results(std::string_view bytes, const std::string& name);

}  // namespace instr
