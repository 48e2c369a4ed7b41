"""Finding the one player whom a table's name or short code refers to, before this node joins or watches.

Multicast only suggests addresses to dial, and anybody on the network can send it. Given a name, this node dials every
address advertised for it and asks to watch, which takes no seat. The answer must show the advertised table. If two
identities show it, the name is ambiguous.

Given a short code, the node tries the hosts advertised under its number as soon as it learns of them, and joins the
first one that proves to know the words. Each host can check one guess of its own against the code, so the node tries
only a few, one after the other. It tries the next host when the previous one has failed or is slow, as Happy Eyeballs
(RFC 8305, §5) chooses among addresses. A forger who is heard first can delay the guest only for a moment, whatever it
answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from p2pdice.plurals import number
from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.crypto.short_code import CodeExchange, CodeExchangeError, ShortCode, load
from protocol.errors import LOOK_ON, SEE_TABLES, ErrorCode, NodeError, PeerError, RefuseCode
from protocol.match.lobby import Lobby
from protocol.net.addresses import Address, JoinLine, format_address
from protocol.net.dialer import Dialer, DialError
from protocol.net.discovery import Sighting
from protocol.net.link import BREACH, Link
from protocol.net.mesh import RefusedError, check_version
from protocol.node import locator
from protocol.node.locator import BY_LINE, Target, error_for_owner, unreachable
from protocol.wire.frames import (
    Aim,
    CodeAim,
    CodeElement,
    CodeProof,
    Frame,
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

NO_HOST: Final = "a program answered there, but not as a host does"

F = TypeVar("F", Welcome, CodeElement, CodeProof)


class _Answer(NamedTuple):
    identity: bytes
    at: list[Address]
    said: Table | Propose | Refuse
    table: bytes
    """The id of the table, according to the answer."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(dict.fromkeys(self.at))

    def is_of(self, target: Target) -> bool:
        """Return whether this answer came from an address of the target."""
        return not set(self.at).isdisjoint(target.addresses)

    @property
    def join_line(self) -> JoinLine:
        """A join line for this answer, with the address that is easiest to type."""
        _, port = easiest = min(self.addresses, key=lambda each: (":" in each[0], "%" in each[0], len(each[0])))
        return JoinLine(((easiest[0].partition("%")[0], port),), fingerprint(self.identity))

    @property
    def host(self) -> str:
        """The nickname of the host in the TABLE that was shown."""
        assert isinstance(self.said, Table)
        return next((name for name, identity in self.said.players if identity == self.identity), "?")


class Inquiry:
    """Finds the one player who answers for a name, or who knows a short code.

    :param dialer: this node's dialer.
    """

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def choose(self, verb: str, resolve: Callable[[], Awaitable[tuple[Target, ...]]]) -> tuple[Target, ...]:
        """Return the targets from ``resolve``; if they are known by name only, return the one that has the table.

        After an inquiry, ``resolve`` is called again. If its targets have changed, the new ones are asked, up to
        :data:`~protocol.node.locator.INQUIRIES` times in all. A target that a person picked from a list is returned
        unchanged.

        :param verb: the command that will use the target, for suggestions in errors.
        :raises NodeError: if no player has the table, several players have it, or the advertisements keep changing.
        """
        targets = await resolve()
        for _ in range(locator.INQUIRIES):
            if not any(target.name for target in targets):
                return targets
            found = await self._who_has_it(verb, targets)
            before, targets = targets, await resolve()
            if targets == before:
                return (found,)
        raise NodeError(
            ErrorCode.REFUSED, f'the advertisements for the table "{targets[0].name}" keep changing', BY_LINE
        )

    async def find_by_code(self, code: ShortCode, heard: AsyncIterator[Sequence[Sighting]]) -> Target:
        """Return the table of the host that proves to know the code.

        :param heard: yields the tables advertised with the code's number, again after each change.
        :raises NodeError: if no host does. Errors of ``heard`` before the first table are raised, too.
        """
        search = _Search(code, self._dialer)
        if (found := await search.among(heard)) is None:
            raise search.failure()
        return found

    async def _who_has_it(self, verb: str, told: tuple[Target, ...]) -> Target:
        answers, problems = await self._ask_all(told)
        having = [answer for answer in answers if _may_have(answer, told)]
        if not having:
            raise _nobody_has_it(told[0].name, answers, problems)
        if len(having) > 1:
            choices = tuple((f"p2pdice {verb} {each.join_line}", _description(each)) for each in having)
            problem = f'{number(len(having))} different players answer for the table "{told[0].name}"'
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
            """Return whether no answer has come from the target yet, but one may still come."""
            return not any(answer.is_of(target) for answer in answers) and any(
                asking[address] in waiting for address in target.addresses
            )

        try:
            while any(map(is_open, told)):
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting:
                await asyncio.wait(waiting, timeout=locator.RIVALS)
        finally:
            for task in waiting:
                task.cancel()
        # Each identity is asked only once. A forger may have relayed the question and withheld the answer, so an
        # identity that shows no table may still have it.
        silent = seen.keys() - {answer.identity for answer in answers}
        answers += (
            _Answer(each, seen[each], Refuse(RefuseCode.REFUSED, "a program answered there, but showed no table"), b"")
            for each in sorted(silent)
        )
        return answers, list(dict.fromkeys(problems))

    async def _ask(
        self, address: Address, accept: Callable[[bytes], bool]
    ) -> tuple[bytes, Table | Propose | Refuse, bytes]:
        talk = _Talk(WatchAim(b"", ""))
        link = await self._dialer.dial([address], talk, accept)
        table = b""
        try:
            async with asyncio.timeout(self._dialer.limits.handshake):
                aim = (await talk.hear(Welcome)).aim
                table = aim.table if isinstance(aim, TableAim) else b""
                said = await talk.next()
        except RefusedError as error:
            return link.peer_key, Refuse(error.code, str(error)), table
        except TimeoutError:
            raise DialError(f"{format_address(address)} answers, but shows nothing") from None
        finally:
            link.close()
        if not isinstance(said, Table | Propose):
            raise DialError(NO_HOST)
        return link.peer_key, said, table


