"""A team's project, newly created: a small library with its benchmarks and a repository to push to."""
import os
import subprocess
from pathlib import Path

HEADER = """#pragma once
#include <vector>
namespace quick {
std::vector<float> squares(const std::vector<float>& numbers);
float total(const std::vector<float>& numbers);
}  // namespace quick
"""

SOURCE = """#include "quick.h"
namespace quick {
std::vector<float> squares(const std::vector<float>& numbers) {
  std::vector<float> result;
  result.reserve(numbers.size());
  for (float number : numbers) result.push_back(number * number);
  return result;
}
float total(const std::vector<float>& numbers) {
  float sum = 0;
  for (float number : numbers) sum += number;
  return sum;
}
}  // namespace quick
"""
SLOW = SOURCE.replace("  result.reserve(numbers.size());\n", "")

DEFINITIONS = """schema = 1
global_setup = '#include "quick.h"'

[build]
include_dirs = ["."]
sources = ["quick.cpp"]

[[benchmark]]
label = "squares"
setup = "std::vector<float> numbers({n}, 1.5f);"
stmt = "auto result = quick::squares(numbers);"
matrix = { n = [10, 100, 1000] }

[[benchmark]]
label = "total"
setup = "std::vector<float> numbers({n}, 1.5f);"
stmt = "volatile float sum = quick::total(numbers);"
matrix = { n = [10, 100, 1000] }

[[benchmark]]
label = "scaled"
setup = "auto x = torch::ones({{n}, {n}});"
stmt = "auto y = x * 2;"
matrix = { n = [2, 8] }
"""
BENCHMARKS = 8


def git(folder, *arguments, check=True):
    done = subprocess.run(["git", "-C", str(folder), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}")
    return done.stdout.strip()


class Project:
    """`folder` is a clone of `origin`, whose main branch has one commit."""

    def __init__(self, parent):
        self.origin, self.folder = Path(parent) / "origin.git", Path(parent) / "project"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", self.origin],
                       check=True)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", self.folder], check=True)
        git(self.folder, "remote", "add", "origin", str(self.origin))
        self.write("quick.h", HEADER)
        self.write("bench.toml", DEFINITIONS)
        self.write(".gitignore", "/.instr_bench/\n/instr_bench/\n")
        self.commit("A library and its benchmarks", SOURCE)
        git(self.folder, "push", "--quiet", "origin", "main")
        git(self.folder, "fetch", "--quiet", "origin")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def commit(self, message, source):
        self.write("quick.cpp", source)
        git(self.folder, "add", "--all")
        git(self.folder, "-c", "user.name=A Developer", "-c", "user.email=developer@example.org",
            "commit", "--quiet", f"--message={message}")
        return git(self.folder, "rev-parse", "HEAD")

    def branch(self, name, message, source, texts=None):
        """A branch of main with one commit, and its merge into main as a CI service tries it. `texts`:
        of other files, by name."""
        git(self.folder, "checkout", "--quiet", "-B", name, "main")
        for file, text in (texts or {}).items():
            self.write(file, text)
        head = self.commit(message, source)
        git(self.folder, "checkout", "--quiet", "--detach", "main")
        git(self.folder, "-c", "user.name=CI", "-c", "user.email=ci@example.org", "merge", "--quiet",
            "--no-ff", "--no-edit", head)
        merged = git(self.folder, "rev-parse", "HEAD")
        git(self.folder, "push", "--quiet", "--force", "origin", f"{head}:refs/heads/{name}",
            f"{merged}:refs/pull/7/merge")
        git(self.folder, "checkout", "--quiet", "main")
        return head, merged

    def checkout(self, folder, commit):
        """What a CI service does before a job's first line."""
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", self.origin, folder], check=True,
                       env={**os.environ, "GIT_TEMPLATE_DIR": ""})
        git(folder, "fetch", "--quiet", "origin", "+refs/pull/*:refs/pull/*")
        git(folder, "checkout", "--quiet", "--detach", commit)
