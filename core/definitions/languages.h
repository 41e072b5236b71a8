// The languages of snippets: one entry for each. Keys of definitions and of variants, options and
// the tables of docs/ are derived from this table or checked against it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace instr {

enum class Language { kCpp, kPython };

struct LanguageFacts {
  Language language;
  const char* name;   // in options, and the key of its text in [setups.NAME]
  const char* title;  // as shown to people
  // Before the names of the keys of a benchmark that hold its texts: "py_" of `py_stmt`.
  const char* key_prefix;
  const char* example_setup;
  const char* example_stmt;
  const char* example_module;
};

// In the order of reports.
inline constexpr auto kLanguages =
    std::to_array<LanguageFacts>({{.language = Language::kCpp,
                                   .name = "cpp",
                                   .title = "C++",
                                   .key_prefix = "",
                                   .example_setup = "auto x = torch::rand({4, 4});",
                                   .example_stmt = "x + y;",
                                   .example_module = "torch::nn::Linear(4, 2)"},
                                  {.language = Language::kPython,
                                   .name = "py",
                                   .title = "Python",
                                   .key_prefix = "py_",
                                   .example_setup = "x = torch.rand((4, 4))",
                                   .example_stmt = "x + y",
                                   .example_module = "torch.nn.Linear(4, 2)"}});

constexpr const LanguageFacts& facts_of(Language language) {
  return kLanguages[static_cast<std::size_t>(language)];
}

inline const char* to_string(Language language) { return facts_of(language).name; }

inline std::optional<Language> language_from(std::string_view name) {
  for (const LanguageFacts& one : kLanguages) {
    if (one.name == name) return one.language;
  }
  return std::nullopt;
}

// The key of a benchmark that holds this text: "py_stmt" of "stmt".
inline std::string key_in(Language language, const char* key) {
  return std::string(facts_of(language).key_prefix) + key;
}

}  // namespace instr
