"""The program of this environment, and a process of it that counts what `Timer` asks for."""
import atexit
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import threading
from typing import Any, Dict, List, Optional


class CountError(OSError):
    """A statement could not be counted; the message says why."""


def find_program() -> str:
    """Returns the path of the installed program. Raises CountError if there is none."""
    try:
        files = importlib.metadata.files("instr_bench") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    own = next((file.locate() for file in files if file.parts[-2:] == ("bin", "instr_bench")), None)
    program = os.fspath(own) if own else shutil.which("instr_bench")
    if program is None:
        raise CountError("the program is not part of this environment: pip install instr_bench")
    return program


class Server:
    """`instr_bench serve`: keeps LibTorch started under Callgrind, and ends with its standard input."""

    def __init__(self, options: List[str]) -> None:
        # In a separate session, since Ctrl-C is for the interpreter.
        self._process = subprocess.Popen(
            [find_program(), "serve", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", start_new_session=True)
        assert self._process.stdin and self._process.stdout
        self._requests = self._process.stdin
        self._replies = self._process.stdout

    def ask(self, definitions: str) -> List[Dict[str, Any]]:
        """Counts the variants in a file of definitions, shows the progress, and returns the lines of the reply."""
        try:
            print(json.dumps({"definitions": definitions}), file=self._requests, flush=True)
        except BrokenPipeError:
            pass  # the output says why
        lines: List[Dict[str, Any]] = []
        messages = ""
        for text in self._replies:
            if text.startswith("{"):
                lines.append(json.loads(text))
                if "end" in lines[-1] or "errors" in lines[-1]:
                    return lines
            else:
                messages += text
                sys.stderr.write(text)
                sys.stderr.flush()
        raise CountError(f"instr_bench ended\n{messages}".rstrip())

    def close(self) -> None:
        """Ends the process, also in the middle of a count, and waits for its end."""
        self._replies.close()
        try:
            self._requests.close()
        except BrokenPipeError:
            pass
        self._process.wait()

    def leave_to_parent(self) -> None:
        """Closes the pipes in a forked process: they end with the interpreter that started the server."""
        with open(os.devnull, "r+b") as nothing:
            for pipe in (self._requests, self._replies):
                os.dup2(nothing.fileno(), pipe.fileno())


_lock = threading.Lock()
_server: Optional[Server] = None


def count(definitions: str, options: List[str]) -> List[Dict[str, Any]]:
    """Returns the lines of the reply. The first call of a process starts a server with these options."""
    global _server
    with _lock:
        try:
            if _server is None:
                _server = Server(options)
            lines = _server.ask(definitions)
        except BaseException:
            stop()  # the rest of a reply would be taken for the next one
            raise
    if "errors" in lines[-1]:
        raise CountError("\n".join(lines[-1]["errors"]))
    return lines[:-1]


def stop() -> None:
    """Ends the server, if there is one."""
    global _server
    if _server is not None:
        _server.close()
        _server = None


def _begin_child() -> None:
    global _lock, _server
    _lock = threading.Lock()
    if _server is not None:
        _server.leave_to_parent()
        _server = None


atexit.register(stop)
os.register_at_fork(after_in_child=_begin_child)
