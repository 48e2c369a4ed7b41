"""Short matches as files, in which players resign, are voted out, or break a rule. SPEC.md, §19 lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from p2pdice.rulesets import PRESETS
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.position import Purpose
from protocol.consensus.reading import Reading
from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value, encode
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from protocol.wire.purses import Head, Purse
from tests.protocol.scribe import due, signed_by
from tests.simulation.world import genesis, identity_of

ONE_DIE: Final = PRESETS["classic"].with_options({"dice": "1"})


class Scribe:
    """Writes a match, message by message. Authors are roster indices.

    :param name: the seed of all keys.
    :param heads: the heads of the players' purses, for a match with stakes.
    """

    def __init__(self, players: int, name: str, heads: Sequence[Head] = ()) -> None:
        sitting = [(identity_of(name.encode(), number), head) for number, head in enumerate(heads)]
        ruleset = ONE_DIE.with_options({"stakes": "yes"}) if heads else ONE_DIE
        table, self._seeds = genesis(ruleset, players, name.encode(), Patience(), sitting)
        self.history = History(table.encoded())
        self._reading = Reading(self.history)
        self._written: list[Signed] = []

    def sign(self, author: int, kind: Kind, body: Value) -> Signed:
        """Return a signed message for the open step. It may break the rules."""
        return signed_by(self.history, author, self._seeds[author], kind, body)

    def resign(self, author: int) -> Signed:
        """Return a RESIGN for the open step."""
        return self.sign(author, Kind.RESIGN, ())

    def vote(self, author: int, kind: Kind, number: int, *absent: int) -> Signed:
        """Return a vote to close the open step without some absent authors; at a LOCK, a vote for the LOCK."""
        history, position, root = self.history, self.history.position, self.history.root
        owed = (b"" if each in absent else self.due(each).id for each in position.owed)
        value = (position.step, position.tip, position.signed_hash if position.kind is Kind.LOCK else tuple(owed))
        body = (number, value) if kind is Kind.CLOSE else (number, value, -1)
        return sign(Message(history.match, root.step, root.tip, author, kind, body), MatchKey(self._seeds[author]))

    def end(self) -> None:
        """Add all messages of the ending."""
        while self.history.position.kind is not None:
            self.close()

    def due(self, author: int, move: str = "") -> Signed:
        """Return the message that an author owes the open step."""
        return due(self.history, author, self._seeds[author], lambda _: move)

    def write(self, *messages: Signed) -> None:
        """Add messages or votes. Each must be accepted."""
        for signed in messages:
            assert self._reading.add(signed) is Outcome.ADDED
            self._written.append(signed)

    def close(self, move: str = "", instead: Mapping[int, Signed] | None = None) -> None:
        """Add the messages that all authors owe the open step.

        :param instead: messages to add instead, by author.
        """
        said = instead or {}
        self.write(*(said.get(author) or self.due(author, move) for author in self.history.position.owed))

    def until(self, purpose: Purpose, kind: Kind) -> None:
        """Add all messages before the next step of this kind."""
        while (self.history.position.purpose, self.history.position.kind) != (purpose, kind):
            assert self.history.position.kind is not None, "the match is over"
            self.close()

    def say(self, *moves: str) -> None:
        """Add the next moves."""
        for move in moves:
            self.until(Purpose.TURN, Kind.MOVE)
            self.close(move)

    def transcript(self, *evidence: Signed) -> bytes:
        """Return the transcript, with further messages after its end."""
        return self._file(TRANSCRIPT_TAG, (*self._written, *evidence))

    def proof(self, one: Signed, other: Signed) -> bytes:
        """Return a proof with two contradicting messages."""
        return self._file(PROOF_TAG, (one, other))

    def _file(self, tag: str, messages: tuple[Signed, ...]) -> bytes:
        return encode((tag, self.history.genesis_data)) + b"".join(encode(signed.wire) for signed in messages)


def resign() -> bytes:
    """Four players. One resigns instead of the REVEAL that draws the seats, one instead of opening, one on turn."""
    match = Scribe(4, "resign")
    match.until(Purpose.SEATING, Kind.REVEAL)
    match.close(instead={2: match.resign(2)})
    match.until(Purpose.TURN, Kind.MOVE)
    (bidder,) = match.history.position.owed
    match.say("3x6", "liar")  # false, as only two dice will be opened; so only the bidder is out
    match.until(Purpose.SHOWDOWN, Kind.OPEN)
    match.close(instead={bidder: match.resign(bidder)})
    match.say("1x2")
    (loser,) = match.history.position.owed
    match.write(match.resign(loser))
    match.end()
    return match.transcript()


def votes() -> bytes:
    """Four players. One does not move and is voted out. Votes decide a LOCK. Of the last two players, one does not open
    and is voted out, by an ABSENT of the other, and by CLOSEs of a witness and of this player."""
    match = Scribe(4, "votes")
    match.until(Purpose.TURN, Kind.MOVE)
    (silent,) = match.history.position.owed
    others = [author for author in range(4) if author != silent]
    match.write(*(match.vote(author, Kind.CLOSE, 0, silent) for author in others))
    match.say("4x6", "liar")
    match.write(*(match.vote(author, Kind.CLOSE, 2) for author in others))
    match.say("2x6", "liar")
    match.until(Purpose.SHOWDOWN, Kind.OPEN)
    gone, other = match.history.position.owed
    opened = match.due(gone)
    closes = [match.vote(author, Kind.CLOSE, 1, other) for author in others if author != gone]
    match.write(opened, match.vote(gone, Kind.ABSENT, 0, other), *closes)
    match.end()
    return match.transcript()


def _cheat() -> tuple[Scribe, Signed, Signed]:
    """Return a match in which a player signed two messages for one slot and was voted out, and these two messages.

    Two players are out by then. REVEALs carry the signature of one as a witness, and both vote.
    """
    match = Scribe(4, "proof")
    match.say("4x6", "liar", "3x6")
    (first,) = set(range(4)).difference(match.history.position.live)
    match.say("liar")
    match.history.countersign(match.sign(first, Kind.WITNESS, match.history.position.signed_hash))
    match.say("2x6", "liar")
    match.until(Purpose.SHOWDOWN, Kind.OPEN)
    winner, cheat = match.history.position.owed
    messages = match.due(cheat), match.resign(cheat)
    closes = [match.vote(author, Kind.CLOSE, 0, cheat) for author in range(4) if author != cheat]
    match.write(match.due(winner), *closes)
    match.end()
    return match, *messages


def proof() -> bytes:
    """Four players. One of the last two signs two messages for one slot, and all others vote that player out."""
    match, *messages = _cheat()
    return match.transcript(*messages)


def two_messages() -> bytes:
    """A proof with the two messages of :func:`proof`."""
    match, one, other = _cheat()
    return match.proof(one, other)


def illegal_move() -> bytes:
    """Two players. One makes a bid that does not raise the last one."""
    match = Scribe(2, "illegal move")
    match.say("1x3")
    (cheat,) = match.history.position.owed
    return match.transcript(match.sign(cheat, Kind.MOVE, "1x2"))


def purses() -> bytes:
    """Two players stake coins from their purses: a newcomer's purse, and one with seven matches."""
    newcomer = Purse.new(identity_of(b"purses", 0).public).head
    match = Scribe(2, "purses", [newcomer, Head(0, 7, b"h" * 32, 1100, 2)])
    match.say("2x6", "liar")
    match.end()
    return match.transcript()


FILES: Final[Mapping[str, Callable[[], bytes]]] = {
    f"{make.__name__.replace('_', '-')}.p2pdice": make
    for make in (resign, votes, proof, two_messages, illegal_move, purses)
}
