"""The worker's parts that depend on the layout of CPython's objects, in each CPython of PATH, without torch."""
import ast
import ctypes
import dis
import glob
import opcode
import os
import subprocess
import sys
import tempfile
import types
import unittest
from contextvars import ContextVar
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "worker/python"
LIBRARY = os.environ.get("INSTR_TEST_COUNTED_SIDE", "")
UNITS, UNIT, PAGE, BASE = 1 << 20, 16, 32 << 10, 0x5_D000_0000
WORD = (1 << 64) - 1


def side():
    library = ctypes.PyDLL(LIBRARY)
    library._ZN5instr8set_sideEP7_object.argtypes = [ctypes.py_object]
    library._ZN5instr10torch_side11settle_codeEm.argtypes = [ctypes.c_uint64]
    return library


def place_of(name):
    hash = 0x811C9DC5
    for byte in name.encode():
        hash = (hash ^ byte) * 0x01000193 % (1 << 32)
    return hash % UNITS * UNIT


def check_names(folder):
    names = sorted((f"n{i * 7919}_{i}" for i in range(3000)), key=place_of)
    first, twin = next(pair for pair in zip(names, names[1:]) if place_of(pair[1]) - place_of(pair[0]) < 3 * UNIT)
    longest = "n" * int("94")  # made here: a constant is a name that the interpreter uses
    before = id(sys.intern("appe" + "nd"))
    Path(folder, "names").write_text(f"append\n{first}\n{twin}\n{longest}\n")
    side().instr_place_names(f"{folder}/names".encode())
    # The twin has the same place in the next page.
    for name, place in (first, place_of(first)), (twin, place_of(twin) + PAGE), (longest, place_of(longest)):
        placed = sys.intern("".join(list(name)))
        assert id(placed) == BASE + place % (UNITS * UNIT), (name, hex(id(placed)))
        assert placed == name and hash(placed) == hash("".join(list(name))) and len(placed) == len(name)
    assert id(sys.intern("append")) == before, "a name that the interpreter uses already has moved"
    thing = types.SimpleNamespace()
    setattr(thing, twin, 1)
    assert getattr(thing, "".join(list(twin))) == 1


def context_hash(name, number):
    """Computes what context_hashes.cpp promises: words of eight characters, but for those with a digit."""
    text, hash = name.encode(), len(name)
    for at in range(0, len(text), 8):
        word = text[at : at + 8]
        if any(chr(byte).isdigit() for byte in word):
            continue
        mixed = (hash ^ int.from_bytes(word, "little")) * 0x9E3779B97F4A7C15 & WORD
        hash = (mixed << 32 | mixed >> 32) & WORD
    if number:
        hash = (hash ^ number) * 0x9E3779B97F4A7C15 & WORD
    return hash >> 1


def check_hashes(_):
    usual, library = hash(ContextVar("instr")), side()
    library.instr_pin_context_hashes()
    for name in "instr", "", "a_name_of_many_words", "at_0x7f33_and_more_text", "\u00e9":
        expected = context_hash(name.encode().decode("latin-1"), 0) if name.isascii() else None
        assert expected in (hash(ContextVar(name)), None), name
        assert hash(ContextVar(name)) == hash(ContextVar(name)), name
    assert hash(ContextVar("instr")) != usual
    assert hash(ContextVar("at_7f33_")) == hash(ContextVar("at_8e44_"))
    library._ZN5instr24number_context_variablesEv()
    for number in 1, 2, 3:
        assert hash(ContextVar("instr")) == context_hash("instr", number), number
        assert hash(ContextVar("other")) == context_hash("other", number), number
    variables = [ContextVar("same", default=i) for i in range(100)]
    for i, variable in enumerate(variables):
        variable.set(-i)
    assert [variable.get() for variable in variables] == [-i for i in range(100)]


