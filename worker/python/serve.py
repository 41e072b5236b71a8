"""The Python part of the worker.

The user's own interpreter runs it, in a pinned environment, with the arguments serve or prime, FOLDER, and
the names of modules to import before anything is forked, or without_torch, or tests. FOLDER, whose name has
the same length everywhere, holds worker.so and, as path/00, path/01, ..., links to the entries of the
interpreter's module path among empty folders, so that no installation's path is on the heap. The current
folder is /.
"""

import gc
import os
import sys
from importlib._bootstrap_external import FileFinder, _get_supported_file_loaders

_task, folder = sys.argv[1], sys.argv[2]
_NAMES = f"{folder}/names"  # made by the task prime, for counting workers
if os.path.exists(_NAMES):
    gc.disable()  # a collection depends on all objects that came and went


# A folder's content that has each name.
_EVERYTHING = type("Everything", (), {"__contains__": lambda self, name: True})()
_LOADERS = _get_supported_file_loaders()
_ENDINGS = ["", *(suffix for _, suffixes in _LOADERS for suffix in suffixes)]


class _Finder(FileFinder):
    """Looks for each file. The usual finder reads the folder and keeps its names on the heap. What is not
    there leaves no trace, not even a freed object that the interpreter keeps."""

    def _fill_cache(self):
        self._path_cache = self._relaxed_path_cache = _EVERYTHING

    def find_spec(self, name, target=None):
        start = f"{self.path}/{name[name.rfind('.') + 1:]}"
        for ending in _ENDINGS:
            if os.access(start + ending, os.F_OK):
                return super().find_spec(name, target)
        return None


# FOLDER, and the folders of tests and of what runs.
_HOMES = folder, "/proc/self/fd/7", "/proc/self/fd/101"


def _pin_paths():
    """Has modules found through FOLDER's links, and hides where these lead and how many there are."""
    usual = os.path.realpath

    def realpath(path, **options):
        text = os.fspath(path)
        at_home = isinstance(text, str) and text.startswith(_HOMES)
        return os.path.abspath(text) if at_home else usual(text, **options)

    os.path.realpath = realpath
    sys.path_hooks[-1] = _Finder.path_hook(*_LOADERS)
    sys.path_importer_cache.clear()
    number = 0
    while os.path.exists(entry := f"{folder}/path/{number:02}"):
        sys.path.append(entry)
        sys.path_importer_cache[entry] = _Finder(entry, *_LOADERS)
        number += 1


_pin_paths()
os.environ.pop("LD_PRELOAD", None)  # programs started from here have an allocator of their own

import ctypes

if os.path.exists(_NAMES):
    _worker = ctypes.PyDLL(f"{folder}/worker.so")
    _worker.instr_place_names(_NAMES.encode())
    _worker.instr_pin_context_hashes()

import builtins
import dis
import importlib
import json
import marshal
import opcode
import random
import subprocess
import tempfile
import types

torch = None if "without_torch" in sys.argv[3:] else importlib.import_module("torch")


def version():
    return torch.__version__.split("+")[0] if torch else ""


def cpu_capability():
    if not torch:
        return ""
    cpu = getattr(torch.backends, "cpu", None)  # missing before 2.0
    if hasattr(cpu, "get_cpu_capability"):
        return cpu.get_cpu_capability()
    mark = "CPU capability usage: "
    for line in torch.__config__.show().splitlines():
        if mark in line:
            return line.split(mark)[1]
    return "unknown"


def prepare(threads):
    """Sets the number of threads and the seeds that a snippet finds."""
    random.seed(0)
    if not torch:
        return
    torch.set_num_threads(threads)
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)
        _disable_device_threads()


def loaded(code):
    """Runs the code of a unit and returns its names."""
    namespace = {"__name__": "__main__", "__builtins__": builtins, "torch": torch}
    exec(marshal.loads(code), namespace)
    return namespace


def described(code):
    """Returns a function's name and place as JSON, with a file name relative to the module path."""
    file = code.co_filename
    homes = [os.path.dirname(os.__file__), *sys.path]
    for home in sorted(homes, key=len, reverse=True):
        if file.startswith(home + "/"):
            file = file[len(home) + 1 :]
            break
    name = getattr(code, "co_qualname", code.co_name)  # missing before 3.11
    return json.dumps({"name": name, "file": file, "line": code.co_firstlineno})


