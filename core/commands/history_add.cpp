#include "core/base/output.h"
#include "core/commands/history.h"
#include "core/engine/gate.h"

namespace instr {

ExitStatus history_add(const HistoryOptions& options) {
  auto recording = Recording::open(options.recording);
  if (!recording) return refuse(recording.error());
  std::vector<ResultSet> results;
  for (const std::string& file : options.operands) {
    auto set = read_result_set(file, file, options.incomplete);
    if (!set) return refuse(set.error());
    results.push_back(std::move(*set));
  }
  auto added = recording->add(results);
  if (!added) return refuse(added.error());
  print_message(*added);
  return kGood;
}

}  // namespace instr
