#include "core/definitions/select.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/variant.h"

namespace instr {
namespace {

constexpr std::size_t kMaxMatchesShown = 12;
constexpr std::size_t kMaxSuggestions = 3;
constexpr std::size_t kMaxCandidates = 12;  // candidates for suggestions of one pattern

std::unique_ptr<re2::RE2> compile_regex(const std::string& pattern, bool any_case) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!any_case);
  return std::make_unique<re2::RE2>(pattern, options);
}

bool has_capital(const std::string& text) { return re2::RE2::PartialMatch(text, R"(\p{Lu})"); }

// Returns true if the text has wildcards, and nothing specific to regular expressions.
bool is_glob(const std::string& text) {
  return text.find_first_of("*?") != std::string::npos &&
         text.find_first_of("^$+()[]{}|\\") == std::string::npos &&
         text.find(".*") == std::string::npos && text.find(".?") == std::string::npos;
}

std::string convert_glob(const std::string& glob) {
  std::string regex;
  for (const char c : glob) {
    regex += c == '*' ? ".*" : c == '?' ? "." : re2::RE2::QuoteMeta(std::string(1, c));
  }
  return regex;
}

// A pattern as typed, with all its interpretations.
class Pattern {
 public:
  explicit Pattern(const std::string& text) : text_(text) {
    const bool any_case = !has_capital(text);
    auto regex = compile_regex(text, any_case);
    if (regex->ok()) {
      expressions_.push_back(std::move(regex));
    } else {
      problem_ = regex->error();
    }
    std::string plain = re2::RE2::QuoteMeta(text);
    if (plain != text) expressions_.push_back(compile_regex(plain, any_case));
    if (is_glob(text)) expressions_.push_back(compile_regex(convert_glob(text), any_case));
  }

  const std::string& text() const { return text_; }
  const std::string& problem() const { return problem_; }  // why it is not a regular expression

  bool matches(const Variant& variant) const {
    if (matches(variant.key)) return true;
    const VariantName name = name_variant(variant);
    return matches(name.full + " " + name.column) || matches(name.row + " " + name.column);
  }

  bool matches(const std::string& text) const {
    return std::ranges::any_of(expressions_, [&text](const auto& expression) {
      return re2::RE2::PartialMatch(text, *expression);
    });
  }

 private:
  std::string text_;
  std::string problem_;
  std::vector<std::unique_ptr<re2::RE2>> expressions_;
};

// Shared, as std::function copies its target.
using Patterns = std::shared_ptr<const std::vector<Pattern>>;

Patterns make_patterns(const std::vector<std::string>& texts) {
  return std::make_shared<const std::vector<Pattern>>(texts.begin(), texts.end());
}

bool any_matches(const std::vector<Pattern>& patterns, const Variant& variant) {
  return std::ranges::any_of(
      patterns, [&variant](const Pattern& pattern) { return pattern.matches(variant); });
}

bool matches_any(const Pattern& pattern, const std::vector<Variant>& variants) {
  return std::ranges::any_of(
      variants, [&pattern](const Variant& variant) { return pattern.matches(variant); });
}

template <class T>
bool is_listed(const std::vector<T>& list, const T& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

bool has_wanted_tag(const std::vector<std::string>& list, const Variant& variant) {
  return list.empty() ||
         std::ranges::any_of(variant.tags, [&](const auto& tag) { return is_listed(list, tag); });
}

// Removes all but the first of equal words.
std::vector<std::string> remove_repeated(std::vector<std::string> words) {
  std::set<std::string> seen;
  std::erase_if(words, [&seen](const std::string& word) { return !seen.insert(word).second; });
  return words;
}

// Returns all filters that may be intended; those that match more variants come first.
std::vector<std::string> list_possible_filters(const std::vector<Variant>& variants) {
  std::vector<VariantName> names;
  for (const Variant& variant : variants) names.push_back(name_variant(variant));
  std::vector<std::string> words;
  for (const VariantName& name : names) words.push_back(name.group);
  for (const Variant& variant : variants) words.push_back(printable(variant.label));
  for (const VariantName& name : names) words.push_back(name.full);
  for (const VariantName& name : names) words.push_back(name.row);
  for (const VariantName& name : names) words.push_back(name.full + " " + name.column);
  for (const VariantName& name : names) words.push_back(name.row + " " + name.column);
  for (const Variant& variant : variants) words.push_back(printable(variant.key));
  return remove_repeated(std::move(words));
}

std::string join_quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "`" : ", `") + word + "`";
  return text;
}

