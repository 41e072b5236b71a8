#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/definitions/read_benchmark.h"
#include "core/definitions/requirement.h"

namespace instr {
namespace {

template <class T>
void refuse_repeated(const TableReader& read, std::string_view key, const std::vector<T>& values) {
  std::set<T> seen;
  for (const T& value : values) {
    if (!seen.insert(value).second) {
      read.refuse(key, fmt::format("`{}` has {} twice", key, value), "name each value once");
    }
  }
}

void refuse_empty_list(const TableReader& read, std::string_view key) {
  const toml::node* value = read.get(key);
  if (value && value->is_array() && value->as_array()->empty()) {
    read.refuse(key, fmt::format("`{}` is an empty list", key),
                "add a value, or leave the key out");
  }
}

void read_threads_and_devices(const TableReader& read, GroupedBenchmark& benchmark) {
  for (const char* key : {"threads", "device"}) refuse_empty_list(read, key);
  if (auto threads = read.integers("threads"); !threads.empty()) {
    refuse_repeated(read, "threads", threads);
    benchmark.threads = std::move(threads);
  }
  if (auto devices = read.strings("device"); !devices.empty()) {
    refuse_repeated(read, "device", devices);
    benchmark.devices = std::move(devices);
    benchmark.names_devices = true;
  }
}

void read_tags(const TableReader& read, Snippet& snippet) {
  snippet.tags = read.strings("tags");
  for (const Text& tag : read.texts("tags")) {
    if (is_blank(tag.code) || !is_plain_line(tag.code)) {
      read.add_error(tag.where, "this tag is empty or has an invisible character",
                     "write for example `tags = [\"slow\"]`");
    }
  }
}

void read_timeout(const TableReader& read, Snippet& snippet) {
  snippet.timeout = read.number("timeout");
  if (snippet.timeout && !is_time(*snippet.timeout)) {
    read.refuse("timeout", "`timeout` must be a number of seconds above 0, 1e6 at most",
                "write for example `timeout = 60`");
  }
}

void read_requirements(const TableReader& read, Snippet& snippet) {
  if (const std::optional<Text> requirement = read.text("libtorch")) {
    snippet.libtorch = requirement->code;
    if (auto checked = satisfies("0", requirement->code); !checked) {
      read.add_error(requirement->where, std::move(checked.error()));
    }
  }
  refuse_empty_list(read, "python");
  for (Text& text : read.texts("python")) {
    if (auto parsed = parse_package(text.code); !parsed) {
      read.add_error(text.where, std::move(parsed.error()));
    }
    snippet.packages.push_back(std::move(text.code));
  }
}

void read_tolerance(const TableReader& benchmark, const SourceText& source, Errors& errors,
                    Tolerance& tolerance) {
  if (const toml::table* table = benchmark.table("tolerance")) {
    const TableReader read(*table, "`tolerance`", tolerance_keys(), source, errors);
    tolerance.relative = read.number("rtol");
    tolerance.absolute = read.number("atol");
    for (const auto& [name, value] :
         {std::pair{"rtol", tolerance.relative}, {"atol", tolerance.absolute}}) {
      if (!value || (*value >= 0 && std::isfinite(*value))) continue;
      read.refuse(name, fmt::format("`{}` must be a finite number of at least 0", name),
                  fmt::format("write for example `tolerance = {{ {} = 1e-5 }}`", name));
    }
  }
  tolerance.cosine = benchmark.number("cosine");
  if (tolerance.cosine && !(*tolerance.cosine > 0 && *tolerance.cosine <= 1)) {
    benchmark.refuse("cosine", "`cosine` must be above 0 and at most 1",
                     "write for example `cosine = 0.99`");
  }
  tolerance.rmse = benchmark.number("rmse");
  if (tolerance.rmse && !(*tolerance.rmse > 0 && std::isfinite(*tolerance.rmse))) {
    benchmark.refuse("rmse", "`rmse` must be a finite number above 0",
                     "write for example `rmse = 1e-3`");
  }
  for (const auto& [first, second] :
       {std::pair{"cosine", "tolerance"}, {"cosine", "rmse"}, {"rmse", "tolerance"}}) {
    if (!benchmark.has(first) || !benchmark.has(second)) continue;
    benchmark.refuse(first, fmt::format("this benchmark has both `{}` and `{}`", first, second),
                     "leave one of them out");
  }
}

}  // namespace

std::map<std::string, std::string> read_limits(const TableReader& read, const SourceText& source,
                                               Errors& errors) {
  const toml::table* limits = read.table("limit");
  if (limits == nullptr) return {};
  return read_limit_texts(TableReader(*limits, "`limit`", limit_keys(), source, errors));
}

void read_options(const TableReader& read, const SourceText& source, Errors& errors,
                  GroupedBenchmark& benchmark) {
  read_threads_and_devices(read, benchmark);
  read_tags(read, benchmark);
  benchmark.is_only_timed = read.boolean("timed");
  benchmark.compiles = read.boolean("compiles");
  benchmark.warmup = read.integer("warmup");
  benchmark.iterations = read.integer("iterations");
  if (benchmark.iterations.value_or(1) != 1 && is_counted_once(benchmark)) {
    const char* key = benchmark.compiles ? "compiles" : "warmup";
    read.refuse("iterations", fmt::format("with this `{}` a single iteration is counted", key),
                fmt::format("leave out `iterations` or `{}`", key));
  }
  read_timeout(read, benchmark);
  read_requirements(read, benchmark);
  for (auto& [metric, limit] : read_limits(read, source, errors)) {
    benchmark.limits[metric] = std::move(limit);
  }
  read_tolerance(read, source, errors, benchmark.tolerance);
}

}  // namespace instr
