"""Measure the speed of whole matches on loopback: N nodes in separate processes, with TLS, store and signatures.

    python -m benchmarks.match [--players 2 4 6 8 10] [--dice 5] [--repeat 3] [--delay 0]

House bots play, so nothing waits for people. Discovery is off. CPU is measured in each process from the first to the
last step of the match, excluding the bots' thinking. The reference is measured in the same processes immediately
afterwards: the cost of signing a message once and verifying it at every other node with bare ``cryptography``. "ratio"
is the CPU per message over all nodes, relative to the reference. "challenge to turn" is the time from a call to the
first turn of the next round, in which cups are opened and shaken in five consecutive steps. ``--delay`` delays
everything that a node receives by this many milliseconds. uvloop is used where p2pdice would use it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

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


async def play(home: Path, name: str, players: int, dice: int, target: str) -> dict[str, Any]:
    """Run one node of the match and return its costs."""
    node = await Node.open(home, name, discovery=False, interface="127.0.0.1")
    bot = OddsPlayer(random.Random(name))  # for the bot's choices, not for dice
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


def run(players: int, dice: int, delay: float) -> dict[str, float]:
    """Play one match and return its figures."""
    with tempfile.TemporaryDirectory(prefix="p2pdice-bench-") as folder:

        def start(number: int, target: str) -> subprocess.Popen[str]:
            arguments = ["--node", f"{folder}/{number}", "--players", str(players), "--dice", str(dice)]
            arguments += ["--delay", str(delay), "--target", target]
            command = [sys.executable, "-m", "benchmarks.match", *arguments]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        host = start(0, "")
        assert host.stdout is not None
        line = host.stdout.readline().strip()
        nodes = [host, *(start(number, line) for number in range(1, players))]
        results = [json.loads(node.communicate()[0]) for node in nodes]
    messages = results[0]["messages"]
    own = median(result["sign"] for result in results) + (players - 1) * median(result["verify"] for result in results)
    wall = max(result["wall"] for result in results)
    return {
        "moves": sum(result["moves"] for result in results),
        "messages": messages,
        "moves/s": sum(result["moves"] for result in results) / wall,
        "messages/s": messages / wall,
        "challenge to turn ms": median(waits(results)) * 1000,
        "messages/round": messages / results[0]["rounds"],
        "CPU µs/message": sum(result["cpu"] for result in results) / messages * 1e6,
        "signing and verifying": own * 1e6,
        "ratio": sum(result["cpu"] for result in results) / messages / own,
        "transcript KiB": results[0]["bytes"] / 1024,
        "KiB/round": results[0]["bytes"] / 1024 / results[0]["rounds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, nargs="+", default=[2, 4, 6, 8, 10])
    parser.add_argument("--dice", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0, help="milliseconds")
    parser.add_argument("--node", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--target", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.node:
        if options.delay:
            delay_arrivals(options.delay / 1000)
        name = f"node {options.node.name}"
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            result = runner.run(play(options.node, name, options.players[0], options.dice, options.target))
        print(json.dumps(result))
        return
    header: list[str] = []
    for players in options.players:
        runs = [run(players, options.dice, options.delay) for _ in range(options.repeat)]
        row = {name: median(each[name] for each in runs) for name in runs[0]}
        if not header:
            header = ["players", *row]
            print("| " + " | ".join(header) + " |")
            print("|" + " ---: |" * len(header))
        print(
            f"| {players} | "
            + " | ".join(f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in row.values())
            + " |"
        )


if __name__ == "__main__":
    main()
