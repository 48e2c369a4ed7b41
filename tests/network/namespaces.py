"""Laptops on one LAN, as Linux network namespaces joined by a bridge that lives in a namespace of its own.

Nothing outside these namespaces is changed or reachable. If the system forbids namespaces, the test is skipped with the
reason; ``P2PDICE_REQUIRE_NETNS=1`` turns the skip into a failure.

If possible, each test process also has its own namespace, so that it meets no other players of this machine.
``P2PDICE_SHARED_NETWORK=1`` disables that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final, NoReturn

import pytest


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


HAS_OWN_NETWORK: Final = pytest.StashKey[bool]()
"""The key of pytest's stash under which the result of :func:`leave_the_network` is kept."""
ELSEWHERE: Final = "10.77.8.0/21"
"""After :func:`leave_the_network`, both ends of a connection can use these addresses. No interface has them."""
CLONE_NEWNET: Final = 0x40000000
"""From Linux's sched.h. Python has it as ``os.CLONE_NEWNET`` only since 3.12."""


def leave_the_network() -> bool:
    """Move this thread and everything that it starts later to a new network; return whether that was possible.

    The network has loopback and one interface without neighbours. It ends with its last process.
    """
    if os.environ.get("P2PDICE_SHARED_NETWORK") == "1" or sys.platform != "linux" or shutil.which("ip") is None:
        return False
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    _ip("link", "set", "lo", "up")
    _ip("link", "add", "eth0", "type", "veth", "peer", "name", "nobody")
    _ip("address", "add", "10.77.1.1/24", "broadcast", "+", "dev", "eth0")
    for end in ("nobody", "eth0"):
        _ip("link", "set", end, "up")
    _ip("route", "add", "local", ELSEWHERE, "dev", "lo")
    return True


def elsewhere(number: int) -> str:
    """Return an address of the network made by :func:`leave_the_network`. Nodes treat each as another machine."""
    return str(ip_network(ELSEWHERE)[number])


class Lan:
    """Laptops ``10.77.0.1``, ``10.77.0.2``, … on one switch."""

    def __init__(self, laptops: int) -> None:
        self.token = secrets.token_hex(3)
        self.switch = f"p2pdice-{self.token}-switch"
        self.laptops = [f"p2pdice-{self.token}-{number}" for number in range(1, laptops + 1)]

    def build(self) -> None:
        _ip("netns", "add", self.switch)
        for bridge in ("br0", "br1"):
            _ip("-n", self.switch, "link", "add", bridge, "type", "bridge")
            _ip("-n", self.switch, "link", "set", bridge, "up")
        for number, laptop in enumerate(self.laptops, 1):
            _ip("netns", "add", laptop)
            peer = ("peer", "name", "eth0", "netns", laptop)
            _ip("-n", self.switch, "link", "add", f"port{number}", "type", "veth", *peer)
            _ip("-n", self.switch, "link", "set", f"port{number}", "master", "br0", "up")
            _ip("-n", laptop, "address", "add", f"10.77.0.{number}/24", "broadcast", "+", "dev", "eth0")
            _ip("-n", laptop, "link", "set", "lo", "up")
            _ip("-n", laptop, "link", "set", "eth0", "up")

    def demolish(self) -> None:
        for name in (*self.laptops, self.switch):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def on(self, laptop: int) -> tuple[str, ...]:
        """Return the command prefix that runs a command on a laptop, counted from 1."""
        return ("ip", "netns", "exec", self.laptops[laptop - 1])

    def move(self, laptop: int, host: int) -> None:
        """Change a laptop's address to ``10.77.0.host``."""
        inside = self.laptops[laptop - 1]
        _ip("-n", inside, "-4", "address", "flush", "dev", "eth0")
        _ip("-n", inside, "address", "add", f"10.77.0.{host}/24", "broadcast", "+", "dev", "eth0")

    def pull_out(self, laptop: int) -> None:
        """Remove a laptop's network card, and so all its addresses except loopback."""
        _ip("-n", self.laptops[laptop - 1], "link", "set", "eth0", "down")
        _ip("-n", self.laptops[laptop - 1], "address", "flush", "dev", "eth0")

    def put_in(self, laptop: int, host: int) -> None:
        """Put a laptop's network card back, with the address ``10.77.0.host``."""
        _ip("-n", self.laptops[laptop - 1], "link", "set", "eth0", "up")
        self.move(laptop, host)

    def leave_ipv4(self) -> None:
        """Remove all laptops' IPv4 addresses. Their link-local addresses ``fe80::1``, ``fe80::2``, … remain."""
        for number, laptop in enumerate(self.laptops, 1):
            _ip("-n", laptop, "-4", "address", "flush", "dev", "eth0")
            _ip("-n", laptop, "address", "add", f"fe80::{number}/64", "dev", "eth0", "nodad")

    def add_address(self, laptop: int, address: str) -> None:
        """Give a laptop an additional IPv6 address such as ``fd00:77::1/64``."""
        _ip("-n", self.laptops[laptop - 1], "address", "add", address, "dev", "eth0", "nodad")

    def add_bridges(self, laptop: int, count: int) -> None:
        """Give a laptop bridge interfaces, as container software does: ``en1`` has ``10.1.0.1``, and so on."""
        commands = [
            f"link add en{number} type bridge\naddress add 10.{number}.0.1/16 dev en{number}\nlink set en{number} up\n"
            for number in range(1, count + 1)
        ]
        inside = ["ip", "-n", self.laptops[laptop - 1], "-batch", "-"]
        subprocess.run(inside, input="".join(commands), check=True, capture_output=True, text=True)

    def set_kernel(self, laptop: int, **values: int) -> None:
        """Set network parameters of a laptop's kernel, such as ``ipv4__igmp_max_memberships``."""
        for name, value in values.items():
            path = f"/proc/sys/net/{name.replace('__', '/')}"
            subprocess.run([*self.on(laptop), "sh", "-c", f"echo {value} > {path}"], check=True)

    def pull_cable(self, laptop: int) -> None:
        """Disconnect a laptop from the switch."""
        _ip("-n", self.switch, "link", "set", f"port{laptop}", "down")

    def plug_in(self, laptop: int) -> None:
        """Reconnect a laptop to the switch."""
        _ip("-n", self.switch, "link", "set", f"port{laptop}", "up")

    def move_to_another_room(self, *laptops: int) -> None:
        """Move these laptops to another bridge, so that each side reaches only its own laptops."""
        for laptop in laptops:
            _ip("-n", self.switch, "link", "set", f"port{laptop}", "master", "br1")

    def bring_back(self, *laptops: int) -> None:
        """Move these laptops back to the first bridge."""
        for laptop in laptops:
            _ip("-n", self.switch, "link", "set", f"port{laptop}", "master", "br0")

    def keep_apart(self, *laptops: int) -> None:
        """Let these laptops reach all other laptops, but not each other."""
        for laptop in laptops:
            _ip("-n", self.switch, "link", "set", "dev", f"port{laptop}", "type", "bridge_slave", "isolated", "on")


@contextlib.contextmanager
def lan(laptops: int) -> Iterator[Lan]:
    """Build a LAN for one test, or skip the test with the reason why that is impossible."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        give_up("network namespaces need Linux and its command ip")
    built = Lan(laptops)
    try:
        try:
            built.build()
        except subprocess.CalledProcessError as error:
            give_up(f"no network namespaces here: {error.stderr.strip() or error}")
        yield built
    finally:
        built.demolish()


def give_up(reason: str) -> NoReturn:
    """Skip the test because namespaces are unavailable, or fail it if they are required."""
    if os.environ.get("P2PDICE_REQUIRE_NETNS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
