"""Catching up: nodes tell each other what they hold, request what they lack, answer requests, and pass messages on.
Sans-I/O.

Theory of operation
-------------------
This is an anti-entropy protocol: every node reports what it holds now and then, and a node that lacks some of it asks::

    HAVE   when a link comes up, a second after a change, and every few seconds: my open step, its tip, a digest of
           the messages that I hold for it, and a digest of the votes and proofs that may still matter
    NEED   from a node that lacks some of these: send everything after my root, starting at a cursor
    PAGE   the answer: closed steps first, then the open step, then votes; and the cursor for the next NEED

A node compares a HAVE with its own state half a second after receiving it, since the messages are often on their way
already. It compares at once if the HAVE is the first over a link and names a later step. So two nodes that stay linked
end up with the same messages: the one that holds more says so, the other asks, and each page brings something new.

A peer can cause only bounded work: one *course* (a series of requests to one peer) per second, and pages only as
answers. The more useless messages its pages contain, the less often it is asked (:data:`~protocol.limits.WASTE_RATE`).
Requests are answered at no more than :data:`~protocol.limits.NEED_RATE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final

from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.position import FORMED
from protocol.consensus.replica import Replica
from protocol.match.effects import Broadcast, Effect, PassOn, Send
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import Cut, Have, Need, Page
from protocol.wire.messages import VOTES, Signed

TELL: Final = 1.0
"""Seconds from a change until this node reports it to the others."""
COMPARE: Final = 0.5
"""Seconds from receiving a HAVE until this node compares it with its own."""
ANEW: Final = 1.0
"""Seconds between the beginnings of two courses to one peer."""
ANSWER: Final = 3.0
"""Seconds to wait for an answer."""
PAIR: Final = 8
"""The overhead in bytes of each message in a page, in addition to its data and its signature."""


@dataclass(slots=True)
class _PeerState:
    """What a node knows about a linked peer."""

    waste: Bucket
    """Budget for useless messages in the peer's answers; it outlives single links."""
    have: Have | None = None
    """The peer's last HAVE, until it is compared."""
    has_said: bool = False
    """Whether the peer has sent a HAVE over this link."""
    begun: float = -math.inf
    """The time at which the last course began."""
    need: Need | None = None
    """The request to send, or the one that awaits its answer."""
    asked: float = math.inf
    """The time at which ``need`` was sent; infinity before."""
    answering: tuple[Have, Have] | None = None
    """Both nodes' HAVEs that caused the request; None if the peer is asked for everything, again and again until it
    answers."""
    shown: tuple[Have, Have] | None = None
    """Both nodes' HAVEs before the last course that the peer has answered. Asking again is useless until one of them
    changes."""

    def due(self, now: float) -> float:
        """Return when to send ``need``, for the first time or again; infinity for never."""
        if self.asked == math.inf:
            return now + self.waste.wait(now)
        return self.asked + ANSWER if self.answering is None else math.inf


