// The tables of an explanation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/base/format.h"
#include "core/report/compiled_call.h"
#include "core/report/explain.h"

namespace instr {

namespace {

constexpr std::size_t kWithCallers = 5;    // functions
constexpr std::size_t kMaxCallers = 3;     // callers of each function
constexpr std::size_t kMinNameWidth = 30;  // columns that names keep beside optional columns
constexpr std::size_t kNameBesideObject = 44;
constexpr std::size_t kColumnGap = 2;
constexpr const char* kUnknown = "-";
constexpr const char* kShare = "share";
constexpr const char* kSoFar = "so far";

// A function, one of its callers, or the rest.
struct FunctionLine {
  std::vector<std::string> numbers;
  std::string name;
  std::string object = {};
  bool is_function = false;  // true if its name can be shortened as C++
  bool is_caller = false;
  bool is_recursive = false;

  const char* before() const { return is_caller ? "  from " : ""; }
  const char* behind() const { return is_recursive ? " (recursive)" : ""; }
  std::size_t taken() const { return display_width(before()) + display_width(behind()); }
};

struct Section {
  std::string title;
  std::vector<std::string> headings;  // the headings of the numbers
  std::vector<FunctionLine> lines = {};
  const char* name = "function";  // the heading of the names
  bool has_objects = true;
};

FunctionLine make_line(const CodeName& code, std::vector<std::string> numbers) {
  return {.numbers = std::move(numbers),
          .name = code.function,
          .object = code.has_symbol ? code.object : "",
          .is_function = code.has_symbol};
}

FunctionLine make_line(const ExplainedFunction& function, std::vector<std::string> numbers) {
  FunctionLine line = make_line(function.code, std::move(numbers));
  line.is_recursive = function.is_recursive;
  return line;
}

// Without calls, "so far" is the share of all functions up to this one.
Section cost_section(const Explanation& explanation,
                     const std::vector<ExplainedFunction>& functions, std::size_t max) {
  const double total = explanation.total;
  Section section{"", {"self", kShare, kSoFar, "calls"}};
  if (explanation.has_calls) section.headings = {"self", kShare, "inclusive", kShare, "calls"};
  double sum = 0;
  const std::size_t shown = std::min(max, functions.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ExplainedFunction& function = functions[i];
    sum += function.self;
    std::vector<std::string> numbers{format_count(function.self), share_text(function.self, total)};
    if (explanation.has_calls) {
      numbers.push_back(function.inclusive ? format_count(*function.inclusive) : kUnknown);
      numbers.push_back(function.inclusive ? share_text(*function.inclusive, total) : kUnknown);
    } else {
      numbers.push_back(share_text(sum, total));
    }
    numbers.push_back(format_count(function.calls));
    section.lines.push_back(make_line(function, std::move(numbers)));
  }
  const std::size_t others = functions.size() - shown;
  if (explanation.is_of_callers || (others == 0 && total == sum)) return section;
  const double left = std::round((total - sum) * 1e6) / 1e6;  // rounding removes the sum's error
  FunctionLine rest{
      .numbers = {format_count(left), share_text(left, total)},
      .name = others > 0 ? format_plural(others, "other function") : explanation.rest};
  rest.numbers.resize(section.headings.size());
  section.lines.push_back(std::move(rest));
  return section;
}

void add_callers(Section& section, const ExplainedFunction& function, std::size_t max) {
  const auto whole = function.inclusive;
  const auto add = [&](FunctionLine line, const Caller& caller) {
    line.numbers = {format_count(caller.ir), whole ? share_text(caller.ir, *whole) : kUnknown,
                    format_count(caller.calls)};
    line.is_caller = true;
    section.lines.push_back(std::move(line));
  };
  section.lines.push_back(make_line(
      function, {whole ? format_count(*whole) : kUnknown, "", format_count(function.calls)}));
  Caller others;
  for (std::size_t i = 0; i < function.callers.size(); ++i) {
    const Caller& caller = function.callers[i];
    if (i < max) {
      add(make_line(caller.code, {}), caller);
    } else {
      others.ir += caller.ir;
      others.calls += caller.calls;
    }
  }
  if (function.callers.size() <= max) return;
  add({.numbers = {}, .name = format_plural(function.callers.size() - max, "other")}, others);
  // The calls of one caller may be made within those of another.
  if (!whole) section.lines.back().numbers[0] = kUnknown;
}

Section callers_section(const Explanation& explanation,
                        const std::vector<ExplainedFunction>& functions, std::size_t max) {
  Section section{"callers, with their share of the function's inclusive cost",
                  {"inclusive", kShare, "calls"}};
  const bool is_all = explanation.is_of_callers;
  std::size_t left = is_all ? max : std::min(max, kWithCallers);
  for (const ExplainedFunction& function : functions) {
    if (left == 0) break;
    if (function.callers.empty()) continue;
    add_callers(section, function, is_all ? max : kMaxCallers);
    --left;
  }
  return section;
}

// "sympy" of "sympy/core/expr.py:12"; "torch/_dynamo" of "torch/_dynamo/guards.py:7".
std::string package_of(const std::string& place) {
  const std::size_t first = place.find('/');
  if (first == std::string::npos) return "other modules";
  const std::string package = place.substr(0, first);
  const std::size_t second = package == "torch" ? place.find('/', first + 1) : std::string::npos;
  return second == std::string::npos ? package : place.substr(0, second);
}

// The self costs by package, highest first; no lines unless there are at least two.
Section packages_section(const Explanation& explanation, std::size_t max) {
  Section section{
      .title = "by package", .headings = {"self", kShare}, .name = "package", .has_objects = false};
  if (!explanation.has_packages || explanation.is_of_callers) return section;
  std::map<std::string, double> costs;
  for (const ExplainedFunction& function : explanation.functions) {
    costs[package_of(function.code.object)] += function.self;
  }
  if (costs.size() < 2) return section;
  std::vector<std::pair<std::string, double>> sorted(costs.begin(), costs.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, double>::second);
  sorted.resize(std::min(max, sorted.size()));
  for (const auto& [package, self] : sorted) {
    section.lines.push_back(
        {.numbers = {format_count(self), share_text(self, explanation.total)}, .name = package});
  }
  return section;
}

// The parts of a call of a compiled function, in its order.
Section parts_section(const Explanation& explanation) {
  Section section{.title = "parts of the call",
                  .headings = {"instructions", kShare},
                  .name = "part",
                  .has_objects = false};
  if (!explanation.has_calls || explanation.has_packages || explanation.is_of_callers) {
    return section;
  }
  for (const CallPart& part : parts_of_compiled_call(explanation)) {
    section.lines.push_back(
        {.numbers = {format_count(part.ir), share_text(part.ir, explanation.total)},
         .name = part.name});
  }
  return section;
}

// The name of each line, in `width` columns (0: any) with the text before and behind it. A function
// has the same name wherever the same width is left for it.
std::vector<std::string> fit_names(const std::vector<FunctionLine>& lines, std::size_t width) {
  const auto left_by = [width](std::size_t taken) {
    return width == 0 ? 0 : std::max(width, taken + 1) - taken;
  };
  std::map<std::size_t, std::set<std::string>> functions;  // number of columns beside them -> names
  for (const FunctionLine& line : lines) {
    if (line.is_function) functions[line.taken()].insert(line.name);
  }
  std::map<std::pair<std::size_t, std::string>, std::string> shown;
  for (const auto& [taken, names] : functions) {
    const std::vector<std::string> all(names.begin(), names.end());
    const auto fitting = short_function_names(all, left_by(taken));
    for (std::size_t i = 0; i < all.size(); ++i) shown[{taken, all[i]}] = fitting[i];
  }
  std::vector<std::string> result;
  for (const FunctionLine& line : lines) {
    const std::size_t left = left_by(line.taken());
    std::string name = printable(line.name);
    if (line.is_function) {
      name = shown.at({line.taken(), line.name});
    } else if (left > 0) {
      name = shorten_middle(name, left);
    }
    result.push_back(line.before() + name + line.behind());
  }
  return result;
}

// The table without the names. `where`: the heading of the objects; null: without them.
DocumentTable make_numbers(const Section& section, bool with_shares, const char* where) {
  DocumentTable table{.title = section.title, .columns = {}, .headings = Headings::kStyled};
  table.rows.resize(section.lines.size());
  for (std::size_t i = 0; i < section.headings.size(); ++i) {
    const std::string& heading = section.headings[i];
    if (!with_shares && (heading == kShare || heading == kSoFar)) continue;
    table.columns.push_back({heading});
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      table.rows[row].cells.push_back({section.lines[row].numbers[i]});
    }
  }
  table.name_column = table.columns.size();
  if (where == nullptr) return table;
  table.columns.push_back({.heading = where, .align = Align::kLeft});
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    table.rows[row].cells.push_back({printable(section.lines[row].object)});
  }
  return table;
}

