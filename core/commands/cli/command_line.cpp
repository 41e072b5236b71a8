#include "core/commands/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/definitions/definition_keys.h"

namespace instr {

namespace {

std::string see_help(const std::string& command) {
  return fmt::format("see instr_bench {} --help", command);
}

Error unknown_option(const std::string& word, const CommandLine& line) {
  std::string name = word.substr(0, word.find('='));
  std::string dashed = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::vector<std::string> known;
  for (const OptionInfo& option : line.options()) known.push_back("--" + option.name);
  auto near = nearest(dashed, known);
  return {{},
          fmt::format("there is no option `{}`", name),
          near ? fmt::format("did you mean `{}`?", *near) : see_help(line.command())};
}

}  // namespace

void CommandLine::section(std::string title, std::string text) {
  sections_.push_back({std::move(title), std::move(text), group_.empty()});
}

// `names`: "-o,--output" and old names.
void CommandLine::add(const std::string& names, const std::string& value, const std::string& help,
                      std::vector<std::string> choices, Taking taking) {
  OptionInfo info{.value = value, .help = help, .group = group_, .choices = std::move(choices)};
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    begin = end + 1;
    if (!name.starts_with("--")) {
      info.letter = name[1];
    } else if (info.name.empty()) {
      info.name = name.substr(2);
    } else {
      info.old_names.push_back(name.substr(2));
    }
  }
  options_.push_back(std::move(info));
  takings_.push_back(std::move(taking));
}

void CommandLine::option(const std::string& names, const std::string& value,
                         const std::string& help, Take take, std::vector<std::string> choices) {
  add(names, value, help, std::move(choices), {std::move(take), {}});
}

void CommandLine::flag(const std::string& names, const std::string& help, bool& target) {
  flag(names, help, [&target](bool is_given) { target = is_given; });
}

void CommandLine::flag(const std::string& names, const std::string& help,
                       std::function<void(bool)> set) {
  add(names, "", help, {}, {{}, std::move(set)});
}

void CommandLine::operands(Operands operands, std::vector<std::string>& target) {
  operands_ = std::move(operands);
  operand_target_ = &target;
}

void CommandLine::rest(const std::string& usage, std::vector<std::string>& target) {
  rest_usage_ = usage;
  rest_target_ = &target;
}

void CommandLine::pass_on(const std::string& usage, std::vector<std::string>& target,
                          std::vector<std::string> taken_back) {
  rest(usage, target);
  passes_on_ = true;
  taken_back_ = std::move(taken_back);
}

void CommandLine::needs(std::vector<std::string> options, std::function<bool()> has_effect,
                        std::string without) {
  check([this, options = std::move(options), has_effect = std::move(has_effect),
         without = std::move(without)]() -> Expected<void> {
    if (has_effect()) return {};
    auto given = std::find_if(options.begin(), options.end(),
                              [this](const std::string& name) { return has(name); });
    if (given == options.end()) return {};
    return fail(fmt::format("--{} has no effect without {}", *given, without),
                "add it, or omit this option");
  });
}

bool OptionInfo::takes_next(std::string_view word) const {
  if (value.empty()) return false;
  return word.starts_with("--") ? word.find('=') == word.npos : word.size() == 2;
}

const OptionInfo* CommandLine::find(std::string_view word) const {
  const std::string_view name = word.substr(0, word.find('='));
  const auto option =
      std::find_if(options_.begin(), options_.end(), [&](const OptionInfo& candidate) {
        if (!name.starts_with("--")) {
          return word.size() >= 2 && word[0] == '-' && candidate.letter != '\0' &&
                 word[1] == candidate.letter;
        }
        const auto& old = candidate.old_names;
        return name.substr(2) == candidate.name ||
               std::find(old.begin(), old.end(), name.substr(2)) != old.end();
      });
  return option == options_.end() ? nullptr : &*option;
}

bool CommandLine::has(std::string_view name) const {
  const auto option = std::ranges::find(options_, name, &OptionInfo::name);
  return option != options_.end() &&
         takings_[static_cast<std::size_t>(option - options_.begin())].is_given;
}

CommandLine::Taking& CommandLine::taking_of(const OptionInfo& option) {
  return takings_[static_cast<std::size_t>(&option - options_.data())];
}

// Takes the value of an option: the rest of the word, or the next one.
Expected<void> CommandLine::take_value(const OptionInfo& option,
                                       const std::vector<std::string>& words, std::size_t& at) {
  const std::string& word = words[at];
  std::string value;
  if (option.takes_next(word)) {
    const bool has_next = at + 1 < words.size() && !words[at + 1].starts_with("--");
    if (has_next) value = words[++at];
  } else {
    value = word.substr(word.starts_with("--") ? word.find('=') + 1 : 2);
  }
  if (!value.empty()) {
    taking_of(option).values.push_back(std::move(value));
    taking_of(option).is_given = true;
    return {};
  }
  const bool may_be_empty =
      word.ends_with('=') && std::ranges::find(may_be_empty_, option.name) != may_be_empty_.end();
  if (may_be_empty) return {};
  return fail(fmt::format("--{} needs a value", option.name),
              fmt::format("write --{}={}; {}", option.name, option.value, see_help(command_)));
}

