#include "core/compare/expected_codes.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/trim.h"
#include "core/compare/csv_reader.h"
#include "core/compare/expected_document.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCodesHeader = "key,code";

class CodeReader : private CsvReader {
 public:
  explicit CodeReader(const SourceText& source) : CsvReader(source) {}

  tl::expected<std::vector<ExpectedCode>, Errors> read() {
    if (Errors errors = read_all(); !errors.empty()) return tl::unexpected(std::move(errors));
    return std::move(codes_);
  }

 private:
  bool read_header(const CsvRecord& header) override {
    const auto& fields = header.fields;
    const bool is_header =
        fields.size() == 2 && trim(fields[0].text) == "key" && trim(fields[1].text) == "code";
    return is_header || refuse(header.lines.begin, "this is not a file of expected codes",
                               fmt::format("the first line is `{}`", kCodesHeader));
  }

  void read_record(const CsvRecord& record) override {
    const auto& fields = record.fields;
    if (fields.size() != 2) {
      refuse(record.lines.begin,
             fmt::format("this line has {}, and not 2", format_plural(fields.size(), "field")),
             "write for example `layers/GRUCell/frozen/forward/t1/cpu,PASS`");
      return;
    }
    ExpectedCode code{from_cell(fields[0].text), {}, fields[1].span, record.lines};
    if (read_key(fields[0], code) && read_code(fields[1], code)) codes_.push_back(std::move(code));
  }

  bool read_key(const CsvField& field, const ExpectedCode& code) {
    if (code.key.empty())
      return refuse(field.span.begin, "the key is empty", "list shows all keys");
    const auto [known, is_new] = seen_.emplace(code.key, line_of(field));
    return is_new || refuse(field.span.begin,
                            fmt::format("`{}` has two codes; the first is on line {}",
                                        printable(code.key), known->second),
                            "remove one of them");
  }

  bool read_code(const CsvField& field, ExpectedCode& code) {
    const std::string word(trim(field.text));
    const auto known = verification_code_from(word);
    if (!known) {
      return refuse(field.span.begin, fmt::format("unknown code `{}`", printable(word)),
                    did_you_mean(word, verification_code_names()));
    }
    code.code = *known;
    return true;
  }

  std::vector<ExpectedCode> codes_;
  std::map<std::string, int> seen_;
};

using ByKey = std::map<std::string, const ExperimentRecord*>;

// Those that have a code of their own.
ByKey with_codes(std::span<const ExperimentRecord> records) {
  ByKey by_key;
  for (const ExperimentRecord& record : records) {
    const bool is_skipped = record.state == ExperimentState::kSkipped;
    if (is_candidate(record.variant) && !is_skipped) by_key[record.variant.key] = &record;
  }
  return by_key;
}

std::set<std::string> keys_of(std::span<const ExperimentRecord> records) {
  std::set<std::string> keys;
  for (const ExperimentRecord& record : records) keys.insert(record.variant.key);
  return keys;
}

}  // namespace

tl::expected<std::vector<ExpectedCode>, Errors> parse_expected_codes(const SourceText& source) {
  if (is_csv(source)) return CodeReader(source).read();
  return tl::unexpected(Errors{{source.at(0, 0), "expected codes are in a CSV file",
                                "give the file a name that ends in .csv"}});
}

tl::expected<std::vector<ExpectedCode>, Errors> read_expected_codes(const fs::path& file) {
  const auto source = SourceText::read(file);
  if (!source) return tl::unexpected(Errors{source.error()});
  auto codes = parse_expected_codes(*source);
  if (!codes || !codes->empty()) return codes;
  return tl::unexpected(Errors{{source->at(0, 0), "there is no expected code in this file",
                                "--update-expected-codes writes those that are measured"}});
}

CodeComparison compare_codes(const std::vector<ExpectedCode>& expected,
                             std::span<const ExperimentRecord> records,
                             const IsSelected& is_selected) {
  CodeComparison comparison;
  ByKey rest = with_codes(records);
  const std::set<std::string> keys = keys_of(records);
  for (const ExpectedCode& one : expected) {
    const auto found = rest.extract(one.key);
    if (found.empty()) {
      if (!keys.contains(one.key) && is_selected(one.key)) comparison.missing.push_back(one.key);
      continue;
    }
    const ExperimentRecord& record = *found.mapped();
    if (record.code == one.code) {
      ++comparison.same;
      if (Verification{one.code, ""}.is_wrong()) comparison.failing.push_back(one.key);
      continue;
    }
    auto& differences =
        record.code == VerificationCode::kPass ? comparison.better : comparison.worse;
    differences.push_back({one.key, one.code, record.code, record.code_reason});
  }
  comparison.fresh = rest.size();
  return comparison;
}

tl::expected<ExpectedUpdate, Errors> update_expected_codes(
    const SourceText& source, std::span<const ExperimentRecord> records,
    const IsSelected& is_selected) {
  const auto codes = parse_expected_codes(source);
  if (!codes) return tl::unexpected(codes.error());
  ExpectedUpdate update;
  ByKey rest = with_codes(records);
  const std::set<std::string> keys = keys_of(records);
  std::vector<TextSpan> gone;
  std::vector<TextEdit> edits;
  for (const ExpectedCode& one : *codes) {
    const auto found = rest.extract(one.key);
    if (!found.empty() && found.mapped()->code != one.code) {
      edits.push_back({one.word, to_string(found.mapped()->code)});
      ++update.changed;
    } else if (!keys.contains(one.key) && is_selected(one.key)) {
      gone.push_back(one.lines);
      ++update.removed;
    }
  }
  for (TextEdit& edit : removals_of(source.text(), std::move(gone)))
    edits.push_back(std::move(edit));
  update.text = edited(source.text(), std::move(edits));
  const std::string_view end = line_end_of(source.text());
  end_last_line(update.text, end);
  if (is_blank(update.text)) update.text += fmt::format("{}{}", kCodesHeader, end);
  for (const auto& [key, record] : rest) {
    update.text += fmt::format("{},{}{}", csv_field(key), to_string(record->code), end);
    ++update.added;
  }
  update.text.insert(0, source.byte_order_mark());
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_codes_file(
    const fs::path& file, std::span<const ExperimentRecord> records,
    const IsSelected& is_selected) {
  return update_in_place(file, [&](const SourceText& source) {
    return update_expected_codes(source, records, is_selected);
  });
}

}  // namespace instr