def _may_have(answer: _Answer, told: Sequence[Target]) -> bool:
    """Return whether an answer shows an advertised table, or is a refusal behind which there may be one."""
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
                return error_for_owner(RefusedError(code, reason))
    if answers:
        return NodeError(ErrorCode.NOT_FOUND, f'"{name}" is not open any more', choices=SEE_TABLES)
    return unreachable(DialError("; ".join(problems)))


class _Search:
    """One search for the host that knows a code."""

    def __init__(self, code: ShortCode, dialer: Dialer) -> None:
        self._code = code
        self._dialer = dialer
        self._addresses: set[Address] = set()
        self._has_more = False
        """Whether there were more addresses than can be tried."""
        self._known: set[bytes] = set()
        """The identities that have answered at any address."""
        self._turn = asyncio.Lock()
        self._trying: set[asyncio.Task[Target]] = set()
        self._tried = 0
        """The number of players that were sent a proof."""
        self._said: list[RefusedError] = []
        self._problems: list[str] = []

    async def among(self, heard: AsyncIterator[Sequence[Sighting]]) -> Target | None:
        """Return the table of the first host that proves to know the code. Return None if all hosts have failed and no
        new one was heard in time."""
        told, _ = await asyncio.gather(anext(heard), asyncio.to_thread(load))
        asking = self._ask_all(told)
        hearing = asyncio.ensure_future(anext(heard, None))
        settling = asyncio.create_task(asyncio.sleep(locator.SETTLING))
        waiting: set[asyncio.Future[Any]] = {*asking, hearing, settling}
        try:
            async with asyncio.timeout(limits.CODE_SEARCH):
                while not (waiting <= {hearing} or self._is_spent()):
                    done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for asked in asking & done:
                        if (found := asked.result()) is not None:
                            return found
                    if hearing not in done:
                        continue
                    if (more := hearing.result()) is None:
                        settling.cancel()  # no more advertisements will come
                        continue
                    hearing = asyncio.ensure_future(anext(heard, None))
                    new = self._ask_all(more)
                    asking |= new
                    waiting |= {*new, hearing}
        except TimeoutError:
            pass
        finally:
            under_way = {*asking, *self._trying, hearing, settling}
            for each in under_way:
                each.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return None

    def _ask_all(self, told: Sequence[Sighting]) -> set[asyncio.Task[Target | None]]:
        """Start to ask at each new address, up to :data:`~protocol.limits.ADDRESSES_PER_NAME` addresses in all."""
        addresses = dict.fromkeys(address for sighting in told for address in sighting.addresses)
        new = [each for each in addresses if each not in self._addresses]
        room = limits.ADDRESSES_PER_NAME - len(self._addresses)
        self._has_more |= len(new) > room
        self._addresses.update(new[:room])
        return {asyncio.create_task(self._ask(each)) for each in new[:room]}

    def _is_spent(self) -> bool:
        """Return whether no further player may be tried."""
        return self._tried >= limits.CODE_TRIES and not self._trying

    async def _ask(self, address: Address) -> Target | None:
        """Return the table at an address, if an identity not tried before proves there that it knows the code."""
        try:
            link = await self._dialer.dial([address], _Talk(None), self._note_identity)
        except DialError as error:
            if not error.is_other:
                self._problems.append(str(error))
            return None
        link.close()
        async with self._turn:
            if self._tried >= limits.CODE_TRIES:
                return None
            trying = asyncio.create_task(self._try(address, link.peer_key))
            self._trying.add(trying)
            await asyncio.wait({trying}, timeout=locator.NEXT_HOST)
        try:
            return await trying
        except RefusedError as error:
            self._said.append(error)
        except PeerError as error:
            self._problems.append(str(error))
        finally:
            self._trying.discard(trying)
        return None

    def _note_identity(self, identity: bytes) -> bool:
        """Return whether this identity has not answered before."""
        is_new = identity not in self._known
        self._known.add(identity)
        return is_new

    async def _try(self, address: Address, host: bytes) -> Target:
        """Prove to one host that this node knows the code, and check the host's proof.

        :raises PeerError: if the host does not answer as expected, or its proof is wrong.
        """
        talk = _Talk(CodeAim(self._code.number))
        link = await self._dialer.dial([address], talk, host.__eq__)
        try:
            async with asyncio.timeout(self._dialer.limits.handshake):
                welcome = await talk.hear(Welcome)
                if not isinstance(welcome.aim, TableAim) or not welcome.aim.table:
                    raise DialError("a program answered there, but it has no table")
                table = welcome.aim.table
                own = self._dialer.credentials.public_key
                exchange = CodeExchange(self._code, own, host, table, is_host=False)
                link.send(encode_frame(CodeElement(exchange.element)))
                exchange.take((await talk.hear(CodeElement)).element)
                if self._tried >= limits.CODE_TRIES:
                    raise DialError("enough others have been sent a proof")
                self._tried += 1
                link.send(encode_frame(CodeProof(exchange.proof, "")))
                answer = await talk.hear(CodeProof)
                if not exchange.is_proven_by(answer.proof):
                    raise CodeExchangeError("it does not know the code")
        except TimeoutError:
            raise DialError("a program answered there, then fell silent") from None
        finally:
            link.close()
        return Target((address,), table, fingerprint(host), answer.token)

    def failure(self) -> NodeError:
        """Return the error that says why no host was found."""
        number = self._code.number
        if self._has_more:
            problem = f"number {number} is advertised at more addresses than can be tried"
            return NodeError(ErrorCode.REFUSED, problem, BY_LINE)
        ask = "type the code again as the host sees it now, or the long join line below it"
        if self._tried >= limits.CODE_TRIES:
            problem = f"{self._tried} tables have number {number}, and none accepts these words"
            return NodeError(ErrorCode.REFUSED, problem, f"check the words; {ask}")
        for error in self._said:
            if error.code != RefuseCode.REFUSED or not self._tried:
                return error_for_owner(error)
        if self._tried:
            wrong = f"the words are wrong, or the table with number {number} is somebody else's"
            return NodeError(ErrorCode.REFUSED, wrong, ask)
        return unreachable(DialError("; ".join(dict.fromkeys(self._problems)) or "nobody answers there"))


