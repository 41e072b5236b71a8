#include "core/report/flame_files.h"

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

Expected<void> write_file(const fs::path& file, const FileKind& kind, const std::string& text) {
  TRY_ASSIGN(auto out, OutputFile::open(file, kind));
  return write_to(std::move(out), text);
}

Expected<FlamePage> write_changes(const fs::path& folder, const ComparedRow& row,
                                  const ResultSet& before, const ResultSet& after) {
  const MetricChange& ir = *row.metric(kInstructions);
  FlamePage page{row.key, make_file_name(row.key) + ".html", *ir.before, *ir.after};
  TRY_ASSIGN(auto old_tree, read_tree(before, row.key));
  TRY_ASSIGN(auto new_tree, read_tree(after, row.key));
  TRY(write_file(folder / page.file, kFlamePage,
                 flame_page(aligned(*old_tree, *new_tree), row.key)));
  return page;
}

}  // namespace

Expected<void> prepare_flame_folder(const std::optional<fs::path>& folder) {
  return folder ? make_output_folder(*folder, "--flame writes flame graphs to this folder")
                : Expected<void>{};
}

Expected<void> write_flame(const fs::path& folder, const std::string& key, const CallTree& tree) {
  const fs::path page = folder / (make_file_name(key) + ".html");
  TRY(write_file(page, kFlamePage, flame_page(tree, key)));
  TRY(write_file(fs::path(page).replace_extension(".folded"), kFoldedStacks, folded_stacks(tree)));
  print_message(fmt::format("flame graph: {}\n", printable(page.string())));
  return {};
}

Expected<void> prepare_flames(const std::optional<fs::path>& folder,
                              const std::vector<const ResultSet*>& results) {
  if (!folder) return {};
  for (const ResultSet* set : results) {
    TRY(check_kept(*set, set->call_trees, kKeptPaths));
  }
  return prepare_flame_folder(folder);
}

Expected<void> write_flames(const fs::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after) {
  std::vector<FlamePage> pages;
  for (const ComparedRow& row : comparison.rows) {
    if (row.ir_change() == 0) continue;
    TRY_ASSIGN(auto page, write_changes(folder, row, before, after));
    pages.push_back(std::move(page));
  }
  const std::string title = fmt::format("{} → {}", comparison.before_name, comparison.after_name);
  TRY(write_file(folder / kIndex, kFlamePage, flame_index(pages, title)));
  print_message(fmt::format("what changed in {}: {}\n", format_plural(pages.size(), "benchmark"),
                            printable((folder / kIndex).string())));
  return {};
}

}  // namespace instr
