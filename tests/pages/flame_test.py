"""Flame graphs in a browser: they show the figures of the program's other outputs."""
import collections
import gzip
import json
import shutil
import unittest

from browser import FIXTURES, Keys, PageTest, instr_bench

KEY = "standardized/eager/forward/t1/cpu"
FILES = ["before.jsonl", "after.jsonl"]
# Names as a profile may have them. Bidirectional marks reverse the text behind them.
HOSTILE = ["<img src=x onerror='window.ran=1'>", "</script><script>window.ran=1</script>", "\"'><b>&amp;",
           "a\u202eb\u2066c", "{{data}}{{nonce}}"]


def number(text):
    return float(text.replace(",", ""))


class FlameTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for file in (FIXTURES / "pages").glob("*.jsonl*"):
            shutil.copy(file, cls.folder)

    @classmethod
    def explain(cls, folder):
        """Writes the flame graph of a stored count, and returns the page."""
        instr_bench("explain", KEY, "after.jsonl", f"--flame={folder}", folder=cls.folder)
        return cls.folder / folder / (KEY.replace("/", ".") + ".html")

    @classmethod
    def compare(cls, folder):
        """Returns the rows of the comparison's table."""
        shown = instr_bench("compare", *FILES, f"--flame={folder}", "--format=json", folder=cls.folder,
                            statuses=(3,))
        return json.loads(shown)["rows"]

    def frame(self, name):
        """Returns the widest frame of a function."""
        return self.run_script("return [...document.querySelectorAll('.frame')]"
                               ".filter((one) => one.title.startsWith(arguments[0] + '\\n'))"
                               ".sort((a, b) => b.clientWidth - a.clientWidth)[0]", name)

    def titles(self, selector=".frame"):
        return self.run_script("return [...document.querySelectorAll(arguments[0])].map((one) => one.title)",
                               selector)

    def focused(self):
        return self.browser.switch_to.active_element.get_attribute("title").split("\n")[0]

    def width(self, element):
        return element.rect["width"] / self.one(".graph").rect["width"]

    def table(self):
        return self.run_script("return [...document.querySelectorAll('tbody tr')].map((row) => "
                               "[...row.cells].map((cell) => (cell.firstElementChild || cell).title"
                               " || cell.textContent));")