// In `width` columns (0: any): the objects are left out first, then the shares.
DocumentTable make_table(const Section& section, const char* where, std::size_t width) {
  const auto left_beside = [width](const DocumentTable& table) -> std::size_t {
    if (width == 0) return 0;
    const std::size_t taken = columns_width(table) + kColumnGap;
    return width > taken ? width - taken : 1;
  };
  DocumentTable table = make_numbers(section, true, where);
  if (width > 0 && left_beside(table) < kNameBesideObject) {
    table = make_numbers(section, true, nullptr);
  }
  if (width > 0 && left_beside(table) < kMinNameWidth) {
    table = make_numbers(section, false, nullptr);
  }
  const auto names = fit_names(section.lines, left_beside(table));
  const auto place = static_cast<std::ptrdiff_t>(table.name_column);
  table.columns.insert(table.columns.begin() + place,
                       {.heading = section.name, .align = Align::kLeft});
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
  std::vector<ExplainedFunction> functions = explanation.functions;
  if (options.order == ExplainOrder::kInclusive && explanation.has_calls) {
    std::stable_sort(functions.begin(), functions.end(), [](const auto& left, const auto& right) {
      return left.inclusive.value_or(0) > right.inclusive.value_or(0);
    });
  }
  const std::size_t max = options.max_functions;
  const auto width = static_cast<std::size_t>(std::max(options.width, 0));
  std::vector<DocumentTable> tables;
  for (const Section& section :
       {cost_section(explanation, functions, max), parts_section(explanation),
        packages_section(explanation, max), callers_section(explanation, functions, max)}) {
    const bool is_of_costs = tables.empty();
    if (!is_of_costs && section.lines.empty()) continue;
    const char* const where = section.has_objects ? explanation.where : nullptr;
    tables.push_back(make_table(section, where, width));
  }
  return tables;
}

}  // namespace instr
