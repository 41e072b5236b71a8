#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/commands/commands.h"
#include "core/results/baselines.h"
#include "core/results/results_file.h"
#include "core/run/measured_files.h"

namespace instr {

namespace {

struct MergeCheckArguments {
  std::vector<std::string> operands;  // the base
  std::vector<std::string> options;   // passed to the runs
  std::optional<std::string> make;
  std::optional<std::string> head;
  std::optional<fs::path> report;
  bool base_only = false;
  Showing showing;
};

// The reason for ending without a comparison, with the exit status.
struct Refusal {
  Refusal(Error why, int with_status = kBadSetup) : error(std::move(why)), status(with_status) {}

  Error error;
  int status;
};

template <class T>
using Checked = tl::expected<T, Refusal>;

tl::unexpected<Refusal> refusal(std::string what, int status = kBadSetup) {
  return tl::unexpected(Refusal({{}, std::move(what), ""}, status));
}

// The Markdown report of a check without a comparison.
std::string explain_refusal(const std::string& log) {
  std::string text = "**instr_bench: the check could not be made.** The end of its log:\n\n";
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  return text;
}

// The TOML files that these options name outside of the project, with their contents: definitions
// that are in no commit may change, too.
std::string outside_texts(const std::vector<std::string>& options, const fs::path& project) {
  std::string texts;
  for (const std::string& option : options) {
    if (!option.starts_with("--definitions=") && !option.starts_with("--build=")) continue;
    std::error_code ignored;
    const fs::path path =
        fs::weakly_canonical(fs::absolute(option.substr(option.find('=') + 1)), ignored);
    if (place_below(path, project)) continue;
    std::set<fs::path> files;
    if (fs::is_regular_file(path, ignored)) files.insert(path);
    for (const auto& entry : fs::recursive_directory_iterator(
             path, fs::directory_options::skip_permission_denied, ignored)) {
      if (fs::is_regular_file(entry.symlink_status())) files.insert(entry.path());
    }
    for (const fs::path& file : files) {
      if (file.extension() != ".toml") continue;
      texts += file_hash(file).value_or("") + " " + file.string() + "\n";
    }
  }
  return texts;
}

class MergeCheck {
 public:
  MergeCheck(const MergeCheckArguments& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)) {}

  // Returns the status of the comparison.
  Checked<int> run() {
    TRY(find_commits());
    const bool is_measured_before = fs::exists(baseline_) && !find_setup_failure();
    if (!is_measured_before) {
      TRY(measure_base());
    }
    if (options_.base_only) return kGood;
    TRY(make_head());
    TRY_ASSIGN(const auto limited, hold_limits());
    TRY_ASSIGN(int status, compare(limited));
    if (status == kBadSetup && is_measured_before) {
      print_message(
          "measuring the base again: the existing baseline may be from another machine or "
          "compiler\n");
      TRY(measure_base());
      TRY_ASSIGN(status, compare(limited));
    }
    if (status == kGood) {
      if (const auto why = find_setup_failure()) return refusal("the base was not judged: " + *why);
    }
    if (status == kGood || status == kNotMeasured || status == kRegression) return status;
    return refusal(fmt::format("nothing could be compared (status {})", status), status);
  }

 private:
  Checked<void> find_commits() {
    TRY_ASSIGN(project_, Repository().top());
    std::error_code ignored;
    fs::current_path(project_, ignored);
    const Repository repository;
    TRY_ASSIGN(const auto head, repository.resolve(options_.head.value_or("HEAD")));
    if (options_.head) head_ = head;
    const std::string& branch = options_.operands[0];
    TRY_ASSIGN(const auto tip, repository.resolve(branch));
    TRY_ASSIGN(base_, repository.merge_base(tip, head));
    // Other options, such as a filter, measure something else.
    std::string measured = options_.make.value_or("") + '\0';
    for (const std::string& option : options_.options) measured += option + '\0';
    measured += outside_texts(options_.options, project_);
    name_ = fmt::format("{}-{:.8}", short_hash(base_), content_hash(measured));
    baselines_ = fs::absolute(baselines_folder());
    TRY_ASSIGN(baseline_, baseline_path(base_name()));
    return {};
  }

