#include "core/cli/experiment_file.h"

#include <fmt/format.h>

#include "core/cli/experiment_axes.h"
#include "core/compile/installation.h"
#include "core/definitions/toml_reader.h"

namespace instr {

namespace {

constexpr Key kKeys[] = {
    {"filter", Shape::kStrings, "filter = \"^matmul/\""},
    {"exclude", Shape::kStrings, "exclude = \"threads\""},
    {"tag", Shape::kStrings, "tag = \"standard\""},
    {"definitions", Shape::kStrings, "definitions = \"mine.toml\""},
    {"suite", Shape::kStrings, "suite = [\"torchvision\"]"},
    {"accelerator", Shape::kStrings, "accelerator = [\"cpu\", \"cuda\"]"},
    {"backend", Shape::kStrings, "backend = [\"eager\", \"torchscript\"]"},
    {"test", Shape::kStrings, "test = [\"eval\", \"train\"]"},
    {"dtype", Shape::kStrings, "dtype = [\"float32\", \"float64\"]"},
    {"shapes", Shape::kStrings, "shapes = [\"static\", \"dynamic\"]"},
    {"threads", Shape::kIntegers, "threads = [1, 2]"},
    {"batch_size", Shape::kIntegers, "batch_size = [1, 16]"},
    {.name = "repeat",
     .shape = Shape::kInteger,
     .example = "repeat = 10",
     .range = {2, kMostRepetitions}},
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
  take(read, "suite", suites, suite_from);
  if (!into.empty()) return;
  into = std::move(files);
  into.insert(into.end(), suites.begin(), suites.end());
}

Expected<std::string> as_it_is(const std::string& text) { return text; }

}  // namespace

tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options) {
  const auto table = parse_toml(source);
  if (!table) return tl::unexpected(Errors{table.error()});
  Errors errors;
  const TableReader read(*table, "a file of experiments", kKeys, source, errors);
  Selection& selection = options.plan.selection;
  take(read, "filter", selection.filters, as_it_is);
  take(read, "exclude", selection.excludes, as_it_is);
  take(read, "tag", selection.tags, as_it_is);
  take_definitions(read, source, options.plan.definitions);
  read_axes(read, options.plan);
  auto repeat = read.integer("repeat");
  if (repeat && !options.repeat) options.repeat = *repeat;
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
