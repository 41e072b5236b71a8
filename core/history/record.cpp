#include "core/history/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>

#include "core/base/checkout_guard.h"
#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/compare/judge.h"
#include "core/history/profiles.h"
#include "core/history/read.h"
#include "core/history/recording.h"
#include "core/history/schema.h"
#include "core/history/timeline.h"
#include "core/results/fingerprint.h"
#include "core/results/result_set.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

auto first_step_from(const Steps& steps, const Place& place) {
  return std::ranges::lower_bound(steps, place, {}, &Step::place);
}

constexpr std::size_t kMaxListed = 5;  // contradictions

// Writes runs into the tables of a history, within a transaction of the caller. The only code that
// adds series, steps and samples. Throws SqlErrors.
class RunWriter {
 public:
  RunWriter(const SqlDatabase& database, OnContradiction on_contradiction)
      : database_(database), on_contradiction_(on_contradiction) {}

  Expected<void> add(const HistoryRun& run) {
    const auto branch = branches_.find_or_add(run.branch);
    const Target target{branch, find_or_add_commit(run.commit), run.commit.place(),
                        read_timeline(branch)};
    if (find_run_.start(branch, target.commit, run.digest).step()) {
      ++recorded_.known_runs;
      return {};
    }
    target.timeline.add_commit(target.place, target.commit);
    TRY_ASSIGN(const auto series, find_series(run, branch));
    std::vector<std::int64_t> exact;
    for (std::size_t i = 0; i < run.values.size(); ++i) {
      if (run.values[i].is_exact) exact.push_back(series[i]);
    }
    const auto measured = std::make_shared<const SeriesSet>(std::move(exact));
    std::optional<std::string> definitions;
    if (!run.definitions.empty()) definitions = to_line(nlohmann::ordered_json(run.definitions));
    add_run_.run(branch, target.commit, sets_.find_or_add(measured->text()), run.started,
                 run.version, run.digest, definitions, find_or_add_limits(run.limits));
    const auto run_id = database_.last_id();
    TRY(add_values(run, target, series, run_id));
    for (const RunOutcome& outcome : run.outcomes) {
      // Variants that a machine cannot measure would be recorded at every commit.
      if (outcome.state == kSkippedState) continue;
      put_outcome_.run(run_id, keys_.find_or_add(outcome.key), outcome.state, outcome.reason);
    }
    target.timeline.add_run(target.place, run_id, measured);
    ++recorded_.runs;
    recorded_.values += run.values.size();
    return check_contradictions(run);
  }

  const Recorded& recorded() const { return recorded_; }

 private:
  struct Target {
    std::int64_t branch = 0;
    std::int64_t commit = 0;
    Place place;
    Timeline& timeline;
  };

  std::int64_t find_or_add_commit(const Commit& commit) {
    if (find_commit_.start(commit.hash).step()) return find_commit_.integer(0);
    add_commit_.run(commit.hash, commit.position, commit.authored, commit.subject);
    return database_.last_id();
  }

  std::int64_t find_or_add_series(const RunValue& value, std::int64_t branch,
                                  std::int64_t class_id) {
    const auto key = keys_.find_or_add(value.key);
    if (find_series_.start(branch, class_id, key, value.metric, value.is_exact).step()) {
      return find_series_.integer(0);
    }
    add_series_.run(branch, class_id, key, value.metric, value.is_exact);
    ++recorded_.new_series;
    return database_.last_id();
  }

  // Keys with the same limits are ranges of their numbers, which stay short if runs have other
  // keys.
  std::optional<std::int64_t> find_or_add_limits(const LimitsOfKeys& limits) {
    if (limits.empty()) return std::nullopt;
    std::map<LimitTexts, std::vector<std::int64_t>> keys;
    for (const auto& [key, texts] : limits) keys[texts].push_back(keys_.find_or_add(key));
    auto json = nlohmann::json::array();
    for (auto& [texts, numbers] : keys) {
      json.push_back({texts, SeriesSet(std::move(numbers)).ranges()});
    }
    return limit_sets_.find_or_add(json.dump());
  }

  Timeline& read_timeline(std::int64_t branch) {
    const auto known = timelines_.find(branch);
    if (known != timelines_.end()) return known->second;
    return timelines_.emplace(branch, Timeline(database_, branch)).first->second;
  }

