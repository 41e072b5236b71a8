// Working trees of commits other than the one that is checked out, and commands that run in them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/git.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

// A git worktree in a private folder, with worktrees of the submodules; removed with its owner.
class CommitTree {
 public:
  // `project`: the top folder of what is checked out.
  static Expected<CommitTree> make(const fs::path& project);
  CommitTree(CommitTree&&) noexcept = default;
  CommitTree& operator=(CommitTree&&) = delete;
  ~CommitTree();

  fs::path path() const { return folder_->path() / "tree"; }

  // May be called again for another commit: what was built for the previous one stays.
  Expected<void> check_out(const std::string& hash);

 private:
  CommitTree(fs::path project, PrivateFolder folder)
      : project_(std::move(project)), folder_(std::move(folder)) {}

  fs::path project_;
  std::optional<PrivateFolder> folder_;
  std::vector<fs::path> submodules_;  // those in the project
};

// A command to be run in the top folder of a tree. Every path below the project that it reads means
// the same file of that tree. Its output goes to standard error. `variables`: of its environment.
SpawnOptions command_in_tree(std::vector<std::string> words, const fs::path& tree,
                             const fs::path& project,
                             std::map<std::string, std::string> variables = {});

}  // namespace instr
