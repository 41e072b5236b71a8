// Flame graphs: a call tree as a page to look at, or for other programs. Pure.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/profile/call_tree.h"

namespace instr {

// A format, by how the names of its files end.
struct FlameFormat {
  const char* ending;
  const char* what;
  FileKind kind;
  std::string (*write)(const CallTree& tree, const std::string& title);
};

// All of them.
const std::vector<FlameFormat>& flame_formats();

// ".html (a page for a browser), ...".
std::string flame_endings();

// The one for this file. An error, with all endings, if there is none.
Expected<const FlameFormat*> flame_format_of(const std::filesystem::path& file);

// One page, for a browser without a network: nothing of what it shows is ever run.
std::string flame_page(const CallTree& tree, const std::string& title);

// The same of what changed: as wide as the greater of both, so that what is gone can be seen.
std::string flame_page(const AlignedTrees& trees, const std::string& title);

// What flame.js draws of it.
nlohmann::ordered_json flame_json(const AlignedTrees& trees, const std::string& title);

// The page with links to several of these.
struct FlamePage {
  std::string key;
  std::string file;  // name, beside that page
  double before = 0;
  double after = 0;
};
std::string flame_index(const std::vector<FlamePage>& pages, const std::string& title);

// A line for each path that has a cost of its own: "callee;callee of that 12". In instructions per
// iteration, as all of these.
std::string folded_stacks(const CallTree& tree, const std::string& title);

// What a function is called there.
std::string name_of(const CodeName& code);

// What kind of code a function is: "allocator", "dispatcher", "autograd", "kernel", "interpreter",
// "memory", "the snippet" or "other".
std::string kind_of_code(const CodeName& code);

}  // namespace instr
