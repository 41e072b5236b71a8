#include "core/history/recording.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/history/run_of_results.h"
#include "core/history/schema.h"

namespace instr {

std::filesystem::path RecordingOptions::file() const { return history.value_or(usual_history()); }

Expected<std::string> RecordingOptions::branch_in(const Repository& repository) const {
  return branch ? Expected<std::string>(*branch) : repository.branch();
}

OnContradiction RecordingOptions::on_contradiction() const {
  return replace ? OnContradiction::kReplace : OnContradiction::kRefuse;
}

Expected<Recording> Recording::open(const RecordingOptions& options) {
  const Repository repository;
  auto commit = repository.find(options.commit);
  if (!commit) return tl::unexpected(commit.error());
  auto branch = options.branch_in(repository);
  if (!branch) return tl::unexpected(branch.error());
  auto checked = repository.check_is_on(*branch, *commit);
  if (!checked) return tl::unexpected(checked.error());
  return open_history(options.file(), SqlAccess::kCreate).map([&](SqlDatabase&& database) {
    return Recording(options, std::move(*commit), std::move(*branch), std::move(database));
  });
}

Expected<std::string> Recording::add(std::vector<HistoryRun> runs) const {
  auto vary = vary_of(database_, options_.vary);
  if (!vary) return tl::unexpected(vary.error());
  return record(database_, std::move(runs), options_.on_contradiction(), *vary)
      .map([this](const Recorded& recorded) {
        return fmt::format("{}: commit {} on {}: {}\n", database_.file().string(),
                           short_hash(commit_.hash), printable(branch_), to_string(recorded));
      });
}

Expected<std::string> Recording::add(const std::vector<ResultSet>& results) const {
  auto vary = vary_of(database_, options_.vary);
  if (!vary) return tl::unexpected(vary.error());
  std::vector<HistoryRun> runs;
  for (const ResultSet& one : results) {
    auto run = run_of(one, commit_, branch_, *vary, options_.trust_commit);
    if (!run) return tl::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  return add(std::move(runs));
}

}  // namespace instr
