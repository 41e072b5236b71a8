// The command line: words to the options of each command, and errors in them.
#include "core/commands/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "core/base/format.h"
#include "core/base/version.h"
#include "core/cli/gating.h"
#include "core/cli/help.h"
#include "core/commands/program.h"
#include "core/commands/run.h"
#include "core/compile/installation.h"
#include "tests/testing.h"

namespace instr::commands_test {
namespace {

using namespace testing;

using Words = std::vector<std::string>;

Expected<void> parse_run(const Words& words, RunOptions& options) {
  CommandLine line("run");
  declare_run(line, options);
  return line.parse(words);
}

RunOptions good(const Words& words) {
  RunOptions options;
  auto parsed = parse_run(words, options);
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  return options;
}

std::string error_of(const Words& words) { return error_text(parse_command(words)); }

std::string command_of(const Words& words) {
  auto parsed = parse_command(words);
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  return parsed ? parsed->command->name : "";
}

// The action's standard output.
std::string output_of(const Words& words) {
  auto parsed = parse_command(words);
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  if (!parsed) return "";
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(parsed->action({words, {}, nullptr}), kGood);
  return ::testing::internal::GetCapturedStdout();
}

std::string help_of(const std::string& name) { return help_of(*find_command(name)); }

TEST(RunOptions, WhatToMeasure) {
  RunOptions options =
      good({"--filter=matmul", "--filter", "nn/", "--exclude=t2", "--definitions=a.toml",
            "--definitions=b", "--runtime=eager,torchscript", "--autograd=forward_backward",
            "--threads=1,2", "--threads=4", "--device=cpu,cuda", "--tag=slow", "--build=c.toml"});
  const Selection& selection = options.plan.selection;
  EXPECT_EQ(selection.filters, (Words{"matmul", "nn/"}));
  EXPECT_EQ(selection.excludes, (Words{"t2"}));
  EXPECT_EQ(options.plan.definitions, (std::vector<std::filesystem::path>{"a.toml", "b"}));
  EXPECT_EQ(selection.runtimes, (std::vector<Runtime>{Runtime::kEager, Runtime::kTorchScript}));
  EXPECT_EQ(selection.autograds, (std::vector<Autograd>{Autograd::kForwardBackward}));
  EXPECT_EQ(selection.threads, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(options.plan.axes.threads, selection.threads);
  EXPECT_EQ(selection.devices, (Words{"cpu", "cuda"}));
  EXPECT_EQ(selection.tags, (Words{"slow"}));
  EXPECT_EQ(options.plan.build, "c.toml");
  EXPECT_EQ(good({"--runtime=all"}).plan.selection.runtimes.size(), kRuntimes.size());
}

TEST(RunOptions, SettingsForTestsAreInTheEnvironment) {
  const ScopedVariable churn("INSTR_TEST_CHURN", "5"), isolation("INSTR_TEST_ISOLATION", "process"),
      retries("INSTR_TEST_RETRIES", "0"), reverse("INSTR_TEST_REVERSE", "1");
  const RunOptions options = good({});
  EXPECT_EQ(options.measure.churn, 5);
  EXPECT_EQ(options.measure.isolation, Isolation::kProcess);
  EXPECT_EQ(options.measure.retries, 0);
  EXPECT_TRUE(options.plan.is_reversed);
  EXPECT_NE(error_of({"--warm"}).find("INSTR_TEST_CHURN"), std::string::npos);
}

TEST(RunOptions, AMalformedSettingForTestsIsAnError) {
  for (const char* name :
       {"INSTR_TEST_CHURN", "INSTR_TEST_ISOLATION", "INSTR_TEST_RETRIES", "INSTR_TEST_REVERSE"}) {
    for (const char* value : {"", "x", "-1"}) {
      const ScopedVariable malformed(name, value);
      EXPECT_EQ(error_of({}).find(std::string(name) + ": `" + value + "` is not "), 0u)
          << error_of({});
    }
  }
  EXPECT_EQ(error_of({}), "no error");
}

TEST(RunOptions, SuitesAreDefinitionsBesideOthers) {
  for (const std::string& suite : suite_names()) {
    auto definitions = good({"--suite=" + suite, "--definitions=a.toml"}).plan.definitions;
    std::sort(definitions.begin(), definitions.end());
    ASSERT_EQ(definitions.size(), 2u);
    EXPECT_EQ(definitions[0], "a.toml");  // relative paths come first
    EXPECT_EQ(definitions[1].filename(), suite + ".toml");
    EXPECT_TRUE(std::filesystem::exists(definitions[1])) << definitions[1];
    EXPECT_NE(error_of({"run", "--suite=" + suite + "x"}).find("did you mean `" + suite + "`?"),
              std::string::npos);
    EXPECT_NE(error_of({"list", "--suite=0"}).find(suite), std::string::npos);
  }
  EXPECT_NE(error_of({"list", "--suite=0"}).find("`0` is not a suite"), std::string::npos);
}

TEST(RunOptions, HowToMeasureAndWhatToKeep) {
  RunOptions options =
      good({"--metrics=ir,allocs", "--jobs=3", "--output=r.jsonl", "--format=csv", "--libtorch=/t",
            "--compiler=g++", "--timeout=2.5", "--keep-profiles=p", "--no-cache", "--dry-run",
            "--verify", "--verbose", "--color=never", "--dump=graph,trace", "--dump-folder=d"});
  const MeasureConfig& measure = options.measure;
  EXPECT_EQ(options.metrics, (Words{"ir", "allocs"}));
  EXPECT_EQ(measure.tools.jobs, 3);
  EXPECT_EQ(options.output, "r.jsonl");
  EXPECT_EQ(options.format, ReportFormat::kCsv);
  EXPECT_EQ(measure.tools.libtorch, "/t");
  EXPECT_EQ(measure.tools.compiler, "g++");
  EXPECT_EQ(measure.timeout, 2.5);
  EXPECT_EQ(measure.keep_profiles, "p");
  EXPECT_TRUE(measure.tools.no_cache && measure.verify && options.is_dry_run);
  EXPECT_EQ(measure.dump, (DumpParts{DumpPart::kGraph, DumpPart::kTrace}));
  EXPECT_EQ(measure.dump_folder, "d");
  EXPECT_EQ(options.showing.verbosity, Verbosity::kVerbose);
  EXPECT_EQ(options.showing.color, ColorMode::kNever);
  EXPECT_TRUE(measure.wants_functions);
}

TEST(RunOptions, WhatToCompareWith) {
  RunOptions options = good({"--baseline=main", "--limit=ir=1%|+10|allocs=+2", "--limit=ir=2%",
                             "--soft-limit=ir=0.5%", "--limits=l.toml", "--vary=libtorch,compiler",
                             "--allow-missing", "--forbid-new", "--save=next"});
  const GateOptions& gate = options.gate;
  EXPECT_EQ(gate.baseline, "main");
  EXPECT_EQ(options.save, "next");
  EXPECT_TRUE(options.measure.wants_functions);
  EXPECT_EQ(gate.limits_file, "l.toml");
  EXPECT_EQ(gate.vary, (Words{"libtorch", "compiler"}));
  EXPECT_EQ(gate.compare.limits.hard.at("ir"), (Limit{2.0, std::nullopt}));
  EXPECT_EQ(gate.compare.limits.hard.at("allocs"), (Limit{std::nullopt, 2.0}));
  EXPECT_EQ(gate.compare.limits.hard.at("peak_bytes"), default_limits().hard.at("peak_bytes"));
  EXPECT_EQ(gate.compare.limits.soft.at("ir"), (Limit{0.5, std::nullopt}));
  EXPECT_TRUE(gate.compare.allow_missing);
  EXPECT_FALSE(gate.compare.allow_new || gate.compare.allow_failed || gate.compare.allow_nothing ||
               gate.compare.allow_not_comparable);
  EXPECT_EQ(error_of({"--limit=ir", "--save=x"}).find("--limit: "), 0u);
  EXPECT_NE(error_of({"--baseline=a", "--expect=b"}).find("cannot go together"), std::string::npos);
}

TEST(RunOptions, FormatsOfCountsAloneAreRefusedBeforeAComparison) {
  EXPECT_EQ(good({"--format=gbench"}).format, ReportFormat::kGbench);
  EXPECT_EQ(command_of({"compare", "a", "b", "--format=junit"}), "compare");
  EXPECT_NE(error_of({"compare", "a", "b", "--format=gbench"}), "no error");
  EXPECT_NE(error_of({"--baseline=a", "--format=bencher"}), "no error");
  EXPECT_EQ(error_of({"--expect=a.csv", "--update-expected", "--format=bencher"}), "no error");
  EXPECT_EQ(good({"--baseline=a", "--format=json"}).gate.compare.most_attributions, 1000u);
}

TEST(RunOptions, KeysInsteadOfNames) {
  EXPECT_FALSE(good({}).showing.show_keys);
  EXPECT_TRUE(good({"--show-keys"}).showing.show_keys);
  EXPECT_TRUE(good({"--show-binding"}).showing.show_binding);
  EXPECT_NE(error_of({"--show-keys", "--show-binding"}).find("cannot go together"),
            std::string::npos);
  EXPECT_EQ(command_of({"compare", "a", "b", "--show-keys"}), "compare");
  EXPECT_EQ(command_of({"baseline", "show", "main", "--show-keys"}), "baseline");
}

TEST(RunOptions, Shards) {
  RunOptions options = good({"--shard=2/4"});
  EXPECT_EQ(options.plan.selection.shard, (Shard{2, 4}));
  for (const std::string text : {"0/4", "5/4", "1", "1/", "/4", "1/4/2", "a/b", "-1/4", "1/0"}) {
    EXPECT_EQ(error_of({"--shard=" + text}).find("--shard: `" + text + "`"), 0u);
  }
  EXPECT_NE(error_of({"--shard-costs=old.jsonl"}).find("has no effect without --shard"),
            std::string::npos);
  EXPECT_NE(error_of({"--shard=1/2", "--shard-costs=none.jsonl"}).find("none.jsonl"),
            std::string::npos);
}

TEST(RunOptions, WhatMetricsAndLimitsNeedIsSimulated) {
  EXPECT_EQ(good({}).measure.simulation, Simulation{});
  EXPECT_EQ(good({"--metrics=ir", "--limit=allocs=+0", "--save=x"}).measure.simulation,
            Simulation{});
  RunOptions cache = good({"--metrics=ir,cache"});
  EXPECT_EQ(cache.measure.simulation, (Simulation{true, false}));
  EXPECT_EQ(cache.metrics, (Words{"ir", "data_reads", "data_writes", "i1_misses", "d1_misses",
                                  "l1_hits", "ll_hits", "ram_hits", "estimated_cycles"}));
  EXPECT_EQ(good({"--metrics=branch"}).metrics, (Words{"branches", "mispredictions"}));
  EXPECT_EQ(good({"--limit=mispredictions=1%", "--save=x"}).measure.simulation,
            (Simulation{false, true}));
  EXPECT_EQ(
      good({"--soft-limit=d1_misses=1%", "--metrics=branches", "--save=x"}).measure.simulation,
      (Simulation{true, true}));
}

TEST(RunOptions, WhatIsTimedAndCounted) {
  MeasureConfig usual = good({}).measure;
  EXPECT_TRUE(usual.wants_counts && !usual.wants_times);
  MeasureConfig both = good({"--metrics=ir,wall"}).measure;
  EXPECT_TRUE(both.wants_counts && both.wants_times);
  MeasureConfig times = good({"--metrics=wall,cpu"}).measure;
  EXPECT_TRUE(!times.wants_counts && times.wants_times && !times.wants_start);
  EXPECT_TRUE(good({"--metrics=ready"}).measure.wants_start);
  EXPECT_TRUE(good({"--limit=wall=5%", "--save=x"}).measure.wants_times);
}

// Options without effect would mislead.
TEST(RunOptions, OptionsWithoutEffectAreErrors) {
  EXPECT_EQ(error_of({"--limit=ir=1%"}),
            "--limit has no effect without --baseline or --expect: add it, or omit this option");
  for (const std::string& name : gate_options()) {
    auto options = RunOptions{};
    CommandLine line("run");
    declare_run(line, options);
    const OptionInfo* option = line.find("--" + name);
    ASSERT_NE(option, nullptr) << name;
    const std::string word = "--" + name + (option->value.empty() ? "" : "=ir=1%");
    EXPECT_NE(error_of({word}).find("has no effect without"), std::string::npos) << word;
  }
  EXPECT_EQ(error_of({"--update-expected"}),
            "--update-expected has no effect without --expect=FILE: add it, or omit this option");
  for (const char* word : {"--base-limits=b", "--dump-folder=d", "--repetitions=3", "--min-time=1",
                           "--time-cores=1"}) {
    EXPECT_NE(error_of({word, "--save=x"}).find("has no effect without"), std::string::npos)
        << word;
  }
  for (const char* word : {"--warm", "--keep-profiles=p"}) {
    EXPECT_NE(error_of({word, "--metrics=wall"}).find("has no effect without"), std::string::npos)
        << word;
  }
  EXPECT_EQ(error_of({"--repetitions=3", "--metrics=wall"}), "no error");
  EXPECT_NE(error_of({"explain", "key", "results", "--jobs=2"}).find("has no effect"),
            std::string::npos);
  EXPECT_NE(error_of({"explain", "key", "results", "--callers=malloc"}).find("has no effect"),
            std::string::npos);
  EXPECT_NE(error_of({"baseline", "list", "--format=json"}).find("has no effect"),
            std::string::npos);
}

TEST(Commands, TakeOptionsOnBothSides) {
  for (const Words& words :
       {Words{"doctor", "--libtorch=x", "-j", "3"}, Words{"--libtorch=x", "doctor", "-j3"},
        Words{"--libtorch", "x", "-j", "3", "doctor"}, Words{"--libtorch", "list", "doctor"}}) {
    EXPECT_EQ(command_of(words), "doctor");
  }
  EXPECT_EQ(command_of({}), "run");
  EXPECT_EQ(command_of({"run"}), "run");
  EXPECT_EQ(command_of({"--filter", "list"}), "run");
  EXPECT_EQ(command_of({"--filter", "watch", "list"}), "list");
}

TEST(Commands, HaveTheirOwnOptions) {
  EXPECT_EQ(error_of({"compare", "a", "b", "--jobs=3"}),
            "--jobs does not apply to the command `compare`: omit it, or see instr_bench compare "
            "--help");
  EXPECT_EQ(
      error_of({"--repeats=3"}),
      "--repeats does not apply to the command `run`: omit it, or see instr_bench run --help");
  EXPECT_NE(error_of({"list", "--save=x"}), "no error");
  EXPECT_NE(error_of({"watch", "--metrics=wall"}), "no error");
  EXPECT_NE(error_of({"watch", "--repetitions=3"}), "no error");
}

TEST(Commands, Operands) {
  EXPECT_EQ(command_of({"compare", "--filter=x", "a.jsonl", "b.jsonl"}), "compare");
  EXPECT_EQ(command_of({"baseline", "list"}), "baseline");
  EXPECT_EQ(error_of({"compare", "a"}), "`compare` takes BASE NEW: see instr_bench compare --help");
  EXPECT_EQ(error_of({"compare", "a", "b", "c"}),
            "`compare` takes BASE NEW: see instr_bench compare --help");
  EXPECT_EQ(error_of({"run", "matmul"}),
            "`run` takes no `matmul`: to select benchmarks, write --filter=matmul");
  EXPECT_EQ(error_of({"doctor", "matmul"}),
            "`doctor` takes no `matmul`: see instr_bench doctor --help");
  EXPECT_EQ(error_of({"--", "make"}), "`run` takes nothing after `--`: see instr_bench run --help");
  EXPECT_EQ(error_of({"merge", "a"}), "merge needs a file to write: add --output=FILE");
}

TEST(Commands, AbTakesOneSettingTwice) {
  EXPECT_EQ(command_of({"ab", "--libtorch=/a", "--libtorch=/b", "--compiler=g++"}), "ab");
  for (const Words& words :
       {Words{"ab"}, Words{"ab", "--libtorch=/a"},
        Words{"ab", "--libtorch=/a", "--libtorch=/b", "--libtorch=/c"},
        Words{"ab", "--libtorch=/a", "--libtorch=/b", "--build=c", "--build=d"}}) {
    EXPECT_NE(error_of(words).find("ab compares two values of one setting"), std::string::npos);
  }
}

TEST(Commands, BisectNeedsAKeyAndABaseline) {
  EXPECT_EQ(command_of({"bisect", "--key=a+b/eager", "--baseline=good", "--", "make", "-j2"}),
            "bisect");
  EXPECT_NE(error_of({"bisect", "--key=a"}).find("bisect needs a key and a baseline"),
            std::string::npos);
  EXPECT_NE(error_of({"bisect", "--key=a", "--baseline=b", "--limit=wall=1%"})
                .find("does not time anything"),
            std::string::npos);
}

TEST(Commands, Plot) {
  EXPECT_EQ(command_of({"plot", "main", "--kind=memory"}), "plot");
  EXPECT_EQ(command_of({"plot", "main", "--metrics=allocs", "--by=n"}), "plot");
  EXPECT_EQ(error_of({"plot", "main", "--kind=growht"}),
            "--kind: `growht` is not one of its values: did you mean `growth`? it takes speedup, "
            "growth, memory, distribution");
  EXPECT_EQ(error_of({"plot", "main", "--kind=memory", "--by=n"}),
            "--metrics and --by go with --kind=growth: leave them out, or draw that");
  EXPECT_EQ(error_of({"plot", "main", "--metrics=ir,allocs"}),
            "plot draws one metric: name one, such as --metrics=allocs");
  EXPECT_EQ(command_of({"report", "--html=x.html", "--since=v1"}), "report");
  EXPECT_EQ(command_of({"report", "a.jsonl", "b.jsonl", "--html=x.html", "--vary=libtorch"}),
            "report");
  EXPECT_EQ(error_of({"report"}), "report needs to know where to write it: add --html=FILE");
  EXPECT_EQ(error_of({"report", "a.jsonl", "--html=x.html", "--since=v1"}),
            "--history, --branch and --since are for a report of the history, not of files: omit "
            "them, or the files");
  EXPECT_EQ(error_of({"report", "--html=x.html", "--vary=libtorch"}),
            "--vary and --allow-incomplete are for a report of files: name some, or omit them");
  EXPECT_EQ(error_of({"plot"}), "`plot` takes NAME|FILE: see instr_bench plot --help");
}

// Patterns are taken as they are: CLI11 would read brackets as a list, a name as a command.
TEST(CommandLine, TakesValuesAsTheyAre) {
  EXPECT_EQ(good({"--filter=[ab]"}).plan.selection.filters, (Words{"[ab]"}));
  EXPECT_EQ(good({"--filter", "[a,b]"}).plan.selection.filters, (Words{"[a,b]"}));
  EXPECT_EQ(good({"--filter", "list"}).plan.selection.filters, (Words{"list"}));
  EXPECT_EQ(good({"--filter=a,b"}).plan.selection.filters, (Words{"a,b"}));
  EXPECT_EQ(good({"--filter=--x=y"}).plan.selection.filters, (Words{"--x=y"}));
  EXPECT_EQ(good({"--output=a b\"c"}).output, "a b\"c");
}

TEST(CommandLine, TheLastValueCounts) {
  EXPECT_EQ(good({"--jobs=2", "--jobs=5"}).measure.tools.jobs, 5);
  EXPECT_EQ(good({"--format=csv", "--format=json"}).format, ReportFormat::kJson);
}

TEST(CommandLine, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(error_of({"--filtr=x"}), "there is no option `--filtr`: did you mean `--filter`?");
  EXPECT_EQ(error_of({"-filter=x"}), "there is no option `-filter`: did you mean `--filter`?");
  EXPECT_EQ(error_of({"list", "--verbos"}),
            "there is no option `--verbos`: did you mean `--verbose`?");
  EXPECT_EQ(error_of({"--zzzzzzzz"}),
            "there is no option `--zzzzzzzz`: see instr_bench run --help");
}

TEST(CommandLine, UnknownCommands) {
  EXPECT_EQ(error_of({"lst"}),
            "there is no command `lst`: did you mean `list`? to select benchmarks, write "
            "--filter=lst");
  EXPECT_EQ(error_of({"matmul"}),
            "there is no command `matmul`: to select benchmarks, write --filter=matmul");
}

TEST(CommandLine, MissingValues) {
  std::string needs = "--jobs needs a value: write --jobs=N; see instr_bench run --help";
  EXPECT_EQ(error_of({"--jobs"}), needs);
  EXPECT_EQ(error_of({"--jobs="}), needs);
  EXPECT_EQ(error_of({"--jobs", "--quiet"}), needs);
  EXPECT_EQ(error_of({"-j"}), needs);
  EXPECT_EQ(error_of({"--jobs", ""}), needs);
  EXPECT_EQ(error_of({"--quiet=1"}), "--quiet takes no value: write --quiet alone");
}

TEST(CommandLine, BadValues) {
  for (const std::string jobs : {"0", "-1", "2x", "1.5", "99999999999", "4097", " 2"}) {
    EXPECT_EQ(error_of({"--jobs=" + jobs}),
              "--jobs: `" + jobs +
                  "` is not a number from 1 to 4096: write a whole number, such as --jobs=2");
  }
  for (const char* text : {"--repetitions=1000001", "--min-time=1e300"}) {
    EXPECT_EQ(error_of({text, "--metrics=wall"}).find("--"), 0u) << text;
  }
  for (const char* text : {"--repeat=1000001", "--iterations-per-run=1000000001",
                           "--batch-size=1000001", "--test=evil", "--format=json"}) {
    EXPECT_NE(error_of({"experiment", text}), "no error") << text;
  }
  for (const std::string time : {"0", "-3", "inf", "nan", "5s", "1e999", "1e300", "1000001"}) {
    EXPECT_NE(error_of({"--timeout=" + time}).find("is not a number of seconds above 0"),
              std::string::npos)
        << time;
  }
  EXPECT_EQ(error_of({"--format=jsn"}),
            "--format: `jsn` is not one of its values: did you mean `json`? it takes table, "
            "markdown, json, jsonl, csv, junit, gbench, bencher, smaller-is-better");
  EXPECT_EQ(error_of({"--metrics=time"}),
            "--metrics: `time` is not one of its values: it takes ir, allocs, alloc_bytes, "
            "peak_bytes, data_reads, data_writes, i1_misses, d1_misses, l1_hits, ll_hits, "
            "ram_hits, estimated_cycles, branches, mispredictions, wall, cpu, first_result, ready, "
            "graphs, graph_breaks, recompilations, device_peak_bytes, hw_instructions, hw_cycles, "
            "hw_branch_misses, hw_cache_misses, page_faults, cache, branch, hw");
  EXPECT_NE(error_of({"--runtime=eager,"}).find("`` is not one of its values"), std::string::npos);
  EXPECT_NE(error_of({"--threads=1,x"}).find("`x` is not a number"), std::string::npos);
  EXPECT_NE(error_of({"--tag=a,,b"}).find("an item of the list is empty"), std::string::npos);
  EXPECT_EQ(error_of({"-q", "-v"}), "--quiet and --verbose cannot go together: omit one of them");
}

TEST(Help, ComesFirst) {
  EXPECT_EQ(output_of({"--help"}), help_of("run"));
  EXPECT_EQ(output_of({"list", "-h", "--jobs=x", "--nonsense"}), help_of("list"));
  EXPECT_EQ(output_of({"--help", "ab"}), help_of("ab"));
  EXPECT_EQ(output_of({"help", "compare"}), help_of("compare"));
  EXPECT_EQ(output_of({"help"}), help_of("run"));
  EXPECT_EQ(output_of({"nonsense", "--help"}), help_of("run"));
  EXPECT_EQ(output_of({"--version"}), "instr_bench " + std::string(kProgramVersion) + "\n");
}

TEST(Help, NamesEachCommand) {
  const std::string text = help_of("run");
  for (const Command& command : commands()) {
    EXPECT_NE(text.find("\n  " + std::string(command.name) + " "), std::string::npos)
        << command.name;
  }
}

TEST(Help, FitsEightyColumns) {
  for (const Command& command : commands()) {
    for (const std::string& line : wrap(help_of(command), 0)) {
      EXPECT_LE(display_width(line), 80u) << command.name << ": " << line;
    }
  }
}

// Whether a word takes the next one as its value must not depend on the command, which comes after
// it.
TEST(Help, AnOptionIsTheSameEverywhere) {
  std::map<std::string, bool> takes_value;
  for (const Command& command : commands()) {
    CommandLine line(command.name);
    command.declare(line);
    std::set<std::string> own;
    for (const OptionInfo& option : line.options()) {
      EXPECT_TRUE(own.insert(option.name).second) << command.name << " --" << option.name;
      EXPECT_FALSE(option.help.empty() || option.group.empty()) << option.name;
      auto [known, is_new] = takes_value.emplace(option.name, !option.value.empty());
      EXPECT_EQ(known->second, !option.value.empty()) << command.name << " --" << option.name;
    }
  }
}

}  // namespace
}  // namespace instr::commands_test