class CatchUp:
    """Keeps one node's copy of one match up to date."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._history = replica.history
        self._peers: dict[int, _PeerState] = {}
        self._answers: Buckets[int] = Buckets(limits.NEED_RATE, limits.NEED_BURST, limits.ASKERS)
        self._waste: Buckets[int] = Buckets(limits.WASTE_RATE, limits.WASTE_BURST, limits.ASKERS)
        self._lists: dict[int, tuple[Need, list[Signed]]] = {}
        """By asker: the next request of its course, and the messages that answer the course."""
        self._tell_at = math.inf
        self._compare_at = math.inf

    # Links

    def linked(self, author: int, now: float) -> None:
        """Start over with a peer whose link is new. Frames sent over the previous link may be lost."""
        self._peers[author] = _PeerState(self._waste.bucket(author, now))
        self._tell_at = min(self._tell_at, now + limits.KEEPALIVE)

    def lost(self, author: int) -> None:
        """Forget a peer whose link is down."""
        self._peers.pop(author, None)

    # Reports

    def have(self) -> Have:
        position = self._history.position
        held, votes = self._replica.digests()
        return Have(self._history.match, position.step, position.tip, held, votes)

    def changed(self, now: float) -> None:
        """Schedule a HAVE, because this node holds something new."""
        self._tell_at = min(self._tell_at, now + TELL)

    def tell(self, now: float) -> Have | None:
        """Return the HAVE for all linked peers, if one is due."""
        if now < self._tell_at:
            return None
        self._tell_at = now + limits.KEEPALIVE if self._peers else math.inf
        return self.have()

    # Requests

    def take(self, author: int, have: Have, now: float) -> None:
        """Record a peer's HAVE, to be compared later."""
        peer = self._peers.get(author)
        if peer is not None:
            peer.have = have
            is_behind = not peer.has_said and have.step > self._history.position.step
            self._compare_at = min(self._compare_at, now if is_behind else now + COMPARE)
            peer.has_said = True

    def ask(self, author: int, now: float) -> None:
        """Start to ask a peer for everything that this node may lack."""
        peer = self._peers[author]
        position = self._history.root
        peer.need, peer.asked, peer.begun = Need(self._history.match, position.step, position.tip, 0), math.inf, now
        peer.answering = None

    def ask_nobody(self) -> None:
        """Cancel requests for everything; from now on, ask only peers that hold more."""
        for peer in self._peers.values():
            if peer.answering is None:
                peer.need = None

    def questions(self, now: float) -> Iterator[tuple[int, Need]]:
        """Yield the requests that are due, each with the peer to ask."""
        if now >= self._compare_at:
            self._compare_at = math.inf
            mine = self.have()
            for author, peer in sorted(self._peers.items()):
                self._compare(author, peer, mine, now)
        for author, peer in sorted(self._peers.items()):
            if peer.need is not None and now >= peer.due(now):
                peer.asked = now
                yield author, peer.need

    def _compare(self, author: int, peer: _PeerState, mine: Have, now: float) -> None:
        if peer.answering is not None and now >= peer.asked + ANSWER:
            peer.need = None  # its next HAVE decides whether to ask again
        if peer.have is None or peer.need is not None:
            return
        if now < peer.begun + ANEW:
            self._compare_at = min(self._compare_at, peer.begun + ANEW)
            return
        theirs, peer.have = peer.have, None
        if self._lacks(mine, theirs) and (mine, theirs) != peer.shown:
            self.ask(author, now)
            peer.answering = mine, theirs

    def _lacks(self, mine: Have, theirs: Have) -> bool:
        """Return whether a peer claims to hold something that this node may lack."""
        history, position = self._history, self._history.position
        if theirs.step > position.step:
            return True
        if theirs.step < position.root_step:
            return False
        if theirs.tip != history.chain[theirs.step].tip:
            return True
        is_open = theirs.step == position.step
        return (is_open and theirs.held not in (b"", mine.held)) or theirs.votes not in (b"", mine.votes)

    def due(self, now: float) -> float:
        """Return when to tell, compare or ask next; infinity for never."""
        asking = [peer.due(now) for peer in self._peers.values() if peer.need is not None]
        return min((self._tell_at, self._compare_at, *asking))

    # Answers

    def accept(self, author: int) -> Need | None:
        """Return the request that a page from this peer would answer; None if no request is open."""
        peer = self._peers.get(author)
        return peer.need if peer is not None and peer.asked < math.inf else None

    def go_on(self, author: int, page: Page, waste: float) -> bool:
        """Count an answer, and return whether it was the last of its course. If not, the next request is due.

        :param waste: the number of useless messages in the page.
        """
        peer = self._peers[author]
        assert peer.need is not None
        peer.waste.take(waste)
        is_last = not page.messages or page.cursor <= peer.need.cursor
        peer.need = None if is_last else peer.need._replace(cursor=page.cursor)
        peer.asked = math.inf
        if is_last and peer.answering is not None:
            peer.shown = peer.answering
        return is_last

    def give_up(self, author: int) -> None:
        """Stop asking a peer, whose answer was malformed, until its next HAVE."""
        self._peers[author].need = None

    def answer(self, asker: int, need: Need, now: float) -> Page | None:
        """Return the answer to a request; None if the asker has sent too many.

        :param now: monotonic time in seconds.
        """
        if not self._answers.bucket(asker, now).admits(now):
            return None
        shown = self._list(asker, need)
        messages: list[tuple[bytes, bytes]] = []
        size = 0
        for signed in islice(shown, need.cursor, None):
            size += len(signed.data) + len(signed.signature) + PAIR
            if size > limits.PAGE:
                following = need._replace(cursor=need.cursor + len(messages))
                self._lists[asker] = following, shown
                return Page(need.match, following.cursor, tuple(messages))
            messages.append(signed.wire)
        self._lists.pop(asker, None)
        return Page(need.match, 0, tuple(messages))

    def _list(self, asker: int, need: Need) -> list[Signed]:
        """Return the messages that answer a request. They stay the same during one course."""
        following, shown = self._lists.get(asker, (None, []))
        if following == need:
            return shown
        history, step = self._history, need.step
        if step > history.position.step:
            step = history.position.root_step  # the asker is ahead: it may lack votes, but no closed step
        elif history.chain[step].tip != need.tip:
            # The asker has another history. If that diverged before our root, only the whole history shows the culprit.
            step = history.position.root_step if step > history.position.root_step else 0
        if len(self._lists) >= limits.ASKERS and asker not in self._lists:
            del self._lists[next(iter(self._lists))]
        return list(self._replica.shown(step))


