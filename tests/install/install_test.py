#!/usr/bin/env python3
"""Installs what is built, moves it, and uses it like a user; makes the Debian package.

install_test.py BUILD_FOLDER [unittest's options]
TORCH_DIR names the LibTorch, INSTR_TEST_CACHE a cache to use (default: BUILD_FOLDER/install-cache).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)).resolve()
CONSUMER = ROOT / "tests/install/consumer"
KEY = "consumer/twice/eager/forward/t1/cpu"
VERSION = re.search(r"project\(instr_bench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def run(command, status=0, **more):
    """Standard output of a command, which ends with that status."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **more)
    if done.returncode != status:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stdout + done.stderr


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


class Temporary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="instr_bench_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)


class Installed(Temporary):
    """In a prefix that was moved after the installation."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(["cmake", "--install", BUILD, "--prefix", cls.folder / "first"])
        cls.prefix = cls.folder / "moved to another place"
        (cls.folder / "first").rename(cls.prefix)
        cls.program = cls.prefix / "bin/instr_bench"
        cache = os.environ.get("INSTR_TEST_CACHE", BUILD / "install-cache")
        cls.environment = {**os.environ, "INSTR_BENCH_CACHE": str(cache)}

    def ours(self, *words, status=0, cwd="/"):
        return run([self.program, *words], status, cwd=cwd, env=self.environment)

    def test_has_the_version_that_the_changes_are_of(self):
        self.assertEqual(self.ours("--version"), f"instr_bench {VERSION}\n")
        newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
        self.assertEqual(newest, VERSION)

    def test_finds_its_own_files_wherever_it_lies(self):
        keys = self.ours("list").splitlines()
        self.assertGreater(len(keys), 150)
        (self.prefix / "share/instr_bench/definitions/matmul.toml").rename(self.folder / "matmul.toml")
        try:
            self.assertLess(len(self.ours("list").splitlines()), len(keys))
        finally:
            (self.folder / "matmul.toml").rename(self.prefix / "share/instr_bench/definitions/matmul.toml")
        self.assertIn("matmul/mm/n=4/", self.ours("--dry-run", "--filter=matmul/mm/n=4"))

    def test_does_not_know_where_it_was_built(self):
        for path in self.prefix.rglob("*"):
            if path.is_file():
                self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)

    def test_has_a_page_for_each_command_and_completions_for_each_shell(self):
        share = self.prefix / "share"
        usual, *others = self.ours("generate", "commands").split()
        pages = {"instr_bench.1": usual, **{f"instr_bench-{name}.1": name for name in others}}
        comment = "instr_bench-merge-comment.1"
        self.assertEqual(files_below(share / "man/man1"), {*pages, comment})
        self.assertIn("instr_bench-merge-check.1", pages)
        self.assertIn("GITHUB_TOKEN", (share / "man/man1" / comment).read_text())
        self.assertGreater(len(pages), 10)
        for name, command in pages.items():
            self.assertEqual((share / "man/man1" / name).read_text(), self.ours("generate", "man", command))
        for shell, name in (("bash", "bash-completion/completions/instr_bench"),
                            ("zsh", "zsh/vendor-completions/_instr_bench"),
                            ("zsh", "zsh/site-functions/_instr_bench"),
                            ("fish", "fish/vendor_completions.d/instr_bench.fish")):
            self.assertEqual((share / name).read_text(), self.ours("generate", shell))

    def test_has_the_schema_and_the_license(self):
        share = self.prefix / "share"
        self.assertEqual((share / "instr_bench/definition.schema.json").read_text(),
                         self.ours("generate", "schema", "definitions"))
        self.assertIn("Redistribution", (share / "doc/instr_bench/LICENSE").read_text())

    def test_merge_check_runs_the_installed_program(self):
        project = self.folder / "repository"
        run(["git", "init", "--quiet", project])
        run(["git", "-C", project, "-c", "user.name=x", "-c", "user.email=x@example.invalid", "commit",
             "--quiet", "--allow-empty", "--message=x"])
        said = self.ours("merge-check", "HEAD", "--definitions=missing.toml", status=2, cwd=project)
        self.assertIn("missing.toml", said)

    def test_a_project_tests_with_it(self):
        project = shutil.copytree(CONSUMER, self.folder / "project")
        (project / ".instr_bench").mkdir()
        self.ours("--definitions=benchmarks", "--save=main", cwd=project)
        lines = (project / ".instr_bench/baselines/main.jsonl").read_text().splitlines()
        ir, = (line["metrics"]["instructions"] for line in map(json.loads, lines) if line.get("key") == KEY)
        (project / "expected").mkdir()
        (project / "expected/counts.csv").write_text(f"key,metric,expected,margin\n{KEY},instructions,{ir},+0\n")
        configure = ["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        run([*configure, "-DVERSION=99"], 1)
        self.assertIn(f"instr_bench is {VERSION}", run([*configure, f"-DVERSION={VERSION}"]))

        test = ["ctest", "--test-dir", project / "build", "--output-on-failure", "--label-regex", "instr_bench"]
        passed = run([*test, "-E", "slower"], env=self.environment)
        self.assertIn("100% tests passed, 0 tests failed out of 2", passed)
        failed = run([*test, "-R", "slower"], 8, env=self.environment)
        self.assertIn("slower, fails", failed)
        run([self.program, "run", "--definitions=slower.toml", "--baseline=main"], 3, cwd=project,
            env=self.environment)


class ToolsInstall(Temporary):
    def tool(self, *words, status=0):
        return run([ROOT / "tools/install", *words], status)

    def test_undo_leaves_the_prefix_as_it_was(self):
        prefix = self.folder / "usr local"
        for name in ("bin/other", "share/man/man1/other.1"):
            (prefix / name).parent.mkdir(parents=True)
            (prefix / name).write_text("of somebody else")
        before = sorted(prefix.rglob("*"))
        for _ in range(2):  # over an older one, too
            self.tool(f"--built={BUILD}", prefix)
        self.assertEqual(run([prefix / "bin/instr_bench", "--version"]), f"instr_bench {VERSION}\n")
        run(["sha256sum", "--check", "--quiet", "--ignore-missing", "share/instr_bench/installed.txt"],
            cwd=prefix)
        self.tool("--undo", prefix)
        self.assertEqual(sorted(prefix.rglob("*")), before)
        self.tool("--undo", prefix, status=2)

    def test_undo_removes_a_prefix_that_was_made(self):
        prefix = self.folder / "new"
        self.tool(f"--built={BUILD}", prefix)
        self.tool("--undo", prefix)
        self.assertFalse(prefix.exists())

    def test_files_of_others_are_neither_replaced_nor_removed(self):
        prefix = self.folder / "shared"
        (prefix / "bin").mkdir(parents=True)
        other = prefix / "bin/instr_bench"
        other.write_text("of somebody else")
        self.assertIn(f"{other} was not installed by tools/install", self.tool(f"--built={BUILD}", prefix, status=2))
        self.assertEqual(files_below(prefix), {"bin/instr_bench"})
        other.unlink()
        self.tool(f"--built={BUILD}", prefix)
        changed = prefix / "share/instr_bench/definitions/matmul.toml"
        changed.write_text("schema = 1\n")
        self.tool("--undo", prefix)
        self.assertEqual(files_below(prefix), {"share/instr_bench/definitions/matmul.toml"})


@unittest.skipUnless(shutil.which("dpkg-deb"), "not a Debian system")
class Package(Temporary):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(["cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder])
        cls.package, = cls.folder.glob("*.deb")

    def field(self, name):
        return run(["dpkg-deb", "--field", self.package, name]).strip()

    def test_says_what_it_is_and_what_it_needs(self):
        self.assertEqual(self.field("Package"), "instr-bench")
        self.assertEqual(self.field("Version"), VERSION)
        self.assertEqual(self.field("Section"), "devel")
        needs = re.split(", ?", self.field("Depends"))
        for name in ("valgrind", "libbenchmark-dev", "libc6", "libfmt9", "libstdc++6"):
            self.assertTrue(any(need.split()[0] == name for need in needs), f"{name} in {needs}")
        self.assertTrue(any(need.startswith("g++") and "| clang" in need for need in needs), needs)
        for name in ("clang", "libtorch-dev", "gnuplot-nox", "git"):
            self.assertIn(name, re.split(", ?", self.field("Recommends")))

    def test_has_what_cmake_installs_where_debian_wants_it(self):
        listed = {}
        for line in run(["dpkg-deb", "--contents", self.package]).splitlines():
            mode, owner, _, _, _, path = line.split(maxsplit=5)
            listed[path] = mode
            self.assertEqual(owner, "root/root", line)
            self.assertTrue(mode in ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"), line)
        run(["cmake", "--install", BUILD, "--prefix", self.folder / "usr"])
        doc = "share/doc/instr-bench"
        for path in files_below(self.folder / "usr"):
            if path.startswith("share/zsh/site-functions/"):
                continue
            path = path.replace("share/doc/instr_bench", doc)
            path = re.sub(r"(/man1/.*)", r"\1.gz", path).replace(f"{doc}/LICENSE", f"{doc}/copyright")
            self.assertIn(f"./usr/{path}", listed)
            del listed[f"./usr/{path}"]
        self.assertEqual([path for path, mode in listed.items() if mode[0] != "d"],
                         [f"./usr/{doc}/changelog.gz"])


if __name__ == "__main__":
    unittest.main()
