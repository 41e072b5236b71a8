#include "core/report/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/table.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kExplanationSchema = 1;

// Joins the code without symbols of each library, whose functions are named by address.
std::map<CodeName, ExplainedFunction> merged(const std::vector<FunctionCost>& functions) {
  std::map<CodeName, ExplainedFunction> sums;
  for (const FunctionCost& cost : functions) {
    CodeName code = code_name(cost.function, cost.object);
    ExplainedFunction& sum = sums[code];
    sum.code = std::move(code);
    sum.self += cost.ir;
    sum.calls += cost.calls;
  }
  return sums;
}

Explanation without_functions(const std::string& key, const Counted& counted) {
  Explanation explanation;
  explanation.key = key;
  explanation.iterations = counted.iterations;
  explanation.device_events = counted.device_events;
  explanation.reads_device = counted.reads_device;
  if (auto it = counted.metrics.find(kInstructions); it != counted.metrics.end()) {
    explanation.total = it->second;
  }
  return explanation;
}

void sort_by_self(std::vector<ExplainedFunction>& functions) {
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& left, const auto& right) { return left.self > right.self; });
}

Json function_json(const ExplainedFunction& function, bool has_calls) {
  Json json{{"function", function.code.function},
            {"object", function.code.object},
            {"self", json_number(function.self)},
            {"calls", json_number(function.calls)}};
  if (!has_calls) return json;
  json["inclusive"] = function.inclusive ? json_number(*function.inclusive) : nullptr;
  json["recursive"] = function.is_recursive;
  json["callers"] = Json::array();
  for (const Caller& caller : function.callers) {
    json["callers"].push_back({{"function", caller.code.function},
                               {"object", caller.code.object},
                               {"inclusive", json_number(caller.ir)},
                               {"calls", json_number(caller.calls)}});
  }
  return json;
}

DocumentRecord make_record(const ExplainedFunction& function, bool has_calls) {
  const auto number = [](double value) { return to_line(json_number(value)); };
  const CodeName& code = function.code;
  DocumentRecord record{to_line(function_json(function, has_calls)), {}};
  record.lines.push_back({code.function, code.object, "", "", number(function.self),
                          function.inclusive ? number(*function.inclusive) : "",
                          number(function.calls)});
  for (const Caller& caller : function.callers) {
    record.lines.push_back({code.function, code.object, caller.code.function, caller.code.object,
                            "", number(caller.ir), number(caller.calls)});
  }
  return record;
}

constexpr const char* kNoCalls =
    "A results file holds self costs alone: without it, explain measures, and shows inclusive "
    "costs and callers, too.";

// Functions of libtorch_python.so, up to the parameters.
constexpr const char* kLookup = "lookup";
constexpr const char* kGuards = "torch::dynamo::run_root_guard_manager";
constexpr const char* kCode = "dynamo_eval_custom_code";
constexpr const char* kBackward = "torch::autograd::python::PythonEngine::execute";
constexpr const char* kKernels = ".main.so";  // the end of the name of Inductor's libraries

const ExplainedFunction* find(const Explanation& explanation, const std::string& name) {
  const auto found = std::ranges::find_if(explanation.functions, [&](const auto& function) {
    const std::string& full = function.code.function;
    return function.code.object == "libtorch_python.so" &&
           (full == name || full.starts_with(name + "("));
  });
  return found == explanation.functions.end() ? nullptr : &*found;
}

double inclusive(const ExplainedFunction* function) {
  return function == nullptr ? 0 : function->inclusive.value_or(0);
}

// The calls of Inductor's kernels by other code.
double cost_of_kernels(const Explanation& explanation) {
  double sum = 0;
  for (const ExplainedFunction& function : explanation.functions) {
    if (!function.code.object.ends_with(kKernels)) continue;
    for (const Caller& caller : function.callers) {
      if (!caller.code.object.ends_with(kKernels)) sum += caller.ir;
    }
  }
  return sum;
}

}  // namespace

Explanation explain(const std::string& key, const Counted& counted,
                    const std::map<CodeName, InclusiveCost>* costs) {
  Explanation explanation = without_functions(key, counted);
  explanation.has_calls = costs != nullptr;
  for (auto& [code, function] : merged(counted.functions)) {
    if (costs != nullptr && costs->contains(code)) {
      const InclusiveCost& cost = costs->at(code);
      // The snippet's own part holds the loop, which is not part of the count.
      function.inclusive = code.is_snippet() ? explanation.total : cost.ir;
      function.is_recursive = cost.is_recursive;
      function.callers = cost.callers;
    }
    explanation.functions.push_back(std::move(function));
  }
  sort_by_self(explanation.functions);
  return explanation;
}

