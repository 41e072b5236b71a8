#include "core/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/format.h"
#include "core/version.h"

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
  EXPECT_FALSE(options.dry_run);
  EXPECT_FALSE(options.output || options.timeout || options.libtorch || options.compiler ||
               options.keep_profiles || options.show);
}

TEST(Options, NoArgumentsAtAll) {
  auto options = parse_options(0, nullptr);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->command, Command::kRun);
}

TEST(Options, Everything) {
  Options options = good({"--filter=matmul", "--filter", "nn/", "--exclude=t2",
                          "--definitions=a.toml", "--definitions=b", "--runtime=eager,torchscript",
                          "--autograd=forward_backward", "--threads=1,2", "--threads=4",
                          "--device=cpu,cuda", "--tag=slow", "--metrics=ir,allocs", "--jobs=3",
                          "--output=r.jsonl", "--format=csv", "--libtorch=/t", "--compiler=g++",
                          "--timeout=2.5", "--retries=0", "--churn=5", "--isolation=process",
                          "--keep-profiles=p", "--no-cache", "--dry-run", "--reverse", "--verbose",
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
  EXPECT_TRUE(options.reverse_order);
  EXPECT_EQ(options.verbosity, Verbosity::kVerbose);
  EXPECT_EQ(options.color, ColorMode::kNever);
}

TEST(Options, CommandsTakeOptionsOnBothSides) {
  for (const Words& words : {Words{"list", "--filter=x", "-j", "3"},
                             Words{"--filter=x", "list", "-j3"},
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
  for (const char* jobs : {"0", "-1", "2x", "1.5", "99999999999", " 2"}) {
    EXPECT_EQ(error_of({std::string("--jobs=") + jobs}),
              "--jobs: `" + std::string(jobs) +
                  "` is not a number of at least 1: write a whole number, such as --jobs=2");
  }
  for (const char* time : {"0", "-3", "inf", "nan", "5s", "1e999"}) {
    EXPECT_NE(error_of({std::string("--timeout=") + time}).find("is not a time above 0"),
              std::string::npos)
        << time;
  }
  EXPECT_EQ(error_of({"--format=jsn"}),
            "--format: `jsn` is not one of its values: did you mean `json`? it takes table, "
            "markdown, json, jsonl, csv");
  EXPECT_EQ(error_of({"--metrics=wall"}),
            "--metrics: `wall` is not one of its values: it takes ir, allocs, alloc_bytes, "
            "peak_bytes");
  EXPECT_NE(error_of({"--runtime=eager,"}).find("`` is not one of its values"), std::string::npos);
  EXPECT_NE(error_of({"--threads=1,x"}).find("`x` is not a number"), std::string::npos);
  EXPECT_NE(error_of({"--tag=a,,b"}).find("leave no item of the list empty"), std::string::npos);
  EXPECT_NE(error_of({"--retries=-1"}).find("at least 0"), std::string::npos);
  EXPECT_EQ(error_of({"-q", "-v"}),
            "--quiet and --verbose cannot go together: leave one of them out");
}

TEST(Options, HelpAndVersionComeFirst) {
  EXPECT_EQ(good({"--help"}).show, help_text());
  EXPECT_EQ(good({"list", "-h", "--jobs=x", "--nonsense"}).show, help_text());
  EXPECT_EQ(good({"--version"}).show, "instr_bench " + std::string(kProgramVersion) + "\n");
}

// The options that --help names, in its order.
Words options_in_help() {
  Words options;
  std::string text = help_text();
  for (const std::string& line : wrap(text, 0)) {
    if (!line.starts_with("  -")) continue;
    std::string option = line.substr(line.find("--"));
    options.push_back(option.substr(0, option.find_first_of(" =")));
  }
  return options;
}

// The text is written by hand: each option that it names must be one, and none may be missing.
TEST(Help, NamesTheOptionsThatExist) {
  Words options = options_in_help();
  for (const std::string& option : options) {
    EXPECT_EQ(error_of({option}).find("there is no option"), std::string::npos) << option;
  }
  for (const char* option :
       {"--filter", "--exclude", "--definitions", "--runtime", "--autograd", "--threads",
        "--device", "--tag", "--metrics", "--jobs", "--output", "--format", "--libtorch",
        "--compiler", "--timeout", "--retries", "--churn", "--isolation", "--keep-profiles", "--no-cache",
        "--dry-run", "--reverse", "--list", "--quiet", "--verbose", "--color", "--version",
        "--help"}) {
    EXPECT_EQ(std::count(options.begin(), options.end(), option), 1) << option;
  }
  EXPECT_EQ(options.size(), 28u);
}

TEST(Help, FitsEightyColumns) {
  for (const std::string& line : wrap(help_text(), 0)) EXPECT_LE(display_width(line), 79u) << line;
}

}  // namespace
}  // namespace instr