class _Talk:
    """The frames of one link, starting with HELLO.

    :param aim: None to send nothing: TLS alone reveals the peer's identity.
    """

    def __init__(self, aim: Aim | None) -> None:
        self._aim = aim
        self._heard: asyncio.Queue[Frame | PeerError] = asyncio.Queue(maxsize=limits.LOBBY_BURST)

    async def next(self) -> Frame:
        """Return the next frame.

        :raises PeerError: if it is a refusal, or no more frames come.
        """
        heard = await self._heard.get()
        if isinstance(heard, PeerError):
            raise heard
        return heard

    async def hear(self, kind: type[F]) -> F:
        """Return the next frame, which must be of this kind.

        :raises PeerError: if it is of another kind, or no more frames come.
        """
        if not isinstance(heard := await self.next(), kind):
            raise DialError(NO_HOST)
        return heard

    def link_up(self, link: Link) -> None:
        if self._aim is None:
            return
        try:
            check_version(link)
        except RefusedError as error:
            self._put(error)
        else:
            link.send(encode_frame(Hello(0, self._aim)))

    def frame_received(self, link: Link, data: bytes) -> None:
        try:
            frame = decode_frame(data)
        except MalformedFrameError as error:
            link.drop(f"{BREACH}: it sent an invalid message ({error})")
            return
        if isinstance(frame, Welcome):
            link.widen()
        if not isinstance(frame, Unknown):
            self._put(RefusedError(frame.code, frame.reason) if isinstance(frame, Refuse) else frame)

    def link_down(self, link: Link, reason: str) -> None:
        self._put(DialError(f"nobody let you in: {reason}"))

    def _put(self, heard: Frame | PeerError) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._heard.put_nowait(heard)
