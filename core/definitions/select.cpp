#include "core/definitions/select.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/shell.h"
#include "core/definitions/variant.h"

namespace instr {
namespace {

constexpr std::size_t kMaxMatchesShown = 12;

constexpr std::size_t kSuggestions = 3;
constexpr std::size_t kNearest = 12;  // that they are taken from

std::unique_ptr<re2::RE2> compiled(const std::string& pattern, bool any_case) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!any_case);
  return std::make_unique<re2::RE2>(pattern, options);
}

bool has_capital(const std::string& text) { return re2::RE2::PartialMatch(text, R"(\p{Lu})"); }

// Whether it has wildcards, and nothing specific to regular expressions.
bool is_glob(const std::string& text) {
  return text.find_first_of("*?") != std::string::npos &&
         text.find_first_of("^$+()[]{}|\\") == std::string::npos &&
         text.find(".*") == std::string::npos && text.find(".?") == std::string::npos;
}

std::string regex_of_glob(const std::string& glob) {
  std::string regex;
  for (const char c : glob) {
    regex += c == '*' ? ".*" : c == '?' ? "." : re2::RE2::QuoteMeta(std::string(1, c));
  }
  return regex;
}

// A pattern as typed, in each of its readings.
class Pattern {
 public:
  explicit Pattern(const std::string& text) : text_(text) {
    const bool any_case = !has_capital(text);
    auto regex = compiled(text, any_case);
    if (!regex->ok()) problem_ = regex->error();
    std::string plain = re2::RE2::QuoteMeta(text);
    if (regex->ok()) readings_.push_back(std::move(regex));
    if (plain != text) readings_.push_back(compiled(plain, any_case));
    if (is_glob(text)) readings_.push_back(compiled(regex_of_glob(text), any_case));
  }

  const std::string& text() const { return text_; }
  const std::string& problem() const { return problem_; }  // why it is not a regular expression

  bool finds(const Variant& variant) const {
    if (is_in(variant.key)) return true;
    const VariantName name = name_variant(variant);
    return is_in(name.full + " " + name.column) || is_in(name.row + " " + name.column);
  }

  bool is_in(const std::string& text) const {
    return std::any_of(readings_.begin(), readings_.end(), [&text](const auto& reading) {
      return re2::RE2::PartialMatch(text, *reading);
    });
  }

 private:
  std::string text_;
  std::string problem_;
  std::vector<std::unique_ptr<re2::RE2>> readings_;
};

// A std::function's target is copied.
using Patterns = std::shared_ptr<const std::vector<Pattern>>;

Patterns patterns(const std::vector<std::string>& texts) {
  return std::make_shared<const std::vector<Pattern>>(texts.begin(), texts.end());
}

bool any_finds(const std::vector<Pattern>& patterns, const Variant& variant) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&variant](const Pattern& pattern) { return pattern.finds(variant); });
}

bool finds_any(const Pattern& pattern, const std::vector<Variant>& variants) {
  return std::any_of(variants.begin(), variants.end(),
                     [&pattern](const Variant& variant) { return pattern.finds(variant); });
}

