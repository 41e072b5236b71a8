#include "core/run/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/near_match.h"
#include "core/base/version.h"
#include "core/compare/compare_report.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/metrics.h"
#include "core/report/formats.h"
#include "core/run/option_words.h"

namespace instr {

namespace {

std::vector<std::pair<std::string, Runtime>> runtime_choices() {
  std::vector<std::pair<std::string, Runtime>> choices;
  for (const RuntimeFacts& known : kRuntimes) choices.emplace_back(known.name, known.runtime);
  return choices;
}
const std::vector<std::pair<std::string, Autograd>> kAutograds{
    {"forward", Autograd::kForward}, {"forward_backward", Autograd::kForwardBackward}};
const std::vector<std::pair<std::string, Isolation>> kIsolations{{"fork", Isolation::kFork},
                                                                 {"process", Isolation::kProcess}};
const std::vector<std::pair<std::string, ColorMode>> kColors{
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

const std::vector<std::pair<std::string, ChartKind>> kChartKinds{{"speedup", ChartKind::kSpeedup},
                                                                 {"growth", ChartKind::kGrowth},
                                                                 {"memory", ChartKind::kMemory}};

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
  return meaning_of(value, known).map_error([&](const std::string& advice) {
    return bad_value(name, value, advice).value();
  });
}

Expected<int> whole_number(const std::string& name, const std::string& value, int least,
                           int most = std::numeric_limits<int>::max()) {
  int number = 0;
  const char* end = value.data() + value.size();
  auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stopped != end || number < least || number > most) {
    std::string range = most == std::numeric_limits<int>::max()
                            ? fmt::format("of at least {}", least)
                            : fmt::format("from {} to {}", least, most);
    return fail(fmt::format("--{}: `{}` is not a number {}", name, value, range),
                fmt::format("write a whole number, such as --{}={}", name, std::max(least, 2)));
  }
  return number;
}

Expected<double> seconds(const std::string& name, const std::string& value) {
  double number = 0;
  const char* end = value.data() + value.size();
  auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stopped != end || !is_time(number)) {
    return fail(fmt::format("--{}: `{}` is not a time above 0 and up to 1e6", name, value),
                fmt::format("write seconds, such as --{}=30 or --{}=0.5", name, name));
  }
  return number;
}

Expected<Shard> shard_of(const std::string& text) {
  std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    auto index = whole_number("shard", text.substr(0, slash), 1);
    auto count = whole_number("shard", text.substr(slash + 1), 1);
    if (index && count && *index <= *count) return Shard{*index, *count};
  }
  return fail(fmt::format("--shard: `{}` is no part of a whole", text),
              "write the part and how many there are, the first being 1: --shard=1/4");
}

// Turns words into checked values; the first error stays.
class Reader {
 public:
  explicit Reader(const OptionWords& words) : words_(words) {}

