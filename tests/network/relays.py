"""A match in which some players lie, and what honest players lose by it: for the tests and ``benchmarks/relays.py``.

Each player is a process on a laptop of its own. After some moves the last of them begin to throw messages that nobody
can use: at all others but a victim with whom they keep no link, so that the others pass the messages on to it, or at
the victim. The same match before the attack gives the delays to compare with: the paths and the other work of the
machine are the same.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from bisect import bisect
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

from protocol.limits import BURST, RATE
from protocol.storage.home import STORE_FILE
from tests.network import arrivals
from tests.network.arrivals import Arrivals
from tests.network.journal import stored
from tests.network.namespaces import Lan
from tests.network.processes import Process, processes
from tests.network.siege import Watch
from tests.programs import PATIENCE

LOOK: Final = 0.01
"""Seconds between two looks at how long a process has waited."""
CALM: Final = 10
"""Moves before the attack."""
NAMES: Final = "ABCDE"
SILENCE: Final = 3.0
"""Seconds without hearing anything after which these players give a link up."""


@dataclass(frozen=True)
class Attack:
    """What one liar does, as the options of :mod:`tests.network.liar`."""

    kind: str = "votes"
    rate: float = RATE - 2
    """Messages a second at each of those who get them."""
    burst: int = 1
    is_apart: bool = True
    """He keeps no link with the victim, and throws at all others."""
    is_anew: bool = False
    """Each burst goes over a new link, whose rate has not been used up."""
    bursts: int = 0
    """How many there are in all; 0: until the match is over."""
    in_pieces: bool = False
    """Each byte goes in a TLS record of its own."""

    def options(self) -> list[str]:
        numbers = {"kind": self.kind, "rate": self.rate, "burst": self.burst, "bursts": self.bursts}
        flags = {"--apart": self.is_apart, "--anew": self.is_anew, "--pieces": self.in_pieces}
        given = [part for name, value in numbers.items() for part in (f"--{name}", str(value))]
        return [*given, *(flag for flag, is_set in flags.items() if is_set)]


AT_THE_LIMIT: Final = Attack()
NEW_LINKS: Final = Attack(rate=500, burst=BURST - 10, is_anew=True, bursts=14)
"""After fourteen bursts his link stays, so that he can vote."""
FULL_SPEED: Final = Attack(rate=2000, burst=50, bursts=20)
"""A thousand messages, which take twenty seconds to be read. What he signs himself waits behind them."""


@dataclass(frozen=True)
class Outcome:
    """What became of a match under attack."""

    before: tuple[float, ...]
    """Seconds that honest players' messages took to other honest players before the attack, without the time for which
    the receiver waited for a core: on a laptop of its own it would not share the cores with all others."""
    during: tuple[float, ...]
    """And since."""
    is_in_order: bool
    """Every honest player got every other's messages in the order in which they were sent."""
    put_out: tuple[str, ...]
    """Honest players whom the votes of the others put out, as any honest player was told."""
    lost: tuple[str, ...]
    """Links of honest players that broke, as ``name-other``."""
    winners: tuple[str, ...]
    """What each honest player was told, once for each different thing."""
    memory: int
    """Bytes that the attack cost the honest player whom it cost most."""
    stored: int
    """Messages of the liars in the store of the honest player who has most of them."""
    passed_on: int
    """Messages of liars that the others passed on to the victim, repetitions counted."""
    signed: int
    """Messages of the honest player who has signed most."""
    thrown: int
    """Messages of the liars, once for each link that they were thrown at, as far as told before the end."""

    @property
    def later(self) -> float:
        """Seconds by which the attack delayed the message that came last, compared with the slowest before it."""
        return max(self.during) - max(self.before)

    def __str__(self) -> str:
        return (
            f"{self.thrown} messages thrown; slowest {max(self.before):.3f} s before, {max(self.during):.3f} s during; "
            f"{len(self.during)} messages; out {self.put_out}; lost {dict(Counter(self.lost))}; told {self.winners}; "
            f"{self.memory // 1024} KiB, {self.stored} stored of liars, {self.passed_on} passed on; "
            f"{self.signed} signed"
        )


class StandstillError(AssertionError):
    """A match under attack did not end."""


