"""The network interfaces of this machine: where it can be reached, what others are told, and changes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

import ifaddr

from protocol.limits import OVERSLEPT

IpAddress = IPv4Address | IPv6Address

_BESIDE_THE_LAN: Final = re.compile(
    r"(awdl|br-|cali|cni|cscotun|docker|flannel|ipsec|kube|llw|lxc|lxd|nordlynx|podman|ppp|proton|tailscale|tap|tun|utun|vboxnet"
    r"|veth|virbr|vmnet|wg|zt)|.*(hyper-v|virtual|vmware|vpn|wireguard|wsl)",
    re.I,
)
"""Names that containers, virtual machines, VPNs and Apple's AirDrop give their interfaces. People in one room rarely
meet there."""
_FAR: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses that no network has (RFC 5737, RFC 3849), so that the way there is the way out."""
_SIOCGIFFLAGS: Final = 0x8913
_IFF_RUNNING: Final = 0x40
"""Of Linux; see netdevice(7)."""


class Interface(NamedTuple):
    """A network interface that has an address."""

    name: str
    number: int
    """By which the system knows it, as the zone of a link-local address; 0 if it gives none."""
    addresses: tuple[IpAddress, ...]
    """Without the zones of IPv6, which mean nothing to other machines."""
    is_connected: bool
    """False if it is switched off or has no cable, as far as Linux tells. Elsewhere it has no addresses then."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine is reached by it. That of macOS has a link-local address, too."""
        return any(each.is_loopback for each in self.addresses)

    @property
    def is_beside_the_lan(self) -> bool:
        """Whether it looks like one of a container, a virtual machine or a VPN."""
        return _BESIDE_THE_LAN.match(self.name) is not None


def interfaces(meant: str | None = None) -> tuple[Interface, ...]:
    """Return the interfaces of this machine, or the one with this name or address.

    They are in the order in which people probably play on them: the one that leads out of the network comes before
    others, those of containers and VPNs come late, and loopback comes last.

    :raises OSError: while the system is busy changing them.
    """
    ways_out = _ways_out()

    def use(each: Interface) -> tuple[object, ...]:
        first = each.addresses[0]
        return (
            each.is_loopback,
            not each.is_connected,
            each.is_beside_the_lan,
            ways_out.isdisjoint(each.addresses),
            (first.version, first.packed, each.number, each.name),
        )

    found = []
    for adapter in ifaddr.get_adapters():
        own = sorted(set(map(_host, adapter.ips)), key=lambda each: (each.is_loopback, each.version, each.packed))
        names = (adapter.name, adapter.nice_name, *map(_text, adapter.ips))
        if own and (meant is None or meant in names):
            found.append(Interface(adapter.nice_name, adapter.index or 0, tuple(own), _is_connected(adapter.nice_name)))
    return tuple(sorted(found, key=use))


def is_cut_off(meant: str | None = None) -> bool:
    """Tell whether this machine, or the interface with this name or address, is in no network.

    Loopback, containers, virtual machines and VPNs are no network, unless their interface is meant. While the system is
    busy changing the interfaces, nothing is known, and the answer is no.
    """
    try:
        return not any(_leads_to_others(each, is_meant=meant is not None) for each in interfaces(meant))
    except OSError:
        return False


def _leads_to_others(interface: Interface, *, is_meant: bool) -> bool:
    if not interface.is_connected or (not is_meant and (interface.is_loopback or interface.is_beside_the_lan)):
        return False
    # Windows gives an interface without a cable a link-local address. Elsewhere two machines on one cable have those.
    return sys.platform != "win32" or not all(each.is_link_local for each in interface.addresses)


def interface_addresses(meant: str | None = None) -> tuple[IpAddress, ...]:
    """Return the addresses of this machine, or of the interface with this name or address; the most useful first.

    Link-local IPv6 addresses come without their zone and after the others; loopback comes last.
    """
    own = dict.fromkeys(address for each in interfaces(meant) for address in each.addresses)
    return tuple(sorted(own, key=lambda each: (each.is_loopback, _needs_zone(each))))


def hosts_to_listen_at(interface: str) -> tuple[str, ...]:
    """Return the addresses of an interface as a socket is bound to them: link-local IPv6 with its zone."""
    return tuple(
        f"{address}%{each.number}" if each.number and _needs_zone(address) else str(address)
        for each in interfaces(interface)
        for address in each.addresses
    )


