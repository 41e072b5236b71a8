#include "core/report/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/report/page.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kTitle[] = "<title>Flame graph";  // a text near the start of each page

template <const auto& kText>
bool holds(std::string_view start) {
  return start.substr(0, 4096).find(kText) != std::string_view::npos;
}

// Kinds of the files, which may replace each other.
const FileKind kFlamePage{"a flame graph", holds<kTitle>};
const FileKind kFoldedStacks{"folded stacks", holds<kSnippetName>};

constexpr std::size_t kMaxFrameName = 60;  // columns of a name in a frame

// A kind of code. A function has the first kind of which its name contains a part.
struct CodeKind {
  const char* name;
  std::vector<std::string_view> parts;
};

const std::vector<CodeKind>& code_kinds() {
  static const std::vector<CodeKind> kAll{
      {"memory", {"memcpy", "memset", "memmove", "memcmp"}},
      {"allocator",
       {"malloc", "calloc", "realloc", "free", "memalign", "operator new", "operator delete",
        "alloc_cpu", "Allocator", "StorageImpl"}},
      {"autograd", {"torch::autograd", "VariableType", "AutogradMeta", "ADInplaceOrView"}},
      {"dispatcher",
       {"c10::Dispatcher", "at::_ops::", "redispatch", "DispatchKey", "OperatorHandle",
        "OperatorEntry", "c10::impl::wrap_kernel", "BoxedKernel", "KernelFunction"}},
      {"kernel",
       {"at::native", "at::internal", "TensorIterator", "gemm", "gemv", "blas", "mkl", "dnnl",
        "vectorized", "cpublas", "at::meta", "structured_"}},
      {"interpreter", {"torch::jit", "_PyEval", "Py", "_Py", "c10::IValue"}}};
  return kAll;
}

// The name of a function in these graphs.
std::string format_code_name(const CodeName& code) {
  if (code.has_symbol) return code.function;
  return code.object.empty() ? "code without symbols" : code.object + ": code without symbols";
}

Json make_functions(const CallTree& tree) {
  const std::vector<CodeName>& functions = tree.functions;
  std::vector<std::string> names;
  for (const CodeName& code : functions) names.push_back(format_code_name(code));
  const std::vector<std::string> short_names = short_function_names(names, kMaxFrameName);
  Json objects = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    objects.push_back({{"name", printable(names[i])},
                       {"short", short_names[i]},
                       {"object", printable(functions[i].object)},
                       {"kind", classify_code(functions[i])}});
    if (const std::string place = tree.place_of(i); !place.empty()) {
      objects.back()["place"] = printable(place);
    }
  }
  return objects;
}

// `before`: costs of the same nodes, or null.
Json make_nodes(const CallTree& tree, const CallTree* before) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    Json numbers{node.parent, node.function, tree.per_iteration(node.self),
                 tree.per_iteration(node.total),
                 tree.per_iteration(static_cast<std::int64_t>(node.calls))};
    if (before != nullptr) {
      numbers.push_back(before->per_iteration(before->nodes[i].self));
      numbers.push_back(before->per_iteration(before->nodes[i].total));
    }
    nodes.push_back(std::move(numbers));
  }
  return nodes;
}

// The path from the root to each node: "the snippet;at::mm".
std::vector<std::string> list_paths(const CallTree& tree) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    std::string name = printable(format_code_name(tree.code_of(tree.nodes[i])));
    std::replace(name.begin(), name.end(), ';', ':');
    paths.push_back(i == 0 ? name : paths[tree.nodes[i].parent] + ";" + name);
  }
  return paths;
}

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

struct FlamePage {
  std::string key;
  std::string file;  // name, beside the index
  double before = 0;
  double after = 0;
};

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

// A page with links to all pages.
std::string flame_index(const std::vector<FlamePage>& pages, const std::string& title) {
  Json rows = Json::array();
  for (const FlamePage& page : pages) {
    rows.push_back({{"key", printable(page.key)},
                    {"file", page.file},
                    {"before", page.before},
                    {"after", page.after}});
  }
  return page("flames.html", {{"title", printable(title)}, {"pages", std::move(rows)}});
}

}  // namespace

std::string classify_code(const CodeName& code) {
  if (code.is_snippet()) return kSnippetName;
  for (const CodeKind& kind : code_kinds()) {
    for (const std::string_view part : kind.parts) {
      if (code.function.find(part) != std::string::npos) return kind.name;
    }
  }
  return "other";
}

std::string flame_page(const CallTree& tree, const std::string& title) {
  return page("flame.html", {{"title", printable(title)},
                             {"functions", make_functions(tree)},
                             {"nodes", make_nodes(tree, nullptr)}});
}

Json flame_json(const AlignedTrees& trees, const std::string& title) {
  const auto& [before, after] = trees;
  return {{"title", printable(title)},
          {"functions", make_functions(after)},
          {"nodes", make_nodes(after, &before)},
          {"before", before.per_iteration(before.nodes[0].total)}};
}

std::string flame_page(const AlignedTrees& trees, const std::string& title) {
  return page("flame.html", flame_json(trees, title));
}

std::string folded_stacks(const CallTree& tree) {
  std::string text;
  const std::vector<std::string> paths = list_paths(tree);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const double self = tree.per_iteration(tree.nodes[i].self);
    if (self != 0) text += fmt::format("{} {}\n", paths[i], self);
  }
  return text;
}

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
