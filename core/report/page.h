// Pages for a browser, made from core/report/pages: each is one file that needs no network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace instr {

// The page of that file. "{{file.css}}" is replaced by another file, "{{data}}" by `data`, of which
// no text can end the element around it, and "{{nonce}}" by a word that lets only the page's own
// scripts run: the author of a text in `data` cannot know it.
std::string page(std::string_view file, const nlohmann::ordered_json& data);

}  // namespace instr