  // Returns the numbers of the series of a run's values, in their order.
  Expected<std::vector<std::int64_t>> find_series(const HistoryRun& run, std::int64_t branch) {
    std::vector<std::int64_t> classes;
    for (const std::string& fields : run.classes) classes.push_back(classes_.find_or_add(fields));
    std::vector<std::int64_t> numbers;
    std::set<std::int64_t> known;
    for (const RunValue& value : run.values) {
      numbers.push_back(find_or_add_series(value, branch, classes.at(value.class_index)));
      if (known.insert(numbers.back()).second) continue;
      return fail(fmt::format("`{}` was measured twice in one run", printable(value.key)),
                  "measure again");
    }
    return numbers;
  }

  Expected<void> add_values(const HistoryRun& run, const Target& target,
                            const std::vector<std::int64_t>& series, std::int64_t run_id) {
    for (std::size_t i = 0; i < run.values.size(); ++i) {
      const RunValue& value = run.values[i];
      if (value.is_exact) {
        TRY(add_exact(run, value, target, series[i]));
        continue;
      }
      std::optional<std::string> repetitions;
      if (!value.repetitions.empty()) repetitions = json_numbers(value.repetitions).dump();
      put_sample_.run(series[i], run_id, value.value, repetitions);
    }
    return {};
  }

  Expected<void> add_exact(const HistoryRun& run, const RunValue& value, const Target& target,
                           std::int64_t series) {
    const Steps before = steps_.read(series, target.timeline);
    const auto known = step_at(before, target.place);
    if (known && target.timeline.is_measured(target.place, series)) {
      if (known->value == value.value) return {};
      contradictions_.push_back(fmt::format("`{}`: {} was {}, is {}", printable(value.key),
                                            printable(value.metric), known->value, value.value));
      if (on_contradiction_ == OnContradiction::kRefuse) return {};
    }
    const Steps after =
        with_value(before, target.place, value.value, target.timeline.next(target.place, series));
    steps_.write(series, target.timeline, before, after);
    if (!before.empty() && after.size() > before.size()) {
      recorded_.steps += after.size() - before.size();
    }
    const auto held = step_at(after, target.place);
    if (!held || held->place != target.place || value.metric != kInstructions) return {};
    TRY_ASSIGN(auto functions,
               run.functions ? run.functions(value.key) : Expected<std::vector<FunctionCost>>());
    TRY_ASSIGN(auto tree, run.call_trees ? run.call_trees(value.key) : nullptr);
    steps_.profiles().write(series, target.commit, functions, tree.get());
    return {};
  }

  Expected<void> check_contradictions(const HistoryRun& run) {
    const std::vector<std::string> all = std::exchange(contradictions_, {});
    if (all.empty() || on_contradiction_ == OnContradiction::kReplace) return {};
    const std::span listed = std::span(all).first(std::min(all.size(), kMaxListed));
    return fail(
        fmt::format(
            "commit {} is recorded with other counts in the same environment, so one of the two "
            "runs "
            "measured other code:\n  {}{}",
            short_hash(run.commit.hash), fmt::join(listed, "\n  "),
            all.size() > kMaxListed ? fmt::format("\n  and {} more", all.size() - kMaxListed) : ""),
        "name the right commit with --commit, or take the new ones with --replace");
  }

  const SqlDatabase& database_;
  const OnContradiction on_contradiction_;
  Recorded recorded_;
  std::vector<std::string> contradictions_;     // contradictions of the current run
  std::map<std::int64_t, Timeline> timelines_;  // key: the branch's id
  Dictionary branches_{database_, "SELECT id FROM branches WHERE name = ?",
                       "INSERT INTO branches (name) VALUES (?)"};
  Dictionary classes_{database_, "SELECT id FROM classes WHERE fields = ?",
                      "INSERT INTO classes (fields) VALUES (?)"};
  Dictionary keys_{database_, "SELECT id FROM keys WHERE key = ?",
                   "INSERT INTO keys (key) VALUES (?)"};
  Dictionary sets_{database_, "SELECT id FROM series_sets WHERE members = ?",
                   "INSERT INTO series_sets (members) VALUES (?)"};
  Dictionary limit_sets_{database_, "SELECT id FROM limit_sets WHERE limits = ?",
                         "INSERT INTO limit_sets (limits) VALUES (?)"};
  SqlStatement find_commit_ = database_.prepare("SELECT id FROM commits WHERE hash = ?");
  SqlStatement add_commit_ = database_.prepare(
      "INSERT INTO commits (hash, position, authored, subject) VALUES (?, ?, ?, ?)");
  SqlStatement find_run_ =
      database_.prepare("SELECT 1 FROM runs WHERE branch_id = ? AND commit_id = ? AND digest = ?");
  SqlStatement add_run_ = database_.prepare(
      "INSERT INTO runs (branch_id, commit_id, set_id, started, version, digest, definitions,"
      " limits_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  SqlStatement find_series_ = database_.prepare(
      "SELECT id FROM series WHERE branch_id = ? AND class_id = ? AND key_id = ? AND metric = ?"
      " AND is_exact = ?");
  SqlStatement add_series_ = database_.prepare(
      "INSERT INTO series (branch_id, class_id, key_id, metric, is_exact) VALUES (?, ?, ?, ?, ?)");
  SqlStatement put_sample_ = database_.prepare(
      "INSERT INTO samples (series_id, run_id, value, repetitions) VALUES (?, ?, ?, ?)");
  SqlStatement put_outcome_ = database_.prepare(
      "INSERT OR REPLACE INTO outcomes (run_id, key_id, state, reason) VALUES (?, ?, ?, ?)");
  StepsTable steps_{database_};
};

