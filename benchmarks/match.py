"""Measure the speed of whole matches on loopback. Each node is a process, with TLS, store and signatures.

    python -m benchmarks.match [--players 2 4 6 8 10] [--spectators 0] [--dice 5] [--repeat 3] [--delay 0]

House bots play, so no time is spent waiting for people. Discovery is off. Homes are first in memory (tmpfs), then on a
disk: in the folder for temporary files, or in ``--disk``. uvloop is used where p2pdice would use it.

- fdatasync: the time to bring 4 KiB to this disk while the match runs.
- CPU: the CPU time of all nodes per message, during the match, without the bots' thinking; "host" is the host's share.
- signing and verifying: the reference, measured in the same processes right after the match. It is the CPU time to sign
  a message once and to verify it once at every other node, with ``cryptography`` alone.
- ratio: CPU per message divided by this reference.
- challenge to turn: the time from a call to the first turn of the next round. In between, five steps of the protocol
  open the cups and roll the dice.
- ``--delay``: everything that a node receives arrives this many milliseconds later.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.table.play import loop_factory
from p2pdice.events import HandsShown
from p2pdice.moves import Bid
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import PRESETS
from protocol.events import Happened, MatchResult, MatchStarted, TableOpened, YourTurn
from protocol.match.lobby import TableSettings
from protocol.net.link import Link
from protocol.node.node import Node
from protocol.wire.messages import MESSAGE_TAG

MEMORY: Final = Path("/dev/shm")
"""A folder of Linux whose files are in memory."""


def reference() -> tuple[float, float]:
    """Return the CPU seconds for one signature and for one verification of a message of typical size."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key()
    message = bytes(170)
    signature = key.sign(message)
    begun = time.process_time()
    for _ in range(300):
        key.sign(message)
    signed = time.process_time()
    for _ in range(300):
        public.verify(signature, message)
    return (signed - begun) / 300, (time.process_time() - signed) / 300


def delay_arrivals(seconds: float) -> None:
    """Delay everything that this process receives from now on, to simulate a distant network."""
    arrive = Link.data_received

    def arrive_later(self: Link, data: bytes, records: int) -> None:
        asyncio.get_running_loop().call_later(seconds, arrive, self, data, records)

    Link.data_received = arrive_later  # type: ignore[method-assign]


async def watch(home: Path, target: str) -> None:
    """Watch the match as one spectator, until this process is killed."""
    node = await Node.open(home, "spectator", discovery=False, interface="127.0.0.1")
    await node.watch(target)
    print("watches", flush=True)
    async for _ in node.events():
        pass


def seconds_to_sync(folder: Path) -> float:
    """Return the median seconds for bringing 4 KiB to the disk in ``folder``."""
    sync = getattr(os, "fdatasync", os.fsync)
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(20):
            file.write(bytes(4096))
            file.flush()
            begun = time.perf_counter()
            sync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return median(taken)


async def play(home: Path, name: str, players: int, dice: int, target: str) -> dict[str, Any]:
    """Run one node of the match and return its costs."""
    node = await Node.open(home, name, discovery=False, interface="127.0.0.1")
    bot = OddsPlayer(random.Random(name))  # the bot's choices; dice come from the protocol
    if target:
        await node.join(target)
    else:
        ruleset = PRESETS["classic"].with_options({"dice": str(dice)})
        await node.host(TableSettings("benchmark", ruleset, players))
    moves = rounds = 0
    cpu = wall = thinking = 0.0
    transcript = b""
    called: dict[int, float] = {}
    began: dict[int, float] = {}
    async for event in node.events():
        match event:
            case TableOpened():
                print(event.join_line, flush=True)
            case MatchStarted():
                cpu, wall = time.process_time(), time.perf_counter()
            case YourTurn():
                moves += 1
                number = event.view.state.round
                began[number] = time.monotonic()  # this clock is shared by all processes
                begun = time.process_time()
                move = bot.choose(event.view)
                thinking += time.process_time() - begun
                if not isinstance(move, Bid):
                    called[number] = time.monotonic()
                node.play(move, event.token)
            case MatchResult():
                cpu, wall = time.process_time() - cpu - thinking, time.perf_counter() - wall
                transcript = event.transcript.read_bytes()
                break
            case Happened(event=HandsShown()):
                rounds += 1
    await node.close()
    sign, verify = reference()
    return {
        "moves": moves,
        "cpu": cpu,
        "wall": wall,
        "bytes": len(transcript),
        "messages": transcript.count(MESSAGE_TAG.encode()),
        "rounds": rounds,
        "called": called,
        "began": began,
        "sign": sign,
        "verify": verify,
    }


