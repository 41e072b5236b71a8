"""`pytest --instr` with this interpreter, which has pytest, and the program INSTR_TEST_PROGRAM."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ.get("INSTR_TEST_PROGRAM", "")
sys.path.insert(0, str(HERE.parents[1] / "python"))
from instr_bench.results import read

FILE = "tests/test_library.py::"


def collected(*tests):
    command = [sys.executable, "-B", HERE / "collected.py", HERE / "project", *(FILE + test for test in tests)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout or done.stderr)


class WorkerSide(unittest.TestCase):
    def test_tests_end_as_they_do_in_pytest(self):
        names = ["test_called[3]", "test_marked", "test_decorator", "test_prepared", "test_skipped", "test_failing",
                 "test_twice", "test_raising", "test_unused", "test_plain", "TestCase::test_method", "test_missing"]
        done = collected(*names)
        self.assertEqual(done["reports"], [FILE + name for name in names[:-1]])
        ends = {name: done["ends"][FILE + name] for name in names}
        for name in names[:4] + ["test_plain", "TestCase::test_method"]:
            self.assertEqual(ends[name], "counted", name)
        self.assertEqual(ends["test_skipped"], "TestSkipped: Skipped: not today")
        self.assertIn("assert [0, 1] == 'squares'", ends["test_failing"])
        self.assertIn("a test can use its fixture `benchmark` once", ends["test_twice"])
        self.assertIn("the test expects an exception", ends["test_raising"])
        self.assertIn("TestFailed: the test counts nothing", ends["test_unused"])
        self.assertEqual(ends["test_missing"], f"TestFailed: {FILE}test_missing was not collected under Valgrind")


@unittest.skipUnless(PROGRAM, "INSTR_TEST_PROGRAM names no program")
class Counted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.project = Path(cls.folder.name) / "project"
        shutil.copytree(HERE / "project", cls.project)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pytest(self, *arguments, with_others=False):
        path = os.pathsep.join([str(Path(PROGRAM).parent), os.environ["PATH"]])
        python = os.pathsep.join([str(HERE.parents[1] / "python")])
        others = () if with_others else ("-p", "no:benchmark")
        command = [sys.executable, "-B", "-m", "pytest", "-p", "instr_bench.pytest_plugin", *others, *arguments]
        return subprocess.run(command, cwd=self.project, env={**os.environ, "PATH": path, "PYTHONPATH": python},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def slow_down(self):
        library = self.project / "library.py"
        library.write_text(library.read_text().replace("i * i", "i * i + 0"))

    def test_counts_compares_and_names_the_function(self):
        chosen = "called or marked or prepared or method"
        first = self.pytest("--instr-all", "--instr-save=main", "--instr-output=first.jsonl", "-k", chosen)
        self.assertEqual(first.returncode, 0, first.stdout)
        self.assertIn("5 passed", first.stdout)
        counts = {line.key: line.metrics["instructions"] for line in read(self.project / "first.jsonl")}
        start = "pytest/tests/test_library.py/"
        self.assertEqual(set(counts), {start + name for name in (
            "test_called[3]", "test_called[10]", "test_marked", "test_prepared", "TestCase/test_method")})
        self.assertGreater(counts[start + "test_called[10]"], counts[start + "test_called[3]"])
        self.slow_down()
        second = self.pytest("--instr", "--instr-baseline=main", "--instr-limit=instructions=0.5%",
                             "-k", "called or prepared")
        slower = re.findall(r"^SLOWER (\S+) - instructions .*: \+[\d,]+ squares library.py$", second.stdout,
                            re.MULTILINE)
        self.assertEqual(set(slower), {FILE + "test_called[3]", FILE + "test_called[10]"}, second.stdout)
        self.assertEqual(second.returncode, 1)

    def test_other_plugins_with_the_fixture_give_way(self):
        done = self.pytest("--instr", "-k", "called", with_others=True)
        self.assertIn("pytest-benchmark", self.pytest("-VV", with_others=True).stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("2 passed", done.stdout)

    def test_failures_are_those_of_the_tests(self):
        done = self.pytest("--instr", "--instr-output=failed.jsonl",
                           "-k", "skipped or failing or ends or marked or unused")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"2 failed, 2 passed, 1 skipped.*, 1 not counted")
        self.assertIn(f"FAILED {FILE}test_ends_the_process - exited: ", done.stdout)
        self.assertIn(f"NOT COUNTED {FILE}test_unused - ", done.stdout)
        self.assertIn("assert [0, 1] == 'squares'", done.stdout)
        self.assertNotIn("/proc/self", (self.project / "failed.jsonl").read_text())
        outcomes = {line.key.rsplit("/", 1)[1]: line.outcome for line in read(self.project / "failed.jsonl")}
        self.assertEqual(outcomes, {"test_skipped": "skipped", "test_failing": "failed",
                                    "test_ends_the_process": "failed", "test_marked": "counted",
                                    "test_unused": "failed"})

    def test_a_missing_baseline_is_an_error_of_usage(self):
        done = self.pytest("--instr", "--instr-baseline=nothing")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("nothing", done.stdout)

    def test_without_the_option_a_benchmark_runs_once(self):
        done = self.pytest("-k", "called or prepared or decorator")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("4 passed", done.stdout)


if __name__ == "__main__":
    unittest.main()