// Returns filters near the pattern, nearest first.
std::vector<std::string> find_near_filters(const Pattern& pattern,
                                           const std::vector<Variant>& variants,
                                           const std::vector<std::string>& possible) {
  const std::string any_case = lower_case(pattern.text());
  if (any_case != pattern.text() && matches_any(Pattern(any_case), variants)) return {any_case};
  std::string plain = pattern.text();
  constexpr std::string_view kOperators = "^$.*+?()[]{}|\\";
  std::erase_if(plain, [&](char c) { return kOperators.find(c) != std::string_view::npos; });
  return near_matches(plain, possible, kMaxCandidates);
}

// Returns filters near the patterns that all match different variants.
std::vector<std::string> find_suggestions(const std::vector<const Pattern*>& patterns,
                                          const std::vector<Variant>& variants) {
  const std::vector<std::string> possible = list_possible_filters(variants);
  std::vector<std::string> suggestions;
  std::set<std::vector<bool>> matched_by_others;
  for (const Pattern* pattern : patterns) {
    for (std::string& filter : find_near_filters(*pattern, variants, possible)) {
      if (suggestions.size() == kMaxSuggestions) return suggestions;
      const Pattern near(filter);
      std::vector<bool> matched;
      for (const Variant& variant : variants) matched.push_back(near.matches(variant));
      if (matched_by_others.insert(std::move(matched)).second) {
        suggestions.push_back(std::move(filter));
      }
    }
  }
  return suggestions;
}

// "did you mean --filter=mm or --filter='mm n=4'?"
std::string advise_on(const char* option, const std::vector<const Pattern*>& patterns,
                      const std::vector<Variant>& variants) {
  std::string advice;
  const std::vector<std::string> suggestions = find_suggestions(patterns, variants);
  for (const std::string& filter : suggestions) {
    const bool is_last = suggestions.size() > 1 && &filter == &suggestions.back();
    advice += advice.empty() ? "did you mean " : is_last ? " or " : ", ";
    advice += fmt::format("{}={}", option, shell_word(filter));
  }
  if (!advice.empty()) return advice + "?";
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label);
  labels = remove_repeated(std::move(labels));
  return fmt::format("there {} {}, such as {}={}", labels.size() == 1 ? "is" : "are",
                     format_plural(labels.size(), "label"), option,
                     shell_word(printable(labels.front())));
}

Error make_no_match_error(const std::vector<Pattern>& filters, const std::vector<Variant>& variants,
                          const std::vector<std::string>& texts) {
  std::vector<const Pattern*> all;
  for (const Pattern& filter : filters) all.push_back(&filter);
  return {{},
          fmt::format("no benchmark matches the filter {}", join_quoted(texts)),
          advise_on("--filter", all, variants)};
}

// Refuses patterns that are not valid regular expressions and match nothing as plain text or glob.
Expected<void> check_patterns(const std::vector<Pattern>& patterns, const char* option,
                              const std::vector<Variant>& variants) {
  for (const Pattern& pattern : patterns) {
    if (pattern.problem().empty() || matches_any(pattern, variants)) continue;
    if (is_glob(pattern.text())) {
      return fail(fmt::format("{} `{}` matches no benchmark", option, pattern.text()),
                  advise_on(option, {&pattern}, variants));
    }
    return fail(
        fmt::format("{} `{}` is not a valid regular expression: {}; and no benchmark has it in its "
                    "name",
                    option, pattern.text(), pattern.problem()),
        "patterns are RE2's (https://github.com/google/re2/wiki/Syntax); put \\ before a "
        "character that stands for itself");
  }
  return {};
}

template <class Describe>
std::string list_values(const std::vector<Variant>& variants, Describe describe) {
  std::set<std::string> values;
  for (const Variant& variant : variants) {
    for (std::string& value : describe(variant)) values.insert(std::move(value));
  }
  return values.empty() ? "none" : join_quoted({values.begin(), values.end()});
}

// The error if the filters match these variants, but the other lists exclude all of them.
Error make_nothing_left_error(const std::vector<Variant>& matching, const Selection& selection) {
  using Values = std::vector<std::string>;
  std::string advice = "the variants have";
  const auto add = [&](bool is_limited, const char* name, auto describe) {
    if (is_limited) advice += fmt::format(" {} {};", name, list_values(matching, describe));
  };
  add(!selection.languages.empty(), "language",
      [](const Variant& v) { return Values{facts_of(v.language).name}; });
  add(!selection.backends.empty(), "backend",
      [](const Variant& v) { return Values{to_string(v.backend)}; });
  add(!selection.autograds.empty(), "autograd",
      [](const Variant& v) { return Values{to_string(v.autograd)}; });
  add(!selection.threads.empty(), "threads",
      [](const Variant& v) { return Values{std::to_string(v.threads)}; });
  add(!selection.devices.empty(), "device", [](const Variant& v) { return Values{v.device}; });
  add(!selection.tags.empty(), "tags", [](const Variant& v) { return v.tags; });
  if (advice.back() == ';') {
    advice.pop_back();
  } else {
    advice = "exclude fewer";
  }
  return {{},
          fmt::format("none of the {}{} is selected", format_plural(matching.size(), "variant"),
                      selection.filters.empty() ? "" : " that match the filters"),
          std::move(advice)};
}

}  // namespace

