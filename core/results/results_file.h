// Results files: JSON Lines with a header line, a line for each measurement, written as soon as it
// ends, so that a killed run loses no finished measurement, and an end line, so that a truncated
// file does not pass for a complete one. Functions are in a file beside it
// (core/results/profiles_file.h).
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
#include "core/results/measurement.h"

namespace simdjson::dom {
class element;
}

namespace instr {

inline constexpr int kResultsSchema = 3;

// How to treat the files of an unfinished run.
enum class Incomplete { kRefused, kAllowed };

struct ResultsHeader {
  int schema = kResultsSchema;
  std::string version;  // the version of the program that wrote it
  Fingerprint fingerprint;
  std::vector<std::string> command;  // argv
  std::string started;               // UTC, "2024-05-01T12:00:00Z"
  std::string commit;                // the measured commit; empty: not known
  std::optional<Shard> shard;        // the part of the run in this file
  // Files that were measured and are not of the commit, and why not. Known at the end: in that
  // line.
  std::vector<std::string> strangers = {};
};

// Makes the header of a run that starts now.
ResultsHeader make_results_header(Fingerprint fingerprint, std::vector<std::string> command);

nlohmann::ordered_json to_json(const ResultsHeader& header);
nlohmann::ordered_json to_json(const Measurement& measurement);

// Whole numbers up to 2^53 have no decimal point; numbers that are not finite become null.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json json_numbers(const std::vector<double>& values);

// The time, as "2026-01-02T03:04:05Z".
std::string utc_now();

// Formats a line of a results file, without its newline. Bytes that are not UTF-8 become U+FFFD.
std::string to_line(const nlohmann::ordered_json& json);

// The last line, without its newline, of a complete file of results or profiles. `strangers`: as in
// ResultsHeader.
std::string end_line(std::size_t measurements, const std::vector<std::string>& strangers = {});

// Reads the number of measurements from such a line; nothing for any other `line`.
std::optional<std::size_t> parse_end_line(simdjson::dom::element line);

// The destination of results. It is checked before anything is measured: it must be writable, and
// an existing file must hold results, and not be written by another run.
class ResultsTarget {
 public:
  static Expected<ResultsTarget> open(const fs::path& file);

  // True unless it is a pipe or terminal: a file can be read back, and has profiles beside it.
  bool is_file() const { return file_.is_regular(); }

 private:
  friend class ResultsWriter;
  ResultsTarget(OutputFile file, Fd lock) : file_(std::move(file)), lock_(std::move(lock)) {}
  OutputFile file_;
  Fd lock_;  // the file so far, if any
};

// Writes a results file. The member functions may be called from any thread.
class ResultsWriter {
 public:
  // Starts the file with the header and the first measurements. An existing file is replaced in one
  // step.
  static Expected<ResultsWriter> create(ResultsTarget target, const ResultsHeader& header,
                                        const std::vector<Measurement>& first = {});

  ResultsWriter(ResultsWriter&&) noexcept;
  ResultsWriter& operator=(ResultsWriter&&) noexcept;
  ~ResultsWriter();

  // Appends a line. On an error (a full disk) unwritten lines are kept for the next call.
  Expected<void> append(const Measurement& measurement);

  // Writes the kept lines and, if the results are complete, the end line; to be called last.
  // `strangers`: as in the header. The error has the number of measurements that are not in the
  // file, or says that another program has changed a file since it was created.
  Expected<void> finish(bool is_complete, const std::vector<std::string>& strangers = {});

 private:
  struct State;
  explicit ResultsWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Results {
  ResultsHeader header;
  std::vector<Measurement> measurements;  // all lines, without their profiles
  bool is_complete = true;       // false: the run did not finish; a truncated line is left out
  std::string header_line = {};  // the first line of the file
};

// Reads a results file. Unknown fields are ignored; another schema is an error. Errors have the
// malformed line as their place.
Expected<Results> read_results(const fs::path& file, Incomplete incomplete = Incomplete::kRefused);

// Parses the bytes of a results file; `name` is for messages.
Expected<Results> parse_results(std::string_view bytes, const std::string& name,
                                Incomplete incomplete);

// The checksum at the end of each line of a results file detects values that a disk, a transfer or
// an editor has changed.

// Adds the checksum (CRC-32) of a line's JSON object as its last member.
std::string sealed(std::string line);

// Returns true if the line ends with a checksum.
bool is_sealed(std::string_view line);

// False if the line has a checksum that does not match.
bool is_as_sealed(std::string_view line);

}  // namespace instr
