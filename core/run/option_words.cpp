#include "core/run/option_words.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/near_match.h"

namespace instr {

namespace {

using Commands = unsigned;

constexpr Commands bit(Command command) { return 1u << static_cast<unsigned>(command); }

constexpr Commands kRun = bit(Command::kRun);
constexpr Commands kWatch = bit(Command::kWatch);
constexpr Commands kDoctor = bit(Command::kDoctor);
constexpr Commands kCompare = bit(Command::kCompare);
constexpr Commands kBaseline = bit(Command::kBaseline);
constexpr Commands kExplain = bit(Command::kExplain);
constexpr Commands kAb = bit(Command::kAb);
constexpr Commands kMerge = bit(Command::kMerge);
constexpr Commands kBisect = bit(Command::kBisect);
constexpr Commands kSelftest = bit(Command::kSelftest);
constexpr Commands kExperiment = bit(Command::kExperiment);
constexpr Commands kPlot = bit(Command::kPlot);
constexpr Commands kAll = ~0u;
constexpr Commands kMeasuring = kRun | kWatch | kExplain | kAb | kBisect;
constexpr Commands kTiming = kMeasuring | kExperiment;
constexpr Commands kChoosing = kRun | kWatch | kCompare | kBaseline | kAb | kPlot;
constexpr Commands kComparing = kRun | kCompare | kAb | kBisect;

// An option by its name without dashes, and the commands that it belongs to.
struct Flag {
  const char* name;
  const char* short_name;  // "" where there is none
  Commands commands;
};

constexpr Flag kSwitches[] = {
    {"no-cache", "", kTiming | kDoctor | kSelftest},
    {"dry-run", "", kRun | kExperiment},
    {"verify", "", kRun},
    {"reverse", "", kRun},
    {"list", "", kRun},
    {"update-expected", "", kRun},
    {"show-same", "", kComparing},
    {"show-keys", "", kRun | kCompare | kAb | kBaseline},
    {"allow-missing", "", kComparing | kMerge},
    {"allow-incomplete", "", kComparing | kMerge | kBaseline | kExplain | kPlot},
    {"allow-failed", "", kComparing},
    {"allow-not-comparable", "", kComparing},
    {"allow-nothing", "", kComparing},
    {"forbid-new", "", kComparing},
    {"quiet", "q", kAll},
    {"verbose", "v", kAll},
    {"version", "", kAll},
    {"help", "h", kAll}};

constexpr Flag kSettings[] = {
    {"filter", "", kChoosing | kExperiment},
    {"exclude", "", kChoosing | kExperiment},
    {"runtime", "", kChoosing},
    {"autograd", "", kChoosing},
    {"threads", "", kChoosing | kExperiment},
    {"device", "", kChoosing},
    {"tag", "", kChoosing | kExperiment},
    {"shard", "", kRun},
    {"accelerator", "", kExperiment},
    {"backend", "", kExperiment},
    {"test", "", kExperiment},
    {"dtype", "", kExperiment},
    {"batch-size", "", kExperiment},
    {"repeat", "", kExperiment},
    {"iterations-per-run", "", kExperiment},
    {"key", "", kBisect},
    {"definitions", "", kTiming},
    {"build", "", kTiming},
    {"metrics", "", kMeasuring | kBaseline | kPlot},
    {"dump", "", kRun},
    {"dump-folder", "", kRun},
    {"jobs", "j", kTiming | kDoctor | kSelftest},
    {"timeout", "", kTiming},
    {"retries", "", kMeasuring},
    {"isolation", "", kMeasuring},
    {"repetitions", "", kMeasuring},
    {"min-time", "", kTiming},
    {"time-cores", "", kMeasuring & ~kAb},  // whose sides are timed in turns, after all counts
    {"churn", "", kMeasuring},
    {"libtorch", "", kTiming | kDoctor | kSelftest},
    {"compiler", "", kTiming | kDoctor | kSelftest},
    {"output", "o", kRun | kAb | kMerge | kExperiment | kPlot},
    {"format", "", kRun | kCompare | kAb | kBaseline | kExperiment},
    {"keep-profiles", "", kRun | kExplain},
    {"save", "", kRun},
    {"baseline", "", kRun | kBisect},
    {"expect", "", kRun},
    {"limit", "", kComparing},
    {"soft-limit", "", kComparing},
    {"limits", "", kComparing},
    {"base-limits", "", kComparing},
    {"vary", "", kComparing | kMerge},
    {"top", "", kExplain},
    {"repeats", "", kSelftest},
    {"kind", "", kPlot},
    {"by", "", kPlot},
    {"color", "", kAll}};

struct CommandWord {
  const char* name;
  Command command;
  std::size_t least_operands;
  std::size_t most_operands;
  const char* usage;  // of the operands
};

constexpr std::size_t kMany = 1'000'000;

constexpr CommandWord kCommands[] = {
    {"run", Command::kRun, 0, 0, ""},
    {"list", Command::kList, 0, 0, ""},
    {"watch", Command::kWatch, 0, 0, ""},
    {"doctor", Command::kDoctor, 0, 0, ""},
    {"compare", Command::kCompare, 2, 2, "BASE NEW"},
    {"baseline", Command::kBaseline, 1, kMany, "list, baseline show NAME or baseline remove NAME"},
    {"explain", Command::kExplain, 1, 2, "KEY [RESULTS]"},
    {"ab", Command::kAb, 0, 0, ""},
    {"merge", Command::kMerge, 1, kMany, "FILE... --output=FILE"},
    {"bisect", Command::kBisect, 0, 0, ""},
    {"selftest", Command::kSelftest, 0, 0, ""},
    {"experiment", Command::kExperiment, 0, 1, "one FILE.toml at most"},
    {"plot", Command::kPlot, 1, 1, "NAME|FILE"}};

constexpr const char* kSeeHelp = "see instr_bench --help";

const CommandWord* find_command(std::string_view word) {
  for (const CommandWord& command : kCommands) {
    if (word == command.name) return &command;
  }
  return nullptr;
}

const Flag* find_setting(std::string_view word) {
  for (const Flag& flag : kSettings) {
    if (word == std::string("--") + flag.name) return &flag;
    if (*flag.short_name != '\0' && word == std::string("-") + flag.short_name) return &flag;
  }
  return nullptr;
}

// A setting without its value ("--jobs=", "--jobs --quiet": CLI11 would take the next word), or a
// switch with one.
Expected<void> check_values(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::size_t equals = word.find('=');
    if (const Flag* flag = find_setting(word.substr(0, equals))) {
      bool has_value = equals == std::string::npos
                           ? i + 1 < words.size() && !words[i + 1].starts_with("--")
                           : equals + 1 < word.size();
      if (!has_value || (equals == std::string::npos && words[i + 1].empty())) {
        return fail(fmt::format("--{} needs a value", flag->name),
                    fmt::format("write --{}=VALUE; {}", flag->name, kSeeHelp));
      }
      if (equals == std::string::npos) ++i;
    }
    for (const Flag& flag : kSwitches) {
      if (word.starts_with(std::string("--") + flag.name + "=")) {
        return fail(fmt::format("--{} takes no value", flag.name),
                    fmt::format("write --{} alone", flag.name));
      }
    }
  }
  return {};
}

std::string names_of(const Flag& flag) {
  std::string names = std::string("--") + flag.name;
  if (*flag.short_name != '\0') names = std::string("-") + flag.short_name + "," + names;
  return names;
}

Error unknown_word(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  if (!word.starts_with('-')) {
    std::vector<std::string> commands;
    for (const CommandWord& command : kCommands) commands.emplace_back(command.name);
    auto near = nearest(name, commands);
    std::string advice = near ? fmt::format("did you mean `{}`? ", *near) : "";
    return {{},
            fmt::format("there is no command `{}`", word),
            advice + fmt::format("to choose benchmarks, write --filter={}", word)};
  }
  std::string dashed = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
  auto near = nearest(dashed, known_options());
  return {{},
          fmt::format("there is no option `{}`", name),
          near ? fmt::format("did you mean `{}`?", *near) : kSeeHelp};
}

// What is neither an option nor an option's value: the command and its operands.
Expected<void> take_words(const std::vector<std::string>& words, OptionWords& read) {
  for (const std::string& word : words) {
    if (word.starts_with('-') && word.size() > 1) return tl::unexpected(unknown_word(word));
  }
  if (words.empty()) return {};
  const CommandWord* command = find_command(words[0]);
  if (command == nullptr) return tl::unexpected(unknown_word(words[0]));
  read.command_word = command->name;
  read.command = command->command;
  read.operands.assign(words.begin() + 1, words.end());
  std::size_t count = read.operands.size();
  if (count > 0 && command->most_operands == 0) {
    if (find_command(read.operands[0]) != nullptr) {
      return fail(fmt::format("two commands: `{}` and `{}`", command->name, read.operands[0]),
                  "run one after the other");
    }
    return fail(fmt::format("`{}` takes no `{}`", command->name, read.operands[0]),
                fmt::format("to choose benchmarks, write --filter={}", read.operands[0]));
  }
  if (count < command->least_operands || count > command->most_operands) {
    return fail(fmt::format("`{}` takes {}", command->name, command->usage),
                fmt::format("see instr_bench {} --help", command->name));
  }
  return {};
}

// An option that the command does nothing with would mislead. What would be run can be listed with
// the same options.
Expected<void> check_belonging(const OptionWords& read) {
  Commands command_bits = bit(read.command) | (read.command == Command::kList ? kRun : 0);
  auto foreign = [&](const Flag& flag) {
    return read.has(flag.name) && (flag.commands & command_bits) == 0;
  };
  for (const auto* begin : {std::begin(kSettings), std::begin(kSwitches)}) {
    const auto* end = begin == std::begin(kSettings) ? std::end(kSettings) : std::end(kSwitches);
    const auto* found = std::find_if(begin, end, foreign);
    if (found == end) continue;
    std::string command = read.command_word.empty() ? "run" : read.command_word;
    return fail(fmt::format("--{} does not go with the command `{}`", found->name, command),
                std::string(found->name) == "list"
                    ? "write instr_bench list"
                    : fmt::format("leave it out, or see instr_bench {} --help", command));
  }
  if (!read.rest.empty() && read.command != Command::kBisect) {
    return fail(
        fmt::format("nothing may stand behind `--` but a command for bisect: `{}`", read.rest[0]),
        kSeeHelp);
  }
  return {};
}

Expected<OptionWords> parse(std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  std::map<std::string, CLI::Option*> settings;
  std::map<std::string, CLI::Option*> switches;
  for (const Flag& flag : kSettings) {
    settings[flag.name] =
        app.add_option(names_of(flag))->expected(1)->take_all()->allow_extra_args(false);
  }
  for (const Flag& flag : kSwitches) {
    switches[flag.name] = app.add_flag(names_of(flag))->disable_flag_override();
  }
  try {
    // CLI11 takes the words from the end.
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return fail(error.what(), kSeeHelp);
  }
  OptionWords read;
  for (const auto& [name, option] : settings) read.settings[name] = option->results();
  for (const auto& [name, option] : switches) read.switches[name] = option->count() > 0;
  std::vector<std::string> others = app.remaining();
  if (read.switches.at("help") || read.switches.at("version")) {
    // The rest may be as wrong as it likes.
    const CommandWord* command = others.empty() ? nullptr : find_command(others[0]);
    if (command != nullptr) read.command_word = command->name;
    if (command != nullptr) read.command = command->command;
    return read;
  }
  if (auto taken = take_words(others, read); !taken) return tl::unexpected(taken.error());
  return read;
}

}  // namespace

std::vector<std::string> known_options() {
  std::vector<std::string> names;
  for (const Flag& flag : kSettings) names.push_back(std::string("--") + flag.name);
  for (const Flag& flag : kSwitches) names.push_back(std::string("--") + flag.name);
  return names;
}

bool OptionWords::has(const std::string& name) const {
  auto setting = settings.find(name);
  if (setting != settings.end()) return !setting->second.empty();
  auto flag = switches.find(name);
  return flag != switches.end() && flag->second;
}

Expected<OptionWords> read_option_words(std::vector<std::string> words) {
  auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> rest;
  if (dashes != words.end()) {
    rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  if (auto checked = check_values(words); !checked) return tl::unexpected(checked.error());
  auto read = parse(std::move(words));
  if (!read || read->switches.at("help") || read->switches.at("version")) return read;
  read->rest = std::move(rest);
  if (auto checked = check_belonging(*read); !checked) return tl::unexpected(checked.error());
  return read;
}

}  // namespace instr
