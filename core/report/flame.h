// Flame graphs: a call tree as a page for a browser, or for other programs. Pure; costs are
// instructions per iteration.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/profile/call_tree.h"
#include "core/results/result_set.h"

namespace instr {

// A page that needs no network, and never runs what it shows.
std::string flame_page(const CallTree& tree, const std::string& title);

// A page of the changes. A frame is as wide as the greater of both costs, so that removed calls can
// be seen.
std::string flame_page(const AlignedTrees& trees, const std::string& title);

// The data of that page, which flame.js draws.
nlohmann::ordered_json flame_json(const AlignedTrees& trees, const std::string& title);

// A line for each path with its self cost: "function;callee;callee of the callee 12".
std::string folded_stacks(const CallTree& tree);

// The kind of code of a function: "allocator", "dispatcher", "autograd", "kernel", "interpreter",
// "memory", "the snippet" or "other".
std::string classify_code(const CodeName& code);

// --flame=DIR: of a count, its flame graph as a page and as folded stacks; of a comparison, a page
// of changes for each benchmark, and an index.

// Makes the folder before anything is measured.
Expected<void> prepare_flame_folder(const std::optional<std::filesystem::path>& folder);

// Writes KEY.html and KEY.folded into the folder, and prints the place of the page to standard
// error.
Expected<void> write_flame(const std::filesystem::path& folder, const std::string& key,
                           const CallTree& tree);

// Makes the folder, before anything is measured. Fails if it cannot be written, or if given results
// have counts but no call paths.
Expected<void> prepare_flames(const std::optional<std::filesystem::path>& folder,
                              const std::vector<const ResultSet*>& results);

// Writes the pages of benchmarks whose instructions changed, and prints their place to standard
// error.
Expected<void> write_flames(const std::filesystem::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after);

}  // namespace instr
