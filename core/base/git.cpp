#include "core/base/git.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include "core/base/checkout_guard.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/base/text.h"

namespace instr {

namespace {

std::int64_t leading_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string> split_lines(const std::string& text, char end = '\n') {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line, end);) lines.push_back(line);
  return lines;
}

}  // namespace

Place Commit::place() const {
  std::uint64_t tie = 0;
  std::from_chars(hash.data(), hash.data() + std::min<std::size_t>(hash.size(), 16), tie, 16);
  return {position, tie};
}

Expected<std::optional<std::string>> Repository::ask_whether(std::vector<std::string> words,
                                                             std::string_view input) const {
  // A user's settings may add lines to a commit, and quote the names of files.
  words.insert(words.begin(), {"git", "-C", folder_.string(), "-c", "log.showSignature=false", "-c",
                               "core.quotePath=false"});
  SpawnOptions spawn;
  spawn.argv = std::move(words);
  Fd text;
  if (!input.empty()) {
    text = open_input(input);
    spawn.descriptors = {{text.get(), STDIN_FILENO}};
  }
  TRY_ASSIGN(auto ended, run_command(std::move(spawn)));
  if (ended.exit_code == 0) return std::string(trim_end(ended.output, "\n"));
  if (ended.exit_code == 1 && ended.errors.empty()) return std::nullopt;
  return fail("git: " + printable(trim_end(ended.errors, "\n")));
}

Expected<std::string> Repository::ask(std::vector<std::string> words) const {
  const std::string question = words.front();
  TRY_ASSIGN(auto answer, ask_whether(std::move(words), {}));
  if (answer) return *std::move(answer);
  return fail(fmt::format("git {}: no", question));
}

Expected<fs::path> Repository::top() const {
  TRY_ASSIGN(auto top, ask({"rev-parse", "--show-toplevel"}));
  return fs::path(std::move(top));
}

Expected<std::int64_t> Repository::count_commits(const std::string& revision) const {
  return ask({"rev-list", "--first-parent", "--count", revision, "--"}).map(leading_number);
}

Expected<std::string> Repository::resolve(const std::string& revision) const {
  // As an operand, so that a name that begins with a dash is not an option.
  auto hash = ask({"rev-parse", "--verify", "--end-of-options", revision + "^{commit}"});
  if (hash) return hash;
  TRY(ask({"rev-parse", "--git-dir"}));  // git's own reason why there is no repository
  return fail(
      fmt::format("there is no commit `{}` here ({})", printable(revision), hash.error().what),
      "run it in the repository that was measured, or name another commit");
}

Expected<std::string> Repository::summary(const std::string& hash) const {
  return ask({"show", "--no-patch", "--format=%h %s", hash}).map([](const std::string& text) {
    return printable(text);
  });
}

Expected<std::string> Repository::merge_base(const std::string& first,
                                             const std::string& second) const {
  // In a shallow clone, too, a path that git finds from one commit to the other exists.
  for (const auto& [older, newer] : {std::pair{first, second}, {second, first}}) {
    TRY_ASSIGN(const bool is_before, is_ancestor(older, newer));
    if (is_before) return older;
  }
  TRY(check_is_whole("the commit at which the two parted may be missing"));
  TRY_ASSIGN(const auto listed, ask_whether({"merge-base", "--all", first, second}, {}));
  const auto bases = split_lines(listed.value_or(""));
  if (bases.size() == 1) return bases.front();
  const std::string which = fmt::format("commits {} and {}", short_hash(first), short_hash(second));
  if (bases.empty()) return fail(which + " have no commit in common", "name another base");
  std::vector<std::string> names;
  for (const std::string& base : bases) names.push_back(short_hash(base));
  return fail(
      fmt::format("{} have {} merge bases: {}", which, bases.size(), fmt::join(names, ", ")),
      "name one of these as the base, or merge the base into the branch");
}