  // Runs this program in a tree.
  Expected<int> run_program(const fs::path& tree, std::vector<std::string> words,
                            int output = STDERR_FILENO) const {
    words.insert(words.begin(), own_program());
    SpawnOptions spawn = command_in_tree(std::move(words), tree, project_,
                                         {{"INSTR_BENCH_BASELINES", baselines_.string()}});
    spawn.descriptors[0].first = output;
    return run_to_end(spawn, stop_);
  }

  Checked<void> build(const fs::path& tree, const char* side) const {
    if (!options_.make) return {};
    TRY_ASSIGN(const int status,
               run_to_end(command_in_tree(bash_command(*options_.make), tree, project_), stop_));
    if (status == 0) return {};
    return refusal(fmt::format("the build of the {} failed (above): {}", side, *options_.make));
  }

  // Checks a commit out in a tree of its own, and builds it there, unless that is done already.
  Checked<void> make_tree(std::optional<CommitTree>& tree, const std::string& commit,
                          const char* side) {
    if (tree) return {};
    TRY_ASSIGN(auto made, CommitTree::make(project_));
    tree.emplace(std::move(made));
    TRY(tree->check_out(commit));
    return build(tree->path(), side);
  }

  Checked<void> measure_base() {
    TRY_ASSIGN(const auto summary, Repository().summary(base_));
    print_message(fmt::format("measuring the base: {}\n", summary));
    TRY(make_tree(base_tree_, base_, "base"));
    std::vector<std::string> words;
    for (const std::string& option : options_.options) {
      if (!option.starts_with("--limits=")) words.push_back(option);  // belongs to the comparison
    }
    words.push_back("--save=" + base_name());
    TRY_ASSIGN(const int status, run_program(base_tree_->path(), std::move(words)));
    // A benchmark that fails at the base is a row of the comparison, not its end.
    if (status > kNotMeasured) {
      return refusal(fmt::format("the base could not be measured (status {})", status), status);
    }
    if (!fs::exists(baseline_)) return refusal("nothing could be measured at the base");
    return {};
  }

  // Returns a failure of the base that says nothing about it, with its reason.
  std::optional<std::string> find_setup_failure() const {
    const auto base = read_results(baseline_);
    if (!base) return std::nullopt;
    for (const Measurement& measurement : base->measurements) {
      const auto* failure = std::get_if<Failure>(&measurement.outcome);
      if (failure == nullptr || !is_due_to_setup(failure->message)) continue;
      return printable(measurement.variant.key + ": " + failure->message);
    }
    return std::nullopt;
  }

  Checked<void> make_head() {
    if (head_) return make_tree(head_tree_, *head_, "head");
    return build(project_, "head");
  }

  std::string base_name() const { return "base-" + name_; }
  fs::path head_folder() const { return head_tree_ ? head_tree_->path() : project_; }

  // The options, with limits that hold: of each file of limits, both versions.
  Checked<std::vector<std::string>> hold_limits() {
    std::vector<std::string> held;
    for (const std::string& option : options_.options) {
      if (option.starts_with("--limits=")) {
        TRY(hold_limits_of(option.substr(option.find('=') + 1), held));
      } else {
        held.push_back(option);
      }
    }
    return held;
  }

  // The change's version of a file and, if the base has one, also the base's. The run judges by the
  // one that kLimitSources names.
  Checked<void> hold_limits_of(const std::string& name, std::vector<std::string>& held) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(fs::absolute(name), ignored);
    const auto file = place_below(path, fs::weakly_canonical(project_, ignored));
    if (!file) {
      held.push_back("--limits=" + path.string());
      return {};
    }
    const fs::path ours = head_folder() / *file;
    const auto text = Repository().file_at(base_, *file);
    if (!text) {
      print_message(fmt::format(
          "{}: the base has no such file: these limits are the change's own\n", file->string()));
      held.push_back("--limits=" + ours.string());
      return {};
    }
    if (!limits_) {
      TRY_ASSIGN(auto folder, PrivateFolder::make());
      limits_.emplace(std::move(folder));
    }
    const fs::path theirs = limits_->path() / *file;
    fs::create_directories(theirs.parent_path(), ignored);
    TRY(replace_file(theirs, *text + "\n"));
    const bool is_gone = !fs::exists(ours);
    if (is_gone) {
      print_message(fmt::format("{} is gone: the limits are those of the base\n", file->string()));
    }
    held.push_back("--limits=" + (is_gone ? theirs : ours).string());
    held.push_back("--base-limits=" + theirs.string());
    return {};
  }

