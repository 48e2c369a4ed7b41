"""The full screen: the board, repainted whenever it changes, with a line to type below. Made with prompt_toolkit.

Keys type lines, and a table gets nothing but lines. While the terminal takes no output, nothing is painted, and the
table does not wait.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import ExitStack, suppress
from math import ceil
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, VSplit, Window
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from cli.render import harmless, wrapped
from cli.table import answers, palette
from cli.table.drawing import Gauge, Sight, log_height, page_size, picture
from cli.table.face import InterruptedByUserError
from cli.table.fragments import cut, rows
from cli.table.line_editor import LineEditor
from cli.table.overheard import overheard
from cli.table.palette import Glyphs
from cli.table.suspending import ask_to_stop, suspending
from cli.table.terminal import glyphs_of, has_colors, output_of
from cli.table.writer import PATIENCE
from protocol import Stage

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from cli.table.face import ShownTable
    from cli.table.writer import Writer

_LOG: Final = 1000
"""Sentences that are kept for scrolling back."""
_TICK: Final = 0.5
"""Seconds between two looks at the clock and the signatures, which change without an event."""
_MOMENT: Final = 1.0
"""Seconds of a turn before its clock is shown."""
_ESCAPE: Final = 0.05
"""Seconds within which the rest of a key follows its escape character."""

KEYS: Final = (
    "Keys:",
    "    arrows    choose a bid: up and down the number, left and right the face; if there is no bid to make, go"
    " through the moves; Enter plays it",
    "    !         call liar; ! again or Enter does it, Escape does not",
    "    =         call exact in the same way, if the rules have it",
    "    Tab       complete what you type, or see what can be typed",
    "    Escape    empty the line",
    "    Enter     on an empty line, like space: show at once what has happened meanwhile",
    "    %         show the odds, or hide them",
    "    PageUp    look back in the log; PageDown: forward again",
    "    ?         this page; F1 as well",
    "    Ctrl-L    draw the screen again",
    "    Ctrl-Z    back to the shell for a while; its command fg returns, and meanwhile the others wait for you",
    "    Ctrl-D    leave; Ctrl-C as well",
    "",
)


class Screen:
    """A table on the whole terminal. Used in an ``async with`` statement: the terminal is put back in order after it.

    :param writer: takes the output; None on Windows, where prompt_toolkit writes itself.
    """

    is_interactive = True
    shows_board = True

    def __init__(self, table: ShownTable, writer: Writer | None, *, has_bell: bool, color: str) -> None:
        self._table = table
        self._line = LineEditor(table, self._submit)
        self._has_bell = has_bell
        self._color = color
        self._writer = writer
        self._output = output_of(writer)
        self._glyphs: Glyphs = glyphs_of(sys.stdout)
        self._log: deque[str] = deque(maxlen=_LOG)
        self._back = 0
        """Lines that the log is scrolled back."""
        self._with_odds = True
        self._page: tuple[str, ...] | None = None
        """A text that covers the table."""
        self._page_at = 0
        """Lines of the page that are scrolled past."""
        self._reply: list[str] | None = None
        """The answers to the last line, while the table obeys it."""
        self._is_helping = False
        self._lines: asyncio.Queue[str | Exception | None] = asyncio.Queue()
        self._stack = ExitStack()
        self._app = self._application()
        self._running: asyncio.Task[None] | None = None
        self._ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        encoding = "ascii" if self._glyphs.is_ascii else sys.stdout.encoding
        self._stack.enter_context(overheard(self.tell, encoding))
        self._running = asyncio.create_task(self._run())
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        assert self._ticking is not None
        self._ticking.cancel()
        if not self._running.done():
            self._app.exit()
        with suppress(Exception):  # the reader has seen it raised
            await self._running
        self._stack.close()
        self._print_last_words()
        if self._writer is not None:
            await self._writer.drain(PATIENCE)

    def _print_last_words(self) -> None:
        """Print the table's last words on the terminal itself, where they stay."""
        columns = self._output.get_size().columns
        text = "".join(f"{wrapped(words, columns)}\n" for words in self._table.last_words)
        self._output.write_raw(harmless(text).replace("\n", "\r\n"))
        self._output.flush()

    async def _run(self) -> None:
        try:
            with suspending(self._app, self._writer):
                await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:  # the terminal is gone
            self._lines.put_nowait(None)
        except Exception as error:
            self._lines.put_nowait(error)
            raise

    async def _tick(self) -> None:
        shown: object = None
        while True:
            await asyncio.sleep(_TICK)
            now = (self._gauge(), self._seconds())
            if now != shown:
                shown = now
                self._app.invalidate()

    # The methods of a face

    async def read(self) -> str | None:
        self._show_reply()
        line = await self._lines.get()
        if isinstance(line, Exception):
            raise line
        self._reply = []
        self._is_helping = line is not None and line.strip().lower() in ("help", "?")
        return line

    def tell(self, text: str) -> None:
        self._log.append(text)
        self._app.invalidate()

    def say(self, text: str) -> None:
        self.tell(text)
        if self._reply is not None:
            self._reply.append(text)

    def remind(self, status: str) -> None:
        """The status is always in sight."""

    def refresh(self) -> None:
        self._app.invalidate()

    def ring(self) -> None:
        if self._has_bell:
            self._output.bell()
            self._output.flush()

    @property
    def page_size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return page_size(size.columns, size.rows - 1)

    def _show_reply(self) -> None:
        """Move an answer that is too long for the log to a page of its own."""
        reply, self._reply = self._reply, None
        if not reply:
            return
        size = self._output.get_size()
        room = log_height(self._table.board, size.columns, size.rows)
        if len([row for text in reply for row in rows(text, size.columns)]) > room:
            asked = set(map(id, reply))
            self._log = deque((told for told in self._log if id(told) not in asked), maxlen=_LOG)
            self._page = (*(KEYS if self._is_helping and not self._table.keys else ()), *reply)
            self._page_at = 0
            self._app.invalidate()

    # Painting

    def _application(self) -> Application[None]:
        table = FormattedTextControl(self._painted, show_cursor=False)
        prompt = FormattedTextControl(lambda: [("class:prompt", self._prompt())])
        line = Window(BufferControl(self._line.buffer), height=1)
        # A prompt that is a part of the line would be scrolled out of sight with its beginning, and stay there.
        foot = VSplit(
            [Window(prompt, width=lambda: get_cwidth(self._prompt()), dont_extend_width=True), line], height=1
        )
        is_colored = self._color != "none" and has_colors(sys.stdout)
        return PatientApplication(
            self._writer,
            layout=Layout(HSplit([Window(table, wrap_lines=False), foot]), line),
            key_bindings=self._bindings(),
            style=Style.from_dict(palette.styles(self._color)),
            include_default_pygments_style=False,
            full_screen=True,
            mouse_support=False,
            color_depth=ColorDepth.DEPTH_4_BIT if is_colored else ColorDepth.DEPTH_1_BIT,
            output=self._output,
        )

    def _prompt(self) -> str:
        return cut(self._table.prompt(), self._output.get_size().columns // 2)

    def _painted(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        lines = picture(self._table.board, self._sight(), size.columns, size.rows - 1, self._glyphs)
        fragments: StyleAndTextTuples = []
        for line in lines:
            fragments += line
            fragments.append(("", "\n"))
        return fragments[:-1]

    def _sight(self) -> Sight:
        table = self._table
        progress, clock = table.progress(), table.clock()
        return Sight(
            log=self._log,
            back=self._back if self._page is None else self._page_at,
            with_odds=self._with_odds,
            hint=self._line.hint(self._output.get_size().columns, with_odds=self._with_odds),
            page=self._page,
            steps=None if progress is None else progress.step,
            gauge=self._gauge(),
            seconds=self._seconds(),
            is_pressing=clock is not None and clock.goes_on,
            score=answers.score(table.wins, table.board.players) if sum(table.wins.values()) > 1 else "",
            is_holding=table.is_behind,
            can_start="start" in table.words,
            after=table.hint(),
        )

    def _gauge(self) -> Gauge | None:
        """Return how much of an exchange between programs is done. A person's decision has no gauge."""
        progress = self._table.progress()
        if progress is None or progress.stage is Stage.CHOOSE or not progress.awaited:
            return None
        done = len(progress.given)
        return Gauge(progress.stage.value, done, done + len(progress.awaited))

    def _seconds(self) -> int | None:
        """Return the seconds left to the awaited player, unless it is too early to show them."""
        clock = self._table.clock()
        if clock is None or self._table.pace.is_holding or clock.allowed - clock.seconds < _MOMENT:
            return None
        return ceil(clock.seconds)

    # Keys

    def _submit(self, line: str) -> None:
        self._back = 0
        self._lines.put_nowait(line)

    def _scroll(self, pages: int) -> None:
        size = self._output.get_size()
        if self._page is not None:
            width, room = self.page_size
            most = max(len([row for text in self._page for row in rows(text, width)]) - room, 0)
            self._page_at = min(max(self._page_at - pages * room, 0), most)
        else:
            room = log_height(self._table.board, size.columns, size.rows)
            told = sum(len(rows(text, size.columns)) for text in self._log)
            self._back = min(max(self._back + pages * room, 0), max(told - room, 0))

    def _bindings(self) -> KeyBindingsBase:
        keys = KeyBindings()
        add = keys.add
        is_open = Condition(lambda: self._page is not None)
        is_closed = ~is_open
        is_empty = is_closed & Condition(lambda: self._line.is_empty)

        @add("c-c")
        @add("<sigint>")
        def _(_event: KeyPressEvent) -> None:
            self._lines.put_nowait(InterruptedByUserError())

        @add("c-d", filter=is_empty | is_open)
        def _(_event: KeyPressEvent) -> None:
            self._lines.put_nowait(None)

        @add("c-z")
        def _(_event: KeyPressEvent) -> None:
            ask_to_stop()

        @add("c-l")
        def _(event: KeyPressEvent) -> None:
            event.app.renderer.clear()

        @add("pageup")
        @add("pagedown")
        def _(event: KeyPressEvent) -> None:
            self._scroll(1 if event.key_sequence[0].key == Keys.PageUp else -1)

        @add("?", filter=is_closed & Condition(lambda: self._line.is_untyped))
        @add("f1", filter=is_closed)
        def _(_event: KeyPressEvent) -> None:
            self._submit("help")

        @add("%", filter=is_closed & Condition(lambda: self._line.is_untyped))
        def _(_event: KeyPressEvent) -> None:
            self._with_odds = not self._with_odds

        @add(" ", filter=is_empty)
        def _(_event: KeyPressEvent) -> None:
            if self._table.is_behind:
                self._submit("")

        @add(Keys.Any, filter=is_empty & Condition(lambda: self._table.moves_by_itself))
        def _(_event: KeyPressEvent) -> None:
            self._submit("")

        for key, line in self._table.keys.items():

            @add(key, filter=is_empty)
            def _(_event: KeyPressEvent, line: str = line) -> None:
                self._submit(line)

        for key in (Keys.Any, Keys.Enter, Keys.Escape, Keys.Tab, Keys.Backspace, "up", "down", "left", "right", " "):

            @add(key, filter=is_open, eager=key == Keys.Escape)
            def _(event: KeyPressEvent) -> None:
                self._page = None
                if event.data.isalnum():  # it begins what is typed next
                    event.app.key_processor.feed(event.key_sequence[0], first=True)

        return merge_key_bindings([self._line.bindings(is_closed), keys])


class PatientApplication(Application[None]):
    """An application that paints nothing while its terminal takes no output, and everything as soon as it does."""

    def __init__(self, writer: Writer | None, **options: object) -> None:
        self._writer = writer
        super().__init__(**options)  # type: ignore[arg-type]
        self.ttimeoutlen = _ESCAPE

    def invalidate(self) -> None:
        if self._writer is not None and self._writer.is_busy:
            self._writer.when_idle(self.invalidate)
        else:
            super().invalidate()