Explanation explain_followed(const std::string& key, const Counted& counted,
                             const std::vector<FollowedFunction>& functions) {
  Explanation explanation = without_functions(key, counted);
  explanation.has_calls = true;
  explanation.has_packages = true;
  explanation.where = "place";
  explanation.rest = "in following the calls, not in the count";
  for (const FollowedFunction& function : functions) {
    explanation.functions.push_back({function.code, function.self, function.calls, function.cost.ir,
                                     function.cost.is_recursive, function.cost.callers});
  }
  sort_by_self(explanation.functions);
  return explanation;
}

Explanation select_callers(Explanation explanation,
                           const std::function<bool(const std::string&)>& is_wanted) {
  explanation.is_of_callers = true;
  std::erase_if(explanation.functions, [&is_wanted](const ExplainedFunction& function) {
    return !is_wanted(function.code.function);
  });
  return explanation;
}

std::vector<CallPart> parts_of_compiled_call(const Explanation& explanation) {
  const ExplainedFunction* const code = find(explanation, kCode);
  if (code == nullptr || !code->inclusive || code->is_recursive) return {};
  const double guards = inclusive(find(explanation, kGuards));
  const double lookup = inclusive(find(explanation, kLookup)) - guards;
  const double backward = inclusive(find(explanation, kBackward));
  const double kernels = cost_of_kernels(explanation);
  std::vector<CallPart> parts{{"guards", guards}, {"search for the compiled code", lookup}};
  if (backward != 0) {
    parts.push_back({"compiled code of forward", *code->inclusive});
    parts.push_back({"backward()", backward});
  } else if (kernels != 0) {
    parts.push_back({"compiled code but its kernels", *code->inclusive - kernels});
    parts.push_back({"Inductor's kernels", kernels});
  } else {
    parts.push_back({"compiled code", *code->inclusive});
  }
  double sum = 0;
  for (const CallPart& part : parts) sum += part.ir;
  parts.push_back({"torch.compile() around them, and the rest", explanation.total - sum});
  return parts;
}

namespace {

// "a/b: 1,174 instructions per iteration"
std::string explanation_title(const std::string& key, double total) {
  return printable(key) + ": " + format_count(total) + " instructions per iteration";
}

// "12.5%"
std::string share_text(double part, double whole) {
  return fmt::format("{:.1f}%", whole == 0 ? 0 : 100 * part / whole);
}

constexpr int kLinesSchema = 1;
constexpr const char* kUnknownLine = "-";

std::vector<const LineCost*> in_order(const LineCosts& costs, ExplainOrder order) {
  const auto cost = [order](const LineCost* line) {
    return order == ExplainOrder::kSelf ? line->self : line->inclusive.value_or(line->self);
  };
  std::vector<const LineCost*> lines;
  for (const LineCost& line : costs.lines) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [&cost](const auto* left, const auto* right) {
    return cost(left) > cost(right);
  });
  return lines;
}

DocumentTable make_table(double total, const LineCosts& costs, const ExplainOptions& options) {
  const std::size_t width = options.render.width;
  DocumentTable table{.columns = {{"self"},
                                  {"share"},
                                  {"inclusive"},
                                  {"share"},
                                  {.heading = "line", .align = Align::kLeft},
                                  {.heading = "source", .align = Align::kLeft}},
                      .name_column = 4,
                      .headings = Headings::kStyled,
                      .shortens_last = true};
  const auto add = [&](double self, const std::string& place, const char* inclusive = "") {
    table.rows.push_back({.cells = {{format_count(self)},
                                    {share_text(self, total)},
                                    {inclusive},
                                    {},
                                    {shorten_middle(printable(place), path_width(width))},
                                    {}}});
  };
  const auto lines = in_order(costs, options.order);
  const std::size_t shown = std::min(options.max_functions, lines.size());
  double others = 0;
  double rest = total;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LineCost& line = *lines[i];
    const double self = costs.per_iteration(line.self);
    rest -= self;
    if (i >= shown) {
      others += self;
      continue;
    }
    add(self, fmt::format("{}:{}", line.file, line.line), kUnknownLine);
    std::vector<DocumentCell>& cells = table.rows.back().cells;
    cells.back().text = printable(line.text);
    if (!line.inclusive) continue;
    const double inclusive = costs.per_iteration(*line.inclusive);
    cells[2].text = format_count(inclusive);
    cells[3].text = share_text(inclusive, total);
  }
  if (shown < lines.size()) add(others, format_plural(lines.size() - shown, "other line"));
  if (rest != 0) add(rest, kNoLineNumbers);
  return table;
}

