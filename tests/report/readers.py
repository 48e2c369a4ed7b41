"""Gives the same bytes to the readers of this program and to those of the report page, which are in JavaScript.

Both read every structure in a transcript. The answer is what a reader has read, or that it refuses the bytes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

from protocol.consensus.history import History
from protocol.consensus.kinds import contradiction, parse_signed, play, state_hash
from protocol.consensus.position import Position
from protocol.consensus.reading import Reading
from protocol.consensus.transcript import open_transcript
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.keys import PublicKey, fingerprint
from protocol.wire.canonical import decode
from protocol.wire.genesis import _is_numeric, match_id, parse_genesis, parse_ruleset
from protocol.wire.names import check_written, ruleset_label

SCRIPT: Final = Path(__file__).with_name("readers.js")
AT_ONCE: Final = 500
"""The number of inputs per request."""

Answer = list[Any] | dict[str, str] | None
"""The values that were read, in the form of :func:`spelled`; None if the input was refused; a dictionary with ``fault``
if the reader raised an unexpected error."""
Ask = Callable[[str, Sequence[bytes]], list[Answer]]
"""Called with the name of a reader and its inputs; returns an answer for each input."""


@cache
def node() -> str:
    """Return the path of Node, which runs the page's verifier. Skip the test if it is not installed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node is not installed")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").partition(".")[0]) < 20:
        pytest.skip(f"Node {version.strip()} has no Ed25519; 20 or later is needed")
    return found


@contextmanager
def page(*planted: str) -> Iterator[Ask]:
    """Run the readers of the page in a process, until the end of the ``with`` block.

    :param planted: a text that occurs once in the verifier, and a text to replace it by.
    """
    command = [node(), str(SCRIPT), *planted]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        asking, answering = process.stdin, process.stdout
        assert asking is not None
        assert answering is not None

        def ask(reader: str, inputs: Sequence[bytes]) -> list[Answer]:
            answers: list[Answer] = []
            for start in range(0, len(inputs), AT_ONCE):
                some = [data.hex() for data in inputs[start : start + AT_ONCE]]
                asking.write(f"{json.dumps([reader, some])}\n")
                asking.flush()
                answers += json.loads(answering.readline())
            return answers

        yield ask
        asking.close()
        assert process.wait(60) == 0


def program() -> Ask:
    """Return the readers of this program."""
    readers = _Readers()

    def ask(reader: str, inputs: Sequence[bytes]) -> list[Answer]:
        read = getattr(readers, reader)
        return [_answer(read, data) for data in inputs]

    return ask


def _answer(read: Callable[[bytes], Any], data: bytes) -> Answer:
    try:
        return cast("list[Any]", spelled(read(data)))
    except ValueError:
        return None


def spelled(value: Any) -> Any:
    """Return a value for JSON: integers become ``i5``, byte strings ``x05``, texts ``t5``, and arrays lists."""
    if isinstance(value, tuple | list):
        return [*map(spelled, value)]
    if isinstance(value, bytes):
        return f"x{value.hex()}"
    if isinstance(value, str):
        return f"t{value}"
    return value if value is None or isinstance(value, bool) else f"i{value}"


class Refused(ValueError):
    """The reader refuses the bytes."""


class _Readers:
    """The readers of this program, under the names that ``readers.js`` uses for the readers of the page."""

    def __init__(self) -> None:
        self._positions: list[Position] = []

    def encoding(self, data: bytes) -> Any:
        return decode(data)

    def message(self, data: bytes) -> Any:
        signed = parse_signed(data, bytes(64))
        return (*signed.message[1:], signed.id)

    def contradiction(self, data: bytes) -> Any:
        first, second = (parse_signed(cast("bytes", each), bytes(64)) for each in cast("Any", decode(data)))
        if first.message.match != second.message.match:  # no file can contain both
            _refuse()
        return (bool(contradiction(first, second)),)

    def genesis(self, data: bytes) -> Any:
        genesis = parse_genesis(data)
        roster = []
        for author, record in enumerate(genesis.roster):
            join, head = record.join, record.join.head
            named = join.identity, join.match_key, join.nickname, join.pledge, fingerprint(join.identity)
            roster.append((*named, *genesis.funds(author), () if head is None else tuple(head)))
        return match_id(data), genesis.ruleset.options(), genesis.has_purses, roster

    def ruleset(self, data: bytes) -> Any:
        rules = parse_ruleset(decode(data))
        return rules.options(), ruleset_label(rules)

    def nickname(self, data: bytes) -> Any:
        check_written(data.decode())
        return ()

    def address(self, data: bytes) -> Any:
        return () if _is_numeric(data.decode()) else _refuse()

    def fingerprint(self, data: bytes) -> Any:
        return (fingerprint(data),)

    def key(self, data: bytes) -> Any:
        PublicKey(data)
        return ()

    def signature(self, data: bytes) -> Any:
        key, signature, signed = cast("Any", decode(data))
        return () if PublicKey(key).verifies(signature, signed) else _refuse()

    def position(self, data: bytes) -> Any:
        opened = open_transcript(data)
        reading = Reading(History(opened.genesis))
        for signed in opened.messages:
            reading.add(signed)
        position = reading.history.position
        self._positions.append(position)
        return len(self._positions) - 1, state_hash(position.state)

    def move(self, data: bytes) -> Any:
        number, text = cast("Any", decode(data))
        position = self._positions[number]
        after, _ = play(position, position.owed[0], text)
        return (state_hash(after),)

    def file(self, data: bytes) -> Any:
        found = verify(data)
        is_altered = found.verdict is Judgement.ALTERED
        return (
            str(found.verdict),
            *(found.culprit, found.culprit_fingerprint, found.match, found.rules, found.players, found.fingerprints),
            *(found.winners, found.winner_fingerprints, True),
            () if is_altered else (found.step, found.steps, found.signatures, found.round, found.awaited),
            tuple((each.balance, each.bet, each.staked_tickets) for each in found.purses),
            tuple(
                (each.change, each.ticket_change, each.soul)
                if (each.bet or each.staked_tickets) and each.change is not None
                else ()
                for each in found.purses
            ),
        )


def _refuse() -> Any:
    raise Refused