bool is_in(const Shard& shard, const std::string& key) {
  auto part = XXH3_64bits(key.data(), key.size()) % static_cast<std::uint64_t>(shard.count);
  return part + 1 == static_cast<std::uint64_t>(shard.index);
}

std::function<bool(const std::string&)> make_matcher(const std::string& pattern) {
  return [matcher = std::make_shared<Pattern>(pattern)](const std::string& text) {
    return matcher->matches(text);
  };
}

Selection with_eager(Selection selection) {
  auto& backends = selection.backends;
  const bool has_eager = std::ranges::find(backends, Backend::kEager) != backends.end();
  if (!backends.empty() && !has_eager) backends.insert(backends.begin(), Backend::kEager);
  return selection;
}

std::function<bool(const Variant&)> make_selector(const Selection& selection) {
  return [selection, filters = make_patterns(selection.filters),
          excludes = make_patterns(selection.excludes)](const Variant& v) {
    return (filters->empty() || any_matches(*filters, v)) && !any_matches(*excludes, v) &&
           is_listed(selection.languages, v.language) && is_listed(selection.backends, v.backend) &&
           is_listed(selection.autograds, v.autograd) && is_listed(selection.threads, v.threads) &&
           is_listed(selection.devices, v.device) && has_wanted_tag(selection.tags, v) &&
           (!selection.shard || is_in(*selection.shard, v.key));
  };
}

std::function<bool(const std::string& key)> make_key_selector(const Selection& selection) {
  return [selected = make_selector(selection)](const std::string& key) {
    return selected(parse_key(key));
  };
}

Expected<std::string> resolve_key(const std::string& word, const std::vector<std::string>& known) {
  if (std::ranges::find(known, word) != known.end()) return word;
  Selection selection;
  selection.filters = {word};
  const auto is_selected = make_key_selector(selection);
  std::set<std::string> matching;
  std::copy_if(known.begin(), known.end(), std::inserter(matching, matching.end()), is_selected);
  if (matching.size() == 1) return *matching.begin();
  if (matching.empty()) {
    return fail(fmt::format("there is no benchmark `{}`", printable(word)),
                did_you_mean(word, known));
  }
  std::string names;
  std::size_t count = 0;
  for (const std::string& key : matching) {
    if (++count > kMaxMatchesShown) break;
    names += "\n  " + printable(key);
  }
  if (count > kMaxMatchesShown) names += "\n  ...";
  return fail(fmt::format("`{}` matches {} benchmarks", printable(word), matching.size()),
              "name one of them:" + names);
}

Expected<std::vector<std::string>> resolve_keys(const std::vector<std::string>& words,
                                                const std::vector<std::string>& known) {
  std::vector<std::string> keys;
  for (const std::string& word : words) {
    TRY_ASSIGN(auto key, resolve_key(word, known));
    keys.push_back(std::move(key));
  }
  return keys;
}

Expected<void> check_selection(const std::vector<Variant>& variants, const Selection& selection) {
  const Patterns filters = make_patterns(selection.filters);
  TRY(check_patterns(*filters, "--filter", variants));
  TRY(check_patterns(*make_patterns(selection.excludes), "--exclude", variants));
  std::vector<Variant> matching;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(matching),
               [&](const Variant& v) { return filters->empty() || any_matches(*filters, v); });
  if (matching.empty()) {
    return fail(make_no_match_error(*filters, variants, selection.filters));
  }
  Selection whole = selection;
  whole.shard.reset();
  if (std::none_of(matching.begin(), matching.end(), make_selector(whole))) {
    return fail(make_nothing_left_error(matching, selection));
  }
  return {};
}

Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection) {
  if (variants.empty()) return fail("there is no benchmark to select from", "load definitions");
  TRY(check_selection(variants, selection));
  std::erase_if(variants, std::not_fn(make_selector(selection)));
  return variants;
}

}  // namespace instr