def waits(results: list[dict[str, Any]]) -> list[float]:
    """Return the seconds from each call to the first turn of the next round."""
    called = {int(number): when for result in results for number, when in result["called"].items()}
    turns = [(int(number), when) for result in results for number, when in result["began"].items()]
    began = {number: min(when for each, when in turns if each == number) for number, _ in turns}
    return [began[number + 1] - when for number, when in called.items() if number + 1 in began]


def run(players: int, options: argparse.Namespace, place: Path) -> dict[str, float]:
    """Play one match with homes below ``place``, and return its figures."""
    with tempfile.TemporaryDirectory(prefix="p2pdice-bench-", dir=place) as folder:

        def start(number: int, target: str, *role: str) -> subprocess.Popen[str]:
            arguments = ["--node", f"{folder}/{number}", "--players", str(players), "--dice", str(options.dice)]
            arguments += ["--delay", str(options.delay), "--target", target, *role]
            command = [sys.executable, "-m", "benchmarks.match", *arguments]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        def line(process: subprocess.Popen[str]) -> str:
            assert process.stdout is not None
            return process.stdout.readline().strip()

        host = start(0, "")
        target = line(host)
        spectators = [start(players + number, target, "--watch") for number in range(options.spectators)]
        for each in spectators:
            line(each)
        nodes = [host, *(start(number, target) for number in range(1, players))]
        synced = seconds_to_sync(place)
        results = [json.loads(node.communicate()[0]) for node in nodes]
        for each in spectators:
            each.kill()
            each.communicate()
    messages = results[0]["messages"]
    own = median(result["sign"] for result in results) + (players - 1) * median(result["verify"] for result in results)
    wall = max(result["wall"] for result in results)
    return {
        "moves": sum(result["moves"] for result in results),
        "messages": messages,
        "fdatasync ms": synced * 1000,
        "moves/s": sum(result["moves"] for result in results) / wall,
        "messages/s": messages / wall,
        "challenge to turn ms": median(waits(results)) * 1000,
        "messages/round": messages / results[0]["rounds"],
        "CPU µs/message": sum(result["cpu"] for result in results) / messages * 1e6,
        "host": results[0]["cpu"] / messages * 1e6,
        "signing and verifying": own * 1e6,
        "ratio": sum(result["cpu"] for result in results) / messages / own,
        "transcript KiB": results[0]["bytes"] / 1024,
        "KiB/round": results[0]["bytes"] / 1024 / results[0]["rounds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, nargs="+", default=[2, 4, 6, 8, 10])
    parser.add_argument("--spectators", type=int, default=0)
    parser.add_argument("--dice", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0, help="milliseconds")
    parser.add_argument("--disk", type=Path, default=Path(tempfile.gettempdir()), metavar="FOLDER")
    parser.add_argument("--node", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--target", default="", help=argparse.SUPPRESS)
    parser.add_argument("--watch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.node:
        if options.delay:
            delay_arrivals(options.delay / 1000)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            if options.watch:
                runner.run(watch(options.node, options.target))
            name = f"node {options.node.name}"
            result = runner.run(play(options.node, name, options.players[0], options.dice, options.target))
        print(json.dumps(result))
        return
    places = {"memory": MEMORY, "disk": options.disk}
    header: list[str] = []
    for players, (kind, place) in product(options.players, places.items()):
        if not place.is_dir():
            continue
        runs = [run(players, options, place) for _ in range(options.repeat)]
        row = {name: median(each[name] for each in runs) for name in runs[0]}
        if not header:
            header = ["players", "homes", *row]
            print("| " + " | ".join(header) + " |")
            print("|" + " ---: |" * len(header))
        figures = (f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in row.values())
        print(f"| {players} | {kind} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main()
