"""The line that is typed on the full screen. Keys put moves into it and complete it; a hint says what it would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from cli.render import faces
from cli.table import pieces
from cli.table.fragments import cut
from cli.table.walking import Step, walk
from cli.text.choices import is_stake
from cli.text.speech import hear_bid, is_possible
from p2pdice import Bid, Exact, Liar

if TYPE_CHECKING:
    from cli.table.face import ShownTable

_PASTED: Final = 1000
"""Characters of a paste that are put into the line."""
_CALLS: Final = (("!", "liar"), ("=", "exact"))


class LineEditor:
    """The line being typed.

    :param submit: takes a line when it is finished.
    """

    def __init__(self, table: ShownTable, submit: Callable[[str], None]) -> None:
        self.buffer = Buffer(history=InMemoryHistory(), multiline=False, on_text_changed=self._changed)
        self._table = table
        self._submit = submit
        self._picked = ""
        """The text that keys have put into the line; empty as soon as somebody types."""
        self._candidates: list[str] = []
        """The completions that the tab key goes through."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in the line."""
        return not self.buffer.text

    @property
    def is_untyped(self) -> bool:
        """Whether the line is empty, or keys have put all of it there."""
        return self.buffer.text in ("", self._picked)

    def hint(self, columns: int, *, with_odds: bool) -> str:
        """Return what the line would do, or which keys help to choose a move."""
        board, typed = self._table.board, self.buffer.text
        if self._candidates:
            return cut(self._completions(), columns - 1)
        if board.turn is None or board.state is None:
            return "" if typed else self._table.hint()
        if typed == "liar" and self._picked:
            return "! or Enter calls the bid a lie; Escape does not."
        if typed == "exact" and self._picked:
            return "= or Enter says that the bid is true to the die; Escape does not say it."
        lowest = next((move for move in board.turn.view.legal if isinstance(move, Bid)), None)
        bid = hear_bid(typed) if typed else lowest
        if bid is None or lowest is None or board.state.awaits.value != "move":
            if typed:
                return pieces.purpose(typed, board.seating)
            way = "change the coins" if is_stake(board.turn.view) else "go through the moves, Tab lists them"
            return f"Arrows {way}, ? helps."
        odds = f": {pieces.chance(board, bid.quantity, bid.face)} likely" if with_odds else ""
        if typed:
            playable = "Enter bids it." if is_possible(bid, board.turn.view) else "It cannot be bid now."
            return f"{faces(bid.quantity, bid.face).capitalize()}{odds}. {playable}"
        calls = "".join(f", {key} {word}" for key, word in _CALLS if self._is_legal(word))
        return f"{f'Lowest: {bid}{odds}. ' if odds else ''}Arrows choose a bid{calls}, ? help"

    def _completions(self) -> str:
        """Return the completions, from the present one on."""
        place = self._candidates.index(self.buffer.text) if self.buffer.text in self._candidates else 0
        first, *rest = [*self._candidates[place:], *self._candidates[:place]]
        return f"[{first}] {'  '.join(rest)}"

    def _is_legal(self, word: str) -> bool:
        turn = self._table.board.turn
        kind = Liar if word == "liar" else Exact
        return turn is not None and any(isinstance(move, kind) for move in turn.view.legal)

    def _changed(self, buffer: Buffer) -> None:
        if buffer.text != self._picked:
            self._picked = ""
            self._candidates = []

    def _put(self, text: str) -> None:
        self._picked = text
        self.buffer.document = Document(text)

    def _clear(self) -> None:
        self.buffer.reset()
        self._picked = ""
        self._candidates = []

    def _enter(self, _event: KeyPressEvent) -> None:
        line = self.buffer.text
        if line.strip():
            self.buffer.append_to_history()
        self._clear()
        self._submit(line)

    def _arrow(self, step: Step) -> None:
        turn = self._table.board.turn
        if turn is not None and self.buffer.text == self._picked:
            self._candidates = []
            self._put(walk(turn.view, self._table.board.seating.names, self._picked, step))
        elif step == "up":
            self.buffer.history_backward()
        elif step == "down":
            self.buffer.history_forward()
        elif step == "left":
            self.buffer.cursor_left()
        else:
            self.buffer.cursor_right()

    def _call(self, word: str) -> None:
        """Put a call into the line; make it when it stands there."""
        if self.buffer.text == word:
            self._clear()
            self._submit(word)
        else:
            self._put(word)

    def _complete(self, step: int) -> None:
        """Put the next completion of what was typed into the line, or with a step of -1 the one before."""
        if self._candidates:
            place = (self._candidates.index(self.buffer.text) + step) % len(self._candidates)
        else:
            stem = self.buffer.text.lower().lstrip()
            found = (each for each in self._table.completions() if each.lower().startswith(stem))
            self._candidates = list(dict.fromkeys(found))
            place = 0 if step > 0 else -1
        if self._candidates:
            self._put(self._candidates[place])
        if len(self._candidates) == 1:
            self._candidates = []

    def bindings(self, is_closed: Filter) -> KeyBindings:
        """Return what keys do to the line.

        :param is_closed: no page covers the table.
        """
        keys = KeyBindings()
        add = keys.add
        is_empty = is_closed & Condition(lambda: self.is_empty)
        is_untyped = is_closed & Condition(lambda: self.is_untyped)

        add("enter", filter=is_closed)(self._enter)

        for step in ("up", "down", "left", "right"):

            @add(step, filter=is_closed)
            def _(event: KeyPressEvent) -> None:
                self._arrow(cast("Step", event.key_sequence[0].key.value))  # type: ignore[union-attr]

        @add("escape", filter=is_closed, eager=True)
        def _(_event: KeyPressEvent) -> None:
            self._clear()

        @add("tab", filter=is_closed)
        @add("s-tab", filter=is_closed)
        def _(event: KeyPressEvent) -> None:
            self._complete(-1 if event.key_sequence[0].key == Keys.BackTab else 1)

        @add(Keys.Any, filter=is_untyped & ~is_empty)
        def _(event: KeyPressEvent) -> None:
            if event.data != " ":  # a space goes on with a completion
                self._clear()
            self.buffer.insert_text(event.data)

        @add(Keys.BracketedPaste, filter=is_closed)
        def _(event: KeyPressEvent) -> None:
            self.buffer.insert_text(" ".join(event.data[:_PASTED].split()))

        for key, word in _CALLS:
            is_legal = Condition(lambda word=word: self._is_legal(word))  # type: ignore[misc]

            @add(key, filter=is_untyped & is_legal)
            def _(_event: KeyPressEvent, word: str = word) -> None:
                self._call(word)

            @add(key, filter=is_empty & ~is_legal)
            def _(_event: KeyPressEvent, word: str = word) -> None:
                if self._table.board.showdown is None:  # else it was called already, and pressed once too often
                    self._submit(word)  # the table says why it cannot be called

        return keys