Expected<bool> Repository::is_ancestor(const std::string& commit,
                                       const std::string& descendant) const {
  return ask_whether({"merge-base", "--is-ancestor", commit, descendant}, {})
      .map([](const std::optional<std::string>& answer) { return answer.has_value(); });
}

Expected<void> Repository::check_is_whole(const char* consequence) const {
  TRY_ASSIGN(const auto is_shallow, ask({"rev-parse", "--is-shallow-repository"}));
  if (is_shallow != "true") return {};
  return fail(fmt::format("this clone is shallow: {}", consequence),
              "git fetch --unshallow (on GitHub `fetch-depth: 0`, on GitLab GIT_DEPTH: \"0\")");
}

Expected<std::string> Repository::file_at(const std::string& commit, const fs::path& file) const {
  return ask({"cat-file", "blob", commit + ":" + file.generic_string()});
}

Expected<Commit> Repository::find(const std::string& revision) const {
  TRY_ASSIGN(const auto hash, resolve(revision));
  TRY(check_is_whole("a commit's place on its branch is unknown"));
  TRY_ASSIGN(auto position, count_commits(hash));
  TRY_ASSIGN(auto shown, ask({"show", "--no-patch", "--format=%at%n%s", hash}));
  const auto end = std::min(shown.find('\n'), shown.size());
  return Commit{hash, position, leading_number(shown.substr(0, end)),
                printable(std::string_view(shown).substr(std::min(end + 1, shown.size())))};
}

Expected<std::string> Repository::last_release() const {
  return ask({"describe", "--tags", "--abbrev=0"});
}

Expected<std::string> Repository::branch() const {
  TRY_ASSIGN(auto name, ask_whether({"symbolic-ref", "--quiet", "--short", "HEAD"}, {}));
  if (name) return *std::move(name);
  return fail("no branch is checked out here", "name the commit's branch with --branch");
}

Expected<std::string> Repository::user() const { return ask({"config", "user.name"}); }

Expected<std::vector<std::string>> Repository::list_refs(const std::string& branch) const {
  return ask({"for-each-ref", "--format=%(refname)", "refs/heads/" + branch,
              "refs/remotes/*/" + branch})
      .map([](const std::string& refs) { return split_lines(refs); });
}

Expected<bool> Repository::has_branch(const std::string& branch) const {
  return list_refs(branch).map([](const auto& refs) { return !refs.empty(); });
}

bool Repository::was_renamed(const std::string& former, const std::string& branch) const {
  if (ask({"remote"}).value_or("?").empty()) return true;
  const auto moves = ask({"reflog", "show", "--format=%gs", "refs/heads/" + branch, "--"});
  const std::string move = "renamed refs/heads/" + former + " to refs/heads/" + branch;
  if (moves && moves->find(move) != std::string::npos) return true;
  const auto usual = ask({"for-each-ref", "--format=%(symref)", "refs/remotes/*/HEAD"});
  const auto refs = split_lines(usual.value_or(""));
  return std::ranges::any_of(
      refs, [&branch](const std::string& ref) { return ref.ends_with("/" + branch); });
}

Expected<void> Repository::check_is_on(const std::string& branch, const Commit& commit) const {
  TRY_ASSIGN(const auto refs, list_refs(branch));
  if (refs.empty()) return {};
  for (const std::string& ref : refs) {
    TRY_ASSIGN(const auto position, count_commits(ref));
    if (leads_to(ref, position, commit)) return {};
  }
  return fail(fmt::format("commit {} is not on the branch {}, by first parents",
                          short_hash(commit.hash), printable(branch)),
              "name its branch with --branch, or the commit that merged it with --commit");
}

