#include "core/compare/accepted.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

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
    Acceptance one{
        from_cell(fields[0].text), "", 0, 0, from_cell(fields[4].text), from_cell(fields[5].text),
        from_cell(fields[6].text)};
    const bool is_good = read_metric(fields[1], one.metric) && read_number(fields[2], one.before) &&
                         read_number(fields[3], one.after) && read_reason(fields[6], one);
    if (is_good) lines_.push_back({record.comment, std::move(one)});
  }

  bool read_number(const CsvField& field, double& number) {
    const std::string_view text = trim(field.text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    if (is_number && std::isfinite(number)) return true;
    return refuse(field.begin, fmt::format("`{}` is not a number", printable(text)),
                  "write the counts before and after, such as `12345`");
  }

  bool read_reason(const CsvField& field, const Acceptance& one) {
    if (!trim(one.why).empty()) return true;
    return refuse(field.begin, "there is no reason", "say why it is accepted");
  }

  std::vector<AcceptedLine> lines_;
};

// Whether the key is what the pattern says, whose `*` are any text.
bool is_match(std::string_view pattern, std::string_view key) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == key;
  if (!key.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= key.size(); ++at) {
    if (is_match(rest, key.substr(at))) return true;
  }
  return false;
}

std::string text_of(const std::string& field) { return as_cell(printable(field, true)); }

std::string line_of(const Acceptance& one) {
  return csv_record({text_of(one.keys), one.metric, count_text(one.before), count_text(one.after),
                     text_of(one.commit), text_of(one.who), text_of(one.why)}) +
         "\n";
}

}  // namespace

fs::path default_accepted_file() { return project_folder() / "accepted.csv"; }

tl::expected<Acceptances, Errors> read_accepted(const fs::path& file) {
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  return AcceptedReader(source).read().map([](const std::vector<AcceptedLine>& lines) {
    Acceptances accepted;
    for (const AcceptedLine& line : lines) accepted.push_back(line.acceptance);
    return accepted;
  });
}

const Acceptance* find_accepted(const Acceptances& accepted, const std::string& key,
                                const std::string& metric, double before, double after) {
  auto found = std::find_if(accepted.begin(), accepted.end(), [&](const Acceptance& one) {
    return one.metric == metric && one.before == before && one.after == after &&
           is_match(one.keys, key);
  });
  return found == accepted.end() ? nullptr : &*found;
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
    if (!is_obsolete(line.acceptance)) text += line.comment + line_of(line.acceptance);
  }
  for (const Acceptance& one : added) {
    if (!find_accepted(known, one.keys, one.metric, one.before, one.after)) text += line_of(one);
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
