"""Ctrl-Z suspends a program on the full screen, and the shell can later continue it with its screen restored.

SIGTSTP stops a program, and SIGCONT continues it. A program that has changed the terminal restores it before it stops.
If SIGTSTP is ignored, no shell would continue the program, so it stays ignored. Windows has neither signal; this module
does nothing there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    import asyncio

    from prompt_toolkit.application import Application

    from cli.table.writer import Writer

_SHOW_CURSOR: Final = "\x1b[?25h"
_HIDE_CURSOR: Final = "\x1b[?25l"


def ask_to_stop() -> None:
    """Ask all programs of this process group to stop, as the terminal does for Ctrl-Z in line mode."""
    if sys.platform != "win32":
        os.kill(0, signal.SIGTSTP)


@contextmanager
def suspending(app: Application[None], writer: Writer | None) -> Iterator[None]:
    """Let an application on the full screen be stopped and continued. Enter this in a running loop, around its run.

    :param writer: writes the application's output, and is drained before a stop.
    """
    if sys.platform == "win32":
        yield
        return
    import asyncio

    from prompt_toolkit.application.run_in_terminal import in_terminal

    from cli.table.writer import DRAIN_LIMIT

    loop = asyncio.get_running_loop()
    stopping: set[asyncio.Task[None]] = set()
    """At most one task. Further requests are ignored while it runs."""

    async def stop() -> None:
        async with in_terminal():
            if writer is not None:
                await writer.drain(DRAIN_LIMIT)
            stop_here()

    def asked() -> None:
        if not stopping:
            task = loop.create_task(stop())
            stopping.add(task)
            task.add_done_callback(stopping.discard)

    def continued() -> None:
        # After SIGSTOP, which allows no cleanup, a shell may have changed the terminal. The application will restore
        # the settings that it found at its start, so the context manager entered here is never left.
        if not stopping:
            app.input.raw_mode().__enter__()
            app.renderer.reset(leave_alternate_screen=True)
            app.invalidate()

    with ExitStack() as stack:
        stack.enter_context(noticing(continued))
        if not _is_ignored():
            loop.add_signal_handler(signal.SIGTSTP, asked)
            stack.callback(loop.remove_signal_handler, signal.SIGTSTP)
        yield


@contextmanager
def noticing(continued: Callable[[], None]) -> Iterator[None]:
    """Call ``continued`` in the running loop each time this process continues after a stop."""
    if sys.platform == "win32":
        yield
        return
    import asyncio

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGCONT, continued)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGCONT)


@contextmanager
def hiding_cursor(stream: TextIO) -> Iterator[None]:
    """Show the cursor while a program that hides it is stopped.

    Enter this before hiding the cursor, and leave it after showing the cursor again.
    """
    try:
        with leaving(stream, _SHOW_CURSOR, _HIDE_CURSOR):
            yield
    finally:
        if sys.platform != "win32":  # a program that was stopped just now may have hidden the cursor again
            os.write(stream.fileno(), _SHOW_CURSOR.encode())


@contextmanager
def leaving(stream: TextIO, leave: str, enter: str) -> Iterator[None]:
    """Restore a terminal that was changed by escape sequences while the program is stopped. It must not read keys.

    :param stream: the terminal.
    :param leave: the escape sequences to write before the program stops.
    :param enter: those to write when it continues.
    """

    def asked(*_: object) -> None:
        # This handler may interrupt a write to the stream, which is not reentrant, so write to the descriptor.
        os.write(stream.fileno(), leave.encode(stream.encoding, "replace"))
        stop_here()
        os.write(stream.fileno(), enter.encode(stream.encoding, "replace"))

    if sys.platform == "win32" or _is_ignored() or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTSTP, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


def _is_ignored() -> bool:
    return sys.platform != "win32" and signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN


def stop_here() -> None:
    """Stop this process until it is continued; return at once if no shell could continue it."""
    if sys.platform != "win32":
        answer = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        # Another thread must not receive the signal, because this one would run on for a moment.
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, answer)
