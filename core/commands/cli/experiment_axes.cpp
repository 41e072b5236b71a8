#include "core/commands/cli/experiment_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/commands/cli/values.h"
#include "core/compile/installation.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/toml_reader.h"

namespace instr {

namespace {

constexpr char kLeftOut = '-';  // before a value

// One item of an axis's list.
template <class T, class Convert>
Expected<void> take(const std::string& axis, const std::string& item, const Convert& convert,
                    std::vector<T>& values, std::vector<AxisValue>& left_out) {
  const bool is_left_out = item.starts_with(kLeftOut);
  const std::string name = item.substr(is_left_out ? 1 : 0);
  TRY_ASSIGN(auto value, convert(name));
  if (is_left_out) {
    const AxisValue one{axis, name};
    return check_left_out(one).map([&] { left_out.push_back(one); });
  }
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(std::move(value));
  }
  return {};
}

auto numbers_up_to(int max) {
  return [max](const std::string& text) {
    return number_from({"", text}, 1, max).map_error([](Error error) {
      error.advice = "write a whole number, such as 2";
      return error;
    });
  };
}

struct AxisOption {
  const char* axis;
  const char* alias;  // as XLA's experiment runner names it; null: it has the same name
  std::string help;
  std::vector<std::string> choices;
  int max = 0;  // of values that are numbers
};

// `visit(option, values, convert)` for each axis.
template <class Visit>
void each_axis(PlanConfig& plan, const Visit& visit) {
  std::vector<std::string> backends;
  for (const BackendFacts& known : kBackends) backends.emplace_back(known.name);
  visit(AxisOption{"device", "accelerator", "cpu, cuda (default: as in the definitions)",
                   known_devices()},
        plan.selection.devices, parse_device);
  visit(AxisOption{"backend", nullptr,
                   list_of(backends) + " (default: all); eager is always included", backends},
        plan.selection.backends, parse_backend);
  visit(AxisOption{"test",
                   nullptr,
                   "eval (forward), train (with backward); default: both",
                   {"eval", "train"}},
        plan.selection.autograds, parse_test);
  visit(AxisOption{"dtype",
                   nullptr,
                   "float32, float64, float16, bfloat16: for tensors without an explicit type; "
                   "amp: float32 under autocast (float32)",
                   {std::begin(kDataTypes), std::end(kDataTypes)}},
        plan.axes.data_types, parse_data_type);
  visit(AxisOption{"shapes",
                   nullptr,
                   "static, dynamic: whether the backends of torch.compile() make code for these "
                   "sizes or for any (static)",
                   {std::begin(kShapes), std::end(kShapes)}},
        plan.axes.shapes, parse_shapes);
  visit(AxisOption{"threads",
                   nullptr,
                   "measure with these numbers of threads, whatever the definitions say",
                   {},
                   kMaxThreads},
        plan.axes.threads, numbers_up_to(kMaxThreads));
  visit(AxisOption{"batch_size",
                   nullptr,
                   "the same for definitions with a parameter batch_size",
                   {},
                   kMaxBatch},
        plan.axes.batch_sizes, numbers_up_to(kMaxBatch));
}

// "batch_size" -> "--batch-size"
std::string option_of(const AxisOption& option) {
  std::string names = std::string("--") + option.axis;
  if (option.alias != nullptr) names += std::string(",--") + option.alias;
  std::replace(names.begin(), names.end(), '_', '-');
  return names;
}

// A list's items as text: integers, too.
std::vector<Text> items_of(const TableReader& read, const AxisOption& option) {
  const bool has_alias = option.alias != nullptr && !read.has(option.axis);
  if (option.max == 0) return read.texts(has_alias ? option.alias : option.axis);
  std::vector<Text> items;
  for (int number : read.integers(option.axis)) {
    items.push_back({std::to_string(number), read.place(option.axis)});
  }
  return items;
}

}  // namespace

void declare_axes(CommandLine& line, PlanConfig& plan) {
  each_axis(plan, [&](const AxisOption& option, auto& values, auto convert) {
    const std::string axis = option.axis;
    line.option(option_of(option), "LIST", option.help,
                each_item([axis, convert, &values, &plan](const Given& given) {
                  return take(axis, given.value, convert, values, plan.axes.left_out);
                }),
                option.choices);
  });
}

namespace {

// The same from a file, of the axes that `plan` has nothing of yet.
void read_axes(const TableReader& read, PlanConfig& plan) {
  const std::vector<AxisValue> given = plan.axes.left_out;
  each_axis(plan, [&](const AxisOption& option, auto& values, auto convert) {
    const bool is_given =
        !values.empty() || std::any_of(given.begin(), given.end(), [&option](const AxisValue& one) {
          return one.axis == option.axis;
        });
    auto taken = values;
    auto left_out = plan.axes.left_out;
    for (const Text& item : items_of(read, option)) {
      auto took = take(option.axis, item.code, convert, taken, left_out);
      if (!took) read.add_error(item.where, took.error().what, took.error().advice);
    }
    if (is_given) return;
    values = std::move(taken);
    plan.axes.left_out = std::move(left_out);
  });
}

constexpr Key kKeys[] = {
    {"filter", Shape::kStrings, "filter = \"^matmul/\""},
    {"exclude", Shape::kStrings, "exclude = \"threads\""},
    {"tag", Shape::kStrings, "tag = \"standard\""},
    {"definitions", Shape::kStrings, "definitions = \"mine.toml\""},
    {"suite", Shape::kStrings, "suite = [\"torchvision\"]"},
    {"device", Shape::kStrings, "device = [\"cpu\", \"cuda\"]"},
    {"accelerator", Shape::kStrings, "accelerator = [\"cpu\", \"cuda\"]"},
    {"backend", Shape::kStrings, "backend = [\"eager\", \"torchscript\"]"},
    {"test", Shape::kStrings, "test = [\"eval\", \"train\"]"},
    {"dtype", Shape::kStrings, "dtype = [\"float32\", \"float64\"]"},
    {"shapes", Shape::kStrings, "shapes = [\"static\", \"dynamic\"]"},
    {"threads", Shape::kIntegers, "threads = [1, 2]"},
    {"batch_size", Shape::kIntegers, "batch_size = [1, 16]"},
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

// A list's values, read by `convert`; errors are at the value's place.
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

// Files and suites are one list.
void take_definitions(const TableReader& read, const SourceText& source,
                      std::vector<std::filesystem::path>& into) {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> suites;
  take(read, "definitions", files, [&source](const std::string& path) {
    return Expected<std::filesystem::path>(source.beside(path));
  });
  take(read, "suite", suites, find_suite);
  if (!into.empty()) return;
  into = std::move(files);
  into.insert(into.end(), suites.begin(), suites.end());
}

Expected<std::string> as_it_is(const std::string& text) { return text; }

}  // namespace

tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options) {
  TRY_ASSIGN(const auto table, parse_toml(source));
  Errors errors;
  const TableReader read(table, "a file of experiments", kKeys, source, errors);
  Selection& selection = options.plan.selection;
  take(read, "filter", selection.filters, as_it_is);
  take(read, "exclude", selection.excludes, as_it_is);
  take(read, "tag", selection.tags, as_it_is);
  take_definitions(read, source, options.plan.definitions);
  read_axes(read, options.plan);
  for (const char* key : {"repetitions", "repeat"}) {
    const auto repetitions = read.integer(key);
    if (repetitions && !options.repetitions) options.repetitions = *repetitions;
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
  return tl::unexpected(std::move(errors));
}

}  // namespace instr
