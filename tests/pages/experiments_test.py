"""The HTML report of experiments in a browser: it shows what the summary on the terminal shows."""
import csv
import io
import json
import os
import statistics
import subprocess
import unittest

from browser import FIXTURES, PageTest, instr_bench
from example_experiments import (BACKENDS, BREAKS, CRASHED, LARGE, LOADED, SLOW, SLOW_TO_COMPILE, SUITES, UNLOWERED,
                                 WRONG, fail, key_of, make_experiments, write_experiments)

FINDINGS = {"slower than 0.95x": {key_of(*SLOW)}, "compiled longer than 120 s": {key_of(*SLOW_TO_COMPILE)},
            "more memory than 1/0.9 of eager's": {key_of(*LARGE)},
            "operators that the compiler left to LibTorch": {key_of(*UNLOWERED)},
            "~ speed-ups that cannot be trusted": {key_of(*LOADED)},
            "failed": {key_of(*WRONG), key_of(*CRASHED)}}
PASSES = {"eval": "forward", "train": "forward_backward"}
HOSTILE = "<img src=x onerror='window.ran=1'></script><script>window.ran=1</script>"


def median_time(line):
    return line["metrics"]["wall"]


def speedup_of(line):
    return statistics.median(line["times"]["eager"]) / median_time(line)


class ExperimentsTest(PageTest):
    def write_report(self, name, *files, options=()):
        paths = []
        for number, lines in enumerate(files):
            paths.append(self.folder / f"{name}{number}.jsonl")
            write_experiments(paths[-1], lines)
        page = self.folder / f"{name}.html"
        instr_bench("report", *map(str, paths), f"--html={page}", *options)
        return page

    def keys(self, caption):
        """Returns the experiments that a table links to."""
        return self.run_script("""
            const table = [...document.querySelectorAll("table")].find((one) =>
              one.caption.textContent.startsWith(arguments[0]));
            return table && [...table.tBodies[0].rows].map((row) =>
              decodeURIComponent(row.cells[0].querySelector("a").hash.split("/").pop().split("?")[0]));""", caption)

    def click(self, caption, row, column):
        """Follows the link in a cell of a table."""
        self.run_script("""
            const table = [...document.querySelectorAll("table")].find((one) =>
              one.caption.textContent.startsWith(arguments[0]));
            table.tBodies[0].rows[arguments[1]].cells[arguments[2]].querySelector("a").click();""", caption, row, column)

    def heading(self):
        return self.one("h2").text

    def speedups(self, caption):
        """Returns the marks of a graph: (model, label of the mark, place in percent)."""
        return self.run_script("""
            const table = [...document.querySelectorAll(".speedups table")].find((one) =>
              one.caption.textContent.startsWith(arguments[0]));
            return [...table.tBodies[0].rows].flatMap((row) => [...row.querySelectorAll("a.mark")].map((mark) =>
              [row.cells[0].textContent, mark.title, parseFloat(mark.style.left)]));""", caption)


