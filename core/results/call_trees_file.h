// The call trees of a results file, beside it in FILE.call_trees.jsonl.gz
// (core/results/side_file.h) where each path of calls was counted by itself. The only code that
// knows the format:
//
//   {"key":"matmul/mm/...","iterations":100,"function":[0,...],"depth":[0,1,2,1,...],
//    "self":[1200,...],"calls":[0,100,...]}
//
// and, where functions begin, if that is known, "places":[[1,"quick.cpp:14"],...].
//
// A number of each for each node: its function, which is the code without symbols of a library
// where its name is empty; how deep it is below the root, depth first; and, of all these
// iterations, the instructions that are its own and how often it was called.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/profile/call_tree.h"
#include "core/results/side_file.h"

namespace instr {

using CallTreesOf = ValuesOf<CallTree>;

// The members of a tree as above. `number_of`: of a function and its library.
using NumberOfName =
    std::function<std::size_t(const std::string& function, const std::string& object)>;
nlohmann::ordered_json to_json(const CallTree& tree, const NumberOfName& number_of);

// Null if `text` is not such an object, or `name_of` has nothing for a number.
using NameOfNumber = std::function<std::optional<SideName>(std::uint64_t number)>;
std::shared_ptr<const CallTree> call_tree_from(std::string_view text, const NameOfNumber& name_of);

// A measurement's lines.
std::string next_call_tree(SideLines& lines, const std::string& key, const CallTree& tree);

// Returns the call trees of a file beside results; none if `file` is null. `header`: the first line
// of the results, without its newline. Errors of SideFile::index() are returned at the first use.
CallTreesOf call_trees_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                          Incomplete incomplete);

}  // namespace instr
