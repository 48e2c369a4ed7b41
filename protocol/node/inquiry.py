"""Finding the one player who answers for a table's name, before this node joins or watches.

Multicast only says where to dial, and anybody on the network can say it. So this node dials every address that was
advertised for a name, and asks to watch, which takes no seat. The answer must show the advertised table. If two
identities show it, the name does not tell which of them is meant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from protocol.crypto.keys import fingerprint
from protocol.errors import LOOK_ON, SEE_TABLES, ErrorCode, NodeError, RefuseCode
from protocol.match.lobby import Lobby
from protocol.net.addresses import Address, JoinLine, format_address
from protocol.net.dialer import Dialer, DialError
from protocol.net.link import BREACH, Link
from protocol.net.mesh import RefusedError, check_version
from protocol.node.locator import BY_LINE, Target
from protocol.node.refusals import refusal, unreachable
from protocol.wire.frames import (
    Hello,
    MalformedFrameError,
    Propose,
    Refuse,
    Table,
    TableAim,
    Unknown,
    WatchAim,
    Welcome,
    decode_frame,
    encode_frame,
)
from protocol.wire.genesis import MalformedGenesisError

RIVALS: Final = 0.5
"""Seconds to wait for answers from further addresses once every record has an answer. On a LAN milliseconds would do;
addresses that do not answer must not keep a player waiting."""

ATTEMPTS: Final = 3
"""Inquiries for one name: another follows if the advertisements changed during the last one."""


class _Answer(NamedTuple):
    identity: bytes
    at: list[Address]
    said: Table | Propose | Refuse
    table: bytes
    """Id of the table, as the answer has it."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(dict.fromkeys(self.at))

    def is_of(self, target: Target) -> bool:
        """Tell whether this answer came from an address of that target."""
        return not set(self.at).isdisjoint(target.addresses)

    @property
    def join_line(self) -> JoinLine:
        """A join line for this answer, with the address that is easiest to type."""
        _, port = easiest = min(self.addresses, key=lambda each: (":" in each[0], "%" in each[0], len(each[0])))
        return JoinLine(((easiest[0].partition("%")[0], port),), fingerprint(self.identity))

    @property
    def host(self) -> str:
        """Nickname of the host who shows a table."""
        assert isinstance(self.said, Table)
        return next((name for name, identity in self.said.players if identity == self.identity), "?")


class Inquiry:
    """Finds the one player who answers for a name.

    :param dialer: that of this node.
    """

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def choose(self, verb: str, resolve: Callable[[], Awaitable[tuple[Target, ...]]]) -> tuple[Target, ...]:
        """Return the targets that ``resolve`` gives; of an open table that is known by name only, the one that has it.

        After an inquiry ``resolve`` is called again. If the name leads elsewhere by then, the new targets are asked, up
        to :data:`ATTEMPTS` times. A target that a person picked from a list stays as it was listed.

        :param verb: the command that goes on with the target.
        :raises NodeError: if nobody has the table, or more than one.
        """
        targets = await resolve()
        for _ in range(ATTEMPTS):
            if not any(target.name for target in targets):
                return targets
            found = await self._who_has_it(verb, targets)
            before, targets = targets, await resolve()
            if targets == before:
                return (found,)
        raise NodeError(
            ErrorCode.REFUSED, f'the advertisements for the table "{targets[0].name}" keep changing', BY_LINE
        )

    async def _who_has_it(self, verb: str, told: tuple[Target, ...]) -> Target:
        answers, problems = await self._ask_all(told)
        having = [answer for answer in answers if _may_have(answer, told)]
        if not having:
            raise _nobody_has_it(told[0].name, answers, problems)
        if len(having) > 1:
            choices = tuple((f"p2pdice {verb} {each.join_line}", _description(each)) for each in having)
            many = "two" if len(having) == 2 else str(len(having))
            problem = f'{many} different players answer for the table "{told[0].name}"'
            raise NodeError(ErrorCode.REFUSED, problem, BY_LINE, choices)
        (answer,) = having
        target = next(target for target in told if answer.is_of(target))
        return Target(answer.addresses, answer.table or target.id, fingerprint(answer.identity), name=target.name)

    async def _ask_all(self, told: Sequence[Target]) -> tuple[list[_Answer], list[str]]:
        answers: list[_Answer] = []
        problems: list[str] = []
        seen: dict[bytes, list[Address]] = {}

        async def ask(address: Address) -> None:
            def is_new(identity: bytes) -> bool:
                seen.setdefault(identity, []).append(address)
                return len(seen[identity]) == 1

            try:
                identity, said, table = await self._ask(address, is_new)
            except DialError as error:
                problems.append(str(error))
            else:
                answers.append(_Answer(identity, seen[identity], said, table))

        addresses = {address for target in told for address in target.addresses}
        asking = {address: asyncio.create_task(ask(address)) for address in addresses}
        waiting = set(asking.values())

        def is_open(target: Target) -> bool:
            """Tell whether nobody has answered there yet and somebody may."""
            return not any(answer.is_of(target) for answer in answers) and any(
                asking[address] in waiting for address in target.addresses
            )

        try:
            while any(map(is_open, told)):
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting:
                await asyncio.wait(waiting, timeout=RIVALS)
        finally:
            for task in waiting:
                task.cancel()
        # Each identity is asked once, perhaps through a forger's relay. So one that shows nothing may have the table.
        silent = seen.keys() - {answer.identity for answer in answers}
        answers += (
            _Answer(each, seen[each], Refuse(RefuseCode.REFUSED, "it shows nothing"), b"") for each in sorted(silent)
        )
        return answers, list(dict.fromkeys(problems))

    async def _ask(
        self, address: Address, accept: Callable[[bytes], bool]
    ) -> tuple[bytes, Table | Propose | Refuse, bytes]:
        question = _Question()
        link = await self._dialer.dial([address], question, accept)
        try:
            async with asyncio.timeout(self._dialer.limits.handshake):
                return link.peer_key, *await question.answer
        except TimeoutError:
            raise DialError(f"{format_address(address)} answers, but shows nothing") from None
        finally:
            link.close()


