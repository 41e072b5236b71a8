#include "core/commands/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "core/base/near_match.h"

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

CommandLine::CommandLine(std::string command)
    : command_(std::move(command)), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag("");
  app_->allow_extras();
}

CommandLine::~CommandLine() = default;

void CommandLine::section(std::string title, std::string text) {
  sections_.push_back({std::move(title), std::move(text), group_.empty()});
}

void CommandLine::add(const std::string& value, const std::string& help,
                      std::vector<std::string> choices, Taken taken) {
  taken.option->group(group_)->description(help)->type_name(value);
  std::vector<std::string> names = taken.option->get_lnames();
  OptionInfo info{names.front(),     {names.begin() + 1, names.end()}, '\0', value, help, group_,
                  std::move(choices)};
  if (!taken.option->get_snames().empty()) info.letter = taken.option->get_snames().front().front();
  options_.push_back(std::move(info));
  taken_.push_back(std::move(taken));
}

void CommandLine::option(const std::string& names, const std::string& value,
                         const std::string& help, Take take, std::vector<std::string> choices) {
  CLI::Option* option = app_->add_option(names)->expected(1)->take_all()->allow_extra_args(false);
  add(value, help, std::move(choices), {option, std::move(take), {}});
}

void CommandLine::flag(const std::string& names, const std::string& help, bool& target) {
  flag(names, help, [&target](bool is_given) { target = is_given; });
}

void CommandLine::flag(const std::string& names, const std::string& help,
                       std::function<void(bool)> set) {
  CLI::Option* option = app_->add_flag(names)->disable_flag_override();
  add("", help, {}, {option, {}, std::move(set)});
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
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].name == name) return taken_[i].option->count() > 0;
  }
  return false;
}

std::size_t CommandLine::count_own(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return i;
    if (!word.starts_with('-')) {
      if (passes_on_) return i + 1;
      continue;
    }
    const OptionInfo* option = find(word);
    if (option == nullptr || !option->takes_next(word)) continue;
    if (i + 1 < words.size() && !words[i + 1].starts_with("--")) ++i;
  }
  return words.size();
}

// Refuses an option without its value ("--jobs=", "--jobs --quiet": CLI11 would take the next word)
// and a switch with a value.
Expected<void> CommandLine::check_values(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const OptionInfo* option = find(word);
    if (option == nullptr) continue;
    if (option->value.empty()) {
      if (word.find('=') == word.npos) continue;
      return fail(fmt::format("--{} takes no value", option->name),
                  fmt::format("write --{} alone", option->name));
    }
    const bool takes_next = option->takes_next(word);
    const bool has_value = takes_next ? i + 1 < words.size() && !words[i + 1].empty() &&
                                            !words[i + 1].starts_with("--")
                                      : word.find('=') + 1 != word.size();
    if (!has_value) {
      return fail(
          fmt::format("--{} needs a value", option->name),
          fmt::format("write --{}={}; {}", option->name, option->value, see_help(command_)));
    }
    if (takes_next) ++i;
  }
  return {};
}

Expected<void> CommandLine::take_operands(std::vector<std::string> words) {
  for (const std::string& word : words) {
    if (word.starts_with('-') && word.size() > 1) {
      return fail(unknown_option(word, *this));
    }
  }
  if (!words.empty() && operands_.max == 0) {
    return fail(fmt::format("`{}` takes no `{}`", command_, words[0]),
                find("--filter") == nullptr
                    ? see_help(command_)
                    : fmt::format("to select benchmarks, write --filter={}", words[0]));
  }
  if (words.size() < operands_.min || words.size() > operands_.max) {
    return fail(fmt::format("`{}` takes {}", command_, operands_.usage), see_help(command_));
  }
  if (operand_target_ != nullptr) *operand_target_ = std::move(words);
  return {};
}

Expected<void> CommandLine::take_values() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i].set) {
      taken_[i].set(taken_[i].option->count() > 0);
      continue;
    }
    const std::string name = "--" + options_[i].name;
    for (const std::string& value : taken_[i].option->results()) {
      auto taken = taken_[i].take({name, value});
      if (!taken) {
        Error error = taken.error();
        error.what = name + ": " + error.what;
        return fail(std::move(error));
      }
    }
  }
  return {};
}

// Stores what follows the command's own words, and leaves those.
Expected<void> CommandLine::split_off_rest(std::vector<std::string>& words) {
  auto rest = words.begin() + static_cast<std::ptrdiff_t>(count_own(words));
  if (rest == words.end()) return {};
  if (rest_target_ == nullptr) {
    return fail(fmt::format("`{}` takes nothing after `--`", command_), see_help(command_));
  }
  const bool has_dashes = *rest == "--";
  rest_target_->assign(rest + (has_dashes ? 1 : 0), words.end());
  words.erase(rest, words.end());
  if (!has_dashes) take_back(words);
  return {};
}

// Moves this command's options from the rest to the words, with their values.
void CommandLine::take_back(std::vector<std::string>& words) {
  std::vector<std::string> rest;
  bool is_own = true;  // true up to `--`
  for (auto word = rest_target_->begin(); word != rest_target_->end(); ++word) {
    is_own = is_own && *word != "--";
    const bool is_taken =
        is_own && std::ranges::any_of(taken_back_, [&word](const std::string& name) {
          return word->substr(0, word->find('=')) == "--" + name;
        });
    const OptionInfo* option = is_taken ? find(*word) : nullptr;
    if (option == nullptr) {
      rest.push_back(*word);
      continue;
    }
    words.push_back(*word);
    if (option->takes_next(*word) && std::next(word) != rest_target_->end()) {
      words.push_back(*++word);
    }
  }
  *rest_target_ = std::move(rest);
}

Expected<void> CommandLine::parse(const std::vector<std::string>& all) {
  std::vector<std::string> words = all;
  TRY(split_off_rest(words));
  std::erase_if(words, [this](const std::string& word) {
    return std::any_of(may_be_empty_.begin(), may_be_empty_.end(),
                       [&word](const std::string& name) { return word == "--" + name + "="; });
  });
  TRY(check_values(words));
  try {
    // CLI11 takes the words from the end.
    std::reverse(words.begin(), words.end());
    app_->parse(words);
  } catch (const CLI::ParseError& error) {
    return fail(error.what(), see_help(command_));
  }
  TRY(take_operands(app_->remaining()));
  TRY(take_values());
  for (const auto& check : checks_) {
    TRY(check());
  }
  return {};
}

}  // namespace instr
