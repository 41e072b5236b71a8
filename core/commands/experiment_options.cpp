#include "core/commands/experiment_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/compile/installation.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/toml_reader.h"
#include "core/definitions/torchbench.h"

namespace instr {

namespace {

// Completes an option with the functions for its values.
template <class T, class Convert>
AxisOption make_axis(AxisOption option, std::vector<T>& (*values_in)(PlanConfig&),
                     Convert convert) {
  option.has_values = [=, axis = std::string(option.axis)](PlanConfig& plan) {
    const auto& left_out = plan.axes.left_out;
    return !values_in(plan).empty() ||
           std::any_of(left_out.begin(), left_out.end(),
                       [&axis](const AxisValue& value) { return value.axis == axis; });
  };
  option.take = [=, axis = std::string(option.axis)](const std::string& item,
                                                     PlanConfig& plan) -> Expected<void> {
    const bool is_left_out = item.starts_with('-');
    const std::string name = item.substr(is_left_out ? 1 : 0);
    TRY_ASSIGN(auto value, convert(name));
    if (is_left_out) {
      TRY(check_left_out({axis, name}));
      plan.axes.left_out.push_back({axis, name});
      return {};
    }
    std::vector<T>& values = values_in(plan);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
    return {};
  };
  return option;
}

// Words with their meanings.
template <class T>
using Words = std::vector<std::pair<std::string, T>>;

template <class Range>
Words<std::string> words_as_they_are(const Range& range) {
  Words<std::string> words;
  for (const auto& word : range) words.emplace_back(word, word);
  return words;
}

// `what`: the name of a value in messages.
template <class T>
AxisOption make_word_axis(AxisOption option, const char* what, const Words<T>& words,
                          std::vector<T>& (*values_in)(PlanConfig&)) {
  for (const auto& [word, meaning] : words) option.choices.push_back(word);
  return make_axis(std::move(option), values_in, [what, words](const std::string& word) {
    return find_meaning(word, words).map_error([&](const std::string& advice) {
      return Error{{}, fmt::format("`{}` is not a known {}", word, what), advice};
    });
  });
}

AxisOption make_backend_axis(const std::string& help) {
  AxisOption option{"backend", nullptr, help};
  for (const BackendFacts& known : kBackends) option.choices.emplace_back(known.name);
  return make_axis<Backend>(
      std::move(option), [](PlanConfig & plan) -> auto& { return plan.selection.backends; },
      parse_backend);
}

AxisOption make_number_axis(AxisOption option, std::vector<int>& (*values_in)(PlanConfig&)) {
  return make_axis(option, values_in, [max = option.max_number](const std::string& text) {
    const auto number = parse_number<int>(text);
    if (number && *number >= 1 && *number <= max) return Expected<int>(*number);
    return Expected<int>(fail(fmt::format("`{}` is not a number from 1 to {}", text, max),
                              "write a whole number, such as 2"));
  });
}

// The items of a list of the file, as text.
std::vector<Text> read_items(const TableReader& read, const AxisOption& option) {
  const bool has_alias = option.alias != nullptr && !read.has(option.axis);
  if (option.max_number == 0) return read.texts(has_alias ? option.alias : option.axis);
  std::vector<Text> items;
  for (int number : read.integers(option.axis)) {
    items.push_back({std::to_string(number), read.place(option.axis)});
  }
  return items;
}

// Reads the axes. Values of those that `plan` has already are only checked.
void read_axes(const TableReader& read, PlanConfig& plan) {
  PlanConfig unused;
  for (const AxisOption& option : axis_options()) {
    PlanConfig& target = option.has_values(plan) ? unused : plan;
    for (const Text& item : read_items(read, option)) {
      const auto taken = option.take(item.code, target);
      if (!taken) read.add_error(item.where, taken.error().what, taken.error().advice);
    }
  }
}

constexpr Key kKeys[] = {
    {"filter", Shape::kStrings, "filter = \"^matmul/\""},
    {"exclude", Shape::kStrings, "exclude = \"threads\""},
    {"tag", Shape::kStrings, "tag = \"standard\""},
    {"definitions", Shape::kStrings, "definitions = \"mine.toml\""},
    {"suite", Shape::kStrings, "suite = [\"torchvision\"]"},
    {"torchbench", Shape::kString, "torchbench = \"../benchmark\""},
    {"device", Shape::kStrings, "device = [\"cpu\", \"cuda\"]"},
    {"accelerator", Shape::kStrings, "accelerator = [\"cpu\", \"cuda\"]"},
    {"backend", Shape::kStrings, "backend = [\"eager\", \"torchscript\"]"},
    {"test", Shape::kStrings, "test = [\"eval\", \"train\"]"},
    {"dtype", Shape::kStrings, "dtype = [\"float32\", \"float64\"]"},
    {"shapes", Shape::kStrings, "shapes = [\"static\", \"dynamic\"]"},
    {"setting", Shape::kStrings, "setting = [\"default\", \"freezing\"]"},
    {"settings", Shape::kStrings, "settings = [\"default\", \"freezing\"]"},
    {"memory_format", Shape::kStrings, "memory_format = [\"contiguous\", \"channels_last\"]"},
    {"threads", Shape::kIntegers, "threads = [1, 2]"},
    {"batch_size", Shape::kIntegers, "batch_size = [1, 16]"},
    {"optimizer", Shape::kString, "optimizer = \"torch.optim.SGD(params, lr=0.01)\""},
    {.name = "repetitions",
     .shape = Shape::kInteger,
     .example = "repetitions = 10",
     .range = {2, kMaxRepetitions}},
    {.name = "repeat",
     .shape = Shape::kInteger,
     .example = "repeat = 10",
     .range = {2, kMaxRepetitions}},
    {.name = "iterations_per_run",
     .shape = Shape::kInteger,
     .example = "iterations_per_run = 100",
     .range = {1, kMaxIterations}},
    {"timeout", Shape::kNumber, "timeout = 60.0"},
};

// Reads a list with `convert`, unless `into` has values already. Errors are at the value's place.
template <class T, class Convert>
void take(const TableReader& read, std::string_view key, std::vector<T>& into, Convert convert) {
  const bool is_given = !into.empty();
  for (const Text& text : read.texts(key)) {
    auto value = convert(text.code);
    if (!value) {
      read.add_error(text.where, value.error().what, value.error().advice);
    } else if (!is_given) {
      into.push_back(std::move(*value));
    }
  }
}

void take_definitions(const TableReader& read, const SourceText& source, PlanConfig& plan) {
  std::vector<fs::path>& into = plan.definitions;
  const bool is_given = !into.empty() || plan.torchbench;
  std::vector<fs::path> files;
  std::vector<fs::path> suites;
  take(read, "definitions", files,
       [&source](const std::string& path) { return Expected<fs::path>(source.beside(path)); });
  take(read, "suite", suites, find_suite);
  std::optional<fs::path> checkout;
  if (const auto text = read.text("torchbench")) {
    checkout = source.beside(text->code);
    const auto checked = check_torchbench(*checkout);
    if (!checked) read.add_error(text->where, to_string(checked.error()), "");
  }
  if (is_given) return;
  plan.torchbench = checkout;
  into = std::move(files);
  into.insert(into.end(), suites.begin(), suites.end());
}

}  // namespace

std::vector<AxisOption> axis_options() {
  const std::string backends_help = fmt::format(
      "{} (default: all these); best: for each graph the fastest of several; any other that "
      "torch.compile() knows, or MODULE:FUNCTION; eager is always included",
      fmt::join(
          kAllBackends | std::views::transform([](Backend known) { return to_string(known); }),
          ", "));
  const char* const test_help =
      "eval (forward), train (with backward); default: both; train_eval: with backward, but with "
      "the module in evaluation mode";
  const char* const types_help =
      "float32, float64, float16, bfloat16: for tensors without an explicit type; amp: float32 "
      "under autocast (float32)";
  const char* const shapes_help =
      "static, dynamic: whether the backends of torch.compile() make code for these sizes or for "
      "any (static)";
  const char* const settings_help =
      "[[setting]]s of the definitions, and `default`, in which nothing is set (default)";
  const char* const memory_help =
      "contiguous, channels_last: of modules in Python and of their arguments with four dimensions "
      "(contiguous)";
  const char* const threads_help =
      "measure with these numbers of threads, whatever the definitions say";
  const char* const batch_help = "the same for definitions with a parameter batch_size";
  return {make_word_axis<std::string>(
              {"device", "accelerator", "cpu, cuda (default: as in the definitions)"}, "device",
              words_as_they_are(known_devices()),
              [](PlanConfig & plan) -> auto& { return plan.selection.devices; }),
          make_backend_axis(backends_help),
          make_word_axis<Autograd>(
              {"test", nullptr, test_help}, "test",
              {{kTests[0], Autograd::kForward},
               {kTests[1], Autograd::kForwardBackward},
               {kTests[2], Autograd::kForwardBackwardEval}},
              [](PlanConfig & plan) -> auto& { return plan.selection.autograds; }),
          make_word_axis<std::string>(
              {"dtype", nullptr, types_help}, "data type", words_as_they_are(kDataTypes),
              [](PlanConfig & plan) -> auto& { return plan.axes.data_types; }),
          make_word_axis<std::string>(
              {"shapes", nullptr, shapes_help}, "kind of shapes", words_as_they_are(kShapes),
              [](PlanConfig & plan) -> auto& { return plan.axes.shapes; }),
          make_axis<std::string>(
              {"setting", "settings", settings_help},
              [](PlanConfig & plan) -> auto& { return plan.axes.settings; },
              [](const std::string& name) { return Expected<std::string>(name); }),
          make_word_axis<std::string>(
              {"memory_format", nullptr, memory_help}, "memory format",
              words_as_they_are(kMemoryFormats),
              [](PlanConfig & plan) -> auto& { return plan.axes.memory_formats; }),
          make_number_axis(
              {.axis = "threads", .help = threads_help, .max_number = kMaxThreads},
              [](PlanConfig & plan) -> auto& { return plan.axes.threads; }),
          make_number_axis(
              {.axis = "batch_size", .help = batch_help, .max_number = kMaxBatch},
              [](PlanConfig & plan) -> auto& { return plan.axes.batch_sizes; })};
}

tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options) {
  TRY_ASSIGN(const auto table, parse_toml(source));
  Errors errors;
  const TableReader read(table, "a file of experiments", kKeys, source, errors);
  Selection& selection = options.plan.selection;
  const auto keep_text = [](const std::string& text) { return Expected<std::string>(text); };
  take(read, "filter", selection.filters, keep_text);
  take(read, "exclude", selection.excludes, keep_text);
  take(read, "tag", selection.tags, keep_text);
  take_definitions(read, source, options.plan);
  read_axes(read, options.plan);
  for (const char* key : {"repetitions", "repeat"}) {
    const auto repetitions = read.integer(key);
    if (repetitions && !options.repetitions) options.repetitions = *repetitions;
  }
  if (const auto optimizer = read.text("optimizer")) {
    const auto name = find_optimizer_name(optimizer->code);
    if (!name) read.add_error(optimizer->where, name.error().what, name.error().advice);
    if (!options.plan.axes.optimizer) options.plan.axes.optimizer = optimizer->code;
  }
  auto iterations = read.integer("iterations_per_run");
  if (iterations && !options.iterations_per_run) options.iterations_per_run = *iterations;
  auto timeout = read.number("timeout");
  if (timeout && !is_time(*timeout)) {
    read.add_error(read.place("timeout"),
                   "`timeout` must be a number of seconds above 0, 1e6 at most",
                   "write for example `timeout = 60`");
  } else if (timeout && !options.timeout) {
    options.timeout = *timeout;
  }
  if (errors.empty()) return {};
  sort_by_place(errors);
  return fail(std::move(errors));
}

}  // namespace instr