  const std::vector<std::string>& all(const std::string& name) const {
    return words_.settings.at(name);
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
  const OptionWords& words_;
  std::optional<Error> error_;
};

void read_runtimes(Reader& reader, std::vector<Runtime>& runtimes) {
  if (reader.last("runtime") == "all") {
    for (const RuntimeFacts& known : kRuntimes) runtimes.push_back(known.runtime);
    return;
  }
  reader.each<Runtime>("runtime", runtimes, [](const std::string& item) {
    return choice("runtime", item, runtime_choices());
  });
}

void read_selection(Reader& reader, Selection& selection) {
  selection.filters = reader.all("filter");
  selection.excludes = reader.all("exclude");
  read_runtimes(reader, selection.runtimes);
  reader.each<Autograd>("autograd", selection.autograds, [](const std::string& item) {
    return choice("autograd", item, kAutograds);
  });
  reader.each<int>("threads", selection.threads,
                   [](const std::string& item) { return whole_number("threads", item, 1); });
  if (auto value = reader.last("shard")) {
    selection.shard.emplace();
    reader.set(shard_of(*value), *selection.shard);
  }
  for (const char* name : {"device", "tag"}) {
    auto& target = name == std::string_view("tag") ? selection.tags : selection.devices;
    reader.each<std::string>(name, target,
                             [name](const std::string& item) -> Expected<std::string> {
                               if (item.empty())
                                 return bad_value(name, item, "leave no item of the list empty");
                               return item;
                             });
  }
}

// The axes of experiments, under the names that they have in a file.
void read_experiment(Reader& reader, Options& options) {
  if (options.command != Command::kExperiment) return;
  Selection& selection = options.selection;
  // What other commands choose by, this one measures with.
  options.axes.threads = std::exchange(selection.threads, {});
  auto in_option = [](const char* name, auto convert) {
    return [name, convert](const std::string& item) {
      return convert(item).map_error([name](Error error) {
        error.what = fmt::format("--{}: {}", name, error.what);
        return error;
      });
    };
  };
  reader.each<std::string>("accelerator", selection.devices,
                           in_option("accelerator", accelerator_from));
  reader.each<Runtime>("backend", selection.runtimes, in_option("backend", backend_from));
  reader.each<Autograd>("test", selection.autograds, in_option("test", test_from));
  reader.each<std::string>("dtype", options.axes.data_types, in_option("dtype", data_type_from));
  reader.each<int>("batch-size", options.axes.batch_sizes, [](const std::string& item) {
    return whole_number("batch-size", item, 1, kMostBatch);
  });
  auto take = [&reader](const char* name, int least, int most, std::optional<int>& target) {
    if (auto value = reader.last(name)) {
      reader.set(whole_number(name, *value, least, most), target.emplace());
    }
  };
  take("repeat", 2, kMostRepetitions, options.repeat);
  take("iterations-per-run", 1, kMaxIterations, options.iterations_per_run);
  if (!facts_of(options.format).shows_experiments) {
    reader.fail_with({{},
                      "experiments are shown as a table or as Markdown",
                      "the results file holds a line of JSON for each"});
  }
}

// Names of metrics, and of groups of them.
void read_metrics(Reader& reader, std::vector<std::string>& metrics) {
  using Metrics = std::span<const Metric>;
  std::vector<Metrics> given;
  reader.each<Metrics>("metrics", given, [](const std::string& item) {
    return choice("metrics", item, metric_words());
  });
  for (Metrics some : given) {
    for (const Metric& metric : some) metrics.emplace_back(metric.name);
  }
}

// graph, profile, trace.
void read_dump(Reader& reader, Options& options) {
  const std::vector<std::pair<std::string, bool DumpParts::*>> parts{
      {"graph", &DumpParts::graph}, {"profile", &DumpParts::profile}, {"trace", &DumpParts::trace}};
  std::vector<bool DumpParts::*> wanted;
  reader.each<bool DumpParts::*>(
      "dump", wanted, [&parts](const std::string& item) { return choice("dump", item, parts); });
  for (auto part : wanted) {
    if (part != nullptr) options.dump.*part = true;
  }
  if (auto value = reader.last("dump-folder")) options.dump_folder = *value;
}

// What is to be counted, simulated and timed for the metrics that are shown and those that are held
// to a limit.
void read_needs(Reader& reader, Options& options) {
  auto is_any_of = [](const auto& metrics, std::span<const Metric> these, bool wanted) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const std::string& metric) {
      return (find_metric(metric, these) != nullptr) == wanted;
    });
  };
  if (options.command == Command::kExperiment) {
    options.wants_counts = false;
    options.wants_times = true;
    return;
  }
  options.wants_counts = options.metrics.empty() || is_any_of(options.metrics, kTimeMetrics, false);
  std::vector<std::string> metrics = options.metrics;
  const Limits& limits = options.gate.compare.limits;
  for (const auto* limited : {&limits.hard, &limits.soft}) {
    for (const auto& [metric, limit] : *limited) metrics.push_back(metric);
  }
  options.wants_times = is_any_of(metrics, kTimeMetrics, true);
  options.wants_start = is_any_of(metrics, kStartMetrics, true);
  options.simulation = simulation_for(metrics);
  bool counts_only = options.command == Command::kWatch || options.command == Command::kExplain ||
                     options.command == Command::kBisect;
  if (counts_only && options.wants_times) {
    reader.fail_with({{},
                      "this command counts instructions and times nothing",
                      "time with instr_bench --metrics=wall"});
  }
}

