"""The network: interfaces, multicast, the port, and one other machine if its address is given."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from cli.doctor.finding import Finding, State
from cli.render import command_line, counted

if TYPE_CHECKING:
    from protocol import Address, Heard, Interface

_VPN: Final = re.compile(r"(tun|tap|utun|wg|ppp|ipsec|tailscale|zt|nordlynx|proton|cscotun)|.*(vpn|wireguard)", re.I)
"""Names that VPNs give their interfaces."""
_CARRIER: Final = ip_network("100.64.0.0/10")
"""Shared addresses of carriers (RFC 6598), which some VPNs use as well."""
BY_HAND: Final = "tables are not found by themselves, but the line that the host sees works"


async def network(interface: str | None, port: int, seconds: float, peers: Iterable[Address]) -> AsyncIterator[Finding]:
    """Yield the findings, one at a time: listening takes a while.

    :param port: the TCP port to listen at; 0 for any.
    :param seconds: how long to listen for others.
    :param peers: addresses of one other machine.
    """
    from protocol import check_port, interfaces

    own = [each for each in interfaces() if interface is None or _is_meant(interface, each)]
    for finding in _interfaces(own, interface):
        yield finding
    try:
        check_port(port)
    except OSError as error:
        where = f"port {port}" if port else "any port"
        remedy = "Choose another --port, or end the program that uses it"
        yield Finding("port", State.PROBLEM, f"cannot listen at {where}: {error.strerror or error}", remedy)
    else:
        yield Finding("port", State.OK, f"can listen at {f'port {port}' if port else 'a free port'}")
    for finding in await _multicast(interface, seconds):
        yield finding
    if peers:
        yield await _peer(peers)


def _is_meant(interface: str, each: Interface) -> bool:
    return interface == each.name or interface in map(str, each.addresses)


def _interfaces(own: list[Interface], interface: str | None) -> list[Finding]:
    if not own:
        wanted = f"there is no network interface {interface}" if interface else "this machine is in no network"
        remedy = "Leave --interface away" if interface else "Connect it by Wi-Fi or cable"
        return [Finding("network", State.PROBLEM, wanted, remedy)]
    shown = ", ".join(f"{each.name} {each.addresses[0]}" for each in own)
    found = [Finding("network", State.OK, shown)]
    vpns = [each.name for each in own if _VPN.match(each.name) or any(ip in _CARRIER for ip in each.addresses)]
    if vpns:
        remedy = "If others cannot reach you, switch the VPN off, or let it leave the local network alone"
        found.append(Finding("vpn", State.WARNING, f"{', '.join(vpns)} looks like a VPN", remedy))
    if all(ip.is_link_local for each in own for ip in each.addresses):
        remedy = "Machines on one cable find each other so, but check the Wi-Fi or the router if there is one"
        found.append(Finding("address", State.WARNING, "no router gave this machine an address", remedy))
    return found


async def _multicast(interface: str | None, seconds: float) -> list[Finding]:
    from protocol import DiscoveryUnavailable, listen_around

    try:
        heard = await listen_around(seconds, interface)
    except (OSError, DiscoveryUnavailable) as error:
        remedy = f"Without it {BY_HAND}"
        return [Finding("multicast", State.WARNING, f"cannot be used here: {error}", remedy)]
    if heard.itself:
        found = [Finding("multicast", State.OK, "this machine hears its own packets")]
    else:
        remedy = f"A firewall stops UDP port 5353: let it through. Until then {BY_HAND}"
        found = [Finding("multicast", State.WARNING, "this machine does not hear its own packets", remedy)]
    return [*found, _others(heard)]


def _others(heard: Heard) -> Finding:
    if heard.met:
        return Finding("others", State.OK, f"{', '.join(heard.met)} and this machine hear each other")
    if heard.one_way:
        remedy = "The firewall there, or the Wi-Fi, stops UDP port 5353. Let it through, and try again"
        says = f"{', '.join(heard.one_way)} is heard here, but does not hear this machine"
        return Finding("others", State.WARNING, says, remedy)
    together = f"Run this on the other laptop at the same time: {command_line('doctor', '--wait', '60')}"
    if heard.hosts:
        machines = counted(len(heard.hosts), "other machine")
        return Finding("others", State.OK, f"multicast comes from {machines}", together)
    remedy = f"{together}. If both hear nobody, the Wi-Fi may keep guests apart: use a cable or a phone's hotspot"
    return Finding("others", State.WARNING, "no other machine was heard", remedy)


async def _peer(peers: Iterable[Address]) -> Finding:
    from protocol import format_address, reach

    found = [await reach(each) for each in peers]
    for each in found:
        if not each.problem:
            return Finding("peer", State.OK, f"{format_address(each.address)} can be reached")
    tried = "; ".join(f"{format_address(each.address)}: {each.problem}" for each in found)
    if any(each.is_refused for each in found):
        remedy = "The machine answers. See whether the table is still open, and whether the port is right"
    else:
        remedy = "See whether both machines are in one network, and whether a firewall or guest Wi-Fi is between them"
    return Finding("peer", State.PROBLEM, tried, remedy)
