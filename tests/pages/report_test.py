"""The HTML report in a browser: it shows the figures of the program's other outputs."""
import csv
import io
import json
import subprocess
import unittest

from browser import FIXTURES, Keys, PageTest, instr_bench

HOSTILE = "<img src=x onerror='window.ran=1'></script><script>window.ran=1</script>"
KEYS = ["matmul/mm/n=4/eager/forward/t1/cpu", "matmul/mm/n=4/torchscript/forward/t1/cpu",
        "gather/rows/eager/forward_backward/t1/cpu", f"{HOSTILE}/eager/forward/t1/cpu"]
# The counts of the keys at each commit; None: not measured.
COUNTS = [[100, 80, 50, 7], [100, 80, 50, 7], [150, 80, 40, 7], [150, 90, 40, 7], [150, 90, None, 7],
          [150, 90, None, 8], [150, 90, None, 8]]
RELEASE = 1  # the index of the tagged commit


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", *words], check=True,
                          capture_output=True, text=True)
    return done.stdout.strip()


def write_results(file, counts, allocs=2, limit=None):
    header = {"schema": 3, "program": "instr_bench", "version": "0.1.0", "started": "2037-01-02T03:04:05Z",
              "command": ["instr_bench", "--definitions", "our bench.toml"], "fingerprint": {"compiler": "g++ 12", "libtorch_version": "2.13.0"}}
    lines = [header]
    for key, count in zip(KEYS, counts):
        if count is None:
            continue
        lines.append({"key": key, "label": key.rsplit("/", 4)[0], "outcome": "counted", "iterations": 10,
                      "warmup": 1, "steady": True, "blocks": [count, count], "gated": True,
                      "metrics": {"instructions": count, "allocs": allocs}})
        if limit:
            lines[-1]["limits"] = {"instructions": limit}
    lines.append({"end": {"measurements": len(lines) - 1}})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