def describe_processor():
    """Has cpuinfo examine the machine now: one of LibTorch's first operations would do it otherwise."""
    for library in "libc10.so", "libcpuinfo.so.0":
        try:
            ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW).cpuinfo_initialize()
        except (OSError, AttributeError):
            pass


def adaptation():
    """Describes how this interpreter specialises instructions: the offset in a code object of its size, in
    instructions, and of the first of these; for each opcode, how many caches follow it, and whether it is
    not specialised. Returns None if the interpreter specialises none, or in an unknown way."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info < (3, 15):
        return None
    code = version.__code__  # any code that does not run, and so does not change meanwhile
    size_at, begin = object.__basicsize__, type(code).__basicsize__
    size = 2 * ctypes.c_ssize_t.from_address(id(code) + size_at).value
    if ctypes.string_at(id(code) + begin, len(code.co_code)) != code._co_code_adaptive:
        return None
    if size != len(code.co_code):
        return None
    numbers = opcode.opmap | getattr(opcode, "_specialized_opmap", getattr(dis, "_all_opmap", {}))
    sizes = opcode._inline_cache_entries
    if isinstance(sizes, dict):  # keyed by name since 3.13
        sizes = {numbers[name]: count for name, count in sizes.items()}
        sizes = [sizes.get(number, 0) for number in range(256)]
    caches, is_general = bytearray(sizes[:256]), bytearray([True] * 256)
    for name, special_forms in opcode._specializations.items():
        for special in special_forms:
            caches[numbers[special]] = caches[numbers[name]]
            is_general[numbers[special]] = special.endswith("_ADAPTIVE")  # 3.11: not specialised yet
    return size_at, begin, bytes(caches), bytes(is_general)


END = "end", 0, ""


def ended(error):
    """Returns "exit" and the status, or "exception", the line in the snippet and the text."""
    if isinstance(error, SystemExit):
        status = error.code
        return "exit", 0 if status is None else status if isinstance(status, int) else 1, ""
    return "exception", _line_of(error), _text_of(error)


def _use_own_cache(code):
    """Gives the snippet its own compiler cache. In a shared one, it would check a lock as often as the
    compiling of others takes."""
    name = f"{hash(code) & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{_caches}/{name}"


def _compile_elsewhere(code):
    """Has another process fill the compiler's cache, so that this one finds the same each time. Only the
    other process checks whether it is filled, since checking changes the heap. Returns whether it is."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _fill_cache(code)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def _fill_cache(code):
    done = f"{os.environ['TORCHINDUCTOR_CACHE_DIR']}/done"
    if _is_unchanged(done):
        return
    _native.simulate(False)
    _native.pin(_PINNED_CLOCK)
    blocks = iter((1, 1, 0))

    def next_block(_):
        reset()
        return next(blocks)

    _load_snippet(code)
    snippet(next_block, abs, abs, range)
    os.makedirs(os.path.dirname(done), exist_ok=True)
    with open(f"{done}.{os.getpid()}", "w") as file:
        file.writelines(f"{_stamp(name)} {name}\n" for name in _files_of_modules())
    os.replace(file.name, done)


def _is_unchanged(done):
    """True if the cache was filled with the modules that there are now, such as an edited backend."""
    if not os.path.exists(done):
        return False
    with open(done) as file:
        stamps = [line.rstrip("\n").split(" ", 1) for line in file]
    return all(_stamp(name) == stamp for stamp, name in stamps)


def _files_of_modules():
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [file for file in files if isinstance(file, str) and "\n" not in file]


def _stamp(file):
    try:
        status = os.stat(file)
    except OSError:
        return "none"
    return f"{status.st_mtime_ns}.{status.st_size}"


_caches = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
_TEMPORARY, _SNIPPET_FOLDER = 100, 101  # the descriptors of these folders

snippet = None  # the function being counted

_native = None  # functions of the counting worker
_PINNED_RANDOM, _PINNED_CLOCK, _PINNED_ID = 1, 2, 3


