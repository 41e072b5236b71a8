#include "core/compare/expected_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/trim.h"
#include "core/compare/csv_reader.h"

namespace instr {
namespace {

constexpr const char* kCodeAdvice = "write for example `layers/GRUCell/frozen/forward/t1/cpu,PASS`";

tl::expected<CsvFile<ExpectedCode>, Errors> read_codes(const SourceText& source) {
  std::map<std::string, int> lines;  // key -> line
  const auto read_line = [&lines](CsvReader& reader,
                                  const CsvRecord& record) -> std::optional<ExpectedCode> {
    const CsvField& key = record.fields[0];
    const CsvField& code = record.fields[1];
    ExpectedCode line{from_cell(key.text), {}, record.comment};
    const auto refuse = [&reader](const CsvField& field, std::string what, std::string advice) {
      reader.refuse(field.begin, std::move(what), std::move(advice));
      return std::nullopt;
    };
    if (line.key.empty()) return refuse(key, "the key is empty", "list shows all keys");
    const auto [first, is_new] = lines.emplace(line.key, reader.line_of(key));
    if (!is_new) {
      return refuse(key,
                    fmt::format("`{}` has two codes; the first is on line {}", printable(line.key),
                                first->second),
                    "remove one of them");
    }
    const std::string word(trim(code.text));
    const auto known = verification_code_from(word);
    if (!known) {
      return refuse(code, fmt::format("unknown code `{}`", printable(word)),
                    did_you_mean(word, verification_code_names()));
    }
    line.code = *known;
    return line;
  };
  return read_csv<ExpectedCode>(source, {{"key", "code"}, 2, kCodeAdvice, "expected codes"},
                                read_line);
}

// The code that a file expects of an experiment. A failure in the timed runs is one, too, after a
// verification that has passed.
VerificationCode code_to_expect(const Measurement& record) {
  const bool is_failure = state_of(record) == MeasuredState::kFailed;
  if (!is_candidate(record.variant)) {
    return is_failure ? VerificationCode::kEagerFailed : VerificationCode::kPass;
  }
  const VerificationCode code = code_of(record);
  const bool is_known = Verification{code, ""}.is_wrong();
  return is_failure && !is_known ? VerificationCode::kExceptionRaised : code;
}

using ByKey = std::map<std::string, const Measurement*>;

// Indexes the experiments that have a code. Eager has one if it failed and its candidates' codes do
// not say so, or if the file has a line for it.
ByKey with_codes(std::span<const Measurement> records, const std::vector<ExpectedCode>& file) {
  ByKey by_key;
  std::set<std::string> covered;
  for (const Measurement& record : records) {
    if (state_of(record) == MeasuredState::kSkipped) continue;
    by_key[record.variant.key] = &record;
    if (is_candidate(record.variant) && code_of(record) == VerificationCode::kEagerFailed) {
      covered.insert(make_eager(record.variant).key);
    }
  }
  std::set<std::string> lines;
  for (const ExpectedCode& line : file) lines.insert(line.key);
  std::erase_if(by_key, [&](const auto& entry) {
    const auto& [key, record] = entry;
    if (is_candidate(record->variant) || lines.contains(key)) return false;
    return state_of(*record) != MeasuredState::kFailed || covered.contains(key);
  });
  return by_key;
}

std::set<std::string> keys_of(std::span<const Measurement> records) {
  std::set<std::string> keys;
  for (const Measurement& record : records) keys.insert(record.variant.key);
  return keys;
}

std::string format_codes(CsvFile<ExpectedCode> csv) {
  std::ranges::sort(csv.lines, {}, &ExpectedCode::key);
  std::string text = csv.head;
  for (const ExpectedCode& line : csv.lines) {
    text += line.comment + csv_record({as_cell(line.key), to_string(line.code)}) + "\n";
  }
  return text + csv.tail;
}

}  // namespace

tl::expected<std::vector<ExpectedCode>, Errors> parse_expected_codes(const SourceText& source) {
  TRY_ASSIGN(auto csv, read_codes(source));
  return std::move(csv.lines);
}

CodeComparison compare_codes(const std::vector<ExpectedCode>& expected,
                             std::span<const Measurement> records, const IsSelected& is_selected) {
  CodeComparison comparison;
  ByKey rest = with_codes(records, expected);
  const std::set<std::string> keys = keys_of(records);
  for (const ExpectedCode& line : expected) {
    const auto matching = rest.extract(line.key);
    if (matching.empty()) {
      if (!keys.contains(line.key) && is_selected(line.key)) comparison.missing.push_back(line.key);
      continue;
    }
    const Measurement& record = *matching.mapped();
    const VerificationCode code = code_to_expect(record);
    if (code == line.code) {
      ++comparison.same;
      if (Verification{line.code, ""}.is_wrong()) comparison.failing.push_back(line.key);
      // Eager's own line has no code: it fails as expected if these lines expect that.
      if (line.code == VerificationCode::kEagerFailed && is_candidate(record.variant)) {
        comparison.failing.push_back(make_eager(record.variant).key);
      }
      continue;
    }
    auto& differences = code == VerificationCode::kPass ? comparison.better : comparison.worse;
    differences.push_back({line.key, line.code, code,
                           code == code_of(record) && record.verification
                               ? record.verification->reason
                               : reason_of(record)});
  }
  comparison.fresh = rest.size();
  return comparison;
}

tl::expected<ExpectedUpdate, Errors> update_expected_codes(const SourceText& source,
                                                           std::span<const Measurement> records,
                                                           const IsSelected& is_selected) {
  TRY_ASSIGN(auto csv, read_codes(source));
  std::vector<ExpectedCode>& codes = csv.lines;
  ExpectedUpdate update;
  ByKey rest = with_codes(records, codes);
  const std::set<std::string> keys = keys_of(records);
  for (ExpectedCode& line : codes) {
    const auto matching = rest.extract(line.key);
    if (matching.empty() || code_to_expect(*matching.mapped()) == line.code) continue;
    line.code = code_to_expect(*matching.mapped());
    ++update.changed;
  }
  update.removed = std::erase_if(codes, [&](const ExpectedCode& line) {
    return !keys.contains(line.key) && is_selected(line.key);
  });
  for (const auto& [key, record] : rest) codes.push_back({key, code_to_expect(*record)});
  update.added = rest.size();
  update.text = format_codes(std::move(csv));
  return update;
}

namespace {

std::string format_differences(const std::string& heading,
                               const std::vector<CodeDifference>& differences) {
  std::string text = differences.empty() ? "" : heading + "\n";
  for (const CodeDifference& difference : differences) {
    text += fmt::format("- {}: {}, expected {}", printable(difference.key),
                        to_string(difference.code), to_string(difference.expected));
    if (!difference.reason.empty() && difference.code != VerificationCode::kPass) {
      text += fmt::format(" ({})", printable(difference.reason));
    }
    text += "\n";
  }
  return text;
}

std::string format_comparison(const CodeComparison& compared, const std::string& file) {
  std::string text = fmt::format("{}: {} as expected", file, compared.same);
  for (const auto& [count, what] : {std::pair{compared.worse.size(), "worse"},
                                    {compared.better.size(), "better"},
                                    {compared.missing.size(), "missing"},
                                    {compared.fresh, "not in the file"}}) {
    if (count != 0) text += fmt::format(", {} {}", count, what);
  }
  text += "\n" + format_differences("worse than expected:", compared.worse);
  text += format_differences("better than expected (--update-expected-codes writes it):",
                             compared.better);
  if (compared.missing.empty()) return text;
  text += "in the file, but none of these experiments (--update-expected-codes removes them):\n";
  for (const std::string& key : compared.missing) text += fmt::format("- {}\n", printable(key));
  return text;
}

}  // namespace

tl::expected<std::vector<ExpectedCode>, Errors> read_codes_to_expect(const CodesOptions& options) {
  if (!options.file) return {};
  TRY_ASSIGN(const auto source, options.update ? SourceText::read_if_exists(*options.file)
                                               : SourceText::read(*options.file));
  auto codes = parse_expected_codes(source);
  if (!codes || !codes->empty() || options.update) return codes;
  return fail(Errors{{source.at(0, 0), "there is no expected code in this file",
                      "--update-expected-codes writes those that are measured"}});
}

tl::expected<CodesVerdict, Errors> judge_codes(const CodesOptions& options,
                                               const std::vector<ExpectedCode>& expected,
                                               std::span<const Measurement> records,
                                               const IsSelected& is_selected) {
  if (!options.file) return {};
  const std::string file = options.file->string();
  if (options.update) {
    TRY_ASSIGN(const auto updated, update_in_place(*options.file, [&](const SourceText& source) {
                 return update_expected_codes(source, records, is_selected);
               }));
    return CodesVerdict{fmt::format("{}: {} changed, {} added, {} removed\n", file, updated.changed,
                                    updated.added, updated.removed)};
  }
  const CodeComparison compared = compare_codes(expected, records, is_selected);
  return CodesVerdict{format_comparison(compared, file),
                      !compared.worse.empty() || !compared.missing.empty(),
                      {compared.failing.begin(), compared.failing.end()}};
}

}  // namespace instr