template <class T>
bool is_listed(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool has_wanted_tag(const std::vector<std::string>& list, const Variant& variant) {
  return list.empty() || std::any_of(variant.tags.begin(), variant.tags.end(),
                                     [&](const auto& tag) { return is_listed(list, tag); });
}

// The words in their order, each once.
class Words {
 public:
  void add(std::string word) {
    if (seen_.insert(word).second) all_.push_back(std::move(word));
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::set<std::string> seen_;
};

std::vector<std::string> labels_of(const std::vector<Variant>& variants) {
  Words labels;
  for (const Variant& variant : variants) labels.add(variant.label);
  return labels.all();
}

// All filters that may have been meant; those that match more come first.
std::vector<std::string> possible_filters(const std::vector<Variant>& variants) {
  std::vector<VariantName> names;
  for (const Variant& variant : variants) names.push_back(name_variant(variant));
  Words words;
  for (const VariantName& name : names) words.add(name.group);
  for (const Variant& variant : variants) words.add(printable(variant.label));
  for (const VariantName& name : names) words.add(name.full);
  for (const VariantName& name : names) words.add(name.row);
  for (const VariantName& name : names) words.add(name.full + " " + name.column);
  for (const VariantName& name : names) words.add(name.row + " " + name.column);
  for (const Variant& variant : variants) words.add(printable(variant.key));
  return words.all();
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

// Near `pattern`, nearest first.
std::vector<std::string> near_filters(const Pattern& pattern, const std::vector<Variant>& variants,
                                      const std::vector<std::string>& possible) {
  const std::string any_case = lower_case(pattern.text());
  if (any_case != pattern.text() && finds_any(Pattern(any_case), variants)) return {any_case};
  return near_matches(without_operators(pattern.text()), possible, kNearest);
}

// Some filters near the patterns, no two of which find the same.
std::vector<std::string> suggestions_for(const std::vector<const Pattern*>& patterns,
                                         const std::vector<Variant>& variants) {
  const std::vector<std::string> possible = possible_filters(variants);
  std::vector<std::string> suggestions;
  std::set<std::vector<bool>> found_by_others;
  for (const Pattern* pattern : patterns) {
    for (std::string& filter : near_filters(*pattern, variants, possible)) {
      if (suggestions.size() == kSuggestions) return suggestions;
      const Pattern near(filter);
      std::vector<bool> found;
      for (const Variant& variant : variants) found.push_back(near.finds(variant));
      if (found_by_others.insert(std::move(found)).second) suggestions.push_back(std::move(filter));
    }
  }
  return suggestions;
}

// "did you mean --filter=mm or --filter='mm n=4'?"
std::string advice_on(const char* option, const std::vector<const Pattern*>& patterns,
                      const std::vector<Variant>& variants) {
  std::string advice;
  const std::vector<std::string> suggestions = suggestions_for(patterns, variants);
  for (const std::string& one : suggestions) {
    const bool is_last = suggestions.size() > 1 && &one == &suggestions.back();
    advice += advice.empty() ? "did you mean " : is_last ? " or " : ", ";
    advice += fmt::format("{}={}", option, shell_word(one));
  }
  if (!advice.empty()) return advice + "?";
  const auto labels = labels_of(variants);
  return fmt::format("there {} {}, such as {}={}", labels.size() == 1 ? "is" : "are",
                     format_plural(labels.size(), "label"), option,
                     shell_word(printable(labels.front())));
}

Error no_filter_matches(const std::vector<Pattern>& filters, const std::vector<Variant>& variants,
                        const std::vector<std::string>& texts) {
  std::vector<const Pattern*> all;
  for (const Pattern& filter : filters) all.push_back(&filter);
  return {{},
          fmt::format("no benchmark matches the filter {}", quoted_list(texts)),
          advice_on("--filter", all, variants)};
}

// A pattern that is not a regular expression and matches nothing as plain text was meant to be one.
Expected<void> check_readable(const std::vector<Pattern>& patterns, const char* option,
                              const std::vector<Variant>& variants) {
  for (const Pattern& pattern : patterns) {
    if (pattern.problem().empty() || finds_any(pattern, variants)) continue;
    if (is_glob(pattern.text())) {
      return fail(fmt::format("{} `{}` matches no benchmark", option, pattern.text()),
                  advice_on(option, {&pattern}, variants));
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
std::string values_of(const std::vector<Variant>& variants, Describe describe) {
  std::set<std::string> values;
  for (const Variant& variant : variants) {
    for (std::string& value : describe(variant)) values.insert(std::move(value));
  }
  return values.empty() ? "none" : quoted_list({values.begin(), values.end()});
}

// The filters match these variants, but the other lists exclude all of them.
Error nothing_left(const std::vector<Variant>& matching, const Selection& selection) {
  using Values = std::vector<std::string>;
  const bool has_filters = !selection.filters.empty();
  std::string advice = has_filters ? "those that match the filters have" : "there are";
  const auto add = [&](bool is_limited, const char* name, auto describe) {
    if (is_limited) advice += fmt::format(" {} {};", name, values_of(matching, describe));
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
    advice = "exclude less";
  }
  return {{},
          fmt::format("of the {}{}, none is left", format_plural(matching.size(), "variant"),
                      has_filters ? " that match the filters" : ""),
          std::move(advice)};
}

}  // namespace

bool is_in(const Shard& shard, const std::string& key) {
  auto part = XXH3_64bits(key.data(), key.size()) % static_cast<std::uint64_t>(shard.count);
  return part + 1 == static_cast<std::uint64_t>(shard.index);
}

std::function<bool(const std::string&)> make_matcher(const std::string& pattern) {
  return [read = std::make_shared<Pattern>(pattern)](const std::string& text) {
    return read->is_in(text);
  };
}

std::function<bool(const Variant&)> make_selector(const Selection& selection) {
  return [selection, filters = patterns(selection.filters),
          excludes = patterns(selection.excludes)](const Variant& v) {
    return (filters->empty() || any_finds(*filters, v)) && !any_finds(*excludes, v) &&
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
  if (std::find(known.begin(), known.end(), word) != known.end()) return word;
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
  const Patterns filters = patterns(selection.filters);
  auto readable = check_readable(*filters, "--filter", variants);
  if (!readable) return readable;
  readable = check_readable(*patterns(selection.excludes), "--exclude", variants);
  if (!readable) return readable;
  std::vector<Variant> matching;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(matching),
               [&](const Variant& v) { return filters->empty() || any_finds(*filters, v); });
  if (matching.empty()) {
    return tl::unexpected(no_filter_matches(*filters, variants, selection.filters));
  }
  Selection whole = selection;
  whole.shard.reset();
  if (std::none_of(matching.begin(), matching.end(), make_selector(whole))) {
    return tl::unexpected(nothing_left(matching, selection));
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