def connect(*functions):
    global _native
    _native = types.SimpleNamespace(**{function.__name__: function for function in functions})


def _use_own_temporary_folder():
    """Has temporary files made in the current folder, which no other process uses."""
    current = os.open(".", os.O_RDONLY)
    os.dup2(current, _TEMPORARY)
    os.close(current)
    tempfile.tempdir = f"/proc/self/fd/{_TEMPORARY}"
    _Popen.descriptors += (_TEMPORARY,)


_compiles = False  # True if the statement compiles in each iteration


def reset():
    """Collects garbage, and exempts all other objects from later collections. Before a statement that
    compiles, removes what was compiled."""
    if _compiles:
        torch._dynamo.reset()
        torch._inductor.utils.clear_caches()
    gc.collect()
    gc.freeze()


def _counted(compile):
    def counted(*arguments, **options):
        with torch._dynamo.utils.CompileTimeInstructionCounter.record():
            return compile(*arguments, **options)

    return counted


def _count_compiling():
    """Replaces the processor's instruction counter by Callgrind. PyTorch does not mark a region in
    torch.export.export(), so all of it is counted."""
    import torch.export  # missing before 2.1

    utils = torch._dynamo.utils
    if not hasattr(utils, "CompileTimeInstructionCounter"):
        raise RuntimeError(f"torch {version()} does not count what compiling executes: a newer one is needed")
    utils._instruction_counter = types.SimpleNamespace(
        start=_native.begin_compiling, end=_native.end_compiling)
    torch.export.export = _counted(torch.export.export)
    torch._dynamo.config.record_compile_time_instruction_count = True
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False


def _load_snippet(code):
    global snippet, _compiles
    names = loaded(code)
    snippet = names["instr_snippet_"]
    _compiles = "instr_compiles_" in names
    if _compiles:
        _count_compiling()


def pin_type_versions():
    """Called once the snippet has compiled its functions."""
    if _is_for_compiler:
        _lookups.pin_type_versions()


def run(code):
    """Runs a snippet that is counted. Returns how it ended."""
    try:
        is_ready = True
        if _is_for_compiler:
            _use_own_cache(code)
            is_ready = _compile_elsewhere(code)
        if _is_pinned:
            _native.pin(_PINNED_ID)
            _use_own_temporary_folder()
        _load_snippet(code)
        snippet(_native.next_block, abs, _native.simulate, range)
        if not is_ready:
            raise RuntimeError("the snippet works, but not in the process that compiles it beforehand")
    except BaseException as error:
        return ended(error)
    return END


def _line_of(error):
    """Returns the line in the snippet's innermost frame; 0 if there is none."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<snippet>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _text_of(error):
    try:
        text = str(error)
    except BaseException:
        text = "an exception whose text raises another one"
    if torch and "does not require grad" in text and not torch.is_grad_enabled():
        text = "gradients are switched off, as by torch.set_grad_enabled(False) in the setup"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _forget_devices():
    """Does the same as forget_devices() in worker/torch_side.cpp, and returns what restores them."""
    if not torch:
        return None
    cpu, meta = 0, 14
    name = "_ZN3c104impl26device_guard_impl_registryE"
    registry = (ctypes.c_void_p * meta).in_dll(ctypes.CDLL(torch._C.__file__), name)
    known = list(registry)
    for device in range(cpu + 1, meta):
        registry[device] = None

    def restore():
        registry[:] = known

    return restore


def _disable_device_threads():
    """Does the same as disable_device_threads() in worker/torch_side.cpp. In each process, since torch has another
    engine after a fork."""
    torch.autograd.set_multithreading_enabled(False)
    restore = _forget_devices()
    library = ctypes.CDLL(torch._C.__file__)
    engine = library._ZN5torch8autograd6Engine18get_default_engineEv
    engine.restype = ctypes.c_void_p
    library._ZN5torch8autograd6Engine30initialize_device_threads_poolEv(ctypes.c_void_p(engine()))
    restore()


def _disable_progress_bars_thread():
    """Has tqdm, which torch imports if it is there, start no thread with the first progress bar, such as Inductor's."""
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.monitor_interval = 0


