// The results file of experiments: a line each, written when the experiment ends, so that a killed
// run can be resumed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/append_file.h"
#include "core/base/error.h"
#include "core/experiments/experiment_record.h"
#include "core/results/functions_file.h"
#include "core/results/result_set.h"

namespace instr {

// Parses the whole lines of a file; the last one of each experiment counts. An error names the line
// that is not an experiment.
Expected<std::vector<ExperimentRecord>> parse_experiments(std::string_view text,
                                                          const std::string& name);

// Returns whether the text is that of a file with at least one experiment.
bool are_experiments(std::string_view text);

// Parses a file. An error if the run did not finish, unless that is allowed.
Expected<std::vector<ExperimentRecord>> whole_experiments(std::string_view text,
                                                          const std::string& name,
                                                          Incomplete incomplete);

// Results, and the experiments that they were made from, if any.
struct AnyResults {
  ResultSet set;
  std::vector<ExperimentRecord> experiments;
};

// Read a results file or a file of experiments, whose metrics may differ from run to run.
Expected<AnyResults> read_any_results(const fs::path& file, std::string name,
                                      Incomplete incomplete = Incomplete::kRefused);
Expected<ResultSet> read_any_result_set(const fs::path& file, std::string name,
                                        Incomplete incomplete = Incomplete::kRefused);

class ExperimentLog {
 public:
  // An error if the file cannot be written or holds something else; open() checks this, too.
  static Expected<void> check(const fs::path& file);

  // Returns what has changed since a record was measured; empty: nothing.
  using FindChange = std::function<std::string(const ExperimentRecord&)>;

  // Opens the file, which may already exist: a truncated last line is removed, and so are results
  // that are not final (is_final). Lines of other variants, and of results for which something has
  // changed, stay beside the new ones. Errors: a line that is not an experiment; another run that
  // has the file open.
  static Expected<ExperimentLog> open(const fs::path& path, const std::vector<Variant>& variants,
                                      const FindChange& find_change);

  // Appends the final and unchanged results of these variants that another file has and this file
  // lacks. Another run may be writing to that file. Errors as of open().
  Expected<void> take_in(const fs::path& part, const std::vector<Variant>& variants,
                         const FindChange& find_change);

  // The unchanged records of these variants, those that could not be written included.
  const std::vector<ExperimentRecord>& records() const { return records_; }
  // The changes since the others were measured, by key.
  const std::map<std::string, std::string>& changes() const { return changes_; }
  // The number of lines in the file.
  std::size_t lines() const { return lines_; }

  // Returns the variants that the file lacks, in the given order.
  std::vector<Variant> missing(const std::vector<Variant>& variants) const;

  // Writes a line, entirely or not at all; the next call writes a line that could not be written.
  Expected<void> append(ExperimentRecord record);
  // Writes the lines that could not be written before. An error if that fails again, or if another
  // program has changed the file.
  Expected<void> finish();
  // The number of results that are not in the file.
  std::size_t unwritten() const { return file_.kept(); }

 private:
  explicit ExperimentLog(AppendFile file) : file_(std::move(file)) {}

  void take(std::vector<ExperimentRecord> records, const std::set<std::string>& keys,
            const FindChange& find_change);

  AppendFile file_;
  std::vector<ExperimentRecord> records_;
  std::map<std::string, std::string> changes_;
  std::size_t lines_ = 0;
};

}  // namespace instr
