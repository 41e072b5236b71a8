#include "core/base/git_worktree.h"

#include "core/base/checkout_guard.h"
#include "core/base/environment.h"

namespace instr {

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

}  // namespace instr
