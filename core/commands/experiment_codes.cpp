#include "core/commands/experiment_codes.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/cli/values.h"
#include "core/results/results.h"

namespace instr {
namespace {

std::string lines_of(const std::string& heading, const std::vector<CodeDifference>& differences) {
  if (differences.empty()) return "";
  std::string text = heading + "\n";
  for (const CodeDifference& one : differences) {
    text += fmt::format("- {}: {}, expected {}", printable(one.key), to_string(one.code),
                        to_string(one.expected));
    if (!one.reason.empty() && one.code != VerificationCode::kPass) {
      text += fmt::format(" ({})", printable(one.reason));
    }
    text += "\n";
  }
  return text;
}

std::string text_of(const CodeComparison& found, const std::string& file) {
  std::string text = fmt::format("{}: {} as expected", file, found.same);
  for (const auto& [count, what] : {std::pair{found.worse.size(), "worse"},
                                    {found.better.size(), "better"},
                                    {found.missing.size(), "missing"},
                                    {found.fresh, "not in the file"}}) {
    if (count != 0) text += fmt::format(", {} {}", count, what);
  }
  text += "\n" + lines_of("worse than expected:", found.worse);
  text += lines_of("better than expected (--update-expected-codes writes it):", found.better);
  if (found.missing.empty()) return text;
  text += "in the file, but none of these experiments (--update-expected-codes removes them):\n";
  for (const std::string& key : found.missing) text += fmt::format("- {}\n", printable(key));
  return text;
}

}  // namespace

void declare_codes(CommandLine& line, CodesOptions& options) {
  line.option("--expect-codes", "FILE",
              "fail if a verification code is neither PASS nor the one in this file (CSV)",
              take_path(options.file));
  line.flag("--update-expected-codes", "write the codes into that file", options.update);
  line.needs(
      {"update-expected-codes"}, [&options] { return options.file.has_value(); },
      "--expect-codes=FILE");
}

tl::expected<std::vector<ExpectedCode>, Errors> codes_to_expect(const CodesOptions& options) {
  if (!options.file) return {};
  if (!options.update) return read_expected_codes(*options.file);
  auto source = SourceText::read_if_exists(*options.file);
  if (!source) return tl::unexpected(Errors{source.error()});
  return parse_expected_codes(*source);
}

tl::expected<CodesVerdict, Errors> judge_codes(const CodesOptions& options,
                                               const std::vector<ExpectedCode>& expected,
                                               const std::vector<ExperimentRecord>& records,
                                               const Selection& selection) {
  if (!options.file) return {};
  const IsSelected is_selected = key_selector(selection);
  const std::string file = options.file->string();
  if (options.update) {
    return update_expected_codes_file(*options.file, records, is_selected)
        .map([&file](const ExpectedUpdate& updated) {
          return CodesVerdict{fmt::format("{}: {} changed, {} added, {} removed\n", file,
                                          updated.changed, updated.added, updated.removed)};
        });
  }
  const CodeComparison found = compare_codes(expected, records, is_selected);
  return CodesVerdict{text_of(found, file),
                      !found.worse.empty() || !found.missing.empty(),
                      {found.failing.begin(), found.failing.end()}};
}

}  // namespace instr
