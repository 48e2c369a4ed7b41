"""How long this node waits for the others before it votes that they are absent.

Time is this machine's own and monotonic; nothing here is ever signed. The genesis says how long a person may take to
choose and how long a program may take to answer. Programs answer in milliseconds: time beyond
:data:`~protocol.limits.GRACE` is charged to an account of :data:`~protocol.limits.BANK` patiences for the match. A
player whose account is empty gets no more than the grace. So stalling a little in every step buys little.

Patience begins anew when the step changes, when a link comes back (a few times in a step: reconnecting is no way to
stall either), when enough are linked again to go on, and when this machine has slept. With those who are proven to have
broken the rules, or for whom the others have just not waited, it lasts half a second.

Patience has no end with a person who plays only against their own programs (:class:`Party`): nobody is kept waiting.
The waiting nodes decide this for themselves; the genesis does not say it. And a node's owner may wait longer in the
open step (:meth:`Timeouts.extend`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from protocol import limits
from protocol.wire.genesis import JoinRecord, Patience


class Party(NamedTuple):
    """A person and the programs that they have seated, by identity keys: known to their nodes and to nobody else."""

    person: bytes
    programs: frozenset[bytes] = frozenset()

    def waited_for(self, roster: Sequence[JoinRecord]) -> frozenset[int]:
        """Return the authors with endless patience: the person, if all others are their programs."""
        identities = [record.join.identity for record in roster]
        if not {self.person, *self.programs}.issuperset(identities):
            return frozenset()
        return frozenset(author for author, identity in enumerate(identities) if identity == self.person)


class Timeouts:
    """The patience of one node with the players who owe it messages of the open step.

    :param patience: of the genesis.
    :param unhurried: authors with endless patience.
    """

    def __init__(self, patience: Patience, unhurried: Collection[int] = ()) -> None:
        self._patience = patience
        self._unhurried = unhurried
        self._tip = b""
        self._is_choice = False
        self._opened = 0.0
        self._since: dict[int, float] = {}
        self._reprieves: dict[int, int] = {}
        self._bank = float(limits.BANK * patience.automatic)
        self._banks: dict[int, float] = {}
        """The rest of each account, by author."""
        self._is_charging = True
        self._extra = 0.0
        """Seconds that the owner waits longer in the open step."""
        self._hurried: frozenset[int] = frozenset()
        """Authors for whom nobody waits."""

    def open_step(self, tip: bytes, is_choice: bool, now: float, hurried: Collection[int] = ()) -> None:
        """Start to wait for the messages of a step, unless this is already the open one.

        :param is_choice: a person has to choose, so patience is long.
        :param hurried: authors with whom it lasts only as long as others need to show their messages.
        """
        for author in self._hurried.symmetric_difference(hurried):
            self._since[author] = now
        self._hurried = frozenset(hurried)
        if tip != self._tip:
            self._tip, self._is_choice, self._opened, self._is_charging = tip, is_choice, now, True
            self._extra = 0.0
            self._since.clear()
            self._reprieves.clear()

    def arrived(self, author: int, now: float) -> None:
        """A message of the open step has arrived: its delay is charged."""
        if self._is_charging and not self._is_choice:
            late = now - self._since.get(author, self._opened) - limits.GRACE
            if late > 0:
                self._banks[author] = max(0.0, self._banks.get(author, self._bank) - late)

    def came_back(self, author: int, now: float) -> None:
        """The link to an author is up again."""
        if self._reprieves.get(author, 0) < limits.REPRIEVES:
            self._reprieves[author] = self._reprieves.get(author, 0) + 1
            self.arrived(author, now)  # else it would pay to cut one's own link again and again
            begun = now
            if self._is_choice:  # time to choose is not given twice, only time for the answer to arrive
                rest = self._patience.human - self._patience.automatic
                begun = max(self._since.get(author, self._opened), now - rest)
            self._since[author] = begun

    def restart(self, authors: Iterable[int], now: float) -> None:
        """Wait for all anew: this machine slept, or no majority was there to go on with."""
        self._is_charging = False
        for author in authors:
            self._since[author] = now

    def extend(self, seconds: float, missing: Collection[int], witnesses: Collection[int], now: float) -> None:
        """Wait longer for all who are missing in the open step: from the end of patience on, or from now if it is over.

        Nothing of that is charged.
        """
        due = self.due(missing, witnesses)
        self._extra += seconds + (max(0.0, now - due) if due < math.inf else 0.0)
        self._is_charging = False

    @property
    def opened(self) -> float:
        """When the open step was opened."""
        return self._opened

    @property
    def earliest(self) -> float:
        """When patience with anybody can be over at the earliest."""
        return self._opened + (limits.RELAY if self._hurried else limits.GRACE)

    @property
    def round_seconds(self) -> float:
        """Seconds that a round of votes lasts."""
        return float(self._patience.automatic)

    def due(self, missing: Collection[int], witnesses: Collection[int]) -> float:
        """Return when the patience with all missing players is over; infinity if it never is.

        :param witnesses: players who owe only a signature, and lose nothing if nobody waits for them.
        """
        return sum(self._longest(missing, witnesses))

    def allowed(self, missing: Collection[int], witnesses: Collection[int]) -> float:
        """Return how many seconds in all were given to the missing player with whom patience ends last."""
        return self._longest(missing, witnesses)[1]

    def _longest(self, missing: Collection[int], witnesses: Collection[int]) -> tuple[float, float]:
        """Return the start and the length of the longest wait: the one that ends last."""
        waits = ((self._since.get(author, self._opened), self._allowance(author, witnesses)) for author in missing)
        return max(waits, key=sum)

    def _allowance(self, author: int, witnesses: Collection[int]) -> float:
        if author in self._hurried:
            return limits.RELAY
        if author in self._unhurried:
            return math.inf
        if self._is_choice:
            return self._extra + self._patience.human
        if author in witnesses:
            return self._extra + limits.GRACE
        bank = limits.GRACE + self._banks.get(author, self._bank)
        return self._extra + min(float(self._patience.automatic), bank)
