#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/text.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/history/read.h"
#include "core/history/recording.h"
#include "core/history/schema.h"

namespace instr {

namespace {

struct AcceptArguments {
  std::vector<std::string> keys;
  std::optional<std::string> reason;
  std::optional<std::string> base;
  std::optional<std::string> results;
  RecordingOptions recording;
  GateOptions gate;
  Showing showing;
};

// The changes that can be accepted.
struct Acceptable {
  Acceptances acceptances;
  std::function<bool(const Acceptance&)> is_in_base;  // true if the base counts that already
};

// Finds what these keys cost more, and what else is beyond a limit: gains fail with --ratchet. The
// limits of the check that failed may be stricter than those here.
Expected<Acceptable> find_in_comparison(const Comparison& comparison,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const ComparedRow& row : comparison.rows) known.push_back(row.key);
  Acceptable acceptable;
  TRY_ASSIGN(const auto keys, resolve_keys(words, known));
  for (const std::string& key : keys) {
    const std::size_t before = acceptable.acceptances.size();
    for (const ComparedRow& row : comparison.rows) {
      if (row.key != key) continue;
      for (const MetricChange& metric : row.metrics) {
        const bool is_accepted = metric.accepted.has_value();
        if (metric.verdict == Verdict::kPasses && (is_accepted || metric.change().value_or(0) <= 0))
          continue;
        acceptable.acceptances.push_back(
            {key, metric.metric, *metric.before, *metric.after, "", "", ""});
      }
    }
    if (acceptable.acceptances.size() == before) {
      return fail(fmt::format("`{}` has nothing to accept", printable(key)),
                  "it costs no more than before, or that was accepted");
    }
  }
  acceptable.is_in_base = [rows = comparison.rows](const Acceptance& acceptance) {
    return std::any_of(rows.begin(), rows.end(), [&acceptance](const ComparedRow& row) {
      const MetricChange* metric = row.metric(acceptance.metric);
      return metric != nullptr && metric->before == acceptance.after &&
             find_accepted({acceptance}, row.key, acceptance.metric, acceptance.before,
                           acceptance.after) != nullptr;
    });
  };
  return acceptable;
}

tl::expected<Acceptable, Errors> find_in_results(const AcceptArguments& options) {
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  TRY_ASSIGN(auto before, read_reference(*options.base, options.gate.incomplete));
  TRY_ASSIGN(auto after, read_reference(*options.results, options.gate.incomplete));
  TRY(check_comparable(before, after.set.results.header, options.gate.vary));
  TRY_ASSIGN(const auto comparison, compare_with(before, after.set, gate));
  TRY_ASSIGN(auto acceptable, find_in_comparison(comparison, options.keys));
  for (Acceptance& acceptance : acceptable.acceptances) {
    acceptance.commit = short_hash(after.set.results.header.commit);
  }
  return acceptable;
}

// Adds the changes at the last commit at which a metric of the key changed.
Expected<void> add_last_step(Acceptable& acceptable, const SqlDatabase& database,
                             const std::string& key, const std::string& branch) {
  const SeriesChoice choice{[&key](const std::string& known) { return known == key; }, {}, branch};
  TRY_ASSIGN(auto steps, read_steps(database, choice, std::nullopt, /*with_first=*/false));
  // Times within their limits need no acceptance, and one in ten differs by chance.
  std::erase_if(steps, [](const RecordedStep& step) {
    return !step.series.is_exact && step.change.verdict == Verdict::kPasses;
  });
  const std::size_t before = acceptable.acceptances.size();
  for (const RecordedStep& step : steps) {
    const bool is_last = step.commit.hash == steps.back().commit.hash;
    if (!is_last) continue;
    acceptable.acceptances.push_back({key, step.series.metric, *step.change.before,
                                      *step.change.after, short_hash(step.commit.hash), "", ""});
  }
  if (acceptable.acceptances.size() > before) return {};
  return fail(
      fmt::format("the history has no change of `{}` on {}", printable(key), printable(branch)),
      "see instr_bench history list, or name results with --base and --results");
}

Expected<Acceptable> find_in_history(const AcceptArguments& options) {
  TRY_ASSIGN(auto database, open_history(options.recording.file(), SqlAccess::kRead));
  TRY_ASSIGN(auto branch, options.recording.find_branch(Repository()));
  Acceptable acceptable{{}, [](const Acceptance&) { return false; }};
  TRY_ASSIGN(const auto known, read_keys(database));
  TRY_ASSIGN(const auto keys, resolve_keys(options.keys, known));
  for (const std::string& key : keys) {
    TRY(add_last_step(acceptable, database, key, branch));
  }
  return acceptable;
}

tl::expected<Acceptable, Errors> find(const AcceptArguments& options) {
  if (options.base) return find_in_results(options);
  TRY_ASSIGN(auto acceptable, find_in_history(options));
  return acceptable;
}

ExpectedStatus run_accept(const AcceptArguments& options) {
  const fs::path file = options.gate.accepted.value_or(default_accepted_file());
  TRY_ASSIGN(auto acceptable, find(options));
  const Repository repository;
  const std::string who = repository.user().value_or("");
  const auto head = repository.find("HEAD");
  for (Acceptance& acceptance : acceptable.acceptances) {
    acceptance.who = who;
    acceptance.why = *options.reason;
    if (acceptance.commit.empty() && head) acceptance.commit = short_hash(head->hash);
  }
  TRY(write_accepted(file, acceptable.acceptances, acceptable.is_in_base));
  for (const Acceptance& acceptance : acceptable.acceptances) {
    print_message(fmt::format("{}: {} {} from {} to {}\n", file.string(),
                              printable(acceptance.keys), acceptance.metric,
                              format_count(acceptance.before), format_count(acceptance.after)));
  }
  return kGood;
}

}  // namespace

