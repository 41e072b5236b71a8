// Changes that someone has accepted: a file in the project with a line for each, which the gate
// lets pass. It is of one step, from one count to another: once the base has it, nothing is
// accepted.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct Acceptance {
  std::string keys;  // a key; `*` is any text
  std::string metric;
  double before = 0;
  double after = 0;
  std::string commit;  // that made it, as far as known
  std::string who;
  std::string why;

  bool operator==(const Acceptance&) const = default;
};

using Acceptances = std::vector<Acceptance>;

// `.instr_bench/accepted.csv` of the project.
std::filesystem::path default_accepted_file();

// keys,metric,before,after,commit,who,why
// matmul/*/eager/forward/t1/cpu,allocs,4,5,0123456789ab,Ada,the copy is needed (#12)
// All errors of the file. None are accepted if there is no such file.
tl::expected<Acceptances, Errors> read_accepted(const std::filesystem::path& file);

// The one that holds for this change of a metric; null if there is none.
const Acceptance* find_accepted(const Acceptances& accepted, const std::string& key,
                                const std::string& metric, double before, double after);

// Adds lines. Those that are there already are not added again, and those that `is_obsolete` are
// removed, with the comments above them.
tl::expected<void, Errors> write_accepted(
    const std::filesystem::path& file, const Acceptances& added,
    const std::function<bool(const Acceptance&)>& is_obsolete);

// "accepted: the copy is needed (Ada)"
std::string to_string(const Acceptance& acceptance);

}  // namespace instr
