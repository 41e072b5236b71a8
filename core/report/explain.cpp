#include "core/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/values/function_names.h"

namespace instr {

namespace {

constexpr std::size_t kNumberColumns = 44;  // what stands before the name
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

struct Row {
  double ir = 0;
  double up_to_here = 0;
  std::string calls;
  std::string name;
};

// "at::native::empty_cpu  libtorch_cpu.so" for each, short enough for the terminal.
std::vector<std::string> names_of(const std::vector<Part>& parts, std::size_t count,
                                  std::size_t width) {
  std::vector<std::string> names;
  std::vector<std::string> objects;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const CodeName& code = parts[i].code;
    names.push_back(code.function);
    objects.push_back(code.object.empty() || !code.has_symbol ? "" : "  " + printable(code.object));
    longest = std::max(longest, display_width(objects.back()));
  }
  std::size_t taken = kNumberColumns + longest;
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
  std::vector<std::string> names = names_of(parts, count, width);

  std::vector<Row> rows;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += parts[i].ir;
    rows.push_back({parts[i].ir, sum, format_count(parts[i].calls), names[i]});
  }
  std::size_t others = parts.size() - count;
  if (others > 0 || total != sum) {
    std::string name = others > 0 ? format_plural(others, "other function") : "in no function";
    rows.push_back({total - sum, total, "", name});
  }
  std::string out = fmt::format("{}: {} instructions for each iteration\n\n", printable(key),
                                format_count(total));
  out += styled(fmt::format("{:>14}  {:>7}  {:>7}  {:>8}  {}", "instructions", "share", "so far",
                            "calls", "function"),
                Style::kHeading, options.color) +
         "\n";
  for (const Row& row : rows) {
    auto share = [total](double part) { return total == 0 ? 0 : 100 * part / total; };
    out += fmt::format("{}  {:>6.2f}%  {:>6.2f}%  {:>8}  {}\n", pad_left(format_count(row.ir), 14),
                       share(row.ir), share(row.up_to_here), row.calls, row.name);
  }
  return out;
}

}  // namespace instr
