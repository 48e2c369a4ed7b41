"""Processes that start with the modules of the command line already imported, which saves half a second of CPU each.

Each pytest worker has a process, the zygote, that imports the modules once and forks for every program that a test
starts. A fork is handed over to the test's process, so that it is an ordinary child. A program that may start bots
forks its own zygote before it begins, and replaces subprocess's ``Popen``. This works only on Linux: elsewhere, and if
the interpreter needs other start options, :class:`Popen` is subprocess's own.
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
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NoReturn

_ROOT: Final = Path(__file__).resolve().parents[1]
_PRELOADED: Final = (
    "cli.table.player_table", "cli.table.screen", "mnemonic", "nacl.bindings", "prompt_toolkit.input.vt100", "tomllib",
    "encodings.idna", "encodings.utf_8_sig",
)  # fmt: skip
"""Modules to import in addition to the commands, which import them only when needed."""
_LARGEST: Final = 1 << 20
"""The most bytes of arguments and environment in a request."""
_SUBREAPER: Final = 36
"""``PR_SET_CHILD_SUBREAPER`` of Linux, which makes orphaned descendants children of this process."""
STARTERS: Final = frozenset(("demo", "host", "league", "resume"))
"""The commands that start house bots, which are forked as well."""
_ACCOUNT: Final = ("setpriv",)
"""A command prefix that only changes the account, and with which the zygote is started."""
_NETWORK: Final = ("ip", "netns", "exec")
"""A command prefix, followed by the name of a network namespace, which a fork enters by itself."""
_CLONE_NEWNET: Final = 0x40000000
_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_")
"""The prefixes of environment variables that an interpreter reads only at its start."""

_STREAMS: Final = (
    ("stdin", "r", "surrogateescape"),
    ("stdout", "w", "surrogateescape"),
    ("stderr", "w", "backslashreplace"),
)
"""The standard streams of Python's UTF-8 mode: name, mode, and error handler."""


def _at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in variables.items() if key.startswith(_AT_START)}


def _adopt() -> tuple[socket.socket, socket.socket]:
    """Make this process the parent of all forks of a zygote; return both ends of the socket for requests."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@cache
def _zygote(pid: int, at_start: tuple[tuple[str, str], ...], prefix: tuple[str, ...], number: int) -> socket.socket:
    """Return one of two zygotes with different hash seeds, so that any order that depends on hashes differs."""
    variables = {"PYTHONHASHSEED": str(pid + number), **os.environ, **dict(at_start)}
    ours, theirs = _adopt()
    with theirs:
        command = [*prefix, sys.executable, "-m", __name__, str(theirs.fileno())]
        process = subprocess.Popen(command, env=variables, cwd=_ROOT, pass_fds=[theirs.fileno()])
    atexit.register(process.wait)
    atexit.register(ours.close)  # before that
    return ours


_of_this_program: socket.socket | None = None
"""The socket on which a forked program requests its bots."""


_TURNS: Final = cycle(range(2))


class Popen(subprocess.Popen[Any]):
    """A process of this interpreter in its own session, forked by the zygote if that makes no difference."""

    def _execute_child(  # type: ignore[no-untyped-def]  # what subprocess calls to start a child; it has no types
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
    ) -> None:  # fmt: skip
        given: list[Any] = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
        start = given.index(sys.executable) if sys.executable in given else len(given)
        words = [word for word in given[start + 1 :] if word != "-P"]
        prefix: tuple[str, ...] = tuple(given[:start])
        network = ""
        if start == 4 and prefix[:3] == _NETWORK:
            prefix, network = (), given[3]
        is_python = prefix[:1] in ((), _ACCOUNT) and words[:1] in (["-c"], ["-m"])
        is_ours = sys.platform == "linux" and is_python and not (preexec_fn or pass_fds)
        # Standard streams and arguments are decoded as in Python's UTF-8 mode.
        # Another path may contain a sitecustomize module, which could read any variable.
        is_usual = env and env.get("PYTHONUTF8") == "1" and env.get("PYTHONPATH", "").startswith(str(_ROOT))
        if not is_ours or not is_usual or len(pickle.dumps((args, env))) > _LARGEST // 2:
            super()._execute_child(  # type: ignore[misc]
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
                p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
            )  # fmt: skip
            return
        at_start = tuple(sorted(_at_start(env).items()))
        zygote = _of_this_program or _zygote(os.getpid(), at_start, prefix, next(_TURNS))
        may_start = not STARTERS.isdisjoint(words)
        asked = pickle.dumps((words, dict(env), os.fspath(cwd or os.getcwd()), _mask(), network, may_start))
        streams = [own if own >= 0 else theirs for theirs, own in enumerate((p2cread, c2pwrite, errwrite))]
        socket.send_fds(zygote, [asked], streams)
        self.pid = int(zygote.recv(100))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def _mask() -> int:
    """Return the umask for a fork; -1 in a program with its own zygote, which already shares the program's umask."""
    if _of_this_program:
        return -1  # reading it means setting it for a moment, in which another thread may make a file
    os.umask(mask := os.umask(0))
    return mask


def _serve(requests: socket.socket) -> list[str]:
    """Fork for each request; return the arguments in each new process. In the zygote, this call never returns."""
    while True:
        data, streams, _, _ = socket.recv_fds(requests, _LARGEST, 3)
        if not data:
            os._exit(0)
        if not (between := os.fork()):
            between = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == between:  # until it is orphaned, which makes it a child of its starter
                time.sleep(0.001)
            os.setsid()
            requests.send(str(os.getpid()).encode())
            requests.close()
            arguments, variables, folder, mask, network, may_start = pickle.loads(data)
            if mask >= 0:
                os.umask(mask)
            if network:
                _enter(network)
            _become(variables, folder, streams)
            return _have_zygote(arguments) if may_start else arguments
        os.waitpid(between, 0)
        for stream in streams:
            os.close(stream)


def _enter(network: str) -> None:
    """Enter a network namespace, for which Python has a function only since 3.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{network}") as entry:
        if libc.setns(entry.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {network}")


def _have_zygote(arguments: list[str]) -> list[str]:
    """Fork this program's own zygote; return the arguments of this program, or of the bot in a fork of the zygote."""
    global _of_this_program
    ours, theirs = _adopt()
    if os.fork():
        theirs.close()
        _of_this_program = ours
        subprocess.Popen = Popen  # type: ignore[misc]
        return arguments
    ours.close()
    os.setsid()  # no key of a terminal is for it
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return _serve(theirs)


def _become(variables: dict[str, str], folder: str, streams: Sequence[int]) -> None:
    """Give this forked process the variables, folder and streams of a newly started one."""
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


def _end(code: object) -> NoReturn:
    """End this process as the interpreter does, but free no modules, which would copy all memory of the zygote.

    :param code: the argument of sys.exit.
    """
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as multiprocessing does before os._exit
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            if not getattr(stream, "closed", False):
                stream.flush()
        except OSError:
            code = 120
    os._exit(code or 0)


if __name__ == "__main__":
    commands = [f"cli.commands.{entry.module}" for entry in import_module("cli.front").COMMANDS.values()]
    for module in (*commands, *_PRELOADED):
        import_module(module)
    gc.freeze()
    way, what, *rest = _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = [way, *rest]
    try:
        if way == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(what, {"__name__": "__main__"})
    except SystemExit as end:
        _end(end.code)
    _end(None)
