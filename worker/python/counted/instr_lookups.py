"""Makes the cost of looking up attributes independent of what else was imported.

CPython keeps results of looking up a name in a type in a table of 4,096 entries. Which entry a pair uses
follows from the address of the name and from the version number of the type; two pairs with the same entry
replace each other, and each is then looked up again, in all bases. Addresses and version numbers follow from
all that was created before, so that a change of one module would move the collisions of all others. Here both
follow from names alone: those of attributes are placed by placed_names.cpp, types get their version here.
"""

import builtins
import ctypes
import gc
import sys
import types

_LONGEST_NAME = 94  # that has a place


def _texts_in(code):
    yield from code.co_names
    yield from code.co_varnames
    for constant in code.co_consts:
        if type(constant) is str:
            yield constant
        elif isinstance(constant, types.CodeType):
            yield from _texts_in(constant)


def write_names(path):
    """Writes the names in everything imported and compiled so far, sorted, one in each line."""
    names = set()
    for one in gc.get_objects():
        names.update(other for other in gc.get_referents(one) if type(other) is str)
        if type(one) is types.FunctionType:
            names.update(_texts_in(one.__code__))
    with open(path, "w") as file:
        for name in sorted(names):
            if name.isascii() and name.isidentifier() and 1 < len(name) <= _LONGEST_NAME:
                file.write(f"{name}\n")


# In a type object of CPython 3.9 to 3.14, on a machine of 64 bits.
_FLAGS_AT, _VERSION_AT = 168, 384
_HAS_VERSION, _IS_STATIC = 1 << 19, 1 << 1
_SETS_FLAG = sys.version_info < (3, 13)  # later, a type without a version has the number 0

# Since 3.12, the interpreter's own types have numbers below 2 << 16, and all others begin there.
_FIRST_OF_IMPORTS = 2 << 16 if sys.version_info >= (3, 12) else 0
_LAST_OF_IMPORTS = _FIRST_OF_IMPORTS + (1 << 15)  # the interpreter continues with the next number
_FIRST_OF_NAMES, _NUMBERS_OF_NAMES = 1 << 28, 1 << 24


def _version(one):
    return ctypes.c_uint.from_address(id(one) + _VERSION_AT)


def _all_types():
    found, pending = {id(object): object}, [object]
    while pending:
        for one in type.__subclasses__(pending.pop()):
            if id(one) not in found:
                found[id(one)] = one
                pending.append(one)
    return list(found.values())


def _name(one):
    module = type.__dict__["__dict__"].__get__(one).get("__module__")
    return f"{module if isinstance(module, str) else ''}.{type.__dict__['__qualname__'].__get__(one)}"


def _look_up(one):
    """Gives a type a version number, if it has none."""
    try:
        type.__getattribute__(one, "instr_")
    except AttributeError:
        pass


def _skip_versions(last):
    """Uses up the interpreter's version numbers. False: there are others, or they are elsewhere."""
    modified, before = None, None
    while True:
        modified = modified or type("Modified", (), {})
        modified.attribute = None
        _look_up(modified)
        version = _version(modified).value
        if version == 0:
            modified = None  # a type has 1,000 at most, since 3.13
        elif version >= last or (before is not None and not 0 < version - before < 100):
            return version == last
        else:
            before = version


def align_versions():
    """Has types that are made or modified later get numbers that begin at a new page of the table."""
    modified = type("Modified", (), {})
    _look_up(modified)
    _skip_versions((_version(modified).value | 4095) + 1)


_pinned = {}  # version numbers, by the address of the type
_rounds = 0


def pin_type_versions():
    """Gives each type a version number that follows from its name; those of types made or modified later follow from
    the order in which they are used, until the next call."""
    global _rounds
    if not _rounds and not _skip_versions(_LAST_OF_IMPORTS):
        align_versions()
        return
    first = _FIRST_OF_NAMES + _rounds * _NUMBERS_OF_NAMES  # never used before
    unpinned = [one for one in _all_types() if id(one) not in _pinned or _pinned[id(one)].value < _FIRST_OF_NAMES]
    taken = set()
    for name, one in sorted(((_name(one), one) for one in unpinned), key=lambda pair: pair[0]):
        _look_up(one)
        flags = ctypes.c_ulong.from_address(id(one) + _FLAGS_AT).value
        version = _version(one)
        has_version = flags & _HAS_VERSION if _SETS_FLAG else version.value
        if has_version and not flags & _IS_STATIC:
            number = hash(name) % _NUMBERS_OF_NAMES
            while number in taken:
                number += 1
            taken.add(number)
            version.value = first + number
            _pinned[id(one)] = version
    _rounds += 1
    align_versions()  # however many types there are


def _internals_of_pybind11():
    """Yields the addresses of the structures that pybind11 shares between modules."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
    api.PyInterpreterState_GetDict.restype = ctypes.c_void_p  # a borrowed reference
    api.PyCapsule_GetName.argtypes, api.PyCapsule_GetName.restype = [ctypes.py_object], ctypes.c_char_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    state = api.PyInterpreterState_GetDict(api.PyInterpreterState_Get())
    for place in ctypes.cast(state, ctypes.py_object).value, vars(builtins):
        for name, capsule in list(place.items()):
            if isinstance(name, str) and name.startswith("__pybind11_internals_"):
                pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
                yield ctypes.c_void_p.from_address(pointer).value


# In these structures: the third hash table of libstdc++, whose keys are the addresses of C++ objects.
_BUCKETS_AT, _SIZE_AT, _LOAD_AT, _LIMIT_AT = 120, 136, 144, 152


def spread_instances(torch):
    """Lowers the load of pybind11's table of instances, from the next one on. An instance's bucket follows
    from its address, and the time that a lookup takes from how many others have the same bucket."""
    for at in _internals_of_pybind11():
        buckets = ctypes.c_uint64.from_address(at + _BUCKETS_AT).value
        limit = ctypes.c_uint64.from_address(at + _LIMIT_AT)
        load = ctypes.c_float.from_address(at + _LOAD_AT)
        size = ctypes.c_uint64.from_address(at + _SIZE_AT).value
        if load.value == 1 and limit.value == buckets and size <= buckets:
            load.value, limit.value = 1 / 64, 0
    if hasattr(torch._C, "parse_schema"):
        torch._C.parse_schema("instr() -> ()")  # an instance
