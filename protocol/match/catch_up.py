"""Catching up: what a node tells its peers that it holds, what it asks them for, and what it answers. Sans-I/O.

Theory of operation
-------------------
This is anti-entropy: every node says now and then what it holds, and whoever sees that another holds more asks::

    HAVE   when a link comes up, a second after something has changed, and every few seconds: my open step, its tip,
           a digest of the messages that I hold for it, and one of the votes and proofs that may still matter
    NEED   from whoever lacks something of that: everything since my last complete LOCK, from a cursor on
    PAGE   the answer: what is missing of the history first, then the open step, then votes; and how to go on

HAVE is compared half a second after it came, as what it tells of is often on its way already; at once if it is the
first over a link and tells of a later step. So of two nodes that stay linked each comes to hold all that the other
does: the one that holds more says so, the other asks, and each page of the answer brings what the page before did not.

What a peer can make a node do is bounded, whatever it says: one course of questions a second, pages only as answers,
and the less of them the more they hold that is of no use (:data:`~protocol.limits.WASTE_RATE`); requests are answered
at :data:`~protocol.limits.NEED_RATE`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from protocol import limits
from protocol.consensus.replica import Replica
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import Have, Need, Page

TELL: Final = 1.0
"""Seconds after a change until the others are told what this node holds now."""
COMPARE: Final = 0.5
"""Seconds after a HAVE until it is compared with what is here then."""
ANEW: Final = 1.0
"""Seconds between the first questions of two courses of them to one peer."""
ANSWER: Final = 3.0
"""Seconds for which an answer is waited for."""


@dataclass(slots=True)
class _Peer:
    """Somebody who is linked."""

    waste: Bucket
    """What its answers may hold that is of no use, in messages."""
    have: Have | None = None
    """What it said last, until that is compared."""
    has_said: bool = False
    """It has said something since it is linked."""
    begun: float = -math.inf
    """When the last course of questions began."""
    need: Need | None = None
    """The question that is to be asked or waits for its answer."""
    asked: float = math.inf
    """When it was asked; infinity if it is still to be asked."""
    answering: Have | None = None
    """What it had said before it was asked; None if it is asked whatever it says, until it answers."""
    shown: tuple[Have, Have] | None = None
    """What was held here and there when it had shown all: as long as both stay so it has nothing new to show."""

    def due(self, now: float) -> float:
        """Return when it is to be asked, for the first time or again."""
        if self.asked == math.inf:
            return now + self.waste.wait(now)
        return self.asked + ANSWER if self.answering is None else math.inf


class CatchUp:
    """What one node tells, asks and answers in one match."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._record = replica.record
        self._peers: dict[int, _Peer] = {}
        self._answers: Buckets[int] = Buckets(limits.NEED_RATE, limits.NEED_BURST, limits.ASKERS)
        self._tell_at = math.inf
        self._compare_at = math.inf

    # Links

    def linked(self, author: int, now: float) -> None:
        """The link is up: what was under way over the one before may have been lost with it."""
        self._peers[author] = _Peer(Bucket(limits.WASTE_RATE, limits.WASTE_BURST, now))
        self._tell_at = min(self._tell_at, now + limits.KEEPALIVE)

    def lost(self, author: int) -> None:
        """The link is down."""
        self._peers.pop(author, None)

    # Telling

    def have(self) -> Have:
        """Return what this node holds."""
        place = self._record.position
        held, votes = self._replica.digests()
        return Have(self._record.match, place.step, place.tip, held, votes)

    def changed(self, now: float) -> None:
        """Something has come to be held."""
        self._tell_at = min(self._tell_at, now + TELL)

    def tell(self, now: float) -> Have | None:
        """Return what all who are linked are to be told now, if it is time."""
        if now < self._tell_at:
            return None
        self._tell_at = now + limits.KEEPALIVE if self._peers else math.inf
        return self.have()

    # Asking

    def take(self, author: int, have: Have, now: float) -> None:
        """Note what a peer says it holds."""
        peer = self._peers.get(author)
        if peer is not None:
            peer.have = have
            is_behind = not peer.has_said and have.step > self._record.position.step
            self._compare_at = min(self._compare_at, now if is_behind else now + COMPARE)
            peer.has_said = True

    def ask(self, author: int, now: float) -> None:
        """Begin to ask a peer for everything that it holds and this node might not."""
        peer = self._peers[author]
        place = self._record.chain[self._record.position.locked]
        peer.need, peer.asked, peer.begun = Need(self._record.match, place.step, place.tip, 0), math.inf, now
        peer.answering = None

    def ask_nobody(self) -> None:
        """Ask only those who hold more, from now on."""
        for peer in self._peers.values():
            if peer.answering is None:
                peer.need = None

    def questions(self, now: float) -> Iterator[tuple[int, Need]]:
        """Yield what is to be asked now, and whom."""
        if now >= self._compare_at:
            self._compare_at = math.inf
            mine = self.have()
            for author, peer in sorted(self._peers.items()):
                self._compare(author, peer, mine, now)
        for author, peer in sorted(self._peers.items()):
            if peer.need is not None and now >= peer.due(now):
                peer.asked = now
                yield author, peer.need

    def _compare(self, author: int, peer: _Peer, mine: Have, now: float) -> None:
        if peer.answering is not None and now >= peer.asked + ANSWER:
            peer.need = None  # what they say now tells whether that is still to be asked
        if peer.have is None or peer.need is not None:
            return
        if now < peer.begun + ANEW:
            self._compare_at = min(self._compare_at, peer.begun + ANEW)
            return
        theirs, peer.have = peer.have, None
        if self._lacks(mine, theirs) and (mine, theirs) != peer.shown:
            self.ask(author, now)
            peer.answering = theirs

    def _lacks(self, mine: Have, theirs: Have) -> bool:
        """Tell whether a peer holds what is not here, as far as it is believed."""
        record, position = self._record, self._record.position
        if theirs.step > position.step:
            return True
        if theirs.step < position.locked:
            return False
        if theirs.tip != record.chain[theirs.step].tip:
            return True
        is_open = theirs.step == position.step
        return (is_open and theirs.held not in (b"", mine.held)) or theirs.votes not in (b"", mine.votes)

    def due(self, now: float) -> float:
        """Return when something is to be told, compared or asked next."""
        asking = (peer.due(now) for peer in self._peers.values() if peer.need is not None)
        return min((self._tell_at, self._compare_at, *asking))

    # Answers

    def accept(self, author: int) -> Need | None:
        """Return the question that a page answers; None if there is none."""
        peer = self._peers.get(author)
        return peer.need if peer is not None and peer.asked < math.inf else None

    def go_on(self, author: int, page: Page, waste: float) -> bool:
        """Count an answer; tell whether it was the last one. If not, the next question is to be asked.

        :param waste: how many of its messages were of no use.
        """
        peer = self._peers[author]
        assert peer.need is not None
        peer.waste.take(waste)
        is_last = not page.messages or page.cursor <= peer.need.cursor
        peer.need = None if is_last else peer.need._replace(cursor=page.cursor)
        peer.asked = math.inf
        if is_last and peer.answering is not None:
            peer.shown = self.have(), peer.answering
        return is_last

    def give_up(self, author: int) -> None:
        """An answer was unreadable: ask no further before it says something else."""
        self._peers[author].need = None

    def answer(self, asker: int, need: Need, now: float) -> Page | None:
        """Return the answer to a request; None if too many came.

        :param now: monotonic time in seconds.
        """
        if not self._answers.bucket(asker, now).admits(now):
            return None
        record, step = self._record, need.step
        if step > record.position.step:
            step = record.position.locked  # they are ahead: of the history they want nothing, but perhaps of the votes
        elif record.chain[step].tip != need.tip:
            # Another history. If it parted from ours before our last complete LOCK, only all of it shows who is to
            # blame.
            step = record.position.locked if step > record.position.locked else 0
        messages: list[tuple[bytes, bytes]] = []
        size = 0
        for signed in islice(self._replica.shown(step), need.cursor, None):
            size += len(signed.data) + len(signed.signature) + 8
            if size > limits.PAGE:
                return Page(record.match, need.cursor + len(messages), tuple(messages))
            messages.append(signed.wire)
        return Page(record.match, 0, tuple(messages))
