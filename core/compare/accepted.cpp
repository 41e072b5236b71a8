#include "core/compare/accepted.h"

#include <fmt/format.h>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/replace_file.h"
#include "core/base/trim.h"
#include "core/compare/csv_reader.h"
#include "core/results/baselines.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

struct AcceptedLine {
  std::string comment;  // above it
  Acceptance acceptance;
};

class AcceptedReader : private CsvReader {
 public:
  explicit AcceptedReader(const SourceText& source)
      : CsvReader(source, {{"keys", "metric", "before", "after", "commit", "who", "why"},
                           7,
                           "let instr_bench accept write it"}) {}

  tl::expected<std::vector<AcceptedLine>, Errors> read() {
    if (Errors errors = read_all(); !errors.empty()) return tl::unexpected(std::move(errors));
    return std::move(lines_);
  }

  using CsvReader::head;
  using CsvReader::tail;

 private:
  void read_record(const CsvRecord& record) override {
    const auto& fields = record.fields;
    Acceptance acceptance{.keys = from_cell(fields[0].text),
                          .metric = "",
                          .commit = from_cell(fields[4].text),
                          .who = from_cell(fields[5].text),
                          .why = from_cell(fields[6].text)};
    const bool is_good =
        read_metric(fields[1], acceptance.metric) && read_number(fields[2], acceptance.before) &&
        read_number(fields[3], acceptance.after) && check_reason(fields[6], acceptance);
    if (is_good) lines_.push_back({record.comment, std::move(acceptance)});
  }

  bool read_number(const CsvField& field, double& number) {
    const auto parsed = parse_number(field);
    if (parsed) number = *parsed;
    return parsed ||
           refuse(field.begin, fmt::format("`{}` is not a number", printable(trim(field.text))),
                  "write the counts before and after, such as `12345`");
  }

  bool check_reason(const CsvField& field, const Acceptance& acceptance) {
    if (!trim(acceptance.why).empty()) return true;
    return refuse(field.begin, "there is no reason", "say why it is accepted");
  }

  std::vector<AcceptedLine> lines_;
};

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
  TRY_ASSIGN(const auto lines, AcceptedReader(source).read());
  Acceptances accepted;
  for (const AcceptedLine& line : lines) accepted.push_back(line.acceptance);
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
  AcceptedReader reader(source);
  TRY_ASSIGN(const auto lines, reader.read());
  std::string text = reader.head();
  Acceptances known;
  for (const AcceptedLine& line : lines) {
    known.push_back(line.acceptance);
    if (!is_obsolete(line.acceptance)) text += line.comment + format_line(line.acceptance);
  }
  for (const auto& acceptance : added) {
    const auto& [keys, metric, before, after, commit, who, why] = acceptance;
    if (!find_accepted(known, keys, metric, before, after)) text += format_line(acceptance);
  }
  text += reader.tail();
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  TRY(replace_file(file, text));
  return {};
}

std::string to_string(const Acceptance& acceptance) {
  return fmt::format("accepted: {} ({})", printable(acceptance.why), printable(acceptance.who));
}

}  // namespace instr
