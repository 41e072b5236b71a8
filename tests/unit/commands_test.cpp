// The command line: words to the options of each command, and errors in them.
#include "core/commands/commands.h"

#include <set>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/commands/cli/command.h"
#include "core/commands/cli/command_line.h"
#include "core/commands/cli/help.h"
#include "core/commands/cli/options.h"
#include "core/commands/run.h"
#include "core/compile/installation.h"
#include "tests/golden.h"
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

// Each command line, of words without spaces, and its error.
std::string errors_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    text += "$ instr_bench " + line + "\n";
    text += error_of({std::istream_iterator<std::string>(words), {}}) + "\n";
  }
  return text;
}

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
  EXPECT_EQ(parsed->action({words, {}}), kGood);
  return ::testing::internal::GetCapturedStdout();
}

std::string help_of(const std::string& name) { return help_of(*find_command(name)); }

TEST(RunOptions, WhatToMeasure) {
  RunOptions options =
      good({"--filter=matmul", "--filter", "nn/", "--exclude=t2", "--definitions=a.toml",
            "--definitions=b", "--backend=eager,torchscript", "--autograd=forward_backward",
            "--threads=1,2", "--threads=4", "--device=cpu,cuda", "--tag=slow", "--build=c.toml"});
  const Selection& selection = options.plan.selection;
  EXPECT_EQ(selection.filters, (Words{"matmul", "nn/"}));
  EXPECT_EQ(selection.excludes, (Words{"t2"}));
  EXPECT_EQ(options.plan.definitions, (std::vector<std::filesystem::path>{"a.toml", "b"}));
  EXPECT_EQ(selection.backends, (std::vector<Backend>{Backend::kEager, Backend::kTorchScript}));
  EXPECT_EQ(selection.autograds, (std::vector<Autograd>{Autograd::kForwardBackward}));
  EXPECT_EQ(selection.threads, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(options.plan.axes.threads, selection.threads);
  EXPECT_EQ(selection.devices, (Words{"cpu", "cuda"}));
  EXPECT_EQ(selection.tags, (Words{"slow"}));
  EXPECT_EQ(options.plan.build, "c.toml");
  EXPECT_EQ(good({"--backend=all"}).plan.selection.backends, kAllBackends);
}

TEST(RunOptions, SettingsForTestsAreInTheEnvironment) {
  const ScopedVariable churn("INSTR_TEST_CHURN", "5"), isolation("INSTR_TEST_ISOLATION", "process"),
      retries("INSTR_TEST_RETRIES", "0"), reverse("INSTR_TEST_REVERSE", "1");
  const RunOptions options = good({});
  EXPECT_EQ(options.measure.churn, 5);
  EXPECT_EQ(options.measure.isolation, Isolation::kProcess);
  EXPECT_EQ(options.measure.retries, 0);
  EXPECT_TRUE(options.plan.is_reversed);
  EXPECT_HAS(error_of({"--warm"}), "INSTR_TEST_CHURN");
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
  for (const std::string& suite : list_suites()) {
    auto definitions = good({"--suite=" + suite, "--definitions=a.toml"}).plan.definitions;
    std::sort(definitions.begin(), definitions.end());
    ASSERT_EQ(definitions.size(), 2u);
    EXPECT_EQ(definitions[0], "a.toml");  // relative paths come first
    EXPECT_EQ(definitions[1].filename(), suite + ".toml");
    EXPECT_TRUE(std::filesystem::exists(definitions[1])) << definitions[1];
    EXPECT_HAS(error_of({"run", "--suite=" + suite + "x"}), "did you mean `" + suite + "`?");
    EXPECT_HAS(error_of({"list", "--suite=0"}), suite);
  }
  EXPECT_HAS(error_of({"list", "--suite=0"}), "`0` is not a suite");
}

TEST(RunOptions, HowToMeasureAndWhatToKeep) {
  RunOptions options =
      good({"--metrics=instructions,allocs", "--jobs=3", "--output=r.jsonl", "--format=csv",
            "--libtorch=/t", "--compiler=g++", "--timeout=2.5", "--keep-profiles=p", "--no-cache",
            "--dry-run", "--verify", "--verbose", "--color=never", "--show-keys",
            "--dump=graph,trace", "--dump-dir=d"});
  const MeasureConfig& measure = options.measure;
  EXPECT_EQ(options.metrics, (Words{"instructions", "allocs"}));
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
  EXPECT_TRUE(options.showing.show_keys);
  EXPECT_TRUE(measure.wants_functions);
}

TEST(RunOptions, WhatToCompareWith) {
  RunOptions options =
      good({"--baseline=main", "--limit=instructions=1%|+10|allocs=+2", "--limit=instructions=2%",
            "--soft-limit=instructions=0.5%", "--limits=l.toml", "--vary=libtorch,compiler",
            "--allow-missing", "--forbid-new", "--save=next"});
  const GateOptions& gate = options.gate;
  EXPECT_EQ(gate.baseline, "main");
  EXPECT_EQ(options.save, "next");
  EXPECT_TRUE(options.measure.wants_functions);
  EXPECT_EQ(gate.limits_file, "l.toml");
  EXPECT_EQ(gate.vary, (Words{"libtorch", "compiler"}));
  EXPECT_EQ(gate.compare.limits.hard.at("instructions"), (Limit{2.0, std::nullopt}));
  EXPECT_EQ(gate.compare.limits.hard.at("allocs"), (Limit{std::nullopt, 2.0}));
  EXPECT_EQ(gate.compare.limits.hard.at("peak_bytes"), default_limits().hard.at("peak_bytes"));
  EXPECT_EQ(gate.compare.limits.soft.at("instructions"), (Limit{0.5, std::nullopt}));
  EXPECT_TRUE(gate.compare.allow_missing);
  EXPECT_FALSE(gate.compare.allow_new || gate.compare.allow_failed || gate.compare.allow_nothing ||
               gate.compare.allow_not_comparable);
}

TEST(RunOptions, FormatsOfCountsAloneAreRefusedBeforeAComparison) {
  EXPECT_EQ(good({"--format=gbench"}).format, ReportFormat::kGbench);
  EXPECT_EQ(command_of({"compare", "a", "b", "--format=junit"}), "compare");
  EXPECT_GOLDEN("commands/formats_that_cannot_compare.txt",
                errors_of({"compare a b --format=gbench", "--baseline=a --format=bencher"}));
  EXPECT_EQ(error_of({"--expect=a.csv", "--update-expected", "--format=bencher"}), "no error");
  EXPECT_EQ(good({"--baseline=a", "--format=json"}).gate.compare.max_attributions, 1000u);
}

TEST(RunOptions, Shards) {
  RunOptions options = good({"--shard=2/4"});
  EXPECT_EQ(options.plan.selection.shard, (Shard{2, 4}));
  EXPECT_GOLDEN("commands/malformed_shards.txt",
                errors_of({"--shard=0/4", "--shard=5/4", "--shard=1", "--shard=1/", "--shard=/4",
                           "--shard=1/4/2", "--shard=a/b", "--shard=-1/4", "--shard=1/0"}));
}

TEST(RunOptions, WhatMetricsAndLimitsNeedIsSimulated) {
  EXPECT_EQ(good({}).measure.simulation, Simulation{});
  EXPECT_EQ(good({"--metrics=instructions", "--limit=allocs=+0", "--save=x"}).measure.simulation,
            Simulation{});
  RunOptions cache = good({"--metrics=instructions,cache"});
  EXPECT_EQ(cache.measure.simulation, (Simulation{true, false}));
  EXPECT_EQ(cache.metrics,
            (Words{"instructions", "data_reads", "data_writes", "i1_misses", "d1_misses", "l1_hits",
                   "ll_hits", "ram_hits", "estimated_cycles"}));
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
  MeasureConfig both = good({"--metrics=instructions,wall"}).measure;
  EXPECT_TRUE(both.wants_counts && both.wants_times);
  MeasureConfig times = good({"--metrics=wall,cpu"}).measure;
  EXPECT_TRUE(!times.wants_counts && times.wants_times && !times.wants_start);
  EXPECT_TRUE(good({"--metrics=ready"}).measure.wants_start);
  EXPECT_TRUE(good({"--limit=wall=5%", "--save=x"}).measure.wants_times);
}

// Options without effect would mislead.
TEST(RunOptions, OptionsWithoutEffectAreErrors) {
  for (const std::string& name : gate_options()) {
    auto options = RunOptions{};
    CommandLine line("run");
    declare_run(line, options);
    const OptionInfo* option = line.find("--" + name);
    ASSERT_NE(option, nullptr) << name;
    const char* value = option->value.empty()  ? ""
                        : option->value == "N" ? "=1"
                                               : "=instructions=1%";
    const std::string word = "--" + name + value;
    EXPECT_HAS(error_of({word}), "has no effect without") << word;
  }
  EXPECT_EQ(error_of({"--repetitions=3", "--metrics=wall"}), "no error");
  EXPECT_GOLDEN(
      "commands/options_without_effect.txt",
      errors_of({"--limit=instructions=1%", "--update-expected", "--base-limits=b --save=x",
                 "--dump-dir=d --save=x", "--repetitions=3 --save=x", "--min-time=1 --save=x",
                 "--warm --metrics=wall", "--keep-profiles=p --metrics=wall",
                 "explain key results --jobs=2", "explain key results --callers=malloc",
                 "baseline list --format=json"}));
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
  EXPECT_GOLDEN("commands/options_of_other_commands.txt",
                errors_of({"compare a b --jobs=3", "--repetitions=3", "list --save=x",
                           "watch --metrics=wall", "watch --repetitions=3"}));
}

TEST(Commands, Operands) {
  EXPECT_EQ(command_of({"compare", "--filter=x", "a.jsonl", "b.jsonl"}), "compare");
  EXPECT_EQ(command_of({"baseline", "list"}), "baseline");
  EXPECT_GOLDEN("commands/wrong_operands.txt",
                errors_of({"lst", "matmul", "compare a", "compare a b c", "run matmul",
                           "doctor matmul", "-- make", "merge a", "report", "plot"}));
}

TEST(Commands, AbTakesOneSettingTwice) {
  EXPECT_EQ(command_of({"ab", "--libtorch=/a", "--libtorch=/b", "--compiler=g++"}), "ab");
  EXPECT_GOLDEN("commands/settings_of_ab.txt",
                errors_of({"ab", "ab --libtorch=/a", "ab --libtorch=/a --libtorch=/b --libtorch=/c",
                           "ab --libtorch=/a --libtorch=/b --build=c --build=d"}));
}

TEST(Commands, BisectNeedsAKeyAndABaseline) {
  EXPECT_EQ(command_of({"bisect", "--key=a+b/eager", "--baseline=good", "--", "make", "-j2"}),
            "bisect");
  EXPECT_GOLDEN("commands/what_bisect_needs.txt",
                errors_of({"bisect --key=a", "bisect --key=a --baseline=b --limit=wall=1%"}));
}

TEST(Commands, PlotAndReport) {
  EXPECT_EQ(command_of({"plot", "main", "--kind=memory"}), "plot");
  EXPECT_EQ(command_of({"plot", "main", "--metrics=allocs", "--by=n"}), "plot");
  EXPECT_EQ(command_of({"report", "--html=x.html", "--since=v1"}), "report");
  EXPECT_EQ(command_of({"report", "a.jsonl", "b.jsonl", "--html=x.html", "--vary=libtorch"}),
            "report");
  EXPECT_GOLDEN(
      "commands/options_that_do_not_go_together.txt",
      errors_of({"-q -v", "--baseline=a --expect=b", "plot main --kind=memory --by=n",
                 "plot main --metrics=instructions,allocs",
                 "report a.jsonl --html=x.html --since=v1", "report --html=x.html --vary=libtorch",
                 "report --html=x.html --flag-memory=0.5", "experiment --limit=relative_wall=5%",
                 "experiment --baseline=main --format=experiments"}));
}

TEST(CommandLine, TheLastValueCounts) {
  EXPECT_EQ(good({"--jobs=2", "--jobs=5"}).measure.tools.jobs, 5);
  EXPECT_EQ(good({"--format=csv", "--format=json"}).format, ReportFormat::kJson);
}

TEST(CommandLine, UnknownOptionsNameTheNearest) {
  EXPECT_GOLDEN("commands/unknown_options.txt",
                errors_of({"--filtr=x", "-filter=x", "list --verbos", "--zzzzzzzz"}));
}

TEST(CommandLine, BadValues) {
  EXPECT_GOLDEN("commands/bad_values.txt", errors_of({"--jobs=0",
                                                      "--jobs=2x",
                                                      "--jobs=99999999999",
                                                      "--jobs=4097",
                                                      "--repetitions=1000001 --metrics=wall",
                                                      "--min-time=1e300 --metrics=wall",
                                                      "experiment --repetitions=1000001",
                                                      "experiment --iterations-per-run=1000000001",
                                                      "experiment --batch-size=1000001",
                                                      "experiment --test=evil",
                                                      "experiment --format=junit",
                                                      "experiment --flag-speedup=0",
                                                      "experiment --flag-compile=1h",
                                                      "report --flag-memory=nan a.jsonl",
                                                      "--timeout=0",
                                                      "--timeout=inf",
                                                      "--timeout=nan",
                                                      "--timeout=5s",
                                                      "--timeout=1000001",
                                                      "--format=jsn",
                                                      "--metrics=time",
                                                      "--backend=eager,",
                                                      "--threads=1,x",
                                                      "--tag=a,,b",
                                                      "--limit=ir --save=x",
                                                      "plot main --kind=growht"}));
  EXPECT_HAS(error_of({"--jobs= 2"}), "` 2` is not a number from 1 to 4096");
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

// A command of several actions with operands.
TEST(Help, IsText) { EXPECT_GOLDEN("help/history.txt", help_of("history")); }

TEST(Help, FitsEightyColumns) {
  for (const Command& command : commands()) {
    for (const std::string& line : wrap(help_of(command), 0)) {
      EXPECT_LE(display_width(line), 80u) << command.name << ": " << line;
    }
  }
}

// The option's form must not depend on the command, which may come after the option.
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

// --- Words ---

struct LineOfWords : ::testing::Test {
  LineOfWords() {
    line.operands({"[FILE...]", 0, 9}, operands);
    line.option("-j,--jobs,--cores", "N", "help", take_number(jobs, 1));
    line.option("--filter", "PATTERN", "help", add_text(filters));
    line.flag("-q,--quiet", "help", is_quiet);
    line.flag("-v,--verbose", "help", is_verbose);
  }
  std::string error_of(const Words& words) {
    const auto parsed = line.parse(words);
    return parsed ? "" : parsed.error().what;
  }

  CommandLine line{"check"};
  Words operands;
  Words filters;
  std::optional<int> jobs;
  bool is_quiet = false;
  bool is_verbose = false;
};

TEST_F(LineOfWords, AValueStandsInTheWordOrIsTheNextOne) {
  for (const Words& words :
       {Words{"--jobs=3"}, {"--jobs", "3"}, {"-j3"}, {"-j", "3"}, {"--cores=3"}}) {
    jobs.reset();
    CommandLine own{"check"};
    own.option("-j,--jobs,--cores", "N", "help", take_number(jobs, 1));
    EXPECT_TRUE(own.parse(words)) << words[0];
    EXPECT_EQ(jobs, 3) << words[0];
  }
}

TEST_F(LineOfWords, ValuesAreTakenInOrderAndAsTheyAre) {
  ASSERT_TRUE(line.parse({"--filter=[a,b]", "x", "--filter", "-b", "--filter=a=b", "-"}));
  EXPECT_EQ(filters, (Words{"[a,b]", "-b", "a=b"}));
  EXPECT_EQ(operands, (Words{"x", "-"}));
  EXPECT_TRUE(line.has("filter"));
  EXPECT_FALSE(line.has("jobs"));
}

TEST_F(LineOfWords, LettersOfSwitchesShareADash) {
  ASSERT_TRUE(line.parse({"-qvj3"}));
  EXPECT_TRUE(is_quiet && is_verbose);
  EXPECT_EQ(jobs, 3);
}

TEST_F(LineOfWords, NameWhatIsWrong) {
  EXPECT_EQ(error_of({"--jobs"}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--jobs="}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--jobs", ""}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--jobs", "--quiet"}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--quiet=1"}), "--quiet takes no value");
  EXPECT_EQ(error_of({"--job=1"}), "there is no option `--job`");
  EXPECT_EQ(error_of({"-qx"}), "there is no option `-x`");
  EXPECT_EQ(error_of({"--", "x"}), "`check` takes nothing after `--`");
  const auto explained = line.parse({"--foreign"}, [](const std::string& word) {
    return Error{{}, "see " + word, ""};
  });
  EXPECT_EQ(explained.error().what, "see --foreign");
}