std::vector<std::string> parse_vary(const std::string& text) {
  std::vector<std::string> vary;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) vary.push_back(item);
  return vary;
}

// Returns nothing for a history without runs, whose setting may still change.
std::optional<std::string> read_vary(const SqlDatabase& database) {
  auto setting = database.prepare(
      "SELECT value FROM settings WHERE name = 'vary' AND EXISTS (SELECT 1 FROM runs)");
  return setting.step() ? std::optional(setting.text(0)) : std::nullopt;
}

Expected<void> settle_vary(const SqlDatabase& database, const std::string& vary) {
  const auto recorded = read_vary(database);
  if (!recorded) {
    database.prepare("INSERT OR REPLACE INTO settings VALUES ('vary', ?)").run(vary);
    return {};
  }
  if (*recorded == vary) return {};
  return fail_at({database.file().string()},
                 recorded->empty()
                     ? "in the series of this history nothing may vary"
                     : fmt::format("the series of this history may vary in {}", *recorded),
                 "omit --vary, or name another history with --history");
}

}  // namespace

std::optional<Step> step_at(const Steps& steps, const Place& place) {
  const auto after = std::ranges::upper_bound(steps, place, {}, &Step::place);
  if (after == steps.begin()) return std::nullopt;
  return *std::prev(after);
}

Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next) {
  const auto at_next = next ? step_at(steps, *next) : std::nullopt;
  Steps changed = steps;
  std::erase_if(changed,
                [&](const Step& step) { return step.place == place || step.place == next; });
  const auto before = step_at(changed, place);
  if (!before || before->value != value) {
    changed.insert(first_step_from(changed, place), {place, value});
  }
  if (at_next && at_next->value != value) {
    changed.insert(first_step_from(changed, *next), {*next, at_next->value});
  }
  return changed;
}

Steps without_value(const Steps& steps, const Place& place, const std::optional<Place>& next) {
  const auto at = first_step_from(steps, place);
  if (at != steps.begin()) return with_value(steps, place, std::prev(at)->value, next);
  return next ? steps_since(steps, *next) : Steps{};
}

Steps steps_since(const Steps& steps, const Place& first) {
  Steps kept;
  if (const auto held = step_at(steps, first)) kept.push_back({first, held->value});
  kept.insert(kept.end(), std::ranges::upper_bound(steps, first, {}, &Step::place), steps.end());
  return kept;
}

Expected<std::vector<std::string>> resolve_vary(const SqlDatabase& database,
                                                const std::vector<std::string>& asked) {
  return sql_stage([&] {
    const auto recorded = read_vary(database);
    return asked.empty() && recorded ? parse_vary(*recorded) : asked;
  });
}

Expected<Recorded> record(const SqlDatabase& database, const NextRun& next,
                          OnContradiction on_contradiction, const std::vector<std::string>& vary) {
  return sql_stage([&]() -> Expected<Recorded> {
    HistoryTransaction transaction(database);
    TRY(settle_vary(database, fmt::format("{}", fmt::join(vary, ","))));
    RunWriter writer(database, on_contradiction);
    for (;;) {
      TRY_ASSIGN(auto run, next());
      if (!run) break;
      TRY(writer.add(*run));
    }
    transaction.commit();
    return writer.recorded();
  });
}

Expected<Recorded> record(const SqlDatabase& database, std::vector<HistoryRun> runs,
                          OnContradiction on_contradiction, const std::vector<std::string>& vary) {
  auto next = [&runs, at = std::size_t{0}]() mutable -> Expected<std::optional<HistoryRun>> {
    return at < runs.size() ? std::optional(std::move(runs[at++])) : std::nullopt;
  };
  return record(database, next, on_contradiction, vary);
}

Expected<void> record_in_transaction(const SqlDatabase& database, std::vector<HistoryRun> runs) {
  RunWriter writer(database, OnContradiction::kReplace);
  for (const HistoryRun& run : runs) TRY(writer.add(run));
  return {};
}