class History(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        git(cls.folder, "init", "--quiet", "--initial-branch=main")
        for number, counts in enumerate(COUNTS):
            subject = HOSTILE if number == 3 else f"change {number}"
            git(cls.folder, "commit", "--quiet", "--allow-empty", "-m", subject)
            if number == RELEASE:
                git(cls.folder, "tag", "v1")
            write_results(cls.folder / "results.jsonl", counts)
            instr_bench("history", "add", "results.jsonl", "--trust-commit", folder=cls.folder)
        instr_bench("report", "--html=report.html", folder=cls.folder)
        cls.page = cls.folder / "report.html"
        shown = instr_bench("history", "steps", "--format=csv", folder=cls.folder)
        cls.steps = list(csv.DictReader(io.StringIO(shown)))

    def steps_since_release(self):
        release = git(self.folder, "rev-list", "--reverse", "main").split()[:RELEASE + 1]
        return [step for step in self.steps if step["commit"] not in release]

    def test_begins_with_findings(self):
        self.open(self.page)
        worse = [step for step in self.steps_since_release() if float(step["change"]) > 0]
        better = [step for step in self.steps_since_release() if float(step["change"]) < 0]
        cards = dict(zip(["worse", "failed", "stale", "better", "accepted"], self.texts(".cards strong")))
        self.assertIn("regressions not accepted, at 3 commits", self.texts(".cards li")[0])
        # Two metrics of the key that is no longer measured.
        self.assertEqual(cards, {"worse": str(len(worse)), "failed": "0", "stale": "2", "better": str(len(better)),
                                 "accepted": "0"})
        shown = {(step["key"], step["before"], step["after"]) for step in worse}
        self.assertEqual({(row[0], row[2], row[3]) for commit in {step["commit"] for step in worse}
                          for row in self.rows(commit[:12])}, shown)
        self.assertIn("since v1", self.one("h2").text)

    def test_each_number_leads_to_its_details(self):
        self.open(self.page)
        self.link(KEYS[0]).click()
        self.assertEqual(self.one("h2").text, KEYS[0])
        self.assertEqual(self.browser.switch_to.active_element.text, KEYS[0])
        steps = self.rows("Steps")
        self.assertEqual([row[:4] for row in steps], [["instructions", "100", "150", "+50"]])
        self.link(steps[0][5]).click()
        self.assertIn("change 2", self.one("h2").text)
        self.assertEqual({row[0] for row in self.rows("What changed")}, {KEYS[0], KEYS[2]})
        self.browser.back()
        self.assertEqual(self.one("h2").text, KEYS[0])

    def test_graph_has_keys_and_a_table(self):
        self.open(self.page, "#/benchmark/" + self.run_script("return encodeURIComponent(arguments[0])", KEYS[0])
                  + "?range=all")
        self.assertGreater(len(self.all(".canvas canvas")), 0)
        self.run_script("document.querySelector('.chart').focus()")
        self.press(Keys.HOME)
        self.assertTrue(self.one(".at").text.endswith(": 100"), self.one(".at").text)
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertIn("change 2: 150", self.one(".at").text)
        self.one("figure summary").click()
        rows = self.soon(lambda: self.rows("instructions of"))
        self.assertEqual([row[1] for row in rows], ["150"] * 5 + ["100"] * 2)
        self.run_script("document.querySelector('.chart').focus()")
        self.press(Keys.ENTER)
        self.assertIn("change 2", self.one("h2").text)

    def test_search_and_choices_are_in_the_address(self):
        self.open(self.page, "#/benchmarks")
        self.assertEqual(len(self.rows("4 benchmarks")), 4)
        self.press("/")
        self.press("gather")
        self.assertEqual([row[0] for row in self.rows("1 benchmark")], [KEYS[2]])
        address = self.browser.current_url
        self.browser.get("about:blank")
        self.browser.get(address)
        self.assertEqual([row[0] for row in self.rows("1 benchmark")], [KEYS[2]])
        self.run_script("document.querySelector('input[type=search]').focus()")
        self.press(Keys.ESCAPE)
        self.assertEqual(len(self.rows("4 benchmarks")), 4)
        self.run_script("""const field = document.querySelector("select[name=backend]");
            field.value = "torchscript"; field.dispatchEvent(new Event("change"));""")
        self.assertEqual([row[0] for row in self.rows("1 benchmark")], [KEYS[1]])
        self.assertIn("backend=torchscript", self.browser.current_url)

    def test_columns_are_sorted(self):
        self.open(self.page, "#/benchmarks")
        button = next(one for one in self.all("button.sort") if one.text == "instructions")
        button.click()
        counts = [int(row[1]) for row in self.rows("4 benchmarks")]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertEqual(button.find_element("xpath", "..").get_attribute("aria-sort"), "descending")
        button.click()
        counts = [int(row[1]) for row in self.rows("4 benchmarks")]
        self.assertEqual(counts, sorted(counts))

    def test_any_two_commits_are_compared(self):
        commits = git(self.folder, "rev-list", "--reverse", "main").split()
        self.open(self.page, f"#/compare/{commits[1]}/{commits[3]}")
        found = {row[0]: row[1:4] for row in self.rows("3 differences")}
        self.assertEqual(found, {KEYS[0]: ["100", "150", "+50"], KEYS[1]: ["80", "90", "+10"],
                                 KEYS[2]: ["50", "40", "\u221210"]})

    def test_texts_of_others_never_run(self):
        for address in ("", "#/benchmarks", "#/commits?range=all", "#/compare"):
            self.open(self.page, address)
            self.assertIn("<img src=x", self.one("body").text)
            self.assertIsNone(self.run_script("return window.ran || null"))
            self.assertEqual(self.all("main img"), [])

    def test_is_accessible(self):
        key = self.run_script("return encodeURIComponent(arguments[0])", KEYS[0])
        for address in ("", "#/benchmarks", f"#/benchmark/{key}?range=all", "#/commits?range=all", "#/compare"):
            for scheme, width in (("light", 1300), ("dark", 420)):
                with self.subTest(address=address, scheme=scheme):
                    self.open(self.page, address, scheme, width)
                    self.assert_is_accessible()
                    is_scrolled = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
                    self.assertFalse(self.run_script(is_scrolled))


class StepAmongSeveralCommits(PageTest):
    """Two metrics of two benchmarks change at the last of three commits, of which one was not measured."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        git(cls.folder, "init", "--quiet", "--initial-branch=main")
        for number in range(3):
            git(cls.folder, "commit", "--quiet", "--allow-empty", "-m", f"change {number}")
            if number == 1:
                continue
            write_results(cls.folder / "results.jsonl", [100 + number, 80 + number], allocs=2 + number)
            instr_bench("history", "add", "results.jsonl", "--trust-commit", folder=cls.folder)
        instr_bench("report", "--html=report.html", folder=cls.folder)
        cls.page = cls.folder / "report.html"
        cls.last = git(cls.folder, "rev-parse", "HEAD")[:12]

    def test_is_one_row_for_each_benchmark(self):
        self.open(self.page)
        self.assertEqual(self.texts(".cards li")[0], "2\nregressions not accepted, at 1 commit")
        self.assertEqual([row[:4] for row in self.rows(self.last)],
                         [[KEYS[1], "instructions", "80", "82"], [KEYS[0], "instructions", "100", "102"]])
        self.assertEqual({one.text for one in self.all("tr.below summary")}, {"also allocs +100.00%"})
        self.one("tr.below summary").click()
        self.assertEqual(self.soon(lambda: self.rows("Other metrics"))[0][:4], ["allocs", "2", "4", "+2"])

    def test_names_the_other_candidates(self):
        self.open(self.page)
        self.assertTrue(self.texts("caption")[0].startswith(f"{self.last} or 1 before "), self.texts("caption"))
        self.link(self.last).click()
        self.assertIn("may have been made by 1 commit before this, not measured", self.one("main").text)

    def test_commands_name_the_definitions(self):
        self.open(self.page)
        self.link(KEYS[0]).click()
        self.assertIn(f"instr_bench explain '--definitions=our bench.toml' '{KEYS[0]}'", self.one("pre").text)

    def test_a_point_marks_the_step(self):
        key = self.run_script("return encodeURIComponent(arguments[0])", KEYS[0])
        self.open(self.page, f"#/benchmark/{key}")
        # The colour of the line at its last change, and to the right of it.
        found = self.soon(lambda: self.run_script("""
            const canvas = document.querySelector(".canvas canvas");
            if (!canvas) return null;
            const { width, height } = canvas;
            const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            const rows = new Map();
            for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x) {
              const [red, green, blue, alpha] = pixels.slice(4 * (y * width + x), 4 * (y * width + x) + 4);
              if (alpha > 200 && blue > 180 && red < 40 && green < 130) {
                if (!rows.has(x)) rows.set(x, 0);
                rows.set(x, rows.get(x) + 1);
              }
            }
            return [width, ...[...rows].sort((a, b) => a[0] - b[0]).pop(), Math.max(...rows.values())];"""))
        width, last, _, highest = found
        self.assertGreater(highest, 20)  # the step is a line upwards
        self.assertGreater(width - last, 0)


class Limits(PageTest):
    """Two benchmarks grow, one of them beyond its limit of 1%, and one grows and shrinks again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        git(cls.folder, "init", "--quiet", "--initial-branch=main")
        for counts in ([1000, 1000, 1000], [1006, 1012, 1100], [1006, 1012, 1000]):
            git(cls.folder, "commit", "--quiet", "--allow-empty", "-m", "change")
            write_results(cls.folder / "results.jsonl", counts, limit="1%")
            instr_bench("history", "add", "results.jsonl", "--trust-commit", folder=cls.folder)
        instr_bench("report", "--html=report.html", folder=cls.folder)
        cls.page = cls.folder / "report.html"

    def test_decide_what_is_a_regression(self):
        self.open(self.page)
        cards = self.texts(".cards li")
        self.assertEqual(cards[0], "1\nregression not accepted, at 1 commit")
        self.assertIn("1\nimprovement, at 1 commit", cards)
        self.assertEqual(cards[-1], "1\ngrew within limits, at 1 commit")
        self.assertEqual({one.text for one in self.all("td.worse")}, {"+12", "+1.20%"})
        issue = instr_bench("history", "issue", folder=self.folder, statuses=(3,))
        self.assertTrue(issue.startswith(f"+1.20% instructions in {KEYS[1]}"), issue)
        self.assertNotIn(KEYS[0], issue)