  Checked<int> compare(std::vector<std::string> words) const {
    words.push_back("--baseline=" + base_name());
    words.push_back("--save=head-" + name_);  // the results that `accept` takes
    if (!options_.report) return run_program(head_folder(), std::move(words), STDOUT_FILENO);
    words.emplace_back("--format=markdown");
    Fd report(::open(options_.report->c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    TRY_ASSIGN(const int status, run_program(head_folder(), std::move(words), report.get()));
    TRY_ASSIGN(const auto text, read_file(*options_.report, kMaxResultsBytes));
    print_output(text);
    return status;
  }

  const MergeCheckArguments& options_;
  const std::stop_token stop_;
  fs::path project_;                 // the top folder of what is checked out
  std::string base_;                 // a commit
  std::optional<std::string> head_;  // nothing: what is checked out
  std::string name_;                 // the base and the options, in the names of both baselines
  fs::path baselines_;
  fs::path baseline_;  // the file
  std::optional<CommitTree> base_tree_;
  std::optional<CommitTree> head_tree_;
  std::optional<PrivateFolder> limits_;  // the base's files of limits
};

ExpectedStatus run_merge_check(MergeCheckArguments options, const std::stop_token& stop) {
  std::unique_ptr<ErrorLog> log;
  if (options.report) {
    options.report = follow_links(fs::absolute(*options.report));
    TRY(replace_file(*options.report, ""));  // removes an earlier report
    TRY_ASSIGN(log, ErrorLog::start());
  }
  const auto checked = MergeCheck(options, stop).run();
  if (checked) return *checked;
  Refusal refused = checked.error();
  if (stop.stop_requested()) refused = Refusal({{}, "interrupted", ""}, kInterrupted);
  refuse(refused.error);
  if (log) {
    TRY(replace_file(*options.report, explain_refusal(log->finish())));
  }
  return refused.status;
}

Expected<void> check_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    const std::string name = option.substr(0, option.find('='));
    if (name == "--save" || name == "--baseline" || name == "--expect") {
      return fail(fmt::format("{} is not for merge-check, which has a baseline of its own", name),
                  "omit it");
    }
    if (option == "--limits") return fail("--limits has no value", "write --limits=FILE");
  }
  return {};
}

}  // namespace

Action merge_check_command(CommandLine& line) {
  auto options = std::make_shared<MergeCheckArguments>();
  line.usage("instr_bench merge-check [options] BASE [options of run]");
  line.describe(
      "Checks whether the commit that is checked out got slower since BASE, a branch or a commit: "
      "compares it with the merge base of the two, which is built and measured in a worktree of "
      "its own unless it has a baseline already. Paths in the options are relative to the "
      "project's top folder. Limits are those of the base, a file of --limits included: a change "
      "cannot weaken its own gate.");
  line.operands({"BASE", 1, 1}, options->operands);
  line.pass_on("OPTIONS...", options->options, {"make", "head", "base-only", "report"});
  line.group("What to check");
  line.option("--make", "COMMAND",
              "builds the code to measure, in either tree, if a definition's [build] does not",
              take_text(options->make));
  line.may_be_empty("make");
  line.option("--head", "COMMIT", "check this commit instead of the one that is checked out",
              take_text(options->head));
  line.flag("--base-only", "measure the base if it has no baseline yet, without comparing",
            options->base_only);
  line.group("What to show and keep");
  line.option("--report", "FILE",
              "also write the comparison, or why there is none, to FILE: Markdown for a comment",
              take_path(options->report));
  declare_showing(line, options->showing);
  line.check([options = options.get()] { return check_options(options->options); });
  line.section("Exit status",
               "  0 within the limits; 1 something could not be measured; 2 it could not be\n"
               "  built or compared; 3 beyond a limit; 130 interrupted\n");
  return [options](const Invocation& invocation) {
    return run_merge_check(*options, invocation.stop);
  };
}

}  // namespace instr
