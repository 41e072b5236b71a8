#include "core/compare/line_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

namespace instr {

namespace {

using LinesOfFile = std::vector<const LineCost*>;
using LinesByFile = std::map<std::string, LinesOfFile>;

constexpr std::size_t kMaxCells = std::size_t{1} << 24;  // of the table of a longest subsequence

LinesByFile by_file(const LineCosts& costs) {
  LinesByFile files;
  for (const LineCost& line : costs.lines) files[line.file].push_back(&line);
  return files;
}

std::string name_of(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// The file with that name that is only there; "" if there is none, or several.
std::string only_one_named(const LinesByFile& files, const LinesByFile& others,
                           const std::string& name) {
  std::string found;
  for (const auto& [file, lines] : files) {
    if (name_of(file) != name || others.contains(file)) continue;
    if (!found.empty()) return "";
    found = file;
  }
  return found;
}

struct File {
  std::string name;  // after; before, if it is only there
  LinesOfFile before;
  LinesOfFile after;
};

// Each once, by name.
std::vector<File> paired(LinesByFile before, const LinesByFile& after) {
  std::map<std::string, File> files;
  for (const auto& [name, lines] : after) {
    File& file = files[name] = {name, {}, lines};
    std::string old = name;
    if (!before.contains(name)) {
      old = only_one_named(before, after, name_of(name));
      if (only_one_named(after, before, name_of(name)) != name) continue;
    }
    if (auto its = before.extract(old)) file.before = std::move(its.mapped());
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

// How long the longest common subsequence of what is behind each two places is.
class Lengths {
 public:
  Lengths(const LinesOfFile& before, const LinesOfFile& after) : columns_(after.size() + 1) {
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

  // 0 of what is too long to compare.
  std::uint32_t at(std::size_t before, std::size_t after) const {
    return lengths_.empty() ? 0 : lengths_[before * columns_ + after];
  }

 private:
  std::size_t columns_;
  std::vector<std::uint32_t> lengths_;
};

// In the order of the source; null: not on that side.
std::vector<std::pair<const LineCost*, const LineCost*>> aligned(const LinesOfFile& before,
                                                                 const LinesOfFile& after) {
  const Lengths lengths(before, after);
  std::vector<std::pair<const LineCost*, const LineCost*>> pairs;
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

LineSide side_of(const LineCost* line, const LineCosts& costs) {
  if (line == nullptr) return {};
  return {line->line, costs.per_iteration(line->self), line->text};
}

double size_of(const std::vector<LineChange>& lines) {
  return std::accumulate(lines.begin(), lines.end(), 0.0, [](double sum, const LineChange& one) {
    return sum + std::fabs(one.change());
  });
}

}  // namespace

LineChanges line_changes(const LineCosts& before, const LineCosts& after, double difference) {
  std::vector<std::vector<LineChange>> files;
  for (const File& file : paired(by_file(before), by_file(after))) {
    std::vector<LineChange>& changes = files.emplace_back();
    for (const auto& [was, is] : aligned(file.before, file.after)) {
      LineChange change{file.name, side_of(was, before), side_of(is, after)};
      if (change.change() != 0) changes.push_back(std::move(change));
    }
  }
  std::stable_sort(files.begin(), files.end(), [](const auto& left, const auto& right) {
    return size_of(left) > size_of(right);
  });
  LineChanges all{{}, difference};
  for (const auto& changes : files) {
    for (const LineChange& one : changes) all.elsewhere -= one.change();
    all.lines.insert(all.lines.end(), changes.begin(), changes.end());
  }
  // What is left of the rounding of such sums.
  if (std::fabs(all.elsewhere) < 1e-6) all.elsewhere = 0;
  return all;
}

}  // namespace instr
