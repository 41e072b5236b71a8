#include "core/base/output.h"
#include "core/commands/history.h"
#include "core/history/growth.h"
#include "core/history/schema.h"

namespace instr {

ExitStatus history_issue(const HistoryOptions& options) {
  auto database = open_history(options.recording.file(), SqlAccess::kRead);
  if (!database) return refuse(database.error());
  auto accepted = read_accepted(options.accepted.value_or(usual_accepted()));
  if (!accepted) return refuse(accepted.error());
  auto since = options.place_since();
  if (!since) return refuse(since.error());
  auto steps = unaccepted_growth(*database, options.choice(), *since, *accepted);
  if (!steps) return refuse(steps.error());
  if (steps->empty()) {
    print_message("nothing costs more, or it was accepted\n");
    return kGood;
  }
  auto text = growth_issue(*database, *steps, options.rest);
  if (!text) return refuse(text.error());
  print_output(*text);
  return kRegression;
}

}  // namespace instr
