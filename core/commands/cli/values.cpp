#include "core/commands/cli/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/parse_number.h"
#include "core/definitions/definition_keys.h"

namespace instr {

std::string list_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

namespace {

template <class Target, class From>
Take take_from(Target& target, From from) {
  return [&target, from](const Given& given) {
    return from(given).map(
        [&target](auto&& value) { target = std::forward<decltype(value)>(value); });
  };
}

}  // namespace

Expected<int> number_from(const Given& given, int min, int max) {
  const auto number = parse_number<int>(given.value);
  if (number && *number >= min && *number <= max) return *number;
  std::string range = max == std::numeric_limits<int>::max()
                          ? fmt::format("of at least {}", min)
                          : fmt::format("from {} to {}", min, max);
  return fail(fmt::format("`{}` is not a number {}", given.value, range),
              fmt::format("write a whole number, such as {}={}", given.option, std::max(min, 2)));
}

Expected<double> seconds_from(const Given& given) {
  const auto number = parse_number<double>(given.value);
  if (number && is_time(*number)) return *number;
  return fail(fmt::format("`{}` is not a number of seconds above 0, at most 1e6", given.value),
              fmt::format("write for example {0}=30 or {0}=0.5", given.option));
}

Take take_text(std::optional<std::string>& target) {
  return take_from(target, [](const Given& given) { return Expected<std::string>(given.value); });
}

Take take_path(std::optional<fs::path>& target) {
  return take_from(target, [](const Given& given) { return Expected<fs::path>(given.value); });
}

Take take_path(fs::path& target) {
  return take_from(target, [](const Given& given) { return Expected<fs::path>(given.value); });
}

Take take_number(int& target, int min, int max) {
  return take_from(target, [=](const Given& given) { return number_from(given, min, max); });
}

Take take_number(std::optional<int>& target, int min, int max) {
  return take_from(target, [=](const Given& given) { return number_from(given, min, max); });
}

Take take_seconds(double& target) { return take_from(target, seconds_from); }

Take take_seconds(std::optional<double>& target) { return take_from(target, seconds_from); }

Take add_text(std::vector<std::string>& target) {
  return [&target](const Given& given) -> Expected<void> {
    target.push_back(given.value);
    return {};
  };
}

Take add_path(std::vector<fs::path>& target) {
  return [&target](const Given& given) -> Expected<void> {
    target.emplace_back(given.value);
    return {};
  };
}

Take each_item(Take take) {
  return [take = std::move(take)](const Given& given) -> Expected<void> {
    for (std::size_t begin = 0; begin <= given.value.size();) {
      const std::size_t end = std::min(given.value.find(',', begin), given.value.size());
      TRY(take({given.option, given.value.substr(begin, end - begin)}));
      begin = end + 1;
    }
    return {};
  };
}

Take add_items(std::vector<std::string>& target) {
  return each_item([&target](const Given& given) -> Expected<void> {
    if (given.value.empty()) return fail("the list has an empty item", "remove it");
    target.push_back(given.value);
    return {};
  });
}

Take add_numbers(std::vector<int>& target, int min, int max) {
  return each_item([&target, min, max](const Given& given) {
    return number_from(given, min, max).map([&target](int number) { target.push_back(number); });
  });
}

}  // namespace instr
