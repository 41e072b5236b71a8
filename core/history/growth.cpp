#include "core/history/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/format.h"
#include "core/base/shell.h"
#include "core/compare/compare.h"
#include "core/compare/compare_report.h"
#include "core/compare/compare_text.h"
#include "core/history/history_report.h"
#include "core/history/read.h"
#include "core/history/step_functions.h"

namespace instr {

namespace {

constexpr std::size_t kMostFunctions = 10;       // steps at a commit whose functions are listed
constexpr std::size_t kMaxSubjectColumns = 100;  // columns
constexpr std::size_t kMostNamed = 5;            // benchmarks in a command

using RecordedSteps = std::vector<RecordedStep>;

// "+12.3% instructions in `a/eager/forward/t1/cpu`"
std::string change_text(const RecordedStep& step) {
  return fmt::format("{} {} in {}",
                     *step.before == 0 ? format_change(step.after)
                                       : format_relative(step.after / *step.before - 1),
                     heading_of(step.series.metric), printable(step.series.key));
}

std::vector<std::string> keys_of(const RecordedSteps& steps) {
  std::vector<std::string> keys;
  for (const RecordedStep& step : steps) {
    if (std::find(keys.begin(), keys.end(), step.series.key) == keys.end()) {
      keys.push_back(step.series.key);
    }
  }
  return keys;
}

std::string title_of(const RecordedSteps& steps, const std::vector<RecordedSteps>& by_commit) {
  const auto weight = [](const RecordedStep& step) {
    return std::pair(step.series.metric == kInstructions, step.after / *step.before);
  };
  const auto most = std::max_element(
      steps.begin(), steps.end(), [&weight](const RecordedStep& left, const RecordedStep& right) {
        return weight(left) < weight(right);
      });
  const std::size_t others = keys_of(steps).size() - 1;
  const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
  const Commit& commit = by_commit.front().front().commit;
  const std::string rest = by_commit.size() == 1
                               ? " (" + printable(commit.subject) + ")"
                               : " and " + format_plural(by_commit.size() - 1, "other commit");
  return change_text(*most) + more + ", since " + short_hash(commit.hash) + rest;
}

std::string table_of(const SqlDatabase& database, const RecordedSteps& steps) {
  auto listing = steps_listing(database, steps, {.with_functions = false});
  if (!listing) throw SqlError{listing.error()};
  // What the heading says.
  for (ListingColumn& column : listing->columns) {
    const std::string_view name = column.name;
    if (name == "commit" || name == "date" || name == "subject") column.heading = nullptr;
  }
  return listing_text(*listing, ReportFormat::kMarkdown, 0, false);
}

std::string functions_of(const SqlDatabase& database, const RecordedSteps& steps) {
  StepFunctions functions(database);
  std::string text;
  std::size_t listed = 0;
  for (const RecordedStep& step : steps) {
    if (listed == kMostFunctions) break;
    const auto attribution = functions.of(step);
    if (!attribution) continue;
    text += attribution_markdown(step.series.key, *attribution);
    ++listed;
  }
  return text;
}

// Indented, as code that no text can end.
std::string commands_of(const RecordedSteps& steps, const std::vector<std::string>& options) {
  const std::vector<std::string> keys = keys_of(steps);
  std::string words;
  for (const std::string& option : options) words += " " + shell_word(printable(option));
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), kMostNamed); ++i) {
    words += " --filter=" + shell_word(printable(keys[i]));
    names += " " + shell_word(printable(keys[i]));
  }
  const std::string hash = short_hash(steps.front().commit.hash);
  return fmt::format(
      "\nTo see it:\n\n"
      "    git switch --detach {0}^ && instr_bench{1} --save=before\n"
      "    git switch --detach {0} && instr_bench{1} --save=after\n"
      "    instr_bench compare before after\n"
      "\nIf it is worth it, on the branch itself, with the reason, and commit the file that it "
      "writes:\n\n"
      "    instr_bench accept{2} --base=before --results=after --reason='...'\n",
      hash, words, names);
}

std::string section_of(const SqlDatabase& database, const RecordedSteps& steps,
                       const std::vector<std::string>& options, const std::string& before) {
  const Commit& commit = steps.front().commit;
  std::string text =
      fmt::format("\n## {} ({}): {}\n\n", short_hash(commit.hash), date_text(commit.authored),
                  markdown_code(printable(commit.subject), kMaxSubjectColumns));
  if (!before.empty()) {
    text += fmt::format(
        "This commit or one before it, back to {}: those between were not measured.\n\n",
        short_hash(before));
  }
  return text + table_of(database, steps) + functions_of(database, steps) +
         commands_of(steps, options);
}

}  // namespace

Expected<RecordedSteps> unaccepted_growth(const SqlDatabase& database, const SeriesChoice& choice,
                                          const std::optional<Place>& since,
                                          const Acceptances& accepted) {
  auto steps = read_steps(database, choice, since, /*with_first=*/false);
  if (!steps) return steps;
  std::map<std::int64_t, double> now;
  for (const RecordedStep& step : *steps) now[step.series.id] = step.after;
  const auto limits = default_limits().hard;
  std::erase_if(*steps, [&](const RecordedStep& step) {
    const auto limit = limits.find(step.series.metric);
    if (!step.series.is_exact || limit == limits.end()) return true;
    const double still = std::min(step.after, now.at(step.series.id));
    return !is_beyond(still - *step.before, limit->second, *step.before) ||
           find_accepted(accepted, step.series.key, step.series.metric, *step.before, step.after);
  });
  return steps;
}

Expected<std::string> growth_issue(const SqlDatabase& database, const RecordedSteps& steps,
                                   const std::vector<std::string>& options) {
  std::vector<RecordedSteps> by_commit;
  for (const RecordedStep& step : steps) {
    const bool is_next =
        by_commit.empty() || by_commit.back().front().commit.hash != step.commit.hash;
    if (is_next) by_commit.emplace_back();
    by_commit.back().push_back(step);
  }
  return sql_stage([&]() -> Expected<std::string> {
    std::string text = title_of(steps, by_commit) + "\n";
    std::map<std::string, std::vector<OpenStep>> open_on;  // by branch
    for (const RecordedSteps& one : by_commit) {
      const std::string& branch = one.front().series.branch;
      if (!open_on.contains(branch)) {
        auto open = open_steps(database, branch);
        if (!open) return tl::unexpected(open.error());
        open_on[branch] = std::move(*open);
      }
      const std::vector<OpenStep>& open = open_on[branch];
      const auto gap = std::find_if(open.begin(), open.end(), [&one](const OpenStep& step) {
        return step.after == one.front().commit.hash;
      });
      text += section_of(database, one, options, gap == open.end() ? "" : gap->before);
    }
    return text;
  });
}

}  // namespace instr
