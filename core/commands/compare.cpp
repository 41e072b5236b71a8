#include "core/compare/compare.h"

#include <unistd.h>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/compare/compare_report.h"
#include "core/definitions/select.h"

namespace instr {

ExitStatus show_comparison(const Options& options, const Comparison& comparison,
                           const std::vector<FieldDifference>& differences) {
  for (const FieldDifference& difference : differences) {
    bool is_shown = difference.field_class == FieldClass::kMayVary
                        ? options.verbosity != Verbosity::kQuiet
                        : options.verbosity == Verbosity::kVerbose;
    if (is_shown) print_message(to_string(difference) + "\n");
  }
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.color);
  CompareReportOptions report_as;
  report_as.table.width = terminal.width;
  report_as.table.color = terminal.color;
  report_as.table.show_same = options.gate.show_same;
  report_as.table.show_keys = options.show_keys;
  auto text = compare_report(options.format, comparison, report_as);
  if (!text) return refuse(text.error());
  print_output(*text);
  return comparison.verdict == Verdict::kFails ? kRegression : kGood;
}

namespace {

// What is on neither side is nothing to compare.
Expected<void> check_selection(const ResultSet& before, const ResultSet& after,
                               const Selection& selection) {
  std::vector<Variant> all = variants_of(before.results.measurements);
  for (Variant& one : variants_of(after.results.measurements)) all.push_back(std::move(one));
  return all.empty() ? Expected<void>{} : check_selection(all, selection);
}

}  // namespace

ExitStatus compare_command(const Options& options) {
  auto gate = open_gate(options.gate);
  if (!gate) return refuse(gate.error());
  auto before = read_reference(options.operands[0], options.gate.incomplete);
  if (!before) return refuse(before.error());
  auto after = read_reference(options.operands[1], options.gate.incomplete);
  if (!after) return refuse(after.error());
  auto selected = check_selection(before->set, after->set, options.selection);
  if (!selected) return refuse(selected.error());
  auto wanted = selector(options.selection);
  before->set = only(std::move(before->set), wanted);
  auto checked = check_shard(*before, after->set.results.header.shard, options.gate.incomplete);
  if (!checked) return refuse(checked.error());
  auto differences = check_comparable(*before, after->set.results.header, options.gate.vary);
  if (!differences) return refuse(differences.error());
  auto comparison = hold_against(*before, only(std::move(after->set), wanted), *gate);
  if (!comparison) return refuse(comparison.error());
  return show_comparison(options, *comparison, *differences);
}

}  // namespace instr