def serve_function(name):
    tree = ast.parse((PYTHON / "serve.py").read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in (name, "version")]
    scope = {"ctypes": ctypes, "dis": dis, "opcode": opcode, "sys": sys}
    exec(compile(tree, "serve.py", "exec"), scope)
    return scope[name]


def is_cache(number):
    return dis.opname[number] == "CACHE"


def listed(function):
    return [step.opname for step in dis.get_instructions(function, adaptive=True) if "BINARY_OP" in step.opname]


def make_add():
    scope = {}
    exec("def add(x, y):\n    return x + (y + y)", scope)
    return scope["add"]


def check_code(_):
    adaptation = serve_function("adaptation")
    if sys.version_info < (3, 11):
        assert adaptation() is None
        return
    _, _, caches, is_general = adaptation()
    for code in (f.__code__ for f in vars(dis).values() if isinstance(f, types.FunctionType)):
        general = code.co_code  # each cache is a CACHE here
        at = 0
        while at < len(general):
            count = caches[general[at]]
            assert all(is_cache(general[at + 2 * i]) for i in range(1, count + 1)), general[at]
            at += 2 + 2 * count
            assert at == len(general) or not is_cache(general[at]), general[at]
    settled, other, library = make_add(), make_add(), side()
    module = types.SimpleNamespace(adaptation=adaptation, snippet=None)
    library._ZN5instr8set_sideEP7_object(module)
    library._ZN5instr16learn_adaptationEv()
    assert library._ZN5instr10torch_side9note_codeEv() & 0xFF
    for _ in range(20):  # for a type that the last iterations do not meet
        settled(1.5, 2.5)
    library._ZN5instr10torch_side15end_noting_codeEv()
    settle = library._ZN5instr10torch_side11settle_codeEm
    for iterations_left in 4, 3, 2, 1, 0:
        settle(iterations_left)
        settled(1, 2)
    assert listed(settled) == ["BINARY_OP_ADD_INT"] * 2, listed(settled)
    for function in settled, other:
        for _ in range(2000):
            function(1.5, 2.5)
    assert listed(settled) == ["BINARY_OP_ADD_INT"] * 2, listed(settled)
    assert listed(other) == ["BINARY_OP_ADD_FLOAT"] * 2, listed(other)
    special = [number for number in range(256) if not is_general[number]]
    assert all(not dis.opname[number] in dis.opmap for number in special)
    assert opcode.opmap["BINARY_OP"] not in special and special


def check_answers(_):
    import threading
    import time

    pin, real = ctypes.PyDLL(LIBRARY)._ZN5instr11pin_answersENS_6PinnedE, os.getpid()
    assert os.urandom(16) != os.urandom(16) and real == int(os.readlink("/proc/self"))
    pin(1)
    # Published outputs of splitmix64, from seed 0, begin with e220a8397b1dcdaf, 6e789e6aa1b965f4, ...
    assert os.urandom(4) == bytes([0xAF, 0xF4, 0x4F, 0xEC])
    assert abs(time.time() - os.stat("/proc/self").st_ctime) < 3600 and os.getpid() == real
    pin(2)
    begin = time.time_ns()
    assert begin // 10**15 == 1700 and [time.time_ns() - begin for _ in range(3)] == [1000, 2000, 3000]
    lock = threading.Lock()
    lock.acquire()
    waits = (lambda: time.sleep(0.002)), (lambda: lock.acquire(timeout=0.002))
    for wait in waits if sys.version_info >= (3, 11) else ():  # older ones wait with select()
        begin = time.monotonic_ns()
        wait()
        assert 2_000_000 <= time.monotonic_ns() - begin < 2_100_000
    assert os.getpid() == real
    pin(3)
    assert os.getpid() == 1_000_000