struct PassOn : ::testing::Test {
  PassOn() {
    line.operands({"BASE", 1, 1}, operands);
    line.pass_on("OPTIONS...", rest);
    line.option("--make", "COMMAND", "help", take_text(make));
    line.may_be_empty("make");
  }

  CommandLine line{"check"};
  Words operands;
  Words rest;
  std::optional<std::string> make;
};

TEST_F(PassOn, OptionsAfterTheOperandAreNotRead) {
  const Words words{"--make", "all", "main", "--make", "--jobs=3", "x"};
  ASSERT_TRUE(line.parse(words));
  EXPECT_EQ(make, "all");
  EXPECT_EQ(operands, Words{"main"});
  EXPECT_EQ(rest, (Words{"--make", "--jobs=3", "x"}));
}

TEST_F(PassOn, OwnOptionsMayStandOnEitherSide) {
  std::optional<std::string> report;
  CommandLine either{"check"};
  either.operands({"BASE", 1, 1}, operands);
  either.pass_on("OPTIONS...", rest, {"make", "report"});
  either.option("--make", "COMMAND", "help", take_text(make));
  either.option("--report", "FILE", "help", take_text(report));
  either.may_be_empty("make");
  ASSERT_TRUE(either.parse({"--report=r", "main", "--jobs=3", "--make", "all", "--filter", "x"}));
  EXPECT_EQ(operands, Words{"main"});
  EXPECT_EQ(report, "r");
  EXPECT_EQ(make, "all");
  EXPECT_EQ(rest, (Words{"--jobs=3", "--filter", "x"}));
  EXPECT_FALSE(either.parse({"main", "--make"}));
}

TEST_F(PassOn, DashesBeforeTheRestAreDropped) {
  ASSERT_TRUE(line.parse({"main", "--", "--jobs=3"}));
  EXPECT_EQ(rest, Words{"--jobs=3"});
}

TEST_F(PassOn, AnEmptyValueIsNoOption) {
  ASSERT_TRUE(line.parse({"--make=", "main"}));
  EXPECT_EQ(make, std::nullopt);
  EXPECT_TRUE(rest.empty());
}

TEST_F(PassOn, TheOperandIsNeeded) {
  EXPECT_FALSE(line.parse({}));
  EXPECT_FALSE(line.parse({"--make=all"}));
  EXPECT_FALSE(line.parse({"--", "main"}));
}

}  // namespace
}  // namespace instr::commands_test
