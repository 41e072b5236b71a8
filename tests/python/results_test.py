"""The reader of results files, on recorded ones."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import instr_bench  # noqa: E402

RECORDED = ROOT / "tests/fixtures/formats/after.jsonl"


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = Path(self.folder.name) / "r.jsonl"
        path.write_text(text, encoding="utf-8")
        return path

    def refusal(self, text):
        with self.assertRaises(instr_bench.ResultsError) as raised:
            instr_bench.read(self.file(text))
        return str(raised.exception)

    def test_measurements_have_keys_metrics_and_problems(self):
        by_key = {one.key: one for one in instr_bench.read(RECORDED)}
        mm = by_key["matmul/mm/eager/forward/t1/cpu"]
        self.assertEqual(
            (mm.metrics["instructions"], mm.steady, mm.gated, mm.language), (40953, True, True, "cpp"))
        add = by_key["pointwise/add/n=64/eager/forward/t1/cpu"]
        self.assertEqual((add.label, add.params), ("pointwise/add", {"n": "64"}))
        later = by_key["breaks/later/eager/forward/t1/cpu"]
        self.assertEqual((later.outcome, later.metrics, later.steady), ("failed", {}, None))
        self.assertEqual(
            later.problem, "exception: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
        skipped = by_key["needs/newer/eager/forward/t1/cpu"]
        self.assertEqual(skipped.problem, "needs LibTorch >=99.0, this is 1.13.0")
        self.assertEqual(skipped.line["seconds"], 0)

    def test_a_line_separator_inside_a_text_is_no_end_of_a_line(self):
        text = RECORDED.read_text(encoding="utf-8").replace("n=64/eager", "n=64\u2028/eager")
        self.assertIn("pointwise/add/n=64\u2028/eager/forward/t1/cpu",
                      [one.key for one in instr_bench.read(self.file(text))])

    def test_incomplete_results_are_refused_unless_allowed(self):
        lines = RECORDED.read_text(encoding="utf-8").splitlines()
        text = "\n".join(lines[:3]) + "\n" + lines[3][:40]
        self.assertIn("incomplete", self.refusal(text))
        self.assertEqual(len(instr_bench.read(self.file(text), allow_incomplete=True)), 2)

    def test_other_files_are_refused(self):
        end = '\n{"end":{"measurements":0}}\n'
        self.assertIn("r.jsonl is empty", self.refusal(""))
        self.assertIn("not a results file", self.refusal('{"program":"another"}' + end))
        self.assertIn("r.jsonl:1: malformed", self.refusal("nonsense" + end))
        self.assertIn("r.jsonl:1: malformed", self.refusal("[]" + end))
        old = RECORDED.read_text(encoding="utf-8").replace('"schema":3', '"schema":2')
        self.assertIn("has format 2, this reads 3", self.refusal(old))
        cut = RECORDED.read_text(encoding="utf-8").replace('{"key":"matmul', '"key":"matmul', 1)
        self.assertRegex(self.refusal(cut), r"r\.jsonl:\d+: malformed")


if __name__ == "__main__":
    unittest.main()
