#include "core/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/format.h"
#include "core/report/table.h"
#include "core/values/function_names.h"

namespace instr {

namespace {

constexpr std::size_t kLeastName = 40;

struct Part {
  CodeName code;
  double ir = 0;
  double calls = 0;
};

// Code without symbols has an address for a name: all of a library's is one part.
std::vector<Part> parts_of(const std::vector<FunctionCost>& functions) {
  std::map<CodeName, Part> sums;
  for (const FunctionCost& one : functions) {
    Part& part = sums[code_name(one.function, one.object)];
    part.ir += one.ir;
    part.calls += one.calls;
  }
  std::vector<Part> parts;
  for (auto& [code, sum] : sums) parts.push_back({code, sum.ir, sum.calls});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& left, const Part& right) { return left.ir > right.ir; });
  return parts;
}

// "at::native::empty_cpu  libtorch_cpu.so" for each, short enough for a terminal whose lines begin
// with `taken` columns of something else.
std::vector<std::string> names_of(const std::vector<Part>& parts, std::size_t count,
                                  std::size_t taken, std::size_t width) {
  std::vector<std::string> names;
  std::vector<std::string> objects;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const CodeName& code = parts[i].code;
    names.push_back(code.function);
    objects.push_back(code.object.empty() || !code.has_symbol ? "" : "  " + printable(code.object));
    longest = std::max(longest, display_width(objects.back()));
  }
  taken += longest;
  std::size_t room = width == 0 ? 0 : std::max(kLeastName, width - std::min(width, taken));
  names = short_function_names(names, room);
  for (std::size_t i = 0; i < count; ++i) names[i] += objects[i];
  return names;
}

}  // namespace

std::string explain_text(const std::string& key, const Counted& counted,
                         const ExplainOptions& options) {
  auto found = counted.metrics.find(kInstructions);
  double total = found == counted.metrics.end() ? 0 : found->second;
  std::vector<Part> parts = parts_of(counted.functions);
  std::size_t count = std::min(options.most_functions, parts.size());
  std::size_t width = static_cast<std::size_t>(std::max(options.width, 0));

  Table table{.columns = {{.heading = "instructions", .least = 14},
                          {.heading = "share", .least = 7},
                          {.heading = "so far", .least = 7},
                          {.heading = "calls", .least = 8},
                          {.align = Align::kLeft}},
              .headings = Headings::kStyled};
  auto add = [&](double ir, double up_to_here, const std::string& calls) {
    auto share = [total](double part) {
      return fmt::format("{:.2f}%", total == 0 ? 0 : 100 * part / total);
    };
    table.lines.push_back(
        {.cells = {{format_count(ir)}, {share(ir)}, {share(up_to_here)}, {calls}, {}}});
  };
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += parts[i].ir;
    add(parts[i].ir, sum, format_count(parts[i].calls));
  }
  std::size_t others = parts.size() - count;
  bool is_all = others == 0 && total == sum;
  if (!is_all) add(total - sum, total, "");
  std::vector<std::string> names = names_of(parts, count, layout_of(table).total(), width);
  if (!is_all) {
    names.push_back(others > 0 ? format_plural(others, "other function") : "in no function");
  }
  table.columns.back().heading = "function";
  for (std::size_t i = 0; i < names.size(); ++i) table.lines[i].cells.back().text = names[i];
  return fmt::format("{}: {} instructions for each iteration\n\n", printable(key),
                     format_count(total)) +
         *table_text(table, 0, options.color);
}

}  // namespace instr
