// Flame graphs: a call tree as a page for a browser, or for other programs. Pure; costs are
// instructions per iteration.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/output_file.h"
#include "core/profile/call_tree.h"

namespace instr {

// Kinds of the files, which may replace each other.
extern const FileKind kFlamePage;
extern const FileKind kFoldedStacks;

// A page that needs no network, and never runs what it shows.
std::string flame_page(const CallTree& tree, const std::string& title);

// A page of the changes. A frame is as wide as the greater of both costs, so that removed calls can
// be seen.
std::string flame_page(const AlignedTrees& trees, const std::string& title);

// The data of that page, which flame.js draws.
nlohmann::ordered_json flame_json(const AlignedTrees& trees, const std::string& title);

struct FlamePage {
  std::string key;
  std::string file;  // name, beside the index
  double before = 0;
  double after = 0;
};

// A page with links to all pages.
std::string flame_index(const std::vector<FlamePage>& pages, const std::string& title);

// A line for each path with its self cost: "function;callee;callee of the callee 12".
std::string folded_stacks(const CallTree& tree);

// The name of a function in these graphs.
std::string format_code_name(const CodeName& code);

// The kind of code of a function: "allocator", "dispatcher", "autograd", "kernel", "interpreter",
// "memory", "the snippet" or "other".
std::string classify_code(const CodeName& code);

}  // namespace instr
