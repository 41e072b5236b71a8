// Counts the import of a Python module, with the cost of each module that it imports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/measure/program_run.h"
#include "core/profile/call_tree.h"

namespace instr {

// The instructions counted when a module began (4n, for the n-th import) or ended (4n + 1).
struct ImportMark {
  int event = 0;
  std::uint64_t instructions = 0;

  bool operator==(const ImportMark&) const = default;
};

// Returns the marks in Callgrind's log of a process (worker/python/import_marks.cpp).
std::vector<ImportMark> read_import_marks(std::string_view log);

// Returns the costs as a worker describes the calls that it followed, as JSON: each module is a
// function, and the first is the statement that imports. `names`: of the imports, in their order.
// `total`: all instructions, which are the sum of the modules' self costs.
std::string describe_imports(const std::vector<ImportMark>& marks,
                             const std::vector<std::string>& names, std::uint64_t total);

// Returns the paths of imports in describe_imports().
CallTree read_import_tree(const std::string& costs);

// Imports the variant's module twice in fresh interpreters. Modules are compiled before, and
// searching for them is not counted, so that the count depends neither on sys.path nor on the
// place of the installation.
tl::expected<wire::Message, wire::Message> count_import(const Variant& variant,
                                                        const ProgramOptions& options,
                                                        const std::filesystem::path& folder,
                                                        const std::stop_token& stop);

}  // namespace instr
