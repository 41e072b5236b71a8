// Results files: JSON Lines, one header line, then one line for each measurement, written as each
// ends, so that a kill loses nothing finished; and an end line once all are there, so that a
// truncated file does not pass for a complete one. The functions are in a file beside it
// (core/results/functions_file.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/definitions/select.h"
#include "core/results/fingerprint.h"
#include "core/results/functions_file.h"
#include "core/results/measurement.h"

namespace instr {

inline constexpr int kResultsSchema = 3;

struct ResultsHeader {
  int schema = kResultsSchema;
  std::string version;  // of the program that wrote it
  Fingerprint fingerprint;
  std::vector<std::string> command;  // argv
  std::string started;               // UTC, "2024-05-01T12:00:00Z"
  std::string commit;                // that was measured; empty: it is not known
  std::optional<Shard> shard;        // this file's part
};

// This program's header, for a run starting now.
ResultsHeader make_results_header(Fingerprint fingerprint, std::vector<std::string> command);

nlohmann::ordered_json to_json(const ResultsHeader& header);
nlohmann::ordered_json to_json(const Measurement& measurement);

// A whole number without a decimal point, up to 2^53; null if not finite, as JSON has nothing
// else.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json json_numbers(const std::vector<double>& values);

// "2026-01-02T03:04:05Z"
std::string utc_now();

// One line of a results file, without its newline. Text that is not UTF-8 is replaced by U+FFFD.
std::string to_line(const nlohmann::ordered_json& json);

// The destination of results: checked, before anything is measured, to be writable and to hold
// nothing but results.
class ResultsTarget {
 public:
  static Expected<ResultsTarget> open(const std::filesystem::path& file);

  // Not a pipe or terminal: then the functions are kept beside it, and it can be read back.
  bool is_file() const { return file_.is_regular(); }

 private:
  friend class ResultsWriter;
  explicit ResultsTarget(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
};

// Writes a results file. Its functions may be called from any thread.
class ResultsWriter {
 public:
  // Starts the file with the header: an existing one is replaced in one step, with its functions.
  static Expected<ResultsWriter> create(ResultsTarget target, const ResultsHeader& header);

  ResultsWriter(ResultsWriter&&) noexcept;
  ResultsWriter& operator=(ResultsWriter&&) noexcept;
  ~ResultsWriter();

  // Appends whole lines. On an error (a full disk) unwritten lines are kept, and the next call
  // writes them first.
  Expected<void> append(const Measurement& measurement);

  // To be called last: writes the lines still kept and, if the results are complete, the end line.
  // An error says how many measurements are not in the file.
  Expected<void> finish(bool is_complete);

 private:
  struct State;
  explicit ResultsWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Results {
  ResultsHeader header;
  std::vector<Measurement> measurements;  // identity and outcome; `functions` are empty
  bool is_complete =
      true;  // else the run that wrote them did not finish; a truncated line is left out
  std::string header_line = {};  // as it is in the file
};

// Reads a results file. Unknown fields are ignored; an error names the malformed line; another
// schema is refused.
Expected<Results> read_results(const std::filesystem::path& file,
                               Incomplete incomplete = Incomplete::kRefused);

// The same on the file's bytes; `name` is for messages.
Expected<Results> parse_results(std::string_view bytes, const std::string& name,
                                Incomplete incomplete);

}  // namespace instr