Expected<std::vector<std::string>> Repository::list_commits(const std::string& range) const {
  const auto dots = range.find("..");
  if (dots == std::string::npos || range.find("...") != std::string::npos) {
    return fail("`" + printable(range) + "` is not a range of commits", "write A..B");
  }
  const std::string last = dots + 2 == range.size() ? "HEAD" : range.substr(dots + 2);
  TRY_ASSIGN(auto first, find(range.substr(0, dots)));
  TRY_ASSIGN(auto end, find(last));
  if (!leads_to(end.hash, end.position, first)) {
    return fail(fmt::format("commit {} is not before {}, by first parents", short_hash(first.hash),
                            short_hash(end.hash)),
                "name two commits of one branch, the older one first");
  }
  TRY_ASSIGN(auto listed,
             ask({"rev-list", "--first-parent", "--reverse", first.hash + ".." + end.hash}));
  return split_lines(first.hash + "\n" + listed);
}

Expected<std::set<std::string>> Repository::list_first_parents(const std::string& hash) const {
  TRY_ASSIGN(const auto listed, ask({"rev-list", "--first-parent", hash}));
  const auto hashes = split_lines(listed);
  return std::set<std::string>(hashes.begin(), hashes.end());
}

bool Repository::leads_to(const std::string& ref, std::int64_t position,
                          const Commit& commit) const {
  const auto back = position - commit.position;
  return back >= 0 && ask({"rev-parse", fmt::format("{}~{}", ref, back)}) == commit.hash;
}

Expected<void> Repository::add_worktree(const fs::path& folder) const {
  prune_worktrees();
  return ask({"worktree", "add", "--quiet", "--detach", folder.string()}).map([](auto&&) {});
}

// `git worktree prune` would also forget a user's working tree on a volume that is not mounted.
void Repository::prune_worktrees() const {
  constexpr std::string_view kMark = "worktree ";
  for (const std::string& line :
       split_lines(ask({"worktree", "list", "--porcelain"}).value_or(""))) {
    const fs::path tree = line.starts_with(kMark) ? line.substr(kMark.size()) : "";
    std::error_code ignored;
    if (!PrivateFolder::contains(tree) || fs::exists(tree, ignored)) continue;
    (void)ask({"worktree", "remove", "--force", tree.string()});
  }
}

Expected<std::vector<fs::path>> Repository::check_out(const std::string& hash,
                                                      const fs::path& project) const {
  TRY(ask({"checkout", "--quiet", "--detach", "--force", hash}));
  std::vector<fs::path> submodules;
  TRY(check_out_submodules(project, submodules));
  return submodules;
}

// Adds worktrees of the submodules' own repositories, which needs no network.
Expected<void> Repository::check_out_submodules(const fs::path& project,
                                                std::vector<fs::path>& submodules) const {
  TRY_ASSIGN(const auto listed, ask({"ls-tree", "-r", "-z", "HEAD"}));
  const std::string mark = "160000 commit ";  // followed by HASH<tab>PATH
  for (const std::string& line : split_lines(listed, '\0')) {
    const auto tab = line.find('\t');
    if (!line.starts_with(mark) || tab == line.npos) continue;
    const std::string hash = line.substr(mark.size(), tab - mark.size());
    const std::string path = line.substr(tab + 1);
    const Repository ours(project / path);
    std::error_code ignored;
    if (!fs::exists(ours.folder_ / ".git", ignored)) continue;
    const Repository theirs(fs::absolute(folder_) / path);
    const bool is_there = fs::exists(theirs.folder_ / ".git", ignored);
    if (!is_there) ours.prune_worktrees();
    auto done = is_there ? theirs.ask({"checkout", "--quiet", "--detach", "--force", hash})
                         : ours.ask({"worktree", "add", "--quiet", "--force", "--detach",
                                     theirs.folder_.string(), hash});
    if (!done) {
      return fail(fmt::format("the submodule {} cannot be checked out at {}: {}", printable(path),
                              short_hash(hash), done.error().what),
                  "git submodule update --init, at that commit, fetches what is missing");
    }
    submodules.push_back(ours.folder_);
    TRY(theirs.check_out_submodules(ours.folder_, submodules));
  }
  return {};
}

