#include "core/options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/near_match.h"
#include "core/version.h"

namespace instr {

namespace {

// All words of one option, by its name without dashes.
struct Flag {
  const char* name;
  const char* short_name;  // "" where there is none
};

constexpr Flag kSwitches[] = {{"no-cache", ""}, {"dry-run", ""}, {"reverse", ""}, {"list", ""},
                              {"quiet", "q"},   {"verbose", "v"}, {"version", ""}, {"help", "h"}};

constexpr Flag kSettings[] = {
    {"filter", ""},    {"exclude", ""},  {"definitions", ""}, {"runtime", ""},
    {"autograd", ""},  {"threads", ""},  {"device", ""},      {"tag", ""},
    {"metrics", ""},   {"jobs", "j"},    {"output", "o"},     {"format", ""},
    {"libtorch", ""},  {"compiler", ""}, {"timeout", ""},     {"retries", ""},
    {"isolation", ""}, {"color", ""},    {"keep-profiles", ""},    {"churn", ""}};

constexpr std::pair<const char*, Command> kCommands[] = {{"run", Command::kRun},
                                                         {"list", Command::kList},
                                                         {"watch", Command::kWatch},
                                                         {"doctor", Command::kDoctor}};

const std::vector<std::pair<std::string, Runtime>> kRuntimes{
    {"eager", Runtime::kEager}, {"torchscript", Runtime::kTorchScript}};
const std::vector<std::pair<std::string, Autograd>> kAutograds{
    {"forward", Autograd::kForward}, {"forward_backward", Autograd::kForwardBackward}};
const std::vector<std::pair<std::string, ReportFormat>> kFormats{
    {"table", ReportFormat::kTable},
    {"markdown", ReportFormat::kMarkdown},
    {"json", ReportFormat::kJson},
    {"jsonl", ReportFormat::kJsonl},
    {"csv", ReportFormat::kCsv}};
const std::vector<std::pair<std::string, Isolation>> kIsolations{{"fork", Isolation::kFork},
                                                                 {"process", Isolation::kProcess}};
const std::vector<std::pair<std::string, ColorMode>> kColors{{"auto", ColorMode::kAuto},
                                                             {"always", ColorMode::kAlways},
                                                             {"never", ColorMode::kNever}};

constexpr const char* kSeeHelp = "see instr_bench --help";

// Every setting's values in the order given; a switch's number of uses.
struct RawOptions {
  std::map<std::string, std::vector<std::string>> settings;
  std::map<std::string, bool> switches;
  std::vector<std::string> commands;
  std::vector<std::string> unknown;
};

std::vector<std::string> known_flags() {
  std::vector<std::string> names;
  for (const Flag& flag : kSettings) names.push_back(std::string("--") + flag.name);
  for (const Flag& flag : kSwitches) names.push_back(std::string("--") + flag.name);
  return names;
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

Expected<RawOptions> parse_raw(std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  app.require_subcommand(0, 0);
  std::map<std::string, CLI::Option*> settings;
  std::map<std::string, CLI::Option*> switches;
  for (const Flag& flag : kSettings) {
    settings[flag.name] =
        app.add_option(names_of(flag))->expected(1)->take_all()->allow_extra_args(false);
  }
  for (const Flag& flag : kSwitches) {
    switches[flag.name] = app.add_flag(names_of(flag))->disable_flag_override();
  }
  for (const auto& [name, command] : kCommands) {
    app.add_subcommand(name)->fallthrough()->set_help_flag("");
  }
  try {
    // CLI11 takes the words from the end.
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return fail(error.what(), kSeeHelp);
  }
  RawOptions raw;
  for (const auto& [name, option] : settings) raw.settings[name] = option->results();
  for (const auto& [name, option] : switches) raw.switches[name] = option->count() > 0;
  for (const CLI::App* command : app.get_subcommands()) raw.commands.push_back(command->get_name());
  raw.unknown = app.remaining(true);
  return raw;
}

Error unknown_word(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  if (!word.starts_with('-')) {
    std::vector<std::string> commands;
    for (const auto& [command, value] : kCommands) commands.emplace_back(command);
    auto near = nearest(name, commands);
    std::string advice = near ? fmt::format("did you mean `{}`? ", *near) : "";
    return {{},
            fmt::format("there is no command `{}`", word),
            advice + fmt::format("to choose benchmarks, write --filter={}", word)};
  }
  std::string dashed = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
  auto near = nearest(dashed, known_flags());
  return {{},
          fmt::format("there is no option `{}`", name),
          near ? fmt::format("did you mean `{}`?", *near) : kSeeHelp};
}

// Comma lists of all uses of a setting, in one.
std::vector<std::string> items_of(const std::vector<std::string>& values) {
  std::vector<std::string> items;
  for (const std::string& value : values) {
    for (std::size_t begin = 0; begin <= value.size();) {
      std::size_t end = std::min(value.find(',', begin), value.size());
      items.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return items;
}

tl::unexpected<Error> bad_value(const std::string& name, const std::string& value,
                                std::string advice) {
  return fail(fmt::format("--{}: `{}` is not one of its values", name, value), std::move(advice));
}

template <class T>
Expected<T> choice(const std::string& name, const std::string& value,
                   const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> words;
  std::string list;
  for (const auto& [word, meaning] : known) {
    if (word == value) return meaning;
    words.push_back(word);
    list += (list.empty() ? "" : ", ") + word;
  }
  auto near = nearest(value, words);
  return bad_value(name, value,
                   near ? fmt::format("did you mean `{}`? it takes {}", *near, list)
                        : fmt::format("it takes {}", list));
}

Expected<int> whole_number(const std::string& name, const std::string& value, int least) {
  int number = 0;
  const char* end = value.data() + value.size();
  auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stopped != end || number < least) {
    return fail(fmt::format("--{}: `{}` is not a number of at least {}", name, value, least),
                fmt::format("write a whole number, such as --{}={}", name, std::max(least, 2)));
  }
  return number;
}

Expected<double> seconds(const std::string& name, const std::string& value) {
  double number = 0;
  const char* end = value.data() + value.size();
  auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stopped != end || !std::isfinite(number) || number <= 0) {
    return fail(fmt::format("--{}: `{}` is not a time above 0", name, value),
                fmt::format("write seconds, such as --{}=30 or --{}=0.5", name, name));
  }
  return number;
}

// Turns raw values into checked ones; the first error stays.
class Reader {
 public:
  explicit Reader(const RawOptions& raw) : raw_(raw) {}

  const std::vector<std::string>& all(const std::string& name) const {
    return raw_.settings.at(name);
  }

  std::optional<std::string> last(const std::string& name) const {
    const auto& values = all(name);
    return values.empty() ? std::nullopt : std::optional(values.back());
  }

  template <class T>
  void set(Expected<T> value, T& target) {
    if (value) {
      target = std::move(*value);
    } else if (!error_) {
      error_ = value.error();
    }
  }

  template <class T>
  void one_of(const std::string& name, const std::vector<std::pair<std::string, T>>& known,
              T& target) {
    if (auto value = last(name)) set(choice(name, *value, known), target);
  }

  // Each item of the comma lists, through `convert`.
  template <class T>
  void each(const std::string& name, std::vector<T>& target,
            const std::function<Expected<T>(const std::string&)>& convert) {
    for (const std::string& item : items_of(all(name))) {
      target.emplace_back();
      set(convert(item), target.back());
    }
  }

  void fail_with(Error error) {
    if (!error_) error_ = std::move(error);
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const RawOptions& raw_;
  std::optional<Error> error_;
};

void read_selection(Reader& reader, Selection& selection) {
  selection.filters = reader.all("filter");
  selection.excludes = reader.all("exclude");
  reader.each<Runtime>("runtime", selection.runtimes, [](const std::string& item) {
    return choice("runtime", item, kRuntimes);
  });
  reader.each<Autograd>("autograd", selection.autograds, [](const std::string& item) {
    return choice("autograd", item, kAutograds);
  });
  reader.each<int>("threads", selection.threads, [](const std::string& item) {
    return whole_number("threads", item, 1);
  });
  for (const char* name : {"device", "tag"}) {
    auto& target = name == std::string_view("tag") ? selection.tags : selection.devices;
    reader.each<std::string>(name, target, [name](const std::string& item) -> Expected<std::string> {
      if (item.empty()) return bad_value(name, item, "leave no item of the list empty");
      return item;
    });
  }
}

void read_measuring(Reader& reader, Options& options) {
  std::vector<std::pair<std::string, std::string>> metrics;
  for (const char* metric : kMetrics) metrics.emplace_back(metric, metric);
  reader.each<std::string>("metrics", options.metrics, [&metrics](const std::string& item) {
    return choice("metrics", item, metrics);
  });
  if (auto value = reader.last("jobs")) reader.set(whole_number("jobs", *value, 1), options.jobs);
  if (auto value = reader.last("churn")) {
    reader.set(whole_number("churn", *value, 0), options.churn);
  }
  if (auto value = reader.last("retries")) {
    reader.set(whole_number("retries", *value, 0), options.retries);
  }
  if (auto value = reader.last("timeout")) {
    double time = 0;
    reader.set(seconds("timeout", *value), time);
    options.timeout = time;
  }
  reader.one_of("isolation", kIsolations, options.isolation);
  reader.one_of("format", kFormats, options.format);
  reader.one_of("color", kColors, options.color);
}

void read_switches(Reader& reader, const RawOptions& raw, Options& options) {
  auto on = [&raw](const char* name) { return raw.switches.at(name); };
  options.use_cache = !on("no-cache");
  options.dry_run = on("dry-run");
  options.reverse_order = on("reverse");
  if (on("quiet") && on("verbose")) {
    reader.fail_with({{}, "--quiet and --verbose cannot go together", "leave one of them out"});
  }
  if (on("quiet")) options.verbosity = Verbosity::kQuiet;
  if (on("verbose")) options.verbosity = Verbosity::kVerbose;
  for (const auto& [name, command] : kCommands) {
    if (!raw.commands.empty() && raw.commands[0] == name) options.command = command;
  }
  if (!on("list") || options.command == Command::kList) return;
  if (!raw.commands.empty() && options.command != Command::kRun) {
    reader.fail_with({{},
                      fmt::format("--list does not go with the command `{}`", raw.commands[0]),
                      "write instr_bench list"});
  }
  options.command = Command::kList;
}

Expected<Options> interpret(const RawOptions& raw) {
  Options options;
  if (raw.switches.at("help")) {
    options.show = help_text();
    return options;
  }
  if (raw.switches.at("version")) {
    options.show = fmt::format("instr_bench {}\n", kProgramVersion);
    return options;
  }
  if (!raw.unknown.empty()) return tl::unexpected(unknown_word(raw.unknown[0]));
  if (raw.commands.size() > 1) {
    return fail(fmt::format("two commands: `{}` and `{}`", raw.commands[0], raw.commands[1]),
                "run one after the other");
  }
  Reader reader(raw);
  read_selection(reader, options.selection);
  for (const std::string& path : reader.all("definitions")) options.definitions.emplace_back(path);
  read_measuring(reader, options);
  read_switches(reader, raw, options);
  if (auto value = reader.last("output")) options.output = *value;
  if (auto value = reader.last("keep-profiles")) options.keep_profiles = *value;
  if (auto value = reader.last("libtorch")) options.libtorch = *value;
  options.compiler = reader.last("compiler");
  if (reader.error()) return tl::unexpected(*reader.error());
  return options;
}

}  // namespace

Expected<Options> parse_options(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (auto checked = check_values(words); !checked) {
    return tl::unexpected(checked.error());
  }
  return parse_raw(std::move(words)).and_then(interpret);
}

}  // namespace instr