void read_measuring(Reader& reader, Options& options) {
  read_metrics(reader, options.metrics);
  if (auto value = reader.last("jobs")) {
    reader.set(whole_number("jobs", *value, 1, kMostJobs), options.jobs);
  }
  if (auto value = reader.last("churn")) {
    reader.set(whole_number("churn", *value, 0), options.churn);
  }
  if (auto value = reader.last("top")) reader.set(whole_number("top", *value, 1), options.top);
  if (auto value = reader.last("repeats")) {
    reader.set(whole_number("repeats", *value, 0), options.repeats);
  }
  if (auto value = reader.last("retries")) {
    reader.set(whole_number("retries", *value, 0), options.retries);
  }
  if (auto value = reader.last("timeout")) {
    double time = 0;
    reader.set(seconds("timeout", *value), time);
    options.timeout = time;
  }
  if (auto value = reader.last("repetitions")) {
    reader.set(whole_number("repetitions", *value, 2, kMostRepetitions), options.repetitions);
  }
  if (auto value = reader.last("min-time")) {
    reader.set(seconds("min-time", *value), options.min_time);
  }
  if (auto value = reader.last("time-cores")) {
    reader.set(whole_number("time-cores", *value, 1), options.time_cores);
  }
  reader.one_of("isolation", kIsolations, options.isolation);
  reader.one_of("format", report_formats(), options.format);
  reader.one_of("color", kColors, options.color);
}

// "ir=0.5%|+100": of all uses of the option, a metric's last one counts.
void read_limits(Reader& reader, const std::string& name, std::map<std::string, Limit>& limits) {
  for (const std::string& text : reader.all(name)) {
    auto parsed = parse_limits(text);
    if (!parsed) {
      reader.fail_with(
          {{}, fmt::format("--{}: {}", name, parsed.error().what), parsed.error().advice});
      return;
    }
    for (const auto& [metric, limit] : *parsed) limits[metric] = limit;
  }
}

void read_gate(Reader& reader, const OptionWords& words, GateOptions& gate) {
  gate.baseline = reader.last("baseline");
  if (auto value = reader.last("expect")) gate.expect = *value;
  if (auto value = reader.last("limits")) gate.limits_file = *value;
  if (auto value = reader.last("base-limits")) gate.base_limits_file = *value;
  gate.vary = items_of(reader.all("vary"));
  read_limits(reader, "limit", gate.compare.limits.hard);
  read_limits(reader, "soft-limit", gate.compare.limits.soft);
  gate.update_expected = words.has("update-expected");
  gate.show_same = words.has("show-same");
  gate.allow_missing_shards = words.has("allow-missing");
  gate.incomplete = words.has("allow-incomplete") ? Incomplete::kAllowed : Incomplete::kRefused;
  gate.compare.allow_missing = words.has("allow-missing");
  gate.compare.allow_failed = words.has("allow-failed");
  gate.compare.allow_not_comparable = words.has("allow-not-comparable");
  gate.compare.allow_nothing = words.has("allow-nothing");
  gate.compare.allow_new = !words.has("forbid-new");
  if (gate.baseline && gate.expect) {
    reader.fail_with({{},
                      "--baseline and --expect cannot go together",
                      "run twice: the second run takes everything from the cache"});
  }
  if (gate.base_limits_file && !gate.limits_file) {
    reader.fail_with({{}, "--base-limits goes with --limits", "add --limits=FILE"});
  }
  if (gate.update_expected && !gate.expect) {
    reader.fail_with({{}, "--update-expected needs a file to update", "add --expect=FILE"});
  }
}

// Formats that hold the counts of one run alone are no use to a comparison; said before it is made.
void check_format(Reader& reader, Options& options) {
  bool is_comparison = options.command == Command::kCompare || options.command == Command::kAb ||
                       options.gate.baseline ||
                       (options.gate.expect && !options.gate.update_expected);
  if (!is_comparison) return;
  auto possible = compare_report(options.format, {});
  if (!possible) reader.fail_with(possible.error());
  if (facts_of(options.format).has_all_attributions) options.gate.compare.most_attributions = 1000;
}

