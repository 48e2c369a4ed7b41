"""Measure how much lying players harm honest ones in a match, for the tests and ``benchmarks/relays.py``.

Each player is a process on its own laptop. After some moves, the last players begin to send useless messages. They send
them either directly to the victim, or to all others, who relay them to the victim; then the liars have no link with the
victim. The delays before the attack are the baseline: same match, same paths, same load of the machine.
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
"""Seconds between two samples of how long a process has waited for a core."""
CALM: Final = 10
"""The number of moves before the attack."""
NAMES: Final = "ABCDE"
SILENCE: Final = 3.0
"""Seconds without any frame after which players close a link here."""


@dataclass(frozen=True)
class Attack:
    """The attack of one liar, as options of :mod:`tests.network.liar`."""

    kind: str = "votes"
    rate: float = RATE - 2
    """Messages per second to each target."""
    burst: int = 1
    is_apart: bool = True
    """Whether the liar keeps no link with the victim, and attacks all others instead."""
    is_anew: bool = False
    """Whether each burst uses a new link, which has its full rate limit."""
    bursts: int = 0
    """The number of bursts; 0 continues until the match is over."""
    in_pieces: bool = False
    """Whether each byte is sent in its own TLS record."""

    def options(self) -> list[str]:
        numbers = {"kind": self.kind, "rate": self.rate, "burst": self.burst, "bursts": self.bursts}
        flags = {"--apart": self.is_apart, "--anew": self.is_anew, "--pieces": self.in_pieces}
        given = [part for name, value in numbers.items() for part in (f"--{name}", str(value))]
        return [*given, *(flag for flag, is_set in flags.items() if is_set)]


AT_THE_LIMIT: Final = Attack()
NEW_LINKS: Final = Attack(rate=500, burst=BURST - 10, is_anew=True, bursts=14)
"""After fourteen bursts, the liar keeps his last link, so that he can vote."""
FULL_SPEED: Final = Attack(rate=2000, burst=50, bursts=20)
"""A thousand messages, which take twenty seconds to read. The liar's own moves are queued behind them."""


@dataclass(frozen=True)
class Outcome:
    """The measured results of a match under attack."""

    before: tuple[float, ...]
    """Seconds that each message between honest players took before the attack. The time that the receiver waited for a
    core is subtracted, because on its own laptop it would not share the cores."""
    during: tuple[float, ...]
    """The same for messages sent since the attack began."""
    is_in_order: bool
    """Whether every honest player received each other honest player's messages in the order in which they were sent."""
    put_out: tuple[str, ...]
    """Honest players who were voted out, as reported by any honest player."""
    lost: tuple[str, ...]
    """Broken links of honest players, as ``name-other``."""
    winners: tuple[str, ...]
    """The different results reported to honest players."""
    memory: int
    """Bytes by which the attack increased memory, for the honest player with the largest increase."""
    stored: int
    """The number of liars' messages in the honest player's store that has most of them."""
    passed_on: int
    """The number of liars' messages relayed to the victim, including repetitions."""
    signed: int
    """The number of messages signed by the honest player who signed most."""
    thrown: int
    """The number of messages sent by liars, as last reported. A message sent over three links counts three times."""
    slowness: float
    """The factor by which waiting for a core slowed an honest player down since the attack began; 1 is no wait."""

    @property
    def later(self) -> float:
        """Seconds by which the slowest message during the attack took longer than the slowest one before it."""
        return max(self.during) - max(self.before)

    def __str__(self) -> str:
        return (
            f"{self.thrown} messages thrown; slowest {max(self.before):.3f} s before, {max(self.during):.3f} s during; "
            f"{len(self.during)} messages; out {self.put_out}; lost {dict(Counter(self.lost))}; told {self.winners}; "
            f"{self.memory // 1024} KiB, {self.stored} stored of liars, {self.passed_on} passed on; "
            f"{self.signed} signed; {self.slowness:.1f} times as slow as alone"
        )


class StandstillError(AssertionError):
    """A match under attack did not end."""


async def attacked(folder: Path, wire: Lan, seats: int, attack: Attack, liars: int = 1) -> Outcome:
    """Play a match in which the last players lie and B is the victim; stop early if an honest player is voted out."""
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
        busy = {name: queue.busy for name, queue in queues.items()}
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
            slowness=max(
                1 + queue.waited(begun, queue.last) / max(LOOK, queue.busy - busy[name])
                for name, queue in queues.items()
            ),
        )


class RunQueue:
    """Periodic samples of how long a process has waited for a core, as counted by Linux."""

    def __init__(self, pid: int) -> None:
        self.busy = 0.0
        """Seconds for which the process has had a core, at the last sample."""
        self.last = 0.0
        """The moment of the last sample."""
        self._moments: list[float] = []
        self._waits: list[float] = []
        self._path = Path(f"/proc/{pid}/schedstat")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        with suppress(OSError):  # the process is gone, or this kernel does not count the time
            while not self._ended.wait(LOOK):
                ran, waited, _ = map(int, self._path.read_bytes().split())
                self.busy, self.last = ran / 1e9, time.monotonic()
                self._moments.append(self.last)
                self._waits.append(waited / 1e9)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def waited(self, since: float, until: float) -> float:
        """Return the seconds that the process waited for a core between two moments, as far as samples exist."""
        return self._until(until) - self._until(since) if until < math.inf else 0.0

    def _until(self, moment: float) -> float:
        """Return the seconds that the process had waited in total at a moment, interpolated between samples."""
        place = bisect(self._moments, moment)
        if not 0 < place < len(self._moments):
            return self._waits[max(0, place - 1)] if self._waits else 0.0
        (before, after), (low, high) = self._moments[place - 1 : place + 1], self._waits[place - 1 : place + 1]
        return low + (high - low) * (moment - before) / (after - before)


async def over_or_out(players: dict[str, Process], honest: str) -> None:
    """Wait until all honest players have reported the end, or one of them has been voted out.

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
    """Return how many liars' messages the victim received over links with honest players."""
    honest = {message for each in written.values() for message in each.sent}
    links = [written["B"].over_link.get(each.identity, ()) for each in written.values()]
    return sum(message not in honest for link in links for message in link)


def of_liars(home: Path, first: int) -> int:
    """Return how many messages of liars are in a store.

    :param first: the roster index of the first liar. Liars join last, and so are last in the roster.
    """
    return sum(signed.message.author >= first for signed in stored(home / STORE_FILE))