class Relay:
    """Passes messages on to peers that have no link to the author.

    Every player reports which players it cannot reach (CUT), and the others pass those players' messages on to it. Each
    author has a budget for votes that are passed on, so that endless votes by one author cannot fill other players'
    links. Votes beyond the budget are not passed on; nodes that lack them and can use them request them. Other messages
    need no budget, as an author has only one per step. If they shared the budget, a liar could exhaust it with votes,
    so that the liar's next message would not be passed on to some player. That player would then seem to be late.

    :param me: this node's roster index; None for a spectator.
    :param linked: a live view of the linked players.
    :param emit: receives the effects that send frames.
    """

    def __init__(self, history: History, me: int | None, linked: Set[int], emit: Callable[[Effect], None]) -> None:
        self.unreached: dict[int, tuple[int, ...]] = {}
        """The players that each linked peer cannot reach, by peer."""
        self._history = history
        self._me = me
        self._linked = linked
        self._emit = emit
        self._told: tuple[int, ...] = ()
        """The unreachable players in this node's last CUT."""
        self._budgets: Buckets[int] = Buckets(limits.PASS_ON_RATE, limits.PASS_ON_BURST, limits.PLAYERS)
        """Budgets for passed-on votes, by author."""

    @property
    def cut(self) -> Cut | None:
        """The frame that lists the players whom this node cannot reach; None if it reaches everybody."""
        return Cut(self._history.match, self._told) if self._told else None

    def tell_cut(self, newcomer: int | None = None) -> None:
        """Send a CUT to all linked players if the unreachable players have changed; otherwise only to a newcomer."""
        if self._me is None or self._history.position.step < FORMED:
            return
        cut = tuple(author for author in range(self._history.roster_size) if author not in (self._me, *self._linked))
        if cut != self._told:
            self._told = cut
            self._emit(Broadcast(Cut(self._history.match, cut)))
        elif newcomer is not None and cut:
            self._emit(Send(newcomer, Cut(self._history.match, cut)))

    def pass_on(self, signed: Signed, now: float) -> None:
        """Pass a new message on to spectators, and to the peers without a link to its author."""
        author = signed.message.author
        if author == self._me:
            self._emit(PassOn(signed, ()))
        elif signed.message.kind not in VOTES or self._budgets.bucket(author, now).admits(now):
            cut = (peer for peer, authors in sorted(self.unreached.items()) if author in authors)
            self._emit(PassOn(signed, tuple(cut)))
