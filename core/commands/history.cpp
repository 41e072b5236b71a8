#include "core/commands/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/near_match.h"
#include "core/commands/commands.h"
#include "core/report/formats.h"

namespace instr {

namespace {

using WordOptions = std::array<std::string_view, 6>;
constexpr WordOptions kAdding{"commit",       "branch",  "vary",
                              "trust-commit", "replace", "allow-incomplete"};
constexpr WordOptions kListing{"branch", "filter", "exclude", "metrics", "format"};
constexpr WordOptions kSteps{"since", "branch", "filter", "exclude", "metrics", "format"};
constexpr WordOptions kIssue{"since", "branch", "filter", "exclude", "metrics", "accepted"};

// A subcommand of history.
struct HistoryWord {
  std::string_view name;
  std::string_view operands;  // "FILE...", "A..B" or empty
  const char* summary;
  WordOptions options;  // besides those of every word
  ExpectedStatus (*run)(const HistoryOptions& options);

  bool takes(std::size_t count) const {
    if (operands.empty()) return count == 0;
    return count == 1 || (count > 1 && operands.ends_with("..."));
  }
};

constexpr auto kWords = std::to_array<HistoryWord>({
    {"add", "FILE...", "record results of a commit", kAdding, history_add},
    {"list", "", "the series: how often measured, steps, the last value", kListing, history_list},
    {"show", "KEY...", "the series of benchmarks: their first value and each step",
     WordOptions{"branch", "metrics", "format"}, history_show},
    {"steps", "", "what changed, at which commit, in which functions", kSteps, history_steps},
    {"issue", "", "an issue, in Markdown, about what costs more unaccepted", kIssue, history_issue},
    {"export", "", "every value at every measured commit, for other programs", kListing,
     history_export},
    {"merge", "HISTORY...", "add the runs of other histories", WordOptions{"replace"},
     history_merge},
    {"prune", "", "remove what is older than --keep-since", WordOptions{"keep-since", "branch"},
     history_prune},
    {"backfill", "A..B", "measure and record the commits from A to B",
     WordOptions{"branch", "make", "bisect"}, history_backfill},
});

const HistoryWord* find_word(const std::string& name) {
  const auto* word =
      std::find_if(kWords.begin(), kWords.end(),
                   [&name](const HistoryWord& candidate) { return candidate.name == name; });
  return word == kWords.end() ? nullptr : word;
}

std::string list_of_words() {
  std::string text;
  for (const HistoryWord& word : kWords) {
    text +=
        fmt::format("  {:<17} {}\n", fmt::format("{} {}", word.name, word.operands), word.summary);
  }
  return text;
}

// "`history list`, `show` or `steps`"
std::string takers_of(const std::string& option) {
  std::vector<std::string> names;
  for (const HistoryWord& word : kWords) {
    if (std::find(word.options.begin(), word.options.end(), option) == word.options.end()) continue;
    names.push_back(fmt::format("`history {}`", word.name));
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

void declare_recording(CommandLine& line, HistoryOptions& options) {
  line.group("What is recorded");
  line.option("--commit", "REV",
              "the commit that was measured (default: what results say, or HEAD)",
              take_text(options.recording.commit));
  declare_vary(line, options.recording.vary);
  line.flag("--trust-commit",
            "results may seem older than their commit, or say that they are of another",
            options.recording.trust_commit);
  line.flag("--replace", "counts that the commit is recorded with may be replaced by others",
            options.recording.replace);
  declare_incomplete(line, options.incomplete, "results may be from a run that did not finish");
}

void declare_reading(CommandLine& line, HistoryOptions& options) {
  line.rest("OPTIONS...", options.rest);
  line.option("--make", "COMMAND", "how to build a commit, if a definition's [build] does not",
              take_text(options.make));
  line.flag("--bisect", "measure only what tells which commits made the steps", options.bisect);
  line.group("What to remove");
  line.option("--keep-since", "REV", "keep this commit and what comes later",
              take_text(options.keep_since));
  line.group("What to show");
  line.option("--since", "REV", "only steps after this commit", take_text(options.since));
  line.option("--filter", "PATTERN", "only benchmarks that match; repeatable",
              add_text(options.selection.filters));
  line.option("--exclude", "PATTERN", "not those that match; repeatable",
              add_text(options.selection.excludes));
  declare_accepted(line, options.accepted);
  declare_metrics(line, options.metrics);
  declare_format(line, options.format, document_formats());
}

// Refuses options that the given word does not take.
void restrict_options(CommandLine& line, const std::vector<std::string>& operands) {
  for (const OptionInfo& option : std::vector(line.options().begin(), line.options().end())) {
    if (takers_of(option.name).empty()) continue;
    line.needs(
        {option.name},
        [&operands, name = option.name] {
          const HistoryWord* word = operands.empty() ? nullptr : find_word(operands.front());
          return word == nullptr ||
                 std::find(word->options.begin(), word->options.end(), name) != word->options.end();
        },
        takers_of(option.name));
  }
}

Expected<void> check_word(const std::vector<std::string>& operands) {
  std::vector<std::string> names;
  for (const HistoryWord& word : kWords) names.emplace_back(word.name);
  if (operands.empty()) {
    return fail(fmt::format("`history` takes one of {}", fmt::join(names, ", ")),
                "see instr_bench history --help");
  }
  const HistoryWord* word = find_word(operands.front());
  if (word == nullptr) {
    return fail("`history` does not know `" + operands.front() + "`",
                did_you_mean(operands.front(), names));
  }
  if (word->takes(operands.size() - 1)) return {};
  return fail(fmt::format("`history {}` takes {}", word->name,
                          word->operands.empty() ? "no operands" : word->operands),
              "see instr_bench history --help");
}

}  // namespace

Action history_command(CommandLine& line) {
  struct State {
    std::vector<std::string> operands;
    HistoryOptions options;
  };
  auto state = std::make_shared<State>();
  HistoryOptions& options = state->options;
  line.describe(
      "Keeps what was measured of each commit, in an SQLite database. Exact counts are kept as "
      "steps: the commits at which they changed, with the functions; of times all are kept. Runs "
      "that were measured differently never join into one series. docs/HISTORY.md describes its "
      "tables.");
  line.operands({"WORD...", 0, kMaxOperands}, state->operands);
  line.section("Words", list_of_words());
  line.group("Which history");
  line.option("--history", "FILE", kHistoryHelp, take_path(options.recording.history));
  line.option("--branch", "NAME",
              "the branch that the commit is on (default: the one checked out), or whose series "
              "are shown (default: all)",
              take_text(options.recording.branch));
  declare_recording(line, options);
  declare_reading(line, options);
  restrict_options(line, state->operands);
  declare_showing(line, options.showing);
  line.check([state = state.get()]() -> Expected<void> {
    TRY(check_word(state->operands));
    const std::string& word = state->operands.front();
    if (!state->options.rest.empty() && word != "backfill" && word != "issue") {
      return fail(
          "options after -- are for the runs of `history backfill`, and for `history issue`",
          "omit them");
    }
    if (word != "prune" || state->options.keep_since) return {};
    return fail("`history prune` needs to know what to keep", "add --keep-since=REV");
  });
  return [state](const Invocation& invocation) {
    const HistoryWord* word = find_word(state->operands.front());
    HistoryOptions given = state->options;
    given.operands.assign(state->operands.begin() + 1, state->operands.end());
    given.stop = invocation.stop;
    return word->run(given);
  };
}

}  // namespace instr
