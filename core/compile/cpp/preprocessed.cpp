#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/base/trim.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/compile/cpp/global_setup.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

constexpr std::string_view kBetween = "#line 1 \"@\"\n";

// Identifies a text of a variant by its file name in #line, which is reproducible, as __FILE__ must
// be.
std::string make_marker(const std::string& symbol, std::size_t text) {
  return fmt::format("#line 1 \"@{}:{}\"\n", symbol, text);
}

// Returns the file name of a line marker, `# 12 "@symbol:0" 2`; nothing for another line.
std::optional<std::string> parse_marker(std::string_view line) {
  if (!line.starts_with("# ") || line.size() < 3 || line[2] < '0' || line[2] > '9')
    return std::nullopt;
  const auto begin = line.find('"');
  const auto end = line.find('"', begin == std::string_view::npos ? begin : begin + 1);
  if (end == std::string_view::npos) return "";
  return std::string(line.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::string make_preprocessor_input(std::span<const Variant> variants, Purpose purpose) {
  std::string source;
  if (!variants.empty() && !variants.front().global_setups.empty()) {
    source = split_global(global_code(variants.front())).includes;
  }
  for (const auto& variant : variants) {
    const std::string symbol = make_snippet_symbol(variant, purpose);
    const auto texts = list_texts(variant);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string text = make_marker(symbol, i) + texts[i]->code + "\n\n";
      text += kBetween;
      source += text + text;
    }
  }
  return source;
}

std::set<std::string> find_reaching_symbols(std::string_view preprocessed) {
  std::map<std::string, std::vector<std::string>> texts;  // by their marker
  std::string place;
  preprocessed.remove_prefix(std::min(preprocessed.find("# 1 \"@"), preprocessed.size()));
  for (const auto& line : to_lines(preprocessed)) {
    if (auto file = parse_marker(line)) {
      const bool is_new = *file != place;
      place = *std::move(file);
      if (is_new) texts[place].emplace_back();
    } else if (auto& all = texts[place]; !all.empty() && !is_blank(line)) {
      // The number of blank lines that a preprocessor emits depends on the preceding text.
      all.back() += line + "\n";
    }
  }
  std::set<std::string> reaching;
  for (const auto& [where, all] : texts) {
    const auto colon = where.rfind(':');
    if (!where.starts_with('@') || colon == std::string::npos) continue;
    for (const auto& text : all) {
      const bool is_fine = text == all.front() && is_self_contained(text);
      if (!is_fine) reaching.insert(where.substr(1, colon - 1));
    }
  }
  return reaching;
}

}  // namespace instr
