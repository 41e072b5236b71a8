#include "core/history/run_of_gbench.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_line.h"
#include "core/compile/cache.h"
#include "core/results/results.h"
#include "core/values/timing.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// What times depend on besides the code.
constexpr const char* kClassFields[] = {"host_name", "num_cpus", "mhz_per_cpu", "library_version",
                                        "library_build_type"};

std::string class_of(const Json& context) {
  auto fields = Json::array({{"program", "Google Benchmark"}});
  for (const char* name : kClassFields) {
    auto found = context.find(name);
    if (found == context.end()) continue;
    fields.push_back({name, found->is_string() ? found->get<std::string>() : to_line(*found)});
  }
  return to_line(fields);
}

// Nanoseconds in it; nothing if it is not a unit of Google Benchmark's.
std::optional<double> size_of_unit(const Json& benchmark) {
  static const std::map<std::string, double> kUnits{
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  auto unit = kUnits.find(benchmark.value("time_unit", "ns"));
  return unit == kUnits.end() ? std::nullopt : std::optional(unit->second);
}

using Times = std::map<std::pair<std::string, std::string>, std::vector<double>>;

void add_times(const Json& benchmark, Times& times) {
  const bool is_one = benchmark.is_object() &&
                      benchmark.value("run_type", "iteration") == "iteration" &&
                      !benchmark.value("error_occurred", false);
  const auto unit = is_one ? size_of_unit(benchmark) : std::nullopt;
  if (!unit) return;
  const std::string key = benchmark.value("run_name", benchmark.value("name", ""));
  for (const auto& [field, metric] : {std::pair{"real_time", kWall}, {"cpu_time", kCpu}}) {
    auto found = benchmark.find(field);
    if (found == benchmark.end() || !found->is_number() || key.empty()) continue;
    times[{key, metric}].push_back(found->get<double>() * *unit);
  }
}

}  // namespace

bool is_gbench(std::string_view bytes) {
  std::string start(bytes.substr(0, 100));
  std::erase_if(start, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return start.starts_with(R"({"context":)") || start.starts_with(R"({"benchmarks":)");
}

Expected<HistoryRun> run_of_gbench(std::string_view bytes, const std::string& name,
                                   const Commit& commit, const std::string& branch,
                                   bool is_commit_trusted) {
  const auto refused = [&name] {
    return tl::unexpected(Error{
        {name}, "this is not the JSON of Google Benchmark", "write it with --benchmark_out=FILE"});
  };
  const auto json = parse_json(bytes);
  const bool is_document = json && json->is_object() && json->contains("context") &&
                           json->contains("benchmarks") && (*json)["context"].is_object() &&
                           (*json)["benchmarks"].is_array();
  if (!is_document) return refused();
  Times times;
  std::string started;
  try {
    for (const Json& benchmark : (*json)["benchmarks"]) add_times(benchmark, times);
    started = (*json)["context"].value("date", "");
  } catch (const Json::exception&) {  // a member of another type
    return refused();
  }
  if (auto checked = check_age(name, started, commit); !checked && !is_commit_trusted) {
    return tl::unexpected(checked.error());
  }
  // It has its own time zone.
  if (const auto seconds = seconds_of(started)) started = utc_text(*seconds);
  HistoryRun run{commit, branch, started, "", content_hash(bytes), {}, {}, {}};
  run.classes.push_back(class_of((*json)["context"]));
  for (const auto& [which, values] : times) {
    run.values.push_back({which.first, which.second, false, 0, median(values), values});
  }
  return run;
}

}  // namespace instr
