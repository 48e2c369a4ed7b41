"""Players with real purses in real stores, and matches in which only the messages that purses need are signed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from p2pdice.rulesets import PRESETS
from protocol.consensus.ends import End, Shown, read_evidence, read_shown, stake_in, void_evidence, void_message
from protocol.consensus.steps import Account, result_hash
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import MatchKey
from protocol.node.purse import PurseKeeper, PurseVerdict
from protocol.storage.store import Store
from protocol.wire.canonical import Value
from protocol.wire.genesis import Genesis, Join, Patience, make_join_record, match_id
from protocol.wire.messages import Kind, Message, Signed, sign
from protocol.wire.purses import Purse
from tests.simulation.world import identity_of

RULES: Final = PRESETS["classic"].with_options({"stakes": "yes"})
STAKED, OVER, LEFT = 5, 40, 9
"""Step numbers of the stakes, the end and the resignations."""


class Bettor:
    """A player with a store and a purse."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.identity = identity_of(name.encode(), 0)
        self.told: list[str] = []
        self.is_liar = False
        self.seeds: dict[bytes, bytes] = {}
        """Seeds by the match key made from each."""
        self.path = folder / f"{name}.sqlite3"
        self._sat = 0
        self._open()

    def _open(self) -> None:
        self.store = Store(self.path)
        self.store.database.connection.execute("PRAGMA synchronous=OFF")  # faster; no test here loses power
        self.keeper = PurseKeeper(self.store, self.identity.public, self.told.append)

    @property
    def key(self) -> bytes:
        return self.identity.public

    @property
    def purse(self) -> Purse:
        return self.keeper.own.purse

    @property
    def balance(self) -> int:
        return self.purse.end.balance

    def restart(self) -> None:
        """Reopen the store, so that all state in memory is lost."""
        self.store.close()
        self._open()

    def back_up(self, kept: str = "kept") -> None:
        """Copy the store, as its owner can at any time."""
        self.store.close()
        shutil.copyfile(self.path, self.path.with_suffix(f".{kept}"))
        self._open()

    def put_back(self, kept: str = "kept") -> None:
        """Replace the store by a copy made earlier."""
        self.store.close()
        shutil.copyfile(self.path.with_suffix(f".{kept}"), self.path)
        self._open()

    def sit(self, table: int = 0) -> Shown:
        """Return what this player shows at a table, as peers parse it. A liar's own is returned unparsed."""
        self._sat += 1
        seed = tagged_hash("test-match-seed", self.name.encode(), self._sat, table)
        key = MatchKey(seed)
        self.seeds[key.public] = seed
        nonce = tagged_hash("test-nonce", self.name.encode(), self._sat)
        place = bytes(8) + table.to_bytes(8, "big")
        join = Join(place, self.key, key.public, self.name, (), nonce, "redeemed", self.purse.head)
        shown = self.keeper.show(make_join_record(join, self.identity, key))
        return shown if self.is_liar else read_shown(*shown.wire)

    def judge(self, shown: Shown) -> PurseVerdict:
        return self.keeper.judge(shown)

    def takes(self, shown: Shown) -> bool:
        """Tell whether this player accepts a purse."""
        return not self.judge(shown).flaw