class _Question:
    """The exchange on one link, from HELLO to the answer."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[tuple[Table | Propose | Refuse, bytes]]
        self.answer = asyncio.get_running_loop().create_future()
        self._table = b""

    def link_up(self, link: Link) -> None:
        try:
            check_version(link)
        except RefusedError as error:
            self._take(Refuse(error.code, str(error)))
        else:
            link.send(encode_frame(Hello(0, WatchAim(b"", ""))))

    def frame_received(self, link: Link, data: bytes) -> None:
        try:
            frame = decode_frame(data)
        except MalformedFrameError as error:
            link.drop(f"{BREACH}: it sent an invalid message ({error})")
            return
        match frame:
            case Welcome(aim=aim):
                link.widen()
                self._table = aim.table if isinstance(aim, TableAim) else b""
            case Table() | Propose() | Refuse():
                self._take(frame)
            case Unknown():
                pass
            case _:
                link.drop(f"{BREACH}: it did not answer the greeting")

    def _take(self, said: Table | Propose | Refuse) -> None:
        if not self.answer.done():
            self.answer.set_result((said, self._table))

    def link_down(self, link: Link, reason: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(DialError(f"nobody let us in: {reason}"))


def _may_have(answer: _Answer, told: Sequence[Target]) -> bool:
    """Tell whether an answer shows an advertised table, or hides one from spectators."""
    match answer.said:
        case Table(name=name):
            return any((target.id, target.name) == (answer.table, name) for target in told) and _is_sound(answer)
        case Refuse(code=code):
            return code in (RefuseCode.FULL, RefuseCode.REFUSED)
        case Propose():
            return False


def _is_sound(answer: _Answer) -> bool:
    assert isinstance(answer.said, Table)
    try:
        Lobby(answer.table, answer.identity).update(answer.said)
    except MalformedGenesisError:
        return False
    return True


def _description(answer: _Answer) -> str:
    if isinstance(answer.said, Table):
        return f'"{answer.said.name}", hosted by {answer.host}'
    return "does not allow spectators"


def _nobody_has_it(name: str, answers: Sequence[_Answer], problems: Sequence[str]) -> NodeError:
    for answer in answers:
        match answer.said:
            case Table() if _is_sound(answer):
                there = f"{_description(answer)} ({fingerprint(answer.identity)})"
                problem = f'"{name}" is not at the address it advertises; that address belongs to {there}'
                return NodeError(ErrorCode.NOT_FOUND, problem, choices=SEE_TABLES)
            case Propose():
                return NodeError(ErrorCode.REFUSED, f'the match at "{name}" has begun already', choices=LOOK_ON)
            case Refuse(code=code, reason=reason) if code != RefuseCode.NO_TABLE:
                return refusal(RefusedError(code, reason))
    if answers:
        return NodeError(ErrorCode.NOT_FOUND, f'"{name}" is not open any more', choices=SEE_TABLES)
    return unreachable(DialError("; ".join(problems)))