class FourSuites(ExperimentsTest):
    def setUp(self):
        self.lines = make_experiments()
        self.page = self.write_report("four", self.lines)

    def test_begins_with_the_findings_of_the_summary(self):
        self.open(self.page)
        self.assertEqual({title: set(self.keys(title)) for title in FINDINGS}, FINDINGS)
        self.assertEqual(dict(zip(self.texts(".cards a"), self.texts(".cards strong"))),
                         {title: str(len(keys)) for title, keys in FINDINGS.items()})
        self.assertNotIn("Nothing needs attention", self.one("main").text)
        self.assertRegex(self.rows("slower than")[0][1], r"^0\.17x ±\d+% \(p<0\.01\)$")
        self.assertEqual(self.rows("compiled longer")[0][1], "140 s")
        self.assertEqual(self.rows("operators that")[0][1], "aten::nonzero")
        [[_, speedup, reason]] = self.rows("~ speed-ups")
        self.assertRegex(speedup, r"^~1\.\d\dx ±")
        self.assertEqual(reason, "other processes used 1.0 cores")
        self.assertEqual({tuple(row[1:]) for row in self.rows("failed")},
                         {("VERIFIER_DIDNT_RUN", "crashed: SIGSEGV: Segmentation fault"),
                          ("FAIL", "the loss is off by 0.086")})

    def test_limits_of_findings_and_means_are_options(self):
        page = self.write_report("options", self.lines,
                                 options=["--flag-speedup=0.1", "--flag-memory=0.4", "--arithmetic-mean"])
        self.open(page)
        self.assertEqual(set(self.texts(".cards a")), set(FINDINGS) - {"slower than 0.95x",
                                                                       "more memory than 1/0.9 of eager's"})
        rows = {(row[0], row[1]): row for row in self.rows("Suites and backends")}
        ratios = [speedup_of(line) for line in self.lines
                  if line["backend"] == "traced" and line["suite"] == "timm" and line["autograd"] == "forward"]
        self.assertEqual(rows["timm eval", "Python traced"][4:6],
                         [f"{statistics.geometric_mean(ratios):.2f}x", f"{statistics.mean(ratios):.2f}x"])
        self.click("Suites and backends", list(rows).index(("timm eval", "Python traced")), 5)
        self.assertEqual(self.keys("3 experiments")[0], key_of(*SLOW))  # the worst first

    def test_evaluation_and_training_have_separate_rows(self):
        self.open(self.page)
        rows = {(row[0], row[1]): row for row in self.rows("Suites and backends")}
        for suite in ("timm", "torchvision", "huggingface"):
            for test in ("eval", "train"):
                ratios = [speedup_of(line) for line in self.lines
                          if line["backend"] == "inductor" and line["autograd"] == PASSES[test]
                          and line["suite"] == suite and line["verification"]["code"] == "PASS"]
                self.assertEqual(rows[f"{suite} {test}", "Python Inductor"][4],
                                 f"{statistics.geometric_mean(ratios):.2f}x")
        self.assertEqual({name for name, _ in rows}, {f"{suite} {test}" for suite in SUITES for test in
                                                      ("eval", "train")})
        self.assertEqual(rows["timm train", "Python Inductor"][9], "1 FAIL")

    def test_each_number_opens_its_experiments_and_these_their_details(self):
        self.open(self.page)
        place = [row[:2] for row in self.rows("Suites and backends")].index(["timm eval", "Python traced"])
        self.click("Suites and backends", place, 4)
        self.assertEqual(self.heading(), "Experiments: timm eval Python traced")
        self.assertEqual(self.keys("3 experiments")[0], key_of(*SLOW))  # the worst first
        self.assertEqual(set(self.keys("3 experiments")),
                         {key_of("timm", model, "traced", "eval") for model in SUITES["timm"]})
        speedup = self.rows("3 experiments")[0][2]
        self.all("tbody a")[0].click()
        self.assertEqual(self.heading(), key_of(*SLOW))
        facts = dict(zip(self.texts("dt"), self.texts("dd")))
        self.assertEqual((facts["speed-up"], facts["code"]), (speedup, "PASS"))
        self.assertIn("; 10 runs, ", facts["time of an iteration"])
        self.assertEqual(set(self.keys("The same model")),
                         {key_of("timm", "mobilevit_s", backend, "eval") for backend in ["eager", *BACKENDS["py"]]})
        self.link("timm eval Python traced").click()
        self.assertEqual(self.heading(), "Experiments: timm eval Python traced")

    def test_every_number_of_the_summary_is_a_link(self):
        self.open(self.page)
        cells = self.run_script("""return [...[...document.querySelectorAll("table")].find((one) =>
            one.caption.textContent === "Suites and backends").tBodies[0].rows].flatMap((row) =>
            [...row.cells].slice(2)).filter((cell) => cell.textContent !== "-" && !cell.querySelector("a")).length""")
        self.assertEqual(cells, 0)
        self.link("1 FAIL").click()
        self.assertEqual(self.keys("1 experiment"), [key_of(*WRONG)])
        self.browser.back()
        self.link("failed").click()
        self.assertEqual(set(self.keys("failed")), FINDINGS["failed"])

    def test_details_have_graph_breaks_and_reasons(self):
        for which, caption, row in ((BREAKS, "graph breaks", ["models.toml:12", "1", "call to print"]),
                                    (UNLOWERED, "operators left to", ["aten::nonzero", "2"])):
            self.open(self.page, "#/benchmark/" + key_of(*which).replace("/", "%2F"))
            self.assertEqual(self.rows(caption), [row])
        self.open(self.page, "#/benchmark/" + key_of(*CRASHED).replace("/", "%2F"))
        facts = dict(zip(self.texts("dt"), self.texts("dd")))
        self.assertEqual(facts["failed"], "crashed: SIGSEGV: Segmentation fault")

    def test_graph_has_the_values_of_plot(self):
        """The graph has a mark for each model and backend that passed, where the speed-up says."""
        drawn = instr_bench("plot", str(self.folder / "four0.jsonl"), "--kind=speedup", "--filter=^timm/",
                            "--exclude=forward_backward", "--format=csv")
        ratios = {(row["benchmark"].split()[0].split("/")[1], "Python " + row["series"]): float(row["x"])
                  for row in csv.DictReader(io.StringIO(drawn))}
        self.assertEqual(len(ratios), 9)
        self.open(self.page, "#/speedups")
        marks = {(model, label.split(":")[0]): (label.split(": ")[1].split()[0], at)
                 for model, label, at in self.speedups("timm eval")}
        self.assertEqual({mark: text for mark, (text, _) in marks.items()},
                         {mark: f"{ratio:.2f}x" for mark, ratio in ratios.items()})
        self.assertEqual(sorted(marks, key=lambda mark: marks[mark][1]), sorted(ratios, key=ratios.get))
        self.assertEqual(len(self.all(".speedups table")), 2 * len(SUITES))

    def test_graph_names_what_has_no_speedup(self):
        self.open(self.page, "#/speedups")
        rows = {row[0]: row[2] for row in self.rows("timm train")}
        self.assertEqual(rows["ghostnet_100"], "Python Inductor: FAIL")
        self.link("TorchScript: crashed").click()
        self.assertEqual(self.heading(), key_of(*CRASHED))

    def test_filters_are_for_all_views(self):
        self.open(self.page, "#/?suite=huggingface")
        self.assertEqual(self.texts(".cards a"), ["more memory than 1/0.9 of eager's",
                                                  "operators that the compiler left to LibTorch"])
        self.assertEqual({row[0] for row in self.rows("Suites and backends")},
                         {"huggingface eval", "huggingface train"})
        self.open(self.page, "#/speedups?suite=huggingface&test=train")
        self.assertEqual(len(self.all(".speedups table")), 1)

    def test_is_accessible(self):
        key = key_of(*BREAKS).replace("/", "%2F")
        for address in ("", "#/speedups", "#/experiments", "#/experiments/timm%20train%20Python%20Inductor/not_passed",
                        "#/finding/failed", f"#/benchmark/{key}"):
            for scheme, width in (("light", 1300), ("dark", 420)):
                with self.subTest(address=address, scheme=scheme):
                    self.open(self.page, address, scheme, width)
                    self.assert_is_accessible()
                    self.assertFalse(self.run_script(
                        "return document.documentElement.scrollWidth > document.documentElement.clientWidth"))


