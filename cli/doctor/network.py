"""The network: interfaces, multicast, the port, and one other machine if its address is given."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import AsyncIterator, Iterable
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from cli.doctor.finding import PEER, Finding, State
from cli.render import command_line, listing

if TYPE_CHECKING:
    from protocol.net.addresses import Address
    from protocol.net.interfaces import Interface
    from protocol.net.survey import Heard

_VPN: Final = re.compile(r"(tun|tap|utun|wg|ppp|ipsec|tailscale|zt|nordlynx|proton|cscotun)|.*(vpn|wireguard)", re.I)
"""Names that VPNs give their interfaces."""
_CARRIER: Final = ip_network("100.64.0.0/10")
"""Shared addresses of carriers (RFC 6598), which some VPNs use as well."""
_SHOWN: Final = 4
"""Addresses of other machines; one machine may have several."""
BY_HAND: Final = "tables are not found automatically, but the line that the host sees works"


async def network(interface: str | None, port: int, seconds: float, peers: Iterable[Address]) -> AsyncIterator[Finding]:
    """Yield the findings, one at a time: listening takes a while.

    :param port: the TCP port to listen at; 0 for any.
    :param seconds: how long to listen for others.
    :param peers: addresses of one other machine.
    """
    from protocol.net.interfaces import interfaces
    from protocol.net.survey import check_port

    own = [each for each in interfaces(interface) if not each.is_loopback]
    found = _interfaces(own, interface)
    for finding in found:
        yield finding
    try:
        check_port(port)
    except OSError as error:
        yield _unusable(port, error)
    else:
        elsewhere = command_line("doctor", f"HOST:{port}")
        try_out = f"Whether others reach it, another laptop can tell while you host: {elsewhere}"
        where = f"port {port}" if port else "a free port"
        yield Finding("port", State.OK, f"can listen at {where}", try_out if port else "")
    if not any(each.state is State.PROBLEM for each in found):
        for finding in await _multicast(interface, seconds):
            yield finding
    if peers:
        yield await _peer(peers)


def _unusable(port: int, error: OSError) -> Finding:
    where = f"port {port}" if port else "any port"
    says = f"cannot listen at {where}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno == errno.EACCES:
        return Finding("port", State.PROBLEM, says, "Choose a --port above 1023: the others are the administrator's")
    return Finding("port", State.PROBLEM, says, "Choose another --port, or end the program that uses it")


def _interfaces(own: list[Interface], interface: str | None) -> list[Finding]:
    if not own:
        wanted = f"there is no network interface {interface}" if interface else "this machine is in no network"
        remedy = "Leave out --interface" if interface else "Connect it by Wi-Fi or cable"
        return [Finding("network", State.PROBLEM, wanted, remedy)]
    shown = ", ".join(f"{each.name} {each.addresses[0]}" for each in own)
    if not any(each.is_connected for each in own):
        remedy = "Switch the Wi-Fi on, or plug the cable in"
        return [Finding("network", State.PROBLEM, f"{shown}: nothing is connected to it", remedy)]
    found = [Finding("network", State.OK, shown)]
    vpns = [each.name for each in own if _VPN.match(each.name) or any(ip in _CARRIER for ip in each.addresses)]
    if vpns:
        remedy = "If others cannot reach you, switch the VPN off, or let it leave the local network alone"
        alike = "looks like a VPN" if len(vpns) == 1 else "look like VPNs"
        found.append(Finding("vpn", State.WARNING, f"{listing(vpns)} {alike}", remedy))
    if all(ip.is_link_local for each in own for ip in each.addresses):
        remedy = "Two machines on one cable can play like this; otherwise check the Wi-Fi or the router"
        found.append(Finding("address", State.WARNING, "no router gave this machine an address", remedy))
    return found


async def _multicast(interface: str | None, seconds: float) -> list[Finding]:
    from protocol.net.mdns import DiscoveryUnavailable
    from protocol.net.survey import listen_around

    try:
        heard = await listen_around(seconds, interface)
    except (OSError, DiscoveryUnavailable) as error:
        remedy = f"Without it {BY_HAND}"
        return [Finding("multicast", State.WARNING, f"cannot be used here: {error}", remedy)]
    found: list[Finding] = []
    if heard.left_out:
        only = len(heard.left_out) == 1
        says = f"{listing(heard.left_out)} {'does' if only else 'do'} not support multicast"
        there = "that network" if only else "those networks"
        found.append(Finding("interfaces", State.WARNING, says, f"On {there}, {BY_HAND}"))
    if not heard.itself:
        remedy = f"A firewall stops UDP port 5353: let it through. Until then {BY_HAND}"
        found.append(Finding("multicast", State.WARNING, "this machine does not hear its own packets", remedy))
    found = found or [Finding("multicast", State.OK, "this machine hears its own packets")]
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
        shown = listing(heard.hosts[:_SHOWN]) + (" and others" if len(heard.hosts) > _SHOWN else "")
        return Finding("others", State.OK, f"multicast comes from {shown}", together)
    remedy = f"{together}. If both hear nobody, the Wi-Fi may keep guests apart: use a cable or a phone's hotspot"
    return Finding("others", State.WARNING, "no other machine was heard", remedy)


async def _peer(peers: Iterable[Address]) -> Finding:
    from protocol.net.addresses import format_address
    from protocol.net.survey import reach_host

    found = [await reach_host(each) for each in peers]
    for each in found:
        if not each.problem:
            return Finding(
                PEER, State.OK, f"something answers at {format_address(each.address)}; p2pdice join tells what"
            )
    tried = "; ".join(f"{format_address(each.address)}: {each.problem}" for each in found)
    if any(each.is_refused for each in found):
        remedy = "The machine answers. See whether the table is still open, and whether the port is right"
    else:
        remedy = "See whether both machines are in one network, and whether a firewall or guest Wi-Fi is between them"
    return Finding(PEER, State.WARNING, tried, remedy)
