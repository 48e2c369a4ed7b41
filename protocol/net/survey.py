"""A survey of the network around this machine, without a table or a match: which machines can be heard and reached.

Two machines that survey at the same time detect each other: each asks by multicast for a name that contains its own
token. A machine that hears a token asks for it, too, which tells the other that its packets arrive.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Final, NamedTuple

from zeroconf import DNSIncoming, DNSOutgoing, DNSQuestion, Error

from protocol.limits import ADDRESSES_WATCHED
from protocol.net.addresses import Address, parse_address, parse_join_line
from protocol.net.discovery import POINTER, SERVICE_TYPE
from protocol.net.interfaces import hosts_to_dial, interface_addresses
from protocol.net.mdns import ENUMERATION, Datagram, Multicast

QUESTIONS: Final = 0.5
"""Seconds between two questions."""
REACH: Final = 3.0
"""Seconds after which an address that does not answer counts as unreachable."""
_TOKEN_BYTES: Final = 8
_MET: Final = 16
"""The maximum number of other surveys to answer."""
_QUESTION: Final = re.compile(rf"([0-9a-f]{{16}})(?:-([0-9a-f]{{16}}))?\.survey\.{re.escape(SERVICE_TYPE)}")


class Heard(NamedTuple):
    """The result of listening to multicast DNS for a while."""

    itself: bool
    """Whether this machine's packets come back to it."""
    hosts: tuple[str, ...]
    """Addresses of other machines that sent any packet."""
    met: tuple[str, ...]
    """Hosts that are also running a survey and hear this machine."""
    one_way: tuple[str, ...]
    """Hosts that are also running a survey but have not heard this machine."""
    left_out: tuple[str, ...] = ()
    """Names of this machine's interfaces that do not support multicast."""


class _Survey:
    def __init__(self) -> None:
        self.token = secrets.token_hex(_TOKEN_BYTES)
        self.own = {str(each) for each in interface_addresses()}
        self.itself = False
        self.hosts: dict[str, None] = {}
        self.tokens: dict[str, str] = {}
        """Addresses of other surveys by token."""
        self.hears_us: set[str] = set()
        """Tokens of surveys that have asked for this one's token."""

    def hear(self, datagram: Datagram) -> None:
        host = _plain(datagram.host)
        is_own = host in self.own
        if not is_own and len(self.hosts) < ADDRESSES_WATCHED:
            self.hosts[host] = None
        if b"survey" not in datagram.data:
            return
        packet = DNSIncoming(datagram.data)
        if not packet.valid:
            return
        for question in packet.questions:
            if asked := _QUESTION.fullmatch(question.name.lower()):
                self._note(asked[1], asked[2], host, is_own)

    def _note(self, token: str, heard: str | None, host: str, is_own: bool) -> None:
        if token == self.token:
            self.itself = True
        elif is_own:
            pass  # another program on this machine
        elif token in self.tokens or len(self.tokens) < _MET:
            self.tokens.setdefault(token, host)
            if heard == self.token:
                self.hears_us.add(token)

    def question(self) -> list[bytes]:
        packet = DNSOutgoing(0)
        asked = [f"{self.token}.survey.{SERVICE_TYPE}"]
        asked += [f"{self.token}-{other}.survey.{SERVICE_TYPE}" for other in self.tokens]
        for name in (SERVICE_TYPE, ENUMERATION, *asked):
            packet.add_question(DNSQuestion(name, POINTER, 1))
        return packet.packets()


def _plain(host: str) -> str:
    """Return the sender's address without zone, with an IPv4-mapped address as IPv4."""
    address = ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)


async def listen_around(seconds: float, interface: str | None = None) -> Heard:
    """Ask for tables and services by multicast DNS, and return the machines that were heard.

    :param seconds: how long to listen. It ends sooner once another survey was met in both directions.
    :param interface: name or address of the only interface to use, or None for all.
    :raises OSError: if no interface supports multicast; the message states the reason.
    """
    survey = _Survey()
    multicast = Multicast(interface, survey.hear)
    try:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            with suppress(Error):
                multicast.send(survey.question())
            await asyncio.sleep(min(QUESTIONS, left))
            if survey.hears_us:
                multicast.send(survey.question())  # tells the other survey that it was heard, too
                break
    finally:
        await multicast.close()
    met = {survey.tokens[token] for token in survey.hears_us}
    deaf = {*survey.tokens.values()} - met
    hosts, both_ways, one_way = (tuple(sorted(each)) for each in (survey.hosts, met, deaf))
    return Heard(survey.itself, hosts, both_ways, one_way, multicast.left_out)


def check_port(port: int) -> None:
    """Check that this machine can listen on a TCP port; 0 stands for any port.

    :raises OSError: if it cannot.
    """
    with socket.create_server(("", port), backlog=1):
        pass


class Reached(NamedTuple):
    """The result of dialling one address."""

    address: Address
    problem: str
    """Why it cannot be reached; empty if something accepted the connection."""
    is_refused: bool = False
    """Whether the machine answers but no program listens there."""


def addresses_in(text: str) -> tuple[Address, ...]:
    """Return the addresses in a join line, or the single address in ``HOST:PORT``.

    :raises ValueError: if the text is neither; the message states the fault.
    """
    return parse_join_line(text).addresses if "/" in text else (parse_address(text),)


async def reach_host(address: Address) -> Reached:
    """Dial an address, and hang up."""
    found = Reached(address, "there is no such host")
    for host in hosts_to_dial(address[0]):
        try:
            async with asyncio.timeout(REACH):
                _, writer = await asyncio.open_connection(host, address[1])
        except TimeoutError:
            found = Reached(address, "no answer")
        except ConnectionRefusedError:
            return Reached(address, "no program listens there", is_refused=True)
        except OSError as error:
            found = Reached(address, error.strerror or str(error))
        except UnicodeError:
            pass  # an empty or overlong label, which no host name has
        else:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            return Reached(address, "")
    return found
