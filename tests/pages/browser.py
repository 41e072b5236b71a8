"""Pages in a real browser: Chromium, driven by Selenium. axe-core checks that they are accessible."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

PROGRAM = os.environ["INSTR_TEST_PROGRAM"]
CONSUMERS = pathlib.Path(os.environ["INSTR_TEST_CONSUMERS"])
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
AXE = next(CONSUMERS.glob("lib/python3*/site-packages/axe_playwright_python/axe.min.js"))


def instr_bench(*words, folder=None, statuses=(0,)):
    """Returns the output of a successful command."""
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise AssertionError(f"instr_bench {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def start():
    options = Options()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"):
        options.add_argument(word)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class PageTest(unittest.TestCase):
    """A browser and a folder for each class of tests."""

    @classmethod
    def setUpClass(cls):
        cls.browser = start()
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def tearDown(self):
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])

    def open(self, page, address="", scheme="light", width=1300):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.set_window_size(width, 1000)
        self.browser.get("about:blank")  # so that another address loads the page again
        self.browser.get(page.as_uri() + address)

    def run_script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [element.text for element in self.all(selector)]

    def link(self, text):
        return self.browser.find_element(By.LINK_TEXT, text)

    def soon(self, condition):
        """Returns the value of the script once it is true: elements unfold a moment later."""
        return WebDriverWait(self.browser, 120).until(lambda _: condition())

    def press(self, *keys):
        """Sends the keys to the focused element."""
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def rows(self, caption):
        """Returns the texts of a table by row, without rows that unfold."""
        return self.run_script("""
            const table = [...document.querySelectorAll("table")].find((one) =>
              one.caption && one.caption.textContent.startsWith(arguments[0]));
            return table && [...table.tBodies[0].rows].filter((row) => row.className !== "below")
              .map((row) => [...row.cells].map((cell) => cell.textContent));""", caption)

    def assert_is_accessible(self):
        self.run_script(AXE.read_text(encoding="utf-8"))
        found = self.browser.execute_async_script(
            "axe.run().then(arguments[arguments.length - 1])")["violations"]
        self.assertEqual([f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
                          for one in found for node in one["nodes"][:3]], [])


__all__ = ["FIXTURES", "Keys", "PageTest", "instr_bench"]