class Files(ExperimentsTest):
    def test_one_suite(self):
        self.open(self.write_report("one", make_experiments(["timm"])))
        self.assertEqual(set(self.keys("slower than")), {key_of(*SLOW)})
        self.assertEqual({row[0] for row in self.rows("Suites and backends")}, {"eval", "train"})

    def test_a_file_for_each_suite(self):
        page = self.write_report("each", *(make_experiments([suite]) for suite in SUITES))
        self.open(page)
        self.assertEqual({title: set(self.keys(title)) for title in FINDINGS}, FINDINGS)
        self.assertIsNone(self.rows("Not measured lately"))

    def test_models_without_eager(self):
        lines = make_experiments(["timm"])
        for line in lines:
            if "/dla34/" in line["key"] and line["backend"] == "eager":
                fail(line, "crashed", "SIGSEGV")
            elif "/dla34/" in line["key"]:
                del line["times"]["eager"]
        page = self.write_report("without", lines)
        self.open(page, "#/speedups?test=eval")
        rows = {row[0]: row[2] for row in self.rows("eval")}
        self.assertEqual(rows["dla34"].count("eager was not measured"), 3)
        self.open(page)
        self.assertIn(key_of("timm", "dla34", "eager", "eval"), self.keys("failed"))

    def test_chosen_backends_are_still_compared_with_eager(self):
        self.open(self.write_report("chosen", make_experiments(["timm"]), options=["--backend=traced"]))
        self.assertEqual(set(self.keys("slower than")), {key_of(*SLOW)})
        self.assertEqual({row[1] for row in self.rows("Suites and backends")}, {"Python", "Python traced"})
        self.link("Python").click()
        self.assertEqual(len(self.keys("3 experiments")), 3)

    def test_nothing_needs_attention(self):
        lines = [line for line in make_experiments(["torchvision"]) if line["backend"] != "aot_eager"]
        self.open(self.write_report("fine", lines))
        self.assertEqual(self.one(".good").text, "Nothing needs attention.")

    def test_more_findings_than_the_summary_lists(self):
        models = {"timm": [f"m{i}" for i in range(25)]}
        lines = make_experiments(["timm"], models)
        for line in lines:
            if line["backend"] == "inductor" and line["autograd"] == "forward":
                line["metrics"]["compile_time"] = 200e9
        self.open(self.write_report("many", lines))
        self.assertEqual(self.texts(".cards strong"), ["25"])
        self.assertEqual(len(self.keys("compiled longer")), 20)
        self.link("compiled longer than 120 s").click()
        self.assertEqual(len(self.keys("compiled longer")), 25)

    def test_texts_of_others_never_run(self):
        models = [f"{HOSTILE.replace('/', '')} {HOSTILE.replace('/', '')}{i}" for i in range(2)]
        lines = make_experiments(["timm"], {"timm": models})
        for line in lines:
            line["compiler"] = {"graph_breaks": [{"place": HOSTILE, "reason": HOSTILE, "count": 1}]}
        lines[1]["verification"] = {"code": "FAIL", "reason": HOSTILE}
        page = self.write_report("hostile", lines)
        key = self.run_script("return encodeURIComponent(arguments[0])", lines[1]["key"])
        for address in ("", "#/speedups", "#/experiments", f"#/benchmark/{key}"):
            self.open(page, address)
            self.assertIn("<script>window.ran=1", self.one("main").text)
            self.assertIsNone(self.run_script("return window.ran || null"))
            self.assertEqual(self.all("main img"), [])


