"""The network interfaces of this machine: its addresses, those that others should dial, and changes."""

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
"""Interface names of containers, virtual machines, VPNs and Apple's AirDrop, through which people in one room rarely
reach each other."""
_FAR: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses reserved for documentation (RFC 5737, RFC 3849). The route to them is the default route."""
_SIOCGIFFLAGS: Final = 0x8913
_IFF_RUNNING: Final = 0x40
"""Linux constants; see netdevice(7)."""


class Interface(NamedTuple):
    """A network interface with at least one address."""

    name: str
    number: int
    """The system's index of the interface, which is also the zone of link-local addresses; 0 if there is none."""
    addresses: tuple[IpAddress, ...]
    """Addresses without IPv6 zones, which are meaningless to other machines."""
    is_connected: bool
    """Whether Linux reports it as running. Always True elsewhere, where an interface without a cable has no address."""

    @property
    def is_loopback(self) -> bool:
        """Whether it reaches only this machine. On macOS, such an interface has a link-local address, too."""
        return any(each.is_loopback for each in self.addresses)

    @property
    def is_beside_the_lan(self) -> bool:
        """Whether its name suggests a container, a virtual machine or a VPN."""
        return _BESIDE_THE_LAN.match(self.name) is not None


def interfaces(meant: str | None = None) -> tuple[Interface, ...]:
    """Return the interfaces of this machine, or only the one with this name or address.

    The order reflects how likely people play on them: interfaces with a default route first, then others, then
    containers, virtual machines and VPNs, then disconnected interfaces, and loopback last.

    :raises OSError: if the system is busy changing them.
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
    """Return whether this machine, or the interface with this name or address, has no network.

    Unless their interface is named, loopback, containers, virtual machines and VPNs do not count as networks. While the
    system is busy changing the interfaces, the result is False.
    """
    try:
        return not any(_leads_to_others(each, is_meant=meant is not None) for each in interfaces(meant))
    except OSError:
        return False


def _leads_to_others(interface: Interface, *, is_meant: bool) -> bool:
    if not interface.is_connected or (not is_meant and (interface.is_loopback or interface.is_beside_the_lan)):
        return False
    # Windows gives link-local addresses to interfaces without a cable. Elsewhere, two machines on one cable use them.
    return sys.platform != "win32" or not all(each.is_link_local for each in interface.addresses)


def interface_addresses(meant: str | None = None) -> tuple[IpAddress, ...]:
    """Return the addresses of this machine, or of the interface with this name or address, most useful first.

    Link-local IPv6 addresses have no zone and come after the others; loopback comes last.
    """
    own = dict.fromkeys(address for each in interfaces(meant) for address in each.addresses)
    return tuple(sorted(own, key=lambda each: (each.is_loopback, _needs_zone(each))))


def hosts_to_listen_at(interface: str) -> tuple[str, ...]:
    """Return the addresses of an interface for binding sockets: link-local IPv6 addresses have their zone."""
    return tuple(
        f"{address}%{each.number}" if each.number and _needs_zone(address) else str(address)
        for each in interfaces(interface)
        for address in each.addresses
    )


def hosts_to_tell(bound: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that other machines should dial, given the hosts on which this one listens, most useful first.

    ``0.0.0.0`` and ``::`` stand for all addresses of this machine. Link-local IPv6 addresses are returned only if there
    is no better one, and without a zone, since each machine names its zones differently: a dialler tries all its own
    (:func:`hosts_to_dial`). Loopback addresses come last, because no other machine can reach them.

    :returns: at least one host; loopback if this machine has no address at all.
    """
    listening = set(bound)
    named = {_without_zone(each) for each in listening}
    all_of = {version for version, host in ((4, "0.0.0.0"), (6, "::")) if host in listening}  # noqa: S104
    told = [each for each in interface_addresses() if each.version in all_of or each in named]
    if any(not each.is_loopback and not _needs_zone(each) for each in told):
        told = [each for each in told if not _needs_zone(each)]
    return tuple(map(str, told)) or ("127.0.0.1",)


def hosts_to_dial(host: str) -> tuple[str, ...]:
    """Return the hosts to dial for one host: one per local zone if it is link-local IPv6 without a zone, else itself.

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
    with suppress(OSError):  # while the system changes its interfaces, the dial fails without a zone
        zones += (each.number for each in interfaces() if each.number and any(map(_needs_zone, each.addresses)))
    return tuple(f"{host}%{zone}" for zone in zones) or (host,)


def _ways_out() -> frozenset[IpAddress]:
    """Return the local addresses of the default routes. No packet is sent."""
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
"""Seconds between two checks of the interfaces. A check takes less than a millisecond."""


def watch_network(interface: str | None, changed: Callable[[], Awaitable[None]]) -> Coroutine[None, None, None]:
    """Return a coroutine that calls ``changed`` after each sleep of this machine and each change of its interfaces.

    The first check is made at once, so changes before the coroutine starts are noticed. It runs until cancelled. If
    ``changed`` raises OSError, it is called again after the next check.

    :param interface: name or address of the only relevant interface, or None for all.
    """
    return _mind(interface, changed, _look(interface))


def _look(interface: str | None) -> tuple[object, ...] | None:
    """Return the interfaces of this machine, or None while the system is busy changing them."""
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
        # During sleep, monotonic clocks stop on some systems and continue on others, but the wall clock always
        # continues. When a person sets the wall clock, ``changed`` is called once without need.
        began, began_on_the_wall = loop.time(), time.time()
        await asyncio.sleep(POLL)
        passed = max(loop.time() - began, time.time() - began_on_the_wall)
        has_slept = has_slept or passed > POLL + OVERSLEPT
        if (found := _look(interface)) is None:
            continue
        with contextlib.suppress(OSError):  # too early: the interfaces are still changing
            if has_slept or found != before:
                await changed()
            before, has_slept = found, False