DocumentRecord make_record(const LineCost& line, const LineCosts& costs) {
  const Json self = json_number(costs.per_iteration(line.self));
  const Json inclusive =
      line.inclusive ? json_number(costs.per_iteration(*line.inclusive)) : nullptr;
  return {to_line({{"file", line.file},
                   {"line", line.line},
                   {"self", self},
                   {"inclusive", inclusive},
                   {"text", line.text}}),
          {{line.file, std::to_string(line.line), to_line(self),
            inclusive.is_null() ? "" : to_line(inclusive), line.text}}};
}

// The tables of an explanation.

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
  Section section{
      .title = "", .headings = {"self", kShare, kSoFar, "calls"}, .name = explanation.unit};
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
  FunctionLine rest{.numbers = {format_count(left), share_text(left, total)},
                    .name = others > 0
                                ? format_plural(others, std::string("other ") + explanation.unit)
                                : explanation.rest};
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
  Section section{.title = fmt::format("callers, with their share of the {}'s inclusive cost",
                                       explanation.unit),
                  .headings = {"inclusive", kShare, "calls"},
                  .name = explanation.unit};
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

std::vector<DocumentTable> explain_tables(const Explanation& explanation,
                                          const ExplainOptions& options) {
  std::vector<ExplainedFunction> functions = explanation.functions;
  if (options.order == ExplainOrder::kInclusive && explanation.has_calls) {
    std::stable_sort(functions.begin(), functions.end(), [](const auto& left, const auto& right) {
      return left.inclusive.value_or(0) > right.inclusive.value_or(0);
    });
  }
  const std::size_t max = options.max_functions;
  const std::size_t width = options.render.width;
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

namespace {

std::string device_events_text(const std::vector<DeviceEvent>& events) {
  std::string text;
  for (const DeviceEvent& event : events) {
    text += "\n  " + event.text + (event.caller.empty() ? "" : ", by " + event.caller);
  }
  return text;
}

}  // namespace

Document explain_document(const Explanation& explanation, const ExplainOptions& options) {
  Document document{.title = explanation_title(explanation.key, explanation.total),
                    .tables = explain_tables(explanation, options)};
  if (!explanation.has_calls) document.notes.push_back({.text = kNoCalls});
  if (!explanation.device_events.empty()) {
    document.notes.push_back(
        {.kind = DocumentNote::Kind::kText,
         .text = "on the device, in order:" + device_events_text(explanation.device_events)});
  }
  Json head{{"schema", kExplanationSchema},
            {"program", "instr_bench"},
            {"version", kProgramVersion},
            {"kind", "explanation"},
            {"key", explanation.key},
            {kInstructions, json_number(explanation.total)},
            {"iterations", explanation.iterations},
            {"has_calls", explanation.has_calls}};
  if (explanation.reads_device) document.notes.push_back({.text = std::string("it ") + kWhyMadeUp});
  for (const DeviceEvent& event : explanation.device_events) {
    head["device_events"].push_back({{"event", event.text}, {"caller", event.caller}});
  }
  document.head = to_line(head);
  document.list_name = "functions";
  document.fields = {"function", "object", "caller", "caller_object", "self", "inclusive", "calls"};
  for (const ExplainedFunction& function : explanation.functions) {
    document.records.push_back(make_record(function, explanation.has_calls));
  }
  return document;
}

Document lines_document(const std::string& key, double total, const LineCosts& costs,
                        const ExplainOptions& options) {
  Document document{.title = explanation_title(key, total),
                    .tables = {make_table(total, costs, options)}};
  document.head = to_line({{"schema", kLinesSchema},
                           {"program", "instr_bench"},
                           {"version", kProgramVersion},
                           {"kind", "lines"},
                           {"key", key},
                           {kInstructions, json_number(total)},
                           {"iterations", costs.iterations}});
  document.list_name = "lines";
  document.fields = {"file", "line", "self", "inclusive", "text"};
  for (const LineCost& line : costs.lines) document.records.push_back(make_record(line, costs));
  return document;
}

}  // namespace

std::string explain_report(ReportFormat format, const Explanation& explanation,
                           const ExplainOptions& options) {
  ExplainOptions shown = options;
  if (format != ReportFormat::kTable) {
    shown.render.width = 0;
  } else if (options.render.width == 0) {
    shown.render.width = kPipeWidth;
  }
  return render(format, explain_document(explanation, shown), options.render);
}

std::string lines_report(ReportFormat format, const std::string& key, double total,
                         const LineCosts& costs, const ExplainOptions& options) {
  ExplainOptions shown = options;
  if (format != ReportFormat::kTable) shown.render.width = 0;
  return render(format, lines_document(key, total, costs, shown), options.render);
}

}  // namespace instr
