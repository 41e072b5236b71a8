#include "core/run/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/base/format.h"
#include "core/base/version.h"
#include "core/run/option_words.h"

namespace instr {
namespace {

using Words = std::vector<std::string>;

Expected<Options> parse(Words words) {
  std::vector<const char*> argv{"instr_bench"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

Options good(Words words) {
  auto options = parse(words);
  EXPECT_TRUE(options) << to_string(options.error());
  return options.value_or(Options{});
}

std::string error_of(Words words) {
  auto options = parse(std::move(words));
  return options ? "no error" : to_string(options.error());
}

TEST(Options, Defaults) {
  Options options = good({});
  EXPECT_EQ(options.command, Command::kRun);
  EXPECT_TRUE(options.selection.filters.empty());
  EXPECT_TRUE(options.definitions.empty());
  EXPECT_EQ(options.jobs, 0);
  EXPECT_EQ(options.format, ReportFormat::kTable);
  EXPECT_EQ(options.isolation, Isolation::kFork);
  EXPECT_EQ(options.verbosity, Verbosity::kNormal);
  EXPECT_EQ(options.color, ColorMode::kAuto);
  EXPECT_TRUE(options.use_cache);
  EXPECT_FALSE(options.dry_run || options.verify);
  EXPECT_FALSE(options.output || options.timeout || options.libtorch || options.compiler ||
               options.keep_profiles || options.show);
}

TEST(Options, NoArgumentsAtAll) {
  auto options = parse_options(0, nullptr);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->command, Command::kRun);
}

TEST(Options, Everything) {
  Options options = good({"--filter=matmul",
                          "--filter",
                          "nn/",
                          "--exclude=t2",
                          "--definitions=a.toml",
                          "--definitions=b",
                          "--runtime=eager,torchscript",
                          "--autograd=forward_backward",
                          "--threads=1,2",
                          "--threads=4",
                          "--device=cpu,cuda",
                          "--tag=slow",
                          "--metrics=ir,allocs",
                          "--jobs=3",
                          "--output=r.jsonl",
                          "--format=csv",
                          "--libtorch=/t",
                          "--compiler=g++",
                          "--timeout=2.5",
                          "--retries=0",
                          "--churn=5",
                          "--isolation=process",
                          "--keep-profiles=p",
                          "--no-cache",
                          "--dry-run",
                          "--verify",
                          "--reverse",
                          "--verbose",
                          "--color=never"});
  EXPECT_EQ(options.selection.filters, (Words{"matmul", "nn/"}));
  EXPECT_EQ(options.selection.excludes, (Words{"t2"}));
  EXPECT_EQ(options.definitions, (std::vector<std::filesystem::path>{"a.toml", "b"}));
  EXPECT_EQ(options.selection.runtimes,
            (std::vector<Runtime>{Runtime::kEager, Runtime::kTorchScript}));
  EXPECT_EQ(options.selection.autograds, (std::vector<Autograd>{Autograd::kForwardBackward}));
  EXPECT_EQ(options.selection.threads, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(options.selection.devices, (Words{"cpu", "cuda"}));
  EXPECT_EQ(options.selection.tags, (Words{"slow"}));
  EXPECT_EQ(options.metrics, (Words{"ir", "allocs"}));
  EXPECT_EQ(options.jobs, 3);
  EXPECT_EQ(options.output, "r.jsonl");
  EXPECT_EQ(options.format, ReportFormat::kCsv);
  EXPECT_EQ(options.libtorch, "/t");
  EXPECT_EQ(options.compiler, "g++");
  EXPECT_EQ(options.timeout, 2.5);
  EXPECT_EQ(options.retries, 0);
  EXPECT_EQ(options.churn, 5);
  EXPECT_EQ(options.isolation, Isolation::kProcess);
  EXPECT_EQ(options.keep_profiles, "p");
  EXPECT_FALSE(options.use_cache);
  EXPECT_TRUE(options.dry_run);
  EXPECT_TRUE(options.verify);
  EXPECT_TRUE(options.reverse_order);
  EXPECT_EQ(options.verbosity, Verbosity::kVerbose);
  EXPECT_EQ(options.color, ColorMode::kNever);
}

TEST(Options, CommandsTakeOptionsOnBothSides) {
  for (const Words& words :
       {Words{"list", "--filter=x", "-j", "3"}, Words{"--filter=x", "list", "-j3"},
        Words{"--filter", "x", "-j", "3", "list"}}) {
    Options options = good(words);
    EXPECT_EQ(options.command, Command::kList);
    EXPECT_EQ(options.selection.filters, (Words{"x"}));
    EXPECT_EQ(options.jobs, 3);
  }
  EXPECT_EQ(good({"run"}).command, Command::kRun);
  EXPECT_EQ(good({"watch"}).command, Command::kWatch);
  EXPECT_EQ(good({"doctor", "-q"}).verbosity, Verbosity::kQuiet);
}

TEST(Options, ListIsAFlagToo) {
  EXPECT_EQ(good({"--list"}).command, Command::kList);
  EXPECT_EQ(good({"run", "--list"}).command, Command::kList);
  EXPECT_EQ(good({"list", "--list"}).command, Command::kList);
  EXPECT_EQ(error_of({"watch", "--list"}),
            "--list does not go with the command `watch`: write instr_bench list");
}

TEST(Options, EachCommandHasItsOptions) {
  EXPECT_EQ(
      error_of({"compare", "a", "b", "--jobs=3"}),
      "--jobs does not go with the command `compare`: leave it out, or see instr_bench compare "
      "--help");
  EXPECT_EQ(
      error_of({"--repeats=3"}),
      "--repeats does not go with the command `run`: leave it out, or see instr_bench run --help");
  EXPECT_EQ(good({"list", "--save=x", "--limit=ir=1%"}).command, Command::kList);
}

TEST(Options, Operands) {
  Options options = good({"compare", "--filter=x", "a.jsonl", "b.jsonl"});
  EXPECT_EQ(options.command, Command::kCompare);
  EXPECT_EQ(options.operands, (Words{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(good({"baseline", "list"}).operands, (Words{"list"}));
  EXPECT_EQ(error_of({"compare", "a"}), "`compare` takes BASE NEW: see instr_bench compare --help");
  EXPECT_EQ(error_of({"compare", "a", "b", "c"}),
            "`compare` takes BASE NEW: see instr_bench compare --help");
  EXPECT_EQ(error_of({"run", "matmul"}),
            "`run` takes no `matmul`: to choose benchmarks, write --filter=matmul");
  EXPECT_EQ(
      error_of({"--", "make"}),
      "nothing may stand behind `--` but a command for bisect: `make`: see instr_bench --help");
}

TEST(Options, WhatToHoldItAgainst) {
  Options options = good({"--baseline=main", "--limit=ir=1%|+10|allocs=+2", "--limit=ir=2%",
                          "--soft-limit=ir=0.5%", "--limits=l.toml", "--vary=libtorch,compiler",
                          "--allow-missing", "--forbid-new", "--save=next"});
  const GateOptions& gate = options.gate;
  EXPECT_EQ(gate.baseline, "main");
  EXPECT_EQ(options.save, "next");
  EXPECT_TRUE(options.want_functions);
  EXPECT_EQ(gate.limits_file, "l.toml");
  EXPECT_EQ(gate.vary, (Words{"libtorch", "compiler"}));
  EXPECT_EQ(gate.compare.limits.hard.at("ir"), (Limit{2.0, std::nullopt}));
  EXPECT_EQ(gate.compare.limits.hard.at("allocs"), (Limit{std::nullopt, 2.0}));
  EXPECT_EQ(gate.compare.limits.hard.at("peak_bytes"), default_limits().hard.at("peak_bytes"));
  EXPECT_EQ(gate.compare.limits.soft.at("ir"), (Limit{0.5, std::nullopt}));
  EXPECT_TRUE(gate.compare.allow_missing);
  EXPECT_FALSE(gate.compare.allow_new || gate.compare.allow_failed || gate.compare.allow_nothing ||
               gate.compare.allow_not_comparable);
  EXPECT_EQ(error_of({"--limit=ir"}).find("--limit: "), 0u);
  EXPECT_EQ(error_of({"--update-expected"}),
            "--update-expected needs a file to update: add --expect=FILE");
  EXPECT_NE(error_of({"--baseline=a", "--expect=b"}).find("cannot go together"), std::string::npos);
}

TEST(Options, FormatsOfCountsAloneAreRefusedBeforeAComparison) {
  EXPECT_EQ(good({"--format=gbench"}).format, ReportFormat::kGbench);
  EXPECT_EQ(good({"compare", "a", "b", "--format=junit"}).format, ReportFormat::kJunit);
  EXPECT_FALSE(parse({"compare", "a", "b", "--format=gbench"}));
  EXPECT_FALSE(parse({"--baseline=a", "--format=bencher"}));
  EXPECT_TRUE(parse({"--expect=a.csv", "--update-expected", "--format=bencher"}));
}

TEST(Options, KeysInsteadOfNames) {
  EXPECT_FALSE(good({}).show_keys);
  EXPECT_TRUE(good({"--show-keys"}).show_keys);
  EXPECT_TRUE(good({"compare", "a", "b", "--show-keys"}).show_keys);
  EXPECT_TRUE(good({"baseline", "show", "main", "--show-keys"}).show_keys);
}

TEST(Options, Shards) {
  Options options = good({"--shard=2/4"});
  ASSERT_TRUE(options.selection.shard);
  EXPECT_EQ(options.selection.shard->index, 2);
  EXPECT_EQ(options.selection.shard->count, 4);
  for (const char* text : {"0/4", "5/4", "1", "1/", "/4", "1/4/2", "a/b", "-1/4", "1/0"}) {
    EXPECT_NE(
        error_of({"--shard=" + std::string(text)}).find("--shard: `" + std::string(text) + "`"),
        std::string::npos);
  }
}

TEST(Options, AbTakesOneSettingTwice) {
  Options options = good({"ab", "--libtorch=/a", "--libtorch=/b", "--compiler=g++"});
  ASSERT_EQ(options.sides.size(), 2u);
  EXPECT_EQ(options.side_name, "libtorch");
  EXPECT_EQ(options.sides[0].libtorch, "/a");
  EXPECT_EQ(options.sides[1].libtorch, "/b");
  EXPECT_EQ(options.sides[0].compiler, "g++");
  for (const Words& words :
       {Words{"ab"}, Words{"ab", "--libtorch=/a"},
        Words{"ab", "--libtorch=/a", "--libtorch=/b", "--libtorch=/c"},
        Words{"ab", "--libtorch=/a", "--libtorch=/b", "--build=c", "--build=d"}}) {
    EXPECT_NE(error_of(words).find("ab compares two values of one setting"), std::string::npos);
  }
}

TEST(Options, BisectNeedsAKeyABaseline) {
  Options options = good({"bisect", "--key=a+b/eager", "--baseline=good", "--", "make", "-j2"});
  EXPECT_EQ(options.rest, (Words{"make", "-j2"}));
  EXPECT_EQ(options.selection.filters, (Words{"^\\Qa+b/eager\\E$"}));
  EXPECT_NE(error_of({"bisect", "--key=a"}).find("bisect needs a key and a baseline"),
            std::string::npos);
}

// Patterns are taken as they are: CLI11 would read brackets as a list, a name as a command.
TEST(Options, ValuesAreTakenAsTheyAre) {
  EXPECT_EQ(good({"--filter=[ab]"}).selection.filters, (Words{"[ab]"}));
  EXPECT_EQ(good({"--filter", "[a,b]"}).selection.filters, (Words{"[a,b]"}));
  EXPECT_EQ(good({"--filter", "list"}).selection.filters, (Words{"list"}));
  EXPECT_EQ(good({"--filter=a,b"}).selection.filters, (Words{"a,b"}));
  EXPECT_EQ(good({"--filter=--x=y"}).selection.filters, (Words{"--x=y"}));
  EXPECT_EQ(good({"--output=a b\"c"}).output, "a b\"c");
}

TEST(Options, TheLastValueCounts) {
  EXPECT_EQ(good({"--jobs=2", "--jobs=5"}).jobs, 5);
  EXPECT_EQ(good({"--format=csv", "--format=json"}).format, ReportFormat::kJson);
}

TEST(Options, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(error_of({"--filtr=x"}), "there is no option `--filtr`: did you mean `--filter`?");
  EXPECT_EQ(error_of({"-filter=x"}), "there is no option `-filter`: did you mean `--filter`?");
  EXPECT_EQ(error_of({"list", "--verbos"}),
            "there is no option `--verbos`: did you mean `--verbose`?");
  EXPECT_EQ(error_of({"--zzzzzzzz"}), "there is no option `--zzzzzzzz`: see instr_bench --help");
}

TEST(Options, UnknownCommands) {
  EXPECT_EQ(error_of({"lst"}),
            "there is no command `lst`: did you mean `list`? to choose benchmarks, write "
            "--filter=lst");
  EXPECT_EQ(error_of({"matmul"}),
            "there is no command `matmul`: to choose benchmarks, write --filter=matmul");
  EXPECT_EQ(error_of({"run", "watch"}), "two commands: `run` and `watch`: run one after the other");
}

TEST(Options, MissingValues) {
  std::string needs = "--jobs needs a value: write --jobs=VALUE; see instr_bench --help";
  EXPECT_EQ(error_of({"--jobs"}), needs);
  EXPECT_EQ(error_of({"--jobs="}), needs);
  EXPECT_EQ(error_of({"--jobs", "--quiet"}), needs);
  EXPECT_EQ(error_of({"-j"}), needs);
  EXPECT_EQ(error_of({"--jobs", ""}), needs);
  EXPECT_EQ(error_of({"--quiet=1"}), "--quiet takes no value: write --quiet alone");
}

TEST(Options, BadValues) {
  for (const char* jobs : {"0", "-1", "2x", "1.5", "99999999999", "4097", " 2"}) {
    EXPECT_EQ(error_of({std::string("--jobs=") + jobs}),
              "--jobs: `" + std::string(jobs) +
                  "` is not a number from 1 to 4096: write a whole number, such as --jobs=2");
  }
  for (const char* text : {"--repetitions=1000001", "--min-time=1e300"}) {
    EXPECT_NE(error_of({text}), "no error") << text;
  }
  for (const char* text :
       {"--repeat=1000001", "--iterations-per-run=1000000001", "--batch-size=1000001"}) {
    EXPECT_NE(error_of({"experiment", text}), "no error") << text;
  }
  for (const char* time : {"0", "-3", "inf", "nan", "5s", "1e999", "1e300", "1000001"}) {
    EXPECT_NE(error_of({std::string("--timeout=") + time}).find("is not a time above 0"),
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
            "device_peak_bytes, "
            "cache, branch");
  EXPECT_NE(error_of({"--runtime=eager,"}).find("`` is not one of its values"), std::string::npos);
  EXPECT_NE(error_of({"--threads=1,x"}).find("`x` is not a number"), std::string::npos);
  EXPECT_NE(error_of({"--tag=a,,b"}).find("leave no item of the list empty"), std::string::npos);
  EXPECT_NE(error_of({"--retries=-1"}).find("at least 0"), std::string::npos);
  EXPECT_EQ(error_of({"-q", "-v"}),
            "--quiet and --verbose cannot go together: leave one of them out");
}

TEST(Options, WhatMetricsAndLimitsNeedIsSimulated) {
  EXPECT_EQ(good({}).simulation, Simulation{});
  EXPECT_EQ(good({"--metrics=ir", "--limit=allocs=+0"}).simulation, Simulation{});
  Options cache = good({"--metrics=ir,cache"});
  EXPECT_EQ(cache.simulation, (Simulation{true, false}));
  EXPECT_EQ(cache.metrics, (Words{"ir", "data_reads", "data_writes", "i1_misses", "d1_misses",
                                  "l1_hits", "ll_hits", "ram_hits", "estimated_cycles"}));
  EXPECT_EQ(good({"--metrics=branch"}).metrics, (Words{"branches", "mispredictions"}));
  EXPECT_EQ(good({"--limit=mispredictions=1%"}).simulation, (Simulation{false, true}));
  EXPECT_EQ(good({"--soft-limit=d1_misses=1%", "--metrics=branches"}).simulation,
            (Simulation{true, true}));
}

TEST(Options, WhatIsTimedAndCounted) {
  Options usual = good({});
  EXPECT_TRUE(usual.wants_counts && !usual.wants_times);
  Options both = good({"--metrics=ir,wall"});
  EXPECT_TRUE(both.wants_counts && both.wants_times);
  Options times = good({"--metrics=wall,cpu"});
  EXPECT_TRUE(!times.wants_counts && times.wants_times);
  EXPECT_TRUE(good({"--limit=wall=5%"}).wants_times);
  EXPECT_NE(error_of({"watch", "--metrics=wall"}).find("times nothing"), std::string::npos);
}

TEST(Options, Plot) {
  Options usual = good({"plot", "main"});
  EXPECT_EQ(usual.command, Command::kPlot);
  EXPECT_FALSE(usual.plot.kind || usual.plot.by);
  EXPECT_EQ(usual.plot.metric, "ir");
  EXPECT_EQ(good({"plot", "main", "--kind=memory"}).plot.kind, ChartKind::kMemory);
  Options growth = good({"plot", "main", "--metrics=allocs", "--by=n"});
  EXPECT_EQ(growth.plot.kind, ChartKind::kGrowth);
  EXPECT_EQ(growth.plot.metric, "allocs");
  EXPECT_EQ(growth.plot.by, "n");
  EXPECT_EQ(error_of({"plot", "main", "--kind=growht"}),
            "--kind: `growht` is not one of its values: did you mean `growth`? it takes speedup, "
            "growth, memory");
  EXPECT_EQ(error_of({"plot", "main", "--kind=memory", "--by=n"}),
            "--metrics and --by go with --kind=growth: leave them out, or draw that");
  EXPECT_EQ(error_of({"plot", "main", "--metrics=ir,allocs"}),
            "plot draws one metric: name one, such as --metrics=allocs");
  EXPECT_EQ(error_of({"plot"}), "`plot` takes NAME|FILE: see instr_bench plot --help");
  EXPECT_EQ(error_of({"--by=n"}),
            "--by does not go with the command `run`: leave it out, or see instr_bench run --help");
}

TEST(Options, HelpAndVersionComeFirst) {
  EXPECT_EQ(good({"--help"}).show, help_text());
  EXPECT_EQ(good({"list", "-h", "--jobs=x", "--nonsense"}).show, help_text());
  EXPECT_EQ(good({"--version"}).show, "instr_bench " + std::string(kProgramVersion) + "\n");
}

const Command kCommandsWithHelp[] = {
    Command::kRun,   Command::kCompare, Command::kBaseline, Command::kExplain,    Command::kAb,
    Command::kMerge, Command::kBisect,  Command::kSelftest, Command::kExperiment, Command::kPlot};

// The options that a help text describes at the beginning of a line.
Words options_in_help(Command command) {
  Words options;
  std::string text = help_text(command);
  for (const std::string& line : wrap(text, 0)) {
    if (!line.starts_with("  -")) continue;
    std::size_t begin = line.find("--");
    std::istringstream stream(line.substr(begin, line.find("   ", begin) - begin));
    for (std::string word; stream >> word && word.starts_with("--");) {
      word = word.substr(0, word.find_first_of("=,"));
      if (!word.ends_with("...")) options.push_back(word);
    }
  }
  return options;
}

// The texts are written by hand: each option that they name must be one, and none may be missing.
TEST(Help, NamesTheOptionsThatExist) {
  Words all;
  for (Command command : kCommandsWithHelp) {
    for (const std::string& option : options_in_help(command)) {
      EXPECT_EQ(error_of({option}).find("there is no option"), std::string::npos) << option;
      all.push_back(option);
    }
  }
  for (const std::string& option : known_options()) {
    EXPECT_GE(std::count(all.begin(), all.end(), option), 1) << option;
  }
  Words general = options_in_help(Command::kRun);
  for (const std::string& option : general) {
    EXPECT_EQ(std::count(general.begin(), general.end(), option), 1) << option;
  }
}

TEST(Help, OfACommand) {
  EXPECT_EQ(good({"compare", "--help"}).show, help_text(Command::kCompare));
  EXPECT_EQ(good({"--help", "ab"}).show, help_text(Command::kAb));
  EXPECT_EQ(good({"nonsense", "--help"}).show, help_text());
}

TEST(Help, FitsEightyColumns) {
  for (Command command : kCommandsWithHelp) {
    for (const std::string& line : wrap(help_text(command), 0)) {
      EXPECT_LE(display_width(line), 80u) << line;
    }
  }
}

}  // namespace
}  // namespace instr
