#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/commands/commands.h"

namespace instr {

namespace {

struct NightlyArguments {
  std::vector<std::string> operands;  // the branch
  std::vector<std::string> options;   // passed to the runs
  std::optional<std::string> make;
  fs::path history = ".instr_bench/history.db";
  std::vector<std::string> others;  // histories to merge
  fs::path output = "nightly";
  Showing showing;
};

// The steps are commands of this program. A step that ends with an unexpected status ends the night
// with that status.
class Night {
 public:
  Night(const NightlyArguments& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)) {}

  ExpectedStatus run() {
    TRY_ASSIGN(head_, Repository().resolve("HEAD"));
    TRY(make_folders());
    TRY(find_last());
    TRY_ASSIGN(const int merged, merge_others());
    if (merged != kGood) return merged;
    TRY_ASSIGN(const int measured, measure());
    if (measured > kNotMeasured) return measured;
    TRY_ASSIGN(const int compared, find_steps());
    // If nothing was judged, the next night judges from this commit on.
    if (compared != kGood && compared != kRegression && compared != kBadSetup) return compared;
    TRY_ASSIGN(const int reported, write_report());
    if (reported != kGood) return reported;
    TRY(replace_file(follow_links(last_file()), head_ + "\n"));
    if (is_first_) print_message(first_message());
    return compared == kGood ? measured : compared;
  }

 private:
  fs::path last_file() const { return options_.history.string() + ".last"; }
  fs::path issue_file() const { return options_.output / "issue.md"; }
  std::string first_message() const {
    return fmt::format(
        "the first night: commit {} is recorded in {}, and {} shows it; comparisons begin with the "
        "next night that has another commit\n",
        short_hash(head_), options_.history.string(), (options_.output / "index.html").string());
  }
  bool has_new_commits() const { return last_ && *last_ != head_; }

  Expected<int> run_program(std::vector<std::string> words, int output = STDERR_FILENO) const {
    words.insert(words.begin(), own_program());
    return run_to_end(make_command(std::move(words), output), stop_);
  }

  // The words of a command, with the options of the runs after them.
  std::vector<std::string> with_options(std::vector<std::string> words) const {
    words.insert(words.end(), options_.options.begin(), options_.options.end());
    return words;
  }

  std::string history() const { return "--history=" + options_.history.string(); }
  std::string branch() const { return "--branch=" + options_.operands[0]; }

  Expected<void> make_folders() const {
    for (const fs::path& folder : {options_.output, options_.history.parent_path()}) {
      std::error_code error;
      if (!folder.empty()) fs::create_directories(folder, error);
      if (error) return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()));
    }
    std::error_code ignored;
    fs::remove(issue_file(), ignored);
    return {};
  }

  // Finds the commit of the last time, if it is before HEAD.
  Expected<void> find_last() {
    const auto text = read_file(last_file(), kMaxTextBytes);
    is_first_ = !text || text->empty();
    if (is_first_) return {};
    const std::string last(trim_end(*text, "\n"));
    const Repository repository;
    // A rewritten commit may be in no clone any more.
    const bool is_known = repository.resolve(last).has_value();
    TRY_ASSIGN(const bool is_before,
               is_known ? repository.is_ancestor(last, "HEAD") : Expected<bool>(false));
    if (is_before) {
      last_ = last;
      return {};
    }
    print_message(
        fmt::format("{}, which was measured the last time, is not before HEAD (a rewritten "
                    "branch?): nothing to compare with\n",
                    printable(last)));
    return {};
  }

  Expected<int> merge_others() const {
    for (const std::string& other : options_.others) {
      std::error_code ignored;
      if (!fs::exists(other, ignored)) {
        print_message(fmt::format("{}: not there (yet)\n", other));
        continue;
      }
      TRY_ASSIGN(const int status, run_program({"history", "merge", other, history()}));
      if (status != kGood) return status;
    }
    return kGood;
  }

  Expected<int> measure() const {
    if (last_ == head_) {
      print_message("no commit since the last time\n");
      return kGood;
    }
    if (options_.make) {
      TRY_ASSIGN(const int status, run_to_end(make_command(bash_command(*options_.make)), stop_));
      if (stop_.stop_requested()) return kInterrupted;
      if (status != 0) return fail("the build failed (above): " + *options_.make);
    }
    std::vector<std::string> words = with_options({});
    words.insert(words.end(), {"--record", history(), branch()});
    return run_program(std::move(words));
  }

  // Writes the issue, if something costs more than the last time. Bisects the commits of the night
  // first: those that cannot be measured stay candidates.
  Expected<int> find_steps() const {
    if (!has_new_commits()) return kGood;
    TRY_ASSIGN(int status, write_issue());
    if (status == kRegression) {
      TRY_ASSIGN(const int bisected,
                 run_program(with_options({"history", "backfill", history(), branch(),
                                           "--make=" + options_.make.value_or("true"), "--bisect",
                                           *last_ + "..HEAD", "--"})));
      if (bisected > kNotMeasured) return bisected;
      TRY_ASSIGN(status, write_issue());
    }
    std::error_code ignored;
    if (status == kGood) fs::remove(issue_file(), ignored);
    return status;
  }

  Expected<int> write_issue() const {
    Fd issue(::open(issue_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t{0666}));
    if (!issue) return fail(write_error(issue_file(), errno));
    return run_program(
        with_options({"history", "issue", history(), branch(), "--since=" + *last_, "--"}),
        issue.get());
  }

  Expected<int> write_report() const {
    std::vector<std::string> words{"report", "--html=" + (options_.output / "index.html").string(),
                                   history()};
    if (last_) words.push_back("--since=" + *last_);
    return run_program(std::move(words));
  }

  const NightlyArguments& options_;
  const std::stop_token stop_;
  std::string head_;
  std::optional<std::string> last_;  // the commit that was measured the last time
  bool is_first_ = false;
};

}  // namespace

Action nightly_command(CommandLine& line) {
  auto options = std::make_shared<NightlyArguments>();
  line.usage("instr_bench nightly [options] BRANCH [options of run]");
  line.describe(
      "Measures the commit of BRANCH that is checked out and adds it to the history. If something "
      "costs more than the last time and no one accepted it, finds the commits, measuring those "
      "between as far as needed, and writes an issue about them. For cron, or a CI's schedule.");
  line.operands({"BRANCH", 1, 1}, options->operands);
  line.pass_on("OPTIONS...", options->options, {"make", "history", "merge", "output-dir"});
  line.group("What to measure");
  line.option("--make", "COMMAND", "builds the code to measure, if a definition's [build] does not",
              take_text(options->make));
  line.may_be_empty("make");
  line.group("What to show and keep");
  line.option(
      "--history", "FILE",
      "the history (default: .instr_bench/history.db); FILE.last has the commit of the last time",
      take_path(options->history));
  line.option("--merge", "FILE",
              "first add the runs of another history, such as another machine's; repeatable",
              add_text(options->others));
  line.option("-o,--output-dir,--output", "DIR",
              "gets index.html, the report, and issue.md, if there is an issue: its first line is "
              "the title (default: nightly)",
              take_path(options->output));
  declare_showing(line, options->showing);
  line.section("Exit status",
               "  0 nothing costs more; 1 something could not be measured; 2 nothing could;\n"
               "  3 there is an issue; 130 interrupted\n");
  return [options](const Invocation& invocation) { return Night(*options, invocation.stop).run(); };
}

}  // namespace instr
