#include "core/report/comparison_flames.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/file_name.h"
#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/compare/kept_values.h"
#include "core/report/flame.h"

namespace instr {

namespace {

constexpr const char* kIndex = "index.html";

Expected<std::shared_ptr<const CallTree>> read_tree(const ResultSet& results,
                                                    const std::string& key) {
  auto tree = results.call_trees(key);
  if (!tree || *tree) return tree;
  return fail(kKeptPaths.missing_in(results.name));
}

Expected<void> write_page(const fs::path& file, const std::string& text) {
  return OutputFile::open(file, flame_formats().front().kind).and_then([&text](OutputFile&& out) {
    return write_to(std::move(out), text);
  });
}

Expected<FlamePage> write_flame(const fs::path& folder, const ComparedRow& row,
                                const ResultSet& before, const ResultSet& after) {
  const MetricChange& ir = *row.metric(kInstructions);
  FlamePage page{row.key, make_file_name(row.key) + ".html", *ir.before, *ir.after};
  TRY_ASSIGN(auto old_tree, read_tree(before, row.key));
  TRY_ASSIGN(auto new_tree, read_tree(after, row.key));
  return write_page(folder / page.file, flame_page(aligned(*old_tree, *new_tree), row.key))
      .map([&page] { return std::move(page); });
}

}  // namespace

Expected<void> prepare_flames(const std::optional<fs::path>& folder,
                              const std::vector<const ResultSet*>& results) {
  if (!folder) return {};
  for (const ResultSet* set : results) {
    auto checked = check_kept(*set, set->call_trees, kKeptPaths);
    if (!checked) return checked;
  }
  return make_output_folder(*folder, "--flame writes pages to this folder");
}

Expected<void> write_flames(const fs::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after) {
  std::vector<FlamePage> pages;
  for (const ComparedRow& row : comparison.rows) {
    if (row.ir_change() == 0) continue;
    TRY_ASSIGN(auto page, write_flame(folder, row, before, after));
    pages.push_back(std::move(page));
  }
  const std::string title = fmt::format("{} → {}", comparison.before_name, comparison.after_name);
  return write_page(folder / kIndex, flame_index(pages, title)).map([&] {
    print_message(fmt::format("what changed in {}: {}\n", format_plural(pages.size(), "benchmark"),
                              printable((folder / kIndex).string())));
  });
}

}  // namespace instr