class Played:
    """A match that binds its players' purses. Players are honest unless a test says otherwise.

    :param shown: what each player showed at the table; by default their current purses.
    """

    count = 0

    def __init__(self, *people: Bettor, shown: Sequence[Shown] = ()) -> None:
        Played.count += 1
        self.people = sorted(people, key=lambda each: each.key)
        seen = {each.owner: each for each in shown or [each.sit(Played.count) for each in people]}
        roster = tuple(seen[each.key].record for each in self.people)
        self.genesis = Genesis(roster[0].join.table, RULES, Patience(), roster)
        self.data = self.genesis.encoded()
        self.id = match_id(self.data)
        self.stakes: dict[int, Signed] = {}
        self.end: tuple[int, bytes, bytes, bytes] | None = None
        self.account: Account | None = None
        self.results: dict[int, bytes] = {}
        self.gone: dict[int, bytes] = {}
        for each in self.people:
            each.keeper.shown = {key: value for key, value in seen.items() if key != each.key}
            seed = self._seed(each)
            each.store.add_seed(MatchKey(seed).public, seed)
            each.store.add_match(self.id, self.data, MatchKey(seed).public, 1, 1, "", False)
            each.keeper.bind(self.id, self.genesis)
            each.store.mark_formed(self.id)

    def author(self, who: Bettor) -> int:
        return self.people.index(who)

    def _seed(self, who: Bettor) -> bytes:
        return who.seeds[self.genesis.roster[self.author(who)].join.match_key]

    def sign(self, who: Bettor, step: int, kind: int, body: Value, tag: bytes = b"") -> Signed:
        """Sign a message as ``who``, without checking it."""
        tip = tagged_hash("test-nonce", self.id, step, tag)
        return sign(Message(self.id, step, tip, self.author(who), kind, body), MatchKey(self._seed(who)))

    def stake(self, bets: Mapping[Bettor, int], seen_by: Sequence[Bettor] | None = None) -> None:
        """Open the stakes that each purse permits."""
        for who, bet in bets.items():
            if who.keeper.open_stake(self.id, self.genesis, (bet, 0)):
                self.stakes[self.author(who)] = self.sign(who, STAKED, Kind.STAKE, (bet, 0, bytes(32)))
        for who in self.people if seen_by is None else seen_by:
            who.keeper.note_stakes(self.id, self.genesis, self.stakes)

    def decide(self, winner: Bettor) -> Account:
        """Return the account of the match if ``winner`` has won."""
        bets = tuple(stake_in(self.stakes[each]) if each in self.stakes else (0, 0) for each in range(len(self.people)))
        return Account(bets, (self.author(winner),), (), "")

    def evidence(
        self, account: Account, signers: Sequence[Bettor], tag: bytes = b"", gone: Sequence[Bettor] = ()
    ) -> Value:
        """Return evidence of an end with RESULTs of ``signers``, whether or not the end is true."""
        state = tagged_hash("state", tag)
        body = result_hash(state, account.encoded())
        tip = tagged_hash("test-nonce", self.id, OVER, tag)
        results = {self.author(who): self.sign(who, OVER, Kind.RESULT, body, tag).signature for who in signers}
        left = {self.author(who): self.sign(who, LEFT, Kind.RESIGN, ()) for who in gone}
        opened = [(author, *each.message.body, each.signature) for author, each in sorted(self.stakes.items())]  # type: ignore[misc]
        stakes = (STAKED, next(iter(self.stakes.values())).message.tip, tuple(opened)) if opened else ()
        return (
            self.data,
            stakes,
            (OVER, tip, state, account.encoded()),
            tuple(sorted(results.items())),
            tuple(
                (author, each.message.step, each.message.tip, each.signature) for author, each in sorted(left.items())
            ),
        )

    def finish(
        self, winner: Bettor, signers: Sequence[Bettor] | None = None, known_by: Sequence[Bettor] | None = None
    ) -> None:
        """End the match.

        :param signers: players who sign a RESULT; by default all.
        :param known_by: players who learn the end and record it; by default all.
        """
        account = self.decide(winner)
        signers = self.people if signers is None else signers
        evidence = self.evidence(account, signers) if 2 * len(signers) > len(self.people) else None
        stakes = {author: stake_in(each) for author, each in self.stakes.items()}
        end = End(self.genesis, self.id, account, stakes)
        for who in signers:
            who.store.write(self.id, [self.sign(who, OVER, Kind.RESULT, result_hash(bytes(32), account.encoded()))])
        for who in self.people if known_by is None else known_by:
            who.store.mark_over(self.id, [self.author(winner)])
            who.keeper.take_end(end, evidence)

    def void(self, *taken_by: Bettor) -> None:
        """Let all players sign that the match is void, and give that evidence to ``taken_by``."""
        said = {each: void_message(self.id, author) for author, each in enumerate(self.people)}
        signatures = {self.author(each): sign(said[each], MatchKey(self._seed(each))).signature for each in self.people}
        for who in self.people:
            who.store.mark_void(self.id)
        for who in taken_by:
            who.keeper.take_evidence(void_evidence(self.data, signatures))


def play(winner: Bettor, *others: Bettor, bet: int = 10) -> Played:
    """Play a match to its end, with equal bets."""
    played = Played(winner, *others)
    played.stake(dict.fromkeys((winner, *others), bet))
    played.finish(winner)
    return played


def settle(who: Bettor, evidence: Value) -> None:
    """Make a liar's purse record any end, without the usual checks."""
    who.keeper._settle(read_evidence(evidence), evidence)
