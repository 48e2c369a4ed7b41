"""Random evenings of six people that test purses in real stores, without playing the game itself.

Players miss the end of a match, crash, restore old backups, void matches, and give up stakes. Liars show old versions
of their purse, stake the same coins twice, forge ends of matches together, win sham matches to hide older ones, and
hand back outdated purses of other players.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from protocol.consensus.ends import Shown, read_shown, stake_in
from protocol.storage.purses import OwnPurse
from protocol.wire.purses import MATCH_BYTES, MalformedPurseError, Purse, Record, loss
from tests.protocol.bettors import Bettor, Played, settle

PEOPLE: Final = 6
WORLDS: Final = ((0, False), (0, True), (2, True), (3, False))
"""(number of liars, whether honest people restore old backups) of each kind of evening."""


class WronglyRefusedError(AssertionError):
    """An honest player who never restored a backup is refused, or lost the era of the purse."""


class WronglyTakenError(AssertionError):
    """A player begins a match with another player whose purse contradicts their earlier matches together."""


class WrongSumError(AssertionError):
    """The balance of a purse is not the sum of its matches, or a match changed it by a wrong amount."""


class StuckStakeError(AssertionError):
    """A match is over and enough players signed its end, but its evidence does not settle the stake."""


def brought(played: Played, author: int, stake: tuple[int, int]) -> Record:
    """Return the record of a match without tickets and souls. Independent of the program's own computation."""
    account = played.account
    assert account is not None
    bets = [bet for bet, _ in account.bets]
    change = -bets[author]
    if account.winners == (author,):
        funds, _ = played.genesis.funds(author)
        change += sum(bets) + (bets[author] ** 2 // funds if funds else 0)
    return Record(played.id[:MATCH_BYTES], *stake, change, 0, 0)


class _Lived(NamedTuple):
    """What a player remembers of another player's purse in a match of both. Independent of the program's store."""

    match: bytes
    owner: bytes
    before: Purse
    """The purse before the match."""
    played: Played


class Evening:
    """One evening.

    :param folder: the folder for the homes of all people.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(seed)
        liars, self.goes_back = WORLDS[seed % len(WORLDS)]
        self.people = [Bettor(f"{seed}-{number}", folder) for number in range(PEOPLE)]
        for liar in self.people[:liars]:
            liar.is_liar = True
        self.by_key = {each.key: each for each in self.people}
        self.kept = set(self.people)
        """The people who have never restored a backup."""
        self.lived: dict[Bettor, list[_Lived]] = {each: [] for each in self.people}
        self.copies: dict[Bettor, list[tuple[str, int]]] = {each: [] for each in self.people}
        """By person, (name of a backup, how much of ``lived`` it covers)."""
        self.known: dict[tuple[Bettor, bytes], str] = {}
        """By person and match, how the match ended as far as the person knows: ``over`` or ``void``."""
        self.old: list[Shown] = []
        """Purses shown at earlier tables, which liars may hand back."""
        self.count: Counter[str] = Counter()
        self.table = 0

    def close(self) -> None:
        for each in self.people:
            each.store.close()

    def run(self, tables: int) -> None:
        """Let people sit down at this many tables.

        :raises AssertionError: if a promise about purses is broken.
        """
        for _ in range(tables):
            self._copy_and_go_back()
            seated = self._sit_down()
            if len(seated) > 1:
                self._play(seated)
            self._check_sums()

    # Homes

    def _copy_and_go_back(self) -> None:
        who = self.random.choice(self.people)
        if self.random.random() < 0.3:
            name = str(len(self.copies[who]))
            who.back_up(name)
            self.copies[who].append((name, len(self.lived[who])))
        who = self.random.choice(self.people[3:5])
        if self.goes_back and self.copies[who] and self.random.random() < 0.1:
            self._go_back(who)
            self.kept.discard(who)
            self.count["backups put back"] += 1

    def _go_back(self, who: Bettor) -> None:
        name, lived = self.random.choice(self.copies[who])
        who.put_back(name)
        del self.lived[who][lived:]

    # A table

    def _sit_down(self) -> dict[Bettor, Shown]:
        """Return the players who begin a match, with the purses that they have shown; empty if the table breaks up."""
        self.table += 1
        host, *guests = self.random.sample(self.people, self.random.choice((2, 2, 3, 4)))
        shown: dict[Bettor, Shown] = {}
        for who in (host, *guests):
            if who.is_liar:
                self._trick(who)
            elif who.keeper.find_hindrance() and self.random.random() < 0.4:
                who.keeper.forfeit()
                self.count["given up"] += 1
            who.keeper.shown.clear()
            who.keeper.handed.clear()
            shown[who] = who.sit(self.table)
        if host.keeper.find_hindrance():
            return {}
        self._spam(host, shown)
        for _ in range(12):
            if not self._settle_doubts(host, shown):
                break
            if host not in shown:
                return {}
        else:
            raise WronglyRefusedError("purses are handed back again and again")
        return {} if any(each.keeper.find_hindrance() for each in shown) else shown

    def _spam(self, host: Bettor, shown: dict[Bettor, Shown]) -> None:
        """Let liars hand back outdated purses of other players to the host."""
        for liar in [each for each in shown if each.is_liar and each is not host]:
            for old in self.random.sample(self.old, min(3, len(self.old))):
                owner = self.by_key[old.owner]
                if owner in shown and owner is not liar and not host.is_liar:
                    with suppress(MalformedPurseError):
                        host.keeper.take_handed(read_shown(*old.wire))

    def _settle_doubts(self, host: Bettor, shown: dict[Bettor, Shown]) -> bool:
        """Let players judge each other's purses, until the first objection. Return whether there was one."""
        for who in list(shown):
            for owner in list(shown):
                if who is owner or who.is_liar or not {who, owner} <= shown.keys():
                    continue
                try:
                    seen = read_shown(*shown[owner].wire)
                except MalformedPurseError:
                    self._refuse(who, owner, host, shown, "it cannot be read")
                    return True
                verdict = who.judge(seen)
                if verdict.refusal:
                    self._refuse(who, owner, host, shown, verdict.refusal)
                    return True
                if verdict.back is not None:
                    self._hand_back(who, owner, host, shown, read_shown(*verdict.back.wire))
                    return True
        for who in list(shown):
            if who.keeper.find_hindrance():  # no player knew how the last match ended
                del shown[who]
                return True
        return False

    def _hand_back(self, who: Bettor, owner: Bettor, host: Bettor, shown: dict[Bettor, Shown], known: Shown) -> None:
        """Hand back a purse to its owner. Guests do so through the host."""
        if who is not host and host is not owner:
            if host.is_liar:
                self._refuse(who, owner, host, shown, "the host keeps it back")
                return
            host.keeper.take_handed(known)
            back = host.judge(read_shown(*shown[owner].wire)).back
            if back is None:
                self._refuse(who, owner, host, shown, "the host finds nothing new in it")
                return
            known = read_shown(*back.wire)
        if owner.is_liar and self.random.random() < 0.6:
            self._refuse(who, owner, host, shown, "its owner does not accept it")
            return
        before = owner.keeper.own
        if not owner.keeper.take_own(known):
            if owner.is_liar:
                self._refuse(who, owner, host, shown, "its owner does not accept it")
            elif before.busy:
                del shown[owner]  # leaves the table, because no player here knows how the owner's last match ended
            else:
                raise WronglyRefusedError("an owner does not accept a purse that was handed back")
            return
        self.count["handed back"] += 1
        if owner in self.kept and not owner.is_liar and owner.purse.era:
            raise WronglyRefusedError("an honest owner's era was ended")
        shown[owner] = owner.sit(self.table)

    def _refuse(self, who: Bettor, owner: Bettor, host: Bettor, shown: dict[Bettor, Shown], why: str) -> None:
        self.count["refused"] += 1
        is_due = not owner.is_liar and {owner, who} <= self.kept and "host keeps" not in why
        if is_due and not self._is_excused(who, owner):
            raise WronglyRefusedError(f"{owner.name} is refused: {why}")
        del shown[owner if who is host else who]

    def _is_excused(self, who: Bettor, owner: Bettor) -> bool:
        """Return whether, in a match of these two, at least half of the players were liars."""
        both = (each.played for each in self.lived[who] if each.owner == owner.key)
        return any(2 * sum(each.is_liar for each in played.people) >= len(played.people) for played in both)

    # A match

    def _play(self, shown: dict[Bettor, Shown]) -> None:
        for who in shown:
            if not who.is_liar:
                for owner, each in shown.items():
                    if owner is not who:
                        self._check_taken(who, each)
        played = Played(*shown, shown=[*shown.values()])
        self.count["matches"] += 1
        for who in shown:
            for owner, each in shown.items():
                self.lived[who].append(_Lived(played.id, owner.key, each.purse, played))
        for who in shown:
            if self.random.random() < 0.1:
                who.restart()
        if self.random.random() < 0.1:
            return  # the match ends before anything is staked
        bets = {
            who: self.random.randint(0, who.balance) for who in shown if not who.is_liar or self.random.random() < 0.9
        }
        played.stake(bets)
        self._end(played)
        self.old += [each._replace(stake=None) for each in shown.values()]
        del self.old[:-40]

    def _end(self, played: Played) -> None:
        people, chance = played.people, self.random.random()
        liars = [each for each in people if each.is_liar]
        if len(liars) >= 2 and 2 * len(liars) > len(people) and played.stakes and chance < 0.5:
            for liar in liars:
                settle(liar, played.evidence(played.decide(liar), liars, liar.key))
            self.count["forged ends"] += 1
        winner = self.random.choice(people)
        if chance < 0.6:
            signers = [each for each in people if self.random.random() < (0.4 if each.is_liar else 0.95)]
            knowing = [each for each in people if self.random.random() < 0.85]
            knowing += [each for each in signers if each not in knowing]
            played.account = played.decide(winner)
            played.finish(winner, signers, knowing)
            for each in knowing:
                if each.keeper.own.busy == played.id and 2 * len(signers) > len(people):
                    raise StuckStakeError("a match is over, and its evidence does not settle it")
            for each in knowing:
                self.known[each, played.id] = "over"
        elif chance < 0.75 and (not liars or chance < 0.65):
            taken = [each for each in people if self.random.random() < 0.8]
            played.void(*taken)
            for each in taken:
                self.known[each, played.id] = "void"
            self.count["voids"] += 1
        elif len(liars) == 1 and len(people) == 2 and chance > 0.9:
            with suppress(MalformedPurseError):
                settle(liars[0], played.evidence(played.decide(liars[0]), liars))

    # Liars

    def _trick(self, liar: Bettor) -> None:
        """Let a liar change the purse before sitting down."""
        chance, keeper = self.random.random(), liar.keeper
        purse = keeper.own.purse
        if chance < 0.25 and self.copies[liar]:
            self._go_back(liar)
        elif chance < 0.3:
            keeper._keep(OwnPurse(Purse.new(liar.key)))
        elif chance < 0.35:
            keeper._keep(OwnPurse(Purse.new(liar.key, purse.era + self.random.randint(1, 3))))
        elif chance < 0.4:
            keeper._keep(keeper.own._replace(evidence=()))
        elif chance < 0.5 and purse.records:
            without = [*purse.records]
            del without[self.random.randrange(len(without))]
            with suppress(MalformedPurseError):
                keeper._keep(OwnPurse(Purse(liar.key, purse.era, purse.states[0], tuple(without)), keeper.own.evidence))
        elif chance < 0.8:
            self._sham(liar)
        keeper = liar.keeper
        keeper._keep(keeper.own._replace(busy=b"", stake=None))

    def _sham(self, liar: Bettor) -> None:
        """Let a liar win against a made-up identity, whose signature then confirms the purse before the match."""
        friend = Bettor(f"{liar.name}-{Played.count}", liar.path.parent)
        friend.is_liar = True
        liar.keeper._keep(liar.keeper.own._replace(busy=b"", stake=None))
        played = Played(liar, friend)
        played.stake({liar: 0, friend: self.random.randint(0, 500)})
        with suppress(MalformedPurseError):
            played.finish(liar)
        friend.store.close()
        self.count["shams"] += 1

    # Checks

    def _check_taken(self, who: Bettor, shown: Shown) -> None:
        """Check that a purse that a player accepts agrees with all earlier matches of this player and its owner."""
        purse = shown.purse
        records = {record.match: record for record in purse.records}
        for lived in self.lived[who]:
            before = lived.before
            if lived.owner != shown.owner or purse.era > before.era:
                continue
            if purse.era < before.era:
                raise WronglyTakenError("a purse of an earlier era was accepted")
            if purse.at(before.end.height) != before.end:
                raise WronglyTakenError("an older or different purse was accepted")
            played = lived.played
            author = next(each for each, person in enumerate(played.people) if person.key == shown.owner)
            if author not in played.stakes:
                continue
            record = records.get(lived.match[:MATCH_BYTES])
            if record is None:
                if purse.end.height == before.end.height or purse.states[0].height <= before.end.height:
                    raise WronglyTakenError("the same player accepted a coin that was already bet")
                continue
            stake = stake_in(played.stakes[author])
            if (record.bet, record.tickets) != stake:
                raise WronglyTakenError("a record has a wrong stake")
            if not record.is_loss and record != self._true_record(who, played, author, record):
                raise WronglyTakenError("a record differs from the end of its match")

    def _true_record(self, who: Bettor, played: Played, author: int, shown: Record) -> Record:
        """Return the record that a match should have, as far as a player knows how it ended; otherwise ``shown``."""
        known = self.known.get((who, played.id))
        stake = (shown.bet, shown.tickets)
        if known == "void":
            return Record(shown.match, *stake, 0, 0, 0)
        if known == "over" and played.account is not None:
            return brought(played, author, stake)
        return shown

    def _check_sums(self) -> None:
        """Check the purses of honest people who never restored a backup: each record agrees with its match."""
        for who in self.kept:
            if who.is_liar:
                continue
            purse = who.purse
            if purse.era:
                raise WronglyRefusedError("an honest owner's era was ended")
            played = {each.match[:MATCH_BYTES]: each.played for each in self.lived[who]}
            for record in purse.records:
                match = played[record.match]
                author = match.author(who)
                stake = stake_in(match.stakes[author])
                right = [loss(match.id, *stake), Record(record.match, *stake, 0, 0, 0)]
                if match.account is not None:
                    right.append(brought(match, author, stake))
                is_robbed = 2 * sum(each.is_liar for each in match.people) >= len(match.people)
                if record not in right and not is_robbed:
                    raise WrongSumError("a match changed a purse by a wrong amount")
                if record.change < -record.bet:
                    raise WrongSumError("a player lost more than the stake")
            if purse.end.balance != 1000 + sum(record.change for record in purse.records):
                raise WrongSumError("the balance is not the sum of the records")
            self.count["purses added up"] += 1