class Recorded(ExperimentsTest):
    """Results that the program wrote."""

    def test_are_summed_up_by_backend(self):
        file = FIXTURES / "formats" / "experiments.jsonl"
        _, *lines, _ = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.open(self.write_report("recorded", lines))
        rows = {tuple(row[:2]): row[2:] for row in self.rows("Suites and backends")}
        self.assertEqual(set(rows), {(test, backend) for test in ("eval", "train")
                                     for backend in ("Python", "Python Inductor")})
        for test in ("eval", "train"):
            passed = [line for line in lines if line["backend"] == "inductor" and line["autograd"] == PASSES[test]
                      and line["verification"]["code"] == "PASS"]
            self.assertTrue(passed)
            eager = {line["key"].replace("/eager/", "/inductor/"): line for line in lines if line["backend"] == "eager"}
            memory_saved = statistics.geometric_mean(
                eager[line["key"]]["metrics"]["peak_bytes"] / line["metrics"]["peak_bytes"] for line in passed)
            _, passing, speedup, _, compiling, _, memory, _ = rows[test, "Python Inductor"]
            self.assertTrue(passing.startswith(f"{len(passed)} of 3"), passing)
            self.assertEqual(speedup.lstrip("~"), f"{statistics.geometric_mean(map(speedup_of, passed)):.2f}x")
            self.assertEqual(memory, f"{memory_saved:.2f}x")
            times = [line["metrics"]["compile_time"] / 1e9 for line in passed]
            self.assertEqual(compiling, f"{statistics.mean(times):#.3g} s")
        self.assertEqual(len(self.keys("failed")), 4)


