"""`pytest --instr`: counts what tests designate by the fixture `benchmark` or the marker of that name.

This process collects the tests and shows their reports. The program runs each of them under Callgrind, in a fork
of an interpreter that has collected them, too (worker/python/counted/instr_pytest.py).
"""
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from instr_bench.program import CountError, find_program
from instr_bench.results import read

_BAD_SETUP, _REGRESSED = 2, 3  # exit statuses of the program


def pytest_addoption(parser):
    group = parser.getgroup("instr_bench", "exact instruction counts")
    group.addoption("--instr", action="store_true", help="count the tests with the fixture or marker `benchmark`")
    group.addoption("--instr-all", action="store_true", help="count all other tests, too, each as a first call")
    group.addoption("--instr-output", metavar="FILE", help="keep the results, as for `instr_bench compare`")
    group.addoption("--instr-save", metavar="NAME", help="keep the results as this baseline")
    group.addoption("--instr-baseline", metavar="NAME|FILE", help="compare with this baseline or results file")
    group.addoption(
        "--instr-limit",
        metavar="METRIC=LIMIT",
        action="append",
        default=[],
        help="fail if a count grew by more, such as instructions=0.5%%; repeatable",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "benchmark: has `pytest --instr` count the whole test")
    if "instr_pytest" in sys.modules:
        return  # this process collects for the program
    if not (config.getoption("instr") or config.getoption("instr_all")):
        _serve_fixture(config)
        return
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--instr and -n of pytest-xdist cannot go together: --instr uses all cores; omit -n")
    config.pluginmanager.register(_Session(config), "instr_session")


def _serve_fixture(config):
    """Without --instr, a test runs what it would have counted once."""
    if any(config.pluginmanager.hasplugin(name) for name in ("benchmark", "codspeed", "pytest_codspeed")):
        return

    class Fixtures:
        @pytest.fixture
        def benchmark(self):
            return _Once()

    config.pluginmanager.register(Fixtures(), "instr_fixtures")


class _Once:
    disabled, stats, group, name = True, None, None, None

    def __init__(self):
        self.extra_info = {}

    def __call__(self, function, *args, **kwargs):
        return function(*args, **kwargs)

    def pedantic(self, target, args=(), kwargs=None, setup=None, teardown=None, **_):
        args, kwargs = setup and setup() or (args, kwargs or {})
        try:
            return target(*args, **kwargs)
        finally:
            if teardown:
                teardown(*args, **kwargs)


def _is_designated(item):
    return "benchmark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("benchmark") is not None


def _key(item):
    """Does the same as make_key() in core/definitions/tests.cpp."""
    name, bracket, parameters = item.nodeid.partition("[")
    return "pytest/" + name.replace("::", "/") + bracket + parameters


