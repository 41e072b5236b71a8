#include <filesystem>

#include "core/commands/cli/options.h"
#include "core/commands/cli/values.h"
#include "core/compile/installation.h"
#include "core/definitions/definition_keys.h"

namespace instr {

namespace {

Take take_backends(std::vector<Backend>& backends) {
  Choices<Backend> choices;
  for (const BackendFacts& known : kBackends) choices.emplace_back(known.name, known.backend);
  Take take = add_choices(backends, choices);
  return [&backends, choices, take](const Given& given) -> Expected<void> {
    if (given.value != "all") return take(given);
    for (const auto& [name, backend] : choices) backends.push_back(backend);
    return {};
  };
}

std::vector<std::string> backend_words() {
  std::vector<std::string> words;
  for (const BackendFacts& known : kBackends) words.emplace_back(known.name);
  words.emplace_back("all");
  return words;
}

// Lists the default backends, then those that have to be named.
std::string backends_help() {
  std::vector<std::string> usual;
  std::vector<std::string> others;
  for (const BackendFacts& known : kBackends) {
    (known.is_usual ? usual : others).emplace_back(known.name);
  }
  return list_of(usual) + "; only when named: " + list_of(others) + "; or all";
}

void declare_axes(CommandLine& line, Selection& selection, const std::string& threads_help) {
  const Choices<Autograd> autograds{{"forward", Autograd::kForward},
                                    {"forward_backward", Autograd::kForwardBackward}};
  Choices<Language> languages;
  for (const LanguageFacts& known : kLanguages) languages.emplace_back(known.name, known.language);
  line.option("--language", "LIST", list_of(names_of(languages)) + ": of the snippets",
              add_choices(selection.languages, languages), names_of(languages));
  line.option("--backend,--runtime", "LIST", backends_help(), take_backends(selection.backends),
              backend_words());
  line.option("--autograd", "LIST", "forward, forward_backward",
              add_choices(selection.autograds, autograds), names_of(autograds));
  line.option("--threads", "LIST", threads_help, add_numbers(selection.threads, 1, kMaxThreads));
  line.option("--device", "LIST", "cpu, cuda", add_items(selection.devices), known_devices());
}

Expected<Shard> shard_from(const Given& given) {
  const std::size_t slash = given.value.find('/');
  if (slash != std::string::npos) {
    auto index = number_from({given.option, given.value.substr(0, slash)}, 1);
    auto count = number_from({given.option, given.value.substr(slash + 1)}, 1);
    if (index && count && *index <= *count) return Shard{*index, *count};
  }
  return fail("`" + given.value + "` is not a shard",
              "write its number, from 1, and how many there are: --shard=1/4");
}

// "n=100,1000".
Take take_parameter(std::map<std::string, std::vector<std::string>>& parameters) {
  return [&parameters](const Given& given) -> Expected<void> {
    const std::size_t equals = given.value.find('=');
    std::vector<std::string> values;
    if (equals != std::string::npos && equals > 0) {
      TRY(add_items(values)({given.option, given.value.substr(equals + 1)}));
    }
    if (values.empty()) {
      return fail("`" + given.value + "` is not a parameter with its values",
                  "write its name and values: --param=n=100,1000");
    }
    parameters[given.value.substr(0, equals)] = std::move(values);
    return {};
  };
}

}  // namespace

void declare_filters(CommandLine& line, Selection& selection) {
  line.option("--filter", "PATTERN",
              "benchmarks whose key, or name as shown in tables, contains it: a regular "
              "expression, a glob or text; repeatable",
              add_text(selection.filters));
  line.option("--exclude", "PATTERN", "but not these; repeatable", add_text(selection.excludes));
  line.option("--tag", "LIST", "benchmarks with one of these tags", add_items(selection.tags));
}

void declare_selection(CommandLine& line, Selection& selection) {
  line.group("Selection");
  declare_filters(line, selection);
  declare_axes(line, selection, "those measured with these numbers of threads");
}

void declare_definitions(CommandLine& line, PlanConfig& config) {
  line.option("--definitions", "PATH",
              "a TOML file or a folder of them; repeatable (default: the standard set)",
              add_path(config.definitions));
  line.option("--suite", "LIST",
              "definitions of whole models that come with the product, such as timm",
              each_item([&config](const Given& given) {
                return find_suite(given.value).map([&config](fs::path&& file) {
                  config.definitions.push_back(std::move(file));
                });
              }),
              list_suites());
  line.option("--param", "NAME=LIST",
              "other values of a parameter of the matrix, such as n=100,1000; repeatable",
              take_parameter(config.axes.parameters));
}

void declare_plan(CommandLine& line, PlanConfig& config) {
  line.group("What to measure");
  declare_filters(line, config.selection);
  declare_definitions(line, config);
  declare_axes(line, config.selection,
               "measure with these numbers of threads, such as 1,2, whatever the definitions say");
  line.check([&config]() -> Expected<void> {
    config.axes.threads = config.selection.threads;
    return {};
  });
}

void declare_shard(CommandLine& line, Selection& selection) {
  line.option("--shard", "I/N", "the I-th of N parts of them; see merge",
              [&selection](const Given& given) {
                return shard_from(given).map([&](const Shard& part) { selection.shard = part; });
              });
}

}  // namespace instr
