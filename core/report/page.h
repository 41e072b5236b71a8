// Pages for a browser: one file each, which needs no network. Made from core/report/pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace instr {

// The page of that file, in which "{{file.css}}" stands for another file there, "{{data}}" for
// `data`, with which no text ends the element that it stands in, and "{{nonce}}" for what lets its
// own scripts run and no other: whoever wrote a text in `data` cannot know it.
std::string page(std::string_view file, const nlohmann::ordered_json& data);

}  // namespace instr
