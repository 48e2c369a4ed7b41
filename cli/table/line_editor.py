"""The input line of the full screen. Keys put moves into it and complete words; a hint explains the typed move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from cli.text.move_forms import is_stake, offers
from cli.text.speech import NotUnderstoodError, hear, hear_bid
from p2pdice.moves import Bid, Exact, Liar, Move

if TYPE_CHECKING:
    from cli.table.table import Table
    from p2pdice.views import View

Step = Literal["up", "down", "left", "right"]

_PASTED: Final = 1000
"""Maximum characters accepted from a paste."""
_CALLS: Final = (("!", "liar"), ("=", "exact"))
_COINS: Final[dict[Step, int]] = {"up": 50, "down": -50, "right": 10, "left": -10}


class _Ghost(AutoSuggest):
    """Suggests the rest of the word being typed, which is drawn after the cursor."""

    def __init__(self, line: LineEditor) -> None:
        self._line = line

    def get_suggestion(self, _buffer: Buffer, document: Document) -> Suggestion | None:
        word = self._line.ghost(document.text)
        return Suggestion(word[len(document.text) :]) if word else None


class LineEditor:
    """The input line.

    :param submit: receives each finished line.
    """

    def __init__(self, table: Table, submit: Callable[[str], None]) -> None:
        self.buffer = Buffer(
            history=InMemoryHistory(),
            multiline=False,
            on_text_changed=self._changed,
            auto_suggest=_Ghost(self),
        )
        self.table = table
        self._submit = submit
        self._picked = ""
        """The text that keys have put into the line; empty once the person types."""
        self._candidates: list[str] = []
        """The completions that Tab cycles through."""
        self.hints: Sequence[str] = ()
        """The keys and words in the key bar."""

    @property
    def is_empty(self) -> bool:
        """Whether the line is empty."""
        return not self.buffer.text

    @property
    def is_untyped(self) -> bool:
        """Whether the line is empty, or keys have put its whole text there."""
        return self.buffer.text in ("", self._picked)

    @property
    def picked(self) -> str:
        """The line's text if keys have put it there; otherwise empty."""
        return self._picked if self.buffer.text == self._picked else ""

    def put(self, text: str) -> None:
        """Put a text into the line, as if a key had done it."""
        self._candidates = []
        self._put(text)

    def clear(self) -> None:
        """Empty the line."""
        self.buffer.reset()
        self._picked = ""
        self._candidates = []

    def meant(self) -> Move | None:
        """Return the typed move, legal or not; None if the line is no move, or it is not the reader's turn."""
        board, text = self.table.board, self.buffer.text
        if board.turn is None or not text:
            return None
        try:
            heard = hear(text, board.turn.view, board.seating.names, ())
        except NotUnderstoodError:
            return None
        return heard if isinstance(heard, Move) else None

    def moves(self) -> Sequence[str]:
        """Return the legal moves if none of them is a bid or a stake; otherwise nothing."""
        turn = self.table.board.turn
        if turn is None or is_stake(turn.view) or any(isinstance(move, Bid) for move in turn.view.legal):
            return ()
        return offers(turn.view, self.table.board.seating.names)

    def completions(self) -> Sequence[str]:
        """Return the completions that Tab cycles through, from the current one on."""
        place = self._candidates.index(self.buffer.text) if self.buffer.text in self._candidates else 0
        return [*self._candidates[place:], *self._candidates[:place]]

    def ghost(self, text: str) -> str:
        """Return a word that begins with ``text``, preferably from the key bar; empty if none does, or a move does."""
        stem = text.lower()
        turn = self.table.board.turn
        if not stem.strip() or stem != stem.lstrip() or stem in self.table.words:
            return ""
        if turn is not None and any(
            move.startswith(stem) for move in offers(turn.view, self.table.board.seating.names)
        ):
            return ""
        known = [*filter(self._is_taken, self.hints), *self.table.completions()]
        return next((word for word in known if word.startswith(stem)), "")

    def _is_taken(self, word: str) -> bool:
        """Return whether Enter may complete an abbreviation to this word of the key bar.

        It may not complete words that cannot be undone. *quit* is an exception in a match, where it asks first, and
        after a match, where nothing can be lost.
        """
        is_safe = word == "quit" and not self.table.board.is_lobby
        first = word.partition(" ")[0]
        return first in self.table.words and (not self.table.words[first].in_full or is_safe)

    def _is_legal(self, word: str) -> bool:
        turn = self.table.board.turn
        kind = Liar if word == "liar" else Exact
        return turn is not None and any(isinstance(move, kind) for move in turn.view.legal)

    def _changed(self, buffer: Buffer) -> None:
        if buffer.text != self._picked:
            self._picked = ""
            self._candidates = []

    def _put(self, text: str) -> None:
        self._picked = text
        self.buffer.document = Document(text)

    def _enter(self, _event: KeyPressEvent) -> None:
        line = self.buffer.text or self.table.untouched
        if line != self._picked and (word := self.ghost(line)) in self.hints and self._is_taken(word):
            line = word
        if line.strip():
            self.buffer.append_to_history()
        self.clear()
        self._submit(line)

    def _arrow(self, step: Step) -> None:
        turn = self.table.board.turn
        if turn is not None and self.buffer.text == self._picked:
            self._candidates = []
            self._put(walk(turn.view, self.table.board.seating.names, self._picked, step))
        elif step == "up":
            self.buffer.history_backward()
        elif step == "down":
            self.buffer.history_forward()
        elif step == "left":
            self.buffer.cursor_left()
        elif self.buffer.document.is_cursor_at_the_end and (word := self.ghost(self.buffer.text)):
            self.buffer.document = Document(word)
        else:
            self.buffer.cursor_right()

    def _call(self, word: str) -> None:
        """Put a call into the line; if it is already there, make the call."""
        if self.buffer.text == word:
            self.clear()
            self._submit(word)
        else:
            self._put(word)

    def _complete(self, step: int) -> None:
        """Put the next completion into the line, or the previous one if ``step`` is -1."""
        if self._candidates:
            place = (self._candidates.index(self.buffer.text) + step) % len(self._candidates)
        else:
            stem = self.buffer.text.lower().lstrip()
            found = (each for each in self.table.completions() if each.lower().startswith(stem))
            self._candidates = list(dict.fromkeys(found))
            place = 0 if step > 0 else -1
        if self._candidates:
            self._put(self._candidates[place])
        if len(self._candidates) == 1:
            self._candidates = []

    def bindings(self, is_closed: Filter) -> KeyBindings:
        """Return the key bindings of the line.

        :param is_closed: whether neither a page nor a dialog covers the table.
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
            self.clear()
            self.table.withdraw()

        @add("tab", filter=is_closed)
        @add("s-tab", filter=is_closed)
        def _(event: KeyPressEvent) -> None:
            self._complete(-1 if event.key_sequence[0].key == Keys.BackTab else 1)

        @add(Keys.Any, filter=is_untyped & ~is_empty)
        def _(event: KeyPressEvent) -> None:
            if event.data != " ":  # a space continues a completed word
                self.clear()
            self.buffer.insert_text(event.data)

        @add(Keys.BracketedPaste, filter=is_closed)
        def _(event: KeyPressEvent) -> None:
            self.buffer.insert_text(" ".join(event.data[:_PASTED].split()))

        for digit in range(1, 10):
            is_listed = Condition(lambda digit=digit: len(self.moves()) >= digit)  # type: ignore[misc]

            @add(str(digit), filter=is_untyped & is_listed)
            def _(_event: KeyPressEvent, digit: int = digit) -> None:
                self.put(self.moves()[digit - 1])

        for key, word in _CALLS:
            is_legal = Condition(lambda word=word: self._is_legal(word))  # type: ignore[misc]

            @add(key, filter=is_untyped & is_legal)
            def _(_event: KeyPressEvent, word: str = word) -> None:
                self._call(word)

            @add(key, filter=is_empty & ~is_legal)
            def _(_event: KeyPressEvent, word: str = word) -> None:
                if self.table.board.showdown is None:  # otherwise the key was pressed once too often
                    self._submit(word)  # the table explains why the call is not possible

        return keys


def walk(view: View, names: Sequence[str], at: str, step: Step) -> str:
    """Return the move that an arrow key puts into the line, as it would be typed.

    Up and down change the number of dice, left and right the face. If no bid can be made, the keys cycle through the
    legal moves. A stake changes by 50 or 10 coins.

    :param names: by seat.
    :param at: the move now in the line; empty if there is none.
    """
    if is_stake(view):
        coins = at.removeprefix("stake ")
        return f"stake {min(max((int(coins) if coins.isdecimal() else 0) + _COINS[step], 0), view.funds)}"
    bids = [move for move in view.legal if isinstance(move, Bid)]
    if not bids:
        return _through(offers(view, names), at, 1 if step in ("down", "right") else -1)
    here = hear_bid(at) if at else None
    if here is None:
        if view.state.bid is None:
            return str(bids[0])
        here = Bid(view.state.bid.quantity, view.state.bid.face)
    return str(_next_bid(bids, here, step))


def _through(moves: list[str], at: str, step: int) -> str:
    if at in moves:
        return moves[(moves.index(at) + step) % len(moves)]
    return moves[0 if step > 0 else -1]


def _next_bid(bids: list[Bid], here: Bid, step: Step) -> Bid:
    if step in ("up", "down"):
        sign = 1 if step == "up" else -1
        further = [bid for bid in bids if (bid.quantity - here.quantity) * sign > 0]
        same = [bid for bid in further if bid.face == here.face]
        # Under some rules, a change of the number requires another face.
        return _nearest(same or further or [here if here in bids else bids[0]], here)
    for distance in range(1, 7):
        face = (here.face - 1 + (distance if step == "right" else -distance)) % 6 + 1
        there = [bid for bid in bids if bid.face == face]
        if there:
            return _nearest(there, here)
    raise AssertionError("there are bids, so one of the six faces has one")


def _nearest(bids: list[Bid], here: Bid) -> Bid:
    """Return the bid closest to ``here``, by number of dice, then by face. In a tie, prefer more dice."""
    return min(bids, key=lambda bid: (abs(bid.quantity - here.quantity), abs(bid.face - here.face), -bid.quantity))