class History(ExperimentsTest):
    """A commit a day; from the fifth on, the code of Inductor takes twice as long. When eager was measured alone,
    a load made it three times as slow, which must not show in a speed-up."""
    DAYS = 10
    SLOWER_FROM = 4

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_git("init", "--quiet", "--initial-branch=main")
        for day in range(cls.DAYS):
            cls.run_git("-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--allow-empty", "-m",
                        f"change {day}", date=f"2026-11-{day + 10}T10:00:00Z")
            scale = {"inductor": 2 if day >= cls.SLOWER_FROM else 1, "eager": 3}
            write_experiments(cls.folder / "r.jsonl", make_experiments(["timm", "cpp"], scale=scale))
            instr_bench("history", "add", "r.jsonl", "--trust-commit", folder=cls.folder)
        instr_bench("report", "--html=history.html", folder=cls.folder)
        cls.page = cls.folder / "history.html"

    @classmethod
    def run_git(cls, *words, date="2026-11-01T00:00:00Z"):
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        subprocess.run(["git", "-C", cls.folder, *words], check=True, env={**os.environ, **dates})

    def values(self, figure, backend):
        """Returns the values of a backend in the table of a graph, the newest first."""
        self.one(f"figure:nth-of-type({figure}) summary").click()
        table = self.soon(lambda: self.run_script("""
            const table = document.querySelectorAll(".charts figure")[arguments[0] - 1].querySelector("table");
            return table && [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));""", figure))
        place = table[0].index(backend)
        return [row[place] for row in table[1:]]

    def test_graphs_show_the_speedups_over_the_last_days(self):
        self.open(self.page, "#/speedups?suite=timm&range=7d")
        titles = self.texts(".charts figcaption")
        self.assertEqual([title.split(":")[0] for title in titles], ["timm eval", "timm train"])
        for figure in (1, 2):
            ratios = [float(value[:-1]) for value in self.values(figure, "py inductor")]
            self.assertEqual(len(ratios), 9)  # the last one older than seven days is where they start
            before, after = ratios[-3:], ratios[:-3]
            self.assertTrue(all(1.5 < ratio < 1.7 for ratio in before), ratios)
            self.assertTrue(all(0.75 < ratio < 0.85 for ratio in after), ratios)

    def test_graph_by_model_has_the_last_values(self):
        self.open(self.page, "#/speedups?suite=timm")
        marks = self.speedups("timm eval")
        ratios = {(model, label.split(": ")[0]): float(label.split(": ")[1][:-1]) for model, label, _ in marks}
        self.assertEqual(ratios["mobilevit_s", "py traced"], 0.17)
        self.assertEqual({model for model, _ in ratios}, set(SUITES["timm"]))
        self.assertTrue(all(0.75 < ratio < 0.85 for (_, backend), ratio in ratios.items() if backend == "py inductor"))

    def test_evaluation_and_training_have_separate_rows(self):
        self.open(self.page)
        rows = [row[:4] for row in self.rows("Suites and backends")]
        self.assertEqual(rows[:3], [["cpp", test, "cpp", backend] for test, backend in
                                    (("eval", "eager"), ("eval", "frozen"), ("eval", "torchscript"))])
        self.assertEqual(len(rows), 2 * 3 + 2 * 4)
        self.assertEqual(len(set(map(tuple, rows))), len(rows))

    def test_a_number_leads_to_its_benchmarks(self):
        self.open(self.page)
        rows = self.rows("Suites and backends")
        ratio = next(place for place, text in enumerate(rows[1]) if text.endswith("x"))
        self.click("Suites and backends", 1, ratio)
        self.assertEqual(self.heading(), "Benchmarks: wall time")
        self.assertEqual(set(self.keys("3 benchmarks")),
                         {key_of("cpp", model, "frozen", "eval") for model in SUITES["cpp"]})

    def test_is_accessible(self):
        for scheme, width in (("light", 1300), ("dark", 420)):
            self.open(self.page, "#/speedups", scheme, width)
            self.assert_is_accessible()
            self.assertFalse(self.run_script(
                "return document.documentElement.scrollWidth > document.documentElement.clientWidth"))


if __name__ == "__main__":
    unittest.main()
