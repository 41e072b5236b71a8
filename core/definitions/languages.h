// The languages of snippets: one entry for each. Keys of definitions, keys of variants and options
// are derived from this table.
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
  const char* name;  // the name in options, and the key of its text in [setups.NAME]
  const char* title;
  const char* example_setup;
  const char* example_stmt;
  const char* example_module;
};

// In the order of reports.
inline constexpr auto kLanguages =
    std::to_array<LanguageFacts>({{.language = Language::kCpp,
                                   .name = "cpp",
                                   .title = "C++",
                                   .example_setup = "auto x = torch::rand({4, 4});",
                                   .example_stmt = "x + y;",
                                   .example_module = "torch::nn::Linear(4, 2)"},
                                  {.language = Language::kPython,
                                   .name = "py",
                                   .title = "Python",
                                   .example_setup = "x = torch.rand((4, 4))",
                                   .example_stmt = "x + y",
                                   .example_module = "torch.nn.Linear(4, 2)"}});

constexpr const LanguageFacts& facts_of(Language language) {
  return kLanguages[static_cast<std::size_t>(language)];
}

inline const char* to_string(Language language) { return facts_of(language).name; }

inline std::optional<Language> find_language(std::string_view name) {
  for (const LanguageFacts& facts : kLanguages) {
    if (facts.name == name) return facts.language;
  }
  return std::nullopt;
}

// Returns a benchmark's key in this language: "stmt" in C++, "py_stmt" in Python.
inline std::string format_key(Language language, const char* key) {
  return language == Language::kCpp ? key : std::string(to_string(language)) + "_" + key;
}

}  // namespace instr