class _Session:
    """Replaces running by counting."""

    def __init__(self, config):
        self.config = config
        self.process = None
        self.output = self.errors = ""
        self.comparison = []
        self.not_counted = []
        self.runs, self.passed = set(), set()  # the names of tests that ran, and that passed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        others = [] if config.getoption("instr_all") else [item for item in items if not _is_designated(item)]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if _is_designated(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None  # pytest itself reports that
        if session.items and not session.config.option.collectonly:
            with tempfile.TemporaryDirectory(prefix="instr-pytest-") as folder:
                cache = getattr(self.config, "cache", None)
                self.count(session, folder, str(cache.mkdir("instr_bench")) if cache else folder)
        return True

    def count(self, session, folder, kept):
        """Keeps the list of the tests and their results in the folder `kept`, for explain and accept."""
        reports, tests = os.path.join(folder, "reports"), os.path.join(kept, "tests.json")
        results = self.config.getoption("instr_output") or os.path.join(kept, "results.jsonl")
        open(reports, "x").close()
        with open(tests, "w") as file:
            json.dump(self.describe(session, reports), file)
        with open(os.path.join(folder, "output"), "w+") as output, open(os.path.join(folder, "errors"), "w+") as errors:
            command = self.command([f"--tests={tests}", f"--output={results}", *self.options()])
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, preexec_fn=_end_with_parent
            )
            try:
                self.pass_on(session, reports)
                self.process.wait()
            finally:
                self.process.terminate()
                self.process.wait()
                for file in output, errors:
                    file.seek(0)
                self.output, self.errors = output.read(), errors.read()
        self.conclude(session, results)

    def describe(self, session, reports):
        root, here = str(session.config.rootpath), str(session.config.invocation_params.dir)

        def below(path):
            return os.path.relpath(path, root)

        path = [os.path.join(here, entry) for entry in sys.path]
        args = _without_own([str(arg) for arg in session.config.invocation_params.args])
        if session.config.pluginmanager.hasplugin("pytest_cov"):
            args.append("--no-cov")  # following each line would be counted
        return {
            "root": root,
            "cwd": below(here),
            "path": [below(entry) for entry in path if os.path.join(entry, "").startswith(os.path.join(root, ""))],
            "args": args,
            "reports": reports,
            "tests": [{"id": item.nodeid, "is_first_call": not _is_designated(item)} for item in session.items],
        }

    def command(self, arguments):
        try:
            return [find_program(), *arguments]
        except CountError as error:
            raise pytest.UsageError(str(error)) from None

    def options(self):
        yield f"--python={sys.executable}"
        yield from ("--functions=python", "--quiet")
        torch = sys.modules.get("torch")
        if torch:
            yield f"--libtorch={os.path.dirname(torch.__file__)}"
        for name in "save", "baseline":
            value = self.config.getoption(f"instr_{name}")
            if value:
                yield f"--{name}={value}"
        for limit in self.config.getoption("instr_limit"):
            yield f"--limit={limit}"

    def pass_on(self, session, reports):
        """Passes the reports of tests on to pytest, in the order of the tests, until all have come."""
        known, rest = {}, ""
        waiting = list(reversed(session.items))
        with open(reports) as file:
            while waiting:
                is_over = self.process.poll() is not None
                *lines, rest = (rest + file.read()).split("\n")
                for report in map(json.loads, lines):
                    known.setdefault(report["id"], report["reports"])
                while waiting and waiting[-1].nodeid in known:
                    self.report(waiting[-1], known[waiting.pop().nodeid])
                    if session.shouldfail:
                        raise session.Failed(session.shouldfail)
                    if session.shouldstop:
                        raise session.Interrupted(session.shouldstop)
                if is_over:
                    break
                time.sleep(0.05)
        for item in reversed(waiting):
            if item.nodeid in known:
                self.report(item, known[item.nodeid])

    def report(self, item, reports):
        self.runs.add(item.nodeid)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
            if report.when == "call" and report.passed:
                self.passed.add(item.nodeid)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def conclude(self, session, results):
        """Reports tests that ended their process as failed, and reads the comparison."""
        if self.process.returncode == _BAD_SETUP and not self.runs:
            raise pytest.UsageError(self.errors.strip())
        problems = {}
        with contextlib.suppress(OSError, ValueError):
            problems = {line.key: line.problem for line in read(results, allow_incomplete=True) if line.problem}
        self.names = {_key(item): item.nodeid for item in session.items}
        for item in session.items:
            problem = problems.get(_key(item), "it was not counted")
            if item.nodeid not in self.runs:
                self.report(item, [self.fail(item, problem)])
            elif item.nodeid in self.passed and _key(item) in problems:
                self.not_counted.append(f"{item.nodeid} - {problem}")
        self.compare(results)

    def fail(self, item, problem):
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", problem, "call")
        return self.config.hook.pytest_report_to_serializable(config=self.config, report=report)

    def compare(self, results):
        baseline = self.config.getoption("instr_baseline")
        if not baseline or self.process.returncode != _REGRESSED:
            return
        limits = [f"--limit={limit}" for limit in self.config.getoption("instr_limit")]
        command = self.command(["compare", baseline, results, "--format=json", *limits])
        compared = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        with contextlib.suppress(ValueError):
            self.comparison = json.loads(compared.stdout)["rows"]

    def pytest_terminal_summary(self, terminalreporter):
        if self.process is None:
            return
        terminalreporter.section("instructions")
        terminalreporter.write(self.output + self.errors)
        for line in self.not_counted:
            terminalreporter.write_line(f"NOT COUNTED {line}", yellow=True)
        if self.not_counted:
            terminalreporter.stats["not counted"] = self.not_counted
        slower = [row for row in self.comparison if row["verdict"] == "fails" and row["metrics"]]
        for row in slower:
            terminalreporter.write_line(f"SLOWER {self.names.get(row['key'], row['key'])} - {_describe(row)}", red=True)
        if slower:
            terminalreporter.stats["slower"] = slower

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.process is not None and self.process.returncode != 0 and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _describe(row):
    """Returns "instructions +830 (+14.8%): +830 squares mylib/core.py"."""
    parts = []
    for name, metric in row["metrics"].items():
        if metric["verdict"] == "fails":
            relative = f" ({metric['relative']:+.2%})" if metric["relative"] is not None else ""
            parts.append(f"{name} {metric['change']:+,.0f}{relative}")
    functions = [one for one in row.get("attribution", {}).get("functions", []) if one["object"]][:3]
    causes = [f"{one['change']:+,.0f} {one['function']} {one['object']}" for one in functions]
    return ", ".join(parts) + (": " + "; ".join(causes) if causes else "")


_LIBC = ctypes.CDLL(None)
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def _end_with_parent():
    """Has the program end if pytest is killed."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


_WITH_VALUE = "--instr-output", "--instr-save", "--instr-baseline", "--instr-limit"


def _without_own(args):
    """Returns the arguments without those of this plugin."""
    kept = []
    while args:
        arg = args.pop(0)
        if arg in _WITH_VALUE:
            args = args[1:]
        elif not arg.startswith("--instr"):
            kept.append(arg)
    return kept
