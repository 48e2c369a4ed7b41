"""``p2pdice doctor``: finds what keeps this machine from playing on this network, and says what to do about it."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from cli.commands.network import InterfaceOption, place_in
from cli.exits import ExitCode, Failure
from cli.front import JsonOption, application
from cli.output import complain, say
from cli.render import command_line, counted, listing, local_time, shown
from cli.settings import Settings
from cli.table.play import run
from p2pdice.plurals import number, plural
from p2pdice.version import VERSION
from protocol.crypto.keys import Identity, KeyFileError, WrongPassphraseError
from protocol.errors import Parts
from protocol.files import probe_openness
from protocol.net.addresses import Address, format_address
from protocol.net.interfaces import Interface, interfaces
from protocol.net.mdns import DiscoveryUnavailable
from protocol.net.survey import Heard, addresses_in, check_port, listen_around, reach_host
from protocol.storage import archive
from protocol.storage.database import DamagedStoreError, StoreError
from protocol.storage.home import Home, NoHomeError
from protocol.version import PROTOCOL_VERSION

EPILOG: Final = """\b
Examples:
  p2pdice doctor
  p2pdice doctor --wait 60             on both laptops at the same time
  p2pdice doctor 192.168.1.7:40312     can that table be reached?
  p2pdice doctor --json

\b
Each line begins with ok, with "note" (play is possible, but read on), or
with FIX (nobody can play from here until that is fixed).
Exit code 3: play is impossible, or the table that you named is unreachable.
"""

app = application()


@app.command(epilog=EPILOG)
def doctor(
    ctx: typer.Context,
    peer: Annotated[
        str | None, typer.Argument(metavar="[HOST:PORT|JOIN-LINE]", help="Check whether this table can be reached.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0.5, max=600, help="How long to listen for others.")
    ] = 3,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="P", help="Check whether you can host on this port.")
    ] = 0,
    interface: InterfaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out what keeps you from playing on this network, and what to do about it.

    It checks the program, your key and files, disk, clock, network, multicast, port and firewall. It changes nothing.
    """
    home = ctx.ensure_object(Settings).home_if_any
    peers = () if peer is None else _addresses(place_in(peer))
    findings: list[Finding] = []

    def note(finding: Finding) -> None:
        findings.append(finding)
        if not as_json:
            say(finding.line())

    async def examine() -> None:
        for finding in machine(home):
            note(finding)
        note(firewall(str(port or "PORT")))
        if not as_json:
            complain(f"Listening to the network for {wait:g} {plural(wait, 'second')}…")
        async for finding in network(interface, port, wait, peers):
            note(finding)

    run(examine())
    problems = [each for each in findings if each.state is Severity.PROBLEM]
    is_far = any(each.check == PEER and each.state is not Severity.OK for each in findings)
    if as_json:
        print(json.dumps({"playable": not problems, "findings": [each.data() for each in findings]}))
    elif problems:
        say(f"You cannot play from here until this is fixed: {', '.join(each.check for each in problems)}.")
    else:
        say("You can play from here, but not at that table." if is_far else "You can play from here.")
    if problems or is_far:
        raise typer.Exit(ExitCode.UNREACHABLE)


def _addresses(text: str) -> tuple[tuple[str, int], ...]:
    try:
        return addresses_in(text)
    except ValueError as error:
        raise Failure(f"{text!r} is not an address.", f"{error}.", code=ExitCode.USAGE) from None


PEER: Final = "peer"
"""The check of the table given as an argument. Its result has no bearing on play at other tables."""