class Graph(FlameTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.explain("graph")
        lines = cls.page.with_suffix(".folded").read_text(encoding="utf-8").splitlines()
        cls.paths = [(path.split(";"), float(cost)) for path, cost in (line.rsplit(" ", 1) for line in lines)]

    def setUp(self):
        self.open(self.page)

    def test_has_the_count_and_a_frame_as_wide_as_each_path(self):
        total = sum(cost for _, cost in self.paths)
        self.assertIn(f"{round(total):,} instructions per iteration", self.one("main p").text)
        self.assertAlmostEqual(self.width(self.frame("the snippet")), 1, places=2)
        callees = collections.Counter()
        for path, cost in self.paths:
            callees[path[2] if len(path) > 2 else ""] += cost
        del callees[""]
        for name, cost in callees.most_common(4):
            self.assertAlmostEqual(self.width(self.frame(name)), cost / total, places=2, msg=name)

    def test_table_has_the_self_cost_of_each_function(self):
        own = collections.Counter()
        for path, cost in self.paths:
            own[path[-1]] += cost
        self.one("summary").click()
        shown = collections.Counter()
        for cost, _, _, function, _ in self.soon(self.table):
            shown[function.replace(";", ":")] += number(cost)
        self.assertEqual(shown.keys(), own.keys())
        for function, cost in own.items():
            self.assertAlmostEqual(shown[function], cost, delta=0.006, msg=function)

    def test_a_click_fills_the_width_and_escape_shows_all_again(self):
        name = next(path[2] for path, _ in self.paths if path[2:] and "std_correction::call" in path[2])
        narrow = self.width(self.frame(name))
        self.assertLess(narrow, 0.7)
        self.frame(name).click()
        self.assertAlmostEqual(self.width(self.frame(name)), 1, places=2)
        self.assertIn("dim", self.frame("the snippet").get_attribute("class"))
        self.assertIn(name, self.one(".about").text)
        self.press(Keys.ESCAPE)
        self.assertAlmostEqual(self.width(self.frame(name)), narrow, places=3)

    def test_search_shows_the_cost_of_matches(self):
        self.one("body").send_keys("/")
        self.press(*"std_var")
        found = sum(cost for path, cost in self.paths if any("std_var" in name for name in path))
        self.assertTrue(self.one("form [role=status]").text.startswith(f"{found:,.2f}".rstrip("0").rstrip(".")))
        self.assertTrue(self.titles(".frame.dim"))
        for title in self.titles(".frame:not(.dim)"):
            self.assertIn("std_var", title)
        self.press(Keys.ESCAPE)
        self.assertFalse(self.titles(".frame.dim"))

    def test_arrows_go_from_frame_to_frame(self):
        self.frame("the snippet").click()
        self.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        first = self.focused()
        self.assertNotEqual(first, "the snippet")
        self.press(Keys.ARROW_RIGHT)
        self.assertNotEqual(self.focused(), first)
        self.press(Keys.ARROW_LEFT)
        self.assertEqual(self.focused(), first)
        self.press(Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertEqual(self.focused(), "the snippet")
        self.press(Keys.ARROW_UP)
        self.assertEqual(self.focused(), "the snippet")
        # The tab key reaches only one of the frames.
        self.assertEqual(len(self.all(".frame[tabindex='0']")), 1)

    def test_legend_explains_colours(self):
        self.assertIn("dispatcher", self.texts(".legend li"))
        self.one("select").send_keys("library")
        self.assertIn("libtorch_cpu.so", self.texts(".legend li"))
        colour = self.run_script("return [...document.querySelectorAll('.legend li')].find((one) => "
                                 "one.textContent === 'libuser.so').firstChild.style.backgroundColor")
        self.assertEqual(self.run_script("return arguments[0].style.backgroundColor",
                                         self.frame("mine::standardized(at::Tensor const&)")), colour)


class Change(FlameTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        row, = cls.compare("pages")
        cls.change = row["metrics"]["instructions"]["change"]
        cls.page = cls.folder / "pages/index.html"

    def setUp(self):
        self.open(self.page)
        self.link(KEY).click()

    def test_changes_add_up_to_the_difference(self):
        self.assertIn(f"{self.change:+,}", self.one("main p").text)
        changes = [number(row[2]) for row in self.soon(self.table)]
        self.assertAlmostEqual(sum(changes), self.change, delta=0.005 * len(changes))
        self.assertEqual(changes, sorted(changes, key=abs, reverse=True))
        self.assertIn("Tensor", self.all("tbody .name")[1].get_attribute("title"))

    def test_removed_calls_keep_their_width(self):
        gone = {title.split("\n")[0] for title in self.titles() if title.split("\n")[1].startswith("0 ")}
        there = {title.split("\n")[0] for title in self.titles()} - gone
        self.assertGreater(max(self.width(self.frame(name)) for name in gone - there), 0.02)
        # No frame covers another.
        rows = collections.defaultdict(list)
        for frame in self.run_script("return [...document.querySelectorAll('.frame')].map((one) => "
                                     "['top', 'left', 'width'].map((side) => parseFloat(one.style[side])))"):
            rows[frame[0]].append(frame[1:])
        for frames in rows.values():
            frames.sort()
            for (left, width), (next_left, _) in zip(frames, frames[1:]):
                self.assertLessEqual(left + width, next_left + 0.01)

    def test_colours_show_increases_and_decreases(self):
        self.assertEqual(self.texts(".legend li"), ["less", "more", "unchanged"])

    def test_a_name_of_the_table_is_found_in_the_graph(self):
        self.soon(lambda: self.all("tbody .name"))[0].click()
        self.assertEqual(self.one("input").get_attribute("value"), self.table()[0][4])
        self.assertEqual(len(self.titles(".frame:not(.dim)")), 1)


class ForEverybody(FlameTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.compare("pages")
        cls.pages = [cls.explain("graph"), *(cls.folder / "pages").iterdir()]

    def test_is_accessible(self):
        self.assertEqual(len(self.pages), 3)
        for page in self.pages:
            for scheme, width in (("light", 1300), ("dark", 1300), ("light", 500)):
                with self.subTest(page=page.name, scheme=scheme, width=width):
                    self.open(page, scheme=scheme, width=width)
                    self.assert_is_accessible()
                    if page.name == "graph.html":
                        self.one("input").send_keys("mean")
                        self.assert_is_accessible()
                    self.assertLessEqual(self.run_script("return document.body.scrollWidth - innerWidth"), 0)


class Hostile(FlameTest):
    def test_names_are_only_text(self):
        for file in FILES:
            beside = self.folder / f"{file}.profiles.jsonl.gz"
            lines = gzip.decompress(beside.read_bytes()).decode().splitlines(keepends=True)
            names = json.loads(lines[2])
            # The first functions below the snippet.
            numbers = dict.fromkeys(json.loads(lines[3])["call_tree"]["function"][1:])
            for i, name in zip(numbers, HOSTILE):
                names["names"][i] = [name, name]
            lines[2] = json.dumps(names) + "\n"
            beside.write_bytes(gzip.compress("".join(lines).encode()))
        self.compare("hostile")
        graph = self.explain("hostile graph")
        for page in [graph, *(self.folder / "hostile").iterdir()]:
            self.open(page)
            for summary in self.all("details:not([open]) summary"):
                summary.click()
            self.assertIsNone(self.run_script("return window.ran"))
            self.assertFalse(self.all("main img, main b, main script"))
            if page.name != "index.html":
                for name in HOSTILE[:3] + HOSTILE[4:]:
                    self.assertTrue(any(title.startswith(name) for title in self.titles()), name)
        page = graph.read_text(encoding="utf-8")
        self.assertEqual(page.count("<script"), 3)


if __name__ == "__main__":
    unittest.main()
