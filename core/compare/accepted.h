// Accepted changes: a file in the project with a line for each change that the gate lets pass. A
// line accepts one step from one count to another; once the base has the new count, it has no
// effect.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct Acceptance {
  std::string keys;  // a key; `*` is any text
  std::string metric;
  double before = 0;
  double after = 0;
  std::string commit;  // the commit that made the change; empty: not known
  std::string who;
  std::string why;

  bool operator==(const Acceptance&) const = default;
};

using Acceptances = std::vector<Acceptance>;

// `.instr_bench/accepted.csv` of the project.
std::filesystem::path default_accepted_file();

// Reads the file, and returns all its errors; nothing is accepted if there is no such file.
//   keys,metric,before,after,commit,who,why
//   matmul/*/eager/forward/t1/cpu,allocs,4,5,0123456789ab,Ada,the copy is needed (#12)
tl::expected<Acceptances, Errors> read_accepted(const std::filesystem::path& file);

// Returns the acceptance of this change of a metric, or null.
const Acceptance* find_accepted(const Acceptances& accepted, const std::string& key,
                                const std::string& metric, double before, double after);

// Adds lines that the file lacks, and removes lines that are obsolete, with the comments above
// them.
tl::expected<void, Errors> write_accepted(
    const std::filesystem::path& file, const Acceptances& added,
    const std::function<bool(const Acceptance&)>& is_obsolete);

// "accepted: the copy is needed (Ada)"
std::string to_string(const Acceptance& acceptance);

}  // namespace instr
