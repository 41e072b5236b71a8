#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/base/cores.h"
#include "core/base/output_folder.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

// One of the two: what it measures, and what became of it.
struct Side {
  const Options& options;
  std::string name;
  std::vector<Variant> variants;
  std::optional<Recorder> recorder;
};

std::string name_of(const Options& options, const Options& side) {
  if (options.side_name == "libtorch") return side.libtorch.value_or("").string();
  if (options.side_name == "build") return side.build.value_or("").string();
  return side.compiler.value_or("");
}

// Half of the cores each, so that the two can count side by side.
int jobs_of(const Options& options) {
  int cores = static_cast<int>(std::ssize(usable_cores()));
  return std::max(1, (options.jobs > 0 ? options.jobs : cores) / 2);
}

// --output=FOLDER holds both results files.
Expected<std::optional<ResultsTarget>> output_of(const Options& options, const char* name) {
  if (!options.output) return std::optional<ResultsTarget>();
  auto made =
      make_output_folder(*options.output, "ab writes a.jsonl and b.jsonl to the folder --output");
  if (!made) return tl::unexpected(made.error());
  return ResultsTarget::open(*options.output / name).map([](ResultsTarget&& target) {
    return std::optional(std::move(target));
  });
}

// Counts side by side, each on its half of the cores; times in turns once both have counted.
Expected<void> measure_both(Side (&sides)[2], const std::vector<std::string>& command,
                            Progress& progress, std::stop_token stop) {
  std::optional<Expected<Session>> counted[2];
  auto count = [&](int i) {
    Side& side = sides[i];
    counted[i].emplace(
        count_all(side.options, command, side.variants, progress, *side.recorder, stop));
  };
  {
    std::jthread first([&] { count(0); });
    count(1);
  }
  std::vector<Session*> sessions;
  for (auto& one : counted) {
    if (!*one) return tl::unexpected(one->error());
    sessions.push_back(&**one);
  }
  if (!Session::time(sessions, stop)) return {};
  for (Session* session : sessions) {
    auto inspected = session->inspect(stop);
    if (!inspected) return tl::unexpected(inspected.error());
  }
  return {};
}

Expected<Comparison> compare_sides(const Options& options, const Gate& gate, Side (&sides)[2],
                                   std::vector<FieldDifference>& differences) {
  ResultSet sets[2];
  for (int i = 0; i < 2; ++i) {
    sets[i] = result_set_of(sides[i].name, sides[i].recorder->header().value_or(ResultsHeader{}),
                            sides[i].recorder->in_order_of(sides[i].variants));
  }
  std::vector<std::string> vary = options.gate.vary;
  // A build of the user's own is no field of the fingerprint.
  if (options.side_name != "build") vary.push_back(options.side_name);
  Reference before{std::move(sets[0]), false, {}};
  auto found = check_comparable(before, sets[1].results.header, vary);
  if (!found) return tl::unexpected(found.error());
  differences = std::move(*found);
  return hold_against(before, std::move(sets[1]), gate);
}

}  // namespace

ExitStatus ab_command(const Options& options, const std::vector<std::string>& command,
                      std::stop_token stop) {
  auto gate = open_gate(options.gate);
  if (!gate) return refuse(gate.error());
  Options halves[2] = {options.sides[0], options.sides[1]};
  Side sides[2] = {{halves[0], name_of(options, halves[0]), {}, {}},
                   {halves[1], name_of(options, halves[1]), {}, {}}};
  Progress progress(progress_options(options));
  const char* files[2] = {"a.jsonl", "b.jsonl"};
  for (int i = 0; i < 2; ++i) {
    halves[i].jobs = jobs_of(options);
    auto variants = plan(halves[i]);
    if (!variants) return refuse(variants.error());
    sides[i].variants = std::move(*variants);
    auto output = output_of(options, files[i]);
    if (!output) return refuse(output.error());
    sides[i].recorder.emplace(std::move(*output), [&progress](const Error& error) {
      progress.print(2, "error: " + to_string(error) + "\n");
    });
  }
  const std::size_t passes = (options.wants_counts ? 1 : 0) + (options.wants_times ? 1 : 0);
  progress.expect(passes * (sides[0].variants.size() + sides[1].variants.size()));
  auto measured = measure_both(sides, command, progress, stop);
  progress.finish();
  const bool is_complete = measured && !stop.stop_requested();
  for (Side& side : sides) side.recorder->finish(is_complete);
  if (stop.stop_requested()) return kInterrupted;
  if (!measured) return refuse(measured.error());
  for (const Side& side : sides) {
    if (!side.recorder->could_write()) return kBadSetup;
  }
  std::vector<FieldDifference> differences;
  auto comparison = compare_sides(options, *gate, sides, differences);
  if (!comparison) return refuse(comparison.error());
  return show_comparison(options, *comparison, differences);
}

}  // namespace instr
