"""The links of one node to the other players of a match, and the messages that it passes on between them. Sans-I/O.

Every player tells the others which players it cannot reach (CUT). They pass those players' messages on to it. Each
author has a budget of votes for that: one who votes without end fills no link of anybody else's. A vote beyond the
budget is not passed on; those who lack it and can use it ask for it (:mod:`protocol.match.catch_up`). Other messages
need no budget, as an author has one in a step: were they to wait for it, a liar's votes would keep the liar's own
message from a player, who would then be the one who is late.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.position import FORMED
from protocol.match.effects import Broadcast, Effect, PassOn, Send
from protocol.rate_limit import Buckets
from protocol.wire.frames import Cut
from protocol.wire.messages import VOTES, Signed


class Links:
    """The links of one node.

    :param me: this node's index in the roster, None for a spectator.
    :param emit: takes what is to be sent.
    """

    def __init__(self, history: History, me: int | None, emit: Callable[[Effect], None]) -> None:
        self.linked: set[int] = set()
        """The players who are linked."""
        self._history = history
        self._me = me
        self._emit = emit
        self._cut: dict[int, tuple[int, ...]] = {}
        """The players that a linked peer cannot reach, by peer."""
        self._told_cut: tuple[int, ...] = ()
        """The players that this node last said it cannot reach."""
        self._budgets: Buckets[int] = Buckets(limits.PASS_ON_RATE, limits.PASS_ON_BURST, limits.PLAYERS)
        """Of the votes that are passed on, by author."""

    def has_quorum(self) -> bool:
        """Tell whether more than half of the base are here, so that a vote can come to something."""
        position = self._history.position
        return len({self._me, *self.linked}.intersection(position.base)) >= position.majority

    def lost(self, author: int) -> None:
        """A link is down."""
        self.linked.discard(author)
        self._cut.pop(author, None)

    def severed(self, sender: int, authors: tuple[int, ...]) -> None:
        """A peer says which players it cannot reach."""
        self._cut[sender] = tuple(sorted(set(authors)))

    @property
    def cut(self) -> Cut | None:
        """The frame that tells whom this node cannot reach; None if it reaches everybody."""
        return Cut(self._history.match, self._told_cut) if self._told_cut else None

    def tell_cut(self, newcomer: int | None = None) -> None:
        """Tell the linked players whom this node cannot reach, if that has changed; a newcomer in any case."""
        if self._me is None or self._history.position.step < FORMED:
            return
        cut = tuple(author for author in range(self._history.roster_size) if author not in (self._me, *self.linked))
        if cut != self._told_cut:
            self._told_cut = cut
            self._emit(Broadcast(Cut(self._history.match, cut)))
        elif newcomer is not None and cut:
            self._emit(Send(newcomer, Cut(self._history.match, cut)))

    def pass_on(self, signed: Signed, now: float) -> None:
        """Pass a new message on to spectators, and to the peers that cannot hear its author."""
        author = signed.message.author
        if author == self._me:
            self._emit(PassOn(signed, ()))
        elif signed.message.kind not in VOTES or self._budgets.bucket(author, now).admits(now):
            cut = (peer for peer, authors in sorted(self._cut.items()) if author in authors and peer != author)
            self._emit(PassOn(signed, tuple(cut)))