async def attacked(folder: Path, wire: Lan, seats: int, attack: Attack, liars: int = 1) -> Outcome:
    """Play a match in which the last players lie and player B is the victim; stop when an honest player is out."""
    begin = folder / "begin"
    honest, dishonest = NAMES[: seats - liars], NAMES[seats - liars : seats]
    lies = ["--victim", "B", "--begin", str(begin), *attack.options()]
    lies += [option for name in dishonest for option in ("--accomplice", name)]
    async with processes(folder) as at:
        players: dict[str, Process] = {}
        seat = ["--host", str(seats), "--dice", "2", "--patience", "5", "5"]
        for place, name in enumerate(honest + dishonest, 1):
            seat += ["--creep", "--delay", "0.05", "--silence", str(SILENCE), "--arrivals", str(folder / name)]
            program, more = ("liar", lies) if name in dishonest else ("player", [])
            player = await at.start(
                name, *seat, *more, home=f"{name}.home", prefix=wire.on(place), program=f"tests.network.{program}"
            )
            players[name] = player
            if place == 1:
                line = (await player.until("opened"))["join_line"]
            else:
                await player.until("joined")
            seat = ["--join", line]
        pids = {name: players[name].process.pid for name in honest}
        watches = {name: Watch(pid) for name, pid in pids.items()}
        queues = {name: RunQueue(pid) for name, pid in pids.items()}
        for player in players.values():
            await player.until("started")
        formed = time.monotonic()
        await players["A"].until("moved", CALM)
        memory = {name: watch.memory for name, watch in watches.items()}
        await asyncio.to_thread(begin.touch)
        begun = time.monotonic()
        await over_or_out(players, honest)
        put_out = evicted(players, honest)
        if not put_out:
            for name in honest:
                assert await players[name].dismiss() == 0
        for watch in watches.values():
            await watch.stop()
        for queue in queues.values():
            queue.stop()
        written = {name: arrivals.read(folder / name) for name in honest}
        pairs = list(permutations(honest, 2))
        taken = [
            (sent, came - sent - queues[other].waited(sent, came))
            for one, other in pairs
            for sent, came in arrivals.times(written[one], written[other])
        ]
        return Outcome(
            before=tuple(delay for sent, delay in taken if formed <= sent < begun),
            during=tuple(delay for sent, delay in taken if sent >= begun),
            is_in_order=all(arrivals.is_in_order(written[one], written[other]) for one, other in pairs),
            put_out=put_out,
            lost=tuple(f"{name}-{line['player']}" for name in honest for line in players[name].told("lost")),
            winners=tuple(sorted({str(end["places"][0]) for name in honest for end in players[name].told("over")})),
            memory=max(watches[name].memory - memory[name] for name in honest),
            stored=0 if put_out else max(of_liars(folder / f"{name}.home", seats - liars) for name in honest),
            passed_on=passed_on(written),
            signed=max(len(each.sent) for each in written.values()),
            thrown=sum(players[name].told("thrown")[-1]["frames"] for name in dishonest),
        )


class RunQueue:
    """How long a process has waited for a core, as Linux counts it, looked at again and again."""

    def __init__(self, pid: int) -> None:
        self._moments: list[float] = []
        self._waits: list[float] = []
        self._path = Path(f"/proc/{pid}/schedstat")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        with suppress(OSError):  # the process is gone, or this kernel does not count
            while not self._ended.wait(LOOK):
                waited = int(self._path.read_bytes().split()[1]) / 1e9
                self._moments.append(time.monotonic())
                self._waits.append(waited)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def waited(self, since: float, until: float) -> float:
        """Return how many seconds of the time between two moments it waited, as far as it was looked at."""
        return self._until(until) - self._until(since) if until < math.inf else 0.0

    def _until(self, moment: float) -> float:
        """Return how long it had waited at a moment: between two looks in proportion."""
        place = bisect(self._moments, moment)
        if not 0 < place < len(self._moments):
            return self._waits[max(0, place - 1)] if self._waits else 0.0
        (before, after), (low, high) = self._moments[place - 1 : place + 1], self._waits[place - 1 : place + 1]
        return low + (high - low) * (moment - before) / (after - before)


async def over_or_out(players: dict[str, Process], honest: str) -> None:
    """Wait until all honest players were told the end, or one of them was put out.

    :raises StandstillError: if neither happens.
    """
    waiting = (players[name] for name in honest)
    try:
        async with asyncio.timeout(PATIENCE):
            while not all(players[name].told("over") for name in honest) and not evicted(players, honest):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise StandstillError("\n".join(str(player.failure("the end never came")) for player in waiting)) from None


def evicted(players: dict[str, Process], honest: str) -> tuple[str, ...]:
    told = {line["player"] for name in honest for line in players[name].told("out") if line["reason"] == "evicted"}
    return tuple(sorted(told.intersection(honest)))


def passed_on(written: dict[str, Arrivals]) -> int:
    """Return how many messages came to the victim over links with honest players who had not signed them."""
    honest = {message for each in written.values() for message in each.sent}
    links = [written["B"].over_link.get(each.identity, ()) for each in written.values()]
    return sum(message not in honest for link in links for message in link)


def of_liars(home: Path, first: int) -> int:
    """Return how many messages of liars are in a store.

    :param first: the roster index of the first of them. They joined last, and are last in the roster.
    """
    return sum(signed.message.author >= first for signed in stored(home / STORE_FILE))
