#include "core/compare/line_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

namespace instr {

namespace {

using LinesOfFile = std::vector<const LineCost*>;
using LinesByFile = std::map<std::string, LinesOfFile>;

constexpr std::size_t kMaxCells = std::size_t{1} << 24;  // cells in the table of CommonLengths

LinesByFile group_by_file(const LineCosts& costs) {
  LinesByFile files;
  for (const LineCost& line : costs.lines) files[line.file].push_back(&line);
  return files;
}

std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// Returns the only file with that name which `others` lacks; "" if there is none, or several.
std::string find_unmatched(const LinesByFile& files, const LinesByFile& others,
                           const std::string& name) {
  std::string match;
  for (const auto& [file, lines] : files) {
    if (file_name(file) != name || others.contains(file)) continue;
    if (!match.empty()) return "";
    match = file;
  }
  return match;
}

struct File {
  std::string name;  // the name in LineChange::file
  LinesOfFile before;
  LinesOfFile after;
};

// Returns each file once, by name.
std::vector<File> pair_files(LinesByFile before, const LinesByFile& after) {
  std::map<std::string, File> files;
  for (const auto& [name, lines] : after) {
    File& file = files[name] = {name, {}, lines};
    std::string old = name;
    if (!before.contains(name)) {
      old = find_unmatched(before, after, file_name(name));
      if (find_unmatched(after, before, file_name(name)) != name) continue;
    }
    if (auto lines_before = before.extract(old)) file.before = std::move(lines_before.mapped());
  }
  for (const auto& [name, lines] : before) files[name] = {name, lines, {}};
  std::vector<File> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

bool are_same(const LineCost& before, const LineCost& after) {
  if (before.text.empty() && after.text.empty()) return before.line == after.line;
  return before.text == after.text;
}

// The lengths of the longest common subsequences of the lines from two places on.
class CommonLengths {
 public:
  CommonLengths(const LinesOfFile& before, const LinesOfFile& after) : columns_(after.size() + 1) {
    if ((before.size() + 1) * columns_ > kMaxCells) return;
    lengths_.resize((before.size() + 1) * columns_);
    for (std::size_t i = before.size(); i-- > 0;) {
      for (std::size_t j = after.size(); j-- > 0;) {
        lengths_[i * columns_ + j] = are_same(*before[i], *after[j])
                                         ? at(i + 1, j + 1) + 1
                                         : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }

  // Returns 0 if the files are too long to compare.
  std::uint32_t at(std::size_t before, std::size_t after) const {
    return lengths_.empty() ? 0 : lengths_[before * columns_ + after];
  }

 private:
  std::size_t columns_;
  std::vector<std::uint32_t> lengths_;
};

using LinePairs = std::vector<std::pair<const LineCost*, const LineCost*>>;

// Returns the lines in the order of the source; null: not on that side.
LinePairs align_lines(const LinesOfFile& before, const LinesOfFile& after) {
  const CommonLengths lengths(before, after);
  LinePairs pairs;
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && are_same(*before[i], *after[j])) {
      pairs.emplace_back(before[i++], after[j++]);
    } else if (i < before.size() &&
               (j == after.size() || lengths.at(i + 1, j) >= lengths.at(i, j + 1))) {
      pairs.emplace_back(before[i++], nullptr);
    } else {
      pairs.emplace_back(nullptr, after[j++]);
    }
  }
  return pairs;
}

LineSide make_side(const LineCost* line, const LineCosts& costs) {
  if (line == nullptr) return {};
  return {line->line, costs.per_iteration(line->self), line->text};
}

double total_change(const std::vector<LineChange>& lines) {
  double sum = 0;
  for (const LineChange& line : lines) sum += std::fabs(line.change());
  return sum;
}

}  // namespace

LineChanges compare_lines(const LineCosts& before, const LineCosts& after, double difference) {
  std::vector<std::vector<LineChange>> files;
  for (const File& file : pair_files(group_by_file(before), group_by_file(after))) {
    std::vector<LineChange>& changes = files.emplace_back();
    for (const auto& [was, is] : align_lines(file.before, file.after)) {
      LineChange change{file.name, make_side(was, before), make_side(is, after)};
      if (change.change() != 0) changes.push_back(std::move(change));
    }
  }
  std::ranges::stable_sort(files, std::greater(), total_change);
  LineChanges all{{}, difference};
  for (const auto& changes : files) {
    for (const LineChange& change : changes) all.elsewhere -= change.change();
    all.lines.insert(all.lines.end(), changes.begin(), changes.end());
  }
  // Smaller rests are rounding errors.
  if (std::fabs(all.elsewhere) < 1e-6) all.elsewhere = 0;
  return all;
}

}  // namespace instr
