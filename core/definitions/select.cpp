#include "core/definitions/select.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <set>

#include "core/base/near_match.h"

namespace instr {
namespace {

constexpr std::size_t kNamedMatches = 5;

using Patterns = std::vector<std::unique_ptr<re2::RE2>>;

Expected<Patterns> patterns(const std::vector<std::string>& texts, const char* option) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  Patterns result;
  for (const std::string& text : texts) {
    result.push_back(std::make_unique<re2::RE2>(text, options));
    if (!result.back()->ok()) {
      return fail(
          fmt::format("{} `{}` is no regular expression: {}", option, text, result.back()->error()),
          "patterns are RE2's (https://github.com/google/re2/wiki/Syntax); put \\ before a "
          "character that stands for itself");
    }
  }
  return result;
}

// A std::function's target is copied.
Expected<std::shared_ptr<const Patterns>> shared_patterns(const std::vector<std::string>& texts,
                                                          const char* option) {
  return patterns(texts, option).map([](Patterns&& made) {
    return std::make_shared<const Patterns>(std::move(made));
  });
}

bool found_in(const Patterns& patterns, const std::string& key) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return re2::RE2::PartialMatch(key, *pattern); });
}

template <class T>
bool wanted(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool has_wanted_tag(const std::vector<std::string>& list, const Variant& variant) {
  return list.empty() || std::any_of(variant.tags.begin(), variant.tags.end(),
                                     [&](const auto& tag) { return wanted(list, tag); });
}

std::vector<std::string> labels_of(const std::vector<Variant>& variants) {
  std::vector<std::string> labels;
  std::set<std::string_view> seen;
  for (const Variant& variant : variants) {
    if (seen.insert(variant.label).second) labels.push_back(variant.label);
  }
  return labels;
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "`" : ", `") + word + "`";
  return text;
}

// The pattern's plain text: what a person most likely meant to find.
std::string without_operators(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) {
    if (std::string_view("^$.*+?()[]{}|\\").find(c) == std::string_view::npos) text += c;
  }
  return text;
}

Error no_filter_matches(const std::vector<Variant>& variants, const Selection& selection) {
  const std::vector<std::string> labels = labels_of(variants);
  std::vector<std::string> near;
  for (const std::string& filter : selection.filters) {
    for (std::string& label : near_matches(without_operators(filter), labels, kNamedMatches)) {
      if (std::find(near.begin(), near.end(), label) == near.end())
        near.push_back(std::move(label));
    }
  }
  if (near.size() > kNamedMatches) near.resize(kNamedMatches);
  return {{},
          fmt::format("no benchmark matches the filter {}", quoted_list(selection.filters)),
          near.empty() ? fmt::format("there are {} labels, such as `{}`; list shows all keys",
                                     labels.size(), labels.front())
                       : "near it: " + quoted_list(near)};
}

template <class Describe>
std::string values_of(const std::vector<Variant>& variants, Describe describe) {
  std::set<std::string> values;
  for (const Variant& variant : variants) {
    for (std::string& value : describe(variant)) values.insert(std::move(value));
  }
  return values.empty() ? "none" : quoted_list({values.begin(), values.end()});
}

// The filters match these variants, but the other lists leave none of them.
Error nothing_left(const std::vector<Variant>& matching, const Selection& selection) {
  using Words = std::vector<std::string>;
  std::string advice = "those that match the filters have";
  const auto add = [&](bool asked, const char* name, auto describe) {
    if (asked) advice += fmt::format(" {} {};", name, values_of(matching, describe));
  };
  add(!selection.runtimes.empty(), "runtime",
      [](const Variant& v) { return Words{to_string(v.runtime)}; });
  add(!selection.autograds.empty(), "autograd",
      [](const Variant& v) { return Words{to_string(v.autograd)}; });
  add(!selection.threads.empty(), "threads",
      [](const Variant& v) { return Words{std::to_string(v.threads)}; });
  add(!selection.devices.empty(), "device", [](const Variant& v) { return Words{v.device}; });
  add(!selection.tags.empty(), "tags", [](const Variant& v) { return v.tags; });
  if (advice.back() == ';') {
    advice.pop_back();
  } else {
    advice = "exclude less";
  }
  return {{},
          fmt::format("of the variants that match the filters ({}), none is left", matching.size()),
          std::move(advice)};
}

}  // namespace

bool is_in(const Shard& shard, const std::string& key) {
  auto part = XXH3_64bits(key.data(), key.size()) % static_cast<std::uint64_t>(shard.count);
  return part + 1 == static_cast<std::uint64_t>(shard.index);
}

Expected<std::function<bool(const Variant&)>> selector(const Selection& selection) {
  auto filters = shared_patterns(selection.filters, "--filter");
  if (!filters) return tl::unexpected(filters.error());
  auto excludes = shared_patterns(selection.excludes, "--exclude");
  if (!excludes) return tl::unexpected(excludes.error());
  return [selection, filters = *filters, excludes = *excludes](const Variant& v) {
    return (filters->empty() || found_in(*filters, v.key)) && !found_in(*excludes, v.key) &&
           wanted(selection.runtimes, v.runtime) && wanted(selection.autograds, v.autograd) &&
           wanted(selection.threads, v.threads) && wanted(selection.devices, v.device) &&
           has_wanted_tag(selection.tags, v) &&
           (!selection.shard || is_in(*selection.shard, v.key));
  };
}

Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection) {
  if (variants.empty()) return fail("there is no benchmark to select from", "load definitions");
  Selection whole = selection;
  whole.shard.reset();
  auto is_wanted = selector(whole);
  if (!is_wanted) return tl::unexpected(is_wanted.error());
  auto matches = selector({.filters = selection.filters});
  if (!matches) return tl::unexpected(matches.error());
  if (std::none_of(variants.begin(), variants.end(), *matches)) {
    return tl::unexpected(no_filter_matches(variants, selection));
  }
  if (std::none_of(variants.begin(), variants.end(), *is_wanted)) {
    std::erase_if(variants, [&](const Variant& v) { return !(*matches)(v); });
    return tl::unexpected(nothing_left(variants, selection));
  }
  std::erase_if(variants, [&](const Variant& v) {
    return !(*is_wanted)(v) || (selection.shard && !is_in(*selection.shard, v.key));
  });
  return variants;
}

}  // namespace instr
