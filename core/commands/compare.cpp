#include "core/compare/compare.h"

#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/report/comparison_report.h"
#include "core/report/flame.h"
#include "core/results/result_set.h"

namespace instr {

ExpectedStatus show_comparison(const ComparisonShowing& how, const Comparison& comparison,
                               const std::vector<FieldDifference>& differences) {
  if (how.showing.verbosity == Verbosity::kVerbose) {
    for (const FieldDifference& difference : differences)
      print_message(to_string(difference) + "\n");
  } else if (how.showing.verbosity != Verbosity::kQuiet) {
    for (const std::string& line : list_differences(differences, FieldClass::kMayVary)) {
      print_message(line + "\n");
    }
  }
  const CompareReportOptions report_as{.render = render_options(how.showing),
                                       .show_same = how.show_same,
                                       .show_keys = how.showing.show_keys};
  TRY_ASSIGN(auto text, compare_report(how.format, comparison, report_as));
  print_output(text);
  if (comparison.verdict != Verdict::kFails) return kGood;
  // Without any row that fails, the comparison failed since there was nothing to judge.
  const ComparisonSummary& summary = comparison.summary;
  return summary.comparable == 0 && summary.count(Verdict::kFails) == 0 ? kBadSetup : kRegression;
}

namespace {

struct CompareArguments {
  std::vector<std::string> files;
  Selection selection;
  GateOptions gate;
  std::optional<fs::path> flames;  // a folder
  ComparisonShowing how;
};

// An error if the selection matches no measurement of either side.
Expected<void> check_selection(const ResultSet& before, const ResultSet& after,
                               const Selection& selection) {
  if (selection == Selection{}) return {};
  std::vector<Variant> all = variants_of(before.results.measurements);
  for (Variant& variant : variants_of(after.results.measurements))
    all.push_back(std::move(variant));
  return all.empty() ? Expected<void>{} : check_selection(all, selection);
}

ExpectedStatus run_compare(const CompareArguments& options) {
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  TRY_ASSIGN(auto before, read_reference(options.files[0], options.gate.incomplete));
  TRY_ASSIGN(auto after, read_reference(options.files[1], options.gate.incomplete));
  TRY(check_selection(before.set, after.set, options.selection));
  auto selected = make_selector(options.selection);
  before.set = keep_selected(std::move(before.set), selected);
  TRY(check_shard(before, after.set.results.header.shard, options.gate.incomplete));
  TRY_ASSIGN(auto differences,
             check_comparable(before, after.set.results.header, options.gate.vary));
  after.set = keep_selected(std::move(after.set), selected);
  TRY(prepare_flames(options.flames, {&before.set, &after.set}));
  for (const ResultSet* set : {&before.set, &after.set}) {
    if (!options.gate.compare.wants_lines) break;
    TRY(check_kept(*set, set->lines, kKeptLines));
  }
  TRY_ASSIGN(auto comparison, compare_with(before, after.set, gate));
  if (options.flames) {
    TRY(write_flames(*options.flames, comparison, before.set, after.set));
  }
  TRY_ASSIGN(const int status, show_comparison(options.how, comparison, differences));
  suggest_acceptance(comparison, options.files[0], options.files[1], options.gate);
  return status;
}

}  // namespace

Action compare_command(CommandLine& line) {
  auto options = std::make_shared<CompareArguments>();
  line.describe(
      "Compares two results: each a file that --output wrote, or the name of a baseline that "
      "--save made. Every difference is shown, the most important ones first, with the functions "
      "in which it is; the limits decide what fails.");
  line.operands({"BASE NEW", 2, 2}, options->files);
  declare_selection(line, options->selection);
  line.group("What fails");
  declare_gate(line, options->gate, options->how.show_same);
  line.group("What to show");
  declare_format(line, options->how.format, comparison_formats());
  declare_show_keys(line, options->how.showing);
  declare_flames(line, options->flames, "of results measured with --call-paths");
  declare_lines(line, options->gate.compare.wants_lines, options->how.format);
  declare_showing(line, options->how.showing);
  line.check([options = options.get()] {
    return prepare_comparison(options->how.format, options->gate.compare);
  });
  line.section("Exit status", "  0 within the limits; 2 not comparable; 3 beyond a limit\n");
  return [options](const Invocation&) { return run_compare(*options); };
}

}  // namespace instr