class Severity(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    """Play is possible, but something is missing or may go wrong."""
    PROBLEM = "problem"
    """Play is impossible from this machine until the fault is fixed."""


class Finding(NamedTuple):
    """A check, its result, and the remedy.

    The texts may contain arbitrary input, including text from peers: :meth:`line` escapes them.
    """

    check: str
    """The check's name, one or two words; scripts rely on it."""
    state: Severity
    says: str | Parts
    """A sentence without its full stop."""
    remedy: str | Parts = ""
    """What to do, as a sentence without its full stop; empty if there is nothing to do."""

    def line(self) -> str:
        """Return the finding as one line."""
        mark = {Severity.OK: "ok", Severity.WARNING: "note", Severity.PROBLEM: "FIX"}[self.state]
        remedy = f" {shown(self.remedy)}." if self.remedy else ""
        return f"{mark:<4}  {self.check}: {shown(self.says)}.{remedy}"

    def data(self) -> dict[str, str]:
        """Return the finding as JSON data."""
        return {
            "check": self.check,
            "state": self.state,
            "says": "".join(map(str, self.says)),
            "remedy": "".join(map(str, self.remedy)),
        }


SPACE: Final = 64 * 2**20
"""Free bytes that play may need. A long match of ten players and its transcript take less than a tenth."""
_SLOW_DISK: Final = 0.25
"""Seconds. A disk that takes longer to sync a small file is reported as slow, because each move waits for a sync."""
_FIRST: Final = 1_735_689_600
_LAST: Final = 2_366_841_600
"""The starts of the years 2025 and 2045 (UTC), as Unix times: a clock outside this range is reported as wrong."""
_DAY: Final = 86_400
_ROOM: Final = "Make room on this disk, or choose a folder on another one with --home DIR"
_MIB: Final = 2**20
_RESUME: Final = "Resume that match: its other players send back what is missing"


def machine(home: Path | None) -> Iterator[Finding]:
    """Yield the findings about this machine, each as soon as it is known, because some checks take a moment.

    :param home: the player's home; None if the account has none.
    """
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("program", Severity.OK, f"p2pdice {VERSION} for protocol {PROTOCOL_VERSION}, on Python {python}")
    if home is None:
        yield Finding("home", Severity.PROBLEM, "this account has no home folder", _capitalized(NoHomeError.hint))
    else:
        yield from _folder(home)
        yield _key(home)
        yield _store(home)
    yield _clock(home)
    yield _terminal()


def _folder(home: Path) -> Iterator[Finding]:
    """Yield findings about the home folder and its disk, after syncing a small file there or in the nearest parent."""
    place = next((each for each in (home, *home.parents) if each.exists()), home)
    try:
        began = time.perf_counter()
        with tempfile.NamedTemporaryFile(dir=place, prefix="p2pdice-doctor-") as file:
            file.write(b"p2pdice")
            file.flush()
            os.fsync(file.fileno())
        took = time.perf_counter() - began
        free = shutil.disk_usage(place).free
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            yield Finding("disk", Severity.PROBLEM, f"nothing is free at {place}", _ROOM)
        else:
            reason = f"{place} cannot be written: {error.strerror or error}"
            remedy = "Give your account the right to write there, or choose another folder with --home DIR"
            yield Finding("home", Severity.PROBLEM, reason, remedy)
        return
    yield _modes(home)
    if free < SPACE:
        says = f"{free / _MIB:.1f} of the {SPACE // _MIB} MiB that play may need are free at {place}"
        yield Finding("disk", Severity.PROBLEM, says, _ROOM)
    elif took > _SLOW_DISK:
        yield Finding(
            "disk",
            Severity.WARNING,
            f"writing a small file safely to the disk takes {took * 1000:.0f} ms",
            "Each move waits for that: put the home on a local disk with --home DIR",
        )
    else:
        yield Finding("disk", Severity.OK, f"a safe write takes {took * 1000:.0f} ms, {free // _MIB:,} MiB are free")


def _modes(home: Path) -> Finding:
    if not home.exists():
        return Finding("home", Severity.OK, (home, " will be made when you first play"))
    if sys.platform != "win32" and home.stat().st_mode & 0o077:
        if probe_openness(home):
            says: Parts = (home, " is on a disk that keeps no file from other accounts")
            remedy = "If others use this machine, choose a folder on another disk with --home DIR"
            return Finding("home", Severity.WARNING, says, remedy)
        says = (home, " is open to other accounts of this machine")
        return Finding("home", Severity.WARNING, says, ("Close it: chmod 700 ", home))
    return Finding("home", Severity.OK, (home, " is yours alone"))


def _key(home: Path) -> Finding:
    if not os.path.lexists(Home(home).identity):
        return Finding("key", Severity.OK, "there is none yet; it will be made when you first play")
    try:
        me, _ = Identity.load_or_create(home)
    except WrongPassphraseError:
        return Finding("key", Severity.OK, "it is protected by a passphrase")
    except KeyFileError as error:
        remedy = "You cannot play without a usable key: mend this one, or choose another home with --home DIR"
        return Finding("key", Severity.PROBLEM, error.parts, remedy)
    return Finding("key", Severity.OK, f"nobody else can read it; its fingerprint is {me.fingerprint}")


def _store(home: Path) -> Finding:
    path = Home(home).store
    # The store is not opened here: that would initialize an empty file.
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return Finding("store", Severity.OK, "there is none yet; it will be made when you first play")
    try:
        with archive.read_store(Home(home)) as store:
            matches = store.matches()
            loss = store.loss
    except StoreError as error:
        remedy = _capitalized(error.hint)
        if isinstance(error, DamagedStoreError):
            remedy = "Restore it from a backup, or move it away to begin with an empty one"
        return Finding("store", Severity.PROBLEM, error.parts, remedy)
    if loss is not None:
        return Finding("store", Severity.WARNING, archive.describe(loss), _RESUME)
    running = len(archive.unfinished(matches))
    unfinished = f"{number(running) if running else 'none'} unfinished"
    says = f"it can be read; {counted(len(matches), 'match', 'matches')}, {unfinished}"
    return Finding("store", Severity.OK, says)


def _clock(home: Path | None) -> Finding:
    """Check that the clock is between 2025 and 2045, and at most a day behind the newest file of this home."""
    now = time.time()
    says = f"it shows {_minute(now)}"
    remedy = "Set it: a match does not depend on it, but the names of your transcripts do"
    if not _FIRST <= now < _LAST:
        return Finding("clock", Severity.WARNING, says, remedy)
    try:
        written = max((each.stat().st_mtime for each in home.iterdir()) if home else (), default=0.0)
    except OSError:
        written = 0.0
    if written > now + _DAY:
        return Finding("clock", Severity.WARNING, f"{says}, but you played at {_minute(written)}", remedy)
    return Finding("clock", Severity.OK, says)


def _capitalized(hint: str) -> str:
    return f"{hint[:1].upper()}{hint[1:]}"


def _minute(seconds: float) -> str:
    minute = local_time(seconds)
    return "a date beyond the calendar" if minute is None else f"{minute:%Y-%m-%d %H:%M}"


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", Severity.OK, "none: the output goes to a file or a program")
    columns, lines = shutil.get_terminal_size()
    encoding = sys.stdout.encoding or "none"
    says = f"{columns} {plural(columns, 'column')}, {lines} {plural(lines, 'line')}, {encoding}"
    if columns < 40 or lines < 12:
        return Finding("terminal", Severity.WARNING, says, "Make it larger, or play with --ui line")
    return Finding("terminal", Severity.OK, says)


_TIMEOUT: Final = 3.0
"""Seconds to wait for the output of a system tool."""
UFW: Final = Path("/etc/ufw/ufw.conf")
_UNSEEN: Final = {
    "linux": "neither ufw nor firewalld is on; no others were checked",
    "darwin": "the firewall of macOS is off; no others were checked",
    "win32": "the firewall of Windows does not answer; no others were checked",
}
MAC_TOOL: Final = "/usr/libexec/ApplicationFirewall/socketfilterfw"


def firewall(port: str) -> Finding:
    """Return the finding about the firewall of this machine.

    :param port: the TCP port that has to be open, as text for a command; ``PORT`` if no particular port is chosen.
    """
    look = {"linux": _linux, "darwin": _mac, "win32": _windows}.get(sys.platform)
    found = look(port) if look is not None else iter(())
    return next(found, Finding("firewall", Severity.OK, _UNSEEN.get(sys.platform, "not checked on this system")))


def _linux(port: str) -> Iterator[Finding]:
    try:
        is_on = "ENABLED=yes" in UFW.read_text(encoding="utf-8", errors="replace")
    except OSError:
        is_on = False
    if is_on:
        yield _blocking("ufw", f"sudo ufw allow 5353/udp; sudo ufw allow {port}/tcp")
    if _said("firewall-cmd", "--state").strip() == "running":
        yield _blocking("firewalld", f"sudo firewall-cmd --add-service=mdns; sudo firewall-cmd --add-port={port}/tcp")


def _mac(port: str) -> Iterator[Finding]:
    if "enabled" in _said(MAC_TOOL, "--getglobalstate"):
        program = shlex.quote(sys.executable)
        yield _blocking("the firewall of macOS", f"sudo {MAC_TOOL} --add {program} --unblockapp {program}")


def _windows(port: str) -> Iterator[Finding]:
    # The output is localized, so it is not parsed: any output at all shows that this firewall exists.
    if _said("netsh", "advfirewall", "show", "currentprofile", "state"):
        yield _blocking(
            "Windows Defender Firewall",
            "netsh advfirewall firewall add rule name=p2pdice dir=in action=allow "
            f'program="{sys.executable}" enable=yes',
            "make the network private, and run this in a terminal as administrator",
        )


def _blocking(name: str, command: str, how: str = "let p2pdice in") -> Finding:
    """Return a warning about a firewall. Its command comes last, so that it can be copied."""
    return Finding("firewall", Severity.WARNING, f"{name} may be on", f"If others cannot reach you, {how}: {command}")


def _said(*command: str) -> str:
    """Return the output of a system tool; an empty string if the tool is missing, fails or times out."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


_VPN: Final = re.compile(r"(tun|tap|utun|wg|ppp|ipsec|tailscale|zt|nordlynx|proton|cscotun)|.*(vpn|wireguard)", re.I)
"""Matches the names that VPNs give their interfaces."""
_CARRIER: Final = ip_network("100.64.0.0/10")
"""The shared address space of carriers (RFC 6598), which some VPNs use as well."""
_SHOWN: Final = 4
"""How many addresses of other machines are listed; one machine may have several."""
BY_HAND: Final = "tables are not found automatically, but the line that the host sees works"


async def network(interface: str | None, port: int, seconds: float, peers: Iterable[Address]) -> AsyncIterator[Finding]:
    """Yield the findings about the network, each as soon as it is known, because listening takes a while.

    :param interface: the only interface to check; None checks all.
    :param port: the TCP port to listen on; 0 for any.
    :param seconds: how long to listen for other machines.
    :param peers: the addresses of one other machine to connect to.
    """
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
        try_out = f"To see whether others reach it, type on another laptop while you host: {elsewhere}"
        where = f"port {port}" if port else "a free port"
        yield Finding("port", Severity.OK, f"can listen at {where}", try_out if port else "")
    if not any(each.state is Severity.PROBLEM for each in found):
        for finding in await _multicast(interface, seconds):
            yield finding
    if peers:
        yield await _peer(peers)


def _unusable(port: int, error: OSError) -> Finding:
    where = f"port {port}" if port else "any port"
    says = f"cannot listen at {where}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno == errno.EACCES:
        return Finding("port", Severity.PROBLEM, says, "Choose a --port above 1023: lower ones need an administrator")
    return Finding("port", Severity.PROBLEM, says, "Choose another --port, or end the program that uses it")


def _interfaces(own: list[Interface], interface: str | None) -> list[Finding]:
    if not own:
        wanted = f"there is no network interface {interface}" if interface else "this machine is in no network"
        remedy = "Leave out --interface" if interface else "Connect it by Wi-Fi or cable"
        return [Finding("network", Severity.PROBLEM, wanted, remedy)]
    shown = ", ".join(f"{each.name} {each.addresses[0]}" for each in own)
    if not any(each.is_connected for each in own):
        remedy = "Switch the Wi-Fi on, or plug the cable in"
        return [Finding("network", Severity.PROBLEM, f"{shown}: nothing is connected to it", remedy)]
    found = [Finding("network", Severity.OK, shown)]
    vpns = [each.name for each in own if _VPN.match(each.name) or any(ip in _CARRIER for ip in each.addresses)]
    if vpns:
        remedy = "If others cannot reach you, switch the VPN off, or exclude the local network from it"
        alike = "looks like a VPN" if len(vpns) == 1 else "look like VPNs"
        found.append(Finding("vpn", Severity.WARNING, f"{listing(vpns)} {alike}", remedy))
    if all(ip.is_link_local for each in own for ip in each.addresses):
        remedy = "Two machines on one cable can play like this; otherwise check the Wi-Fi or the router"
        found.append(Finding("address", Severity.WARNING, "no router gave this machine an address", remedy))
    return found


async def _multicast(interface: str | None, seconds: float) -> list[Finding]:
    try:
        heard = await listen_around(seconds, interface)
    except (OSError, DiscoveryUnavailable) as error:
        remedy = f"Without it {BY_HAND}"
        return [Finding("multicast", Severity.WARNING, f"cannot be used here: {error}", remedy)]
    found: list[Finding] = []
    if heard.left_out:
        only = len(heard.left_out) == 1
        says = f"{listing(heard.left_out)} {'does' if only else 'do'} not support multicast"
        there = "that network" if only else "those networks"
        found.append(Finding("interfaces", Severity.WARNING, says, f"On {there}, {BY_HAND}"))
    if not heard.itself:
        remedy = f"A firewall blocks UDP port 5353: let it through. Until then {BY_HAND}"
        found.append(Finding("multicast", Severity.WARNING, "this machine does not hear its own packets", remedy))
    found = found or [Finding("multicast", Severity.OK, "this machine hears its own packets")]
    return [*found, _others(heard)]


def _others(heard: Heard) -> Finding:
    if heard.met:
        return Finding("others", Severity.OK, f"{', '.join(heard.met)} and this machine hear each other")
    if heard.one_way:
        remedy = "The firewall there, or the Wi-Fi, blocks UDP port 5353. Let it through, and try again"
        says = f"{', '.join(heard.one_way)} is heard here, but does not hear this machine"
        return Finding("others", Severity.WARNING, says, remedy)
    together = f"Run this on the other laptop at the same time: {command_line('doctor', '--wait', '60')}"
    if heard.hosts:
        shown = listing(heard.hosts[:_SHOWN]) + (" and others" if len(heard.hosts) > _SHOWN else "")
        return Finding("others", Severity.OK, f"multicast comes from {shown}", together)
    remedy = f"{together}. If both hear nobody, the Wi-Fi may keep guests apart: use a cable or a phone's hotspot"
    return Finding("others", Severity.WARNING, "no other machine was heard", remedy)


async def _peer(peers: Iterable[Address]) -> Finding:
    found = [await reach_host(each) for each in peers]
    for each in found:
        if not each.problem:
            return Finding(
                PEER, Severity.OK, f"something answers at {format_address(each.address)}; p2pdice join shows what"
            )
    tried = "; ".join(f"{format_address(each.address)}: {each.problem}" for each in found)
    if any(each.is_refused for each in found):
        remedy = "The machine answers. See whether the table is still open, and whether the port is right"
    else:
        remedy = "See whether both machines are in one network, and whether a firewall or guest Wi-Fi is between them"
    return Finding(PEER, Severity.WARNING, tried, remedy)
