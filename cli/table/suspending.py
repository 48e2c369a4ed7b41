"""Ctrl-Z: a program that has the whole terminal can be left for the shell, and goes on with its screen as it was.

The system stops a program by SIGTSTP, and lets it go on by SIGCONT. A program that has changed the terminal puts it
back in order before it stops. Where SIGTSTP is ignored, nobody could let the program go on, and it stays ignored.
Windows has neither signal, and nothing here does anything there.
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
    """Ask all programs in the foreground of this terminal to stop, as the terminal itself does where it edits lines."""
    if sys.platform != "win32":
        os.kill(0, signal.SIGTSTP)


@contextmanager
def suspending(app: Application[None], writer: Writer | None) -> Iterator[None]:
    """Let an application on the full screen be stopped and go on. In a running loop, around all of its run.

    :param writer: takes the output of the application.
    """
    if sys.platform == "win32":
        yield
        return
    import asyncio

    from prompt_toolkit.application.run_in_terminal import in_terminal

    from cli.table.writer import DRAIN_LIMIT

    loop = asyncio.get_running_loop()
    stopping: set[asyncio.Task[None]] = set()
    """At most one: to be asked twice is to be asked once."""

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
        # SIGSTOP leaves no time to put the terminal in order, and a shell may have set it to what suits a shell. The
        # application itself restores at its end what it found at its start: nothing is to be restored here.
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
    """Call ``continued`` in the running loop whenever this process goes on after a stop."""
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
    """Let a program be stopped that hides the cursor of its terminal: the shell gets it back meanwhile.

    To be entered before the cursor is hidden, and left after it is shown again.
    """
    try:
        with leaving(stream, _SHOW_CURSOR, _HIDE_CURSOR):
            yield
    finally:
        if sys.platform != "win32":  # it may just have been stopped, and have hidden the cursor once more
            os.write(stream.fileno(), _SHOW_CURSOR.encode())


@contextmanager
def leaving(stream: TextIO, leave: str, enter: str) -> Iterator[None]:
    """Let a program be stopped that has changed its terminal by a few codes, and reads no keys.

    :param stream: the terminal.
    :param leave: written before the program stops.
    :param enter: written when it goes on.
    """

    def asked(*_: object) -> None:
        # Whatever this interrupts may be in the middle of a write to the same stream, which is not to be entered twice.
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
    """Stop this process now. It goes on here; at once if no shell is there to let it go on."""
    if sys.platform != "win32":
        answer = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)  # of this thread: another one would let this one go on for a moment
        signal.signal(signal.SIGTSTP, answer)
