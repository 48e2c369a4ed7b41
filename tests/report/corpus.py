"""Transcripts for comparing the two verifiers: fair, unfinished and altered matches of all kinds.

    python -m tests.report.corpus FOLDER [--count 10000] [--seed 1]

writes this many files, each with a descriptive name.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count, product
from pathlib import Path
from typing import NamedTuple

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.consensus.transcript import TRANSCRIPT_TAG, MalformedTranscriptError, write_transcript
from protocol.match.effects import Conceded
from protocol.wire.canonical import encode
from protocol.wire.genesis import Patience
from protocol.wire.purses import Purse
from tests.protocol.mutations import (
    ALTERATIONS,
    OFFENCES,
    FairMatch,
    altered_headers,
    altered_proofs,
    play,
    proofs,
)
from tests.simulation.world import Machine, World, identity_of, played

VECTORS = sorted((Path(__file__).resolve().parents[1] / "vectors").glob("*.p2pdice"))
PATIENCE = Patience(30, 15)
FEW_PLACES = 3
"""The number of places in a match at which every kind of change is made."""
MATCHES_LEFT = 3
"""The number of matches that a player leaves, for each match that no player leaves."""


class Sample(NamedTuple):
    """A file and its description."""

    label: str
    data: bytes


def samples(seed: int) -> Iterator[Sample]:
    """Yield endlessly: first the vectors and a fair match of every preset and size, then :func:`mixed` files."""
    yield from (Sample(f"vector {path.stem}", path.read_bytes()) for path in VECTORS)
    for (name, ruleset), players in product(PRESETS.items(), range(2, 11)):
        yield Sample(f"fair {name} {players}", played(ruleset, players, seed))
    yield from mixed(seed)


def mixed(seed: int) -> Iterator[Sample]:
    """Yield endlessly: fair matches, matches that a player left, and changed ones."""
    for number in count(seed):
        rng = random.Random(number)
        for name, ruleset in PRESETS.items():
            yield Sample(f"fair {name}", played(ruleset, rng.randint(2, 4), rng.randrange(2**32)))
            for _ in range(MATCHES_LEFT):
                yield from _left(name, ruleset, rng)
            short = _short(ruleset)
            yield from _one_of_each(changes(name, play(short, rng.choice((2, 2, 3)), rng.randrange(2**32)), rng), rng)
            yield from _one_of_each(changes(f"{name} votes", _voted(short, rng), rng), rng)
            yield from _one_of_each(changes(f"{name} witnesses", _with_witnesses(short, rng), rng), rng)
        yield from _one_of_each(changes("purses", _with_purses(rng), rng), rng)


def _voted(ruleset: Ruleset, rng: random.Random) -> FairMatch:
    """Return a match in which one of three players was voted out. It is drawn again if it never ends, because of two
    remaining players none can be voted out."""
    while True:
        with suppress(MalformedTranscriptError):
            return play(ruleset, 3, rng.randrange(2**32), leaves_after=rng.randrange(40, 200))


def _with_witnesses(ruleset: Ruleset, rng: random.Random) -> FairMatch:
    """Return a match of four, in which players who are out sign as witnesses for a long time."""
    return play(ruleset, 4, rng.randrange(2**32), leaves_after=rng.choice((None, rng.randrange(150, 500))))


def _with_purses(rng: random.Random) -> FairMatch:
    """Return a match in which players stake coins from their purses."""
    rules = _short(rng.choice([rules.with_options({"stakes": "yes"}) for rules in PRESETS.values()]))
    people = [identity_of(rng.randbytes(4), 0) for _ in range(rng.choice((2, 3)))]
    return play(
        rules, len(people), rng.randrange(2**32), owners=[(each, Purse.new(each.public).head) for each in people]
    )


def _one_of_each(given: Iterable[Sample], rng: random.Random) -> Iterator[Sample]:
    """Yield one random sample of each label, because some kinds of changes have hundreds of similar samples."""
    by_label: dict[str, list[Sample]] = {}
    for each in given:
        by_label.setdefault(each.label, []).append(each)
    yield from map(rng.choice, by_label.values())


def _short(ruleset: Ruleset) -> Ruleset:
    """Return the rules with two dice, if the number is an option. Short matches have all kinds of messages, too."""
    if ruleset.motes:
        return ruleset
    return ruleset.with_options({"dice": "2"})


def _left(name: str, ruleset: Ruleset, rng: random.Random) -> Iterator[Sample]:
    """Yield matches in which one or two players fall silent or resign at random times."""
    players = rng.randint(2, 6)
    world = World(ruleset, players, rng.randrange(2**32), patience=PATIENCE)
    what = rng.choice(("silent", "resigned", "both"))
    machine = world.machines[0]
    for me in range(players - 1, 0, -1)[: rng.randint(1, 2)]:
        for _ in range(rng.randrange(30, 300)):
            if not world.step():
                break
        yield Sample(f"so far {name}", _written(machine))
        if what != "silent" and world.machines[me].is_up:
            world.machines[me].turn = None
            world.feed(me, Conceded())
        if what != "resigned":
            world.crash(me)
    world.run()
    data = _written(machine)
    yield Sample(f"{what} {name}", data)
    yield Sample(f"cut off {name}", data[: rng.randrange(len(data))])


def _written(machine: Machine) -> bytes:
    """Return a player's transcript of a match, finished or not."""
    return machine.transcript or write_transcript(machine.match.history, machine.match.replica.proven.values())


def changes(name: str, played: FairMatch, rng: random.Random) -> Iterator[Sample]:
    """Yield all kinds of changes to a match, at :data:`FEW_PLACES` random places."""
    header = encode((TRANSCRIPT_TAG, played.genesis.encoded()))
    end = len(played.messages)
    for place in rng.sample(range(end), FEW_PLACES):
        before = header + b"".join(played.encodings[:place])
        for kind, alteration in ALTERATIONS.items():
            rests = list(alteration(played, place, rng))
            for rest in rng.sample(rests, min(len(rests), 4)):
                yield Sample(f"{kind}, {name}", before + rest)
        for kind, offence in OFFENCES.items():
            for rest, _ in offence(played, place, rng):
                yield Sample(f"{kind}, {name}", before + rest)
    for data in altered_headers(played, rng):
        yield Sample(f"altered header, {name}", data)
    for data, _ in proofs(played, rng):
        yield Sample(f"proof, {name}", data)
    for data in altered_proofs(played, rng):
        yield Sample(f"altered proof, {name}", data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for number, sample in zip(range(options.count), samples(options.seed), strict=False):
        name = f"{number:05} {sample.label}.p2pdice".replace("/", " ")
        (options.folder / name).write_bytes(sample.data)


if __name__ == "__main__":
    main()
