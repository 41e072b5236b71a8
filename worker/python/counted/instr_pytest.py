"""Runs tests of pytest to be counted: collects them once, before anything is forked, and runs each in a process.

The list of the tests (kTestsFileFd in worker/wire.h) is JSON of `pytest --instr`: "cwd" and "path" relative to
pytest's root folder, the arguments "args", and the file "reports", to which each process appends a line about
its test: {"id", "reports"}, as pytest serializes them.
"""

import contextlib
import functools
import inspect
import json
import os
import sys

ROOT, _LIST = "/proc/self/fd/7", "/proc/self/fd/8"
_TEMPORARY = "/proc/self/fd/101/tmp"  # in the folder of what runs
_REPORTS = 102  # the descriptor of the file of reports
_MAX_CALLS = 16  # calls before the one that is counted, if each needs a preparation

_OTHERS = "benchmark", "codspeed"  # other plugins with the fixture, which refuse this one
_items = {}
_run = None  # the test that runs here


class TestSkipped(Exception):
    pass


class TestFailed(Exception):
    pass


def _pin_current_folder():
    """Hides where the tests are: names below their root have the same length everywhere."""
    usual, root = os.getcwd, os.path.abspath(os.readlink(ROOT))

    def getcwd():
        path = usual()
        return ROOT + path[len(root) :] if path == root or path.startswith(root + "/") else path

    os.getcwd = getcwd


def _make_fixtures(pytest):
    """Returns the plugin whose fixture replaces those of pytest-benchmark and pytest-codspeed, if it is
    registered after them."""

    class Fixtures:
        @pytest.fixture
        def benchmark(self, request):
            return _Benchmark(request.node.name)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(self, item):
            _count_whole(item, pytest)

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            return _call_test(pyfuncitem)

    return Fixtures()


class _Runner:
    def __init__(self, next_block):
        self.next_block = next_block
        self.reports = []
        self.has_begun = self.has_counted = False


def pytest_runtest_logreport(report):
    if _run:
        _run.reports.append(report)


def collect():
    """Collects the tests, as pytest did that wrote the list."""
    with open(_LIST) as file:
        wanted = json.load(file)
    with contextlib.suppress(OSError):  # pytest has ended: another command counts its tests
        reports = os.open(wanted["reports"], os.O_WRONLY | os.O_APPEND)
        os.dup2(reports, _REPORTS)
        os.close(reports)
    os.dup2(2, 1)
    _pin_current_folder()
    os.chdir(os.path.join(ROOT, wanted["cwd"]))
    sys.path[:0] = [os.path.join(ROOT, entry) for entry in wanted["path"]]
    import pytest
    from _pytest.config import _prepareconfig
    from _pytest.main import Session

    options = [f"--rootdir={ROOT}", f"--basetemp={_TEMPORARY}", "--capture=sys"]
    config = _prepareconfig([*wanted["args"], *options])
    config._do_configure()
    session = Session.from_config(config)
    config.pluginmanager.register(sys.modules[__name__], "instr_pytest")
    config.hook.pytest_sessionstart(session=session)
    for name in _OTHERS:
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)
    config.pluginmanager.register(_make_fixtures(pytest), "instr_fixtures")
    config.hook.pytest_collection(session=session)
    config.get_terminal_writer()._file = open(os.devnull, "w")  # pytest itself shows the reports
    names = {test["id"] for test in wanted["tests"]}
    _items.update((item.nodeid, item) for item in session.items if item.nodeid in names)


def run(name, next_block):
    """Runs a test, and counts what it designates."""
    global _run
    item = _items.get(name)
    if item is None:
        raise TestFailed(f"{name} was not collected under Valgrind")
    os.chdir(item.config.invocation_params.dir)
    _run = _Runner(next_block)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    _send(item, _run.reports)
    for report in _run.reports:
        if report.failed:
            raise TestFailed(_describe(report))
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            raise TestSkipped(getattr(report, "wasxfail", "") or reason)
    if not _run.has_begun:
        raise TestFailed("the test counts nothing: it does not call its fixture `benchmark`, or is a coroutine")
    if not _run.has_counted:
        raise TestFailed("the test expects an exception, which ends the count: count a function that handles it")


