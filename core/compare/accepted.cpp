#include "core/compare/accepted.h"

#include <fmt/format.h>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/text.h"
#include "core/compare/csv_reader.h"
#include "core/results/baselines.h"

namespace instr {

namespace {

struct AcceptedLine {
  std::string comment;  // the comment above the line
  Acceptance acceptance;
};

std::optional<AcceptedLine> read_accepted_line(CsvReader& reader, const CsvRecord& record) {
  const auto& fields = record.fields;
  Acceptance acceptance{.keys = from_cell(fields[0].text),
                        .metric = "",
                        .commit = from_cell(fields[4].text),
                        .who = from_cell(fields[5].text),
                        .why = from_cell(fields[6].text)};
  const auto read_number = [&reader](const CsvField& field, double& number) {
    const auto parsed = parse_number(field);
    if (parsed) number = *parsed;
    return parsed || reader.refuse(field.begin,
                                   fmt::format("`{}` is not a number", printable(trim(field.text))),
                                   "write the counts before and after, such as `12345`");
  };
  const bool is_good =
      reader.read_metric(fields[1], acceptance.metric) &&
      read_number(fields[2], acceptance.before) && read_number(fields[3], acceptance.after) &&
      (!trim(acceptance.why).empty() ||
       reader.refuse(fields[6].begin, "there is no reason", "say why it is accepted"));
  if (!is_good) return std::nullopt;
  return AcceptedLine{record.comment, std::move(acceptance)};
}

tl::expected<CsvFile<AcceptedLine>, Errors> read_accepted_lines(const SourceText& source) {
  const CsvFormat format{{"keys", "metric", "before", "after", "commit", "who", "why"},
                         7,
                         "let instr_bench accept write it"};
  return read_csv<AcceptedLine>(source, format, read_accepted_line);
}

// Each `*` in the pattern matches any text.
bool matches(std::string_view pattern, std::string_view key) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == key;
  if (!key.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= key.size(); ++at) {
    if (matches(rest, key.substr(at))) return true;
  }
  return false;
}

std::string format_cell(const std::string& field) { return as_cell(printable(field, true)); }

std::string format_line(const Acceptance& acceptance) {
  return csv_record({format_cell(acceptance.keys), acceptance.metric,
                     format_exactly(acceptance.before), format_exactly(acceptance.after),
                     format_cell(acceptance.commit), format_cell(acceptance.who),
                     format_cell(acceptance.why)}) +
         "\n";
}

}  // namespace

fs::path default_accepted_file() { return project_folder() / "accepted.csv"; }

tl::expected<Acceptances, Errors> read_accepted(const fs::path& file) {
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  TRY_ASSIGN(const auto csv, read_accepted_lines(source));
  Acceptances accepted;
  for (const AcceptedLine& line : csv.lines) accepted.push_back(line.acceptance);
  return accepted;
}

const Acceptance* find_accepted(const Acceptances& accepted, const std::string& key,
                                const std::string& metric, double before, double after) {
  for (const Acceptance& acceptance : accepted) {
    const bool is_same_change =
        acceptance.metric == metric && acceptance.before == before && acceptance.after == after;
    if (is_same_change && matches(acceptance.keys, key)) return &acceptance;
  }
  return nullptr;
}

tl::expected<void, Errors> write_accepted(
    const fs::path& file, const Acceptances& added,
    const std::function<bool(const Acceptance&)>& is_obsolete) {
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  TRY_ASSIGN(const auto csv, read_accepted_lines(source));
  std::string text = csv.head;
  Acceptances known;
  for (const AcceptedLine& line : csv.lines) {
    known.push_back(line.acceptance);
    if (!is_obsolete(line.acceptance)) text += line.comment + format_line(line.acceptance);
  }
  for (const auto& acceptance : added) {
    const auto& [keys, metric, before, after, commit, who, why] = acceptance;
    if (!find_accepted(known, keys, metric, before, after)) text += format_line(acceptance);
  }
  text += csv.tail;
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  TRY(replace_file(file, source.with_line_ends(text)));
  return {};
}

std::string to_string(const Acceptance& acceptance) {
  return fmt::format("accepted: {} ({})", printable(acceptance.why), printable(acceptance.who));
}

}  // namespace instr
