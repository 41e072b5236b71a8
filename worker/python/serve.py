"""The side of Python of the Python worker.

Run by the user's own interpreter, in a pinned environment, with the arguments serve or prime, FOLDER, and
the names of modules to import before anything is forked. FOLDER, of fixed
length wherever it is, holds worker.so and, as path/0, path/1, ..., links to the entries of the
interpreter's module path, so that no installation's path shows on the heap. The current folder is /.
"""

import os
import sys
from importlib.machinery import FileFinder

_task, _folder = sys.argv[1], sys.argv[2]


class _Everything:
    """The content of any folder."""

    def __contains__(self, name):
        return True


class _Finder(FileFinder):
    """Looks for each file, where the usual one reads the folder, and keeps its names on the heap."""

    def _fill_cache(self):
        self._path_cache = self._relaxed_path_cache = _Everything()


def _pin_paths():
    """Lets modules be found by FOLDER's links, and nothing learn where these lead."""
    usual = os.path.realpath

    def realpath(path, **options):
        text = os.fspath(path)
        at_home = isinstance(text, str) and text.startswith(_folder)
        return os.path.abspath(text) if at_home else usual(text, **options)

    os.path.realpath = realpath
    number = 0
    while os.path.exists(entry := f"{_folder}/path/{number}"):
        sys.path.append(entry)
        number += 1
    loaders = sys.path_hooks.pop()(_folder)._loaders
    by_loader = {}
    for suffix, loader in loaders:
        by_loader.setdefault(loader, []).append(suffix)
    sys.path_hooks.append(_Finder.path_hook(*by_loader.items()))
    sys.path_importer_cache.clear()


_pin_paths()
os.environ.pop("LD_PRELOAD", None)  # programs started from here have an allocator of their own

import ctypes

_NAMES = f"{_folder}/names"  # written once; a native worker has none
if os.path.exists(_NAMES):
    ctypes.PyDLL(f"{_folder}/worker.so").instr_place_names(_NAMES.encode())

import builtins
import dis
import gc
import importlib
import json
import marshal
import opcode
import random
import subprocess
import tempfile
import types

import torch


def version():
    return torch.__version__.split("+")[0]


def cpu_capability():
    cpu = getattr(torch.backends, "cpu", None)  # not before 2.0
    if hasattr(cpu, "get_cpu_capability"):
        return cpu.get_cpu_capability()
    mark = "CPU capability usage: "
    for line in torch.__config__.show().splitlines():
        if mark in line:
            return line.split(mark)[1]
    return "unknown"


def prepare(threads):
    """The state that a snippet finds: seeds, number of threads."""
    torch.set_num_threads(threads)
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)
    random.seed(0)


def _loaded(code):
    namespace = {"__name__": "__main__", "__builtins__": builtins, "torch": torch}
    exec(marshal.loads(code), namespace)
    return namespace


def described(code):
    """A function's name and place, as JSON; of a library's, the file as it is imported."""
    file = code.co_filename
    homes = [os.path.dirname(os.__file__), *sys.path]
    for home in sorted(homes, key=len, reverse=True):
        if file.startswith(home + "/"):
            file = file[len(home) + 1 :]
            break
    name = getattr(code, "co_qualname", code.co_name)  # not before 3.11
    return json.dumps({"name": name, "file": file, "line": code.co_firstlineno})


def describe_processor():
    """Has cpuinfo look at the machine now, which LibTorch asks in one of its first operations."""
    for library in "libc10.so", "libcpuinfo.so.0":
        try:
            ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW).cpuinfo_initialize()
        except (OSError, AttributeError):
            pass


