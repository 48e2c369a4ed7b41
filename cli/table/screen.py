"""The full screen, made with prompt_toolkit: a picture of the table, repainted when it changes, above an input line.

All keys type lines, so a table receives nothing but lines. If the terminal takes no output, painting pauses, but the
table does not wait.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from math import ceil
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import (
    DynamicKeyBindings,
    KeyBindings,
    KeyBindingsBase,
    KeyPress,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.processors import AppendAutoSuggestion
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import DynamicStyle

from cli.output import unguarded
from cli.render import harmless, wrapped
from cli.table import answers, moment
from cli.table.canvas import broken, cut, width
from cli.table.face import InterruptedByUserError
from cli.table.line_editor import LineEditor
from cli.table.picture import HURRY, page_rows, page_size, picture
from cli.table.scene import MARGIN, REPLY_ROWS, Band, Dialog, ReplayStrip, Scene, Talk, TextPage
from cli.table.suspending import ask_to_stop, suspending
from cli.table.table import HIDDEN
from cli.table.terminal import LateAnswers, ask_ground, ground_told, has_title, output_of, theme_of
from cli.table.writer import DRAIN_LIMIT, overheard
from cli.text.seating import display_names
from p2pdice.moves import Bid
from p2pdice.state import NOBODY
from protocol.consensus.position import Stage

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from cli.table.table import Table
    from cli.table.theme import Ground, Theme
    from cli.table.writer import Writer
    from protocol.events import PlayerInfo

_CHOOSE_FIRST: Final = ("Choose in the box first; Esc closes it.",)
_TALK: Final = 1000
"""Maximum entries of talk that are kept."""
_FRAME: Final = 0.05
"""Seconds between two frames of an animation."""
_TICK: Final = 1.0
"""Seconds between checks of the clock and the signatures, which change without an event."""
_MOMENT: Final = 1.0
"""Seconds before the clock of a turn appears, and before the band names players whose programs have not answered."""
_ESCAPE: Final = 0.05
"""Timeout in seconds for the rest of a key's escape sequence."""
_DEPTHS: Final = {
    "24": ColorDepth.DEPTH_24_BIT,
    "256": ColorDepth.DEPTH_8_BIT,
    "16": ColorDepth.DEPTH_4_BIT,
    "none": ColorDepth.DEPTH_1_BIT,
}
_TITLES: Final = {"qr": "Join by camera"}
"""Titles of pages that the typed word does not describe."""
_SAVE_TITLE: Final = "\x1b[22;2t"
_RESTORE_TITLE: Final = "\x1b[23;2t"
_ON_NEWCOMERS: Final = ("seat", "watch", "refuse")
"""Words that concern the player who asks for a seat or, without one, the player picked in the lobby."""
_ON_PEOPLE: Final = ("trust", "remove", "mute", *_ON_NEWCOMERS)
"""Words that concern the player picked in the lobby with the arrow keys."""
_HINT: Final = 32
"""The column where the hint begins beside a short line."""
_terminal_answers: Final = LateAnswers()
"""Removes the terminal's late reports of its background, which is queried before the screen opens."""


@cache
def _asked_ground() -> tuple[Ground, list[KeyPress]]:
    """Query the terminal's background once per process; return it and the keys pressed during the query."""
    ground, typed = ask_ground(unguarded(sys.stdout))
    keys: list[KeyPress] = []
    _terminal_answers.without(typed, Vt100Parser(keys.append).feed)
    return ground, keys


