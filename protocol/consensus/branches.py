"""The steps after a root that this node's messages lead to: a tree of positions, keyed by tip.

If no player signs two messages for one slot, the tree is a line. If a player does, a node builds a branch with each of
these messages that a later message or a vote builds on. The node follows the branch with the most signers
(:meth:`Branches.line`). SPEC.md, §6 has the rules.

Memory is bounded. Each slot keeps its first two messages, and further ones only if a player other than their author
has named them in a vote or signed a message after them. Among messages with unknown tips, only each author's latest
ones are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice, product
from types import MappingProxyType
from typing import Protocol

from protocol import limits
from protocol.consensus.position import FORMED, Position
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.wire.messages import Signed

Names = Mapping[bytes, Collection[int]]
"""By tip or message id: the authors of the votes that name it."""


class Outcome(Enum):
    """The outcome of taking a message that was not rejected."""

    ADDED = "added"
    DUPLICATE = "duplicate"
    FUTURE = "future"
    """The step is not known yet. The message is kept if there is room; otherwise the node will request it again."""
    LATE = "late"
    """The step of this history was closed without the message, or later votes have overtaken this vote."""
    FOREIGN = "foreign"
    """The message belongs to another history of this match."""
    SURPLUS = "surplus"
    """A third message for one slot, or a third vote of a round, that no other player supports. If one does later, the
    node requests the message again."""


class Folding(Protocol):
    """The rules by which a history continues."""

    def judge(self, position: Position, signed: Signed) -> object:
        """Judge a message by the position before its step.

        :raises RejectedMessageError: if the message does not belong there.
        :raises MisconductError: if it proves that its author broke a rule.
        """

    def tip_after(self, position: Position, entries: Mapping[int, Signed]) -> bytes:
        """Return the tip after a step that closes with these messages."""

    def after(self, position: Position, entries: Mapping[int, Signed]) -> Position:
        """Return the position after an ordinary step that closes with these messages."""


class Branches:
    """All steps that messages lead to from one root, and the messages kept for those steps."""

    def __init__(self, root: Position, folding: Folding) -> None:
        self.root = root
        self.positions: dict[bytes, Position] = {root.tip: root}
        """By tip; every step precedes those that follow it."""
        self.messages: dict[bytes, dict[int, tuple[Signed, ...]]] = {root.tip: {}}
        """By tip of a known step, then by author; each slot in order of arrival."""
        self.later: dict[int, dict[bytes, Signed]] = {}
        """Messages whose tip is unknown, by author and id, in order of arrival."""
        self._folding = folding
        self._parents: dict[bytes, bytes] = {}
        self._children: dict[bytes, list[bytes]] = {}
        self._closed_with: dict[bytes, Mapping[int, Signed]] = {}
        """The messages that closed the step before a tip, by that tip."""
        self._ends = {root.tip: None}
        """The tips of steps that can still close, or close in another way. A step is removed when it closes, if it has
        only one message per author."""
        self._line = [root]
        """The positions from the root on, as :meth:`line` returns them while nobody is convicted."""

    # Taking messages

    def take(self, signed: Signed, named: Names = MappingProxyType({}), *, is_kept: bool = False) -> Outcome:
        """Take a message, other than a vote, whose signature is valid.

        :param named: by tip or message id, the authors of the votes that name it.
        :param is_kept: whether this node signed or stored the message, which exempts it from the limits.
        :raises RejectedMessageError: if the message does not belong here; nothing changes.
        :raises MisconductError: if the message proves that its author broke a rule; nothing changes.
        """
        message = signed.message
        position = self.positions.get(message.tip)
        if position is None:
            return self.keep_for_later(signed, is_kept=is_kept)
        if position.step != message.step:
            return Outcome.FOREIGN
        slots = self.messages[message.tip]
        known = slots.get(message.author, ())
        if any(each.id == signed.id for each in known):
            return Outcome.DUPLICATE
        self._folding.judge(position, signed)
        if len(known) >= limits.IDS_PER_SLOT and not is_kept:
            wanted = self._wanted(named, message.author)
            is_supported = signed.id in wanted or self._leads_to(wanted, position, signed)
            if not is_supported or len(known) >= limits.SUPPORTED_PER_SLOT:
                return Outcome.SURPLUS
        slots[message.author] = (*known, signed)
        if known:
            self._ends[message.tip] = None
        return Outcome.ADDED

    def keep_for_later(self, signed: Signed, *, is_kept: bool = False) -> Outcome:
        """Keep a message whose step is not known yet; if there are too many by its author, drop the oldest."""
        message = signed.message
        if message.step <= self.root.step:
            return Outcome.FOREIGN
        kept = self.later.setdefault(message.author, {})
        kept[signed.id] = kept.pop(signed.id, signed)
        if len(kept) > limits.FUTURE_PER_AUTHOR and not is_kept:
            del kept[next(iter(kept))]
        return Outcome.FUTURE

    def grow(self, named: Names = MappingProxyType({})) -> Iterator[Signed]:
        """Close every step that has all its messages. Yield messages that were kept for steps unknown until now; the
        caller takes them again.

        :param named: by tip or message id, the authors of the votes that name it.
        """
        growing = [self.positions[tip] for tip in self._ends]
        for position in growing:
            if position.is_boundary or not self.is_full(position):
                continue
            slots, children = self.messages[position.tip], self._children.setdefault(position.tip, [])
            is_single = all(len(slots[author]) == 1 for author in position.owed)
            if is_single:
                del self._ends[position.tip]
            wanted = () if is_single else self._wanted(named)
            builds_all = is_single or position.step < FORMED
            for entries in self._closings(position, slots):
                tip = self._folding.tip_after(position, entries)
                if tip in self.positions or not (builds_all or tip in wanted):
                    continue
                after = self._folding.after(position, entries)
                self.positions[tip], self.messages[tip], self._parents[tip] = after, {}, position.tip
                self._closed_with[tip] = entries
                children.append(tip)
                self._ends[tip] = None
                growing.append(after)
                yield from self.ripe()

    def ripe(self) -> Iterator[Signed]:
        """Yield kept messages whose step has become known, and stop keeping them."""
        for kept in self.later.values():
            for each in [each for each, signed in kept.items() if signed.message.tip in self.positions]:
                yield kept.pop(each)

    def _closings(self, position: Position, slots: Mapping[int, tuple[Signed, ...]]) -> Iterator[dict[int, Signed]]:
        """Yield sets of messages with which a full step can close, at most :data:`~protocol.limits.BRANCHINGS`."""
        choices = product(*(slots[author] for author in position.owed))
        for chosen in islice(choices, limits.BRANCHINGS):
            yield dict(zip(position.owed, chosen, strict=True))

    def _leads_to(self, wanted: Collection[bytes], position: Position, signed: Signed) -> bool:
        """Return whether a step that closes with a judged message leads to a wanted tip, directly or by further
        messages of its author alone."""
        author = signed.message.author
        slots = {**self.messages.get(position.tip, {}), author: (signed,)}
        if any(each not in slots for each in position.owed) or position.is_boundary:
            return False
        for entries in self._closings(position, slots):
            tip = self._folding.tip_after(position, entries)
            if tip in wanted:
                return True
            for following in self.said(tip, author):
                after = self._folding.after(position, entries)
                with suppress(RejectedMessageError, MisconductError):
                    self._folding.judge(after, following)
                    if self._leads_to(wanted, after, following):
                        return True
        return False

    def _wanted(self, named: Names, unless: int | None = None) -> set[bytes]:
        """Return the tips that messages come after, and the tips and message ids that votes name.

        :param unless: an author whose messages and votes do not count. Otherwise liars could support their own
            messages, and leave no room for the one that all other players hold.
        """
        later = (kept.values() for author, kept in self.later.items() if author != unless)
        wanted = {signed.message.tip for kept in later for signed in kept}
        return wanted.union(name for name, voters in named.items() if any(voter != unless for voter in voters))

    # Queries

    def is_full(self, position: Position) -> bool:
        """Return whether there is a message from every author who owes the step one."""
        slots = self.messages[position.tip]
        return position.kind is not None and all(author in slots for author in position.owed)

    def path(self, tip: bytes) -> list[Position]:
        """Return the positions from the root to a known tip, both inclusive."""
        found = [self.positions[tip]]
        while tip != self.root.tip:
            tip = self._parents[tip]
            found.append(self.positions[tip])
        return found[::-1]

    def between(self, after: Position) -> list[Signed]:
        """Return the messages that closed the ordinary step before a known position."""
        return [*self._closed_with[after.tip].values()]

    def boundaries(self) -> Iterator[Position]:
        """Yield the full steps after which a new root follows."""
        for tip in self._ends:
            position = self.positions[tip]
            if position.is_boundary and self.is_full(position):
                yield position

    def closing(self, position: Position, entries: Iterable[bytes]) -> dict[int, Signed] | None:
        """Return the messages of a step with these ids by author, without holes; None if one is unknown."""
        found: dict[int, Signed] = {}
        for author, entry in zip(position.owed, entries, strict=True):
            if entry:
                kept = self.messages[position.tip].get(author, ())
                signed = next((each for each in kept if each.id == entry), None)
                if signed is None:
                    return None
                found[author] = signed
        return found

    def line(self, convicted: Collection[int], voters: Mapping[bytes, Collection[int]]) -> list[Position]:
        """Return the positions of the history that this node follows, from the root to the open step.

        A convicted player's message closes an ordinary step only if an unconvicted player has signed something after
        it. The step that forms the match is exempt: nobody can be evicted there.

        :param voters: the authors of votes, by the tip that their votes name.
        """
        signers = self._signers(convicted, voters) if convicted else {}
        found = [self.root] if convicted else self._line
        while not (position := found[-1]).is_boundary and self.is_full(position):
            children = self._children.get(position.tip, [])
            if not set(convicted).isdisjoint(position.owed):
                is_forming = position.step < FORMED
                children = [tip for tip in children if signers[tip] or is_forming]
                children.sort(key=lambda tip: (-len(signers[tip]), tip))
            if not children:
                break
            found.append(self.positions[children[0]])
        return found if convicted else found.copy()

    def _signers(self, convicted: Collection[int], voters: Mapping[bytes, Collection[int]]) -> dict[bytes, set[int]]:
        """Return the unconvicted authors who have signed or voted for a step or for a step after it, by tip."""
        found: dict[bytes, set[int]] = {tip: set() for tip in self.positions}
        for tip in reversed(self.positions):
            found[tip] |= {*self.messages[tip], *voters.get(tip, ())}.difference(convicted)
            if tip in self._parents:
                found[self._parents[tip]] |= found[tip]
        return found

    def said(self, tip: bytes, author: int) -> list[Signed]:
        """Return all kept messages of one author for the step with this tip."""
        kept = (signed for signed in self.later.get(author, {}).values() if signed.message.tip == tip)
        return [*self.messages.get(tip, {}).get(author, ()), *kept]

    def own(self, author: int) -> Iterator[Signed]:
        """Yield all kept messages of one author, messages for known steps first."""
        for slots in self.messages.values():
            yield from slots.get(author, ())
        yield from self.later.get(author, {}).values()
