#include "core/report/list.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/installation.h"
#include "core/compile/python/python.h"
#include "core/report/formats.h"
#include "core/run/left_out.h"
#include "core/run/pipeline.h"
#include "core/run/tools.h"

namespace instr {

namespace {

struct ListOptions {
  PlanConfig plan;
  std::optional<ReportFormat> format;  // absent: keys
  Showing showing;
  bool shows_backends = false;
  ToolConfig tools = {};
};

// Returns a variant that runs on the backend, in its language and on its device.
Variant make_example(const BackendFacts& facts) {
  Variant variant;
  variant.backend = facts.backend;
  variant.language = runs_in(facts.backend, Language::kCpp) ? Language::kCpp : Language::kPython;
  variant.device = facts.device != nullptr ? facts.device : "cpu";
  return variant;
}

// Shows the backends of the table, and others that torch.compile() knows in this Python.
ExpectedStatus show_backends(const ListOptions& options) {
  MeasureConfig config;
  config.tools = options.tools;
  TRY_ASSIGN(const auto tools, Tools::find(config));
  const Capabilities capabilities{tools->libtorch(), /*wants_times=*/true};
  DocumentTable table{
      .columns = {{.heading = "backend", .name = "backend", .align = Align::kLeft},
                  {.heading = "", .name = "title", .align = Align::kLeft},
                  {.heading = "runs here", .name = "runs_here", .align = Align::kLeft}}};
  const auto add = [&table](const std::string& name, const std::string& title,
                            const std::string& obstacle) {
    table.rows.push_back({.cells = {text_cell(name), text_cell(title),
                                    text_cell(obstacle.empty() ? "yes" : "no: " + obstacle)}});
  };
  const CudaTraces traces = read_cuda_traces();
  const fs::path sources = find_installation().sources;
  for (const BackendFacts& facts : kBackends) {
    const Variant variant = make_example(facts);
    tools->expect({variant});
    auto obstacle = find_obstacle(variant, capabilities, tools->language(variant.language));
    if (!obstacle && is_on_cuda(variant) && has_no_cuda_device(traces)) obstacle = "no CUDA device";
    add(facts.name, facts.title, obstacle.value_or(""));
  }
  const auto names = find_python(options.tools.python, tools->libtorch(), sources)
                         .and_then([&](const Python& python) {
                           return list_torch_names(python, sources, tools->cache);
                         });
  if (!names)
    print_message("without others of torch.compile(): " + to_string(names.error()) + "\n");
  const auto registered = names ? names->at("backends") : TorchNames::mapped_type{};
  for (const auto& [name, obstacle] : registered) {
    const auto is_known = [&name](const BackendFacts& facts) { return name == facts.name; };
    if (std::ranges::none_of(kBackends, is_known)) add(name, "torch.compile()", obstacle);
  }
  Document document;
  add_records(document, table);
  document.tables.push_back(std::move(table));
  print_output(render(options.format.value_or(ReportFormat::kTable), document,
                      render_options(options.showing)));
  return kGood;
}

ExpectedStatus show_list(const ListOptions& options) {
  if (options.shows_backends) return show_backends(options);
  TRY_ASSIGN(auto variants, plan(options.plan));
  print_output(options.format ? render(*options.format, list_document(variants),
                                       render_options(options.showing))
                              : list_keys(variants));
  if (isatty(STDOUT_FILENO)) print_message(list_summary(variants));
  return kGood;
}

// Plans a run without starting a worker: which variants are cached, to be compiled or skipped.
Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants) {
  TRY_ASSIGN(auto tools, Tools::find(config));
  tools->expect(variants);
  std::set<std::string> cached;
  for (const LanguageFacts& known : kLanguages) {
    TRY_ASSIGN(
        auto keys,
        tools->language(known.language).find_compiled(in_language(variants, known.language)));
    cached.merge(keys);
  }
  const Capabilities capabilities{tools->libtorch(), config.wants_times};
  std::vector<PlannedVariant> planned;
  for (const Variant& variant : variants) {
    auto obstacle = find_obstacle(variant, capabilities, tools->language(variant.language));
    const bool is_unknown = variant.build && !variant.build->sources.empty();
    const auto step = obstacle                       ? PlannedStep::kSkip
                      : cached.contains(variant.key) ? PlannedStep::kCached
                      : is_unknown                   ? PlannedStep::kUnknown
                                                     : PlannedStep::kCompile;
    planned.push_back({variant, step, obstacle.value_or("")});
  }
  return planned;
}

}  // namespace

ExpectedStatus show_dry_run(const PlanConfig& config, const MeasureConfig& measure,
                            const Showing& showing, const FindMeasured& find_measured) {
  TRY_ASSIGN(auto selected, plan(config));
  TRY_ASSIGN(const auto split, leave_out_unusable(std::move(selected), config, measure.tools));
  print_message(split.note);
  TRY_ASSIGN(auto planned, plan_run(measure, split.runnable));
  if (find_measured) {
    TRY_ASSIGN(const auto measured, find_measured(split.runnable));
    for (PlannedVariant& each : planned) {
      if (measured.contains(each.variant.key)) each.step = PlannedStep::kMeasured;
    }
  }
  print_output(dry_run_text(planned, inspect_terminal(STDOUT_FILENO, showing.color).color));
  return kGood;
}

Action list_command(CommandLine& line) {
  auto options = std::make_shared<ListOptions>();
  line.describe("Prints the key of each benchmark that a run would measure, one per line.");
  declare_plan(line, options->plan);
  declare_shard(line, options->plan.selection);
  line.group("What to show");
  line.flag("--backends", "the backends instead, and why one cannot run here",
            options->shows_backends);
  line.option("--libtorch", "DIR", "with --backends: the LibTorch to look at, as for a run",
              take_path(options->tools.libtorch));
  line.option("--python", "PROGRAM", "with --backends: the interpreter, as for a run",
              take_text(options->tools.python));
  declare_format(line, options->format, "keys",
                 "json, jsonl and csv have the parameters, tags, file and line of each");
  declare_showing(line, options->showing);
  return [options](const Invocation&) { return show_list(*options); };
}

}  // namespace instr