class Files(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        files = [str(FIXTURES / "formats" / name) for name in ("before.jsonl", "after.jsonl")]
        cls.page = cls.folder / "files.html"
        instr_bench("report", *files, f"--html={cls.page}")
        # A part of the change is beyond its limit.
        cls.comparison = json.loads(instr_bench("compare", *files, "--format=json", statuses=(3,)))

    @staticmethod
    def shown(value):
        return f"{value:,.2f}".rstrip("0").rstrip(".").replace("-", "\u2212")

    def test_two_files_show_the_same_as_compare(self):
        changed = [(row["key"], row["metrics"].get("instructions", {})) for row in self.comparison["rows"]]
        expected = {key: (self.shown(ir["before"]), self.shown(ir["after"])) for key, ir in changed
                    if "/t1/" in key and ir.get("change")}
        self.assertTrue(expected)
        self.open(self.page, "#/compare")
        found = {row[0]: (row[1], row[2]) for row in self.rows(self.texts("caption")[0]) if row[3] != "new"}
        self.assertEqual({key: values for key, values in found.items() if "/t1/" in key}, expected)

    def test_changes_unfold_to_their_functions(self):
        self.open(self.page, "#/?search=pointwise/add/n=4/")
        row = next(one for one in self.comparison["rows"] if one["key"].startswith("pointwise/add/n=4/"))
        self.one("tr.below summary").click()
        found = self.soon(lambda: self.rows("Functions that changed"))
        changes = [part["change"] for part in row["attribution"]["functions"]]
        # The page has the largest changes and, in its last row, the sum of all others.
        top = len(found) - 1
        self.assertGreater(top, 0)
        expected = [*changes[:top], sum(changes[top:])]
        self.assertEqual([one[1] for one in found], [f"+{self.shown(one)}" for one in expected])


if __name__ == "__main__":
    unittest.main()
