"""The process that counts for Timer, with a stand-in for the program."""
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from instr_bench import CountError, program  # noqa: E402

# Replies to each request with the number of requests so far; to the last one, it ends.
STAND_IN = """#!{python}
import sys
for number, line in enumerate(sys.stdin):
    if "last" in line:
        sys.exit("error: out of luck")
    if "wrong" in line:
        print('{{"errors":["a.toml:1: a", "b"]}}', flush=True)
        continue
    print("starting", file=sys.stderr, flush=True)
    print('{{"number":' + str(number) + '}}\\n{{"end":{{"measurements":1}}}}', flush=True)
"""


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(program.stop)
        stand_in = Path(self.folder.name) / "instr_bench"
        stand_in.write_text(STAND_IN.format(python=sys.executable))
        stand_in.chmod(stat.S_IRWXU)
        for patch in (mock.patch.object(program, "find_program", lambda: str(stand_in)),
                      mock.patch("sys.stderr")):
            self.addCleanup(patch.stop)
            self.error_output = patch.start()

    def process(self):
        return program._server._process

    def test_one_process_serves_all_counts_and_shows_its_progress(self):
        self.assertEqual(program.count("a", []), [{"number": 0}])
        first = self.process()
        self.assertEqual(program.count("b", []), [{"number": 1}])
        self.assertIs(self.process(), first)
        self.error_output.write.assert_called_with("starting\n")

    def test_an_error_of_a_definition_leaves_the_process(self):
        with self.assertRaisesRegex(CountError, "^a.toml:1: a\nb$"):
            program.count("wrong", [])
        self.assertEqual(program.count("b", []), [{"number": 1}])

    def test_the_end_of_the_process_is_an_error_and_the_next_count_starts_another(self):
        with self.assertRaisesRegex(CountError, "error: out of luck"):
            program.count("last", [])
        self.assertEqual(program.count("a", []), [{"number": 0}])

    def test_an_interruption_ends_the_process(self):
        program.count("a", [])
        process = self.process()
        with mock.patch.object(program.json, "loads", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                program.count("b", [])
        self.assertIsNotNone(process.poll())
        self.assertEqual(program.count("a", []), [{"number": 0}])

    def test_a_forked_process_has_another_and_does_not_hold_the_pipes(self):
        program.count("a", [])
        (reply, write_reply), (release, write_release) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write_reply, repr(program.count("b", [])).encode())
            os.close(write_release)
            os.read(release, 1)
            program.stop()
            os._exit(0)
        self.assertEqual(os.read(reply, 100), b"[{'number': 0}]")
        self.assertEqual(program.count("c", []), [{"number": 1}])
        program.stop()  # would wait for the child
        os.close(write_release)
        os.waitpid(child, 0)
        for pipe in (reply, write_reply, release):
            os.close(pipe)


if __name__ == "__main__":
    unittest.main()
