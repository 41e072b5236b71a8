// Repository::find_strangers(): files that were read and are not the commit's.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "core/base/format.h"
#include "core/base/git.h"
#include "core/base/place_below.h"

namespace instr {

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