std::string to_string(const Recorded& recorded) {
  std::string text = format_plural(recorded.values, "value");
  if (recorded.new_series > 0) {
    text +=
        fmt::format(", {} of new series", format_count(static_cast<double>(recorded.new_series)));
  }
  text += "; " + format_plural(recorded.steps, "new step");
  if (recorded.known_runs > 0) {
    text += fmt::format("; {} recorded before", format_plural(recorded.known_runs, "run"));
  }
  return text;
}

namespace {

// An error if the results are older than the commit. `results`: their name.
Expected<void> check_age(const std::string& results, const std::string& started,
                         const Commit& commit) {
  const auto seconds = parse_time(started);
  if (!seconds || *seconds >= commit.authored) return {};
  return fail_at(
      {results},
      fmt::format("measured at {}, before commit {} was written ({})", printable(started),
                  short_hash(commit.hash), format_date(commit.authored)),
      "name the commit that was measured with --commit or, if a clock was wrong, add "
      "--trust-commit");
}

// Finds the fingerprint classes of a run's values, and adds each class to the run once.
class ClassFinder {
 public:
  ClassFinder(const Fingerprint& fingerprint, const std::vector<std::string>& vary, HistoryRun& run)
      : fingerprint_(fingerprint), vary_(vary), run_(run) {}

  Expected<std::size_t> find_or_add(const MeasuredAs& as) {
    const auto known = known_.find({as.is_timed, as.language});
    if (known != known_.end()) return known->second;
    TRY_ASSIGN(auto fields, select_fields(fingerprint_, as, vary_));
    std::sort(fields.begin(), fields.end());  // equal fields, equal text
    const std::string text = to_line(nlohmann::ordered_json(fields));
    const auto place = std::find(run_.classes.begin(), run_.classes.end(), text);
    const auto index = static_cast<std::size_t>(place - run_.classes.begin());
    if (place == run_.classes.end()) run_.classes.push_back(text);
    return known_[{as.is_timed, as.language}] = index;
  }

 private:
  const Fingerprint& fingerprint_;
  const std::vector<std::string>& vary_;
  HistoryRun& run_;
  std::map<std::pair<bool, Language>, std::size_t> known_;
};

// Simulated caches depend on where code lies: equal code built again may differ.
bool is_exact(const std::string& metric, const Counted& counted) {
  return counted.gated && counted.steady && find_metric(metric, kUsualMetrics) != nullptr;
}

Expected<void> add_values(HistoryRun& run, const Measurement& measured, ClassFinder& classes) {
  const auto* counted = std::get_if<Counted>(&measured.outcome);
  if (counted == nullptr) return {};
  for (const auto& [metric, value] : counted->metrics) {
    if (!std::isfinite(value)) continue;
    const bool is_timed = find_metric(metric, kTimeMetrics) != nullptr;
    TRY_ASSIGN(const auto index, classes.find_or_add({is_timed, measured.variant.language}));
    run.values.push_back({measured.variant.key, metric, is_exact(metric, *counted), index, value});
    if (counted->timing) run.values.back().repetitions = counted->timing->of(metric);
  }
  return {};
}

void add_outcome(HistoryRun& run, const Measurement& measured) {
  const auto add = [&](const std::string& state, const std::string& reason) {
    run.outcomes.push_back({measured.variant.key, state, reason});
  };
  const auto& verification = measured.verification;
  if (const auto* failure = std::get_if<Failure>(&measured.outcome)) {
    add(kFailedState, to_string(failure->kind) + (": " + failure->message));
  } else if (const auto* skipped = std::get_if<Skipped>(&measured.outcome)) {
    add(kSkippedState, skipped->reason);
  } else if (verification && verification->code != VerificationCode::kVerifierSkipped) {
    add(to_string(verification->code), verification->reason);
  }
}

// Does not depend on the order of the results, nor on whether they were read from a file.
std::string make_digest(const Results& results) {
  std::vector<std::string> lines;
  for (const Measurement& measurement : results.measurements) {
    lines.push_back(to_line(to_json(measurement)));
  }
  std::sort(lines.begin(), lines.end());
  return content_hash(
      fmt::format("{}\n{}", to_line(to_json(results.header)), fmt::join(lines, "\n")));
}

// Rows that nothing refers to any more.
constexpr const char* kRemoveUnused = R"(
DELETE FROM series WHERE id NOT IN (SELECT series_id FROM steps)
  AND id NOT IN (SELECT series_id FROM samples);
DELETE FROM keys WHERE id NOT IN (SELECT key_id FROM series)
  AND id NOT IN (SELECT key_id FROM outcomes);
DELETE FROM classes WHERE id NOT IN (SELECT class_id FROM series);
DELETE FROM series_sets WHERE id NOT IN (SELECT set_id FROM runs);
DELETE FROM limit_sets WHERE id NOT IN (SELECT limits_id FROM runs WHERE limits_id IS NOT NULL);
DELETE FROM commits WHERE id NOT IN (SELECT commit_id FROM runs);
DELETE FROM branches WHERE id NOT IN (SELECT branch_id FROM runs);
)";