def hosts_to_tell(bound: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that others can dial, out of those that this machine listens at, the most useful first.

    ``0.0.0.0`` and ``::`` stand for all addresses of this machine. A link-local IPv6 address is told only if there is
    no better one, and without its zone, as every machine has its own names for zones: a dialler tries all of theirs
    (:func:`hosts_to_dial`). Loopback addresses come last: nobody else reaches them.

    :returns: one at least; loopback if this machine has no address at all.
    """
    listening = set(bound)
    named = {_without_zone(each) for each in listening}
    all_of = {version for version, host in ((4, "0.0.0.0"), (6, "::")) if host in listening}  # noqa: S104
    told = [each for each in interface_addresses() if each.version in all_of or each in named]
    if any(not each.is_loopback and not _needs_zone(each) for each in told):
        told = [each for each in told if not _needs_zone(each)]
    return tuple(map(str, told)) or ("127.0.0.1",)


def hosts_to_dial(host: str) -> tuple[str, ...]:
    """Return the hosts to dial for one host: link-local IPv6 without a zone gives one for each zone of this machine.

    >>> hosts_to_dial("fe80::1%2"), hosts_to_dial("fd00::1"), hosts_to_dial("ada.local")
    (('fe80::1%2',), ('fd00::1',), ('ada.local',))
    """
    try:
        address = ip_address(host)
    except ValueError:
        return (host,)
    if not _needs_zone(address) or "%" in host:
        return (host,)
    zones: list[int] = []
    with suppress(OSError):  # the system is busy changing them: without a zone the dial fails
        zones += (each.number for each in interfaces() if each.number and any(map(_needs_zone, each.addresses)))
    return tuple(f"{host}%{zone}" for zone in zones) or (host,)


def _ways_out() -> frozenset[IpAddress]:
    """Return the addresses from which this machine would send to a far one. Nothing is sent."""
    found = set()
    for family, far in _FAR:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.connect((far, 9))
            found.add(_without_zone(asked.getsockname()[0]))
    return frozenset(found)


def _is_connected(name: str) -> bool:
    if sys.platform == "linux":
        from fcntl import ioctl

        request = struct.pack("16sh14x", name.encode()[:15], 0)
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            _, flags = struct.unpack("16sh14x", ioctl(asked, _SIOCGIFFLAGS, request))
            return bool(flags & _IFF_RUNNING)
    return True


def _host(ip: ifaddr.IP) -> IpAddress:
    return _without_zone(_text(ip))


def _text(ip: ifaddr.IP) -> str:
    return ip.ip if isinstance(ip.ip, str) else ip.ip[0]


def _without_zone(text: str) -> IpAddress:
    return ip_address(text.partition("%")[0])


def _needs_zone(address: IpAddress) -> bool:
    return address.version == 6 and address.is_link_local


POLL: Final = 2.0
"""Seconds between two looks at the interfaces. One look takes less than a millisecond."""


def watch_network(interface: str | None, changed: Callable[[], Awaitable[None]]) -> Coroutine[None, None, None]:
    """Return a coroutine that calls ``changed`` whenever this machine has slept or its interfaces have changed, until
    cancelled.

    The first look is taken at once, so a change before the coroutine begins counts. If ``changed`` raises OSError, it
    is called again after the next look.

    :param interface: name or address of the only interface that matters, None for all.
    """
    return _mind(interface, changed, _look(interface))


def _look(interface: str | None) -> tuple[object, ...] | None:
    """Return the interfaces of this machine; None while the system is busy changing them."""
    try:
        return interfaces(interface)
    except OSError:
        return None


async def _mind(
    interface: str | None, changed: Callable[[], Awaitable[None]], before: tuple[object, ...] | None
) -> None:
    loop = asyncio.get_running_loop()
    has_slept = False
    while True:
        # Monotonic clocks stand still in sleep on some systems and go on on others; the wall clock never stands still.
        # If a person sets it, that costs a needless call.
        began, began_on_the_wall = loop.time(), time.time()
        await asyncio.sleep(POLL)
        passed = max(loop.time() - began, time.time() - began_on_the_wall)
        has_slept = has_slept or passed > POLL + OVERSLEPT
        if (found := _look(interface)) is None:
            continue
        with contextlib.suppress(OSError):  # it came too early: they are still changing
            if has_slept or found != before:
                await changed()
            before, has_slept = found, False