class Screen:
    """A table on the whole terminal: an asynchronous context manager that restores the terminal on exit.

    :param writer: takes the output; None on Windows, where prompt_toolkit writes to the console itself.
    :param bell: ``off``, ``turn`` or ``all``.
    :param color: the setting: a background, ``auto``, or ``none``.
    """

    is_interactive = True
    shows_board = True

    def __init__(self, table: Table, writer: Writer | None, *, bell: str, color: str) -> None:
        self._owner = self._table = table
        self._line = LineEditor(table, self._submit)
        self._bell = bell
        self._color = color
        self._writer = writer
        self._output = output_of(writer)
        self._theme: Theme = theme_of(sys.stdout, color, ground_told())
        self._style = self._theme.style()
        self._talk: deque[Talk] = deque(maxlen=_TALK)
        self._with_odds: bool | None = None
        """Whether the reader wants to see odds; None for the table's default."""
        self._page: TextPage | None = None
        self._picked = 0
        """The index of the selected choice of the dialog, modulo the number of choices."""
        self._person: PlayerInfo | None = None
        """The player picked in the lobby with the arrow keys. They may have left since."""
        self._dialog: Dialog | None = None
        self._replies: list[str] | None = None
        """The replies to the last line, collected while the table obeys it; None at other times."""
        self._reply_rows: tuple[str, ...] = ()
        """The rows of the last reply, shown until the next key or the next turn."""
        self._former_reply: tuple[str, ...] = ()
        """The reply that the last key press cleared."""
        self._reply_turn: object = None
        """The turn in which the reply was given."""
        self._asked = ""
        self._is_leaving = False
        """Whether the last key was Ctrl-C."""
        self._was_leaving = False
        self._title = ""
        self._is_urgent = False
        """Whether at most :data:`HURRY` seconds were left to the reader at the last check."""
        self._expired: object = None
        """The request that the reader did not answer in time, at a table that can go on without them."""
        self._woken = asyncio.Event()
        self._lines: asyncio.Queue[str | Exception | None] = asyncio.Queue()
        self._keys = self._bindings()
        self._stack = ExitStack()
        self._app = self._application()
        self._running: asyncio.Task[None] | None = None
        self._ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._color == "auto" and not self._theme.is_mono:
            ground, keys = _asked_ground()
            store_typeahead(self._app.input, keys)
            keys.clear()
            self._theme = theme_of(sys.stdout, self._color, ground)
            self._style = self._theme.style()
        encoding = "ascii" if self._theme.is_ascii else sys.stdout.encoding
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
        with suppress(Exception):  # read() has already raised this exception
            await self._running
        self._stack.close()
        columns = self._output.get_size().columns
        text = "".join(f"{wrapped(words, columns)}\n" for words in self._owner.last_words)
        # The full screen is closed, so these texts stay visible.
        self._output.write_raw(harmless(text).replace("\n", "\r\n"))
        self._output.flush()
        if self._writer is not None:
            await self._writer.drain(DRAIN_LIMIT)

    async def _run(self) -> None:
        has_titles = self._writer is not None and has_title()
        try:
            if has_titles:
                self._output.write_raw(_SAVE_TITLE)
            with suspending(self._app, self._writer):
                await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:  # the terminal is gone
            self._lines.put_nowait(None)
        except Exception as error:
            self._lines.put_nowait(error)
            raise
        finally:
            if has_titles:
                self._output.write_raw(_RESTORE_TITLE)
            elif self._writer is None:
                self._output.clear_title()
            self._output.flush()

    async def _tick(self) -> None:
        """Repaint each frame of an animation. Otherwise repaint when the clock or the number of signatures changes."""
        shown: object = None
        while True:
            if self._table.pace.motion().moves:
                await asyncio.sleep(_FRAME)
                self._app.invalidate()
                continue
            clock = self._table.clock()
            until_second = clock.seconds % 1.0 + 0.01 if clock is not None and clock.seconds else _TICK
            with suppress(TimeoutError):
                async with asyncio.timeout(max(until_second, _TICK / 2)):
                    await self._woken.wait()
            self._woken.clear()
            now = (self._awaited(), self._seconds(), self._table.away())
            if now != shown:
                shown = now
                self._app.invalidate()
                self._warn()

    def _warn(self) -> None:
        """Ring when the reader has little time left. When the time is up, store that in ``_expired``."""
        seconds = self._seconds()
        is_urgent = self._table.board.turn is not None and seconds is not None and seconds <= HURRY
        if is_urgent and not self._is_urgent:
            self.ring("late")
        self._is_urgent = is_urgent
        clock = self._table.clock()
        if seconds is not None and seconds <= 1 and clock is not None and clock.goes_on:
            self._expired = self._table.board.turn

    # The methods of a face

    async def read(self) -> str | None:
        self._show_replies()
        line = await self._lines.get()
        if isinstance(line, Exception):
            raise line
        self._replies, self._asked = [], (line or "").strip().lower()
        return line

    def tell(self, text: str, talk: Talk | None = None) -> None:
        self._talk.append(talk or Talk(None, "", text))
        self._app.invalidate()

    def say(self, text: str) -> None:
        if self._replies is None:
            self.tell(text)
        else:
            self._replies.append(text)

    def remind(self, status: str) -> None:
        """Do nothing: the screen always shows the status."""

    def refresh(self) -> None:
        if self._line.picked == moment.START and not self._table.board.is_lobby:
            self._line.clear()
        self._woken.set()
        self._app.invalidate()

    def ring(self, why: str = "turn") -> None:
        if self._bell == "all" or self._bell == why == "turn":
            self._output.bell()
            self._output.flush()

    def show(self, table: Table) -> None:
        self._table = self._line.table = table
        self._keys, self._page, self._dialog = self._bindings(), None, None
        self.refresh()

    @property
    def page_size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return page_size(size.columns, size.rows)

    def _show_replies(self) -> None:
        """Show the replies in place of the key bar, or on a page if they are too long."""
        given, self._replies = self._replies, None
        if not given:
            return
        columns = self._output.get_size().columns
        shown = [row for text in given for row in broken(text, columns - MARGIN)]
        if len(shown) <= REPLY_ROWS:
            self._reply_rows, self._reply_turn = tuple(shown), self._turn()
        else:
            is_help = self._asked in ("help", "?")
            word = self._asked.partition(" ")[0]
            meant = [each for each in self._table.words if word and each.startswith(word)]
            told = "help" if is_help else [*meant, word or "table"][0]
            self._page = TextPage(_TITLES.get(told, told.capitalize()), given)
        self._app.invalidate()

    # Painting

    def _application(self) -> Application[None]:
        table = FormattedTextControl(self._painted, show_cursor=False)
        prompt = FormattedTextControl(lambda: [("bold", self._prompt())])
        control = BufferControl(self._line.buffer, input_processors=[AppendAutoSuggestion("class:quiet")])
        line = Window(control, height=1)
        # The prompt has its own window, because inside this one it would scroll out of sight with a long line.
        hint = FormattedTextControl(lambda: [("class:quiet", self._hint())])
        foot = VSplit(
            [
                Window(prompt, width=lambda: width(self._prompt()), dont_extend_width=True),
                line,
                Window(hint, width=self._hint_width, dont_extend_width=True),
            ],
            height=1,
        )
        app = PatientApplication(
            self._writer,
            layout=Layout(HSplit([Window(table, wrap_lines=False), foot]), line),
            key_bindings=DynamicKeyBindings(lambda: self._keys),
            style=DynamicStyle(lambda: self._style),
            include_default_pygments_style=False,
            full_screen=True,
            mouse_support=False,
            min_redraw_interval=_FRAME * 0.8,
            terminal_size_polling_interval=_TICK if self._writer is None else None,
            color_depth=_DEPTHS[self._theme.depth],
            output=self._output,
        )
        app.key_processor.before_key_press += self._pressed
        _drop_late_answers(app)
        return app

    def _prompt(self) -> str:
        return cut(self._table.prompt(), self._output.get_size().columns // 2)

    def _hint(self) -> str:
        return moment.hint(self._table.board, self._line.meant(), with_odds=self.with_odds)

    def _hint_width(self) -> int:
        """Return the width of the hint's window, which begins at :data:`_HINT` if possible; 0 if it does not fit."""
        columns, hint = self._output.get_size().columns, width(self._hint())
        room = columns - width(self._prompt()) - width(self._line.buffer.text) - 3
        if not hint or hint > room:
            return 0
        beside = columns - _HINT
        return beside if hint <= beside <= room else hint

    def _painted(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        board = self._table.board
        title = self._theme.sign(moment.title(board))
        if title != self._title and has_title():
            self._title = title
            self._output.set_title(harmless(title))
        # The window omits the picture's last row, which is empty; the input line is there.
        return picture(board, self._scene(size.columns), size.columns, size.rows, self._theme).fragments()

    def _turn(self) -> tuple[int, bool]:
        """Return whose turn it is, and whether the reader is asked for a move."""
        board = self._table.board
        return (NOBODY if board.state is None else board.state.turn), board.turn is not None

    def _scene(self, columns: int) -> Scene:
        table, board, line = self._table, self._table.board, self._line
        if self._reply_rows and self._reply_turn != self._turn():
            self._reply_rows = ()
        meant, moves = line.meant(), line.moves()
        typed = str(meant) if isinstance(meant, Bid) else line.picked
        with_odds, dialog = self.with_odds, self._shown_dialog()
        progress, clock = table.progress(), table.clock()
        away = self._table.away()
        words = [word for word in table.words if word != "again" or not table.is_waiting]
        keys = moment.useful_keys(board, typed, moves, words, with_odds=with_odds, is_behind=table.is_behind)
        band = moment.band(
            board,
            typed,
            with_odds=with_odds,
            is_behind=table.is_behind,
            is_late=board.turn is not None and self._expired is board.turn and not self._seconds(),
            is_waiting=table.is_waiting,
        )
        band = moment.with_awaited(band, board, self._awaited())
        strip = table.strip()
        keys = [*table.key_bar()] or keys
        if isinstance(strip, ReplayStrip) and (board.showdown is None or board.over is not None):
            tone = band.tone if board.over is None else "quiet"
            number = f"Round {strip.round}"
            is_named = not strip.round or table.latest.startswith(f"{number}.")
            band = Band(table.latest if is_named else f"{number}: {table.latest}", tone, strip.eyes)
        if dialog is not None:
            if dialog.tone != "warn" or not board.match:  # otherwise the band names the awaited players
                band = replace(band, text=dialog.title, tone="waiting" if dialog.tone == "warn" else band.tone)
            keys = [*((each.key, each.text[:1].lower() + each.text[1:]) for each in dialog.choices), ("Esc", "close")]
        elif table.asked:
            band = Band(f"{display_names(table.asked, board.players)[0]} wants to sit down.", "waiting")
            keys = [("seat", ""), ("refuse", ""), ("watch", ""), ("?", "help")]
        if self._page is not None:
            keys = [*self._page_keys(self._page), ("Esc", "back to the table")]
        if width(band.text) + width(band.right) + 8 > columns:
            text = band.text.removeprefix("Your turn: ")
            band = replace(band, text=text[:1].upper() + text[1:])
        line.hints = [key for key, _ in keys]
        listed = line.completions()
        return Scene(
            typed=meant,
            with_odds=with_odds,
            steps=0 if progress is None else progress.step,
            seconds=self._seconds(),
            is_pressing=clock is not None and clock.goes_on,
            talk=(*self._talk, *table.notes),
            reply=(cut("  ".join(listed), columns - 2),) if listed else self._reply_rows,
            band=band,
            keys=keys,
            motion=table.pace.motion(),
            dialog=dialog,
            page=self._page,
            away=away,
            given=frozenset(each.fingerprint for each in progress.given) if progress is not None else frozenset(),
            coach=table.coach,
            lesson=table.lesson,
            picked=self._pick() if not moves else moves.index(typed) if typed in moves else None,
            moves=moves,
            score=answers.score(table.won, board.players),
            minutes=table.minutes,
            verdict=table.verdict,
            strip=strip,
        )

    @property
    def with_odds(self) -> bool:
        wanted = self._table.gives_odds if self._with_odds is None else self._with_odds
        return wanted and bool(self._table.board.odds)

    def _shown_dialog(self) -> Dialog | None:
        """Return the dialog to show; None while the reader is typing, so that no letter makes a choice by mistake."""
        dialog = self._table.dialog() if self._page is None and self._line.is_untyped else None
        if dialog is None:
            self._dialog = None
            return None
        if self._dialog is None or dialog.title != self._dialog.title:
            self._picked = dialog.picked
        self._dialog = replace(dialog, picked=self._picked % len(dialog.choices))
        return self._dialog

    @property
    def _shows_lobby(self) -> bool:
        return self._table.board.is_lobby and self._table.has_lobby

    def _pick(self) -> int | None:
        board = self._table.board
        return board.players.index(self._person) if self._person in self._others() else None

    def _others(self) -> list[PlayerInfo]:
        """Return the players that the arrow keys can pick in the lobby."""
        return [player for player in self._table.board.players if not player.is_me] if self._shows_lobby else []

    def _awaited(self) -> Sequence[PlayerInfo]:
        """Return the other players whose programs have been due to answer by themselves for a moment."""
        progress, clock = self._table.progress(), self._table.clock()
        if progress is None or progress.stage is Stage.CHOOSE or self._table.pace.is_holding:
            return ()
        if clock is not None and clock.allowed - clock.seconds < _MOMENT:
            return ()
        return [player for player in progress.awaited if not player.is_me]

    def _seconds(self) -> int | None:
        """Return the seconds left to the awaited player; None if no clock should be shown yet."""
        clock = self._table.clock()
        if clock is None or self._table.pace.is_holding or clock.allowed - clock.seconds < _MOMENT:
            return None
        return ceil(clock.seconds)

    # Keys

    def _pressed(self, _sender: object) -> None:
        """On each key press, clear the reply and show the rest of a showdown at once."""
        self._former_reply, self._reply_rows = self._reply_rows, ()
        self._was_leaving, self._is_leaving = self._is_leaving, False
        if self._table.board.call is not None and self._table.is_behind:
            self._table.pace.skip()

    def _submit(self, line: str) -> None:
        word = line.strip()
        is_about_newcomer = word in _ON_NEWCOMERS and bool(self._table.asked)
        if word in _ON_PEOPLE and self._shows_lobby and self._person is not None and not is_about_newcomer:
            if self._pick() is None:
                self._reply_rows = (f"{display_names([self._person])[0]}, whom you had picked, has left.",)
                self._reply_turn = self._turn()
                self._person = None
                return
            line = f"{word} {self._person.fingerprint}"
        self._lines.put_nowait(line)

    def _turn_page(self, pages: int) -> None:
        columns, room = self.page_size
        is_new = self._page is None
        if self._page is None:
            if pages > 0:
                return
            told = [f"{each.name}: {each.text}" if each.name else f"· {each.text}" for each in self._talk]
            if self._table.board.is_back:
                told.insert(0, "· Talk is not kept: what was said before you came back is not here.")
            lines = [self._theme.sign(line) for line in told]
            self._page = TextPage("Talk", lines or ["Nobody has said anything yet."])
        most = max(len(page_rows(self._page, columns + 2)) - room, 0)
        at = most if is_new else min(max(self._page.at + pages * room, 0), most)
        self._page = replace(self._page, at=at)

    def _page_keys(self, page: TextPage) -> Iterator[tuple[str, str]]:
        """Yield the key that turns the page forward or, on the last page, back."""
        columns, room = self.page_size
        if page.at + room < len(page_rows(page, columns + 2)):
            yield "PgDn", "next page"
        elif page.at:
            yield "PgUp", "page before"

    def _choose(self, place: int) -> None:
        assert self._dialog is not None
        line = self._dialog.choices[place].line
        self._table.close_dialog()
        if line is not None:
            self._lines.put_nowait(line)

    def _bindings(self) -> KeyBindingsBase:
        keys = KeyBindings()
        add = keys.add
        is_open = Condition(lambda: self._page is not None)
        is_asking = ~is_open & Condition(lambda: self._shown_dialog() is not None)
        is_closed = ~is_open & ~is_asking
        is_empty = is_closed & Condition(lambda: self._line.is_empty)
        is_untyped = is_closed & Condition(lambda: self._line.is_untyped)
        can_pick = is_empty & Condition(lambda: bool(self._others()))

        @add("c-c")
        @add("<sigint>")
        def _(_event: KeyPressEvent) -> None:
            if self._was_leaving:
                self._lines.put_nowait(InterruptedByUserError())
            self._is_leaving = True
            self._reply_rows, self._reply_turn = ("Ctrl-C again leaves the table.",), self._turn()

        @add("c-d", filter=is_untyped | is_open)
        def _(_event: KeyPressEvent) -> None:
            self._page = None
            self._lines.put_nowait("quit")

        @add("c-d", filter=is_asking)
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
            self._turn_page(-1 if event.key_sequence[0].key == Keys.PageUp else 1)

        @add("?", filter=is_untyped)
        @add("f1", filter=is_closed)
        def _(_event: KeyPressEvent) -> None:
            self._submit("help")

        @add("%", filter=is_untyped)
        def _(_event: KeyPressEvent) -> None:
            if self._table.board.odds:
                self._with_odds = not self.with_odds
            else:
                self._reply_rows, self._reply_turn = (HIDDEN,), self._turn()

        @add(" ", filter=is_empty)
        def _(_event: KeyPressEvent) -> None:
            if self._table.is_behind:
                self._submit("")

        @add("up", filter=can_pick)
        @add("down", filter=can_pick)
        def _(event: KeyPressEvent) -> None:
            others, is_down = self._others(), event.key_sequence[0].key == Keys.Down
            place = others.index(self._person) if self._person in others else -1 if is_down else 0
            self._person = others[(place + (1 if is_down else -1)) % len(others)]

        @add("enter", filter=is_empty & Condition(lambda: self._table.board.may_start))
        def _(_event: KeyPressEvent) -> None:
            self._line.put(moment.START)

        @add("escape", filter=is_empty & Condition(lambda: bool(self._table.board.false_friends)), eager=True)
        def _(_event: KeyPressEvent) -> None:
            self._table.close_dialog()

        @add(Keys.Any, filter=is_empty & Condition(lambda: self._table.moves_by_itself))
        def _(_event: KeyPressEvent) -> None:
            self._submit("")

        for key, line in self._table.key_lines.items():

            @add(key, filter=is_empty, eager=key == "escape")
            def _(_event: KeyPressEvent, line: str = line) -> None:
                self._submit(line)

        for key in (Keys.Any, Keys.Enter, Keys.Escape, Keys.Tab, Keys.Backspace, "up", "down", "left", "right", " "):

            @add(key, filter=is_open, eager=key == Keys.Escape)
            def _(event: KeyPressEvent) -> None:
                self._page = None
                if event.data.isalnum() and self._shown_dialog() is None:  # the key also begins the next line
                    event.app.key_processor.feed(event.key_sequence[0], first=True)

        @add(Keys.Any, filter=is_asking)
        def _(event: KeyPressEvent) -> None:
            assert self._dialog is not None
            letters = [choice.key for choice in self._dialog.choices]
            if event.data.lower() in letters:
                self._choose(letters.index(event.data.lower()))
            elif event.data.isprintable():
                self._reply_rows, self._reply_turn = _CHOOSE_FIRST, self._turn()

        @add("up", filter=is_asking)
        @add("down", filter=is_asking)
        def _(event: KeyPressEvent) -> None:
            self._picked += 1 if event.key_sequence[0].key == Keys.Down else -1

        @add("enter", filter=is_asking)
        def _(_event: KeyPressEvent) -> None:
            assert self._dialog is not None
            if self._former_reply != _CHOOSE_FIRST:  # otherwise Enter ends a line typed while the dialog was open
                self._choose(self._dialog.picked)

        @add("escape", filter=is_asking, eager=True)
        def _(_event: KeyPressEvent) -> None:
            self._table.close_dialog()

        return merge_key_bindings([self._line.bindings(is_closed), keys])


def _drop_late_answers(app: Application[None]) -> None:
    """Keep the terminal's late report of its background out of the input line."""
    parser = getattr(app.input, "vt100_parser", None)
    if isinstance(parser, Vt100Parser):
        feed, flush = parser.feed, parser.flush

        def flush_keys() -> None:
            _terminal_answers.flush(feed)
            flush()

        parser.feed = lambda data: _terminal_answers.without(data, feed)  # type: ignore[method-assign]
        parser.flush = flush_keys  # type: ignore[method-assign]


class PatientApplication(Application[None]):
    """An application that does not paint while its terminal takes no output, and repaints once it does."""

    def __init__(self, writer: Writer | None, **options: object) -> None:
        self._writer = writer
        super().__init__(**options)  # type: ignore[arg-type]
        self.ttimeoutlen = _ESCAPE

    def invalidate(self) -> None:
        if self._writer is not None and self._writer.is_busy:
            self._writer.when_idle(self.invalidate)
        else:
            super().invalidate()