def check_files(folder):
    file, (user, group, number) = f"{folder}/file", map(int, os.environ["INSTR_TEST_FILE"].split())
    assert (user, group) != (0, 0)
    with open(file) as opened:
        for status in os.stat(file), os.lstat(file), os.fstat(opened.fileno()), next(os.scandir(folder)).stat():
            assert (status.st_uid, status.st_gid) == (0, 0)
            assert status.st_ino == 1000 + number % 10**9 and 1000 <= status.st_dev < 1000 + 10**9
            assert status.st_size == 5
    assert os.getuid() == os.geteuid() == os.getgid() == os.getegid() == 0


def check_types(_):
    sys.path.append(str(PYTHON / "counted"))
    import instr_lookups as lookups

    class Pinned:
        pass

    for one in object, int, Pinned, type, ContextVar:
        assert ctypes.c_ulong.from_address(id(one) + lookups._FLAGS_AT).value == one.__flags__, one
    lookups._look_up(Pinned)
    before = lookups._version(Pinned).value
    Pinned.attribute = 1
    lookups._look_up(Pinned)
    assert lookups._version(Pinned).value == before + 1 > 1
    lookups.pin_type_versions()
    number = lookups._version(Pinned).value - lookups._FIRST_OF_NAMES
    assert number == hash("__main__.check_types.<locals>.Pinned") % (1 << 24), number

    class Later:
        pass

    # In the table's first entries, however many types there were.
    lookups._look_up(Later)
    assert lookups._version(Later).value % 4096 < 64, lookups._version(Later).value
    Pinned.attribute = 2
    pinned = lookups._version(Pinned).value
    lookups.pin_type_versions()
    for name, one in ("Later", Later), ("Pinned", Pinned):
        number = lookups._version(one).value - lookups._FIRST_OF_NAMES - (1 << 24)
        assert number == hash(f"__main__.check_types.<locals>.{name}") % (1 << 24), (name, number)
    assert lookups._version(Pinned).value != pinned
    assert (Pinned.attribute, Later.__name__) == (2, "Later")


def interpreters():
    """Finds each CPython of at least 3.9 on PATH, by version."""
    found = {}
    ask = "import sys; print(sys.version_info >= (3, 9), sys.implementation.name, sys.version, sys.executable, sep='|')"
    programs = [sys.executable]
    for folder in os.get_exec_path():
        programs += glob.glob(f"{folder}/python3") + glob.glob(f"{folder}/python3.[0-9]*[0-9]")
    for program in programs:
        said = subprocess.run([program, "-c", ask], capture_output=True, text=True).stdout.split("|")
        if said[:2] == ["True", "cpython"]:
            found.setdefault(said[2], said[3].strip())
    return found


@unittest.skipUnless(LIBRARY, "INSTR_TEST_COUNTED_SIDE names no library")
class CountedSideTest(unittest.TestCase):
    def check(self, name):
        for version, program in interpreters().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                Path(folder, "file").write_text("12345")
                if os.getuid() == 0:
                    os.chown(f"{folder}/file", 12345, 12345)
                status = os.stat(f"{folder}/file")
                variables = {
                    "LD_PRELOAD": LIBRARY, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0",
                    "INSTR_TEST_COUNTED_SIDE": LIBRARY, "PYTHONDONTWRITEBYTECODE": "1",
                    "INSTR_TEST_FILE": f"{status.st_uid} {status.st_gid} {status.st_ino}"}
                child = subprocess.run([program, "-s", __file__, name, folder], env=variables, text=True,
                                       capture_output=True)
                self.assertEqual((child.returncode, child.stderr), (0, ""))

    def test_a_names_address_follows_from_its_text(self):
        self.check("names")

    def test_a_context_variables_hash_follows_from_its_name(self):
        self.check("hashes")

    def test_settled_code_is_never_specialised_again(self):
        self.check("code")

    def test_answers_are_the_same_in_each_run(self):
        self.check("answers")

    def test_files_and_users_have_numbers_of_one_size(self):
        self.check("files")

    def test_a_types_version_follows_from_its_name(self):
        self.check("types")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        globals()[f"check_{sys.argv[1]}"](sys.argv[2])
    else:
        unittest.main()
