#include "core/definitions/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <compare>
#include <optional>
#include <vector>

#include "core/base/text.h"

namespace instr {
namespace {

using Numbers = std::vector<unsigned>;

// Reads the numbers at the start of `text`, "2.1" in "2.1rc1"; `rest` gets the remaining text.
Numbers leading_numbers(std::string_view text, std::string_view& rest) {
  Numbers numbers;
  rest = text;
  for (;;) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    rest = text;
    if (!text.starts_with('.')) return numbers;
    text.remove_prefix(1);
  }
}

std::strong_ordering compare(const Numbers& version, const Numbers& required) {
  for (std::size_t i = 0; i < required.size(); ++i) {
    const unsigned number = i < version.size() ? version[i] : 0;
    if (const auto order = number <=> required[i]; std::is_neq(order)) return order;
  }
  return std::strong_ordering::equal;
}

bool holds(std::string_view relation, std::strong_ordering order) {
  if (relation == ">=") return std::is_gteq(order);
  if (relation == "<=") return std::is_lteq(order);
  if (relation == "==") return std::is_eq(order);
  if (relation == "!=") return std::is_neq(order);
  return relation == ">" ? std::is_gt(order) : std::is_lt(order);
}

// Returns true if the part, such as ">=2.0", holds; nothing if it is malformed.
std::optional<bool> part_holds(const Numbers& version, std::string_view part) {
  constexpr std::array<std::string_view, 6> kRelations{">=", "<=", "==", "!=", ">", "<"};
  for (const std::string_view relation : kRelations) {
    if (!part.starts_with(relation)) continue;
    std::string_view rest;
    const Numbers required = leading_numbers(trim(part.substr(relation.size())), rest);
    if (required.empty() || !rest.empty()) return std::nullopt;
    return holds(relation, compare(version, required));
  }
  return std::nullopt;
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_separator(char c) { return c == '-' || c == '_' || c == '.'; }

// Converts to lower case, and each run of separators to a hyphen.
std::string normalized(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (!is_separator(c)) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.ends_with('-')) {
      result += '-';
    }
  }
  return result;
}

}  // namespace

Expected<bool> satisfies(std::string_view version, std::string_view requirement) {
  std::string_view rest;
  const Numbers numbers = leading_numbers(trim(version), rest);
  if (numbers.empty()) {
    return fail(fmt::format("`{}` is not a version", version), "expected one such as `2.13.0`");
  }
  bool all = true;
  for (std::string_view left = requirement;;) {
    const auto comma = left.find(',');
    const std::string_view part = trim(left.substr(0, comma));
    const auto holds_now = part_holds(numbers, part);
    if (!holds_now) {
      return fail(
          fmt::format("`{}` is not a version requirement", part),
          "write one of >= > <= < == != and a version, for example `>=2.0` or `>=1.13, <3`");
    }
    all = all && *holds_now;
    if (comma == std::string_view::npos) return all;
    left.remove_prefix(comma + 1);
  }
}

Expected<PackageRequirement> parse_package(std::string_view text) {
  const std::string_view given = trim(text);
  const auto end = std::find_if(given.begin(), given.end(),
                                [](char c) { return !is_letter_or_digit(c) && !is_separator(c); });
  const std::string_view name = given.substr(0, static_cast<std::size_t>(end - given.begin()));
  const std::string_view versions = trim(given.substr(name.size()));
  const bool is_name =
      !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back());
  if (is_name && (versions.empty() || satisfies("0", versions))) {
    return PackageRequirement{normalized(name), std::string(versions)};
  }
  return fail(fmt::format("`{}` is not a Python package", text),
              "write its name, and versions if it needs certain ones: `timm` or `timm>=1.0, <2`");
}

}  // namespace instr
