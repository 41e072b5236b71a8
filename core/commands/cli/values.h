// Conversion of options' words to checked values.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/near_match.h"
#include "core/commands/cli/command_line.h"

namespace instr {

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

template <class T>
std::vector<std::string> names_of(const Choices<T>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return names;
}

// "a, b, c": for help.
std::string list_of(const std::vector<std::string>& words);

template <class T>
Expected<T> choice_from(const Given& given, const Choices<T>& choices) {
  return find_meaning(given.value, choices).map_error([&](const std::string& advice) {
    return Error{{}, "`" + given.value + "` is not one of its values", advice};
  });
}

// Converts a whole number.
Expected<int> number_from(const Given& given, int min, int max = std::numeric_limits<int>::max());

// Converts seconds, above 0 and at most 1e6.
Expected<double> seconds_from(const Given& given);

// Takes that store the last value in `target`.
Take take_text(std::optional<std::string>& target);
Take take_path(std::optional<fs::path>& target);
Take take_path(fs::path& target);
Take take_number(int& target, int min, int max = std::numeric_limits<int>::max());
Take take_number(std::optional<int>& target, int min, int max = std::numeric_limits<int>::max());
Take take_seconds(double& target);
Take take_seconds(std::optional<double>& target);

template <class T>
Take take_choice(T& target, Choices<T> choices) {
  return [&target, choices = std::move(choices)](const Given& given) {
    return choice_from(given, choices).map([&target](T&& value) { target = std::move(value); });
  };
}

// Takes that append the value, or the items of its comma-separated list.
Take add_text(std::vector<std::string>& target);
Take add_path(std::vector<fs::path>& target);
Take each_item(Take take);
Take add_items(std::vector<std::string>& target);  // no item may be empty
Take add_numbers(std::vector<int>& target, int min, int max = std::numeric_limits<int>::max());

template <class T>
Take add_choices(std::vector<T>& target, Choices<T> choices) {
  return each_item([&target, choices = std::move(choices)](const Given& given) {
    return choice_from(given, choices).map([&target](T&& value) {
      target.push_back(std::move(value));
    });
  });
}

}  // namespace instr