// Takes the option at `at`, and moves on to its last word. Letters of switches may share a dash.
Expected<void> CommandLine::take_option(const std::vector<std::string>& words, std::size_t& at,
                                        const Explain& explain) {
  const std::string& word = words[at];
  const OptionInfo* option = find(word);
  if (option == nullptr) {
    const auto explained = explain ? explain(word) : std::nullopt;
    return fail(explained.value_or(unknown_option(word, *this)));
  }
  if (!option->value.empty()) return take_value(*option, words, at);
  if (word.find('=') != word.npos) {
    return fail(fmt::format("--{} takes no value", option->name),
                fmt::format("write --{} alone", option->name));
  }
  taking_of(*option).is_given = true;
  if (word.starts_with("--") || word.size() == 2) return {};
  std::vector<std::string> others = words;
  others[at] = "-" + word.substr(2);
  return take_option(others, at, explain);
}

// Passes words on from `first` on, except for the options that are taken back.
Expected<void> CommandLine::pass_on(const std::vector<std::string>& words, std::size_t first) {
  const bool has_dashes = first < words.size() && words[first] == "--";
  bool is_own = !has_dashes;  // false after `--`
  for (std::size_t at = first + (has_dashes ? 1 : 0); at < words.size(); ++at) {
    is_own = is_own && words[at] != "--";
    const std::string name = words[at].substr(0, words[at].find('='));
    const bool is_taken = is_own && std::ranges::any_of(taken_back_, [&name](const auto& own) {
                            return name == "--" + own;
                          });
    if (is_taken) {
      TRY(take_option(words, at, {}));
    } else {
      rest_target_->push_back(words[at]);
    }
  }
  return {};
}

Expected<void> CommandLine::take_words(const std::vector<std::string>& words,
                                       const Explain& explain) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] == "--") {
      if (rest_target_ != nullptr) return pass_on(words, at);
      return fail(fmt::format("`{}` takes nothing after `--`", command_), see_help(command_));
    }
    if (is_option(words[at])) {
      TRY(take_option(words, at, explain));
      continue;
    }
    given_operands_.push_back(words[at]);
    if (passes_on_) return pass_on(words, at + 1);
  }
  return {};
}

Expected<void> CommandLine::check_operands() const {
  if (!given_operands_.empty() && operands_.max == 0) {
    const std::string& word = given_operands_.front();
    return fail(fmt::format("`{}` takes no `{}`", command_, word),
                find("--filter") == nullptr
                    ? see_help(command_)
                    : fmt::format("to select benchmarks, write --filter={}", word));
  }
  if (given_operands_.size() < operands_.min || given_operands_.size() > operands_.max) {
    return fail(fmt::format("`{}` takes {}", command_, operands_.usage), see_help(command_));
  }
  return {};
}

Expected<void> CommandLine::take_values() {
  for (std::size_t i = 0; i < takings_.size(); ++i) {
    const Taking& taking = takings_[i];
    if (taking.set) taking.set(taking.is_given);
    const std::string name = "--" + options_[i].name;
    for (const std::string& value : taking.values) {
      auto taken = taking.take({name, value});
      if (!taken) {
        Error error = taken.error();
        error.what = name + ": " + error.what;
        return fail(std::move(error));
      }
    }
  }
  return {};
}

Expected<void> CommandLine::parse(const std::vector<std::string>& words, const Explain& explain) {
  TRY(take_words(words, explain));
  TRY(check_operands());
  if (operand_target_ != nullptr) *operand_target_ = given_operands_;
  TRY(take_values());
  for (const auto& check : checks_) TRY(check());
  return {};
}

std::string list_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Expected<int> number_from(const Given& given, int min, int max) {
  const auto number = parse_number<int>(given.value);
  if (number && *number >= min && *number <= max) return *number;
  std::string range = max == std::numeric_limits<int>::max()
                          ? fmt::format("of at least {}", min)
                          : fmt::format("from {} to {}", min, max);
  return fail(fmt::format("`{}` is not a number {}", given.value, range),
              fmt::format("write a whole number, such as {}={}", given.option, std::max(min, 2)));
}

namespace {

// Converts a number above 0 and at most 1e6.
Expected<double> positive_from(const Given& given, const char* what, const std::string& example) {
  const auto number = parse_number<double>(given.value);
  if (number && is_time(*number)) return *number;
  return fail(fmt::format("`{}` is not a {} above 0, at most 1e6", given.value, what),
              "write for example " + example);
}

}  // namespace

Expected<double> seconds_from(const Given& given) {
  return positive_from(given, "number of seconds", fmt::format("{0}=30 or {0}=0.5", given.option));
}

Expected<double> ratio_from(const Given& given) {
  return positive_from(given, "ratio", given.option + "=0.9");
}

Take take_text(std::optional<std::string>& target) {
  return take_from(target, [](const Given& given) { return Expected<std::string>(given.value); });
}

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
