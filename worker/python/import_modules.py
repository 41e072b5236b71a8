"""Imports a module in a bare interpreter, so that core/measure/import.cpp can count it.

Run with the arguments TASK, FOLDER and MODULE, by the user's interpreter. FOLDER, whose name has the same length
everywhere, holds links to the folders of modules, path/00, path/01, ..., and `places`, which says through which
links each top-level module is found. The tasks:

find   in the user's environment: imports MODULE, makes the links and writes `places`.
prime  through the links: imports MODULE, so that its code is compiled and kept.
count  the same under Callgrind, and writes what was imported, in that order, to FOLDER/LIST (a fourth argument).
"""

import sys


def find(folder, module):
    """Imports the module as the user would, and notes the folders in which top-level modules were found."""
    import os

    if sys.path[0] != "":
        sys.path[0] = ""  # the current folder, as for python -c
    before = set(sys.modules)
    try:
        __import__(module)
    except BaseException as error:
        import traceback

        # From the module's own frames on.
        traceback.print_exception(type(error), error, error.__traceback__.tb_next)
        sys.exit(1)
    links = []
    places = []
    standard = os.path.dirname(os.path.realpath(os.__file__))
    os.mkdir(f"{folder}/path")
    for name in sorted(set(sys.modules) - before):
        spec = getattr(sys.modules[name], "__spec__", None)
        if "." in name or spec is None:
            continue
        if spec.submodule_search_locations:
            found = [os.path.dirname(os.path.realpath(at)) for at in spec.submodule_search_locations]
        elif spec.has_location and spec.origin:
            found = [os.path.dirname(os.path.realpath(spec.origin))]
        else:
            continue
        if all(at == standard or at == f"{standard}/lib-dynload" for at in found):
            continue
        for at in found:
            if at not in links:
                os.symlink(at, f"{folder}/path/{len(links):02}")
                links.append(at)
        places.append(" ".join([name, *(f"{links.index(at):02}" for at in found)]))
    with open(f"{folder}/places", "w") as file:
        file.write("\n".join(places))
    base = getattr(sys, "_base_executable", None) or sys.executable
    os.symlink(os.path.realpath(base), f"{folder}/python")
    os.symlink(sys.base_prefix, f"{folder}/home")
    os.symlink(sys.base_exec_prefix, f"{folder}/platform_home")


class _Anything:
    """The names in a folder that is not listed: all. Finders look at the files themselves then. A list would take
    memory, so that a file which is never imported would move what is allocated later."""

    def __contains__(self, name):
        return True


def _fill_cache(finder):
    finder._path_cache = finder._relaxed_path_cache = _Anything()


class _Places:
    """Finds top-level modules through the links. The search is not counted: it depends on the entries of
    sys.path before the one that has the module."""

    def __init__(self, folder):
        import _frozen_importlib_external as files

        files.FileFinder._fill_cache = _fill_cache
        self._find = files.PathFinder.find_spec
        self._places = {}
        with open(f"{folder}/places") as file:
            for line in file.read().splitlines():
                name, *numbers = line.split(" ")
                self._places[name] = [f"{folder}/path/{number}" for number in numbers]

    def find_spec(self, name, path=None, target=None):
        if path is None and name in self._places:
            return self._find(name, self._places[name], target)
        return None


def _import(folder, module, mark):
    import _frozen_importlib as machinery
    import gc

    gc.disable()  # when a collection happens depends on all objects that came and went
    sys.path.pop(0)
    sys.meta_path.insert(2, _Places(folder))
    names = []
    usual_import = machinery._find_and_load
    usual_search = machinery._find_spec

    def find_and_load(name, import_):
        number = len(names)
        names.append(name)
        mark(4 * number)
        try:
            return usual_import(name, import_)
        finally:
            mark(4 * number + 1)

    def find_spec(name, path, target=None):
        mark(2)
        try:
            return usual_search(name, path, target)
        finally:
            mark(3)

    machinery._find_and_load = find_and_load
    machinery._find_spec = find_spec
    mark(3)
    __import__(module)
    mark(2)
    machinery._find_and_load = usual_import
    machinery._find_spec = usual_search
    return names


_task, _folder, _module, *_list = sys.argv[1:]
if _task == "find":
    find(_folder, _module)
elif _task == "prime":
    _import(_folder, _module, lambda event: None)
else:
    import posix

    _names = _import(_folder, _module, posix.nice)
    with open(f"{_folder}/{_list[0]}", "w") as _file:
        _file.write("\n".join(_names))
