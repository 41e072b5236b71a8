#include "core/results/definition_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "core/base/checkout_guard.h"
#include "core/base/paths.h"

namespace instr {

namespace {

struct DefinitionOption {
  std::string_view name;
  bool is_path;
};

constexpr std::array<DefinitionOption, 4> kDefinitionOptions{
    {{"--definitions", true}, {"--suite", false}, {"--param", false}, {"--build", true}}};

std::string relative_to(const std::string& path, const std::string& project) {
  if (project.empty() || !std::filesystem::path(path).is_absolute()) return path;
  const auto place = place_below(in_measured_tree(path).lexically_normal(), project);
  return place ? place->string() : path;
}

}  // namespace

std::vector<std::string> select_definition_options(const std::vector<std::string>& command,
                                                   const std::string& project) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    const std::size_t equals = word.find('=');
    const auto* option = std::ranges::find(
        kDefinitionOptions, std::string_view(word).substr(0, equals), &DefinitionOption::name);
    if (option == kDefinitionOptions.end()) continue;
    const bool is_next = equals == std::string::npos;
    if (is_next && ++i == command.size()) break;
    const std::string value = is_next ? command[i] : word.substr(equals + 1);
    std::string text =
        std::string(option->name) + "=" + (option->is_path ? relative_to(value, project) : value);
    if (std::ranges::find(options, text) == options.end()) options.push_back(std::move(text));
  }
  return options;
}

}  // namespace instr