// What ab compares: the one setting that was given twice.
void read_sides(Reader& reader, Options& options) {
  struct Setting {
    const char* name;
    std::function<void(Options&, const std::string&)> set;
  };
  const Setting settings[] = {
      {"libtorch", [](Options& side, const std::string& value) { side.libtorch = value; }},
      {"build", [](Options& side, const std::string& value) { side.build = value; }},
      {"compiler", [](Options& side, const std::string& value) { side.compiler = value; }}};
  for (const Setting& setting : settings) {
    const auto& values = reader.all(setting.name);
    if (values.size() < 2) continue;
    if (values.size() > 2 || !options.side_name.empty()) options.side_name = "more than one";
    if (options.side_name.empty()) options.side_name = setting.name;
  }
  for (const Setting& setting : settings) {
    if (options.side_name != setting.name) continue;
    for (const std::string& value : reader.all(setting.name)) {
      Options side = options;
      setting.set(side, value);
      options.sides.push_back(std::move(side));
    }
    return;
  }
  reader.fail_with({{},
                    "ab compares two values of one setting",
                    "give --libtorch, --build or --compiler twice, and the others once at most"});
}

void read_switches(Reader& reader, const OptionWords& words, Options& options) {
  options.use_cache = !words.has("no-cache");
  options.dry_run = words.has("dry-run");
  options.verify = words.has("verify");
  options.reverse_order = words.has("reverse");
  if (words.has("quiet") && words.has("verbose")) {
    reader.fail_with({{}, "--quiet and --verbose cannot go together", "leave one of them out"});
  }
  if (words.has("quiet")) options.verbosity = Verbosity::kQuiet;
  if (words.has("verbose")) options.verbosity = Verbosity::kVerbose;
  if (words.has("list")) options.command = Command::kList;
}

// The one key that bisect asks for, as a filter.
void read_key(Reader& reader, Options& options) {
  if (options.command != Command::kBisect) return;
  auto key = reader.last("key");
  if (!key || !options.gate.baseline) {
    reader.fail_with({{},
                      "bisect needs a key and a baseline",
                      "write instr_bench bisect --key=KEY --baseline=NAME -- COMMAND; see "
                      "instr_bench bisect --help"});
    return;
  }
  options.selection.filters = {"^\\Q" + *key + "\\E$"};
}

// A metric and a parameter are of growth alone.
void read_plot(Reader& reader, const std::vector<std::string>& metrics, PlotOptions& plot) {
  if (reader.last("kind")) {
    plot.kind.emplace();
    reader.one_of("kind", kChartKinds, *plot.kind);
  }
  plot.by = reader.last("by");
  if (metrics.size() > 1) {
    reader.fail_with({{}, "plot draws one metric", "name one, such as --metrics=allocs"});
  }
  if (metrics.empty() && !plot.by) return;
  if (!metrics.empty()) plot.metric = metrics[0];
  if (plot.kind.value_or(ChartKind::kGrowth) != ChartKind::kGrowth) {
    reader.fail_with(
        {{}, "--metrics and --by go with --kind=growth", "leave them out, or draw that"});
  }
  plot.kind = ChartKind::kGrowth;
}

Expected<Options> interpret(const OptionWords& words) {
  Options options;
  options.command = words.command;
  if (words.has("help")) {
    options.show = help_text(words.command);
    return options;
  }
  if (words.has("version")) {
    options.show = fmt::format("instr_bench {}\n", kProgramVersion);
    return options;
  }
  options.operands = words.operands;
  options.rest = words.rest;
  Reader reader(words);
  read_selection(reader, options.selection);
  for (const std::string& path : reader.all("definitions")) options.definitions.emplace_back(path);
  read_measuring(reader, options);
  read_switches(reader, words, options);
  read_dump(reader, options);
  read_experiment(reader, options);
  read_gate(reader, words, options.gate);
  read_key(reader, options);
  check_format(reader, options);
  if (options.command == Command::kPlot) read_plot(reader, options.metrics, options.plot);
  read_needs(reader, options);
  options.save = reader.last("save");
  if (auto value = reader.last("output")) options.output = *value;
  if (auto value = reader.last("keep-profiles")) options.keep_profiles = *value;
  if (auto value = reader.last("libtorch")) options.libtorch = *value;
  if (auto value = reader.last("build")) options.build = *value;
  options.compiler = reader.last("compiler");
  options.want_functions = options.output || options.save || options.gate.baseline ||
                           options.gate.expect || options.command == Command::kExplain ||
                           options.command == Command::kAb;
  if (options.command == Command::kAb) read_sides(reader, options);
  if (reader.error()) return tl::unexpected(*reader.error());
  return options;
}

}  // namespace

Expected<Options> parse_options(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return read_option_words(std::move(words)).and_then(interpret);
}

}  // namespace instr
