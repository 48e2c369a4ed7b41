"""Catching up: what a node asks its peers for, and what it answers them. Sans-I/O.

NEED names a step and its tip; a page answers it with all messages from that step on. Requests
and answers may be lost with a link, so whoever lacks something asks again; therefore both sides count: a page that
nobody asked for is not opened, and a request is answered once per peer, step and :data:`~protocol.limits.NEED_ANSWER`.
"""

from __future__ import annotations

from protocol import limits
from protocol.agreement import Agreement
from protocol.position import Position
from protocol.wire import Need, Page


class CatchUp:
    """The requests and answers of one node in one match."""

    def __init__(self, agreement: Agreement) -> None:
        self._agreement = agreement
        self._record = agreement.record
        self._owing: dict[int, int] = {}
        """Who owes how many pages."""
        self._answered: dict[tuple[int, int], float] = {}
        """When a request was answered last, by asker and step."""

    def ask(self, author: int, position: Position) -> Need:
        """Return the request for everything from a step on."""
        self._owing[author] = min(self._owing.get(author, 0) + 1, limits.NEED_ANSWERS)
        return Need(self._record.match, position.step, position.tip)

    def is_asked(self, author: int) -> bool:
        """Tell whether an author owes a page."""
        return author in self._owing

    def accept(self, author: int) -> bool:
        """Count a page that came; tell whether it was asked for."""
        if author not in self._owing:
            return False
        self._owing[author] -= 1
        if not self._owing[author]:
            del self._owing[author]
        return True

    def lost(self, author: int) -> None:
        """The link is down: what the author owed will not come."""
        self._owing.pop(author, None)

    def linked(self, author: int) -> None:
        """The link is up: what was answered over the one before may have been lost with it."""
        self._answered = {key: time for key, time in self._answered.items() if key[0] != author}

    def answer(self, asker: int, need: Need, now: float) -> Page | None:
        """Return the answer to a request, or None if it has none or was answered just now.

        :param now: monotonic time in seconds.
        """
        record = self._record
        if need.step > record.position.step:
            return None  # whoever asks knows more than this node
        if now - self._answered.get((asker, need.step), -limits.NEED_ANSWER) < limits.NEED_ANSWER:
            return None
        self._answered = {key: time for key, time in self._answered.items() if now - time < limits.NEED_ANSWER}
        if sum(other == asker for other, _ in self._answered) >= limits.NEED_ANSWERS:
            return None
        self._answered[asker, need.step] = now
        step = need.step
        if record.chain[step].tip != need.tip:
            # Another history. If it parted from ours behind a LOCK, only all of it shows who is to blame.
            step = record.position.locked if step > record.position.locked else 0
        return self._page(step)

    def _page(self, step: int) -> Page:
        messages: list[tuple[bytes, bytes]] = []
        size = 0
        is_last = True
        for signed in self._agreement.history(step):
            size += len(signed.data) + len(signed.signature) + 8
            if size > limits.PAGE:
                is_last = False
                break
            messages.append(signed.wire)
        return Page(self._record.match, is_last, tuple(messages))