_COMPILER = "torch._inductor.compile_fx"  # has all that torch.compile() needs; old versions lack it


def _import_own(module):
    """Imports a module that is beside this file."""
    sys.path.append(folder)
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(folder)


def _run_if_possible(function):
    """If the function fails, the snippets that need what it uses will report why."""
    try:
        function()
    except Exception:
        pass


def _import_if_possible(module):
    _run_if_possible(lambda: importlib.import_module(module))


class _Popen(subprocess.Popen):
    """Starts programs for which FOLDER and the temporary folder have the same names as here."""

    descriptors = (int(folder.rsplit("/", 1)[1]), _SNIPPET_FOLDER)

    def __init__(self, *arguments, pass_fds=(), **options):
        own = [number for number in self.descriptors if os.path.exists(f"/proc/self/fd/{number}")]
        super().__init__(*arguments, pass_fds=(*pass_fds, *own), **options)


_lookups = _warm_up = None  # the modules instr_lookups and instr_warm_up
_rehearsed = None  # the text of the snippet of a rehearsal
_is_for_compiler = False
_is_pinned = False  # True if answers that differ between runs, such as random numbers, are pinned


def import_for(kind):
    global _is_for_compiler, _is_pinned, _lookups, _warm_up
    _is_for_compiler = kind.startswith("compiler")
    _is_pinned = _is_for_compiler or kind == "cold_python"
    if _is_pinned:
        _native.pin(_PINNED_RANDOM)
    if _is_for_compiler:
        _import_if_possible(_COMPILER)
    if not kind.endswith("cuda"):
        _forget_devices()
    prepare(1)
    _disable_progress_bars_thread()
    _warm_up = _import_own("instr_warm_up")
    if kind == "python_torchscript":
        _run_if_possible(_warm_up.torchscript)  # on first use, it compiles its own functions
    _lookups = _import_own("instr_lookups")
    if torch:
        _lookups.spread_instances(torch)
    _lookups.pin_type_versions()
    _settle_heap()


def _settle_heap():
    """Leaves nothing to collect, and has no later collection visit these objects."""
    gc.collect()
    gc.freeze()


def warm_up(kind):
    global _rehearsed
    is_cold = kind == "cold_python" or not torch
    _rehearsed = _warm_up.REHEARSED_WITHOUT_TORCH if is_cold else _warm_up.REHEARSED
    if kind.endswith("cuda"):
        _warm_up.cuda()
        if "torchscript" in kind:
            _run_if_possible(_warm_up.torchscript_on_cuda)
    elif not is_cold:
        if "torchscript" in kind:
            _run_if_possible(_warm_up.torchscript)
        _warm_up.eager()
    # From here on, modules are imported by snippets (loaded_modules.cpp).
    sys.modules["instr_lookups"] = sys.modules.pop("instr_lookups")
    _settle_heap()


def rehearse():
    global snippet
    _load_snippet(marshal.dumps(compile(_rehearsed, "<snippet>", "exec")))
    snippet(_native.next_block, abs, _native.simulate, range)
    snippet = None
    _settle_heap()


def _import_all_and_write_names():
    """Imports the modules that zygotes import, also those that torch imports on first use."""
    if not torch:  # others have the same names whether or not pytest is installed
        _run_if_possible(lambda: importlib.import_module("_pytest.config").get_config())  # imports its plugins
    else:
        _import_if_possible(_COMPILER)
        _forget_devices()
        module = _import_own("instr_warm_up")
        with tempfile.TemporaryDirectory() as caches:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = caches
            _run_if_possible(module.compiler)
        _run_if_possible(module.torchscript)
    _import_own("instr_lookups").write_names(_NAMES)


subprocess.Popen = _Popen
if _task == "prime":
    _import_all_and_write_names()
elif __name__ == "__main__":
    for _name in sys.argv[3:]:
        if _name == "tests":
            _import_own("instr_pytest").collect()
        elif _name != "without_torch":
            _import_if_possible(_COMPILER if _name == "compiler" else _name)
    serve = ctypes.PyDLL(f"{folder}/worker.so").instr_serve
    serve.argtypes = [ctypes.py_object]
    serve(sys.modules["__main__"])