Expected<void> Repository::check_is_clean() const {
  // A submodule may be set to be ignored.
  TRY_ASSIGN(auto changed, ask({"status", "--porcelain", "--untracked-files=no",
                                "--ignore-submodules=untracked"}));
  if (changed.empty()) return {};
  return fail("there are changes here that are not committed, and would be counted as HEAD's",
              "commit or stash them first");
}

std::optional<std::string> Repository::find_commit_with(const std::vector<fs::path>& files) const {
  if (files.empty()) return std::nullopt;
  auto state = ask({"status", "--porcelain=v2", "--branch", "--untracked-files=no",
                    "--ignore-submodules=untracked"})
                   .value_or("");
  std::optional<std::string> hash;
  const std::string mark = "# branch.oid ";
  for (const std::string& line : split_lines(state)) {
    if (!line.starts_with('#')) return std::nullopt;  // a change
    if (line.starts_with(mark)) hash = line.substr(mark.size());
  }
  std::vector<std::string> words{"--literal-pathspecs", "ls-files", "--error-unmatch", "--"};
  for (const auto& file : files) {
    std::error_code ignored;
    words.push_back(fs::weakly_canonical(file, ignored).string());
  }
  return hash && ask(std::move(words)) ? hash : std::nullopt;
}

void leave_foreign_repository() {
  // The names that `git rev-parse --local-env-vars` lists, without those of settings, such as
  // safe.directory.
  for (const char* name :
       {"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
        "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE",
        "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE"}) {
    ::unsetenv(name);
  }
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

std::string format_date(std::int64_t seconds) {
  const time_t time = seconds;
  tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::optional<std::int64_t> parse_time(const std::string& time) {
  tm parts{};
  const char* end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

Expected<CommitTree> CommitTree::make(const fs::path& project) {
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  CommitTree tree(project, std::move(folder));
  TRY(Repository(project).add_worktree(tree.path()));
  return tree;
}

CommitTree::~CommitTree() {
  if (project_.empty()) return;  // moved from
  folder_.reset();
  for (const fs::path& submodule : submodules_) Repository(submodule).prune_worktrees();
  Repository(project_).prune_worktrees();
}

Expected<void> CommitTree::check_out(const std::string& hash) {
  return Repository(path()).check_out(hash, project_).map([this](std::vector<fs::path>&& added) {
    submodules_.insert(submodules_.end(), added.begin(), added.end());
  });
}

SpawnOptions command_in_tree(std::vector<std::string> words, const fs::path& tree,
                             const fs::path& project,
                             std::map<std::string, std::string> variables) {
  SpawnOptions spawn = make_command(std::move(words));
  spawn.working_directory = tree;
  variables[kProjectVariable] = project.string();
  variables[kTreeVariable] = tree.string();
  spawn.environment = own_environment(variables);
  return spawn;
}

// Repository::find_strangers(): files that were read and are not the commit's.

namespace {

// Returns the nearest folder above the file that is a git working tree; empty: none is.
fs::path find_working_tree(const fs::path& file, std::map<fs::path, fs::path>& known) {
  const fs::path folder = file.parent_path();
  if (folder == file) return {};
  if (const auto it = known.find(folder); it != known.end()) return it->second;
  std::error_code ignored;
  const bool is_tree = fs::exists(folder / ".git", ignored);
  return known[folder] = is_tree ? folder : find_working_tree(folder, known);
}

// Each line is an answer to the line of `questions` at the same place.
std::vector<std::string> to_answers(const std::string& text, std::size_t questions) {
  std::vector<std::string> answers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  answers.resize(questions);
  return answers;
}

std::string join_lines(const std::string& before, const std::vector<fs::path>& places) {
  std::string text;
  for (const fs::path& place : places) text += before + place.string() + "\n";
  return text;
}

}  // namespace

std::string to_string(const Stranger& stranger) {
  return printable(stranger.file.string()) + " " + stranger.why;
}

// Compares files of this working tree, relative to it, with those of HEAD. By their content: an
// index may say of a file that it is assumed to be unchanged, or skipped.
Expected<void> Repository::compare_with_head(const std::vector<fs::path>& places,
                                             std::vector<Stranger>& strangers) const {
  TRY_ASSIGN(const auto known,
             ask_whether({"cat-file", "--batch-check=%(objectname)"}, join_lines("HEAD:", places)));
  const auto in_head = to_answers(known.value_or(""), places.size());
  TRY_ASSIGN(const auto hashed,
             ask_whether({"hash-object", "--stdin-paths"}, join_lines("", places)));
  const auto here = to_answers(hashed.value_or(""), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (in_head[i] == here[i]) continue;
    const fs::path file = folder_ / places[i];
    if (!in_head[i].ends_with(" missing")) {
      strangers.push_back({file, "differs from the commit", /*is_tracked=*/true});
      continue;
    }
    TRY_ASSIGN(
        const auto ignored,
        ask_whether({"check-ignore", "--quiet", "--no-index", "--", places[i].string()}, {}));
    strangers.push_back({file, ignored ? "is ignored by git" : "is not in the commit"});
  }
  return {};
}

// Returns why a working tree below another one is not at the commit that the other one's HEAD
// names;
// "" if it is.
Expected<std::string> Repository::find_difference_of_submodule(const fs::path& place) const {
  TRY_ASSIGN(const auto entry, ask({"ls-tree", "HEAD", "--", place.string()}));
  const std::string mark = "160000 commit ";
  if (!entry.starts_with(mark)) return "is of a repository that is not in the commit";
  TRY_ASSIGN(const auto head, Repository(folder_ / place).resolve("HEAD"));
  const bool is_there = entry.substr(mark.size(), head.size()) == head;
  return is_there ? "" : "is of a submodule that is at another commit";
}

// Returns false for a file that this repository ignores: what is installed below a checkout of a
// package manager is not its code. Also if git refuses to answer, as for other users' files.
bool Repository::is_source(const fs::path& place) const {
  const auto ignored =
      ask_whether({"check-ignore", "--quiet", "--no-index", "--", place.string()}, {});
  return ignored && !*ignored;
}

Expected<std::vector<Stranger>> Repository::find_strangers(const std::set<fs::path>& files) const {
  TRY_ASSIGN(const auto top, this->top());
  std::map<fs::path, fs::path> trees;
  std::map<fs::path, std::vector<fs::path>> by_tree;
  std::vector<Stranger> strangers;
  for (const fs::path& named : files) {
    std::error_code error;
    const fs::path file = fs::canonical(named, error);
    if (error || !fs::is_regular_file(file, error)) continue;
    const fs::path tree = find_working_tree(file, trees);
    // A working tree around this one, such as a home folder, has not been built here.
    if (tree.empty() || (tree != top && place_below(top, tree))) continue;
    if (file.string().find('\n') != std::string::npos) {
      strangers.push_back({file, "has a name that git cannot be asked about"});
    } else if (place_below(tree, top)) {
      by_tree[tree].push_back(file.lexically_relative(tree));
    } else if (Repository(tree).is_source(file.lexically_relative(tree))) {
      strangers.push_back({file, "is of another repository"});
    }
  }
  for (const auto& [tree, places] : by_tree) {
    std::string why;
    for (fs::path inner = tree; inner != top && why.empty();) {
      const fs::path outer = find_working_tree(inner, trees);
      TRY_ASSIGN(why,
                 Repository(outer).find_difference_of_submodule(inner.lexically_relative(outer)));
      inner = outer;
    }
    if (why.empty()) {
      TRY(Repository(tree).compare_with_head(places, strangers));
      continue;
    }
    for (const fs::path& place : places) strangers.push_back({tree / place, why});
  }
  return strangers;
}

}  // namespace instr
