"""Processes that begin with the modules of the command line imported, which takes half a second of CPU each time.

One process for each worker of pytest, the zygote, imports them once, and forks for every program that a test starts. A
fork is handed over to the test's process, so that it is a child like any other. On Linux only: elsewhere, and wherever
the interpreter itself is to begin otherwise, :class:`Popen` is subprocess's own.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import pickle
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_PRELOADED: Final = ("cli.commands.host", "cli.commands.join", "cli.commands.demo", "cli.table.screen")
_LARGEST: Final = 1 << 20
"""Bytes of arguments and environment."""
_SUBREAPER: Final = 36
"""Linux: ``PR_SET_CHILD_SUBREAPER``, to which orphans below this process go."""
_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_")
"""How variables begin that an interpreter reads when it starts."""

_STREAMS: Final = (
    ("stdin", "r", "surrogateescape"),
    ("stdout", "w", "surrogateescape"),
    ("stderr", "w", "backslashreplace"),
)
"""Standard streams as Python makes them in its UTF-8 mode: name, mode, and what becomes of what is no text."""


def _at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in variables.items() if key.startswith(_AT_START)}


class _Zygote:
    def __init__(self, variables: Mapping[str, str]) -> None:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self.at_start = _at_start(variables)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(command, env=dict(variables), cwd=_ROOT, pass_fds=[theirs.fileno()])
        atexit.register(self._close)

    def fork(self, arguments: Sequence[str], variables: Mapping[str, str], folder: str, streams: Sequence[int]) -> int:
        """Return the id of a new process."""
        os.umask(mask := os.umask(0))
        asked = pickle.dumps((list(arguments), dict(variables), folder, mask))
        socket.send_fds(self._socket, [asked], streams)
        return int(self._socket.recv(100))

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def _zygote(pid: int, at_start: tuple[tuple[str, str], ...], number: int) -> _Zygote:
    """Return one of two: their forks hash texts differently, so an order that depends on it differs between players."""
    return _Zygote({"PYTHONHASHSEED": str(pid + number), **os.environ, **dict(at_start)})


_TURNS: Final = cycle(range(2))


class Popen(subprocess.Popen[Any]):
    """A process of this interpreter, in a session of its own: forked by the zygote where that is the same."""

    def _execute_child(  # type: ignore[no-untyped-def]  # what subprocess calls to start a child; it has no types
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
    ) -> None:  # fmt: skip
        is_python = args[0] == sys.executable and args[1] in ("-c", "-m")
        is_ours = sys.platform == "linux" and is_python and not (preexec_fn or pass_fds)
        # Standard streams are made as they are in Python's UTF-8 mode, and arguments are read so.
        # Another path may lead to a sitecustomize, which can read any variable.
        is_usual = env and env.get("PYTHONUTF8") == "1" and env.get("PYTHONPATH", "").startswith(str(_ROOT))
        if not is_ours or not is_usual or len(pickle.dumps((args, env))) > _LARGEST // 2:
            super()._execute_child(  # type: ignore[misc]
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
                p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
            )  # fmt: skip
            return
        zygote = _zygote(os.getpid(), tuple(sorted(_at_start(env).items())), next(_TURNS))
        streams = [own if own >= 0 else theirs for theirs, own in enumerate((p2cread, c2pwrite, errwrite))]
        self.pid = zygote.fork(args[1:], env, os.fspath(cwd or os.getcwd()), streams)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def _serve(requests: socket.socket) -> list[str] | None:
    """Fork for each request; return the arguments in the process that is to run, and nothing in the zygote's end."""
    while True:
        data, streams, _, _ = socket.recv_fds(requests, _LARGEST, 3)
        if not data:
            return None
        if not (between := os.fork()):
            between = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == between:  # until it is an orphan, and the test's
                time.sleep(0.001)
            os.setsid()
            requests.send(str(os.getpid()).encode())
            requests.close()
            arguments, variables, folder, mask = pickle.loads(data)
            os.umask(mask)
            _become(variables, folder, streams)
            return list(arguments)
        os.waitpid(between, 0)
        for stream in streams:
            os.close(stream)


def _become(variables: dict[str, str], folder: str, streams: Sequence[int]) -> None:
    """Make this process one that has just begun."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    for stream in streams:
        os.close(stream)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    time.tzset()
    for place, (name, mode, errors) in enumerate(_STREAMS):
        buffering = 1 if place == 2 or os.isatty(place) else -1
        text = open(place, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115  # it stays
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


if __name__ == "__main__":
    for module in _PRELOADED:
        import_module(module)
    gc.freeze()
    if (words := _serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        way, what, *rest = words
        sys.argv = [way, *rest]
        if way == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(what, {"__name__": "__main__"})
