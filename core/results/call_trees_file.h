// The call trees of a results file, beside it in FILE.call_trees.jsonl.gz
// (core/results/side_file.h), if each path of calls was counted separately. The only code that
// knows the format:
//
//   {"key":"matmul/mm/...","iterations":100,"function":[0,...],"depth":[0,1,2,1,...],
//    "self":[1200,...],"calls":[0,100,...]}
//
// and, if it is known where functions begin, "places":[[1,"quick.cpp:14"],...].
//
// Each list has a number for each node: its function (an empty name stands for the code without
// symbols of a library); its depth below the root, depth first; its own instructions and its calls,
// both in all these iterations.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/profile/call_tree.h"
#include "core/results/side_file.h"

namespace instr {

using CallTreesOf = ValuesOf<CallTree>;

// The members of a tree as above.
using NumberOfName =
    std::function<std::size_t(const std::string& function, const std::string& object)>;
nlohmann::ordered_json to_json(const CallTree& tree, const NumberOfName& number_of);

// Parses such an object; null if it is malformed, or `find_name` has no name for a number.
using NameOfNumber = std::function<std::optional<SideName>(std::uint64_t number)>;
std::shared_ptr<const CallTree> call_tree_from(std::string_view text,
                                               const NameOfNumber& find_name);

// Makes the lines of a measurement.
std::string next_call_tree(SideLines& lines, const std::string& key, const CallTree& tree);

// Returns a reader of the call trees in `file`, as values_in().
CallTreesOf call_trees_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                          Incomplete incomplete);

}  // namespace instr