def adaptation():
    """How this interpreter specialises instructions: where a code object's size is, in instructions, and
    where these begin; for each opcode, how many caches follow, and whether it is a general one.
    Nothing: it does not, or in a way that is not known."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info < (3, 15):
        return None
    code = version.__code__  # not one that runs, and may change meanwhile
    size_at, begin = object.__basicsize__, type(code).__basicsize__
    size = 2 * ctypes.c_ssize_t.from_address(id(code) + size_at).value
    if ctypes.string_at(id(code) + begin, len(code.co_code)) != code._co_code_adaptive:
        return None
    if size != len(code.co_code):
        return None
    numbers = opcode.opmap | getattr(opcode, "_specialized_opmap", getattr(dis, "_all_opmap", {}))
    sizes = opcode._inline_cache_entries
    if isinstance(sizes, dict):  # since 3.13, by name
        sizes = {numbers[name]: count for name, count in sizes.items()}
        sizes = [sizes.get(number, 0) for number in range(256)]
    caches, is_general = bytearray(sizes[:256]), bytearray([True] * 256)
    for name, special_forms in opcode._specializations.items():
        for special in special_forms:
            caches[numbers[special]] = caches[numbers[name]]
            is_general[numbers[special]] = special.endswith("_ADAPTIVE")  # only waits for it, in 3.11
    return size_at, begin, bytes(caches), bytes(is_general)


_END = "end", 0, ""


def _ended(error):
    """How code ended: "exit" and the status, or "exception", the line in its code and the text."""
    if isinstance(error, SystemExit):
        status = error.code
        return "exit", 0 if status is None else status if isinstance(status, int) else 1, ""
    return "exception", _line_of(error), _text_of(error)


def _use_own_cache(code):
    """Gives the snippet a cache of its own. In one that others fill, it would look at a lock as often
    as their compiling takes."""
    name = f"{hash(code) & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{_caches}/{name}"


def _compile_elsewhere(code):
    """Has another process fill the compiler's cache, so that this one finds the same each time. Only
    the other one looks if it is filled, since to look leaves traces on the heap."""
    child = os.fork()
    if child == 0:
        try:
            _fill_cache(code)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _fill_cache(code):
    done = f"{os.environ['TORCHINDUCTOR_CACHE_DIR']}/done"
    if os.path.exists(done):
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
    open(done, "w").close()


_caches = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
_TEMPORARY = 100  # the descriptor of the folder of temporary files

snippet = None  # the function being counted

_native = None  # functions of the counting worker
_PINNED_RANDOM, _PINNED_CLOCK, _PINNED_ID = 1, 2, 3


def connect(*functions):
    global _native
    _native = types.SimpleNamespace(**{function.__name__: function for function in functions})


def _use_own_temporary_folder():
    """Makes the current folder, which no other process uses, that of temporary files."""
    current = os.open(".", os.O_RDONLY)
    os.dup2(current, _TEMPORARY)
    os.close(current)
    tempfile.tempdir = f"/proc/self/fd/{_TEMPORARY}"
    _Popen.descriptors += (_TEMPORARY,)


_compiles = False  # the statement compiles, in each iteration


def reset():
    """Removes garbage, and exempts all other objects from later searches. A statement that compiles finds
    nothing compiled."""
    if _compiles:
        torch._dynamo.reset()
        torch._inductor.utils.clear_caches()
    gc.collect()
    if _is_for_compiler:
        _lookups.pin_context_hashes()  # compiled functions set context variables
    gc.freeze()


def _counted(compile):
    def counted(*arguments, **options):
        with torch._dynamo.utils.CompileTimeInstructionCounter.record():
            return compile(*arguments, **options)

    return counted


def _count_compiling():
    """Puts Callgrind in the place of the processor's counter of instructions. PyTorch does not count
    exporting, all of which is counted here."""
    import torch.export  # not before 2.1

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
    names = _loaded(code)
    snippet = names["instr_snippet_"]
    _compiles = "instr_compiles_" in names
    if _compiles:
        _count_compiling()


def run(code):
    """Runs a snippet as it is counted. How it ended."""
    try:
        if _is_for_compiler:
            _use_own_cache(code)
            _compile_elsewhere(code)
        if _is_pinned:
            _native.pin(_PINNED_ID)
            _use_own_temporary_folder()
        _load_snippet(code)
        snippet(_native.next_block, abs, _native.simulate, range)
    except BaseException as error:
        return _ended(error)
    return _END


_first = None  # _loaded_once()'s first result


def _loaded_once(code):
    """As _loaded(). All that a process times or verifies is of one benchmark and has the same global
    setup: if that raises an exception the second time, as registering an operator does, the snippet's
    functions use what the first time has left."""
    global _first
    try:
        names = _loaded(code)
    except Exception:
        if _first is None:
            raise
        constants = marshal.loads(code).co_consts
        functions = [one for one in constants if isinstance(one, types.CodeType)]
        return {one.co_name: types.FunctionType(one, _first)
                for one in functions if one.co_name.startswith("instr_")}
    _first = _first or names
    return names


class Suspended:
    """A snippet as it is timed: suspended between blocks."""

    def __init__(self, code, mark):
        self._code, self._mark, self._snippet = code, mark, None

    def resume(self, iterations):
        """Runs the setup and then, each time, a block of so many iterations; 0: leaves the loop.
        How it ended, or nothing."""
        try:
            if self._snippet is None:
                self._snippet = _loaded_once(self._code)["instr_timed_snippet_"](self._mark, bool, range)
                next(self._snippet)
            else:
                self._snippet.send(iterations)
        except StopIteration:
            return _END
        except BaseException as error:
            return _ended(error)


def compiled_graphs():
    """How many graphs torch.compile() has made here, and in how many places it could not; nothing if it
    has not run."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters:
        return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


