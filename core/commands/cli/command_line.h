// A command's options, each declared once with its value and its help. Parsing, --help, the man
// page and the completions are derived from these declarations.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/near_match.h"

namespace instr {

// A value of an option, as written.
struct Given {
  std::string option;  // "--jobs", for messages
  std::string value;
};

// Converts and stores a value. The error has no place; the command line adds the option's name.
using Take = std::function<Expected<void>(const Given& given)>;

// A declared option.
struct OptionInfo {
  std::string name = {};                    // "output", without dashes
  std::vector<std::string> old_names = {};  // earlier names, which help and completion leave out
  char letter = '\0';                       // 'o'; 0: none
  std::string value;                        // "FILE"; empty: a switch
  std::string help;
  std::string group;                 // the heading under which it is listed
  std::vector<std::string> choices;  // the valid values; empty: any

  // Returns whether the next word is the value: after "--jobs" and "-j", not "--jobs=3" and "-j3".
  bool takes_next(std::string_view word) const;
};

// True for "--jobs" and "-j", and not for "-", which stands for a file.
inline bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

struct HelpSection {
  std::string title;
  std::string text;
  bool is_above_options = false;
};

// For commands that take any number of operands.
inline constexpr std::size_t kMaxOperands = 1'000'000;

struct Operands {
  std::string usage;  // "BASE NEW"; empty: there are none
  std::size_t min = 0;
  std::size_t max = 0;
};

class CommandLine {
 public:
  explicit CommandLine(std::string command) : command_(std::move(command)) {}  // "compare"
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The usage, if it is not "instr_bench COMMAND OPERANDS [options]".
  void usage(std::string text) { usage_ = std::move(text); }
  // Describes the command for its help, in paragraphs that are wrapped when printed.
  void describe(std::string text) { description_ = std::move(text); }
  // Adds preformatted lines: above the options if no group has begun yet, else below them.
  void section(std::string title, std::string text);
  // Sets the heading of the options that follow.
  void group(std::string title) { group_ = std::move(title); }

  // Declares an option. `names`: "--output" or "-o,--output"; old names may follow:
  // "--backend,--runtime". `take` is called for each value in order.
  void option(const std::string& names, const std::string& value, const std::string& help,
              Take take, std::vector<std::string> choices = {});
  void flag(const std::string& names, const std::string& help, bool& target);
  void flag(const std::string& names, const std::string& help, std::function<void(bool)> set);

  void operands(Operands operands, std::vector<std::string>& target);
  // Accepts words after `--`.
  void rest(const std::string& usage, std::vector<std::string>& target);
  // Passes everything after the operand, which is one word, on to another command, except for the
  // options of this command that are named here, which the other one does not have.
  void pass_on(const std::string& usage, std::vector<std::string>& target,
               std::vector<std::string> taken_back = {});
  // Ignores `--option=`, which scripts write for an empty variable.
  void may_be_empty(const std::string& option) { may_be_empty_.push_back(option); }

  // Adds a check of values that belong together, called once all values are stored. It may derive
  // other values.
  void check(std::function<Expected<void>()> check) { checks_.push_back(std::move(check)); }
  // Refuses these options if `has_effect` is false: "--limit has no effect without --baseline or
  // --expect". Checked once all values are stored.
  void needs(std::vector<std::string> options, std::function<bool()> has_effect,
             std::string without);

  // Parses the words after the program's name, without the command. Returns the first error.
  // `explain`: says why an option is unknown, if it can.
  using Explain = std::function<std::optional<Error>(const std::string& word)>;
  Expected<void> parse(const std::vector<std::string>& words, const Explain& explain = {});
  bool has(std::string_view name) const;  // true if the option "output" was given

  const std::string& command() const { return command_; }
  const std::string& usage() const { return usage_; }  // empty: derived
  const std::string& description() const { return description_; }
  const Operands& operands() const { return operands_; }
  const std::string& rest_usage() const { return rest_usage_; }
  std::span<const OptionInfo> options() const { return options_; }
  std::span<const HelpSection> sections() const { return sections_; }
  // Returns the option that a word such as "--jobs", "--jobs=3" or "-j" names; or null.
  const OptionInfo* find(std::string_view word) const;

 private:
  // The effect of an option, and its values so far.
  struct Taking {
    Take take;                             // a value; empty for a switch
    std::function<void(bool)> set;         // a switch
    std::vector<std::string> values = {};  // the words given, in order
    bool is_given = false;
  };

  Expected<void> take_words(const std::vector<std::string>& words, const Explain& explain);
  Expected<void> take_option(const std::vector<std::string>& words, std::size_t& at,
                             const Explain& explain);
  Expected<void> take_value(const OptionInfo& option, const std::vector<std::string>& words,
                            std::size_t& at);
  Expected<void> pass_on(const std::vector<std::string>& words, std::size_t first);
  Expected<void> check_operands() const;
  Expected<void> take_values();
  Taking& taking_of(const OptionInfo& option);
  void add(const std::string& names, const std::string& value, const std::string& help,
           std::vector<std::string> choices, Taking taking);

  std::string command_;
  std::string usage_;
  std::string description_;
  std::string group_;
  std::vector<HelpSection> sections_;
  std::vector<OptionInfo> options_;
  std::vector<Taking> takings_;  // index: that of options_
  Operands operands_;
  std::vector<std::string> given_operands_;
  std::vector<std::string>* operand_target_ = nullptr;
  std::string rest_usage_;
  std::vector<std::string>* rest_target_ = nullptr;
  bool passes_on_ = false;
  std::vector<std::string> taken_back_;    // names without dashes
  std::vector<std::string> may_be_empty_;  // names without dashes
  std::vector<std::function<Expected<void>()>> checks_;
};

// Conversion of options' words to checked values.

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

// Converts a ratio, above 0 and at most 1e6.
Expected<double> ratio_from(const Given& given);

// Takes that store the last value in `target`, which may be optional.

template <class Target, class From>
Take take_from(Target& target, From from) {
  return [&target, from = std::move(from)](const Given& given) {
    return from(given).map([&target](auto value) { target = std::move(value); });
  };
}

Take take_text(std::optional<std::string>& target);

template <class Target>
Take take_path(Target& target) {
  return take_from(target, [](const Given& given) { return Expected<fs::path>(given.value); });
}

template <class Target>
Take take_number(Target& target, int min, int max = std::numeric_limits<int>::max()) {
  return take_from(target, [=](const Given& given) { return number_from(given, min, max); });
}

template <class Target>
Take take_seconds(Target& target) {
  return take_from(target, seconds_from);
}

template <class Target>
Take take_ratio(Target& target) {
  return take_from(target, ratio_from);
}

template <class T>
Take take_choice(T& target, Choices<T> choices) {
  return take_from(target, [choices = std::move(choices)](const Given& given) {
    return choice_from(given, choices);
  });
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