void suggest_acceptance(const Comparison& comparison, const std::string& base,
                        const std::string& results, const GateOptions& gate) {
  std::string keys;
  for (const ComparedRow& row : comparison.rows) {
    const bool fails = std::ranges::any_of(
        row.metrics, [](const MetricChange& metric) { return metric.verdict == Verdict::kFails; });
    if (fails) keys += " " + shell_word(row.key);
  }
  if (keys.empty() || !print_output("")) return;  // nobody reads the comparison
  std::string command =
      "instr_bench accept --base=" + shell_word(base) + " --results=" + shell_word(results);
  if (!gate.vary.empty()) command += fmt::format(" --vary={}", fmt::join(gate.vary, ","));
  if (gate.accepted) command += " --accepted=" + shell_word(gate.accepted->string());
  print_message(fmt::format("to accept this: {} --reason='why'{}\n", command, keys));
}

Action accept_command(CommandLine& line) {
  auto options = std::make_shared<AcceptArguments>();
  line.describe(
      "Accepts what benchmarks cost more now: adds a line for each metric, with the reason, to a "
      "file of the project, which is committed with the change. The check then lets just this "
      "step pass and shows it as accepted. It is taken from a comparison, or from the last step "
      "in the history.");
  line.operands({"KEY...", 1, kMaxOperands}, options->keys);
  line.group("What is accepted");
  line.option("--reason", "TEXT", "why", take_text(options->reason));
  line.option("--base", "NAME|FILE", "what grew between this baseline or results file",
              take_text(options->base));
  line.option("--results", "NAME|FILE", "and these results", take_text(options->results));
  declare_vary(line, options->gate.vary);
  line.option("--history", "FILE", kHistoryHelp, take_path(options->recording.history));
  line.option("--branch", "NAME", "its branch (default: the one checked out)",
              take_text(options->recording.branch));
  line.needs(
      {"history", "branch"}, [options = options.get()] { return !options->base; },
      "a history instead of --base and --results");
  line.needs(
      {"vary"}, [options = options.get()] { return options->base.has_value(); },
      "--base and --results");
  declare_accepted(line, options->gate.accepted);
  declare_showing(line, options->showing);
  line.check([options = options.get()]() -> Expected<void> {
    if (!options->reason || options->reason->empty()) {
      return fail("accept needs a reason", "add --reason=TEXT");
    }
    if (options->base.has_value() == options->results.has_value()) return {};
    return fail("--base and --results go together", "add the other one");
  });
  return [options](const Invocation&) { return run_accept(*options); };
}

}  // namespace instr
