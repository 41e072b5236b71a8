#include "core/history/steps_table.h"

#include <algorithm>

namespace instr {

StepsTable::StepsTable(const SqlDatabase& database)
    : read_(database.prepare("SELECT commit_id, value FROM steps WHERE series_id = ?")),
      put_(database.prepare("INSERT INTO steps (series_id, commit_id, value)"
                            " VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = ?3")),
      remove_(database.prepare("DELETE FROM steps WHERE series_id = ? AND commit_id = ?")),
      profiles_(database) {}

Steps StepsTable::read(std::int64_t series, const Timeline& timeline) {
  Steps steps;
  read_.start(series);
  while (read_.step()) {
    const auto commit = read_.integer(0);
    if (timeline.has(commit)) steps.push_back({timeline.place_of(commit), read_.real(1)});
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& left, const Step& right) { return left.place < right.place; });
  return steps;
}

// What holds from a new step on is copied before what it is copied from may go.
void StepsTable::write(std::int64_t series, const Timeline& timeline, const Steps& before,
                       const Steps& after) {
  for (const Step& step : after) {
    if (std::find(before.begin(), before.end(), step) != before.end()) continue;
    const auto commit = timeline.commit_at(step.place);
    put_.run(series, commit, step.value);
    const auto held = step_at(before, step.place);
    if (held && held->place != step.place) {
      profiles_.copy(series, timeline.commit_at(held->place), commit);
    }
  }
  for (const Step& step : before) {
    const auto kept = step_at(after, step.place);
    if (!kept || kept->place != step.place) remove_.run(series, timeline.commit_at(step.place));
  }
}

}  // namespace instr
