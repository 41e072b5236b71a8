// `instr_bench watch`: keeps the zygotes warm and counts changed definitions again each time a file
// is saved.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/engine/session.h"
#include "core/values/measurement.h"

namespace instr {

// The state of the definition files: a change of any of these is a save.
using FileStamps = std::map<std::filesystem::path, std::string>;

// All *.toml in these paths and beside the files among them, and the users' sources they name.
FileStamps stamp_files(const std::vector<std::filesystem::path>& paths,
                       const std::vector<Variant>& variants);

// "matmul/mm/...   1,234   was 1,200   +34 (+2.83%)": one line, with a newline.
std::string watch_line(const Measurement& now, const std::optional<double>& last_ir, bool color);

// The line for each measurement of a watch.
class WatchLines {
 public:
  // With its previous figure; empty if a failure or a skip is unchanged.
  std::string next(const Measurement& now, bool color);

 private:
  std::map<std::string, double> last_ir_;
  std::map<std::string, std::string> last_failure_;
};

// Loads and expands again; returns the selected variants.
using LoadVariants = std::function<tl::expected<std::vector<Variant>, Errors>()>;

// Runs until `stop`. Errors in the files go to `diagnose`, and it waits for the next save;
// measurements go to the session's on_done.
Expected<void> watch(const std::vector<std::filesystem::path>& paths, const LoadVariants& load,
                     Session& session, const std::function<void(const std::string&)>& diagnose,
                     std::stop_token stop);

}  // namespace instr
