// An explanation for people: as tables for a terminal, and as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/report/explain.h"

namespace instr {

namespace {

constexpr std::size_t kWithCallers = 5;    // functions
constexpr std::size_t kMaxCallers = 3;     // of each
constexpr std::size_t kMinNameWidth = 30;  // columns that names keep beside what can be left out
constexpr std::size_t kNameBesideObject = 44;
constexpr const char* kUnknown = "-";
constexpr const char* kFrom = "  from ";
constexpr const char* kRecursive = " (recursive)";

// A function, one of its callers, or what is left.
struct FunctionLine {
  std::string name;
  std::string object = {};
  std::vector<std::string> numbers = {};
  const char* before = "";  // the name
  const char* behind = "";
  bool is_function = true;  // whose name can be shortened as C++
};

struct Section {
  std::string title;
  std::vector<std::string> headings;  // of the numbers
  std::vector<FunctionLine> lines = {};
  const char* where = "object";  // what a function's object is
};

constexpr const char* kShare = "share";
constexpr const char* kSoFar = "so far";

bool is_optional(const std::string& heading) { return heading == kShare || heading == kSoFar; }

FunctionLine line_of(const CodeName& code, std::vector<std::string> numbers) {
  FunctionLine line{code.function, code.has_symbol ? code.object : "", std::move(numbers)};
  line.is_function = code.has_symbol;
  return line;
}

FunctionLine function_line(const ExplainedFunction& function, std::vector<std::string> numbers) {
  FunctionLine line = line_of(function.code, std::move(numbers));
  if (function.is_recursive) line.behind = kRecursive;
  return line;
}

// What no function above accounts for.
void add_rest(Section& section, const Explanation& explanation, double sum, std::size_t shown) {
  const double rest = explanation.total - sum;
  const std::size_t others = explanation.functions.size() - shown;
  if (others == 0 && rest == 0) return;
  FunctionLine line{others > 0 ? format_plural(others, "other function") : explanation.rest};
  line.is_function = false;
  line.numbers = {format_count(rest), share_text(rest, explanation.total)};
  line.numbers.resize(section.headings.size());
  section.lines.push_back(std::move(line));
}

// Of a results file: the third number is the share of all functions up to this one.
Section self_section(const Explanation& explanation, std::size_t max) {
  Section section{"", {"self", kShare, kSoFar, "calls"}};
  double sum = 0;
  const std::size_t shown = std::min(max, explanation.functions.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ExplainedFunction& one = explanation.functions[i];
    sum += one.self;
    section.lines.push_back(
        line_of(one.code, {format_count(one.self), share_text(one.self, explanation.total),
                           share_text(sum, explanation.total), format_count(one.calls)}));
  }
  add_rest(section, explanation, sum, shown);
  return section;
}

// Where calls are known, `functions` being the explanation's in the order that is shown.
Section cost_section(const Explanation& explanation,
                     const std::vector<ExplainedFunction>& functions, std::size_t max) {
  Section section{"", {"self", kShare, "inclusive", kShare, "calls"}};
  double sum = 0;
  const std::size_t shown = std::min(max, functions.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ExplainedFunction& one = functions[i];
    sum += one.self;
    section.lines.push_back(function_line(
        one, {format_count(one.self), share_text(one.self, explanation.total),
              one.inclusive ? format_count(*one.inclusive) : kUnknown,
              one.inclusive ? share_text(*one.inclusive, explanation.total) : kUnknown,
              format_count(one.calls)}));
  }
  if (!explanation.is_of_callers) add_rest(section, explanation, sum, shown);
  return section;
}

void add_caller(Section& section, FunctionLine line) {
  line.before = kFrom;
  section.lines.push_back(std::move(line));
}

void add_callers(Section& section, const ExplainedFunction& function, std::size_t max) {
  const auto whole = function.inclusive;
  auto numbers = [whole](const Caller& one) {
    return std::vector{format_count(one.ir), whole ? share_text(one.ir, *whole) : kUnknown,
                       format_count(one.calls)};
  };
  section.lines.push_back(function_line(
      function, {whole ? format_count(*whole) : kUnknown, "", format_count(function.calls)}));
  Caller others;
  for (std::size_t i = 0; i < function.callers.size(); ++i) {
    const Caller& caller = function.callers[i];
    if (i < max) {
      add_caller(section, line_of(caller.code, numbers(caller)));
    } else {
      others.ir += caller.ir;
      others.calls += caller.calls;
    }
  }
  if (function.callers.size() <= max) return;
  FunctionLine line{format_plural(function.callers.size() - max, "other"), "", numbers(others)};
  if (!whole) line.numbers[0] = kUnknown;  // one's calls may be made in another's
  line.is_function = false;
  add_caller(section, std::move(line));
}

Section callers_section(const Explanation& explanation,
                        const std::vector<ExplainedFunction>& functions, std::size_t max) {
  Section section{"callers, with their share of the function's inclusive cost",
                  {"inclusive", kShare, "calls"}};
  const bool is_all = explanation.is_of_callers;
  std::size_t left = is_all ? max : std::min(max, kWithCallers);
  for (const ExplainedFunction& one : functions) {
    if (left == 0) break;
    if (one.callers.empty()) continue;
    add_callers(section, one, is_all ? max : kMaxCallers);
    --left;
  }
  return section;
}

std::vector<Section> sections_of(const Explanation& explanation, const ExplainOptions& options) {
  const std::size_t max = options.max_functions;
  if (!explanation.has_calls) return {self_section(explanation, max)};
  std::vector<ExplainedFunction> functions = explanation.functions;
  if (options.order == ExplainOrder::kInclusive) {
    std::stable_sort(functions.begin(), functions.end(), [](const auto& left, const auto& right) {
      return left.inclusive.value_or(0) > right.inclusive.value_or(0);
    });
  }
  Section callers = callers_section(explanation, functions, max);
  std::vector<Section> sections{cost_section(explanation, functions, max)};
  if (!callers.lines.empty()) sections.push_back(std::move(callers));
  for (Section& section : sections) section.where = explanation.where;
  return sections;
}

// Each line's name, with what stands before and behind it, in `width` columns (0: any). A function
// has the same one wherever as much is left for it.
std::vector<std::string> names_of(const std::vector<FunctionLine>& lines, std::size_t width) {
  std::map<std::size_t, std::set<std::string>> functions;  // by the columns beside them
  const auto beside = [](const FunctionLine& line) {
    return display_width(line.before) + display_width(line.behind);
  };
  for (const FunctionLine& line : lines) {
    if (line.is_function) functions[beside(line)].insert(line.name);
  }
  std::map<std::pair<std::size_t, std::string>, std::string> shown;
  for (const auto& [taken, names] : functions) {
    const std::vector<std::string> all(names.begin(), names.end());
    const auto fitting =
        short_function_names(all, width == 0 ? 0 : std::max(width, taken + 1) - taken);
    for (std::size_t i = 0; i < all.size(); ++i) shown[{taken, all[i]}] = fitting[i];
  }
  std::vector<std::string> result;
  for (const FunctionLine& line : lines) {
    const std::size_t taken = beside(line);
    const std::string name =
        line.is_function ? shown.at({taken, line.name})
        : width == 0     ? printable(line.name)
                         : shorten_middle(printable(line.name), std::max(width, taken + 1) - taken);
    result.push_back(line.before + name + line.behind);
  }
  return result;
}

DocumentTable numbers_of(const Section& section, bool with_shares, bool with_object) {
  DocumentTable table{.title = section.title, .columns = {}, .headings = Headings::kStyled};
  table.rows.resize(section.lines.size());
  for (std::size_t i = 0; i < section.headings.size(); ++i) {
    if (!with_shares && is_optional(section.headings[i])) continue;
    table.columns.push_back({section.headings[i]});
    for (std::size_t at = 0; at < section.lines.size(); ++at) {
      table.rows[at].cells.push_back({section.lines[at].numbers[i]});
    }
  }
  table.name_column = table.columns.size();
  if (!with_object) return table;
  table.columns.push_back({.heading = section.where, .align = Align::kLeft});
  for (std::size_t at = 0; at < section.lines.size(); ++at) {
    table.rows[at].cells.push_back({printable(section.lines[at].object)});
  }
  return table;
}

// The columns that names may take beside the table; 0: any.
std::size_t left_beside(const DocumentTable& table, std::size_t width) {
  constexpr std::size_t kColumnGap = 2;
  if (width == 0) return 0;
  const std::size_t taken = columns_width(table) + kColumnGap;
  return width > taken ? width - taken : 1;
}

DocumentTable table_of(const Section& section, std::size_t width) {
  const auto is_too_narrow = [width](const DocumentTable& table, std::size_t min) {
    return width != 0 && left_beside(table, width) < min;
  };
  DocumentTable table = numbers_of(section, true, true);
  if (is_too_narrow(table, kNameBesideObject)) table = numbers_of(section, true, false);
  if (is_too_narrow(table, kMinNameWidth)) table = numbers_of(section, false, false);
  const auto names = names_of(section.lines, left_beside(table, width));
  const auto place = static_cast<std::ptrdiff_t>(table.name_column);
  table.columns.insert(table.columns.begin() + place,
                       {.heading = "function", .align = Align::kLeft});
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto& cells = table.rows[i].cells;
    cells.insert(cells.begin() + place, DocumentCell{names[i]});
  }
  return table;
}

}  // namespace

std::string explanation_title(const std::string& key, double total) {
  return printable(key) + ": " + format_count(total) + " instructions per iteration";
}

std::string share_text(double part, double whole) {
  return fmt::format("{:.1f}%", whole == 0 ? 0 : 100 * part / whole);
}

std::vector<DocumentTable> explain_tables(const Explanation& explanation,
                                          const ExplainOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(options.width, 0));
  std::vector<DocumentTable> tables;
  for (const Section& section : sections_of(explanation, options)) {
    tables.push_back(table_of(section, width));
  }
  return tables;
}

}  // namespace instr