def _describe(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = f"{crash.path}:{crash.lineno}: {crash.message}" if crash else str(report.longrepr)
    return text.replace(f"{ROOT}/", "")  # relative to pytest's root


def _send(item, reports):
    serialize = item.config.hook.pytest_report_to_serializable
    texts = [serialize(config=item.config, report=report) for report in reports]
    with contextlib.suppress(OSError):
        os.write(_REPORTS, (json.dumps({"id": item.nodeid, "reports": texts}) + "\n").encode())


def _is_counted_whole(item):
    """True for a test that is marked or, with --instr-all, designates nothing."""
    is_coroutine = inspect.iscoroutinefunction(getattr(item, "obj", None))
    return "benchmark" not in getattr(item, "fixturenames", ()) and item.nodeid in _items and not is_coroutine


def _count_whole(item, pytest):
    """Has a test counted that pytest does not call as a function: the method of unittest, or all of a doctest."""
    if _is_counted_whole(item) and type(item).runtest is not pytest.Function.runtest:
        part = "obj" if isinstance(item, pytest.Function) else "runtest"
        run = getattr(item, part)
        setattr(item, part, functools.wraps(run)(lambda: _count(run, (), {})))


def _call_test(pyfuncitem):
    if not _is_counted_whole(pyfuncitem):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    _count(pyfuncitem.obj, (), {name: pyfuncitem.funcargs[name] for name in names})
    return True


class _Benchmark:
    """The fixture."""

    disabled, stats, group = False, None, None

    def __init__(self, name):
        self.name = name
        self.extra_info = {}

    def __call__(self, function, *args, **kwargs):
        __tracebackhide__ = True
        return _count(function, args, kwargs)

    def pedantic(
        self, target, args=(), kwargs=None, setup=None, teardown=None, rounds=1, warmup_rounds=0, iterations=1
    ):
        """Calls the target as often as asked, 17 times at most, and counts the last call. If the target needs no
        preparation and may be called repeatedly, counts it as a call of the fixture does."""
        __tracebackhide__ = True
        calls = rounds * iterations + warmup_rounds
        if setup is None and teardown is None and calls > 1:
            return _count(target, args, kwargs or {})
        _native().count_once(min(calls - 1, _MAX_CALLS))
        given = args, kwargs or {}
        prepare = (lambda: setup() or given) if setup else lambda: given
        return _run_loop(_make(_PREPARED), target, prepare, teardown or _do_nothing, _native().end_block)


def _do_nothing(*args, **kwargs):
    pass


# The statement of a TOML file that does the same is `y = f(x)`.
_LOOP = """
def instr_snippet_(instr_next_block_, instr_range_, instr_call_{parameters}):
    instr_result_, __tracebackhide__ = None, True
    while instr_n_ := instr_next_block_(None):
        for instr_i_ in instr_range_(instr_n_):
            instr_result_ = instr_call_({arguments})
    return instr_result_
"""

_PREPARED = """
def instr_snippet_(
    instr_next_block_, instr_range_, instr_call_, instr_prepare_, instr_tear_down_, instr_end_block_
):
    instr_result_, __tracebackhide__ = None, True
    instr_args_, instr_kwargs_ = instr_prepare_()
    while instr_n_ := instr_next_block_(None):
        for instr_i_ in instr_range_(instr_n_):
            instr_result_ = instr_call_(*instr_args_, **instr_kwargs_)
        instr_end_block_(None)
        instr_tear_down_(*instr_args_, **instr_kwargs_)
        instr_args_, instr_kwargs_ = instr_prepare_()
    return instr_result_
"""


def _make(text):
    namespace = {}
    exec(compile(text, "<snippet>", "exec"), namespace)
    return namespace["instr_snippet_"]


def _make_loop(count, names):
    values = [f"instr_{number}_" for number in range(count + len(names))]
    arguments = values[:count] + [f"{name}={value}" for name, value in zip(names, values[count:])]
    parameters = "".join(f", {value}" for value in values)
    return _make(_LOOP.format(parameters=parameters, arguments=", ".join(arguments)))


def _native():
    return sys.modules["__main__"]._native


def _count(function, args, kwargs):
    __tracebackhide__ = True
    return _run_loop(_make_loop(len(args), list(kwargs)), function, *args, *kwargs.values())


def _run_loop(loop, *arguments):
    __tracebackhide__ = True
    if _run.has_begun:
        raise RuntimeError("a test can use its fixture `benchmark` once")
    _run.has_begun = True
    sys.modules["__main__"].snippet = loop
    result = _call_apart(loop, _run.next_block, range, *arguments)
    _run.has_counted = True
    return result


def _call_apart(loop, *arguments):
    """Calls a loop whose frame, and those above it, are in a part of the interpreter's stack for themselves: how
    much of a part is left would depend on pytest and its plugins, and a new part costs instructions."""
    __tracebackhide__ = True
    return loop(*arguments)


_FRAME = 1 << 14  # values, more than fit in the rest of any part
_call_apart.__code__ = _call_apart.__code__.replace(co_stacksize=_FRAME)