class _Verification:
    """What the code of a verifier calls. `begin` and `take` are the worker's."""

    def __init__(self, is_reference, begin, take):
        self.is_reference, self._begin, self._take = is_reference, begin, take

    def begin(self):
        self._begin(None)

    def to_reference(self, *values):
        return [self._in_double(value) for value in values]

    def _in_double(self, value):
        if isinstance(value, (list, tuple)):
            return type(value)(self._in_double(one) for one in value)
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            return value
        exact = torch.complex128 if value.is_complex() else torch.float64
        return value.detach().to(exact).requires_grad_(value.requires_grad)

    def copies(self, *values):
        return [self._copy(value) for value in values]

    def _copy(self, value):
        if isinstance(value, (list, tuple)):
            return type(value)(self._copy(one) for one in value)
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    def watch(self, *values):
        for value in values:
            for _, tensor in _tensors_in("", value):
                if tensor.requires_grad:
                    tensor.retain_grad()
                    tensor.grad = None

    def output(self, variables, name):
        """Hands over the statement's output. False: it is not a tensor, and there is nothing more."""
        if name not in variables:
            self._take(("", "", "no value: the statement does not assign one to the output's name"))
            return False
        self._hand_over("", variables[name])
        return isinstance(variables[name], torch.Tensor)

    def gradients(self, name, value):
        for part, tensor in _tensors_in(name, value):
            if tensor.requires_grad:
                self._hand_over(f"gradient of {part}", tensor.grad)

    def _hand_over(self, name, value):
        if value is None and name:
            self._take((name, "", "there is none"))
        elif not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            self._take((name, "", f"a{'n' if kind[0] in 'aeiou' else ''} {kind}, not a tensor"))
        else:
            plain = value.detach().resolve_conj().resolve_neg()
            # Of the types, DLPack lacks this one in older versions.
            plain = plain.to(torch.uint8) if plain.dtype is torch.bool else plain
            plain = plain.cpu() if plain.device.type == "xla" else plain
            self._take((name, torch.utils.dlpack.to_dlpack(plain), ""))


def _tensors_in(name, value):
    """Those of an argument, or of a module's parameters, with their names."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        yield from value.named_parameters()
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            yield from _tensors_in(f"{name}[{i}]", one)


def verify(code, is_reference, begin, take):
    """Runs a verifier. How it ended."""
    try:
        _loaded_once(code)["instr_verifier_"](_Verification(bool(is_reference), begin, take))
    except BaseException as error:
        return _ended(error)
    return _END


def _line_of(error):
    """Of the snippet's innermost frame; 0: it has none."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<snippet>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _text_of(error):
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = "an exception whose text raises another one"
    return f"{name}: {text}" if text else name


def _forget_devices():
    """As in worker/torch_side.cpp."""
    cpu, meta = 0, 14
    name = "_ZN3c104impl26device_guard_impl_registryE"
    registry = (ctypes.c_void_p * meta).in_dll(ctypes.CDLL(torch._C.__file__), name)
    for device in range(cpu + 1, meta):
        registry[device] = None


def _warm_up_eager():
    for _ in range(3):
        x = torch.rand((4, 4))
        w = torch.rand((4, 4), requires_grad=True)
        y = torch.mm(x, w)
        y = torch.relu(y + x) * 2
        y = y.t().contiguous().view(16).sum()
        y.backward()


_COMPILER = "torch._inductor.compile_fx"  # what torch.compile() needs; a torch may be too old for it


def _import_own(module):
    """Imports a module that is beside this one."""
    sys.path.append(_folder)
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(_folder)


def _import_if_possible(module):
    """Otherwise whoever needs it says why."""
    try:
        importlib.import_module(module)
    except Exception:
        pass


class _Popen(subprocess.Popen):
    """For programs for which FOLDER and the temporary folder have the same names."""

    descriptors = (int(_folder.rsplit("/", 1)[1]),)

    def __init__(self, *arguments, pass_fds=(), **options):
        super().__init__(*arguments, pass_fds=(*pass_fds, *self.descriptors), **options)


_lookups = None  # instr_lookups
_is_for_compiler = False
_is_pinned = False  # what differs between runs, such as clocks


def import_for(kind):
    global _is_for_compiler, _is_pinned, _lookups
    _is_for_compiler = kind == "compiler"
    _is_pinned = kind != "python"
    if _is_pinned:
        _native.pin(_PINNED_RANDOM)
    _lookups = _import_own("instr_lookups")
    if _is_for_compiler:
        _import_if_possible(_COMPILER)
        _lookups.pin_context_hashes()
    _lookups.pin_type_versions()


def warm_up(kind):
    _forget_devices()
    prepare(1)
    if kind != "cold_python":
        _warm_up_eager()
    # From here on there is nothing to collect, and what is there is never looked at again.
    gc.collect()
    gc.freeze()
    gc.disable()


subprocess.Popen = _Popen
if _task == "prime":
    _import_if_possible(_COMPILER)
    _import_own("instr_lookups").write_names(_NAMES)
elif __name__ == "__main__":
    for _name in sys.argv[3:]:
        _import_if_possible(_COMPILER if _name == "compiler" else _name)
    serve = ctypes.PyDLL(f"{_folder}/worker.so").instr_serve
    serve.argtypes = [ctypes.py_object]
    serve(sys.modules["__main__"])