void prune_branch(const SqlDatabase& database, std::int64_t branch, const Place& first,
                  Pruned& pruned) {
  const Timeline timeline(database, branch);
  StepsTable steps(database);
  for (const auto series : steps.read_series(branch)) {
    const Steps before = steps.read(series, timeline);
    const auto kept = timeline.first_from(first, series);
    steps.write(series, timeline, before, kept ? steps_since(before, *kept) : Steps{});
  }
  auto remove = database.prepare("DELETE FROM runs WHERE branch_id = ? AND commit_id = ?");
  for (const auto& [place, commit] : timeline.commits()) {
    if (place >= first) break;
    pruned.runs += commit.runs.size();
    remove.run(branch, commit.commit);
  }
}

struct DefinitionOption {
  std::string_view name;
  bool is_path;
};

constexpr std::array<DefinitionOption, 4> kDefinitionOptions{
    {{"--definitions", true}, {"--suite", false}, {"--param", false}, {"--build", true}}};

std::string relative_to(const std::string& path, const std::string& project) {
  if (project.empty() || !std::filesystem::path(path).is_absolute()) return path;
  const auto place = place_below(in_measured_tree(path).lexically_normal(), project);
  return place ? place->string() : path;
}

}  // namespace

Expected<HistoryRun> make_run(const ResultSet& results, const Commit& commit,
                              const std::string& branch, const std::vector<std::string>& vary,
                              bool is_commit_trusted) {
  const ResultsHeader& header = results.results.header;
  if (header.fingerprint.entries.empty()) {
    return fail_at({results.name}, "these results do not say what they were measured with",
                   "measure again");
  }
  if (!is_commit_trusted) TRY(check_age(results.name, header.started, commit));
  HistoryRun run{.commit = commit,
                 .branch = branch,
                 .started = header.started,
                 .version = header.version,
                 .digest = make_digest(results.results),
                 .functions = results.functions,
                 .call_trees = results.call_trees,
                 .definitions = select_definition_options(
                     header.command, Repository().top().value_or(std::filesystem::path()))};
  ClassFinder classes(header.fingerprint, vary, run);
  for (const Measurement& measurement : results.results.measurements) {
    TRY(add_values(run, measurement, classes));
    add_outcome(run, measurement);
    const Variant& variant = measurement.variant;
    if (variant.limits.empty()) continue;
    TRY(find_limits({variant.key, variant.limits, {}}));
    run.limits[variant.key] = variant.limits;
  }
  return run;
}

Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch) {
  return sql_stage([&] {
    Pruned pruned;
    HistoryTransaction transaction(database);
    const auto series = database.integer("SELECT count(*) FROM series");
    for (const auto& [number, name] : read_branches(database)) {
      if (!branch || name == *branch) prune_branch(database, number, first, pruned);
    }
    database.run(kRemoveUnused);
    Profiles(database).remove_unused_names();
    pruned.series =
        static_cast<std::size_t>(series - database.integer("SELECT count(*) FROM series"));
    transaction.commit();
    return pruned;
  });
}

Expected<void> compact(const SqlDatabase& database) {
  return sql_stage([&] {
    unseal(database);
    const auto compacted = sql_stage([&] { database.run("VACUUM"); });
    HistoryTransaction(database).commit();
    return compacted;
  });
}

std::vector<std::string> select_definition_options(const std::vector<std::string>& command,
                                                   const std::string& project) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    const std::size_t equals = word.find('=');
    const auto* option = std::ranges::find(
        kDefinitionOptions, std::string_view(word).substr(0, equals), &DefinitionOption::name);
    if (option == kDefinitionOptions.end()) continue;
    const bool is_next = equals == std::string::npos;
    if (is_next && ++i == command.size()) break;
    const std::string value = is_next ? command[i] : word.substr(equals + 1);
    std::string text =
        std::string(option->name) + "=" + (option->is_path ? relative_to(value, project) : value);
    if (std::ranges::find(options, text) == options.end()) options.push_back(std::move(text));
  }
  return options;
}

}  // namespace instr
